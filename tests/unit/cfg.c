/* Meeting points of hand-made and random graphs, against their definition. */
#include "ir_build.h"

static void check_graph(uint32_t nblocks, const struct cfg_edge *edges, uint32_t nedges) {
  struct cfg *g = mx__cfg_link(&arena, nblocks, edges, nedges);
  uint32_t *ipdom = mx__cfg_postdominators(&arena, g);
  bool endless = false;
  for (uint32_t b = 0; b < nblocks; b++) endless |= !reaches_exit_without(g, b, IR_NONE);
  for (uint32_t b = 0; b < nblocks; b++) {
    assert_true(ipdom[b] <= nblocks && ipdom[b] != b);
    if (!endless) assert_int_equal(ipdom[b], ipdom_by_definition(g, b));
    if (endless && reaches_exit_without(g, b, IR_NONE))
      assert_true(!reaches_exit_without(g, b, ipdom[b]) || ipdom[b] == nblocks);
  }
}

#define GRAPH(n_, want_, ...) \
  do { \
    struct cfg_edge edges_[] = {__VA_ARGS__}; \
    struct cfg *g_ = mx__cfg_link(&arena, n_, edges_, sizeof edges_ / sizeof *edges_); \
    uint32_t *ipdom_ = mx__cfg_postdominators(&arena, g_); \
    const uint32_t wanted_[] = want_; \
    for (uint32_t b_ = 0; b_ < (n_); b_++) assert_int_equal(ipdom_[b_], wanted_[b_]); \
  } while (0)
#define WANT(...) \
  { __VA_ARGS__ }

static void test_graphs(void **state) {
  (void)state;
  open_arena();
  GRAPH(1, WANT(1), {0, 1});
  GRAPH(4, WANT(3, 3, 3, 4), {0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}); /* diamond */
  GRAPH(3, WANT(1, 2, 3), {0, 1}, {1, 1}, {1, 2}, {2, 3});            /* loop of one block */
  GRAPH(4, WANT(4, 3, 4, 4), {0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 4}); /* an end on one side */
  GRAPH(5, WANT(3, 3, 3, 4, 5), {0, 1}, {0, 2}, {1, 2}, {2, 1}, {2, 3}, {1, 3}, {3, 4}, {4, 5},
        {0, 3}); /* irreducible */
  /* an endless loop with a diamond inside: its branch still meets in the loop */
  GRAPH(5, WANT(1, 4, 4, 4, 5), {0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 1});
  /* a branch into an endless loop or to the end; the block after the end is never reached */
  GRAPH(4, WANT(4, 4, 4, 2), {0, 1}, {0, 2}, {1, 1}, {2, 4}, {3, 2});
  /* two endless loops, one inside the other's way out */
  GRAPH(4, WANT(1, 2, 3, 4), {0, 1}, {1, 1}, {1, 2}, {2, 3}, {3, 2});
  /* a loop that waits, before an endless one: who goes round it meets who does not behind it */
  GRAPH(5, WANT(1, 3, 1, 4, 5), {0, 1}, {1, 2}, {1, 3}, {2, 1}, {3, 4}, {4, 3});
  mx__arena_free(&arena);
}

static void test_random_graphs(void **state) {
  (void)state;
  random_state = 42;
  for (int t = 0; t < 2000; t++) {
    open_arena();
    uint32_t n = 1 + random_below(14), m = 0;
    struct cfg_edge edges[64];
    for (uint32_t b = 0; b < n; b++) {
      for (uint32_t k = random_below(4); k > 0; k--) edges[m++] = (struct cfg_edge){b, random_below(n + 1)};
      if (chance(60)) edges[m++] = (struct cfg_edge){b, b + 1};
    }
    check_graph(n, edges, m);
    mx__arena_free(&arena);
  }
}

/* Graphs on which simpler algorithms take quadratic time: chains that meet far away. */
static void test_long_graph(void **state) {
  (void)state;
  open_arena();
  enum { HALF = 200000 };
  struct cfg_edge *edges = calloc(3 * HALF + 2, sizeof *edges);
  uint32_t m = 0;
  for (uint32_t b = 0; b < HALF; b++) {
    edges[m++] = (struct cfg_edge){b, HALF}; /* every block of the first chain may go to the second's head */
    edges[m++] = (struct cfg_edge){b, b + 1 < HALF ? b + 1 : 2 * HALF - 1};
    edges[m++] = (struct cfg_edge){HALF + b, HALF + b + 1};
  }
  struct cfg *g = mx__cfg_link(&arena, 2 * HALF, edges, m);
  uint32_t *ipdom = mx__cfg_postdominators(&arena, g);
  for (uint32_t b = 0; b < HALF; b++) assert_int_equal(ipdom[b], 2 * HALF - 1);
  free(edges);
  mx__arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_graphs),
      cmocka_unit_test(test_random_graphs),
      cmocka_unit_test(test_long_graph),
  };
  return cmocka_run_group_tests_name("cfg", tests, NULL, NULL);
}
