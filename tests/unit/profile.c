/* Profiles: every number of small kernels that can be worked out by hand, and what holds of all. */
#include "mx/profile.h"
#include "mx/text.h"

#include "vm/profile/places.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "on_device.h"

/* Instructions stand one on a line. */
static const char program[] =
    ".version 9.0\n.target sm_90\n.address_size 64\n" /* lines 1 to 3 */
    ".shared .align 4 .b8 s[8192];\n"
    ".entry parts(.param .u64 p)\n{\n"
    "mov.u32 %t, %tid.x;\n" /* 7 */
    "setp.lt.u32 %few, %t, 8;\n"
    "@%few bra some;\n"    /* 9 */
    "add.u32 %t, %t, 1;\n" /* 10: 24 lanes */
    "bra meet;\n"
    "some:\n"
    "add.u32 %t, %t, 2;\n" /* 13: 8 lanes */
    "add.u32 %t, %t, 3;\n"
    "meet:\n"
    "exit;\n}\n" /* 16 */
    ".entry memory(.param .u64 q)\n{\n"
    "mov.u32 %t, %tid.x;\n"
    "ld.param.u64 %p, [q];\n" /* 21 */
    "mul.wide.u32 %o, %t, 4;\n"
    "add.u64 %a, %p, %o;\n"
    "st.global.u32 [%a], %t;\n" /* 24: a row: 4 sectors */
    "mul.wide.u32 %o, %t, 32;\n"
    "add.u64 %a, %p, %o;\n"
    "ld.global.u32 %v, [%a];\n" /* 27: a sector each, 4 would do */
    "ld.global.u32 %v, [%p];\n" /* 28: one for all */
    "mul.lo.u32 %b, %t, 8;\n"
    "st.shared.u32 [s + %b], %v;\n" /* 30: every second bank: one pass more with 32 banks, and with 64 */
    "mul.lo.u32 %b, %t, 128;\n"
    "st.shared.u32 [s + %b], %v;\n" /* 32: one bank of 32: 31 more; of 64 banks two: 15 */
    "and.b32 %m, %t, 3;\n"
    "mul.wide.u32 %o, %m, 4;\n"
    "add.u64 %a, %p, %o;\n"
    "red.global.add.u32 [%a], 1;\n" /* 36: four addresses: 28 lanes beyond the first */
    "setp.eq.u32 %five, %t, 5;\n"
    "@%five st.global.u32 [%p], %t;\n" /* 38: one lane */
    "exit;\n}\n"
    ".entry waits()\n{\n"
    "mov.u32 %w, %warpid;\n"
    "setp.eq.u32 %z, %w, 0;\n" /* 44 */
    "@%z bra ready;\n"
    "mov.u32 %k, 0;\n"
    "mov.u32 %k, 1;\n"
    "mov.u32 %k, 2;\n"
    "ready:\n"
    "bar.sync 0;\n" /* 50 */
    "exit;\n}\n"
    ".entry sums(.param .f32 x)\n{\n"
    "ld.param.f32 %f, [x];\n"
    "fma.rn.f32 %g, %f, %f, %f;\n" /* 56: two for each lane */
    "add.rn.f32 %g, %g, %f;\n"     /* 57: one */
    "exit;\n}\n";

static mx_device *d;
static mx_module *m;

static int set_up(void **state) {
  (void)state;
  return mx_device_create(NULL, &d) == MX_OK && load_text(d, program, NULL, &m) == MX_OK ? 0 : -1;
}
static int tear_down(void **state) {
  (void)state;
  mx_device_destroy(d);
  return 0;
}

static void run(mx_profile *p, const char *kernel, uint32_t grid, uint32_t block, uint32_t threads, const void *params,
                size_t bytes) {
  mx_kernel *k;
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = grid, c.block[0] = block, c.threads = threads, c.profile = p;
  assert_int_equal(mx_module_kernel(m, kernel, &k), MX_OK);
  assert_int_equal(mx_launch(k, &c, params, bytes), MX_OK);
}

