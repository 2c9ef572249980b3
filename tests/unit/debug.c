/* Debugging sessions: stops, steps, breakpoints, splits and joins, frames, registers, memory, code taken up in
 * mid-launch. */
#include "mx/debug.h"
#include "mx/text.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "on_device.h"

/* Line numbers matter: each piece is one line. */
static const char program[] =
    /* 1*/ ".version 9.0\n"
           /* 2*/ ".target sm_90\n"
           /* 3*/ ".func (.reg .u32 %out) twice(.reg .u32 %in) {\n"
           /* 4*/ "  add.u32 %out, %in, %in;\n"
           /* 5*/ "  ret;\n"
           /* 6*/ "}\n"
           /* 7*/ ".visible .entry work(.param .u64 p) {\n"
           /* 8*/ "  .shared .align 4 .b8 s[64];\n"
           /* 9*/ "  .reg .u32 %r<6>; .reg .u64 %d<4>; .reg .pred %p<2>;\n"
           /*10*/ "  mov.u32 %r0, %tid.x;\n"
           /*11*/ "  mov.u32 %r2, 1;\n"
           /*12*/ "  st.shared.u32 [s], 77;\n"
           /*13*/ "  setp.lt.u32 %p0, %r0, 8;\n"
           /*14*/ "  @%p0 bra LOW;\n"
           /*15*/ "  add.u32 %r1, %r0, 100;\n"
           /*16*/ "  bra.uni MEET;\n"
           /*17*/ "LOW:\n"
           /*18*/ "  call (%r1), twice, (%r0);\n"
           /*19*/ "MEET:\n"
           /*20*/ "  ld.param.u64 %d0, [p];\n"
           /*21*/ "  mul.wide.u32 %d1, %r0, 4;\n"
           /*22*/ "  add.u64 %d2, %d0, %d1;\n"
           /*23*/ "  st.global.u32 [%d2], %r1;\n"
           /*24*/ "  bar.sync 0;\n"
           /*25*/ "  ret;\n"
           /*26*/ "}\n"
           /*27*/ ".visible .entry forever() {\n"
           /*28*/ "LOOP:\n"
           /*29*/ "  bra LOOP;\n"
           /*30*/ "}\n"
           /*31*/ ".visible .entry local() {\n"
           /*32*/ "  .local .align 8 .b8 mine[8]; .reg .u32 %r<2>;\n"
           /*33*/ "  mov.u32 %r0, %tid.x;\n"
           /*34*/ "  st.local.u32 [mine], %r0;\n"
           /*35*/ "  ret;\n"
           /*36*/ "}\n";

static mx_device *d;
static mx_module *m;
static mx_debug *g;
static mx_addr out;

static mx_status load(const char *text, mx_module **module) {
  const mx_asm_options o = {.struct_size = sizeof(mx_asm_options), .file_name = "k.mxs", .one_slot_per_name = true};
  return load_text(d, text, &o, module);
}

static int set_up(void **state) {
  (void)state;
  g = NULL;
  if (mx_device_create(NULL, &d) != MX_OK || load(program, &m) != MX_OK) return -1;
  return mx_alloc(d, 2 * 64 * 4, &out) == MX_OK ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  mx_debug_end(g);
  mx_device_destroy(d);
  return 0;
}

static void begin(const char *name, uint32_t grid, uint32_t block) {
  mx_kernel *k;
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = grid;
  c.block[0] = block;
  assert_int_equal(mx_module_kernel(m, name, &k), MX_OK);
  bool params = !strcmp(name, "work");
  assert_int_equal(mx_debug_begin(k, &c, params ? &out : NULL, params ? 8 : 0, &g), MX_OK);
}

static mx_debug_stop go(mx_debug_order order, uint64_t block, uint32_t warp, uint64_t count) {
  mx_debug_stop s = {.struct_size = sizeof s};
  mx_status status = mx_debug_go(g, order, block, warp, count, &s);
  if (status != MX_OK) fail_msg("%s", mx_last_error_text(d));
  return s;
}

static mx_debug_stop go_to_line(uint32_t line) {
  int n;
  assert_int_equal(mx_debug_break_line(g, "k.mxs", line, &n), MX_OK);
  mx_debug_stop s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  assert_int_equal(s.reason, MX_DEBUG_AT_BREAKPOINT);
  assert_int_equal(s.breakpoint, n);
  assert_int_equal(s.line, line);
  assert_int_equal(mx_debug_break_delete(g, n), MX_OK);
  return s;
}

