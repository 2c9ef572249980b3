/* Sessions whose launch runs on several workers while nothing stops it: they show, stop by stop, what a session of one
 * worker shows, and come to the same end; blocks that rest in the middle of anything go on from there. */
#include "jit/runtime/jit.h"
#include "mx/debug.h"
#include "mx/text.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "on_device.h"

/* Each block spins for a while, through barriers and divergence. Then those from `first` on, one in four, do what
 * `what` says. */
static const char program[] =
    ".version 9.0\n.target mx64\n"
    ".visible .entry work (.param .u64 p, .param .u32 n, .param .u32 first, .param .u32 what)\n{\n"
    "  .shared .align 4 .b8 s[1024];\n"
    "  mad.lo.u32 %i, %ctaid.x, %ntid.x, %tid.x;\n"
    "  shl.b32 %at, %tid.x, 2;\n"
    "  mov.u32 %sum, %i;\n"
    "  mov.u32 %k, 0;\n"
    "loop:\n"
    "  mad.lo.u32 %sum, %sum, 1664525, 1013904223;\n"
    "  setp.lt.s32 %is, %sum, 0;\n"
    "  @%is bra left;\n"
    "  xor.b32 %sum, %sum, 0x55;\n"
    "left:\n"
    "  and.b32 %low, %k, 31;\n"
    "  setp.ne.u32 %more, %low, 31;\n"
    "  @%more bra on;\n"
    "  st.shared.u32 [s + %at], %sum;\n"
    "  bar.sync 0;\n"
    "  xor.b32 %other, %at, 256;\n"
    "  ld.shared.u32 %v, [s + %other];\n"
    "  add.u32 %sum, %sum, %v;\n"
    "  bar.sync 0;\n"
    "on:\n"
    "  add.u32 %k, %k, 1;\n"
    "  setp.lt.u32 %more, %k, %n;\n"
    "  @%more bra loop;\n"
    "  setp.lt.u32 %out, %ctaid.x, %first;\n"
    "  @%out bra done;\n"
    "  and.b32 %low, %ctaid.x, 3;\n"
    "  setp.ne.u32 %out, %low, 3;\n"
    "  @%out bra done;\n"
    "hit:\n"
    "  add.u32 %sum, %sum, 1;\n"
    "  setp.eq.u32 %q, %what, 1;\n"
    "  @%q trap;\n"
    "  setp.eq.u32 %q, %what, 2;\n"
    "  setp.lt.u32 %low_warp, %tid.x, 64;\n"
    "  and.pred %q, %q, %low_warp;\n"
    "  @%q bar.sync 1, 128;\n"
    "  setp.eq.u32 %q, %what, 3;\n"
    "  setp.eq.u32 %one, %tid.x, 0;\n"
    "  and.pred %q, %q, %one;\n"
    "  @%q printf _, \"block %u\\n\", %ctaid.x;\n"
    "done:\n"
    "  st.global.u32 [%p + %i*4], %sum;\n"
    "  exit;\n}\n"
    /* Block b goes on when block b - 1 has; each works first. */
    ".visible .entry chain (.param .u64 p, .param .u32 n, .param .u32 first, .param .u32 what)\n{\n"
    "  mov.u32 %k, 0;\n"
    "loop:\n"
    "  add.u32 %k, %k, 1;\n"
    "  setp.lt.u32 %more, %k, %n;\n"
    "  @%more bra loop;\n"
    "  mov.u32 %b, %ctaid.x;\n"
    "  mov.u32 %sum, %tid.x;\n"
    "  setp.eq.u32 %q, %b, 0;\n"
    "  @%q bra go;\n"
    "  sub.u32 %before, %b, 1;\n"
    "  mad.lo.u32 %before, %before, %ntid.x, %tid.x;\n"
    "wait:\n"
    "  ld.volatile.global.u32 %sum, [%p + %before*4];\n"
    "  setp.eq.u32 %q, %sum, 0;\n"
    "  @%q bra wait;\n"
    "go:\n"
    "  mad.lo.u32 %i, %b, %ntid.x, %tid.x;\n"
    "  add.u32 %sum, %sum, 1;\n"
    "  st.volatile.global.u32 [%p + %i*4], %sum;\n"
    "hit:\n"
    "  exit;\n}\n";

enum {
  GRID = 48,
  BLOCK = 128,
  THREADS = GRID * BLOCK,
  TIMES = 3000,
  FIRST = 20,
  NOTHING = 0,
  TRAPS = 1,
  HANGS = 2,
  PRINTS = 3
};

