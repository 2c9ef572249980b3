/* Sessions whose launches run compiled code: they stop where interpreted ones do, having counted the same, and show the
 * same registers, or say that they do not know; conditions are asked by compiled code; what is set while they stand
 * counts. */
#include "mx/debug.h"
#include "mx/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "on_device.h"

/* A divergent loop with an if in it, a call, barriers that several warps wait at, a shuffle, a register that only holds
 * what was. */
static const char program[] = ".version 9.0\n.target mx64\n"
                              ".func (.reg .u32 %out) twice (.reg .u32 %in)\n{\n  add.u32 %t, %in, 1;\n  add.u32 %out, "
                              "%in, %in;\n  add.u32 %out, %out, %t;\n  ret;\n}\n"
                              ".visible .entry work (.param .u64 p)\n{\n"
                              "  .shared .align 4 .b8 s[1024];\n"
                              "  mad.lo.u32 %i, %ctaid.x, %ntid.x, %tid.x;\n"
                              "  mov.u32 %sum, 0;\n"
                              "  and.b32 %n, %i, 7;\n"
                              "  add.u32 %n, %n, 2;\n"
                              "loop:\n"
                              "  and.b32 %odd, %n, 1;\n"
                              "  setp.eq.u32 %is, %odd, 1;\n"
                              "  @%is bra left;\n"
                              "  mad.lo.u32 %sum, %n, %i, %sum;\n"
                              "  bra meet;\n"
                              "left:\n"
                              "  shl.b32 %k, %n, 2;\n"
                              "  add.u32 %sum, %sum, %k;\n"
                              "meet:\n"
                              "  sub.u32 %n, %n, 1;\n"
                              "  setp.ne.u32 %more, %n, 0;\n"
                              "  @%more bra loop;\n"
                              "  shl.b32 %at, %tid.x, 2;\n"
                              "  st.shared.u32 [s + %at], %sum;\n"
                              "  bar.sync 0;\n"
                              "  xor.b32 %other, %at, 256;\n"
                              "  ld.shared.u32 %v, [s + %other];\n"
                              "  add.u32 %sum, %sum, %v;\n"
                              "  bar.sync 0;\n"
                              "  shfl.sync.bfly.b32 %x, %sum, 3, 63, -1;\n"
                              "  setp.lt.u32 %low, %tid.x, 9;\n"
                              "  @%low add.u32 %sum, %sum, %x;\n"
                              "  call (%sum), twice, (%sum);\n"
                              "  st.global.u32 [%p + %i*4], %sum;\n"
                              "  exit;\n}\n";

enum { GRID = 3, BLOCK = 128, THREADS = GRID * BLOCK, MOST = 40 };

struct machine {
  mx_device *d;
  mx_module *m;
  mx_debug *g;
  mx_addr out;
};
static struct machine interpreted, compiled;
static unsigned asked;

static void begin(struct machine *w, mx_jit_mode jit) {
  mx_asm_options o = {.struct_size = sizeof(mx_asm_options), .file_name = "k.mxs", .one_slot_per_name = true};
  mx_kernel *k;
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  *w = (struct machine){0};
  assert_int_equal(mx_device_create(NULL, &w->d), MX_OK);
  assert_int_equal(load_text(w->d, program, &o, &w->m), MX_OK);
  assert_int_equal(mx_alloc(w->d, THREADS * 4, &w->out), MX_OK);
  assert_int_equal(mx_module_kernel(w->m, "work", &k), MX_OK);
  c.grid[0] = GRID, c.block[0] = BLOCK, c.jit = jit;
  assert_int_equal(mx_debug_begin(k, &c, &w->out, 8, &w->g), MX_OK);
}
static void end(struct machine *w) {
  mx_debug_end(w->g);
  mx_device_destroy(w->d);
  *w = (struct machine){0};
}
static int set_up(void **state) {
  (void)state;
  begin(&interpreted, MX_JIT_OFF);
  begin(&compiled, MX_JIT_ON);
  return 0;
}
static int tear_down(void **state) {
  (void)state;
  end(&interpreted);
  end(&compiled);
  return 0;
}