/* The instruction of a line that is the last of it; all: their sums of what the machine put there. */
static mx_profile_instruction at(mx_profile *p, size_t kernel, uint32_t line) {
  mx_profile_instruction i = {.struct_size = sizeof i}, found = {0};
  for (size_t n = 0; mx_profile_get_instruction(p, kernel, n, &i) == MX_OK; n++)
    if (i.line == line) found = i;
  assert_int_equal(found.line, line);
  return found;
}
static mx_profile_kernel kernel_of(mx_profile *p, size_t kernel) {
  mx_profile_kernel k = {.struct_size = sizeof k};
  assert_int_equal(mx_profile_get_kernel(p, kernel, &k), MX_OK);
  return k;
}
static mx_profile *profile_new(void) {
  mx_profile *p;
  mx_profile_options o = MX_PROFILE_OPTIONS_INIT;
  o.timeline_blocks = 4;
  assert_int_equal(mx_profile_create(&o, &p), MX_OK);
  return p;
}

static void lanes_and_divergence(void **state) {
  (void)state;
  mx_profile *p = profile_new();
  mx_addr address = 0;
  run(p, "parts", 3, 32, 1, &address, 8);
  const mx_profile_instruction branch = at(p, 0, 9), most = at(p, 0, 10), few = at(p, 0, 13), end = at(p, 0, 16);
  assert_int_equal(branch.executed, 3);
  assert_int_equal(branch.active, 96);
  assert_int_equal(branch.on, 24);
  assert_true(branch.branch && branch.guarded);
  assert_int_equal(branch.splits, 3);
  assert_int_equal(most.histogram[24], 3);
  assert_int_equal(few.histogram[8], 3);
  assert_int_equal(end.histogram[32], 3);
  assert_int_equal(few.live - few.active, 3 * 24);
  /* add and bra for 24 lanes while 8 wait, two adds for 8 while 24 wait */
  assert_int_equal(branch.idle_lanes, 3 * (2 * 8 + 2 * 24));
  const mx_profile_kernel k = kernel_of(p, 0);
  assert_string_equal(k.name, "parts");
  assert_int_equal(k.splits, 3);
  assert_int_equal(k.blocks, 3);
  mx_launch_stats s = {.struct_size = sizeof s};
  assert_int_equal(mx_device_stats(d, &s), MX_OK);
  assert_int_equal(k.executed, s.steps);
  mx_profile_destroy(p);
}

static void places(void **state) {
  (void)state;
  mx_profile *p = profile_new();
  mx_addr address;
  assert_int_equal(mx_alloc(d, 4096, &address), MX_OK);
  run(p, "memory", 1, 32, 1, &address, 8);
  const struct {
    uint32_t line, sectors, least, passes, conflicts32, conflicts64, same, bytes;
  } expected[] = {{24, 4, 4, 0, 0, 0, 0, 128}, {27, 32, 4, 0, 0, 0, 0, 128}, {28, 1, 1, 0, 0, 0, 0, 128},
                  {30, 0, 0, 1, 1, 0, 0, 0},   {32, 0, 0, 1, 31, 15, 0, 0},  {36, 1, 1, 0, 0, 0, 28, 128},
                  {38, 1, 1, 0, 0, 0, 0, 4}};
  for (size_t n = 0; n < sizeof expected / sizeof *expected; n++) {
    const mx_profile_instruction i = at(p, 0, expected[n].line);
    assert_int_equal(i.sectors, expected[n].sectors);
    assert_int_equal(i.sectors_least, expected[n].least);
    assert_int_equal(i.passes_least, expected[n].passes);
    assert_int_equal(i.conflicts32, expected[n].conflicts32);
    assert_int_equal(i.conflicts64, expected[n].conflicts64);
    assert_int_equal(i.same_address, expected[n].same);
    assert_int_equal(i.bytes, expected[n].bytes);
  }
  assert_int_equal(at(p, 0, 36).atomics, 32);
  assert_int_equal(at(p, 0, 38).on, 1);
  mx_free(d, address);
  mx_profile_destroy(p);
}

