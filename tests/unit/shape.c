/* Shapes of a warp's addresses (vm/exec/lanes/shape.c) against what they mean, lane by lane. */
#include "vm/exec/exec.h"
#include "vm/exec/jitabi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* behind what it needs */
#include <cmocka.h>

static uint64_t seed = 1;
static uint64_t random_word(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return seed >> 20 ^ seed << 30;
}
/* What is known of a shape's `low` for sure. */
static uint64_t lowest_bit(uint64_t v) { return v & (0 - v); }
/* As struct mx_jit_shape says; in rows and same, a chunk's first lane counts whether it runs or not. */
static struct mx_jit_shape plain(const uint64_t *a, bool narrow, unsigned lanes, unsigned chunk, uint64_t mask) {
  struct mx_jit_shape s = {.min = narrow ? UINT32_MAX : UINT64_MAX,
                           .kind =
                               MX_JIT_SAME | MX_JIT_ROWS1 | MX_JIT_ROWS2 | MX_JIT_ROWS4 | MX_JIT_ROWS8 | MX_JIT_ROWS16};
  static const struct {
    uint64_t by, kind;
  } kinds[] = {{0, MX_JIT_SAME},  {1, MX_JIT_ROWS1}, {2, MX_JIT_ROWS2},
               {4, MX_JIT_ROWS4}, {8, MX_JIT_ROWS8}, {16, MX_JIT_ROWS16}};
  for (unsigned l = 0; l < lanes; l++) {
    if (!(mask >> l & 1)) continue;
    const uint64_t d = a[l] - a[l / chunk * chunk];
    if (a[l] < s.min) s.min = a[l];
    if (a[l] > s.max) s.max = a[l];
    s.low |= a[l] ^ a[__builtin_ctzll(mask)];
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
      const uint64_t wrong = d - kinds[k].by * (l % chunk);
      if (narrow ? (uint32_t)wrong : wrong) s.kind &= ~kinds[k].kind;
    }
  }
  return s;
}

static void check_level(const char *name, unsigned chunk) {
  static struct mx_exec x;
  static const uint64_t steps[] = {0, 1, 2, 4, 8, 3, 16, 32};
  const struct mx_level *level = mx__level(name);
  if (!level) return; /* another build or processor */
  for (unsigned n = 0; n < 100000; n++) {
    const bool narrow = random_word() & 1;
    const unsigned lanes = random_word() & 1 ? 64 : 32;
    const uint64_t by = steps[random_word() % 8], every = lanes == 64 ? UINT64_MAX : UINT32_MAX;
    uint64_t a[64], mask = every,
                    first = random_word() % 3 ? random_word() % 100000 : 0 - random_word() % 300; /* wraps */
    if (random_word() % 4 == 0) mask &= random_word();
    if (random_word() % 8 == 0) mask &= random_word() & random_word();
    const bool rows = random_word() % 2;
    for (unsigned l = 0; l < lanes; l++) {
      if (l % chunk == 0 && random_word() % 2) first += random_word() % 4096;
      a[l] = first + by * (rows ? l % chunk : l);
    }
    if (random_word() % 4 == 0) a[random_word() % lanes] = random_word();
    for (unsigned l = 0; l < lanes; l++) {
      if (narrow) a[l] = (uint32_t)a[l], ((uint32_t *)(void *)x.tmp)[l] = (uint32_t)a[l];
      else ((uint64_t *)(void *)x.tmp)[l] = a[l];
    }
    const struct mx_jit_shape want = plain(a, narrow, lanes, chunk, mask);
    x.lanes = lanes;
    x.full = every;
    level->shape(&x, 2 * chunk + !narrow, mask);
    struct mx_jit_shape got;
    memcpy(&got, x.tmp, sizeof got);
    if (got.kind != want.kind ||
        (mask && (got.min != want.min || got.max != want.max || lowest_bit(got.low) != lowest_bit(want.low))))
      print_error("%s: %s addresses, %u lanes, mask %016llx, step %llu: kind %llu, expected %llu\n", name,
                  narrow ? "32-bit" : "64-bit", lanes, (unsigned long long)mask, (unsigned long long)by,
                  (unsigned long long)got.kind, (unsigned long long)want.kind);
    assert_int_equal(got.kind, want.kind);
    if (!mask) continue;
    assert_true(got.min == want.min && got.max == want.max && lowest_bit(got.low) == lowest_bit(want.low));
  }
}
static void shapes_of_addresses(void **state) {
  (void)state;
  check_level("v2", 4);
  check_level("v3", 8);
  check_level("v4", 16);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shapes_of_addresses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
