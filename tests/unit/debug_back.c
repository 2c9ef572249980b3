/* Debugging sessions backwards: every recorded position is what it was; conditions, watchpoints, kinds, jumps,
 * schedules, hangs. */
#include "mx/debug.h"
#include "mx/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "on_device.h"

/* Loops, divergence, a call, barriers, shared and global memory, atomics, the heap, local memory. */
static const char program[] =
    /* 1*/ ".version 9.0\n"
           /* 2*/ ".target sm_90\n"
           /* 3*/ ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
           /* 4*/ ".extern .func free(.param .b64 p);\n"
           /* 5*/ ".func (.reg .u32 %out) twice(.reg .u32 %in) {\n"
           /* 6*/ "  add.u32 %out, %in, %in;\n"
           /* 7*/ "  ret;\n"
           /* 8*/ "}\n"
           /* 9*/ ".visible .entry work(.param .u64 p) {\n"
           /*10*/ "  .shared .align 4 .b8 s[512]; .local .align 8 .b8 mine[64];\n"
           /*11*/ "  .reg .u32 %r<9>; .reg .u64 %d<6>; .reg .pred %p<3>;\n"
           /*12*/ "  mov.u32 %r0, %tid.x;\n"
           /*13*/ "  mov.u32 %r1, 0;\n"
           /*14*/ "  mov.u32 %r2, %r0;\n"
           /*15*/ "  ld.param.u64 %d0, [p];\n"
           /*16*/ "LOOP:\n"
           /*17*/ "  and.b32 %r3, %r2, 3;\n"
           /*18*/ "  setp.eq.u32 %p0, %r3, 1;\n"
           /*19*/ "  @%p0 bra ODD;\n"
           /*20*/ "  add.u32 %r2, %r2, 7;\n"
           /*21*/ "  bra.uni MEET;\n"
           /*22*/ "ODD:\n"
           /*23*/ "  call (%r2), twice, (%r2);\n"
           /*24*/ "MEET:\n"
           /*25*/ "  shl.b32 %r4, %r0, 2; mov.u32 %r8, s;\n"
           /*26*/ "  st.shared.u32 [%r4], %r2;\n"
           /*27*/ "  bar.sync 0;\n"
           /*28*/ "  xor.b32 %r5, %r4, 4;\n"
           /*29*/ "  ld.shared.u32 %r6, [%r5];\n"
           /*30*/ "  atom.global.add.u32 %r7, [%d0], %r6;\n"
           /*31*/ "  st.local.u32 [mine], %r7;\n"
           /*32*/ "  cvt.u64.u32 %d1, %r4;\n"
           /*33*/ "  add.u64 %d2, %d0, %d1;\n"
           /*34*/ "  st.global.u32 [%d2+4096], %r7;\n"
           /*35*/ "  bar.sync 0;\n"
           /*36*/ "  { .param .b64 n; .param .b64 r; st.param.b64 [n], 100; call (r), malloc, (n); ld.param.b64 %d3, "
           "[r]; }\n"
           /*37*/ "  st.u32 [%d3], %r7;\n"
           /*38*/ "  { .param .b64 q; st.param.b64 [q], %d3; call free, (q); }\n"
           /*39*/ "  add.u32 %r1, %r1, 1;\n"
           /*40*/ "  setp.lt.u32 %p1, %r1, 40;\n"
           /*41*/ "  @%p1 bra LOOP;\n"
           /*42*/ "  ret;\n"
           /*43*/ "}\n"
           /*44*/ ".visible .entry stuck(.param .u64 p) {\n"
           /*45*/ "  .reg .u32 %r<3>; .reg .u64 %d0; .reg .pred %p0;\n"
           /*46*/ "  ld.param.u64 %d0, [p];\n"
           /*47*/ "WAIT:\n"
           /*48*/ "  ld.volatile.global.u32 %r0, [%d0];\n"
           /*49*/ "  setp.eq.u32 %p0, %r0, 0;\n"
           /*50*/ "  @%p0 bra WAIT;\n"
           /*51*/ "  ret;\n"
           /*52*/ "}\n"
           /*53*/ ".visible .entry race(.param .u64 p) {\n"
           /*54*/ "  .reg .u32 %r<3>; .reg .u64 %d0;\n"
           /*55*/ "  ld.param.u64 %d0, [p];\n"
           /*56*/ "  ld.global.u32 %r0, [%d0];\n"
           /*57*/ "  add.u32 %r0, %r0, 1;\n"
           /*58*/ "  st.global.u32 [%d0], %r0;\n"
           /*59*/ "  ret;\n"
           /*60*/ "}\n";

static mx_device *d;
static mx_module *m;
static mx_debug *g;
static mx_addr out;

