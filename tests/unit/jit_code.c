/* Compiled code of kernels that are hard for it, against the interpreter: results, instructions counted, traps, and
 * that it stays in compiled code where it should. Separate from jit.c, which is about how code is made, kept and found.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "compiled.h"

static char cache[] = "/tmp/mx-jit-code-XXXXXX";
static int make_cache(void **state) {
  (void)state;
  return mkdtemp(cache) ? 0 : -1;
}
static int remove_cache(void **state) {
  (void)state;
  char command[sizeof cache + 16];
  snprintf(command, sizeof command, "rm -rf '%s'", cache);
  return system(command);
}

/* A function whose address lies in memory only, and one whose address another kernel has put there. */
static const char through_memory[] =
    ".target mx64\n"
    ".func (.param .b32 r) slow (.param .b32 n)\n{\n"
    "  .reg .b32 %n, %h;\n  .reg .pred %p;\n  ld.param.b32 %n, [n];\n  mov.u32 %h, 1;\n"
    "L:\n  mad.lo.u32 %h, %h, 31, %n;\n  sub.u32 %n, %n, 1;\n  setp.ne.u32 %p, %n, 0;\n  @%p bra L;\n  st.param.b32 "
    "[r], %h;\n  ret;\n}\n"
    ".func (.param .b32 r) twin (.param .b32 n)\n{\n"
    "  .reg .b32 %n, %h;\n  .reg .pred %p;\n  ld.param.b32 %n, [n];\n  mov.u32 %h, 1;\n"
    "L:\n  mad.lo.u32 %h, %h, 31, %n;\n  sub.u32 %n, %n, 1;\n  setp.ne.u32 %p, %n, 0;\n  @%p bra L;\n  st.param.b32 "
    "[r], %h;\n  ret;\n}\n"
    ".global .u64 table[2] = {slow};\n"
    ".entry put ()\n{\n  .reg .b64 %f;\n  mov.u64 %f, twin;\n  st.global.u64 [table + 8], %f;\n  exit;\n}\n"
    ".entry work (.param .u64 out, .param .u32 which)\n{\n"
    "  .reg .b64 %f, %a;\n  .reg .u32 %v, %t, %w;\n  mov.u32 %t, %tid.x;\n  add.u32 %v, %t, 500;\n"
    "  ld.param.u32 %w, [which];\n  mul.wide.u32 %a, %w, 8;\n  ld.global.u64 %f, [table + %a];\n"
    "  { .param .b32 a; .param .b32 r;\n  st.param.b32 [a], %v;\n  prototype: .callprototype (.param .b32 _) _ (.param "
    ".b32 _);\n"
    "  call (r), %f, (a), prototype;\n  ld.param.b32 %v, [r]; }\n  ld.param.u64 %a, [out];\n  st.global.u32 [%a + "
    "%t*4], %v;\n  exit;\n}\n";
static void called_through_memory(void **state) {
  (void)state;
  NEEDS_CODE();
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  o.threads = 1, o.cache_dir = "";
  mx_device *d;
  mx_module *m;
  mx_kernel *k = load(&o, through_memory, "work", &d, &m), *put;
  mx_addr out;
  assert_int_equal(mx_module_kernel(m, "put", &put), MX_OK);
  assert_int_equal(mx_alloc(d, 256, &out), MX_OK);
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = 1, c.block[0] = 1, c.jit = MX_JIT_OFF;
  assert_int_equal(mx_launch(put, &c, NULL, 0), MX_OK);
  c.block[0] = 64, c.jit = MX_JIT_ON;
  for (uint32_t which = 0; which < 2; which++) {
    uint32_t got[64];
    const void *args[] = {&out, &which};
    assert_int_equal(mx_launch_args(k, &c, args, 2), MX_OK);
    mx_launch_stats s = {.struct_size = sizeof s};
    assert_int_equal(mx_device_stats(d, &s), MX_OK);
    assert_true(s.steps_compiled * 10 > s.steps * 9);
    assert_int_equal(mx_copy_from_device(d, got, out, sizeof got), MX_OK);
    for (uint32_t t = 0; t < 64; t++) {
      uint32_t h = 1;
      for (uint32_t n = t + 500; n; n--) h = h * 31 + n;
      assert_int_equal(got[t], h);
    }
  }
  mx_device_destroy(d);
}

/* Addresses of all shapes: rows that begin in front of the first lane that runs, one address a chunk, columns, numbers
 * and pointers that a loop moves up and down, with barriers in between. Blocks of 16 x 16. */