struct machine {
  mx_device *d;
  mx_module *m;
  mx_debug *g;
  mx_addr out;
  unsigned lines;
};

static void print(void *user, const char *text, size_t size) {
  struct machine *w = user;
  for (size_t k = 0; k < size; k++) w->lines += text[k] == '\n';
}

static void begin(struct machine *w, const char *kernel, uint32_t threads, mx_jit_mode jit, uint32_t what) {
  mx_asm_options o = {.struct_size = sizeof(mx_asm_options), .file_name = "k.mxs", .one_slot_per_name = true};
  mx_kernel *k;
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  *w = (struct machine){0};
  assert_int_equal(mx_device_create(NULL, &w->d), MX_OK);
  mx_device_set_output(w->d, print, w);
  assert_int_equal(load_text(w->d, program, &o, &w->m), MX_OK);
  assert_int_equal(mx_alloc(w->d, THREADS * 4, &w->out), MX_OK);
  assert_int_equal(mx_memset32(w->d, w->out, 0, THREADS), MX_OK);
  assert_int_equal(mx_module_kernel(w->m, kernel, &k), MX_OK);
  struct {
    uint64_t p;
    uint32_t n, first, what;
  } params = {w->out, TIMES, FIRST, what};
  c.grid[0] = GRID, c.block[0] = BLOCK, c.jit = jit, c.threads = threads;
  if (mx_debug_begin(k, &c, &params, 20, &w->g) != MX_OK) fail_msg("%s", mx_last_error_text(w->d));
}
static void end(struct machine *w) {
  mx_debug_end(w->g);
  mx_device_destroy(w->d);
}

static mx_debug_stop go(struct machine *w) {
  mx_debug_stop s = {.struct_size = sizeof s};
  if (mx_debug_go(w->g, MX_DEBUG_CONTINUE, 0, 0, 1, &s) != MX_OK) fail_msg("%s", mx_last_error_text(w->d));
  return s;
}

static void break_at_hit(struct machine *w) {
  mx_debug_function f = {.struct_size = sizeof f};
  int number;
  assert_int_equal(mx_debug_function_at(w->g, 0, &f), MX_OK);
  for (uint32_t pc = 0; pc < f.words; pc++) {
    mx_debug_instruction i = {.struct_size = sizeof i};
    if (mx_debug_code(w->g, NULL, pc, &i) == MX_OK && i.label && !strcmp(i.label, "hit"))
      assert_int_equal(mx_debug_break(w->g, NULL, pc, &number), MX_OK);
  }
}

static void compare_memory(struct machine *a, struct machine *b) {
  static uint32_t x[THREADS], y[THREADS];
  assert_int_equal(mx_copy_from_device(a->d, x, a->out, sizeof x), MX_OK);
  assert_int_equal(mx_copy_from_device(b->d, y, b->out, sizeof y), MX_OK);
  assert_memory_equal(x, y, sizeof x);
}

/* The same stops, and at the end the same counts and memory. */
static void alike(const char *kernel, mx_jit_mode jit, uint32_t what, bool breaks, bool counts) {
  struct machine one, many;
  begin(&one, kernel, 1, jit, what);
  begin(&many, kernel, 4, jit, what);
  if (breaks) break_at_hit(&one), break_at_hit(&many);
  for (;;) {
    const mx_debug_stop a = go(&one), b = go(&many);
    assert_int_equal(b.reason, a.reason);
    assert_int_equal(b.status, a.status);
    if (a.reason == MX_DEBUG_AT_END) {
      if (counts && a.status == MX_OK) assert_int_equal(b.steps, a.steps);
      break;
    }
    assert_int_equal(b.block, a.block);
    assert_int_equal(b.warp, a.warp);
    assert_int_equal(b.lanes, a.lanes);
    assert_int_equal(b.pc, a.pc);
    assert_int_equal(b.trap, a.trap);
    if (a.text) assert_string_equal(b.text, a.text);
  }
  assert_int_equal(many.lines, one.lines);
  if (what != TRAPS && what != HANGS) compare_memory(&one, &many);
  end(&one);
  end(&many);
}

