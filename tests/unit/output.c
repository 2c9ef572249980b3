/* vm/output.c: when printed text arrives, and which failed assertions are told. And brkpt, which stops sessions. */
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

#define LONG100 \
  "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmnopqrstuvwxyzABCDEF"
#define LONG LONG100 LONG100
static const char program[] =
    ".entry say(.param .u32 n)\n{\n  setp.eq.u32 %first, %tid.x, 0;\n  @%first printf _, \"%d\\n\", %n;\n  exit;\n}\n"
    /* prints, and waits for who reads it */
    ".entry ask(.param .u64 answer)\n{\n  setp.eq.u32 %first, %tid.x, 0;\n  @%first printf _, \"now\\n\";\nwait:\n"
    "  ld.volatile.u32 %v, [%answer];\n  setp.eq.u32 %none, %v, 0;\n  @%none bra wait;\n  exit;\n}\n"
    /* thread 1 of odd blocks, and the last thread of each */
    ".entry fail(.param .u64 out)\n{\n  mov.u32 %i, %tid.x;\n  and.b32 %odd, %ctaid.x, 1;\n  setp.ne.u32 %p, %i, "
    "%odd;\n  setp.eq.or.u32 %p, %odd, 0, %p;\n"
    "  assert %p, \"i != odd\";\n  sub.u32 %last, %ntid.x, 1;\n  setp.ne.u32 %q, %i, %last;\n  bar.sync 0;\n  assert "
    "%q, \"i != last\";\n"
    "  mad.lo.u32 %k, %ctaid.x, %ntid.x, %i;\n  st.global.u32 [%out + %k*4], 1;\n  exit;\n}\n"
    /* all wait for thread 0, which fails */
    ".entry alone(.param .u64 flag)\n{\n  setp.ne.u32 %p, %tid.x, 0;\n  assert %p, \"not first\";\nwait:\n"
    "  ld.volatile.u32 %v, [%flag];\n  setp.eq.u32 %none, %v, 0;\n  @%none bra wait;\n  exit;\n}\n"
    ".entry often()\n{\n  assert.s32 0, \"never\";\n  exit;\n}\n"
    ".entry long()\n{\n  assert.s32 0, \"" LONG LONG LONG LONG "\";\n  exit;\n}\n"
    ".entry stops(.param .u64 out)\n{\n  mov.u32 %i, %tid.x;\n  setp.eq.u32 %p, %i, 3;\n  @%p brkpt;\n  setp.gt.u32 "
    "%q, %i, 900;\n  @%q brkpt;\n"
    "  st.global.u32 [%out + %i*4], %i;\n  exit;\n}\n";

struct heard {
  char *s;
  size_t n;
  uint32_t *answer;
};
static mx_device *d;
static mx_module *m;
static mx_stream *stream;
static struct heard said, told;

static void hear(void *user, const char *text, size_t size) {
  struct heard *h = user;
  h->s = realloc(h->s, h->n + size + 1);
  memcpy(h->s + h->n, text, size);
  h->s[h->n += size] = 0;
  if (h->answer) __atomic_store_n(h->answer, 1, __ATOMIC_SEQ_CST);
}
static void forget(struct heard *h) {
  free(h->s);
  *h = (struct heard){0};
}
static void expect(struct heard *h, const char *text) {
  assert_string_equal(h->s ? h->s : "", text);
  forget(h);
}

static void load(void) { assert_int_equal(load_text(d, program, NULL, &m), MX_OK); }
static int set_up(void **state) {
  (void)state;
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  o.threads = 2;
  if (mx_device_create(&o, &d) != MX_OK) return -1;
  load();
  mx_device_set_output(d, hear, &said);
  mx_device_set_messages(d, hear, &told);
  return mx_stream_create(d, 0, &stream) == MX_OK ? 0 : -1;
}
static int tear_down(void **state) {
  (void)state;
  mx_device_destroy(d);
  forget(&said);
  forget(&told);
  return 0;
}

static mx_kernel *kernel(const char *name) {
  mx_kernel *k;
  assert_int_equal(mx_module_kernel(m, name, &k), MX_OK);
  return k;
}
static mx_launch_config config(uint32_t grid, uint32_t block) {
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = grid;
  c.block[0] = block;
  c.timeout = 20;
  return c;
}