static mx_debug_stop go(struct machine *w, mx_debug_order order, const mx_debug_stop *at) {
  mx_debug_stop s = {.struct_size = sizeof s};
  if (mx_debug_go(w->g, order, at ? at->block : 0, at ? at->warp : 0, 1, &s) != MX_OK)
    fail_msg("%s", mx_last_error_text(w->d));
  return s;
}

/* Lanes in which compiled code may not know a register. */
static uint64_t compare_registers(const mx_debug_stop *s, uint32_t warp, uint32_t frame) {
  mx_debug_register a = {.struct_size = sizeof a}, b = a;
  mx_debug_split split = {.struct_size = sizeof split};
  uint64_t unknown = 0;
  if (mx_debug_get_split(compiled.g, s->block, warp, 0, &split) != MX_OK) return 0;
  for (size_t n = 0; mx_debug_register_at(interpreted.g, s->block, warp, 0, frame, n, &a) == MX_OK; n++) {
    assert_int_equal(mx_debug_register_at(compiled.g, s->block, warp, 0, frame, n, &b), MX_OK);
    assert_string_equal(a.name, b.name);
    assert_true(a.known == UINT64_MAX);
    for (unsigned l = 0; l < 64; l++)
      if (split.lanes >> l & b.known >> l & 1 && a.low[l] != b.low[l])
        fail_msg("%s of warp %u in lane %u, pc %u: %llu, expected %llu (known %llx)", a.name, warp, l, s->pc,
                 (unsigned long long)b.low[l], (unsigned long long)a.low[l], (unsigned long long)b.known);
    unknown |= split.lanes & ~b.known;
  }
  return unknown;
}

/* Both go on; whether they stand. */
static bool both(mx_debug_stop *s) {
  const mx_debug_stop a = go(&interpreted, MX_DEBUG_CONTINUE, NULL);
  *s = go(&compiled, MX_DEBUG_CONTINUE, NULL);
  assert_int_equal(s->reason, a.reason);
  assert_int_equal(s->steps, a.steps);
  if (a.reason == MX_DEBUG_AT_END) return false;
  assert_int_equal(s->block, a.block);
  assert_int_equal(s->warp, a.warp);
  assert_int_equal(s->lanes, a.lanes);
  assert_string_equal(s->function, a.function);
  assert_int_equal(s->pc, a.pc);
  for (uint32_t w = 0; w < BLOCK / 64; w++) compare_registers(s, w, 0);
  if (!strcmp(s->function, "twice")) compare_registers(s, s->warp, 1);
  return true;
}

static void compare_memory(void) {
  uint32_t a[THREADS], b[THREADS];
  assert_int_equal(mx_copy_from_device(interpreted.d, a, interpreted.out, sizeof a), MX_OK);
  assert_int_equal(mx_copy_from_device(compiled.d, b, compiled.out, sizeof b), MX_OK);
  assert_memory_equal(a, b, sizeof a);
}

static bool break_both(const char *function, uint32_t pc, int *number) {
  int other;
  if (mx_debug_break(interpreted.g, function, pc, number) != MX_OK) return false;
  assert_int_equal(mx_debug_break(compiled.g, function, pc, &other), MX_OK);
  assert_int_equal(*number, other);
  return true;
}

/* Every few instructions; each session has several breakpoints, one after the other. */
static void stops_are_the_same(void **state) {
  mx_debug_stop s;
  int number, last = 0;
  for (uint32_t pc = 0; pc < 40; pc += 5) {
    tear_down(state);
    set_up(state);
    if (!break_both(pc == 20 ? "twice" : "work", pc == 20 ? 1 : pc, &number)) continue;
    if (pc == 25) assert_true(break_both("work", 27, &last));
    for (unsigned n = 0; n < MOST && both(&s); n++) {}
    mx_debug_break_enable(interpreted.g, number, false);
    mx_debug_break_enable(compiled.g, number, false);
    while (s.reason != MX_DEBUG_AT_END && both(&s)) {}
    compare_memory();
  }
}

static bool sum_is(void *user, const mx_debug_point *at) {
  struct machine *w = user;
  mx_debug_cell c = {.struct_size = sizeof c};
  if (w == &compiled) asked++;
  if (mx_debug_find_cell(w->g, at->function, at->pc, "%sum", &c) != MX_OK) return false;
  const uint32_t *v = mx_debug_cell_lanes(w->g, &c);
  for (unsigned l = 0; l < 64; l++)
    if (at->lanes >> l & 1 && v[l] == 8) return true;
  return false;
}