static const char shapes[] =
    ".shared .align 16 .b8 tile[4352];\n"
    ".entry shapes(.param .u64 out, .param .u32 n)\n{\n"
    "  mov.u32 %x, %tid.x;\n  mov.u32 %y, %tid.y;\n  mad.lo.u32 %t, %y, 16, %x;\n"
    "  mad.lo.u32 %i, %ctaid.x, 256, %t;\n"
    "  mul.lo.u32 %v, %i, 2654435761;\n  mul.lo.u32 %at, %x, 68;\n  shl.b32 %down, %y, 2;\n  add.u32 %at, %at, %down;\n"
    "  st.shared.u32 [%at + tile], %v;\n  bar.sync 0;\n" /* a column each row */
    "  shl.b32 %row, %y, 6;\n  shl.b32 %column, %x, 2;\n  mov.u32 %k, 0;\n  mov.u32 %s, 0;\n"
    "steps:\n  ld.shared.u32 %a, [%row + tile + 4];\n  ld.shared.u32 %b, [%column + tile + 128];\n"
    "  mad.lo.u32 %s, %a, %b, %s;\n  setp.ge.u32 %in, %t, %k;\n  sub.u32 %from, %t, %k;\n  mov.u32 %c, 7;\n"
    "  @%in ld.shared.u32 %c, [tile + %from*4];\n  xor.b32 %s, %s, %c;\n  bar.sync 0;\n"
    "  st.shared.u32 [%at + tile], %s;\n  bar.sync 0;\n"
    "  add.u32 %k, %k, 3;\n  setp.lt.u32 %more, %k, 40;\n  @%more bra steps;\n"
    "  mov.u32 %j, %i;\n  mul.wide.u32 %p, %i, 4;\n  add.u64 %p, %out, %p;\n"
    "up:\n  setp.ge.u32 %end, %j, %n;\n  @%end bra turn;\n  ld.global.u32 %c, [%out + %j*4];\n  add.u32 %s, %s, %c;\n"
    "  add.u32 %j, %j, 64;\n  bra up;\n"
    "turn:\n  mov.u32 %k, 0;\n  and.b32 %few, %t, 3;\n"
    "back:\n  st.global.u32 [%p], %s;\n  add.s64 %p, %p, 4096;\n  add.u32 %k, %k, 1;\n  setp.le.u32 %more, %k, %few;\n "
    " @%more bra back;\n"
    "  exit;\n}\n";
static void addresses(void **state) {
  (void)state;
  NEEDS_CODE();
  enum { BLOCKS = 4, WORDS = 256 * BLOCKS + 4 * 1024 };
  static uint32_t got[2][WORDS];
  for (int on = 0; on < 2; on++) {
    mx_device *d;
    mx_module *m;
    mx_addr out;
    mx_device_options o = MX_DEVICE_OPTIONS_INIT;
    o.threads = 1;
    o.cache_dir = "";
    mx_kernel *k = load(&o, shapes, "shapes", &d, &m);
    assert_int_equal(mx_alloc(d, sizeof got[0], &out), MX_OK);
    for (uint32_t w = 0; w < WORDS; w++) got[on][w] = w * 40503u;
    assert_int_equal(mx_copy_to_device(d, out, got[on], sizeof got[on]), MX_OK);
    mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
    c.grid[0] = BLOCKS;
    c.block[0] = c.block[1] = 16;
    c.jit = on ? MX_JIT_ON : MX_JIT_OFF;
    const uint32_t n = 256 * BLOCKS - 5;
    const void *args[] = {&out, &n};
    assert_int_equal(mx_launch_args(k, &c, args, 2), MX_OK);
    assert_int_equal(mx_copy_from_device(d, got[on], out, sizeof got[on]), MX_OK);
    mx_device_destroy(d);
  }
  assert_memory_equal(got[0], got[1], sizeof got[0]);
}

/* Warps that end in compiled code begin the next ones there, until one needs a split of its own: here each odd one asks
 * for its number and clock, the third may call, the last has not all its lanes, and some loop for longer than a slice
 * or leave it apart. */
