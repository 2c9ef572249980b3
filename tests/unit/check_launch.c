/* Tools that a launch's configuration names: they watch that launch, and no other. */
#include "mx/check.h"
#include "mx/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "on_device.h"

/* Two warps store to one word. */
static const char program[] = ".entry k (.param .u64 p)\n{\n  mov.u32 %t, %tid.x;\n  st.global.u32 [%p], %t;\n}\n";

static mx_device *d;
static mx_kernel *k;
static mx_addr word;
static int begin(void **state) {
  (void)state;
  mx_module *m;
  return mx_device_create(NULL, &d) != MX_OK || load_text(d, program, NULL, &m) != MX_OK ||
         mx_module_kernel(m, "k", &k) != MX_OK || mx_alloc(d, 4, &word) != MX_OK;
}
static int end(void **state) {
  (void)state;
  mx_device_destroy(d);
  return 0;
}
static mx_launch_config with(uint32_t tools) {
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.block[0] = 128;
  c.jit = MX_JIT_OFF;
  c.check = tools;
  return c;
}
static size_t found(mx_launch_config c) {
  assert_int_equal(mx_findings_clear(d), MX_OK);
  assert_int_equal(mx_launch(k, &c, &word, sizeof word), MX_OK);
  return mx_device_findings(d);
}

static void one_launch_is_watched(void **state) {
  (void)state;
  assert_int_equal(found(with(0)), 0);
  assert_int_not_equal(found(with(MX_CHECK_ALL)), 0);
  assert_int_equal(mx_device_checks(d), 0);
  assert_int_equal(found(with(0)), 0);
}
static void by_the_tools_it_names(void **state) {
  (void)state;
  assert_int_equal(found(with(MX_CHECK_MEMORY)), 0);
  mx_finding f = {.struct_size = sizeof f};
  assert_int_not_equal(found(with(MX_CHECK_RACE)), 0);
  assert_int_equal(mx_device_finding(d, 0, &f), MX_OK);
  assert_int_equal(f.tool, MX_CHECK_RACE);
}
static void instead_of_the_devices(void **state) {
  (void)state;
  assert_int_equal(mx_device_check(d, MX_CHECK_RACE), MX_OK);
  assert_int_equal(found(with(MX_CHECK_MEMORY)), 0);
  assert_int_equal(mx_device_checks(d), MX_CHECK_RACE);
  assert_int_not_equal(found(with(0)), 0);
  assert_int_equal(mx_device_check(d, 0), MX_OK);
}
static void not_for_programs_that_do_not_know_it(void **state) {
  (void)state;
  mx_launch_config c = with(MX_CHECK_ALL);
  c.struct_size = offsetof(mx_launch_config, check);
  assert_int_equal(found(c), 0);
}
static void wrong_ones_are_refused(void **state) {
  (void)state;
  mx_launch_config c = with(MX_CHECK_ALL + 1);
  assert_int_equal(mx_launch(k, &c, &word, sizeof word), MX_INVALID_VALUE);
  c = with(MX_CHECK_RACE);
  assert_int_equal(mx_profile_create(NULL, &c.profile), MX_OK);
  assert_int_equal(mx_launch(k, &c, &word, sizeof word), MX_INVALID_VALUE);
  mx_profile_destroy(c.profile);
}
static void what_was_allocated_counts_as_written(void **state) {
  (void)state;
  uint32_t v;
  assert_int_equal(found(with(MX_CHECK_UNINIT)), 0);
  assert_int_equal(mx_copy_from_device(d, &v, word, sizeof v), MX_OK);
  assert_int_equal(mx_device_findings(d), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_launch_is_watched),  cmocka_unit_test(by_the_tools_it_names),
      cmocka_unit_test(instead_of_the_devices), cmocka_unit_test(not_for_programs_that_do_not_know_it),
      cmocka_unit_test(wrong_ones_are_refused), cmocka_unit_test(what_was_allocated_counts_as_written),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
