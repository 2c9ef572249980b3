/* Liveness when it may not take its time: everything that crosses blocks counts as alive everywhere, and programs still
 * do the same. The precise one is tested by allocate.c. */
#define MAX_WORK 0
#include "asm/back/liveness.c"

#include "ir_run.h"

static void test_coarse(void **state) {
  (void)state;
  random_state = 21;
  uint32_t cells = 0;
  for (int t = 0; t < 30; t++) {
    struct build b;
    open_arena();
    random_function(&b, (uint32_t[]){70, 700, 300, 80}, 100, 20, 60);
    assert_true(assemble(&b));
    cells += (uint32_t)image.funcs[0].nspillpred + image.funcs[0].nspill32 + image.funcs[0].nspill64;
    compare_runs(&b);
    end(&b);
    mx__arena_free(&arena);
  }
  assert_true(cells > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_coarse)};
  return cmocka_run_group_tests_name("liveness", tests, NULL, NULL);
}