static const char warps[] =
    ".func (.reg .u32 %r) twice(.reg .u32 %v)\n{\n  add.u32 %r, %v, %v;\n  ret;\n}\n"
    ".entry warps(.param .u64 out, .param .u32 bad, .param .u32 turns, .param .u32 calls)\n{\n"
    "  mad.lo.u32 %i, %ctaid.x, %ntid.x, %tid.x;\n  shr.u32 %w, %tid.x, 6;\n  mov.u32 %s, %i;\n"
    "  and.b32 %k, %w, 1;\n  setp.eq.u32 %p, %k, 0;\n  @%p bra even;\n"
    "  mov.u32 %k, %warpid;\n  mov.u32 %l, %clock;\n  mad.lo.u32 %s, %k, 977, %l;\n"
    "even:\n  setp.ne.u32 %p, %w, %calls;\n  @%p bra loop;\n  call (%s), twice, (%s);\n"
    "loop:\n  mov.u32 %k, 0;\n  and.b32 %few, %tid.x, 3;\n  mad.lo.u32 %few, %few, %turns, %w;\n"
    "again:\n  add.u32 %s, %s, %k;\n  add.u32 %k, %k, 1;\n  setp.le.u32 %p, %k, %few;\n  @%p bra again;\n"
    "  setp.eq.u32 %p, %i, %bad;\n  mov.u32 %at, %i;\n  @%p mov.u32 %at, 10000000;\n"
    "  st.global.u32 [%out + %at*4], %s;\n  exit;\n}\n";
static void warp_after_warp(void **state) {
  (void)state;
  NEEDS_CODE();
  enum { BLOCKS = 3, THREADS_OF_BLOCK = 300, WORDS = BLOCKS * THREADS_OF_BLOCK };
  for (uint32_t way = 0; way < 4; way++)
    for (uint32_t bad = 0; bad <= WORDS; bad += 75) { /* the last: none is */
      const uint32_t turns = way & 1 ? 600 : 1, calls = way & 2 ? 2 : 100;
      uint32_t got[2][WORDS] = {{0}};
      mx_launch_stats stats[2] = {{.struct_size = sizeof *stats}, {.struct_size = sizeof *stats}};
      mx_trap_info trap[2] = {{.struct_size = sizeof *trap}, {.struct_size = sizeof *trap}};
      for (int on = 0; on < 2; on++) {
        mx_device *d;
        mx_module *m;
        mx_addr out;
        mx_device_options o = MX_DEVICE_OPTIONS_INIT;
        o.threads = 1;
        o.cache_dir = cache;
        mx_kernel *k = load(&o, warps, "warps", &d, &m);
        assert_int_equal(mx_alloc(d, sizeof got[0], &out), MX_OK);
        mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
        c.grid[0] = BLOCKS;
        c.block[0] = THREADS_OF_BLOCK;
        c.jit = on ? MX_JIT_ON : MX_JIT_OFF;
        const void *args[] = {&out, &bad, &turns, &calls};
        assert_int_equal(mx_launch_args(k, &c, args, 4), bad < WORDS ? MX_TRAPPED : MX_OK);
        assert_int_equal(mx_device_stats(d, &stats[on]), MX_OK);
        if (bad < WORDS) assert_int_equal(mx_device_trap(d, &trap[on]), MX_OK);
        else assert_int_equal(mx_copy_from_device(d, got[on], out, sizeof got[on]), MX_OK);
        mx_device_destroy(d);
      }
      assert_memory_equal(got[0], got[1], sizeof got[0]);
      assert_int_equal(stats[0].steps, stats[1].steps);
      assert_int_equal(trap[0].warp, trap[1].warp);
      assert_int_equal(trap[0].lanes, trap[1].lanes);
      assert_int_equal(trap[0].pc, trap[1].pc);
      assert_memory_equal(trap[0].block, trap[1].block, sizeof trap[0].block);
      if (bad < WORDS) {
        assert_int_equal(trap[1].block[0], bad / THREADS_OF_BLOCK);
        assert_int_equal(trap[1].warp, bad % THREADS_OF_BLOCK / 64);
        continue;
      }
      assert_int_equal(stats[0].warps, stats[1].warps);
      assert_int_equal(stats[1].warps_compiled, 5 * BLOCKS);
      assert_int_equal(stats[1].exits[MX_EXIT_DONE], 5 * BLOCKS);
    }
}

/* One block of 64 lanes of `work`, whose parameters are memory and a number, by the interpreter and in compiled code:
 * both execute as many instructions, and leave the same memory or say the same of a trap. Returned: how often compiled
 * code was left for a call. call_depth 0: the usual one. */
