/* Loads and stores of compiled code at scattered addresses (vm/exec/lanes/direct.c) against what they mean, lane by
 * lane; and that compiled code does its own there, with no interpreter's body. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiled.h"
#include "vm/exec/block.h"
#include "vm/exec/jitabi.h"
#include "vm/host/device.h"

static uint64_t seed = 1;
static uint64_t random_word(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return seed >> 20 ^ seed << 30;
}

/* ---- one access ---------------------------------------------------------------------------------------------------*/
enum { EXTENT = 2048, CELLS = 8192, ADDRESS = 0, VALUE = 1024 };
/* By form: bits in memory, of a slot, and how many of them a sign fills; 0: it has none. */
static const struct {
  unsigned bits, slot, signs;
} forms[] = {[MX_JIT_U8_32] = {8, 32, 0},   [MX_JIT_U8_64] = {8, 64, 0},    [MX_JIT_S8_16] = {8, 32, 16},
             [MX_JIT_S8_32] = {8, 32, 32},  [MX_JIT_S8_64] = {8, 64, 64},   [MX_JIT_U16_32] = {16, 32, 0},
             [MX_JIT_U16_64] = {16, 64, 0}, [MX_JIT_S16_32] = {16, 32, 32}, [MX_JIT_S16_64] = {16, 64, 64},
             [MX_JIT_B32] = {32, 32, 0},    [MX_JIT_U32_64] = {32, 64, 0},  [MX_JIT_S32_64] = {32, 64, 64},
             [MX_JIT_B64] = {64, 64, 0}};