static int setup(void **state) {
  (void)state;
  assert_int_equal(mx_device_create(NULL, &d), MX_OK);
  mx_asm_options o = {.struct_size = sizeof(mx_asm_options), .file_name = "work.mxs", .one_slot_per_name = true};
  assert_int_equal(load_text(d, program, &o, &m), MX_OK);
  assert_int_equal(mx_alloc(d, 65536, &out), MX_OK);
  return 0;
}
static int teardown(void **state) {
  (void)state;
  mx_debug_end(g);
  g = NULL;
  mx_device_destroy(d);
  return 0;
}

static void begin(const char *kernel, uint32_t blocks, uint32_t threads) {
  mx_kernel *k;
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = blocks;
  c.block[0] = threads;
  assert_int_equal(mx_module_kernel(m, kernel, &k), MX_OK);
  assert_int_equal(mx_debug_begin(k, &c, &out, sizeof out, &g), MX_OK);
}

static mx_debug_stop go(mx_debug_order order, uint64_t block, uint32_t warp, uint64_t count) {
  mx_debug_stop s = {.struct_size = sizeof s};
  assert_int_equal(mx_debug_go(g, order, block, warp, count, &s), MX_OK);
  return s;
}
static mx_debug_stop back(mx_debug_order order, uint64_t block, uint32_t warp, uint64_t count) {
  mx_debug_stop s = {.struct_size = sizeof s};
  assert_int_equal(mx_debug_back(g, order, block, warp, count, &s), MX_OK);
  return s;
}

static uint64_t mix(uint64_t h, uint64_t v) { return (h ^ v) * 0x9E3779B97F4A7C15u ^ h >> 29; }

/* Everything that can be seen of the launch. */
static uint64_t digest(void) {
  uint64_t h = 1;
  static unsigned char memory[65536];
  mx_copy_from_device(d, memory, out, sizeof memory);
  for (size_t k = 0; k < sizeof memory; k++) h = mix(h, memory[k]);
  for (size_t n = 0; n < mx_debug_block_count(g); n++) {
    mx_debug_block b = {.struct_size = sizeof b};
    if (mx_debug_block_at(g, n, &b) != MX_OK) continue;
    h = mix(h, b.number * 2654435761u + b.live_threads);
    for (uint32_t w = 0; w < b.warps; w++) {
      mx_debug_warp v = {.struct_size = sizeof v};
      if (mx_debug_get_warp(g, b.number, w, &v) != MX_OK) continue;
      h = mix(mix(mix(h, v.live), v.splits), v.clock);
      for (uint32_t s = 0; s < v.splits; s++) {
        mx_debug_split p = {.struct_size = sizeof p};
        mx_debug_get_split(g, b.number, w, s, &p);
        h = mix(mix(mix(mix(h, p.lanes), p.pc), p.state), p.joins * 100 + p.depth);
        for (size_t r = 0; r < mx_debug_register_count(g, b.number, w, s, 0); r++) {
          mx_debug_register reg = {.struct_size = sizeof reg};
          mx_debug_register_at(g, b.number, w, s, 0, r, &reg);
          for (uint32_t l = 0; l < reg.lanes; l++) h = mix(h, reg.low[l]);
        }
      }
      uint32_t shared[128];
      if (mx_debug_read(g, b.number, w, 0, mx_debug_generic(MX_DEBUG_SHARED, 0), shared, sizeof shared) == MX_OK)
        for (int k = 0; k < 128; k++) h = mix(h, shared[k]);
    }
  }
  return h;
}

#define MARKS 300
static void every_position_comes_again(uint64_t seed) {
  begin("work", 6, 96);
  assert_int_equal(mx_debug_record(g, true, 0), MX_OK);
  assert_int_equal(mx_debug_schedule(g, seed), MX_OK);
  uint64_t position[MARKS], was[MARKS], random = seed + 5;
  int n = 0;
  mx_debug_stop s = {0};
  for (; n < MARKS; n++) {
    s = go(MX_DEBUG_STEP, s.block, s.warp, 1 + (uint64_t)n * 7 % 50);
    if (s.reason == MX_DEBUG_AT_END) break;
    position[n] = s.steps;
    was[n] = digest();
  }
  assert_true(n > 50);
  if (s.reason != MX_DEBUG_AT_END) s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  assert_int_equal(s.reason, MX_DEBUG_AT_END);
  for (int k = 0; k < 200; k++) {
    random = mix(random, (uint64_t)k);
    int at = (int)(random % (uint64_t)n);
    s.struct_size = sizeof s;
    assert_int_equal(mx_debug_goto(g, position[at], &s), MX_OK);
    assert_int_equal(s.steps, position[at]);
    assert_true(digest() == was[at]);
  }
  mx_debug_end(g);
  g = NULL;
}
static void positions_come_again(void **state) {
  (void)state;
  every_position_comes_again(0);
}
static void positions_come_again_in_other_schedules(void **state) {
  (void)state;
  every_position_comes_again(11);
}