static uint64_t call_exits(const char *text, uint64_t call_depth, uint32_t n, mx_status status) {
  enum { LANES = 64 };
  static uint32_t out[2][2 * LANES];
  mx_launch_stats stats[2];
  char *said[2] = {NULL, NULL};
  for (int e = 0; e < 2; e++) {
    mx_device_options o = MX_DEVICE_OPTIONS_INIT;
    o.cache_dir = "";
    o.threads = 1;
    mx_device *d;
    mx_module *m;
    mx_kernel *k = load(&o, text, "work", &d, &m);
    if (call_depth) assert_int_equal(mx_limit_set(d, MX_LIMIT_CALL_DEPTH, call_depth), MX_OK);
    mx_addr memory;
    assert_int_equal(mx_alloc(d, sizeof out[e], &memory), MX_OK);
    for (uint32_t i = 0; i < 2 * LANES; i++) out[e][i] = i * 0x9E3779B9u;
    assert_int_equal(mx_copy_to_device(d, memory, out[e], sizeof out[e]), MX_OK);
    const void *args[] = {&memory, &n};
    mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
    c.block[0] = LANES;
    c.jit = e ? MX_JIT_ON : MX_JIT_OFF;
    assert_int_equal(mx_launch_args(k, &c, args, 2), status);
    stats[e] = (mx_launch_stats){.struct_size = sizeof stats[e]};
    mx_device_stats(d, &stats[e]);
    if (status == MX_OK) mx_copy_from_device(d, out[e], memory, sizeof out[e]);
    else said[e] = mx_last_error_text(d);
    mx_device_destroy(d);
  }
  assert_int_equal(stats[1].steps, stats[0].steps);
  if (status != MX_OK) assert_string_equal(said[1], said[0]);
  else assert_memory_equal(out[0], out[1], sizeof *out);
  free(said[0]), free(said[1]);
  return stats[1].exits[MX_EXIT_CALL];
}

/* Small functions and those that are called once are built where they are called, whatever is in them: early returns,
 * loops, memory of all kinds, calls; under masks too. No call leaves compiled code, but where the slice ends there, or
 * no frame is left. */
static const char calling[] =
    ".version 9.0\n.target mx64\n.address_size 64\n"
    ".func (.param .b32 r) mix(.param .b32 a, .param .b32 b)\n{\n"
    "  .reg .b32 %a, %b, %t;\n  .reg .pred %p;\n  ld.param.b32 %a, [a];\n  ld.param.b32 %b, [b];\n"
    "  xor.b32 %t, %a, %b;\n  setp.gt.u32 %p, %t, 1000;\n  @%p add.u32 %t, %t, %a;\n  st.param.b32 [r], %t;\n  "
    "ret;\n}\n"
    /* returns early, or goes round a loop of its lane's length, reading memory */
    ".func (.param .b32 r) sum(.param .b64 at, .param .b32 n)\n{\n"
    "  .reg .b32 %n, %s, %v;\n  .reg .b64 %a;\n  .reg .pred %p;\n  ld.param.b64 %a, [at];\n  ld.param.b32 %n, [n];\n  "
    "mov.u32 %s, 0;\n"
    "  setp.ne.u32 %p, %n, 0;\n  @%p bra L;\n  mov.u32 %s, 77;\n  st.param.b32 [r], %s;\n  ret;\n"
    "L:\n  ld.global.u32 %v, [%a];\n  add.u32 %s, %s, %v;\n  add.u64 %a, %a, 4;\n  sub.u32 %n, %n, 1;\n  setp.ne.u32 "
    "%p, %n, 0;\n  @%p bra L;\n"
    "  { .param .b32 x; .param .b32 y; .param .b32 q;\n  st.param.b32 [x], %s;\n  st.param.b32 [y], %v;\n"
    "  call (q), mix, (x, y);\n  ld.param.b32 %s, [q]; }\n  st.param.b32 [r], %s;\n  ret;\n}\n"
    /* has local memory of its own */
    ".func (.param .b32 r) pick(.param .b32 v, .param .b32 n)\n{\n"
    "  .local .align 4 .b8 t[32];\n  .reg .b32 %v, %n, %a;\n  ld.param.b32 %v, [v];\n  ld.param.b32 %n, [n];\n"
    "  .reg .b64 %t, %d;\n  mov.u64 %t, t;\n  st.local.u32 [%t], %v;\n  not.b32 %v, %v;\n  st.local.u32 [%t+4], %v;\n  "
    "st.local.u32 [%t+8], %n;\n"
    "  rem.u32 %n, %n, 3;\n  mul.wide.u32 %d, %n, 4;\n  add.u64 %t, %t, %d;\n  ld.local.u32 %a, [%t];\n  st.param.b32 "
    "[r], %a;\n  ret;\n}\n"
    ".visible .entry work(.param .u64 out, .param .u32 n)\n{\n"
    "  .local .align 4 .b8 own[16];\n  .reg .b32 %i, %t, %k, %s, %n, %c;\n  .reg .b64 %o, %a, %l;\n  .reg .pred %p, "
    "%q;\n"
    "  ld.param.u64 %o, [out];\n  ld.param.u32 %n, [n];\n  mov.u32 %i, %tid.x;\n  mov.u32 %k, 0;\n  mov.u32 %s, %i;\n"
    "  mov.u64 %l, own;\n  st.local.u32 [%l+4], %i;\n"
    "L:\n  and.b32 %t, %s, 3;\n  setp.eq.u32 %p, %t, 1;\n  @%p bra ODD;\n"
    "  { .param .b32 x; .param .b32 y; .param .b32 r;\n  st.param.b32 [x], %s;\n  st.param.b32 [y], %k;\n"
    "  call (r), pick, (x, y);\n  ld.param.b32 %s, [r]; }\n"
    "  setp.eq.u32 %q, %t, 2;\n  @%q bra ODD;\n"
    "  and.b32 %c, %s, 7;\n  add.u32 %c, %c, %n;\n"
    "  { .param .b64 x; .param .b32 y; .param .b32 r;\n  st.param.b64 [x], %o;\n  st.param.b32 [y], %c;\n"
    "  call (r), sum, (x, y);\n  ld.param.b32 %s, [r]; }\n"
    "ODD:\n  ld.local.u32 %t, [%l+4];\n  add.u32 %s, %s, %t;\n  mad.lo.u32 %s, %s, 5, %k;\n  add.u32 %k, %k, 1;\n  "
    "setp.lt.u32 %p, %k, 3000;\n  @%p bra L;\n"
    "  mul.wide.u32 %a, %i, 4;\n  add.u64 %a, %o, %a;\n  add.u64 %a, %a, 256;\n  st.global.u32 [%a], %s;\n  exit;\n}\n";