static void set_test(int number, uint64_t value) {
  mx_debug_breakpoint b = {.struct_size = sizeof b};
  mx_debug_test t[] = {{.op = MX_DEBUG_TEST_CELL},
                       {.op = MX_DEBUG_TEST_INT, .bits = value},
                       {.op = MX_DEBUG_TEST_EQ},
                       {.op = MX_DEBUG_TEST_ANY}};
  assert_int_equal(mx_debug_break_at(compiled.g, 0, &b), MX_OK);
  t[0].cell.struct_size = sizeof t[0].cell;
  assert_int_equal(mx_debug_find_cell(compiled.g, b.function, b.pc, "%sum", &t[0].cell), MX_OK);
  assert_int_equal(mx_debug_break_test(compiled.g, number, t, 4), MX_INVALID_VALUE); /* without struct_size */
  for (unsigned k = 0; k < 4; k++) t[k].struct_size = sizeof t[k];
  assert_int_equal(mx_debug_break_test(compiled.g, number, t, 4), MX_OK);
}

static void conditions_are_asked_by_compiled_code(void **state) {
  (void)state;
  mx_debug_stop s;
  int number;
  unsigned stops = 0;
  assert_true(break_both("work", 10, &number));
  assert_int_equal(mx_debug_break_when(interpreted.g, number, sum_is, &interpreted), MX_OK);
  assert_int_equal(mx_debug_break_when(compiled.g, number, sum_is, &compiled), MX_OK);
  set_test(number, 8);
  asked = 0;
  while (both(&s)) stops++;
  assert_true(stops > 0);
  assert_int_equal(asked, stops);
  compare_memory();
}

static void false_conditions_are_not_asked(void **state) {
  (void)state;
  mx_debug_stop s;
  int number;
  assert_true(break_both("work", 10, &number));
  assert_int_equal(mx_debug_break_enable(interpreted.g, number, false), MX_OK);
  assert_int_equal(mx_debug_break_when(compiled.g, number, sum_is, &compiled), MX_OK);
  set_test(number, 1 << 30);
  asked = 0;
  assert_false(both(&s));
  assert_int_equal(asked, 0);
}

/* While one warp stands at a breakpoint the other waits at a barrier, in compiled code's own form as well. */
static void what_is_set_counts(void **state) {
  (void)state;
  mx_debug_stop s;
  int number;
  assert_true(break_both("work", 20, &number));
  for (int n = 0; n < 3; n++) {
    assert_true(both(&s));
    for (uint32_t w = 0; w < BLOCK / 64; w++) {
      assert_int_equal(mx_debug_set_register(interpreted.g, s.block, w, 0, 0, "%sum", 0xF0F0, 1000u + w, 0), MX_OK);
      assert_int_equal(mx_debug_set_register(compiled.g, s.block, w, 0, 0, "%sum", 0xF0F0, 1000u + w, 0), MX_OK);
    }
  }
  while (both(&s)) {}
  compare_memory();
}

static void steps_know_what_they_write(void **state) {
  (void)state;
  mx_debug_stop s;
  mx_debug_register r = {.struct_size = sizeof r};
  int number;
  assert_true(break_both("work", 8, &number));
  assert_true(both(&s));
  for (int n = 0; n < 12; n++) {
    const mx_debug_stop a = go(&interpreted, MX_DEBUG_STEP, &s);
    s = go(&compiled, MX_DEBUG_STEP, &s);
    assert_int_equal(s.pc, a.pc);
    assert_int_equal(s.steps, a.steps);
    compare_registers(&s, s.warp, 0);
  }
  assert_int_equal(mx_debug_get_register(compiled.g, s.block, s.warp, 0, 0, "%more", &r), MX_OK);
  assert_int_equal(s.lanes & ~r.known, 0);
}

int main(void) {
  setenv("MX_CACHE_DIR", "", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(stops_are_the_same, set_up, tear_down),
      cmocka_unit_test_setup_teardown(conditions_are_asked_by_compiled_code, set_up, tear_down),
      cmocka_unit_test_setup_teardown(false_conditions_are_not_asked, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_is_set_counts, set_up, tear_down),
      cmocka_unit_test_setup_teardown(steps_know_what_they_write, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
