/* Going back in a debugging session: every position has the state that it had, breakpoints and watchpoints are found
 * behind as they are ahead, prints are not printed again. */
#include "mx/debug.h"
#include "mx/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define THREADS 96
#define BLOCKS 120
#define WORDS (BLOCKS * THREADS)

/* Line numbers matter: each piece is one line. */
static const char program[] =
    /* 1*/ ".version 9.0\n"
    /* 2*/ ".target sm_90\n"
    /* 3*/ ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a); .extern .func (.param .b64 r) malloc(.param .b64 n); .extern .func free(.param .b64 p);\n"
    /* 4*/ ".global .align 1 .b8 text[4] = {111, 107, 10, 0};\n"
    /* 5*/ ".func (.reg .u32 %out) weigh(.reg .u32 %in) {\n"
    /* 6*/ "  .reg .pred %p; .reg .u32 %t;\n"
    /* 7*/ "  setp.lt.u32 %p, %in, 3;\n"
    /* 8*/ "  @%p bra SMALL;\n"
    /* 9*/ "  sub.u32 %t, %in, 2;\n"
    /*10*/ "  call (%out), weigh, (%t);\n"
    /*11*/ "  add.u32 %out, %out, %in;\n"
    /*12*/ "  ret;\n"
    /*13*/ "SMALL: mov.u32 %out, 1;\n"
    /*14*/ "  ret;\n"
    /*15*/ "}\n"
    /*16*/ ".visible .entry work(.param .u64 p) {\n"
    /*17*/ "  .shared .align 4 .b8 s[512]; .local .align 8 .b8 mine[16];\n"
    /*18*/ "  .reg .u32 %r<12>; .reg .u64 %d<8>; .reg .pred %p<4>;\n"
    /*19*/ "  mov.u32 %r0, %tid.x;\n"
    /*20*/ "  mov.u32 %r1, %ctaid.x;\n"
    /*21*/ "  mad.lo.u32 %r2, %r1, 96, %r0;\n"
    /*22*/ "  and.b32 %r3, %r0, 7;\n"
    /*23*/ "  mov.u32 %r4, 0;\n"
    /*24*/ "  st.local.u32 [mine], %r2;\n"
    /*25*/ "LOOP:\n"
    /*26*/ "  shl.b32 %r5, %r0, 2;\n"
    /*27*/ "  cvt.u64.u32 %d1, %r5;\n"
    /*28*/ "  mov.u64 %d2, s;\n"
    /*29*/ "  add.u64 %d2, %d2, %d1;\n"
    /*30*/ "  add.u32 %r6, %r3, %r4;\n"
    /*31*/ "  call (%r7), weigh, (%r6);\n"
    /*32*/ "  st.shared.u32 [%d2], %r7;\n"
    /*33*/ "  bar.sync 0;\n"
    /*34*/ "  ld.local.u32 %r8, [mine];\n"
    /*35*/ "  add.u32 %r8, %r8, %r7;\n"
    /*36*/ "  st.local.u32 [mine], %r8;\n"
    /*37*/ "  ld.param.u64 %d0, [p];\n"
    /*38*/ "  mul.wide.u32 %d3, %r2, 4;\n"
    /*39*/ "  add.u64 %d3, %d0, %d3;\n"
    /*40*/ "  st.global.u32 [%d3], %r8;\n"
    /*41*/ "  atom.global.add.u32 %r9, [%d0+46080], %r7;\n"
    /*42*/ "  { .param .b64 size; .param .b64 got; st.param.b64 [size], 24; call (got), malloc, (size); ld.param.b64 %d4, [got]; }\n"
    /*43*/ "  st.u32 [%d4], %r8;\n"
    /*44*/ "  setp.gt.u32 %p1, %r3, 3;\n"
    /*45*/ "  @%p1 bra KEEP;\n"
    /*46*/ "  { .param .b64 it; st.param.b64 [it], %d4; call free, (it); }\n"
    /*47*/ "KEEP:\n"
    /*48*/ "  bar.sync 0;\n"
    /*49*/ "  add.u32 %r4, %r4, 1;\n"
    /*50*/ "  setp.lt.u32 %p0, %r4, %r3;\n"
    /*51*/ "  setp.lt.u32 %p2, %r4, 6;\n"
    /*52*/ "  @%p2 bra LOOP;\n"
    /*53*/ "  setp.ne.u32 %p3, %r2, 700;\n"
    /*54*/ "  @%p3 bra QUIET;\n"
    /*55*/ "  { .param .b64 f; .param .b64 a; .param .b32 n; cvta.global.u64 %d5, text; st.param.b64 [f], %d5; st.param.b64 [a], 0; call (n), vprintf, (f, a); }\n"
    /*56*/ "QUIET:\n"
    /*57*/ "  ret;\n"
    /*58*/ "}\n"
    /*59*/ ".visible .entry falls(.param .u64 p) {\n"
    /*60*/ "  .reg .u32 %r<4>; .reg .u64 %d<4>; .reg .pred %p<2>;\n"
    /*61*/ "  ld.param.u64 %d0, [p];\n"
    /*62*/ "  mov.u32 %r0, 0;\n"
    /*63*/ "AGAIN:\n"
    /*64*/ "  add.u32 %r0, %r0, 1;\n"
    /*65*/ "  st.global.u32 [%d0], %r0;\n"
    /*66*/ "  setp.lt.u32 %p0, %r0, 50;\n"
    /*67*/ "  @%p0 bra AGAIN;\n"
    /*68*/ "  mov.u64 %d0, 64;\n"
    /*69*/ "  st.global.u32 [%d0], %r0;\n"
    /*70*/ "  ret;\n"
    /*71*/ "}\n"
    /*72*/ ".visible .entry numbers(.param .u64 p) {\n"
    /*73*/ "  .reg .f32 %f<4>; .reg .u32 %r<4>; .reg .pred %p<2>;\n"
    /*74*/ "  cvt.rn.f32.u32 %f0, %tid.x;\n"
    /*75*/ "  mov.u32 %r0, 0;\n"
    /*76*/ "MORE:\n"
    /*77*/ "  sub.f32 %f0, %f0, 0f3F800000;\n"
    /*78*/ "  sqrt.rn.f32 %f1, %f0;\n"
    /*79*/ "  add.u32 %r0, %r0, 1;\n"
    /*80*/ "  setp.lt.u32 %p0, %r0, 4;\n"
    /*81*/ "  @%p0 bra MORE;\n"
    /*82*/ "  ret;\n"
    /*83*/ "}\n";