static void calls_in_line(void **state) {
  (void)state;
  NEEDS_CODE();
  enum { LANES = 64 };
  const struct {
    uint64_t depth;
    uint32_t n;
    mx_status status;
  } runs[] = {{1, 0, MX_TRAPPED}, {2, 0, MX_TRAPPED}, {3, 0, MX_OK}, {512, 0, MX_OK}, {512, 2 * LANES, MX_TRAPPED}};
  for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
    const uint64_t exits = call_exits(calling, runs[r].depth, runs[r].n, runs[r].status);
    /* at the end of a slice; in each call, where there is no room for the frames of all of them */
    if (runs[r].status == MX_OK) assert_true(exits <= (runs[r].depth == 3 ? 3000 : 12));
  }
}

/* A function that is long and has three callers, in a branch, in a loop of each lane's length and behind it, is built
 * in each one's place, and leaves compiled code no more often than slices end. It traps in the second of them, where
 * `n` is greater than memory is long. */
static void long_function_of_several_callers(void **state) {
  (void)state;
  NEEDS_CODE();
  enum { CALLS = 3000 };
  char text[8192], *at = text;
  at += sprintf(at, ".version 9.0\n.target mx64\n.address_size 64\n"
                    ".func (.param .b32 r) long(.param .b64 at, .param .b32 a)\n{\n  .reg .b32 %%a, %%b, %%v;\n"
                    "  .reg .b64 %%p;\n  .reg .pred %%q;\n  ld.param.b64 %%p, [at];\n  ld.param.b32 %%a, [a];\n"
                    "  ld.global.u32 %%b, [%%p];\n  and.b32 %%v, %%a, 1;\n  setp.eq.u32 %%q, %%v, 0;\n"
                    "  @%%q bra EVEN;\n");
  for (int k = 0; k < 24; k++) at += sprintf(at, "  mad.lo.u32 %%a, %%a, %%b, %%v;\n");
  at += sprintf(at, "EVEN:\n");
  for (int k = 0; k < 24; k++) at += sprintf(at, "  mad.lo.u32 %%b, %%b, %%a, %%v;\n");
  sprintf(at,
          "  st.param.b32 [r], %%b;\n  ret;\n}\n"
          ".visible .entry work(.param .u64 out, .param .u32 n)\n{\n"
          "  .reg .b32 %%i, %%k, %%s, %%t, %%n;\n  .reg .b64 %%o, %%a, %%b;\n  .reg .pred %%p, %%q;\n"
          "  ld.param.u64 %%o, [out];\n  ld.param.u32 %%n, [n];\n  mov.u32 %%i, %%tid.x;\n"
          "  mul.wide.u32 %%a, %%i, 4;\n  add.u64 %%a, %%o, %%a;\n  mov.u32 %%s, %%i;\n  mov.u32 %%k, %%i;\n"
          "L:\n  and.b32 %%t, %%s, 3;\n  setp.eq.u32 %%p, %%t, 1;\n  @%%p bra ON;\n"
          "  { .param .b64 x; .param .b32 y; .param .b32 r;\n  st.param.b64 [x], %%a;\n  st.param.b32 [y], %%s;\n"
          "  call (r), long, (x, y);\n  ld.param.b32 %%s, [r]; }\n"
          "ON:\n  add.u32 %%k, %%k, 1;\n  add.u32 %%s, %%s, %%k;\n  setp.lt.u32 %%q, %%k, %d;\n  @%%q bra L;\n"
          "  mul.wide.u32 %%b, %%n, 4;\n  add.u64 %%b, %%a, %%b;\n"
          "  { .param .b64 x; .param .b32 y; .param .b32 r;\n  st.param.b64 [x], %%b;\n  st.param.b32 [y], %%s;\n"
          "  call (r), long, (x, y);\n  ld.param.b32 %%s, [r]; }\n"
          "  { .param .b64 x; .param .b32 y; .param .b32 r;\n  st.param.b64 [x], %%a;\n  st.param.b32 [y], %%k;\n"
          "  call (r), long, (x, y);\n  ld.param.b32 %%k, [r]; }\n"
          "  xor.b32 %%s, %%s, %%k;\n  st.global.u32 [%%a+256], %%s;\n  exit;\n}\n",
          CALLS);
  static const struct {
    uint32_t n;
    mx_status status;
  } runs[] = {{0, MX_OK}, {100, MX_TRAPPED}};
  for (size_t r = 0; r < sizeof runs / sizeof *runs; r++)
    assert_true(call_exits(text, 0, runs[r].n, runs[r].status) <= 12);
}

