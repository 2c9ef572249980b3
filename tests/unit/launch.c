/* Launches from the API's side: checks, workers, waiting blocks, limits, traps, streams and events, printing. */
#include "mx/text.h"

#include "vm/host/device.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "on_device.h"

/* Newer compilers' sanitizers keep the frames of functions that have returned, which is memory that these tests would
 * count. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_stack_use_after_return=0"; }

static const char program[] =
    ".version 9.0\n.target sm_90\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
    ".extern .func free(.param .b64 p);\n"
    ".extern .shared .align 16 .b8 dynamic[];\n"
    ".global .align 1 .b8 format[12] = {98, 108, 111, 99, 107, 32, 37, 100, 37, 37, 10, 0};\n" /* block %d%%\n */
    /* p[global thread] = global thread */
    ".visible .entry number(.param .u64 p)\n{\n"
    "  .reg .u32 %r<5>;\n  .reg .u64 %d<4>;\n"
    "  mov.u32 %r0, %tid.x;\n  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n  mad.lo.u32 %r3, %r1, %r2, %r0;\n"
    "  ld.param.u64 %d0, [p];\n  mul.wide.u32 %d1, %r3, 4;\n  add.u64 %d2, %d0, %d1;\n  st.global.u32 [%d2], %r3;\n  "
    "ret;\n}\n"
    /* blocks wait for the block after them: p[] are flags */
    ".visible .entry backwards(.param .u64 p)\n{\n"
    "  .reg .u32 %r<6>;\n  .reg .u64 %d<4>;\n  .reg .pred %p<3>;\n"
    "  mov.u32 %r0, %ctaid.x;\n  mov.u32 %r1, %nctaid.x;\n  ld.param.u64 %d0, [p];\n"
    "  mul.wide.u32 %d1, %r0, 4;\n  add.u64 %d2, %d0, %d1;\n  add.u32 %r2, %r0, 1;\n  setp.eq.u32 %p0, %r2, %r1;\n  "
    "@%p0 bra DONE;\n"
    "LOOP:\n  ld.volatile.global.u32 %r3, [%d2+4];\n  setp.eq.u32 %p1, %r3, 0;\n  @%p1 bra LOOP;\n"
    "DONE:\n  st.volatile.global.u32 [%d2], 1;\n  ret;\n}\n"
    ".visible .entry forever()\n{\nLOOP:\n  bra LOOP;\n}\n"
    ".visible .entry bounded()\n.maxntid 64\n{\n  ret;\n}\n"
    ".visible .entry exact()\n.reqntid 8, 4\n{\n  ret;\n}\n"
    ".visible .entry shared()\n{\n  .shared .align 4 .b8 s[1024];\n  .reg .u32 %r<2>;\n  mov.u32 %r0, s;\n  "
    "st.shared.u32 [%r0], %r0;\n"
    "  mov.u32 %r1, dynamic;\n  st.shared.u32 [%r1], %r0;\n  ret;\n}\n"
    ".visible .entry print()\n{\n  .local .align 8 .b8 a[8];\n  .reg .u32 %r<2>;\n  .reg .u64 %d<3>;\n"
    "  mov.u32 %r0, %ctaid.x;\n  st.local.u32 [a], %r0;\n  mov.u64 %d0, format;\n  cvta.global.u64 %d0, %d0;\n"
    "  mov.u64 %d1, a;\n  cvta.local.u64 %d1, %d1;\n  {\n  .param .b64 p0;\n  .param .b64 p1;\n  .param .b32 r;\n"
    "  st.param.b64 [p0], %d0;\n  st.param.b64 [p1], %d1;\n  call.uni (r), vprintf, (p0, p1);\n  ld.param.b32 %r1, "
    "[r];\n  }\n  ret;\n}\n"
    /* every thread: a piece of the heap, written, read and given back; out[thread] = value */
    ".visible .entry pieces(.param .u64 p)\n{\n  .reg .u32 %r<4>;\n  .reg .u64 %d<5>;\n"
    "  mov.u32 %r0, %tid.x;\n  mov.u64 %d0, 48;\n  {\n  .param .b64 n;\n  .param .b64 r;\n  st.param.b64 [n], %d0;\n"
    "  call.uni (r), malloc, (n);\n  ld.param.b64 %d1, [r];\n  }\n  st.u32 [%d1+44], %r0;\n  bar.sync 0;\n  ld.u32 "
    "%r1, [%d1+44];\n"
    "  ld.param.u64 %d2, [p];\n  mul.wide.u32 %d3, %r0, 4;\n  add.u64 %d2, %d2, %d3;\n  st.global.u32 [%d2], %r1;\n"
    "  {\n  .param .b64 q;\n  st.param.b64 [q], %d1;\n  call.uni free, (q);\n  }\n  ret;\n}\n"
    ".visible .entry twice()\n{\n  .reg .u64 %d<2>;\n  mov.u64 %d0, 4660;\n  {\n  .param .b64 q;\n  st.param.b64 [q], "
    "%d0;\n"
    "  call.uni free, (q);\n  }\n  ret;\n}\n";

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

