/* examples/embed.c does what it says. */
int embed(void);
#define main embed
#include "../../examples/embed.c"
#undef main

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void the_example_runs(void **state) {
  (void)state;
  assert_int_equal(embed(), 0);
}

static void the_trap_is_the_one_that_is_meant(void **state) {
  (void)state;
  mx_device *d;
  float y[N];
  assert_int_equal(mx_device_create(NULL, &d), MX_OK);
  assert_int_equal(run(d, N, y), MX_OK);
  assert_true(y[0] == 1 && y[999] == 2498.5f);
  assert_int_equal(run(d, N + 1, y), MX_TRAPPED);
  mx_trap_info t = {.struct_size = sizeof t};
  assert_int_equal(mx_device_trap(d, &t), MX_OK);
  assert_int_equal(t.kind, MX_TRAP_OUT_OF_BOUNDS);
  assert_non_null(strstr(t.nearest, "right past the end of buffer"));
  mx_device_destroy(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_example_runs),
                                     cmocka_unit_test(the_trap_is_the_one_that_is_meant)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