static mx_device *d;
static mx_module *m;
static mx_debug *g;
static mx_addr out;
static char printed[4096];

static void keep_print(void *user, const char *text, size_t size) {
  (void)user;
  strncat(printed, text, size < sizeof printed - strlen(printed) - 1 ? size : sizeof printed - strlen(printed) - 1);
}

static int set_up(void **state) {
  (void)state;
  g = NULL;
  printed[0] = 0;
  if (mx_device_create(NULL, &d) != MX_OK) return -1;
  mx_device_set_output(d, keep_print, NULL);
  char *messages = NULL;
  mx_asm_options o = {.file_name = "k.mxs", .one_slot_per_name = true};
  mx_status s = mx_module_load_text(d, program, strlen(program), &o, &m, &messages);
  if (messages) print_error("%s\n", messages);
  free(messages);
  if (s != MX_OK) return -1;
  return mx_alloc(d, WORDS * 4 + 64, &out) == MX_OK ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  mx_debug_end(g);
  mx_device_destroy(d);
  return 0;
}

static void begin(const char *kernel, uint32_t blocks, uint32_t threads) {
  mx_kernel *k;
  assert_int_equal(mx_module_kernel(m, kernel, &k), MX_OK);
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = blocks;
  c.block[0] = threads;
  assert_int_equal(mx_memset8(d, out, 0, WORDS * 4 + 64), MX_OK);
  assert_int_equal(mx_debug_begin(k, &c, &out, 8, &g), MX_OK);
}

static uint64_t mix(uint64_t h, uint64_t v) { return (h ^ v) * 0x9E3779B97F4A7C15u + (h >> 29); }
static uint64_t mix_bytes(uint64_t h, const unsigned char *p, size_t n) {
  for (size_t k = 0; k < n; k++) h = mix(h, p[k]);
  return h;
}