static mx_debug_register reg(uint32_t warp, uint32_t split, const char *name) {
  mx_debug_register r = {.struct_size = sizeof r};
  mx_status s = mx_debug_get_register(g, 0, warp, split, 0, name, &r);
  if (s != MX_OK) fail_msg("%s", mx_last_error_text(d));
  return r;
}

static void a_session_begins_before_everything_and_ends_at_the_end(void **state) {
  (void)state;
  begin("work", 2, 64);
  mx_debug_stop s = {.struct_size = sizeof s};
  assert_int_equal(mx_debug_where(g, &s), MX_OK);
  assert_int_equal(s.reason, MX_DEBUG_AT_BEGIN);
  assert_int_equal(s.pc, 0);
  assert_int_equal(s.line, 10);
  assert_string_equal(s.file, "k.mxs");
  assert_string_equal(s.function, "work");
  s = go(MX_DEBUG_CONTINUE, 0, 0, 0);
  assert_int_equal(s.reason, MX_DEBUG_AT_END);
  assert_int_equal(s.status, MX_OK);
  assert_int_equal(mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 1, NULL), MX_NOT_FOUND);
  mx_debug_end(g);
  g = NULL;
  uint32_t v[64];
  assert_int_equal(mx_copy_from_device(d, v, out, sizeof v), MX_OK);
  for (uint32_t i = 0; i < 64; i++) assert_int_equal(v[i], i < 8 ? 2 * i : i + 100);
}

static void ending_early_leaves_the_device_usable(void **state) {
  (void)state;
  begin("forever", 3, 32);
  mx_kernel *k;
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  mx_debug *second;
  assert_int_equal(mx_module_kernel(m, "forever", &k), MX_OK);
  assert_int_equal(mx_launch(k, &c, NULL, 0), MX_BUSY);
  assert_int_equal(mx_debug_begin(k, &c, NULL, 0, &second), MX_BUSY);
  assert_int_equal(mx_device_reset(d), MX_BUSY);
  assert_int_equal(mx_module_unload(m), MX_BUSY);
  mx_addr a;
  assert_int_equal(mx_alloc(d, 16, &a), MX_OK);
  assert_int_equal(mx_memset8(d, a, 1, 16), MX_OK);
  assert_int_equal(mx_free(d, a), MX_OK);
  mx_debug_end(g);
  begin("work", 1, 32);
}

static void steps_belong_to_a_warp(void **state) {
  (void)state;
  begin("work", 1, 64);
  mx_debug_stop s = go(MX_DEBUG_STEP, 0, 0, 1);
  assert_int_equal(s.reason, MX_DEBUG_AT_STEP);
  assert_int_equal(s.line, 11);
  assert_int_equal(s.warp, 0);
  s = go(MX_DEBUG_STEP_LINE, 0, 0, 2);
  assert_int_equal(s.line, 13);
  s = go(MX_DEBUG_STEP, 0, 1, 1); /* the other warp runs when the first one waits at the barrier */
  assert_int_equal(s.warp, 1);
  assert_int_equal(s.line, 11);
  mx_debug_warp w = {.struct_size = sizeof w};
  mx_debug_split sp = {.struct_size = sizeof sp};
  assert_int_equal(mx_debug_get_warp(g, 0, 0, &w), MX_OK);
  assert_int_equal(w.splits, 1);
  assert_int_equal(mx_debug_get_split(g, 0, 0, 0, &sp), MX_OK);
  assert_int_equal(sp.state, MX_DEBUG_WAITS_AT_BARRIER);
  assert_int_equal(sp.line, 24);
  s = go(MX_DEBUG_STEP, 0, 0, 1);
  assert_int_equal(s.line, 25);
  s = go(MX_DEBUG_STEP, 0, 0, 1);
  assert_true(s.reason == MX_DEBUG_AT_WARP_END || s.reason == MX_DEBUG_AT_END);
}

