/* The f64 approximations against digests of what an H200 answered: every upper half of a mantissa, and 2^19 numbers of
 * all sizes for the refined root. */
#include <mx/mx.h>
#include <mx/text.h>

#include <setjmp.h>
#include <string.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <xxhash.h>

#include <cmocka.h>

#include "on_device.h"

static const char text[] =
    ".target sm_90\n"
    ".entry upper_rcp(.param .u64 to) { .reg .u32 %i, %n, %lo; .reg .u64 %p, %a; .reg .f64 %x;\n"
    "  mov.u32 %i, %ctaid.x; mov.u32 %n, %tid.x; mad.lo.u32 %i, %i, 256, %n; ld.param.u64 %p, [to]; mad.wide.u32 %a, "
    "%i, 4, %p;\n"
    "  add.u32 %n, %i, 0x3FF00000; mov.b64 %x, {%i, %n}; rcp.approx.ftz.f64 %x, %x; mov.b64 {%lo, %n}, %x; "
    "st.global.u32 [%a], %n; ret; }\n"
    ".entry upper_rsqrt(.param .u64 to) { .reg .u32 %i, %n, %lo; .reg .u64 %p, %a; .reg .f64 %x;\n"
    "  mov.u32 %i, %ctaid.x; mov.u32 %n, %tid.x; mad.lo.u32 %i, %i, 256, %n; ld.param.u64 %p, [to]; mad.wide.u32 %a, "
    "%i, 4, %p;\n"
    "  add.u32 %n, %i, 0x3FF00000; mov.b64 %x, {%i, %n}; rsqrt.approx.ftz.f64 %x, %x; mov.b64 {%lo, %n}, %x; "
    "st.global.u32 [%a], %n; ret; }\n"
    ".entry rsqrt(.param .u64 to) { .reg .u32 %i, %n; .reg .u64 %p, %a; .reg .f64 %x;\n"
    "  mov.u32 %i, %ctaid.x; mov.u32 %n, %tid.x; mad.lo.u32 %i, %i, 256, %n; ld.param.u64 %p, [to]; mad.wide.u32 %a, "
    "%i, 8, %p;\n"
    "  ld.global.f64 %x, [%a]; rsqrt.approx.f64 %x, %x; st.global.f64 [%a], %x; ret; }\n";

/* The kernel over `threads` threads on `size` bytes of data. */
static void run(const char *name, void *data, size_t size, uint32_t threads) {
  mx_device *device;
  mx_module *module;
  mx_kernel *kernel;
  mx_addr at;
  assert_int_equal(mx_device_create(NULL, &device), MX_OK);
  assert_int_equal(load_text(device, text, NULL, &module), MX_OK);
  assert_int_equal(mx_module_kernel(module, name, &kernel), MX_OK);
  assert_int_equal(mx_alloc(device, size, &at), MX_OK);
  assert_int_equal(mx_copy_to_device(device, at, data, size), MX_OK);
  mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
  config.grid[0] = threads / 256;
  config.block[0] = 256;
  config.jit = MX_JIT_OFF;
  const void *args[] = {&at};
  assert_int_equal(mx_launch_args(kernel, &config, args, 1), MX_OK);
  assert_int_equal(mx_copy_from_device(device, data, at, size), MX_OK);
  mx_device_destroy(device);
}

static void digest_of_upper_halves(const char *name, uint32_t count, uint64_t recorded) {
  uint32_t *words = calloc(count, sizeof *words);
  assert_non_null(words);
  run(name, words, count * sizeof *words, count);
  assert_true(XXH3_64bits(words, count * sizeof *words) == recorded);
  free(words);
}
static void reciprocals_of_every_mantissa(void **state) {
  (void)state;
  digest_of_upper_halves("upper_rcp", 1 << 20, 0x91bd0aaea63301b8);
}
static void reciprocal_roots_of_every_mantissa_and_parity(void **state) {
  (void)state;
  digest_of_upper_halves("upper_rsqrt", 1 << 21, 0xb6f18a0401f8474b);
}

static void refined_roots(void **state) {
  (void)state;
  enum { COUNT = 1 << 19 };
  uint64_t *x = calloc(COUNT, sizeof *x), seed = 88172645463325252u;
  assert_non_null(x);
  for (unsigned i = 0; i < COUNT; i++) { /* any positive number, half of them near 1, some subnormal */
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    x[i] = seed & 0x7FFFFFFFFFFFFFFF;
    if (i & 1) x[i] = (x[i] & 0x001FFFFFFFFFFFFF) | (uint64_t)(1022 + (i >> 1 & 3)) << 52;
    if (i % 64 == 0) x[i] >>= 11;
  }
  assert_true(XXH3_64bits(x, COUNT * sizeof *x) == 0xe3cc67c21fca7f0e);
  run("rsqrt", x, COUNT * sizeof *x, COUNT);
  assert_true(XXH3_64bits(x, COUNT * sizeof *x) == 0xd759e7a4460251b8);
  free(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reciprocals_of_every_mantissa),
      cmocka_unit_test(reciprocal_roots_of_every_mantissa_and_parity),
      cmocka_unit_test(refined_roots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