/* All that can be seen. */
static uint64_t state_hash(void) {
  static unsigned char bytes[WORDS * 4 + 64];
  uint64_t h = 1;
  assert_int_equal(mx_copy_from_device(d, bytes, out, sizeof bytes), MX_OK);
  h = mix_bytes(h, bytes, sizeof bytes);
  size_t blocks = mx_debug_block_count(g);
  for (size_t n = 0; n < blocks; n++) {
    mx_debug_block b = {.struct_size = sizeof b};
    assert_int_equal(mx_debug_block_at(g, n, &b), MX_OK);
    h = mix(h, b.number);
    for (uint32_t w = 0; w < b.warps; w++) {
      mx_debug_warp v = {.struct_size = sizeof v};
      if (mx_debug_get_warp(g, b.number, w, &v) != MX_OK) continue;
      h = mix(mix(h, v.live), v.clock);
      for (uint32_t s = 0; s < v.splits; s++) {
        mx_debug_split p = {.struct_size = sizeof p};
        assert_int_equal(mx_debug_get_split(g, b.number, w, s, &p), MX_OK);
        h = mix(mix(mix(mix(h, p.lanes), p.pc), p.state), p.depth * 64 + p.joins);
        size_t registers = mx_debug_register_count(g, b.number, w, s, 0);
        for (size_t r = 0; r < registers; r++) {
          mx_debug_register reg = {.struct_size = sizeof reg};
          assert_int_equal(mx_debug_register_at(g, b.number, w, s, 0, r, &reg), MX_OK);
          for (uint32_t l = 0; l < 32; l++)
            if (p.lanes >> l & 1) h = mix(h, reg.low[l]);
        }
      }
      if (!v.live) continue;
      assert_int_equal(mx_debug_read(g, b.number, w, 5, mx_debug_generic(MX_DEBUG_LOCAL, 0), bytes, 16), MX_OK);
      h = mix_bytes(h, bytes, 16);
      assert_int_equal(mx_debug_read(g, b.number, w, 0, mx_debug_generic(MX_DEBUG_SHARED, 0), bytes, 384), MX_OK);
      h = mix_bytes(h, bytes, 384);
    }
  }
  return h;
}

struct known { uint64_t position, hash, block; uint32_t warp, pc; };

/* Stepped through forwards, then visited in any order. */
static void every_position_is_as_it_was(void **state) {
  (void)state;
  enum { MOST = 700 };
  static struct known known[MOST];
  size_t n = 0;
  mx_debug_stop s = {.struct_size = sizeof s};
  begin("work", BLOCKS, THREADS);
  assert_int_equal(mx_debug_record(g, 0), MX_OK);
  assert_int_equal(mx_debug_where(g, &s), MX_OK);
  for (uint64_t turn = 0; s.reason != MX_DEBUG_AT_END; turn++) {
    assert_true(n < MOST);
    known[n++] = (struct known){s.steps, state_hash(), s.block, s.warp, s.pc};
    assert_int_equal(mx_debug_go(g, MX_DEBUG_STEP, s.block, s.warp, 1 + turn * 7 % 401, &s), MX_OK);
  }
  assert_true(n > 300);
  assert_true(s.steps > 100000);
  assert_int_equal(s.status, MX_OK);
  uint64_t oldest, newest;
  assert_int_equal(mx_debug_history(g, &oldest, &newest), MX_OK);
  assert_int_equal(oldest, 0);
  assert_true(newest >= known[n - 1].position);
  uint64_t random = 12345;
  for (int k = 0; k < 300; k++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const struct known *w = &known[random >> 33 & 1 ? (random >> 34) % n : n - 1 - (size_t)k % 20];
    assert_int_equal(mx_debug_seek(g, w->position, &s), MX_OK);
    assert_int_equal(s.steps, w->position);
    assert_int_equal(s.block, w->block);
    assert_int_equal(s.warp, w->warp);
    assert_int_equal(s.pc, w->pc);
    assert_int_equal(state_hash(), w->hash);
  }
  assert_int_equal(mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 0, &s), MX_OK);
  assert_int_equal(s.reason, MX_DEBUG_AT_END);
  assert_string_equal(printed, "ok\n");
}