struct memory {
  _Alignas(64) unsigned char cells[CELLS], bytes[64 * EXTENT]; /* local memory: EXTENT of each lane */
};
static uint64_t number_at(const struct memory *m, const struct mx_jit_access *a, unsigned l) {
  uint32_t w;
  uint64_t v;
  l = a->one_address ? 0 : l;
  memcpy(&w, m->cells + ADDRESS + 4 * l, 4), memcpy(&v, m->cells + ADDRESS + 8 * l, 8);
  return a->narrow ? w + (uint32_t)a->off : v + (uint64_t)a->off;
}
/* What the access does to the memory; false: nothing, since some lane is outside or odd. */
static bool plain(struct memory *m, const struct mx_jit_access *a, const struct mx_bounds *b, unsigned lanes,
                  uint64_t mask) {
  uint64_t at[64];
  const bool local = b->kind == MX_LOCAL;
  if (a->is_store && !b->writable) return false;
  for (unsigned l = 0; l < lanes; l++) {
    at[l] = number_at(m, a, l) - b->lo;
    if (mask >> l & 1 && (b->span < a->bytes || at[l] > b->span - a->bytes || at[l] % a->bytes)) return false;
    if (local) at[l] += l * EXTENT;
  }
  for (unsigned e = 0; e < a->n; e++)
    for (unsigned l = 0; l < lanes; l++) {
      if (!(mask >> l & 1)) continue;
      unsigned char *cell = m->bytes + at[l] + e * a->cell;
      const unsigned bytes = forms[a->form].slot / 8;
      unsigned char *slot = m->cells + a->value[e] + bytes * (a->one_value ? 0 : l);
      uint64_t v = 0;
      if (a->is_store) {
        memcpy(cell, slot, a->cell);
        continue;
      }
      memcpy(&v, cell, a->cell);
      const unsigned bits = forms[a->form].bits, signs = forms[a->form].signs;
      if (signs && v >> (bits - 1)) v |= (signs == 64 ? 0 : 1ull << signs) - (1ull << bits);
      memcpy(slot, &v, bytes);
    }
  return true;
}
static void check_level(const char *name) {
  static struct memory before, want, got;
  const struct mx_level *level = mx__level(name);
  if (!level) return; /* another build or processor */
  unsigned done = 0, refused = 0;
  for (unsigned n = 0; n < 60000; n++) {
    const unsigned lanes = random_word() & 1 ? 64 : 32;
    const uint64_t every = lanes == 64 ? UINT64_MAX : UINT32_MAX, kind = random_word() % 3;
    struct mx_jit_access a = {.form = (uint8_t)(random_word() % (MX_JIT_B64 + 1)),
                              .is_store = random_word() % 2,
                              .narrow = random_word() % 2,
                              .n = 1u << random_word() % 3,
                              .one_address = random_word() % 8 == 0,
                              .off = (int64_t)(random_word() % 64) - 32};
    if (a.is_store && forms[a.form].signs) a.form = MX_JIT_B32;
    a.cell = (uint8_t)(forms[a.form].bits / 8), a.bytes = a.cell * a.n;
    a.one_value = a.is_store && a.n == 1 && random_word() % 4 == 0;
    for (unsigned e = 0; e < a.n; e++) a.value[e] = (mx_ref)(VALUE + 1024 * e);
    struct mx_bounds b = {.lo = 4096,
                          .span = random_word() % 16 ? EXTENT : random_word() % 64,
                          .kind = kind == 0   ? MX_LOCAL
                                  : kind == 1 ? MX_SHARED
                                              : MX_GLOBAL,
                          .writable = random_word() % 16 != 0};
    uint64_t mask = every;
    if (random_word() % 2) mask &= random_word();
    if (random_word() % 4 == 0) mask &= random_word() & random_word();
    if (random_word() % 16 == 0) mask = 1ull << random_word() % lanes;
    /* Everything is new from time to time, in between what the access names: random numbers take most of the time. */
    for (size_t k = 0; k < (n % 64 ? sizeof before.cells : sizeof before); k += 8) {
      const uint64_t v = random_word();
      memcpy((unsigned char *)&before + k, &v, 8);
    }
    const unsigned piece = 1u << random_word() % 6, pieces = random_word() % 3; /* of lanes at one place, or in a row */
    uint64_t place = 0;
    for (unsigned l = 0; l < lanes; l++) { /* good ones; those of lanes that do not run are anything */
      if (!pieces || l % piece == 0) place = random_word() % (EXTENT / a.bytes - 32);
      else place += pieces - 1;
      uint64_t v = b.lo + place * a.bytes - (uint64_t)a.off;
      if (!(mask >> l & 1)) v = random_word();
      memcpy(before.cells + ADDRESS + l * (a.narrow ? 4 : 8), &v, a.narrow ? 4 : 8);
    }
    if (random_word() % 8 == 0) { /* but for one */
      const uint64_t v = random_word() % 2 ? random_word() : b.lo + EXTENT - 1 - random_word() % 40;
      memcpy(before.cells + ADDRESS + random_word() % lanes * (a.narrow ? 4 : 8), &v, a.narrow ? 4 : 8);
    }
    want = got = before;
    struct mx_block block = {.local = got.bytes};
    struct mx_warp warp = {.number = 0};
    struct mx_exec x = {
        .lanes = lanes, .full = every, .bounds = &b, .block = &block, .warp = &warp, .local_stride = EXTENT};
    if (kind == 1) x.window[MX_SHARED] = got.bytes;
    if (kind == 2) b.off = (uint64_t)(uintptr_t)got.bytes;
    const bool moved = plain(&want, &a, &b, lanes, mask);
    const bool told = level->access(&x, &a, got.cells, mask);
    if (mask && (moved != told || memcmp(&want, &got, sizeof got)))
      print_error("%s: form %u, store %d, n %u, %u lanes, mask %016llx: done %d, expected %d\n", name, a.form,
                  a.is_store, a.n, lanes, (unsigned long long)mask, told, moved);
    if (mask) assert_int_equal(moved, told);
    if (memcmp(&want, &got, sizeof got)) assert_memory_equal(&want, &got, sizeof got); /* by bytes: it says where */
    done += told, refused += !told;
  }
  assert_true(done > 10000 && refused > 1000);
}
static void one_access(void **state) {
  (void)state;
  check_level("v2"), check_level("v3"), check_level("v4"), check_level("plain");
}