static void steps_back_undo_steps(void **state) {
  (void)state;
  begin("work", 2, 64);
  mx_debug_record(g, true, 0);
  uint64_t position[200];
  go(MX_DEBUG_STEP, 0, 1, 3);
  for (int k = 0; k < 200; k++) position[k] = go(MX_DEBUG_STEP, 0, 1, 1).steps;
  for (int k = 199; k--;) assert_int_equal(back(MX_DEBUG_STEP, 0, 1, 1).steps, position[k]);
  mx_debug_stop s = back(MX_DEBUG_STEP, 0, 1, 1000);
  assert_int_equal(s.reason, MX_DEBUG_AT_OLDEST);
  assert_int_equal(s.steps, 0);
}

static void lines_and_calls_backwards(void **state) {
  (void)state;
  int number;
  begin("work", 1, 32);
  mx_debug_record(g, true, 0);
  mx_debug_break(g, "twice", 0, &number);
  mx_debug_stop s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  assert_string_equal(s.function, "twice");
  s = back(MX_DEBUG_FINISH, 0, 0, 1);
  assert_string_equal(s.function, "work");
  assert_int_equal(s.line, 23);
  s = back(MX_DEBUG_STEP_LINE, 0, 0, 1);
  assert_int_equal(s.line, 21); /* the lanes that did not branch ran first */
  go(MX_DEBUG_CONTINUE, 0, 0, 1);
  go(MX_DEBUG_CONTINUE, 0, 0, 1);
  s = back(MX_DEBUG_CONTINUE, 0, 0, 1);
  assert_int_equal(s.reason, MX_DEBUG_AT_BREAKPOINT);
  assert_string_equal(s.function, "twice");
  uint64_t first = s.steps;
  s = back(MX_DEBUG_CONTINUE, 0, 0, 1);
  assert_true(s.reason == MX_DEBUG_AT_OLDEST && s.steps == 0 && first > 0);
}

static void who_wrote_it(void **state) {
  (void)state;
  mx_debug_culprit c = {.struct_size = sizeof c};
  begin("work", 2, 64);
  mx_debug_record(g, true, 0);
  mx_debug_stop s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  assert_int_equal(s.reason, MX_DEBUG_AT_END);
  assert_int_equal(mx_debug_last_write(g, out + 4096 + 4 * 40, 4, 0, &c), MX_OK);
  assert_int_equal(c.line, 34);
  assert_int_equal(c.block, 1);
  assert_int_equal(c.warp, 1);
  assert_true(c.lanes == 1u << 8);
  assert_int_equal(mx_debug_goto(g, c.position, &s), MX_OK);
  assert_int_equal(s.line, 34);
  assert_int_equal(mx_debug_last_register(g, 1, 1, 0, 0, "%r2", 1, &c), MX_OK);
  assert_true(c.line == 20 || c.line == 7); /* the return brings the result */
  assert_int_equal(mx_debug_last_write(g, out + 60000, 4, 0, &c), MX_NOT_FOUND);
}

static void changes_are_done_again(void **state) {
  (void)state;
  begin("work", 1, 32);
  mx_debug_record(g, true, 0);
  go(MX_DEBUG_STEP, 0, 0, 30);
  assert_int_equal(mx_debug_set_register(g, 0, 0, 0, 0, "%r1", ~0ull, 38, 0), MX_OK); /* two turns are left */
  uint32_t big = 1000000;
  assert_int_equal(mx_debug_write(g, 0, 0, 0, out, &big, 4), MX_OK);
  mx_debug_stop end = go(MX_DEBUG_CONTINUE, 0, 0, 1), s = {.struct_size = sizeof s};
  assert_true(end.reason == MX_DEBUG_AT_END && end.steps < 200);
  uint32_t sum, again;
  mx_copy_from_device(d, &sum, out, 4);
  assert_true(sum > big);
  assert_int_equal(mx_debug_goto(g, 10, &s), MX_OK);
  mx_copy_from_device(d, &again, out, 4);
  assert_true(again < big);
  s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  mx_copy_from_device(d, &again, out, 4);
  assert_true(s.steps == end.steps && again == sum);
}

static bool lane5_is(void *user, const mx_debug_point *p) {
  const mx_debug_cell *c = user;
  const uint32_t *v = mx_debug_cell_lanes(g, c);
  return v && v[5] == 12 && p->warp == 0;
}