static mx_kernel *kernel(const char *name) {
  mx_kernel *k;
  assert_int_equal(mx_module_kernel(m, name, &k), MX_OK);
  return k;
}

static mx_launch_config config(uint32_t grid, uint32_t block, uint32_t threads) {
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = grid;
  c.block[0] = block;
  c.threads = threads;
  c.jit = MX_JIT_OFF;
  return c;
}

static void refused(const char *name, mx_launch_config c, size_t bytes, mx_status status, const char *text) {
  assert_int_equal(mx_launch_check(kernel(name), &c, bytes), status);
  expect_error_text(d, text);
  assert_int_equal(mx_launch(kernel(name), &c, "12345678", bytes), status);
}

static void impossible_launches_are_refused_with_the_reason(void **state) {
  (void)state;
  mx_launch_config c = config(1, 1, 1);
  refused("number", c, 4, MX_INVALID_LAUNCH, "4 bytes of parameters, expected 8");
  c.grid[1] = 0;
  refused("bounded", c, 0, MX_INVALID_LAUNCH, "the grid is 1 x 0 x 1, expected 1 to 65535 in y");
  c.grid[1] = 65536;
  refused("bounded", c, 0, MX_INVALID_LAUNCH, "in y");
  c = config(0x80000000u, 1, 1);
  refused("bounded", c, 0, MX_INVALID_LAUNCH, "in x");
  c = config(1, 1, 1);
  c.block[2] = 65;
  refused("bounded", c, 0, MX_INVALID_LAUNCH, "the block is 1 x 1 x 65, expected 1 to 64 in z");
  refused("bounded", config(1, 1025, 1), 0, MX_INVALID_LAUNCH, "expected 1 to 1024 in x");
  c = config(1, 64, 1);
  c.block[1] = 32;
  refused("forever", c, 0, MX_INVALID_LAUNCH, "2048 threads, the most are 1024");
  refused("bounded", config(1, 65, 1), 0, MX_INVALID_LAUNCH, "launch bound (.maxntid) is 64");
  refused("exact", config(1, 32, 1), 0, MX_INVALID_LAUNCH, "requires blocks of 8 x 4 x 1");
  c = config(1, 1, 1);
  c.shared_bytes = 232448 - 1023;
  refused("shared", c, 0, MX_INVALID_LAUNCH, "232449, the most are 232448");
  c.shared_bytes--;
  assert_int_equal(mx_launch(kernel("shared"), &c, NULL, 0), MX_OK);
  c = config(1025, 1, 1);
  c.cooperative = true;
  refused("bounded", c, 0, MX_TOO_LARGE, "1025 blocks, at most 1024");
  c = config(1, 1, 1);
  c.timeout = -1;
  refused("bounded", c, 0, MX_INVALID_VALUE, "timeout");
  c = config(1, 1, 1);
  c.struct_size = 3;
  refused("bounded", c, 0, MX_INVALID_VALUE, "struct_size");
  c = config(1, 8, 1);
  c.block[1] = 4;
  assert_int_equal(mx_launch(kernel("exact"), &c, NULL, 0), MX_OK);
}