static void steps_back_mirror_steps(void **state) {
  (void)state;
  mx_debug_stop s = {.struct_size = sizeof s};
  begin("work", 2, 32);
  assert_int_equal(mx_debug_record(g, 0), MX_OK);
  uint64_t at[60];
  for (int k = 0; k < 60; k++) {
    assert_int_equal(mx_debug_go(g, MX_DEBUG_STEP, 0, 0, 1, &s), MX_OK);
    at[k] = s.steps;
  }
  for (int k = 58; k >= 0; k--) {
    assert_int_equal(mx_debug_back(g, MX_DEBUG_STEP, 0, 0, 1, &s), MX_OK);
    assert_int_equal(s.reason, MX_DEBUG_AT_STEP);
    assert_int_equal(s.steps, at[k]);
  }
  assert_int_equal(mx_debug_back(g, MX_DEBUG_STEP, 0, 0, 5, &s), MX_OK);
  assert_int_equal(s.reason, MX_DEBUG_AT_BEGIN);
  assert_int_equal(s.steps, 0);
  assert_int_equal(mx_debug_seek(g, at[40], &s), MX_OK);
  assert_int_equal(mx_debug_back(g, MX_DEBUG_STEP, 0, 0, 13, &s), MX_OK);
  assert_int_equal(s.steps, at[27]);
}

static void lines_and_calls_backwards(void **state) {
  (void)state;
  mx_debug_stop s = {.struct_size = sizeof s};
  int number;
  begin("work", 1, 32);
  assert_int_equal(mx_debug_record(g, 0), MX_OK);
  assert_int_equal(mx_debug_break_line(g, NULL, 32, &number), MX_OK);
  assert_int_equal(mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 0, &s), MX_OK);
  assert_int_equal(s.line, 32);
  assert_int_equal(mx_debug_back(g, MX_DEBUG_NEXT_LINE, 0, 0, 1, &s), MX_OK);
  assert_int_equal(s.line, 31);
  assert_string_equal(s.function, "work");
  assert_int_equal(mx_debug_back(g, MX_DEBUG_NEXT_LINE, 0, 0, 2, &s), MX_OK);
  assert_int_equal(s.line, 29);
  assert_int_equal(mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 0, &s), MX_OK);
  assert_int_equal(s.line, 32);
  assert_int_equal(mx_debug_back(g, MX_DEBUG_STEP_LINE, 0, 0, 1, &s), MX_OK);
  assert_string_equal(s.function, "weigh");
  assert_int_equal(s.line, 14);
  assert_int_equal(mx_debug_back(g, MX_DEBUG_FINISH, 0, 0, 1, &s), MX_OK);
  assert_string_equal(s.function, "work");
  assert_int_equal(s.line, 31);
  assert_int_equal(mx_debug_back(g, MX_DEBUG_FINISH, 0, 0, 1, &s), MX_NOT_FOUND);
}

static void breakpoints_behind(void **state) {
  (void)state;
  mx_debug_stop s = {.struct_size = sizeof s};
  int number;
  uint64_t at[8];
  begin("work", 1, 32);
  assert_int_equal(mx_debug_record(g, 0), MX_OK);
  assert_int_equal(mx_debug_break_line(g, NULL, 49, &number), MX_OK);
  for (int k = 0; k < 6; k++) {
    assert_int_equal(mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 0, &s), MX_OK);
    assert_int_equal(s.reason, MX_DEBUG_AT_BREAKPOINT);
    at[k] = s.steps;
  }
  assert_int_equal(mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 0, &s), MX_OK);
  assert_int_equal(s.reason, MX_DEBUG_AT_END);
  for (int k = 5; k >= 0; k--) {
    assert_int_equal(mx_debug_back(g, MX_DEBUG_CONTINUE, 0, 0, 0, &s), MX_OK);
    assert_int_equal(s.reason, MX_DEBUG_AT_BREAKPOINT);
    assert_int_equal(s.breakpoint, number);
    assert_int_equal(s.steps, at[k]);
  }
  assert_int_equal(mx_debug_back(g, MX_DEBUG_CONTINUE, 0, 0, 0, &s), MX_OK);
  assert_int_equal(s.reason, MX_DEBUG_AT_BEGIN);
  assert_int_equal(mx_debug_break_enable(g, number, false), MX_OK);
  assert_int_equal(mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 0, &s), MX_OK);
  assert_int_equal(s.reason, MX_DEBUG_AT_END);
  assert_int_equal(mx_debug_back_to(g, number, &s), MX_OK);
  assert_int_equal(s.steps, at[5]);
}