static void conditions_and_kinds(void **state) {
  (void)state;
  int line, barrier, fork, write;
  mx_debug_cell cell = {.struct_size = sizeof cell};
  begin("work", 1, 64);
  assert_int_equal(mx_debug_break_line(g, NULL, 39, &line), MX_OK);
  assert_int_equal(mx_debug_find_cell(g, NULL, 20, "%r1", &cell), MX_OK);
  assert_int_equal(mx_debug_break_when(g, line, lane5_is, &cell), MX_OK);
  mx_debug_stop s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  mx_debug_register r = {.struct_size = sizeof r};
  mx_debug_get_register(g, 0, 0, 0, 0, "%r1", &r);
  assert_true(s.line == 39 && r.low[5] == 12);
  assert_int_equal(mx_debug_break_kind(g, MX_DEBUG_BARRIERS, &barrier), MX_OK);
  s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  assert_true(s.breakpoint == barrier && (s.line == 27 || s.line == 35));
  mx_debug_break_delete(g, barrier);
  assert_int_equal(mx_debug_break_kind(g, MX_DEBUG_DIVERGENCES, &fork), MX_OK);
  s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  assert_true(s.breakpoint == fork && s.line == 20);
  mx_debug_break_delete(g, fork);
  assert_int_equal(mx_debug_watch_write(g, out + 4096 + 4, 4, 0, &write), MX_OK);
  s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  assert_true(s.reason == MX_DEBUG_AT_WATCH && s.watch == write && s.writer.line == 34 && s.writer.lanes == 2);
  assert_int_equal(mx_debug_jump(g, 0, s.warp, 0, 9999), MX_NOT_FOUND);
}

static void a_jump_skips_code(void **state) {
  (void)state;
  int number;
  begin("race", 1, 32);
  mx_debug_break_line(g, NULL, 57, &number);
  mx_debug_stop s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  mx_debug_instruction i = {.struct_size = sizeof i};
  uint32_t pc = s.pc;
  while (mx_debug_code(g, NULL, pc, &i) == MX_OK && i.line != 59) pc += i.words;
  assert_int_equal(mx_debug_jump(g, 0, 0, 0, pc), MX_OK);
  s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  uint32_t v;
  assert_int_equal(s.reason, MX_DEBUG_AT_END);
  mx_copy_from_device(d, &v, out, 4);
  assert_int_equal(v, 0);
}

static void a_livelock_is_suspected(void **state) {
  (void)state;
  begin("stuck", 2, 32);
  mx_debug_suspect_hang(g, 64);
  mx_debug_stop s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  assert_int_equal(s.reason, MX_DEBUG_AT_HANG);
  assert_true(s.line >= 48 && s.line <= 50);
  uint32_t one = 1;
  assert_int_equal(mx_debug_write(g, 0, 0, 0, out, &one, 4), MX_OK);
  assert_int_equal(go(MX_DEBUG_CONTINUE, 0, 0, 1).reason, MX_DEBUG_AT_END);
}

static void schedules_find_races(void **state) {
  (void)state;
  unsigned seen[8] = {0};
  for (uint64_t seed = 0; seed < 40; seed++) {
    mx_memset8(d, out, 0, 64);
    begin("race", 1, 64); /* two warps: both add 1, in the usual order */
    mx_debug_schedule(g, seed);
    assert_int_equal(go(MX_DEBUG_CONTINUE, 0, 0, 1).reason, MX_DEBUG_AT_END);
    mx_debug_end(g);
    g = NULL;
    uint32_t v;
    mx_copy_from_device(d, &v, out, 4);
    assert_true(v < 8);
    seen[v]++;
    if (!seed) assert_int_equal(v, 2);
  }
  assert_true(seen[1] > 0 && seen[2] > 0 && seen[1] + seen[2] == 40);
}

static void little_memory_goes_less_far(void **state) {
  (void)state;
  begin("work", 64, 96);
  mx_debug_record(g, true, 50000); /* less than one state with its pages */
  mx_debug_stop s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  mx_debug_recording r = {.struct_size = sizeof r};
  assert_int_equal(s.reason, MX_DEBUG_AT_END);
  mx_debug_get_recording(g, &r);
  assert_true(r.bytes < 2000000 && r.oldest > 0 && r.newest == s.steps);
  s = back(MX_DEBUG_STEP, 63, 2, 1);
  assert_int_equal(s.block, 63);
  assert_int_equal(mx_debug_goto(g, r.oldest, &s), MX_OK);
  assert_int_equal(s.steps, r.oldest);
  assert_int_equal(mx_debug_goto(g, 0, &s), MX_NOT_FOUND);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define T(name_) cmocka_unit_test_setup_teardown(name_, setup, teardown)
      T(positions_come_again),
      T(positions_come_again_in_other_schedules),
      T(steps_back_undo_steps),
      T(lines_and_calls_backwards),
      T(who_wrote_it),
      T(changes_are_done_again),
      T(conditions_and_kinds),
      T(a_jump_skips_code),
      T(a_livelock_is_suspected),
      T(schedules_find_races),
      T(little_memory_goes_less_far),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