static void every_thread_of_every_block_runs(void **state) {
  (void)state;
  for (uint32_t threads = 1; threads <= 4; threads++) {
    enum { BLOCKS = 999, SIZE = 70 };
    mx_addr p;
    static uint32_t v[BLOCKS * SIZE];
    assert_int_equal(mx_alloc(d, sizeof v, &p), MX_OK);
    mx_launch_config c = config(BLOCKS, SIZE, threads);
    const void *args[] = {&p};
    assert_int_equal(mx_launch_args(kernel("number"), &c, args, 1), MX_OK);
    assert_int_equal(mx_copy_from_device(d, v, p, sizeof v), MX_OK);
    for (uint32_t i = 0; i < BLOCKS * SIZE; i++) assert_int_equal(v[i], i);
    mx_launch_stats s = {.struct_size = sizeof s};
    assert_int_equal(mx_device_stats(d, &s), MX_OK);
    assert_int_equal(s.blocks, BLOCKS);
    assert_int_equal(s.warps, BLOCKS * 3);
    uint64_t begun, blocks;
    mx_device_progress(d, &begun, &blocks);
    assert_true(begun == BLOCKS && blocks == BLOCKS);
    assert_int_equal(s.threads, threads);
    assert_true(s.steps >= BLOCKS * 3 * 9);
    assert_true(s.peak_resident_blocks <= threads * 4);
  }
  mx_launch_config c = config(1, 1, 1);
  assert_int_equal(mx_launch_args(kernel("number"), &c, NULL, 0), MX_INVALID_LAUNCH);
  expect_error_text(d, "0 arguments, expected 1");
}

static void blocks_may_wait_for_later_ones(void **state) {
  (void)state;
  for (uint32_t threads = 1; threads <= 2; threads++) {
    mx_addr p;
    assert_int_equal(mx_alloc(d, 4 * 1024, &p), MX_OK);
    mx_launch_config c = config(100, 1, threads);
    assert_int_equal(mx_launch(kernel("backwards"), &c, &p, 8), MX_OK);
    uint32_t v[100];
    assert_int_equal(mx_copy_from_device(d, v, p, sizeof v), MX_OK);
    for (int i = 0; i < 100; i++) assert_int_equal(v[i], 1);
  }
  /* with too few resident ones nobody can come: only a limit ends it */
  mx_addr p;
  assert_int_equal(mx_alloc(d, 4 * 1024, &p), MX_OK);
  mx_launch_config c = config(100, 1, 2);
  c.resident_blocks = 8;
  c.steps = 100000;
  assert_int_equal(mx_launch(kernel("backwards"), &c, &p, 8), MX_STEP_LIMIT);
  expect_error_text(d, "0 of 100 blocks had ended\n  block (0,0,0), warp 0: ");
}

static void *interrupt_soon(void *unused) {
  (void)unused;
  nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
  mx_device_interrupt(d);
  return NULL;
}

/* Asks every 50 ms, for half a minute at most, and then ends the launch. */
static void *ask_who_is_stuck(void *text) {
  char **found = text;
  for (unsigned k = 0; k < 600 && !*found; k++) {
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    *found = mx_device_stuck(d);
  }
  mx_device_interrupt(d);
  return NULL;
}
/* Another thread learns who waits where, and for which word. */
static void who_is_stuck_is_told(void **state) {
  (void)state;
  mx_addr p;
  char *text = NULL;
  pthread_t t;
  assert_null(mx_device_stuck(d));
  assert_int_equal(mx_alloc(d, 4 * 4, &p), MX_OK);
  assert_int_equal(mx_memset8(d, p, 0, 16), MX_OK);
  mx_launch_config c = config(3, 40, 1);
  c.resident_blocks = 2; /* the third block, for which the second one waits, never begins */
  pthread_create(&t, NULL, ask_who_is_stuck, &text);
  assert_int_equal(mx_launch(kernel("backwards"), &c, &p, 8), MX_INTERRUPTED);
  pthread_join(t, NULL);
  assert_non_null(text);
  assert_string_equal(text,
                      "\n  block (0,0,0) warp 0 lanes 0-31 spin at <text>:37 in 'backwards', and so do lanes of 1 "
                      "more warp\n    the word at 0x100000204 is 0\n  block (1,0,0) warp 0 lanes 0-31 spin at "
                      "<text>:37 in 'backwards', and so do lanes of 1 more warp\n    the word at 0x100000208 is 0");
  mx_text_free(text);
}