static void splits_joins_and_frames(void **state) {
  (void)state;
  begin("work", 1, 32);
  mx_debug_stop s = go_to_line(15);
  assert_int_equal(s.lanes, 0xFFFFFF00);
  mx_debug_warp w = {.struct_size = sizeof w};
  mx_debug_split sp = {.struct_size = sizeof sp};
  mx_debug_join j = {.struct_size = sizeof j};
  mx_debug_frame f = {.struct_size = sizeof f};
  assert_int_equal(mx_debug_get_warp(g, 0, 0, &w), MX_OK);
  assert_int_equal(w.live, UINT32_MAX);
  assert_int_equal(w.splits, 2);
  assert_int_equal(mx_debug_get_split(g, 0, 0, 0, &sp), MX_OK);
  assert_int_equal(sp.lanes, 0xFFFFFF00);
  assert_int_equal(sp.joins, 1);
  assert_int_equal(sp.depth, 1);
  assert_int_equal(mx_debug_get_split(g, 0, 0, 1, &sp), MX_OK);
  assert_int_equal(sp.lanes, 0xFF);
  assert_int_equal(sp.line, 18);
  assert_int_equal(mx_debug_get_split(g, 0, 0, 2, &sp), MX_NOT_FOUND);
  assert_int_equal(mx_debug_get_join(g, 0, 0, 0, 0, &j), MX_OK);
  assert_int_equal(j.line, 20);
  assert_int_equal(j.expected, UINT32_MAX);
  assert_int_equal(j.arrived, 0);
  assert_int_equal(mx_debug_get_join(g, 0, 0, 0, 1, &j), MX_NOT_FOUND);
  s = go_to_line(4);
  assert_int_equal(s.lanes, 0xFF);
  assert_string_equal(s.function, "twice");
  assert_int_equal(mx_debug_get_split(g, 0, 0, 0, &sp), MX_OK);
  assert_int_equal(sp.depth, 2);
  assert_int_equal(mx_debug_get_frame(g, 0, 0, 0, 1, &f), MX_OK);
  assert_string_equal(f.function, "work");
  assert_int_equal(f.line, 18);
  assert_int_equal(mx_debug_get_frame(g, 0, 0, 0, 2, &f), MX_NOT_FOUND);
  mx_debug_register r = reg(0, 0, "%in");
  assert_int_equal(r.low[5], 5);
  s = go(MX_DEBUG_FINISH, 0, 0, 1);
  assert_string_equal(s.function, "work");
  assert_int_equal(s.line, 20);
}

static void calls_can_be_stepped_over(void **state) {
  (void)state;
  begin("work", 1, 8); /* all lanes go LOW */
  go_to_line(18);
  mx_debug_stop s = go(MX_DEBUG_NEXT_LINE, 0, 0, 1);
  assert_int_equal(s.line, 20);
  mx_debug_end(g);
  begin("work", 1, 8);
  go_to_line(18);
  s = go(MX_DEBUG_STEP_LINE, 0, 0, 1);
  assert_int_equal(s.line, 4);
}

static void registers_by_name(void **state) {
  (void)state;
  begin("work", 1, 64);
  go_to_line(14);
  mx_debug_register r = reg(0, 0, "%r0");
  assert_string_equal(r.type, "u32");
  assert_int_equal(r.bits, 32);
  assert_int_equal(r.lanes, 32);
  for (uint32_t l = 0; l < 32; l++) assert_int_equal(r.low[l], l);
  r = reg(0, 0, "%p0");
  assert_string_equal(r.type, "pred");
  assert_int_equal(r.low[7], 1);
  assert_int_equal(r.low[8], 0);
  r = reg(0, 0, "%tid.x");
  assert_int_equal(r.low[31], 31);
  r = reg(0, 0, "%ntid.x");
  assert_int_equal(r.low[0], 64);
  r = reg(0, 0, "%lanemask_lt");
  assert_int_equal(r.low[3], 7);
  size_t n = mx_debug_register_count(g, 0, 0, 0, 0);
  assert_true(n >= 2);
  bool seen = false;
  for (size_t k = 0; k < n; k++) {
    assert_int_equal(mx_debug_register_at(g, 0, 0, 0, 0, k, &r), MX_OK);
    seen |= !strcmp(r.name, "%p0");
  }
  assert_true(seen);
  assert_int_equal(mx_debug_get_register(g, 0, 0, 0, 0, "%nothing", &r), MX_NOT_FOUND);
  assert_int_equal(mx_debug_get_register(g, 0, 0, 0, 0, "%.r500", &r), MX_NOT_FOUND);
  assert_int_equal(mx_debug_get_register(g, 0, 0, 0, 0, "%.r0", &r), MX_OK);
  /* lane 20 is sent LOW, with another number */
  assert_int_equal(mx_debug_set_register(g, 0, 0, 0, 0, "%p0", 1u << 20, 1, 0), MX_OK);
  assert_int_equal(mx_debug_set_register(g, 0, 0, 0, 0, "%r0", 1u << 20, 21, 0), MX_OK);
  mx_debug_stop s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  assert_int_equal(s.reason, MX_DEBUG_AT_END);
  mx_debug_end(g);
  g = NULL;
  uint32_t v[64];
  assert_int_equal(mx_copy_from_device(d, v, out, sizeof v), MX_OK);
  assert_int_equal(v[20], 0);
  assert_true(v[21] == 121 || v[21] == 42); /* both lanes store there: the higher one last, in its split */
}

