/* What waiting lanes need (asm/back/waits.c) only adds to what is alive: a register's ranges cover those that it has
 * without, in order. Blocks end in instructions with several results, of which some are read behind the block alone. */
#include "asm/back/encode.c"

#include "ir_run.h"

static bool covered(const struct back_live *all, uint32_t reg, struct back_range r) {
  bool is = false;
  for (uint32_t i = all->at[reg]; i < all->at[reg + 1]; i++)
    is |= all->ranges[i].lo <= r.lo && r.hi <= all->ranges[i].hi;
  return is;
}

static void waiting_only_adds(void **state) {
  (void)state;
  static const bool none[BACK_FILES];
  bool all[BACK_FILES];
  for (int f = 0; f < BACK_FILES; f++) all[f] = f < BACK_CELLS;
  random_state = 31;
  uint64_t more = 0;
  for (uint32_t t = 0; t < 400; t++) {
    struct build b;
    open_arena();
    random_function(&b, (uint32_t[]){8, 6, 4, 2}, 8, 12, 4);
    struct back_body body = {.arena = &arena, .module = &b.m, .func = &b.f[0]};
    copy_function(&body);
    const struct cfg *g = mx__cfg_build(&arena, &body);
    const struct back_live *before = mx__liveness(&body, g, none), *after = mx__liveness(&body, g, all);
    for (uint32_t r = 0; r < body.nregs; r++) {
      for (uint32_t i = before->at[r]; i < before->at[r + 1]; i++) assert_true(covered(after, r, before->ranges[i]));
      for (uint32_t i = after->at[r]; i < after->at[r + 1]; i++) {
        assert_true(after->ranges[i].lo < after->ranges[i].hi);
        assert_true(i == after->at[r] || after->ranges[i - 1].hi < after->ranges[i].lo);
        more += !covered(before, r, after->ranges[i]);
      }
    }
    end(&b);
    mx__arena_free(&arena);
  }
  assert_true(more > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(waiting_only_adds)};
  return cmocka_run_group_tests_name("waits", tests, NULL, NULL);
}