static void endless_kernels_end(void **state) {
  (void)state;
  for (uint32_t threads = 1; threads <= 2; threads++) {
    mx_launch_config c = config(3, 40, threads);
    c.steps = 100000;
    assert_int_equal(mx_launch(kernel("forever"), &c, NULL, 0), MX_STEP_LIMIT);
    expect_error_text(d, "limit of 100000 steps");
    c.steps = 0;
    c.timeout = 0.02;
    assert_int_equal(mx_launch(kernel("forever"), &c, NULL, 0), MX_TIME_LIMIT);
    expect_error_text(d, "after 0.02 seconds; 0 of 3 blocks had ended");
    c.timeout = 0;
    pthread_t t;
    pthread_create(&t, NULL, interrupt_soon, NULL);
    assert_int_equal(mx_launch(kernel("forever"), &c, NULL, 0), MX_INTERRUPTED);
    pthread_join(t, NULL);
  }
  mx_launch_config c = config(1, 1, 1); /* and the device goes on */
  assert_int_equal(mx_launch(kernel("bounded"), &c, NULL, 0), MX_OK);
}

static void a_trap_stays_until_reset(void **state) {
  (void)state;
  mx_addr p;
  assert_int_equal(mx_alloc(d, 4 * 64, &p), MX_OK);
  assert_int_equal(mx_allocation_set_name(d, p, "out"), MX_OK);
  mx_launch_config c = config(3, 32, 1);
  assert_int_equal(mx_launch(kernel("number"), &c, &p, 8), MX_TRAPPED);
  expect_error_text(d, "right past the end of buffer #1 'out' (256 bytes at 0x100000200), argument 1 'p'");
  mx_trap_info t = {.struct_size = sizeof t};
  assert_int_equal(mx_device_trap(d, &t), MX_OK);
  assert_int_equal(t.kind, MX_TRAP_OUT_OF_BOUNDS);
  assert_string_equal(t.kernel, "number");
  assert_int_equal(t.block[0], 2);
  assert_int_equal(t.lanes, UINT32_MAX);
  assert_int_equal(t.address, p + 256);
  assert_true(t.has_address && t.is_write);
  assert_int_equal(t.access_bytes, 4);
  char byte;
  assert_int_equal(mx_launch(kernel("bounded"), &c, NULL, 0), MX_TRAPPED);
  assert_int_equal(mx_copy_from_device(d, &byte, p, 1), MX_TRAPPED);
  assert_int_equal(mx_device_synchronize(d), MX_TRAPPED);
  assert_int_equal(mx_device_reset(d), MX_OK);
  assert_int_equal(mx_device_trap(d, &t), MX_OK);
  assert_int_equal(t.kind, MX_TRAP_NONE);
  assert_int_equal(mx_alloc(d, 64, &p), MX_OK);
}

static size_t resident_bytes(void) {
  FILE *f = fopen("/proc/self/statm", "r");
  unsigned long all = 0, resident = 0;
  if (f && fscanf(f, "%lu %lu", &all, &resident) != 2) resident = 0;
  if (f) fclose(f);
  return resident * 4096;
}

static double seconds_of(uint32_t blocks) {
  mx_launch_config c = config(blocks, 32, 2);
  mx_launch_stats s = {.struct_size = sizeof s};
  assert_int_equal(mx_launch(kernel("bounded"), &c, NULL, 0), MX_OK);
  assert_int_equal(mx_device_stats(d, &s), MX_OK);
  assert_int_equal(s.blocks, blocks);
  return s.seconds;
}

static void many_blocks_take_no_more_memory(void **state) {
  (void)state;
  seconds_of(1 << 10);
  size_t before = resident_bytes();
  double many = seconds_of(1 << 20);
  size_t after = resident_bytes();
  assert_true(after < before + (1 << 20));
  double few = seconds_of(1 << 16);
  /* generous: other programs run here, too */
  assert_true(many < few * 16 * 8 + 1);
}