/* A launch that has printed a number and ended, and nobody has waited for it: nothing has arrived. */
static void say(uint32_t number) {
  mx_launch_config c = config(1, 64);
  assert_int_equal(mx_launch_async(kernel("say"), &c, &number, 4, stream), MX_OK);
  while (mx_stream_query(stream) == MX_NOT_READY) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
  expect(&said, "");
}

static void expect_heard_before(void *user) { strcpy(user, said.s ? said.s : ""); }

static void printed_text_waits_for_the_guides_points(void **state) {
  (void)state;
  mx_event *event;
  mx_addr p;
  uint32_t n = 2, v;
  mx_launch_config c = config(1, 1);
  assert_int_equal(mx_event_create(d, &event), MX_OK);
  assert_int_equal(mx_alloc(d, 4, &p), MX_OK);
  say(1);
  assert_int_equal(mx_stream_synchronize(stream), MX_OK);
  expect(&said, "1\n");
  say(1);
  assert_int_equal(mx_device_synchronize(d), MX_OK);
  expect(&said, "1\n");
  say(1);
  assert_int_equal(mx_event_record(event, stream), MX_OK);
  assert_int_equal(mx_event_synchronize(event), MX_OK);
  expect(&said, "1\n");
  say(1);
  assert_int_equal(mx_launch(kernel("say"), &c, &n, 4), MX_OK);
  expect(&said, "1\n2\n");
  say(1);
  assert_int_equal(mx_launch_async(kernel("often"), NULL, NULL, 0, stream), MX_INVALID_VALUE);
  expect(&said, "1\n");
  say(1);
  assert_int_equal(mx_copy_from_device(d, &v, p, 4), MX_OK);
  expect(&said, "1\n");
  say(1);
  assert_int_equal(mx_memset8(d, p, 0, 4), MX_OK);
  expect(&said, "1\n");
  say(1);
  load();
  expect(&said, "1\n");
  say(3);
  assert_int_equal(mx_module_unload(m), MX_OK);
  expect(&said, "3\n");
  load();
  say(4);
  char before[16] = "";
  assert_int_equal(mx_stream_call(stream, expect_heard_before, before), MX_OK);
  assert_int_equal(mx_stream_synchronize(stream), MX_OK);
  assert_string_equal(before, "4\n");
  forget(&said);
  say(5);
  assert_int_equal(mx_device_set_output(d, NULL, NULL), MX_OK);
  expect(&said, "5\n");
  assert_int_equal(mx_device_set_output(d, hear, &said), MX_OK);
  say(6);
  assert_int_equal(mx_device_reset(d), MX_OK);
  expect(&said, "6\n");
  load();
  say(7);
  mx_device_destroy(d);
  expect(&said, "7\n");
  assert_int_equal(set_up(NULL), 0);
}

static void live_text_arrives_while_the_kernel_runs(void **state) {
  (void)state;
  mx_addr p;
  void *host;
  assert_int_equal(mx_alloc_managed(d, 4, &p, &host), MX_OK);
  said.answer = host;
  mx_launch_config c = config(1, 64);
  c.live = true;
  assert_int_equal(mx_launch(kernel("ask"), &c, &p, 8), MX_OK); /* and not its time limit */
  expect(&said, "now\n");
}

static void every_failing_lane_is_told(void **state) {
  (void)state;
  enum { BLOCKS = 9, THREADS = 100 };
  mx_addr p;
  for (unsigned turn = 0; turn < 4; turn++) {
    assert_int_equal(mx_alloc_managed(d, 4 * BLOCKS * THREADS, &p, &(void *){NULL}), MX_OK);
    mx_launch_config c = config(BLOCKS, THREADS);
    c.threads = turn & 1 ? 4 : 1;
    c.live = turn == 2;
    assert_int_equal(mx_launch(kernel("fail"), &c, &p, 8), MX_TRAPPED);
    char all[2 * BLOCKS * 100], *to = all;
    for (unsigned b = 0; b < BLOCKS; b++) {
      if (b & 1)
        to += sprintf(to, "<text>:23: fail: block: [%u,0,0], thread: [1,0,0] Assertion `i != odd` failed.\n", b);
      to += sprintf(to, "<text>:27: fail: block: [%u,0,0], thread: [%u,0,0] Assertion `i != last` failed.\n", b,
                    THREADS - 1);
    }
    expect(&said, "");
    expect(&told, all);
    mx_trap_info t = {.struct_size = sizeof t};
    assert_int_equal(mx_device_trap(d, &t), MX_OK);
    assert_int_equal(t.kind, MX_TRAP_ASSERT);
    assert_int_equal(t.block[0], 0);
    assert_int_equal(t.lanes, 1ull << (THREADS - 1 - 64));
    assert_string_equal(t.detail, "<text>:27: fail: block: [0,0,0], thread: [99,0,0] Assertion `i != last` failed.");
    void *host;
    assert_int_equal(mx_managed_pointer(d, p, &host), MX_OK); /* all others came to their end */
    for (unsigned k = 0; k < BLOCKS * THREADS; k++)
      assert_int_equal(((uint32_t *)host)[k], k % THREADS != THREADS - 1 && (k % THREADS != 1 || k / THREADS % 2 == 0));
    assert_int_equal(mx_launch(kernel("say"), &c, &turn, 4), MX_TRAPPED); /* until the device is reset */
    assert_int_equal(mx_device_reset(d), MX_OK);
    load();
  }
}