/* Warp 0 waits for the others at the barrier: they have executed three instructions more. */
static void barriers(void **state) {
  (void)state;
  for (uint32_t threads = 1; threads < 3; threads++) {
    mx_profile *p = profile_new();
    run(p, "waits", 5, 128, threads, NULL, 0);
    const mx_profile_instruction bar = at(p, 0, 50);
    const mx_profile_kernel k = kernel_of(p, 0);
    assert_int_equal(bar.arrivals, 20);
    assert_int_equal(bar.waited, 5 * 3);
    assert_int_equal(k.waited, 5 * 3);
    assert_int_equal(k.warps, 20);
    assert_int_equal(k.block_least, k.block_most);
    assert_int_equal(k.block_least, 8);
    size_t waits = 0, warps = 0;
    for (size_t n = 0; n < mx_profile_event_count(p); n++) {
      mx_profile_event e = {.struct_size = sizeof e};
      assert_int_equal(mx_profile_get_event(p, n, &e), MX_OK);
      warps += e.kind == MX_PROFILE_WARP;
      if (e.kind != MX_PROFILE_WAIT) continue;
      waits++;
      assert_int_equal(e.warp, 0);
      assert_int_equal(e.line, 50);
      assert_int_equal(e.end - e.begin, 3);
    }
    assert_int_equal(waits, 4); /* of the blocks that are shown */
    assert_int_equal(warps, 16);
    mx_profile_destroy(p);
  }
}

static void sums(void **state) {
  (void)state;
  mx_profile *p = profile_new();
  const float f = 1;
  run(p, "sums", 2, 40, 1, &f, sizeof f);
  assert_int_equal(at(p, 0, 56).floating, 160);
  assert_int_equal(at(p, 0, 57).floating, 80);
  assert_int_equal(kernel_of(p, 0).floating, 240);
  assert_string_equal(at(p, 0, 56).family, "float");
  run(p, "sums", 2, 40, 1, &f, sizeof f); /* the same kernel again, and another one */
  run(p, "waits", 1, 32, 1, NULL, 0);
  assert_int_equal(mx_profile_kernel_count(p), 2);
  assert_int_equal(kernel_of(p, 0).launches, 2);
  assert_int_equal(kernel_of(p, 0).floating, 480);
  mx_profile_clear(p);
  assert_int_equal(mx_profile_kernel_count(p), 0);
  mx_profile_destroy(p);
}

static uint32_t random_word(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33);
}

/* Sectors and passes of random accesses, counted without any short cut. */
static void random_places(void **state) {
  (void)state;
  uint64_t seed = 1;
  for (unsigned round = 0; round < 400; round++) {
    const unsigned bytes = 1u << random_word(&seed) % 7, banks = round & 1 ? 64 : 32,
                   spread = 1u << random_word(&seed) % 12;
    const unsigned words = bytes < 4 ? 1 : bytes / 4, group = banks / words;
    const uint64_t mask = random_word(&seed) % 3 ? UINT64_MAX : (uint64_t)random_word(&seed) << 32 | random_word(&seed),
                   first = random_word(&seed) % 512;
    const uint32_t form = random_word(&seed) % 4, stride = random_word(&seed) % 5;
    uint64_t a[64];
    uint8_t lane[64];
    unsigned n = 0;
    for (unsigned l = 0; l < 64; l++)
      if (mask >> l & 1)
        a[n] = (first + (form == 0   ? random_word(&seed) % spread
                         : form == 1 ? l * stride
                         : form == 2 ? 64 - l
                                     : l / 2)) *
               bytes,
        lane[n++] = (uint8_t)l;
    struct mx_places want = {0, 0};
    uint32_t passes = 0, groups = 0, least;
    for (unsigned k = 0; k < n; k++) {
      bool seen = false;
      for (unsigned e = 0; e < k; e++) seen |= a[e] == a[k];
      want.addresses += !seen;
    }
    for (uint64_t s = 0; s < 1u << 14; s++) {
      bool touched = false;
      for (unsigned k = 0; k < n; k++) touched |= a[k] < (s + 1) * 32 && a[k] + bytes > s * 32;
      want.sectors += touched;
      if (s * 32 > (first + 4096) * bytes) break;
    }
    for (unsigned k = 0; k < n; groups++) {
      const unsigned of = lane[k] / group, from = k;
      unsigned most = 0;
      while (k < n && lane[k] / group == of) k++;
      for (unsigned bank = 0; bank < banks; bank++) {
        uint64_t wanted[256];
        unsigned different = 0;
        for (unsigned e = from; e < k; e++)
          for (unsigned w = 0; w < words; w++) {
            const uint64_t word = a[e] / 4 + w;
            bool seen = word % banks != bank;
            for (unsigned v = 0; v < different; v++) seen |= wanted[v] == word;
            if (!seen) wanted[different++] = word;
          }
        most = different > most ? different : most;
      }
      passes += most;
    }
    const struct mx_places got = mx__places(a, n, bytes);
    assert_int_equal(got.addresses, want.addresses);
    assert_int_equal(got.sectors, want.sectors);
    assert_int_equal(mx__bank_passes(a, lane, n, bytes, banks, &least), passes);
    assert_int_equal(least, groups);
    struct mx_word_banks w;
    if (bytes == 4 && mx__word_banks(a, lane, n, &w)) {
      assert_int_equal(w.addresses, want.addresses);
      assert_int_equal(w.passes[banks == 64], passes);
      assert_int_equal(w.least[banks == 64], groups);
    } else assert_true(bytes != 4);
  }
  uint64_t far[] = {0, 1 << 20}, odd[] = {0, 6};
  const uint8_t lane[] = {0, 1};
  struct mx_word_banks w;
  assert_false(mx__word_banks(far, lane, 2, &w));
  assert_false(mx__word_banks(odd, lane, 2, &w));
}