/* ---- printing and the heap -------------------------------------------------------------------------------*/

struct text {
  char s[4096];
  size_t n;
};
static void collect(void *user, const char *s, size_t n) {
  struct text *t = user;
  if (t->n + n >= sizeof t->s) n = sizeof t->s - 1 - t->n;
  memcpy(t->s + t->n, s, n);
  t->n += n;
}

static void what_kernels_print_arrives(void **state) {
  (void)state;
  struct text t = {0};
  assert_int_equal(mx_device_set_output(d, collect, &t), MX_OK);
  mx_launch_config c = config(3, 2, 1);
  assert_int_equal(mx_launch(kernel("print"), &c, NULL, 0), MX_OK);
  assert_string_equal(t.s, "block 0%\nblock 0%\nblock 1%\nblock 1%\nblock 2%\nblock 2%\n");
  assert_int_equal(mx_limit_set(d, MX_LIMIT_PRINTF_FIFO, 1024), MX_OK);
  memset(&t, 0, sizeof t);
  c.grid[0] = 1000;
  c.block[0] = 1;
  assert_int_equal(mx_launch(kernel("print"), &c, NULL, 0), MX_OK);
  mx_launch_stats s = {.struct_size = sizeof s};
  assert_int_equal(mx_device_stats(d, &s), MX_OK);
  assert_non_null(strstr(t.s, "block 999%\n"));
  assert_null(strstr(t.s, "block 10%\n"));
  assert_int_equal(s.printf_lost + t.n, 10 * 9 + 90 * 10 + 900 * 11);
}

static void kernels_have_a_heap(void **state) {
  (void)state;
  mx_addr p;
  uint32_t v[256];
  assert_int_equal(mx_alloc(d, sizeof v, &p), MX_OK);
  mx_launch_config c = config(1, 256, 1);
  for (int turn = 0; turn < 3; turn++) assert_int_equal(mx_launch(kernel("pieces"), &c, &p, 8), MX_OK);
  assert_int_equal(mx_copy_from_device(d, v, p, sizeof v), MX_OK);
  for (uint32_t i = 0; i < 256; i++) assert_int_equal(v[i], i);
  assert_int_equal(mx_limit_set(d, MX_LIMIT_HEAP, 64), MX_OK);
  assert_int_equal(mx_launch(kernel("pieces"), &c, &p, 8), MX_TRAPPED); /* malloc gives 0 */
  expect_error_text(d, "null pointer plus 44");
  assert_int_equal(mx_device_reset(d), MX_OK);
}

static void freeing_what_is_not_there_is_a_trap(void **state) {
  (void)state;
  mx_launch_config c = config(1, 1, 1);
  assert_int_equal(mx_launch(kernel("twice"), &c, NULL, 0), MX_TRAPPED);
  expect_error_text(d, "free of something that malloc did not return: 0x");
}

/* ---- streams and events ------------------------------------------------------------------------------------*/

static void note(void *user) { ++*(int *)user; }

