/* Stores of lanes that ran one by one (vm/exec/lane_loops.c) leave what they would have left in the machine's order:
 * round by round, in each round one instruction after the other, of each instruction the lower lanes first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(as_in_the_machines_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