static void nothing_is_hit(void **state) {
  (void)state;
  alike("work", MX_JIT_OFF, NOTHING, false, true);
  alike("work", MX_JIT_ON, NOTHING, false, true);
}
static void stops_come_in_order(void **state) {
  (void)state;
  alike("work", MX_JIT_OFF, NOTHING, true, true);
  alike("work", MX_JIT_ON, NOTHING, true, true);
}
static void the_first_trap_is_shown(void **state) {
  (void)state;
  alike("work", MX_JIT_OFF, TRAPS, false, true);
  alike("work", MX_JIT_ON, TRAPS, false, true);
}
static void deadlocks_are_told(void **state) {
  (void)state;
  alike("work", MX_JIT_OFF, HANGS, false, true);
  alike("work", MX_JIT_ON, HANGS, false, true);
}
static void text_is_printed_once(void **state) {
  (void)state;
  alike("work", MX_JIT_ON, PRINTS, false, true);
}
static void blocks_that_wait_for_others(void **state) {
  (void)state;
  alike("chain", MX_JIT_OFF, NOTHING, false, false);
  alike("chain", MX_JIT_ON, NOTHING, false, false);
}

/* Ctrl-C at any moment, again and again. */
static struct {
  mx_debug *g;
  atomic_bool stop;
} pauser;
static void *pause_often(void *arg) {
  (void)arg;
  /* Longer and longer apart: where other programs have the processors, a session may need most of a short time to begin
   * again. */
  for (long nap = 3000000; !atomic_load(&pauser.stop); nap += nap / 16) {
    nanosleep(&(struct timespec){.tv_sec = nap / 1000000000, .tv_nsec = nap % 1000000000}, NULL);
    mx_debug_pause(pauser.g);
  }
  return NULL;
}
static unsigned end_with_pauses(struct machine *w, unsigned most) {
  pthread_t thread;
  unsigned pauses = 0;
  pauser.g = w->g;
  atomic_store(&pauser.stop, false);
  assert_int_equal(pthread_create(&thread, NULL, pause_often, NULL), 0);
  while (pauses < most && go(w).reason == MX_DEBUG_AT_PAUSE) {
    mx_debug_block b = {.struct_size = sizeof b};
    for (size_t n = 0; n < mx_debug_block_count(w->g); n++) {
      assert_int_equal(mx_debug_block_at(w->g, n, &b), MX_OK);
      mx_debug_split s = {.struct_size = sizeof s};
      for (uint32_t k = 0; k < b.warps; k++) mx_debug_get_split(w->g, b.number, k, 0, &s);
    }
    pauses++;
  }
  atomic_store(&pauser.stop, true);
  pthread_join(thread, NULL);
  return pauses;
}
static void pauses_change_nothing(void **state) {
  (void)state;
  for (int jit = 0; jit < 2; jit++) {
    struct machine one, many;
    begin(&one, "work", 1, jit ? MX_JIT_ON : MX_JIT_OFF, NOTHING);
    begin(&many, "work", 4, jit ? MX_JIT_ON : MX_JIT_OFF, NOTHING);
    go(&one);
    end_with_pauses(&many, UINT32_MAX);
    compare_memory(&one, &many);
    end(&one);
    end(&many);
  }
}
/* However slow the compiler is, and however often somebody pauses, the launch ends. */
static void pauses_while_code_is_made(void **state) {
  (void)state;
  char *real = mx__jit_find_compiler(NULL), name[] = "/tmp/mx-slow-XXXXXX";
  if (!real || !mx__jit_level()) {
    free(real);
    skip();
  }
  const int fd = mkstemp(name);
  dprintf(fd, "#!/bin/sh\nsleep 0.2\nexec '%s' \"$@\"\n", real);
  fchmod(fd, 0700);
  close(fd);
  setenv("MX_JITC", name, 1);
  struct machine one, many;
  begin(&one, "work", 1, MX_JIT_OFF, NOTHING);
  begin(&many, "work", 4, MX_JIT_ON, NOTHING);
  go(&one);
  end_with_pauses(&many, UINT32_MAX);
  compare_memory(&one, &many);
  end(&one);
  end(&many);
  setenv("MX_JITC", real, 1);
  unlink(name);
  free(real);
}
static void sessions_end_while_blocks_rest(void **state) {
  (void)state;
  struct machine w;
  begin(&w, "work", 4, MX_JIT_OFF, NOTHING);
  end_with_pauses(&w, 20);
  end(&w);
}

int main(void) {
  setenv("MX_CACHE_DIR", "", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_hit),
      cmocka_unit_test(stops_come_in_order),
      cmocka_unit_test(the_first_trap_is_shown),
      cmocka_unit_test(deadlocks_are_told),
      cmocka_unit_test(text_is_printed_once),
      cmocka_unit_test(blocks_that_wait_for_others),
      cmocka_unit_test(pauses_change_nothing),
      cmocka_unit_test(sessions_end_while_blocks_rest),
      cmocka_unit_test(pauses_while_code_is_made),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