static void streams_run_in_order(void **state) {
  (void)state;
  enum { N = 64 * 70 };
  mx_stream *s;
  mx_addr p, q;
  static uint32_t v[N];
  int calls = 0;
  assert_int_equal(mx_stream_create(d, 0, &s), MX_OK);
  assert_int_equal(mx_alloc(d, sizeof v, &p), MX_OK);
  assert_int_equal(mx_alloc(d, sizeof v, &q), MX_OK);
  mx_launch_config c = config(64, 70, 2);
  for (int turn = 0; turn < 20; turn++) {
    assert_int_equal(mx_memset8_async(d, p, 0xFF, sizeof v, s), MX_OK);
    assert_int_equal(mx_launch_async(kernel("number"), &c, &p, 8, s), MX_OK);
    assert_int_equal(mx_copy_on_device_async(d, q, p, sizeof v, s), MX_OK);
    assert_int_equal(mx_copy_from_device_async(d, v, q, sizeof v, s), MX_OK);
    assert_int_equal(mx_stream_call(s, note, &calls), MX_OK);
  }
  assert_int_equal(mx_stream_synchronize(s), MX_OK);
  assert_int_equal(mx_stream_query(s), MX_OK);
  assert_int_equal(calls, 20);
  uint32_t word = 0;
  assert_int_equal(mx_memset32_async(d, p, 0x01020304, N, s), MX_OK);
  assert_int_equal(mx_memset16_async(d, p + 4, 0xABCD, 1, s), MX_OK);
  assert_int_equal(mx_copy_from_device_async(d, &word, p + 4, 4, s), MX_OK);
  assert_int_equal(mx_stream_synchronize(s), MX_OK);
  assert_int_equal(word, 0x0102ABCD);
  assert_int_equal(mx_memset32_async(d, p, 0, UINT64_MAX / 2, s),
                   MX_OK); /* its failure comes with the next synchronisation */
  assert_int_equal(mx_stream_synchronize(s), MX_INVALID_VALUE);
  assert_int_equal(mx_launch_args_async(kernel("number"), &c, (const void *[]){&p}, 1, s), MX_OK);
  assert_int_equal(mx_copy_from_device_async(d, v, p, sizeof v, s), MX_OK);
  assert_int_equal(mx_stream_synchronize(s), MX_OK);
  for (uint32_t i = 0; i < N; i++) assert_int_equal(v[i], i);
  assert_int_equal(mx_launch_args_async(kernel("number"), &c, (const void *[]){NULL}, 1, s), MX_INVALID_VALUE);
  assert_int_equal(mx_launch_args_async(kernel("number"), &c, NULL, 0, s), MX_INVALID_LAUNCH);
  for (uint32_t i = 0; i < N; i++) assert_int_equal(v[i], i);
  assert_int_equal(mx_memset8_async(d, p, 7, sizeof v, s), MX_OK);
  assert_int_equal(mx_copy_from_device(d, v, p, sizeof v), MX_OK); /* waits for the stream */
  assert_int_equal(v[N - 1], 0x07070707);
  assert_int_equal(mx_stream_destroy(s), MX_OK);
}

static void streams_wait_for_events(void **state) {
  (void)state;
  mx_stream *a, *b;
  mx_event *begin, *end;
  mx_addr p;
  uint32_t v[70];
  assert_int_equal(mx_stream_create(d, 0, &a), MX_OK);
  assert_int_equal(mx_stream_create(d, MX_STREAM_NON_BLOCKING, &b), MX_OK);
  assert_int_equal(mx_event_create(d, &begin), MX_OK);
  assert_int_equal(mx_event_create(d, &end), MX_OK);
  assert_int_equal(mx_alloc(d, 1000 * sizeof v, &p), MX_OK);
  double ms;
  assert_int_equal(mx_event_elapsed_ms(begin, end, &ms), MX_INVALID_VALUE);
  mx_launch_config c = config(1000, 70, 2);
  assert_int_equal(mx_event_record(begin, a), MX_OK);
  assert_int_equal(mx_launch_async(kernel("number"), &c, &p, 8, a), MX_OK);
  assert_int_equal(mx_event_record(end, a), MX_OK);
  assert_int_equal(mx_stream_wait_event(b, end), MX_OK);
  assert_int_equal(mx_copy_from_device_async(d, v, p, sizeof v, b), MX_OK);
  assert_int_equal(mx_stream_synchronize(b), MX_OK);
  assert_int_equal(v[69], 69);
  assert_int_equal(mx_event_query(end), MX_OK);
  assert_int_equal(mx_event_synchronize(end), MX_OK);
  assert_int_equal(mx_event_elapsed_ms(begin, end, &ms), MX_OK);
  assert_true(ms > 0);
  assert_int_equal(mx_event_destroy(begin), MX_OK);
}

static void ends_late(void *user) {
  nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  atomic_store((atomic_bool *)user, true);
}
static void a_device_waits_for_all_streams(void **state) {
  (void)state;
  atomic_bool over = false;
  mx_stream *s;
  assert_int_equal(mx_stream_create(d, MX_STREAM_NON_BLOCKING, &s), MX_OK);
  assert_int_equal(mx_stream_call(s, ends_late, &over), MX_OK);
  assert_int_equal(mx_device_synchronize(d), MX_OK);
  assert_true(over);
  assert_int_equal(mx_stream_destroy(s), MX_OK);
}