/* ---- in a kernel --------------------------------------------------------------------------------------------------*/
static unsigned asked, did;
static const struct mx_level *real;
static bool counting(struct mx_exec *x, const struct mx_jit_access *a, unsigned char *spill_area, uint64_t mask) {
  const bool done = real->access(x, a, spill_area, mask);
  asked++, did += done;
  return done;
}
/* Pointers that lanes move by steps of their own; bytes, pairs, and local memory; under a guard, too. */
static const char apart[] =
    ".target mx64\n"
    ".entry work (.param .u64 p)\n{\n"
    "  .local .align 8 .b8 mine[64];\n"
    "  .reg .b64 %p, %q, %s, %w;\n  .reg .b32 %t, %n, %v, %a, %b;\n  .reg .b16 %h;\n  .reg .pred %m, %odd;\n"
    "  mov.u32 %t, %tid.x;\n  ld.param.u64 %p, [p];\n"
    "  mul.lo.u32 %v, %t, %t;\n  cvt.u64.u32 %w, %v;\n  shl.b64 %w, %w, 3;\n  add.u64 %q, %p, %w;\n" /* 8 t t */
    "  and.b32 %a, %t, 7;\n  cvt.u64.u32 %s, %a;\n  shl.b64 %s, %s, 3;\n"
    "  and.b32 %b, %t, 1;\n  setp.eq.u32 %odd, %b, 1;\n  mov.u32 %n, 0;\n"
    "L:\n"
    "  ld.global.u32 %v, [%q];\n  add.u32 %v, %v, %n;\n  st.global.u32 [%q], %v;\n"
    "  ld.global.u8 %h, [%q + 5];\n  st.global.u8 [%q + 6], %h;\n"
    "  ld.global.v2.u32 {%a, %b}, [%q];\n  @%odd st.global.v2.u32 [%q], {%b, %a};\n"
    "  add.u64 %q, %q, %s;\n"
    "  mov.u64 %w, mine;\n  st.local.u32 [%w], %v;\n  add.u64 %w, %w, %s;\n  ld.local.u32 %v, [%w];\n"
    "  st.global.u32 [%q], %v;\n"
    "  add.u32 %n, %n, 1;\n  setp.lt.u32 %m, %n, 20;\n  @%m bra L;\n  exit;\n}\n";
enum { BYTES = 8 * (63 * 63 + 20 * 7 + 8) };
/* Launches the text's kernel in the interpreter, compiled, and compiled once more, when it is counted. */
static void count_in(const char *text) {
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  o.threads = 1, o.cache_dir = "";
  mx_device *d;
  mx_module *m;
  mx_kernel *k = load(&o, text, "work", &d, &m);
  mx_addr p;
  static unsigned char result[3][BYTES];
  assert_int_equal(mx_alloc(d, BYTES, &p), MX_OK);
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = 1, c.block[0] = 64;
  const void *args[] = {&p};
  struct mx_level counted;
  asked = did = 0;
  for (int way = 0; way < 3; way++) {
    for (unsigned b = 0; b < BYTES; b++) result[way][b] = (unsigned char)(b * 37 + b / 256);
    assert_int_equal(mx_copy_to_device(d, p, result[way], BYTES), MX_OK);
    if (way == 2) {
      counted = *(real = k->prep->level);
      counted.access = counting;
      k->prep->level = &counted;
    }
    c.jit = way ? MX_JIT_ON : MX_JIT_OFF;
    assert_int_equal(mx_launch_args(k, &c, args, 1), MX_OK);
    assert_int_equal(mx_copy_from_device(d, result[way], p, BYTES), MX_OK);
  }
  k->prep->level = real;
  assert_memory_equal(result[0], result[1], BYTES);
  assert_memory_equal(result[0], result[2], BYTES);
  mx_device_destroy(d);
}
static void in_a_kernel(void **state) {
  (void)state;
  NEEDS_CODE();
  count_in(apart);
  /* The two accesses to local memory are made in line, once the first of them has mapped it; at v3 and v4, so are the
   * seven in global memory: words, pairs, and bytes. Each of these remembers its memory after the first time. */
  const unsigned in_line = strcmp(real->name, "v2") ? 7 : 0;
  assert_int_equal(asked, (7 - in_line) * 20 + in_line + 1);
  assert_true(did >= (7 - in_line) * 19);
}
/* Addresses as compilers make them of indices that come from memory: these are gathered in line. */
static const char indexed[] =
    ".target mx64\n"
    ".entry work (.param .u64 p)\n{\n"
    "  .reg .b64 %p, %q, %w, %u;\n  .reg .b32 %t, %n, %v, %i;\n  .reg .pred %m;\n"
    "  mov.u32 %t, %tid.x;\n  ld.param.u64 %p, [p];\n  mov.u32 %n, 0;\n  and.b32 %i, %t, 7;\n"
    "L:\n"
    "  cvt.s64.s32 %w, %i;\n  shl.b64 %u, %w, 2;\n  add.u64 %q, %p, %u;\n  ld.global.u32 %v, [%q + 4];\n"
    "  and.b32 %i, %v, 1023;\n  cvt.u64.u32 %w, %i;\n  shl.b64 %w, %w, 3;\n  add.u64 %w, %w, %p;\n"
    "  ld.global.f64 %u, [%w];\n  cvt.u32.u64 %v, %u;\n  and.b32 %i, %v, 1023;\n"
    "  add.u32 %n, %n, 1;\n  setp.lt.u32 %m, %n, 20;\n  @%m bra L;\n"
    "  mul.wide.u32 %w, %t, 4;\n  add.u64 %w, %w, %p;\n  st.global.u32 [%w], %i;\n  exit;\n}\n";
