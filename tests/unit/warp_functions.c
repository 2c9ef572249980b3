/* Shuffles, votes, matches and reductions of 64 lanes, under their own names, against the guides' definitions applied
 * to each lane by itself. The lanes of a warp are in up to four groups, each with its mask; a group calls in a branch
 * of its own, or all groups at one place, or at one place after some lanes have ended. Nothing here comes from the
 * machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "on_device.h"

#include "mx/mx.h"
#include "mx/text.h"
#include "tests/text.h"

enum { LANES = 64, WARPS = 96, GROUPS = 4 };
enum where { APART, TOGETHER, AFTER_EXIT, PLACES };

/* What a lane brings and takes: one call's cells. */
struct cell {
  uint64_t mask, value, operand, width, group, result, flag, pad;
};

static uint64_t random_state = 1;
static uint64_t rnd(void) {
  uint64_t z = random_state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/* ---- the functions ----------------------------------------------------------------------------------------------*/
enum kind {
  IDX,
  UP,
  DOWN,
  XOR,
  ALL,
  ANY,
  BALLOT,
  MATCH_ANY,
  MATCH_ALL,
  ADD,
  MIN,
  MAX,
  AND,
  OR,
  XORED,
  A_ALL,
  A_ANY,
  A_BALLOT
};
static const struct function {
  enum kind kind;
  const char *text;
  unsigned bits;
  bool is_signed;
} functions[] = {
    /* %mask %v (64 bits) %v32 %v16 %operand %width -> %r, %r32, %r16, %p */
    {IDX, "__shfl_sync.u32 %r32, %mask, %v32, %operand, %width", 32, false},
    {UP, "__shfl_up_sync.u32 %r32, %mask, %v32, %operand, %width", 32, false},
    {DOWN, "__shfl_down_sync.u32 %r32, %mask, %v32, %operand, %width", 32, false},
    {XOR, "__shfl_xor_sync.u32 %r32, %mask, %v32, %operand, %width", 32, false},
    {IDX, "__shfl_sync.u64 %r, %mask, %v, %operand, %width", 64, false},
    {UP, "__shfl_up_sync.s64 %r, %mask, %v, %operand, %width", 64, false},
    {DOWN, "__shfl_down_sync.f64 %r, %mask, %v, %operand, %width", 64, false},
    {XOR, "__shfl_xor_sync.u64 %r, %mask, %v, %operand, %width", 64, false},
    {IDX, "__shfl_sync.f16 %r16, %mask, %v16, %operand, %width", 16, false},
    {UP, "__shfl_up_sync.bf16 %r16, %mask, %v16, %operand, %width", 16, false},
    {DOWN, "__shfl_down_sync.f16 %r16, %mask, %v16, %operand, %width", 16, false},
    {XOR, "__shfl_xor_sync.bf16 %r16, %mask, %v16, %operand, %width", 16, false},
    {ALL, "__all_sync.s32 %r32, %mask, %some", 32, false},
    {ANY, "__any_sync.s32 %r32, %mask, %some", 32, false},
    {BALLOT, "__ballot_sync.s32 %r, %mask, %some", 64, false},
    {BALLOT, "__ballot_sync %r, %mask, %q", 64, false},
    {MATCH_ANY, "__match_any_sync.u32 %r, %mask, %few32", 64, false},
    {MATCH_ANY, "__match_any_sync.u64 %r, %mask, %few", 64, false},
    {MATCH_ALL, "__match_all_sync.f32 %r|%p, %mask, %few32", 64, false},
    {MATCH_ALL, "__match_all_sync.s64 %r|%p, %mask, %few", 64, false},
    {ADD, "__reduce_add_sync.u32 %r32, %mask, %v32", 32, false},
    {MIN, "__reduce_min_sync.u32 %r32, %mask, %v32", 32, false},
    {MAX, "__reduce_max_sync.u32 %r32, %mask, %v32", 32, false},
    {ADD, "__reduce_add_sync.s32 %r32, %mask, %v32", 32, true},
    {MIN, "__reduce_min_sync.s32 %r32, %mask, %v32", 32, true},
    {MAX, "__reduce_max_sync.s32 %r32, %mask, %v32", 32, true},
    {AND, "__reduce_and_sync.u32 %r32, %mask, %v32", 32, false},
    {OR, "__reduce_or_sync.u32 %r32, %mask, %v32", 32, false},
    {XORED, "__reduce_xor_sync.u32 %r32, %mask, %v32", 32, false},
    {A_ALL, "__all.s32 %r32, %some", 32, false},
    {A_ANY, "__any.s32 %r32, %some", 32, false},
    {A_BALLOT, "__ballot.s32 %r, %some", 64, false}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* Values that few lanes share would never match. */
static uint64_t few(uint64_t v) { return v & 1 ? 7 : v % 5; }
static bool some(uint64_t v) { return (v & 6) != 0; }

/* The result of lane l, of the cells of its warp; false: the guides define none. */
static bool expected(const struct function *f, const struct cell *warp, unsigned l, uint64_t *result, uint64_t *flag) {
  const struct cell *me = &warp[l];
  const uint64_t bits = f->bits == 64 ? ~0ull : (1ull << f->bits) - 1;
  const unsigned width = (unsigned)me->width, first = l / width * width;
  const unsigned operand =
      (unsigned)me->operand & (LANES - 1); /* as the hardware, which takes as many bits as lanes have */
  uint64_t votes = 0, same = 0, sum = 0, all = UINT32_MAX, any = 0, odd = 0;
  int64_t least = INT64_MAX, most = INT64_MIN;
  for (unsigned k = 0; k < LANES; k++) {
    if (!(me->mask >> k & 1)) continue;
    const uint32_t v = (uint32_t)warp[k].value;
    const int64_t n = f->is_signed ? (int32_t)v : (int64_t)v;
    votes |= (uint64_t)some(warp[k].value) << k;
    const uint64_t theirs = few(warp[k].value);
    same |= (uint64_t)(theirs == few(me->value)) << k;
    sum += v, all &= v, any |= v, odd ^= v;
    if (n < least) least = n;
    if (n > most) most = n;
  }
  *flag = 0;
  unsigned from = l;
  switch (f->kind) {
  case IDX: from = first + operand % width; break;
  case UP: from = operand > l - first ? l : l - operand; break;
  case DOWN: from = operand >= first + width - l ? l : l + operand; break;
  case XOR:
    from = (l ^ operand) < first + width ? l ^ operand : l;
    break; /* earlier groups may be read, later ones not */
  case ALL:
  case A_ALL: *result = votes == me->mask; return true;
  case ANY:
  case A_ANY: *result = votes != 0; return true;
  case BALLOT:
  case A_BALLOT: *result = votes; return true;
  case MATCH_ANY: *result = same; return true;
  case MATCH_ALL: *result = same == me->mask ? me->mask : 0, *flag = same == me->mask; return true;
  case ADD: *result = (uint32_t)sum; return true;
  case MIN: *result = (uint32_t)least; return true;
  case MAX: *result = (uint32_t)most; return true;
  case AND: *result = all; return true;
  case OR: *result = any; return true;
  case XORED: *result = odd; return true;
  }
  *result = warp[from].value & bits;
  return me->mask >> from & 1;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------*/

static void put_kernel(struct text *t, unsigned number, enum where where) {
  const struct function *f = &functions[number];
  put(t,
      ".entry k%u_%u(.param .u64 cells)\n{\n  .reg .b64 %%at, %%r, %%v, %%few, %%mask, %%b;\n  .reg .b32 %%i, %%r32, "
      "%%v32, %%few32, %%flag, %%group;\n",
      number, where);
  put(t, "  .reg .s32 %%operand, %%width, %%some;\n  .reg .b16 %%r16, %%v16;\n  .reg .pred %%p, %%q, %%here;\n");
  put(t,
      "  mad.lo.u32 %%i, %%ctaid.x, %%ntid.x, %%tid.x;\n  mul.wide.u32 %%at, %%i, %zu;\n  ld.param.u64 %%b, [cells];\n "
      " add.u64 %%at, %%at, %%b;\n",
      sizeof(struct cell));
  put(t, "  ld.global.u64 %%mask, [%%at];\n  ld.global.u64 %%v, [%%at+8];\n  ld.global.u32 %%operand, [%%at+16];\n  "
         "ld.global.u32 %%width, [%%at+24];\n  ld.global.u32 %%group, [%%at+32];\n");
  put(t, "  cvt.u32.u64 %%v32, %%v;\n  cvt.u16.u64 %%v16, %%v;\n  and.b64 %%b, %%v, 6;\n  setp.ne.u64 %%q, %%b, 0;\n  "
         "selp.s32 %%some, -7, 0, %%q;\n");
  put(t, "  and.b64 %%b, %%v, 1;\n  setp.ne.u64 %%here, %%b, 0;\n  rem.u64 %%few, %%v, 5;\n  selp.b64 %%few, 7, %%few, "
         "%%here;\n  cvt.u32.u64 %%few32, %%few;\n");
  put(t, "  mov.u64 %%r, 0;\n  mov.u32 %%r32, 0;\n  mov.u16 %%r16, 0;\n  setp.ne.u32 %%p, 0, 0;\n");
  if (where == AFTER_EXIT) put(t, "  setp.eq.u32 %%here, %%group, 3;\n  @%%here exit;\n");
  for (unsigned g = 0; g < (where == APART ? GROUPS : 1); g++) {
    if (where == APART) put(t, "  setp.ne.u32 %%here, %%group, %u;\n  @%%here bra past%u;\n", g, g);
    put(t, "  %s;\n", f->text);
    if (where == APART) put(t, "past%u:\n", g);
  }
  if (f->bits == 32) put(t, "  cvt.u64.u32 %%r, %%r32;\n");
  if (f->bits == 16) put(t, "  cvt.u64.u16 %%r, %%r16;\n");
  put(t, "  selp.u32 %%flag, 1, 0, %%p;\n  st.global.u64 [%%at+40], %%r;\n  st.global.u32 [%%at+48], %%flag;\n  "
         "exit;\n}\n");
}

static void fill(struct cell *cells, enum where where) {
  for (unsigned w = 0; w < WARPS; w++) {
    struct cell *warp = cells + w * LANES;
    const unsigned groups = 1 + w % GROUPS;
    uint64_t masks[GROUPS] = {0};
    for (unsigned l = 0; l < LANES; l++) {
      warp[l] = (struct cell){.value = rnd(), .group = rnd() % groups, .width = 1ull << (w / 4 % 7)};
      if (w % 8 == 7) warp[l].value &= 6; /* so that some votes and matches are unanimous */
      if (w % 16 == 15) warp[l].value = 4;
      warp[l].operand = w & 32 ? rnd() & 63 : w & 16 ? rnd() : w % 70;
      masks[warp[l].group] |= 1ull << l;
    }
    /* lanes that have ended drop out of masks: one group has them in its own */
    for (unsigned l = 0; l < LANES; l++)
      warp[l].mask = masks[warp[l].group] | (where == AFTER_EXIT && warp[l].group == 1 ? masks[3] : 0);
  }
}

static void run(bool jit) {
  mx_device *device;
  mx_module *module;
  mx_device_options options = MX_DEVICE_OPTIONS_INIT;
  assert_int_equal(mx_device_create(&options, &device), MX_OK);
  struct text t = {0};
  for (unsigned k = 0; k < FUNCTIONS; k++)
    for (unsigned where = 0; where < PLACES; where++) put_kernel(&t, k, where);
  assert_int_equal(load_text(device, t.s, NULL, &module), MX_OK);
  free(t.s);
  enum { CELLS = WARPS * LANES };
  struct cell *cells = malloc(CELLS * sizeof *cells);
  mx_addr at;
  assert_non_null(cells);
  assert_int_equal(mx_alloc(device, CELLS * sizeof *cells, &at), MX_OK);
  unsigned bad = 0;
  for (unsigned k = 0; k < FUNCTIONS; k++) {
    for (unsigned where = 0; where < PLACES; where++) {
      const struct function *f = &functions[k];
      /* without a mask the lanes that are there answer: those of the group only where it is apart */
      if (f->kind >= A_ALL && where != APART) continue;
      if (jit && (k + where) % 7) continue; /* a compile takes a while */
      char name[32];
      snprintf(name, sizeof name, "k%u_%u", k, where);
      mx_kernel *kernel;
      mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
      config.grid[0] = WARPS / 2;
      config.block[0] = 2 * LANES;
      config.jit = jit ? MX_JIT_ON : MX_JIT_OFF;
      const void *args[] = {&at};
      fill(cells, where);
      assert_int_equal(mx_module_kernel(module, name, &kernel), MX_OK);
      assert_int_equal(mx_copy_to_device(device, at, cells, CELLS * sizeof *cells), MX_OK);
      mx_status status = mx_launch_args(kernel, &config, args, 1);
      if (status != MX_OK) print_message("%s: %s\n", f->text, mx_last_error_text(device));
      assert_int_equal(status, MX_OK);
      assert_int_equal(mx_copy_from_device(device, cells, at, CELLS * sizeof *cells), MX_OK);
      for (unsigned w = 0; w < WARPS; w++) {
        struct cell warp[LANES];
        memcpy(warp, cells + w * LANES, sizeof warp);
        for (unsigned l = 0; l < LANES && where == AFTER_EXIT; l++)
          for (unsigned o = 0; o < LANES; o++)
            if (warp[o].group == 3) warp[l].mask &= ~(1ull << o);
        for (unsigned l = 0; l < LANES; l++) {
          const struct cell *c = &warp[l];
          uint64_t result, flag;
          if (where == AFTER_EXIT && c->group == 3) continue;
          if (!expected(f, warp, l, &result, &flag) || (result == c->result && flag == c->flag)) continue;
          if (bad++ < 5)
            print_message("%s (place %u): warp %u lane %u mask %llx operand %llx width %llu: %llx, expected %llx\n",
                          f->text, where, w, l, (unsigned long long)c->mask, (unsigned long long)c->operand,
                          (unsigned long long)c->width, (unsigned long long)c->result, (unsigned long long)result);
        }
      }
    }
  }
  assert_int_equal(bad, 0);
  free(cells);
  mx_module_unload(module);
  mx_device_destroy(device);
}

static void interpreted(void **state) {
  (void)state;
  run(false);
}
static void compiled(void **state) {
  (void)state;
#ifdef __SANITIZE_ADDRESS__
  skip();
#endif
  if (getenv("MX_QUICK") && *getenv("MX_QUICK")) skip();
  run(true);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(interpreted), cmocka_unit_test(compiled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
