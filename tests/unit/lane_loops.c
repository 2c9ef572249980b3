/* Stores of lanes that ran one by one (vm/exec/lane_loops.c) leave what they would have left in the machine's order:
 * round by round, in each round one instruction after the other, of each instruction the lower lanes first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <cmocka.h>

#include "vm/exec/exec.h"
#include "vm/exec/lane_loops.h"

static uint64_t seed = 1;
static uint64_t below(uint64_t n) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (seed >> 33) % n;
}

enum { LANES = 64, ROUNDS = 8, SITES = 4, REGION = 256, SIZES = 5 };
/* What an instruction stores: one value, or one for each lane or round; a size has its own region of memory, in which
 * an instruction keeps to some places. */
struct site {
  unsigned bytes, region, first, places;
  enum { ONE_VALUE, BY_LANE, BY_ROUND } values;
  uint64_t value;
};
static struct site random_site(void) {
  struct site s = {.region = (unsigned)below(SIZES), .values = below(3) ? ONE_VALUE : (unsigned)below(3)};
  s.bytes = 1u << s.region;
  s.value = below(3);
  s.places = 1 + (unsigned)below(REGION / s.bytes / 2);
  s.first = (unsigned)below(REGION / s.bytes - s.places + 1);
  return s;
}
static void value_of(const struct site *s, unsigned lane, unsigned round, unsigned char *v) {
  const uint64_t number = s->value + (s->values == BY_LANE ? lane : s->values == BY_ROUND ? round : 0);
  memset(v, 0, 16);
  v[s->bytes - 1] = (unsigned char)number; /* the last byte, so that all of them count */
}

static void as_in_the_machines_order(void **state) {
  (void)state;
  struct mx_exec *x = calloc(1, sizeof *x);
  assert_non_null(x);
  struct mx_kept_store *const store = (struct mx_kept_store *)mx__kept_stores(x);
  assert_non_null(store);
  for (unsigned turn = 0; turn < 20000; turn++) {
    static unsigned char got[SIZES][REGION], expected[SIZES][REGION];
    static uint16_t place[LANES][ROUNDS][SITES];
    static bool made[LANES][ROUNDS][SITES];
    struct site site[SITES];
    const unsigned sites = 1 + (unsigned)below(SITES), lanes = 1 + (unsigned)below(LANES),
                   rounds = 1 + (unsigned)below(ROUNDS), one_in = 1 + (unsigned)below(8);
    for (unsigned k = 0; k < sites; k++) site[k] = random_site();
    memset(got, 0xAA, sizeof got), memset(expected, 0xAA, sizeof expected);
    struct mx_kept_store *end = store;
    for (unsigned l = 0; l < lanes; l++)
      for (unsigned r = 0; r < rounds; r++)
        for (unsigned k = 0; k < sites; k++) {
          const struct site *s = &site[k];
          if (!(made[l][r][k] = !below(one_in))) continue;
          place[l][r][k] = (uint16_t)(s->bytes * (s->first + below(s->places)));
          *end = (struct mx_kept_store){.host = (uint64_t)(uintptr_t)&got[s->region][place[l][r][k]],
                                        .key = mx__kept_key(rounds - r, k, s->bytes, l)};
          value_of(s, l, r, (unsigned char *)end++->value);
        }
    for (unsigned r = 0; r < rounds; r++)
      for (unsigned k = 0; k < sites; k++)
        for (unsigned l = 0; l < lanes; l++) {
          unsigned char v[16];
          value_of(&site[k], l, r, v);
          if (made[l][r][k]) memcpy(&expected[site[k].region][place[l][r][k]], v, site[k].bytes);
        }
    mx__kept_stores_make(x, end);
    assert_memory_equal(got, expected, sizeof got);
  }
  free(x->kept);
  free(x);
}

#if defined(__x86_64__)
/* How often a loop runs in its faster form before the other one is tried again, if a round takes so many cycles lane by
 * lane, and so many together. */
static uint32_t until_next(uint64_t by_lanes, uint64_t together) {
  const uint64_t took[] = {[MX_LOOP_BY_LANES] = by_lanes, [MX_LOOP_TOGETHER] = together};
  struct mx_exec *x = calloc(1, sizeof *x);
  assert_non_null(x);
  x->bounds = calloc(1, sizeof *x->bounds);
  assert_non_null(x->bounds);
  for (unsigned k = 0; k < 20; k++) /* of the first times, each form's shortest counts */
    mx__loop_took(x, 0, k % 2, __rdtsc() - took[k % 2], 1);
  const unsigned slower = by_lanes > together ? MX_LOOP_BY_LANES : MX_LOOP_TOGETHER;
  mx__loop_took(x, 0, slower, __rdtsc() - took[slower], 1);
  const uint32_t n = slower == MX_LOOP_BY_LANES ? x->bounds->lanes_off : x->bounds->lanes_left;
  free(x->bounds), free(x);
  return n;
}
static void the_slower_the_rarer(void **state) {
  (void)state;
  const uint64_t little = 1000000;
  assert_int_equal(until_next(60 * little, little), 1023);
  assert_int_equal(until_next(little, 60 * little), 1023);
  assert_in_range(until_next(3 * little, little), 50, 500);
  assert_in_range(until_next(little, 3 * little), 50, 500);
  assert_in_range(until_next(little + little / 16, little), 15, 50);
  assert_in_range(until_next(little, little + little / 16), 15, 50);
}
/* A loop bails out again and again when it has taken so many cycles; a round lane by lane has taken `by_lanes` before
 * (0: there was none), and one together takes 1000000. How often it runs together until it may bail out again. */
static uint32_t until_next_bailout(uint64_t late, uint64_t by_lanes) {
  struct mx_exec *x = calloc(1, sizeof *x);
  assert_non_null(x);
  x->bounds = calloc(1, sizeof *x->bounds);
  assert_non_null(x->bounds);
  const uint64_t together = 1000000;
  if (by_lanes) mx__loop_took(x, 0, MX_LOOP_BY_LANES, __rdtsc() - by_lanes, 1);
  uint32_t pause = 0;
  for (unsigned k = 0; k < 60; k++) {
    mx__loop_took(x, 0, MX_LOOP_BAILED_OUT, __rdtsc() - late, 1);
    assert_true(x->bounds->lanes_off >= 15);
    mx__loop_took(x, 0, MX_LOOP_TOGETHER, __rdtsc() - together, 1);
    pause = x->bounds->lanes_off;
  }
  free(x->bounds), free(x);
  return pause;
}
static void late_bailouts_are_rare(void **state) {
  (void)state;
  const uint64_t little = 1000000;
  assert_int_equal(until_next_bailout(64 * little, 0), 1023);
  assert_int_equal(until_next_bailout(64 * little, little / 4), 1023);
  assert_true(until_next_bailout(little / 8, little / 4) < 16); /* they cost little */
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(as_in_the_machines_order),
#if defined(__x86_64__)
    cmocka_unit_test(the_slower_the_rarer),
    cmocka_unit_test(late_bailouts_are_rare)
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