static void back_from_a_trap(void **state) {
  (void)state;
  mx_debug_stop s = {.struct_size = sizeof s};
  int number;
  begin("falls", 1, 32);
  assert_int_equal(mx_debug_record(g, 0), MX_OK);
  assert_int_equal(mx_debug_watch_memory(g, 0, 0, 0, out, 4, &number), MX_OK);
  assert_int_equal(mx_debug_break_enable(g, number, false), MX_OK);
  for (int turn = 0; turn < 2; turn++) {
    assert_int_equal(mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 0, &s), MX_OK);
    assert_int_equal(s.reason, MX_DEBUG_AT_TRAP);
    assert_int_equal(s.trap, MX_TRAP_OUT_OF_BOUNDS);
    assert_int_equal(s.line, 69);
    assert_int_equal(mx_debug_back(g, MX_DEBUG_STEP_LINE, 0, 0, 2, &s), MX_OK);
    assert_int_equal(s.line, 68);
    /* who wrote this? */
    assert_int_equal(mx_debug_back_to(g, number, &s), MX_OK);
    assert_int_equal(s.reason, MX_DEBUG_AT_BREAKPOINT);
    assert_int_equal(s.line, 65);
    mx_debug_register r = {.struct_size = sizeof r};
    assert_int_equal(mx_debug_get_register(g, 0, 0, 0, 0, "%r0", &r), MX_OK);
    assert_int_equal(r.low[3], 50);
    uint32_t value;
    assert_int_equal(mx_debug_read(g, 0, 0, 0, out, &value, 4), MX_OK);
    assert_int_equal(value, 49);
  }
}

static void watchpoints(void **state) {
  (void)state;
  mx_debug_stop s = {.struct_size = sizeof s};
  int number, nan;
  uint32_t value;
  begin("falls", 1, 32);
  assert_int_equal(mx_debug_record(g, 0), MX_OK);
  assert_int_equal(mx_debug_watch_memory(g, 0, 0, 0, out, 4, &number), MX_OK);
  for (uint32_t k = 1; k <= 3; k++) {
    assert_int_equal(mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 0, &s), MX_OK);
    assert_int_equal(s.reason, MX_DEBUG_AT_BREAKPOINT);
    assert_int_equal(s.breakpoint, number);
    assert_int_equal(s.hit_line, 65);
    assert_int_equal(s.hit_lanes, UINT32_MAX);
    assert_int_equal(s.line, 66);
    assert_int_equal(mx_debug_read(g, 0, 0, 0, out, &value, 4), MX_OK);
    assert_int_equal(value, k);
  }
  mx_debug_end(g);
  begin("numbers", 1, 32);
  assert_int_equal(mx_debug_record(g, 0), MX_OK);
  assert_int_equal(mx_debug_watch_register(g, 0, 0, 0, 0, "%f1", MX_DEBUG_WATCH_NAN, UINT32_MAX, &nan), MX_OK);
  for (uint32_t k = 0; k < 4; k++) {
    assert_int_equal(mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 0, &s), MX_OK);
    assert_int_equal(s.breakpoint, nan);
    assert_int_equal(s.hit_line, 78);
    assert_int_equal(s.hit_lanes, k ? 1u << k : 1u);
    if (k == 3) break;
  }
  assert_int_equal(mx_debug_back(g, MX_DEBUG_CONTINUE, 0, 0, 0, &s), MX_OK);
  assert_int_equal(s.line, 78);
  assert_int_equal(mx_debug_back(g, MX_DEBUG_CONTINUE, 0, 0, 0, &s), MX_OK);
  assert_int_equal(s.hit_lanes, 4);
}