static void memory_as_a_lane_sees_it(void **state) {
  (void)state;
  begin("work", 2, 32);
  go_to_line(13);
  mx_addr s;
  uint64_t n;
  uint32_t v = 0;
  assert_int_equal(mx_debug_symbol(g, "s", &s, &n), MX_OK);
  assert_int_equal(n, 64);
  assert_int_equal(mx_debug_read(g, 0, 0, 0, s, &v, 4), MX_OK);
  assert_int_equal(v, 77);
  assert_int_equal(mx_debug_read(g, 0, 0, 0, s + 61, &v, 4), MX_INVALID_ADDRESS);
  mx_addr p = 0;
  assert_int_equal(mx_debug_read(g, 0, 0, 0, mx_debug_generic(MX_DEBUG_PARAM, 0), &p, 8), MX_OK);
  assert_int_equal(p, out);
  v = 5;
  assert_int_equal(mx_debug_write(g, 0, 0, 0, out + 4, &v, 4), MX_OK);
  assert_int_equal(mx_copy_from_device(d, &v, out + 4, 4), MX_OK);
  assert_int_equal(v, 5);
  assert_int_equal(mx_debug_read(g, 0, 0, 0, 16, &v, 4), MX_INVALID_ADDRESS);
  assert_int_equal(mx_debug_read(g, 1, 0, 0, out, &v, 4), MX_NOT_FOUND); /* not started */
  assert_int_equal(mx_debug_block_count(g), 1);
  mx_debug_block b = {.struct_size = sizeof b};
  assert_int_equal(mx_debug_block_at(g, 0, &b), MX_OK);
  assert_int_equal(b.live_threads, 32);
}

static void each_lane_has_local_memory(void **state) {
  (void)state;
  uint32_t v = 0;
  begin("local", 1, 32);
  go_to_line(35);
  assert_int_equal(mx_debug_read(g, 0, 0, 9, mx_debug_generic(MX_DEBUG_LOCAL, 0), &v, 4), MX_OK);
  assert_int_equal(v, 9);
}

static void breakpoints_come_and_go(void **state) {
  (void)state;
  begin("work", 2, 64);
  int a, b, c;
  assert_int_equal(mx_debug_break(g, NULL, 0, &a), MX_OK);
  assert_int_equal(mx_debug_break_line(g, NULL, 17, &b), MX_OK); /* no code there: 18 */
  assert_int_equal(mx_debug_break(g, "work", 9999, &c), MX_NOT_FOUND);
  assert_int_equal(mx_debug_break(g, "nobody", 0, &c), MX_NOT_FOUND);
  assert_int_equal(mx_debug_break_line(g, NULL, 999, &c), MX_NOT_FOUND);
  assert_int_equal(mx_debug_break_line(g, "other.mxs", 10, &c), MX_NOT_FOUND);
  assert_int_equal(mx_debug_break_count(g), 2);
  mx_debug_breakpoint p = {.struct_size = sizeof p};
  assert_int_equal(mx_debug_break_at(g, 1, &p), MX_OK);
  assert_int_equal(p.line, 18);
  assert_int_equal(p.number, b);
  assert_int_equal(mx_debug_break_enable(g, b, false), MX_OK);
  uint32_t stops = 0;
  while (go(MX_DEBUG_CONTINUE, 0, 0, 1).reason == MX_DEBUG_AT_BREAKPOINT) stops++;
  assert_int_equal(stops, 3); /* warp 0 of block 0 stood there already */
}

static void traps_can_be_looked_at(void **state) {
  (void)state;
  assert_int_equal(mx_free(d, out), MX_OK);
  begin("work", 1, 32);
  mx_debug_stop s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  assert_int_equal(s.reason, MX_DEBUG_AT_TRAP);
  assert_int_equal(s.trap, MX_TRAP_OUT_OF_BOUNDS);
  assert_int_equal(s.line, 23);
  assert_int_equal(reg(0, 0, "%r0").low[9], 9);
  s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  assert_int_equal(s.reason, MX_DEBUG_AT_END);
  assert_int_equal(s.status, MX_TRAPPED);
}