static void by_index(void **state) {
  (void)state;
  NEEDS_CODE();
  count_in(indexed);
  assert_true(asked <= 3);
}

/* Bytes in rows of 16 lanes, by pointers that move by one step, while more and more lanes have left: rows are loaded
 * whole. At the ends of the memory no more than the lanes' own bytes may be. */
static const char rows[] =
    ".target mx64\n"
    ".entry work (.param .u64 p)\n{\n"
    "  .reg .b64 %p, %q, %o, %w;\n  .reg .b32 %t, %n, %v, %s, %last;\n  .reg .b16 %h;\n  .reg .pred %m;\n"
    "  mov.u32 %t, %tid.x;\n  ld.param.u64 %p, [p];\n  mov.u32 %n, 0;\n  mov.u32 %s, 0;\n"
    "  shr.u32 %v, %t, 4;\n  mul.lo.u32 %v, %v, 36;\n  and.b32 %last, %t, 15;\n  add.u32 %v, %v, %last;\n"
    "  cvt.u64.u32 %w, %v;\n  add.u64 %q, %p, %w;\n  add.u64 %q, %q, BEGIN;\n"
    "  mul.wide.u32 %w, %t, 4;\n  add.u64 %o, %p, %w;\n  mul.lo.u32 %last, %t, 7;\n  and.b32 %last, %last, 15;\n"
    "  add.u32 %last, %last, 1;\n"
    "L:\n"
    "  ld.global.u8 %h, [%q];\n  cvt.u32.u16 %v, %h;\n  mad.lo.u32 %s, %s, 3, %v;\n  st.global.u32 [%o], %s;\n"
    "  add.u64 %q, %q, 1;\n  add.u32 %n, %n, 1;\n  setp.lt.u32 %m, %n, %last;\n  @%m bra L;\n  exit;\n}\n";
static void bytes_in_rows(void **state) {
  (void)state;
  NEEDS_CODE();
  const int begin[] = {2000, 0, BYTES - (3 * 36 + 16 + 15)};
  for (unsigned k = 0; k < 3; k++) {
    char text[sizeof rows + 16], *at = strstr(rows, "BEGIN");
    snprintf(text, sizeof text, "%.*s%d%s", (int)(at - rows), rows, begin[k], at + strlen("BEGIN"));
    count_in(text);
    if (!k) assert_true(asked <= 2);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_access), cmocka_unit_test(in_a_kernel),
                                     cmocka_unit_test(by_index), cmocka_unit_test(bytes_in_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