/* A block that needs the machine once, here for a call through an address and for lanes that end one by one, goes on in
 * compiled code from the next barrier on at which all its warps have arrived: the machine executes few instructions,
 * and no barrier behind that. */
static void blocks_come_back(void **state) {
  (void)state;
  NEEDS_CODE();
  static const char text[] =
      ".version 9.0\n.target mx64\n.address_size 64\n"
      ".func (.param .b32 r) one(.param .b32 a)\n{\n  .reg .b32 %a;\n  ld.param.b32 %a, [a];\n  add.u32 %a, %a, 3;\n  "
      "st.param.b32 [r], %a;\n  ret;\n}\n"
      ".visible .entry work(.param .u64 out, .param .u32 n)\n{\n"
      "  .shared .align 4 .b8 s[1024];\n  .reg .b32 %i, %t, %k, %s, %n, %x;\n  .reg .b64 %o, %a, %f, %m, %d;\n  .reg "
      ".pred %p;\n"
      "  ld.param.u64 %o, [out];\n  ld.param.u32 %n, [n];\n  mov.u32 %i, %tid.x;\n  mov.u64 %f, one;\n  mov.u64 %m, "
      "s;\n"
      "  mul.wide.u32 %a, %i, 4;\n  add.u64 %m, %m, %a;\n  add.u64 %o, %o, %a;\n  mov.u32 %k, 0;\n  mov.u32 %s, %i;\n"
      "L:\n  st.shared.u32 [%m], %s;\n  bar.sync 0;\n"
      "  xor.b32 %x, %i, 1;\n  mul.wide.u32 %d, %x, 4;\n  mov.u64 %a, s;\n  add.u64 %a, %a, %d;\n  ld.shared.u32 %t, "
      "[%a];\n  mad.lo.u32 %s, %s, 5, %t;\n"
      "  setp.ne.u32 %p, %k, 5;\n  @%p bra ON;\n"
      "  { .param .b32 x; .param .b32 r;\n  st.param.b32 [x], %s;\n  prot: .callprototype (.param .b32 _) _ (.param "
      ".b32 _);\n"
      "  call (r), %f, (x), prot;\n  ld.param.b32 %s, [r]; }\n"
      "  rem.u32 %t, %i, %n;\n  setp.eq.u32 %p, %t, 7;\n  @%p exit;\n"
      "ON:\n  bar.sync 0;\n  add.u32 %k, %k, 1;\n  setp.lt.u32 %p, %k, 400;\n  @%p bra L;\n  st.global.u32 [%o], %s;\n "
      " exit;\n}\n";
  static const struct { uint32_t block, n; } runs[] = {{64, 1000}, {256, 1000}, {200, 1000}, {256, 100}};
  for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
    uint32_t out[2][256] = {{0}};
    mx_launch_stats stats[2];
    for (int e = 0; e < 2; e++) {
      mx_device_options o = MX_DEVICE_OPTIONS_INIT;
      o.cache_dir = "";
      mx_device *d;
      mx_module *m;
      mx_addr memory;
      mx_kernel *k = load(&o, text, "work", &d, &m);
      assert_int_equal(mx_alloc(d, sizeof *out, &memory), MX_OK);
      const void *args[] = {&memory, &runs[r].n};
      mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
      c.block[0] = runs[r].block;
      c.jit = e ? MX_JIT_ON : MX_JIT_OFF;
      assert_int_equal(mx_launch_args(k, &c, args, 2), MX_OK);
      stats[e] = (mx_launch_stats){.struct_size = sizeof stats[e]};
      mx_device_stats(d, &stats[e]);
      mx_copy_from_device(d, out[e], memory, sizeof *out);
      mx_device_destroy(d);
    }
    assert_memory_equal(out[0], out[1], sizeof *out);
    assert_int_equal(stats[1].steps, stats[0].steps);
    assert_true(stats[1].steps - stats[1].steps_compiled < 100); /* of 4 warps; 800 barriers each */
  }
}