static void failures_of_a_stream_are_reported_once(void **state) {
  (void)state;
  mx_stream *s;
  mx_addr p;
  char byte;
  assert_int_equal(mx_stream_create(d, 0, &s), MX_OK);
  assert_int_equal(mx_alloc(d, 64, &p), MX_OK);
  assert_int_equal(mx_memset8_async(d, p, 1, 65, s), MX_OK);
  assert_int_equal(mx_stream_synchronize(s), MX_INVALID_ADDRESS);
  expect_error_text(d, "past the end of buffer #1");
  assert_int_equal(mx_device_synchronize(d), MX_OK);
  assert_int_equal(mx_memset8_async(d, p, 1, 65, s), MX_OK);
  assert_int_equal(mx_copy_from_device(d, &byte, p, 1), MX_INVALID_ADDRESS);
  assert_int_equal(mx_copy_from_device(d, &byte, p, 1), MX_OK);
  assert_int_equal(mx_stream_synchronize(s), MX_OK);
  mx_launch_config c = config(1, 1, 1);
  assert_int_equal(mx_launch_async(kernel("twice"), &c, NULL, 0, s), MX_OK);
  assert_int_equal(mx_stream_synchronize(s), MX_TRAPPED);
  assert_int_equal(mx_stream_synchronize(s), MX_TRAPPED);
  assert_int_equal(mx_device_reset(d), MX_OK);
  assert_int_equal(mx_stream_synchronize(s), MX_OK);
}

static void a_reset_ends_what_runs(void **state) {
  (void)state;
  mx_stream *s;
  assert_int_equal(mx_stream_create(d, 0, &s), MX_OK);
  mx_launch_config c = config(1, 1, 1);
  assert_int_equal(mx_launch_async(kernel("forever"), &c, NULL, 0, s), MX_OK);
  assert_int_equal(mx_launch_async(kernel("forever"), &c, NULL, 0, s), MX_OK);
  assert_int_equal(mx_stream_query(s), MX_NOT_READY);
  assert_int_equal(mx_module_unload(m), MX_BUSY);
  assert_int_equal(mx_device_reset(d), MX_OK);
  assert_int_equal(mx_stream_query(s), MX_OK);
}

static void *launch_forever(void *status) {
  const mx_launch_config c = config(1, 1, 1);
  *(mx_status *)status = mx_launch(kernel("forever"), &c, NULL, 0);
  return NULL;
}

static void a_reset_ends_what_waits(void **state) {
  (void)state;
  pthread_t t[3];
  mx_status s[3];
  for (int k = 0; k < 3; k++) pthread_create(&t[k], NULL, launch_forever, &s[k]);
  for (uint32_t users = 0; users < 3;) { /* one runs, the others are about to ask or wait for it */
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    mx__lock(&d->lock);
    users = m->users;
    mx__unlock(&d->lock);
  }
  assert_int_equal(mx_device_reset(d), MX_OK);
  for (int k = 0; k < 3; k++) pthread_join(t[k], NULL), assert_int_equal(s[k], MX_INTERRUPTED);
  assert_int_equal(load_text(d, program, NULL, &m), MX_OK);
  const mx_launch_config c = config(1, 1, 1);
  assert_int_equal(mx_launch(kernel("bounded"), &c, NULL, 0), MX_OK);
}

static void limits_end_blocks_that_rest(void **state) {
  (void)state;
  mx_launch_config c = config(6, 1, 3);
  for (int k = 0; k < 40; k++) {
    c.timeout = 0.0005 + k * 0.0001;
    assert_int_equal(mx_launch(kernel("forever"), &c, NULL, 0), MX_TIME_LIMIT);
  }
}