static void *pause_soon(void *unused) {
  (void)unused;
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  mx_debug_pause(g);
  return NULL;
}

static void endless_kernels_can_be_paused(void **state) {
  (void)state;
  begin("forever", 1, 32);
  pthread_t t;
  pthread_create(&t, NULL, pause_soon, NULL);
  mx_debug_stop s = go(MX_DEBUG_CONTINUE, 0, 0, 1);
  pthread_join(t, NULL);
  assert_int_equal(s.reason, MX_DEBUG_AT_PAUSE);
  assert_int_equal(s.line, 29);
}

static void count(void *user, const mx_debug_event *e) {
  uint32_t *n = user;
  if (e->block == 0 && e->line == 23) *n += (uint32_t)__builtin_popcountll(e->lanes);
}

static void a_trace_sees_every_instruction(void **state) {
  (void)state;
  begin("work", 2, 64);
  uint32_t n = 0;
  assert_int_equal(mx_debug_trace(g, count, &n), MX_OK);
  go(MX_DEBUG_CONTINUE, 0, 0, 1);
  assert_int_equal(n, 64);
}

static void code_can_be_added_while_it_runs(void **state) {
  (void)state;
  static const char first[] =
      ".version 9.0\n.target sm_90\n.visible .entry work(.param .u64 p) {\n  .reg .u32 %r<9>; .reg .u64 %d<9>;\n"
      "  mov.u32 %r0, %tid.x;\n  add.u32 %r1, %r0, 1;\n  ret;\n}\n";
  static const char second[] =
      ".version 9.0\n.target sm_90\n.visible .entry work(.param .u64 p) {\n  .reg .u32 %r<9>; .reg .u64 %d<9>;\n"
      "  mov.u32 %r0, %tid.x;\n  add.u32 %r1, %r0, 1;\n  ld.param.u64 %d0, [p];\n  mul.wide.u32 %d1, %r0, 4;\n"
      "  add.u64 %d2, %d0, %d1;\n  st.global.u32 [%d2], %r1;\n  ret;\n}\n";
  static const char third[] = ".version 9.0\n.target sm_90\n.visible .entry work(.param .u64 p) {\n  .reg .u32 %r<9>;\n"
                              "  mov.u32 %r0, %tid.y;\n  ret;\n}\n";
  assert_int_equal(load(first, &m), MX_OK);
  begin("work", 1, 64);
  go_to_line(7);
  mx_asm_options o = {.struct_size = sizeof(mx_asm_options), .file_name = "k.mxs", .one_slot_per_name = true};
  mx_asm_result *r = mx_assemble(third, strlen(third), &o);
  size_t n;
  const uint8_t *bytes = mx_asm_bytes(r, &n);
  assert_int_equal(mx_debug_replace(g, bytes, n), MX_INVALID_MODULE);
  mx_asm_free(r);
  assert_int_equal(mx_debug_replace(g, "x", 1), MX_INVALID_MODULE);
  r = mx_assemble(second, strlen(second), &o);
  bytes = mx_asm_bytes(r, &n);
  mx_status s = mx_debug_replace(g, bytes, n);
  if (s != MX_OK) fail_msg("%s", mx_last_error_text(d));
  mx_asm_free(r);
  mx_debug_stop stop = go(MX_DEBUG_STEP, 0, 0, 1);
  assert_int_equal(stop.line, 8);
  assert_int_equal(reg(0, 0, "%r1").low[3], 4);
  assert_int_equal(go(MX_DEBUG_CONTINUE, 0, 0, 1).reason, MX_DEBUG_AT_END);
  mx_debug_end(g);
  g = NULL;
  uint32_t v[64];
  assert_int_equal(mx_copy_from_device(d, v, out, sizeof v), MX_OK);
  for (uint32_t i = 0; i < 64; i++) assert_int_equal(v[i], i + 1);
}

#define TEST(name_) cmocka_unit_test_setup_teardown(name_, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_session_begins_before_everything_and_ends_at_the_end),
      TEST(ending_early_leaves_the_device_usable),
      TEST(steps_belong_to_a_warp),
      TEST(splits_joins_and_frames),
      TEST(calls_can_be_stepped_over),
      TEST(registers_by_name),
      TEST(memory_as_a_lane_sees_it),
      TEST(each_lane_has_local_memory),
      TEST(breakpoints_come_and_go),
      TEST(traps_can_be_looked_at),
      TEST(endless_kernels_can_be_paused),
      TEST(a_trace_sees_every_instruction),
      TEST(code_can_be_added_while_it_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