/* An indirect call leaves compiled code in each turn of a loop, with much that lives across it: the interpreter is
 * faster, gets the kernel back in the launch in which that shows, and keeps it, unless compiled code is demanded. */
static void slower_code(void **state) {
  (void)state;
  NEEDS_CODE();
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
  print_message("a sanitizer's checks slow the interpreter down, and not compiled code\n");
  skip();
#endif
  enum { KEPT = 120, THREADS_OF_BLOCK = 256, BLOCKS = 64 };
  char *text, *before = NULL, *behind = NULL;
  for (int r = 0; r < KEPT; r++) {
    char *more;
    assert_true(asprintf(&more, "%s  mad.lo.u32 %%v%d, %%t, %d, %d;\n", before ? before : "", r, 2 * r + 3, r) > 0);
    free(before), before = more;
    assert_true(asprintf(&more, "%s  xor.b32 %%s, %%s, %%v%d;\n", behind ? behind : "", r) > 0);
    free(behind), behind = more;
  }
  assert_true(
      asprintf(&text,
               ".version 9.0\n.target mx64\n.address_size 64\n"
               ".func (.param .b32 r) one(.param .b32 a)\n{\n  .reg .b32 %%a;\n  ld.param.b32 %%a, [a];\n  add.u32 "
               "%%a, %%a, 3;\n  st.param.b32 [r], %%a;\n  ret;\n}\n"
               ".visible .entry work(.param .u64 out, .param .u32 n)\n{\n"
               "  .reg .b32 %%i, %%t, %%k, %%s, %%n, %%v<%d>;\n  .reg .b64 %%o, %%a, %%f;\n  .reg .pred %%p;\n"
               "  ld.param.u64 %%o, [out];\n  ld.param.u32 %%n, [n];\n  mov.u32 %%k, %%ctaid.x;\n  mov.u32 %%t, "
               "%%ntid.x;\n  mov.u32 %%i, %%tid.x;\n"
               "  mad.lo.u32 %%i, %%k, %%t, %%i;\n  mov.u64 %%f, one;\n  mov.u32 %%k, 0;\n  mov.u32 %%s, %%i;\n"
               "  mul.lo.u32 %%t, %%i, %%i;\n%s" /* no ramp, of which one lane's number would be moved */
               "L:\n  { .param .b32 x; .param .b32 r;\n  st.param.b32 [x], %%s;\n  prot: .callprototype (.param .b32 "
               "_) _ (.param .b32 _);\n"
               "  call (r), %%f, (x), prot;\n  ld.param.b32 %%s, [r]; }\n"
               "  add.u32 %%k, %%k, 1;\n  setp.lt.u32 %%p, %%k, %%n;\n  @%%p bra L;\n%s"
               "  mul.wide.u32 %%a, %%i, 4;\n  add.u64 %%a, %%o, %%a;\n  st.global.u32 [%%a], %%s;\n  exit;\n}\n",
               KEPT, before, behind) > 0);
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  o.threads = 2, o.cache_dir = "";
  mx_device *d;
  mx_module *m;
  mx_addr out;
  static uint32_t got[2][BLOCKS * THREADS_OF_BLOCK];
  mx_kernel *k = load(&o, text, "work", &d, &m);
  assert_int_equal(mx_alloc(d, sizeof *got, &out), MX_OK);
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = BLOCKS;
  c.block[0] = THREADS_OF_BLOCK;
  mx_launch_stats s = {.struct_size = sizeof s};
  for (int way = 0; way < 4; way++) { /* until it is known; what follows; a demand; the interpreter alone */
    const uint32_t turns = way ? 100 : 1000;
    const void *args[] = {&out, &turns};
    c.jit = way == 2 ? MX_JIT_ON : way == 3 ? MX_JIT_OFF : MX_JIT_AUTO;
    int launches = 0;
    do {
      assert_int_equal(mx_launch_args(k, &c, args, 2), MX_OK);
      assert_int_equal(mx_device_stats(d, &s), MX_OK);
    } while (!way && s.tier != MX_TIER_SLOWER && ++launches < 400);
    if (way < 2) assert_int_equal(s.tier, MX_TIER_SLOWER), assert_true(s.compiled_ns > s.interpreted_ns);
    if (way == 1) assert_int_equal(s.steps_compiled, 0);
    if (way == 2) assert_true(s.steps_compiled > 0);
    if (way > 1) assert_int_equal(mx_copy_from_device(d, got[way - 2], out, sizeof *got), MX_OK);
  }
  assert_memory_equal(got[0], got[1], sizeof *got);
  mx_device_destroy(d);
  free(text), free(before), free(behind);
}