static void wrong_calls(void **state) {
  (void)state;
  mx_profile *p = profile_new();
  mx_profile_options o = {.struct_size = 4096};
  mx_profile *none;
  mx_profile_kernel k = {.struct_size = sizeof k};
  mx_profile_event e = {.struct_size = sizeof e};
  assert_int_equal(mx_profile_create(&o, &none), MX_INVALID_VALUE);
  assert_int_equal(mx_profile_create(NULL, NULL), MX_INVALID_VALUE);
  assert_int_equal(mx_profile_get_kernel(p, 0, &k), MX_NOT_FOUND);
  assert_int_equal(mx_profile_get_event(p, 0, &e), MX_NOT_FOUND);
  run(p, "waits", 1, 32, 1, NULL, 0);
  k.struct_size = 1;
  assert_int_equal(mx_profile_get_kernel(p, 0, &k), MX_INVALID_VALUE);
  k.struct_size = offsetof(mx_profile_kernel, functions);
  assert_int_equal(mx_profile_get_kernel(p, 0, &k), MX_OK);
  mx_profile_destroy(p);
  mx_profile_destroy(NULL);
}

/* The profile outlives what it was made of. */
static void outlives(void **state) {
  (void)state;
  mx_device *own;
  mx_module *module;
  mx_kernel *k;
  mx_profile *p = profile_new();
  mx_stream *stream;
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.profile = p;
  assert_int_equal(mx_device_create(NULL, &own), MX_OK);
  assert_int_equal(load_text(own, program, NULL, &module), MX_OK);
  assert_int_equal(mx_module_kernel(module, "waits", &k), MX_OK);
  assert_int_equal(mx_stream_create(own, 0, &stream), MX_OK);
  assert_int_equal(mx_launch_async(k, &c, NULL, 0, stream), MX_OK);
  assert_int_equal(mx_stream_synchronize(stream), MX_OK);
  mx_device_destroy(own);
  assert_int_equal(at(p, 0, 44).executed, 1);
  bool launch = false;
  for (size_t n = 0; n < mx_profile_event_count(p); n++) {
    mx_profile_event e = {.struct_size = sizeof e};
    assert_int_equal(mx_profile_get_event(p, n, &e), MX_OK);
    if (e.kind != MX_PROFILE_LAUNCH) continue;
    launch = true;
    assert_int_equal(e.stream, 1);
    assert_string_equal(e.kernel, "waits");
  }
  assert_true(launch);
  mx_profile_destroy(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lanes_and_divergence),
      cmocka_unit_test(places),
      cmocka_unit_test(barriers),
      cmocka_unit_test(sums),
      cmocka_unit_test(random_places),
      cmocka_unit_test(wrong_calls),
      cmocka_unit_test(outlives),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