/* What the host changes belongs to the history; a change in the past makes another future. */
static void changes_come_again(void **state) {
  (void)state;
  mx_debug_stop s = {.struct_size = sizeof s};
  mx_debug_register r = {.struct_size = sizeof r};
  uint32_t value;
  begin("falls", 1, 32);
  assert_int_equal(mx_debug_record(g, 0), MX_OK);
  assert_int_equal(mx_debug_go(g, MX_DEBUG_STEP, 0, 0, 22, &s), MX_OK);
  uint64_t there = s.steps;
  assert_int_equal(mx_debug_get_register(g, 0, 0, 0, 0, "%r0", &r), MX_OK);
  assert_int_equal(r.low[0], 5);
  assert_int_equal(mx_debug_set_register(g, 0, 0, 0, 0, "%r0", 1, 40, 0), MX_OK);
  assert_int_equal(mx_debug_write(g, 0, 0, 0, out + 8, &(uint32_t){77}, 4), MX_OK);
  assert_int_equal(mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 0, &s), MX_OK);
  uint64_t end = s.steps;
  for (int turn = 0; turn < 2; turn++) {
    assert_int_equal(mx_debug_seek(g, there - 1, &s), MX_OK);
    assert_int_equal(mx_debug_get_register(g, 0, 0, 0, 0, "%r0", &r), MX_OK);
    assert_int_equal(r.low[0], 5);
    assert_int_equal(mx_debug_read(g, 0, 0, 0, out + 8, &value, 4), MX_OK);
    assert_int_equal(value, 0);
    assert_int_equal(mx_debug_seek(g, there + 2, &s), MX_OK);
    assert_int_equal(mx_debug_get_register(g, 0, 0, 0, 0, "%r0", &r), MX_OK);
    assert_true(r.low[0] >= 40);
    assert_int_equal(mx_debug_read(g, 0, 0, 0, out + 8, &value, 4), MX_OK);
    assert_int_equal(value, 77);
  }
  assert_int_equal(mx_debug_seek(g, 3, &s), MX_OK);
  assert_int_equal(mx_debug_set_register(g, 0, 0, 0, 0, "%r0", UINT32_MAX, 45, 0), MX_OK);
  uint64_t newest;
  assert_int_equal(mx_debug_history(g, NULL, &newest), MX_OK);
  assert_int_equal(newest, 3);
  assert_int_equal(mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 0, &s), MX_OK);
  assert_true(s.steps < end);
}

static void history_has_limits(void **state) {
  (void)state;
  mx_debug_stop s = {.struct_size = sizeof s};
  begin("work", BLOCKS, THREADS);
  assert_int_equal(mx_debug_back(g, MX_DEBUG_STEP, 0, 0, 1, &s), MX_NOT_FOUND);
  assert_int_equal(mx_debug_go(g, MX_DEBUG_STEP, 0, 0, 5, &s), MX_OK);
  assert_int_equal(mx_debug_record(g, 1 << 20), MX_OK);
  assert_int_equal(mx_debug_history(g, NULL, NULL), MX_NOT_FOUND);
  assert_int_equal(mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 0, &s), MX_OK);
  assert_int_equal(s.reason, MX_DEBUG_AT_END);
  uint64_t oldest;
  assert_int_equal(mx_debug_history(g, &oldest, NULL), MX_OK);
  assert_true(oldest > 5);
  assert_int_equal(mx_debug_seek(g, 5, &s), MX_NOT_FOUND);
  assert_int_equal(mx_debug_seek(g, oldest, &s), MX_OK);
  assert_int_equal(s.steps, oldest);
  assert_int_equal(mx_debug_back(g, MX_DEBUG_STEP, 0, 99, 1, &s), MX_INVALID_VALUE);
  assert_int_equal(mx_copy_to_device(d, out, &(uint32_t){1}, 4), MX_OK);
  assert_int_equal(mx_debug_history(g, NULL, NULL), MX_NOT_FOUND);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_position_is_as_it_was, set_up, tear_down),
      cmocka_unit_test_setup_teardown(steps_back_mirror_steps, set_up, tear_down),
      cmocka_unit_test_setup_teardown(lines_and_calls_backwards, set_up, tear_down),
      cmocka_unit_test_setup_teardown(breakpoints_behind, set_up, tear_down),
      cmocka_unit_test_setup_teardown(back_from_a_trap, set_up, tear_down),
      cmocka_unit_test_setup_teardown(watchpoints, set_up, tear_down),
      cmocka_unit_test_setup_teardown(changes_come_again, set_up, tear_down),
      cmocka_unit_test_setup_teardown(history_has_limits, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