/* All that changes in a loop is a variable in memory, as in code that was compiled for a debugger; or nothing does. */
static const char in_memory[] =
    ".entry work(.param .u64 out, .param .u32 waits)\n{\n  .local .u32 count;\n  st.local.u32 [count], 0;\n"
    "  setp.ne.u32 %p, %waits, 0;\n  @%p bra WAIT;\n"
    "COUNT:\n  ld.local.u32 %c, [count];\n  add.u32 %c, %c, 1;\n  st.local.u32 [count], %c;\n"
    "  ld.local.u32 %v, [count];\n  setp.ne.u32 %q, %v, 0;\n  @%q bra COUNT;\n  exit;\n"
    "WAIT:\n  ld.volatile.global.u32 %w, [%out];\n  setp.eq.u32 %q, %w, 0;\n  @%q bra WAIT;\n}\n";
struct asked {
  mx_device *d;
  char *text;
  atomic_bool over;
};
static void *ask_who_is_stuck(void *user) {
  struct asked *a = user;
  while (!a->over && !a->text) {
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    a->text = mx_device_stuck(a->d);
  }
  if (a->text) mx_device_interrupt(a->d);
  return NULL;
}
static void counting_in_memory_is_progress(void **state) {
  (void)state;
  NEEDS_CODE();
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  o.threads = 2, o.cache_dir = "";
  struct asked a = {0};
  mx_module *m;
  mx_addr out;
  mx_kernel *k = load(&o, in_memory, "work", &a.d, &m);
  assert_int_equal(mx_alloc(a.d, 4, &out), MX_OK);
  assert_int_equal(mx_memset32(a.d, out, 0, 1), MX_OK);
  for (uint32_t waits = 0; waits < 2; waits++) {
    const void *args[] = {&out, &waits};
    mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
    c.grid[0] = 3, c.block[0] = 64, c.jit = MX_JIT_ON;
    c.timeout = waits ? 60 : 4;
    pthread_t t;
    a.over = false;
    assert_int_equal(pthread_create(&t, NULL, ask_who_is_stuck, &a), 0);
    assert_int_equal(mx_launch_args(k, &c, args, 2), waits ? MX_INTERRUPTED : MX_TIME_LIMIT);
    a.over = true;
    pthread_join(t, NULL);
    mx_launch_stats s = {.struct_size = sizeof s};
    assert_int_equal(mx_device_stats(a.d, &s), MX_OK);
    assert_true(s.steps_compiled > s.steps / 2);
    assert_int_equal(a.text != NULL, waits);
  }
  if (!strstr(a.text, "the word at 0x100000000 is 0")) fail_msg("%s", a.text);
  mx_text_free(a.text);
  mx_device_destroy(a.d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(addresses),
      cmocka_unit_test(warp_after_warp),
      cmocka_unit_test(called_through_memory),
      cmocka_unit_test(slower_code),
      cmocka_unit_test(calls_in_line),
      cmocka_unit_test(long_function_of_several_callers),
      cmocka_unit_test(blocks_come_back),
      cmocka_unit_test(counting_in_memory_is_progress),
  };
  return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