static void who_waits_for_a_failed_lane_ends_too(void **state) {
  (void)state;
  mx_addr p;
  assert_int_equal(mx_alloc(d, 4, &p), MX_OK);
  mx_launch_config c = config(3, 128);
  assert_int_equal(mx_launch(kernel("alone"), &c, &p, 8), MX_TRAPPED);
  unsigned lines = 0;
  for (const char *s = told.s; s && (s = strchr(s, '\n')); s++) lines++;
  assert_int_equal(lines, 3);
}

static void asynchronous_failures_are_told_when_asked(void **state) {
  (void)state;
  mx_launch_config c = config(1, 2);
  assert_int_equal(mx_launch_async(kernel("often"), &c, NULL, 0, stream), MX_OK);
  while (mx_stream_query(stream) == MX_NOT_READY) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
  expect(&told, "");
  assert_int_equal(mx_stream_synchronize(stream), MX_TRAPPED);
  expect(&told, "<text>:44: often: block: [0,0,0], thread: [0,0,0] Assertion `never` failed.\n"
                "<text>:44: often: block: [0,0,0], thread: [1,0,0] Assertion `never` failed.\n");
  assert_int_equal(mx_device_reset(d), MX_OK);
  load();
  assert_int_equal(mx_device_set_messages(d, NULL, NULL), MX_OK); /* then they go where text goes */
  c.grid[0] = 1300;
  c.block[0] = 64;
  assert_int_equal(mx_launch(kernel("long"), &c, NULL, 0), MX_TRAPPED);
  const char *end = strstr(said.s, " more assertions failed\n");
  assert_non_null(end);
  unsigned long lines = 0;
  for (const char *s = said.s; (s = strchr(s, '\n')) && s < end; s++) lines++;
  while (end[-1] != '\n') end--;
  assert_int_equal(lines + strtoul(end, NULL, 10), 1300 * 64);
}

static void brkpt_stops_a_session(void **state) {
  (void)state;
  mx_addr p;
  assert_int_equal(mx_alloc(d, 4 * 128, &p), MX_OK);
  mx_launch_config c = config(2, 128);
  assert_int_equal(mx_launch(kernel("stops"), &c, &p, 8), MX_OK); /* nothing without one */
  mx_debug *g;
  mx_debug_stop stop = {.struct_size = sizeof stop};
  assert_int_equal(mx_debug_begin(kernel("stops"), &c, &p, 8, &g), MX_OK);
  int number;
  for (unsigned block = 0; block < 2; block++) {
    assert_int_equal(mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 1, &stop), MX_OK);
    assert_int_equal(stop.reason, MX_DEBUG_AT_BRKPT);
    assert_int_equal(stop.block, block);
    assert_int_equal(stop.warp, 0);
    assert_int_equal(stop.line, 56);
    assert_int_equal(stop.breakpoint, 0);
    if (!block)
      assert_int_equal(mx_debug_break_line(g, NULL, 59, &number), MX_OK); /* others come and go, this one stays */
    if (!block) assert_int_equal(mx_debug_break_delete(g, number), MX_OK);
  }
  assert_int_equal(mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 1, &stop), MX_OK);
  assert_int_equal(stop.reason, MX_DEBUG_AT_END);
  mx_debug_end(g);
}

#define TEST(name_) cmocka_unit_test_setup_teardown(name_, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(printed_text_waits_for_the_guides_points),
      TEST(live_text_arrives_while_the_kernel_runs),
      TEST(every_failing_lane_is_told),
      TEST(who_waits_for_a_failed_lane_ends_too),
      TEST(asynchronous_failures_are_told_when_asked),
      TEST(brkpt_stops_a_session),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