/* Whoever watches limits may sleep until a later one, until one that has passed, or until there is one. */
static void limits_follow_one_another(void **state) {
  (void)state;
  const mx_launch_config plain = config(4, 2, 2);
  for (int k = 0; k < 60; k++) {
    mx_launch_config c = plain;
    c.timeout = 100;
    assert_int_equal(mx_launch(kernel("bounded"), &c, NULL, 0), MX_OK);
    c.timeout = 0.00002 * (1 + k); /* about the time that it takes */
    const mx_status s = mx_launch(kernel("bounded"), &c, NULL, 0);
    if (s != MX_OK) assert_int_equal(s, MX_TIME_LIMIT);
    if (k % 3) assert_int_equal(mx_launch(kernel("bounded"), &plain, NULL, 0), MX_OK);
    if (k % 4 == 3) nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* the short limit passes meanwhile */
    c.timeout = k % 2 ? 0.001 : 0.003;
    assert_int_equal(mx_launch(kernel("forever"), &c, NULL, 0), MX_TIME_LIMIT);
  }
}

/* Threads of the last launch may still be awake, or asleep, when the next one comes. */
static void launches_follow_one_another(void **state) {
  (void)state;
  enum { BLOCKS = 40, SIZE = 64 };
  mx_addr p;
  static uint32_t v[BLOCKS * SIZE];
  const uint32_t none = 0;
  assert_int_equal(mx_alloc(d, sizeof v, &p), MX_OK);
  for (uint32_t k = 0; k < 400; k++) {
    const uint32_t blocks = 1 + k * 7 % BLOCKS;
    mx_launch_config c = config(blocks, SIZE, 1 + k / 3 % 4);
    if (k % 5 == 0) c.timeout = 100;
    const void *args[] = {&p};
    assert_int_equal(mx_copy_to_device(d, p + 4 * (blocks * SIZE - 1), &none, sizeof none), MX_OK);
    assert_int_equal(mx_launch_args(kernel("number"), &c, args, 1), MX_OK);
    assert_int_equal(mx_copy_from_device(d, v, p, blocks * SIZE * sizeof *v), MX_OK);
    for (uint32_t i = 0; i < blocks * SIZE; i++) assert_int_equal(v[i], i);
    if (k % 4) nanosleep(&(struct timespec){.tv_nsec = 20000 * (long)(k % 4)}, NULL);
    if (k % 100 == 99) { /* threads that are awake end, too */
      tear_down(state);
      set_up(state);
      assert_int_equal(mx_alloc(d, sizeof v, &p), MX_OK);
    }
  }
}

static void occupancy(void **state) {
  (void)state;
  uint32_t n, grid, block;
  assert_int_equal(mx_occupancy(kernel("bounded"), 64, 0, &n), MX_OK);
  assert_int_equal(n, 1024);
  assert_int_equal(mx_occupancy(kernel("bounded"), 65, 0, &n), MX_OK);
  assert_int_equal(n, 0);
  assert_int_equal(mx_occupancy_block_size(kernel("bounded"), 0, &grid, &block), MX_OK);
  assert_int_equal(block, 64);
  assert_int_equal(mx_occupancy_block_size(kernel("exact"), 0, &grid, &block), MX_OK);
  assert_int_equal(block, 32);
}

#define TEST(name_) cmocka_unit_test_setup_teardown(name_, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(impossible_launches_are_refused_with_the_reason),
      TEST(every_thread_of_every_block_runs),
      TEST(blocks_may_wait_for_later_ones),
      TEST(who_is_stuck_is_told),
      TEST(endless_kernels_end),
      TEST(a_trap_stays_until_reset),
      TEST(many_blocks_take_no_more_memory),
      TEST(what_kernels_print_arrives),
      TEST(kernels_have_a_heap),
      TEST(freeing_what_is_not_there_is_a_trap),
      TEST(streams_run_in_order),
      TEST(streams_wait_for_events),
      TEST(a_device_waits_for_all_streams),
      TEST(failures_of_a_stream_are_reported_once),
      TEST(a_reset_ends_what_runs),
      TEST(a_reset_ends_what_waits),
      TEST(limits_end_blocks_that_rest),
      TEST(limits_follow_one_another),
      TEST(launches_follow_one_another),
      TEST(occupancy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
