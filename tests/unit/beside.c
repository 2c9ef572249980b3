/* vm/host/group.c: devices beside one another, which reach each other's memory where they may. */
#include "mx/text.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "on_device.h"

static const char program[] =
    /* adds one to n words, and counts itself */
    ".entry add(.param .u64 p, .param .u64 count, .param .u32 n)\n{\n  mad.lo.u32 %i, %ctaid.x, %ntid.x, %tid.x;\n  "
    "setp.ge.u32 %q, %i, %n;\n"
    "  @%q exit;\n  ld.global.u32 %v, [%p + %i*4];\n  add.u32 %v, %v, 1;\n  st.global.u32 [%p + %i*4], %v;\n  "
    "fence.acq_rel.sys;\n"
    "  red.sys.global.add.u32 [%count], 1;\n  exit;\n}\n"
    /* takes turns with the other device: waits until the word is what it should be, makes it the next one */
    ".entry turns(.param .u64 p, .param .u32 first, .param .u32 rounds)\n{\n  mov.u32 %k, 0;\nround:\n  shl.b32 %mine, "
    "%k, 1;\n"
    "  add.u32 %mine, %mine, %first;\nwait:\n  ld.acquire.sys.global.u32 %v, [%p];\n  setp.ne.u32 %q, %v, %mine;\n  "
    "@%q bra wait;\n"
    "  add.u32 %v, %v, 1;\n  st.release.sys.global.u32 [%p], %v;\n  add.u32 %k, %k, 1;\n  setp.lt.u32 %q, %k, "
    "%rounds;\n  @%q bra round;\n  exit;\n}\n";

static mx_device *a, *b;
static mx_kernel *add[3], *turns[3];

static mx_device *device(mx_device *beside) {
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  o.threads = 2;
  o.memory_bytes = 64 << 20;
  o.beside = beside;
  mx_device *d;
  assert_int_equal(mx_device_create(&o, &d), MX_OK);
  return d;
}
static void load(mx_device *d, unsigned k) {
  mx_module *m;
  assert_int_equal(load_text(d, program, NULL, &m), MX_OK);
  assert_int_equal(mx_module_kernel(m, "add", &add[k]), MX_OK);
  assert_int_equal(mx_module_kernel(m, "turns", &turns[k]), MX_OK);
}
static int set_up(void **state) {
  (void)state;
  a = device(NULL);
  b = device(a);
  load(a, 0);
  load(b, 1);
  return 0;
}
static int tear_down(void **state) {
  (void)state;
  mx_device_destroy(a);
  mx_device_destroy(b);
  return 0;
}
static mx_launch_config config(uint32_t grid, uint32_t block) {
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = grid;
  c.block[0] = block;
  c.timeout = 120;
  return c;
}
static mx_status run_add(unsigned k, mx_addr p, mx_addr count, uint32_t n, mx_jit_mode jit) {
  mx_launch_config c = config(4, 128);
  c.jit = jit;
  c.threads = 1; /* the first block's trap is the one that is told */
  return mx_launch_args(add[k], &c, (const void *[]){&p, &count, &n}, 3);
}

static void addresses_are_distinct(void **state) {
  (void)state;
  mx_device *c = device(b);
  mx_addr p, q, r;
  assert_int_equal(mx_alloc(a, 64, &p), MX_OK);
  assert_int_equal(mx_alloc(b, 64, &q), MX_OK);
  assert_int_equal(mx_alloc(c, 64, &r), MX_OK);
  assert_true(p != q && q != r && p != r);
  assert_int_equal(p >> 36, 0); /* the first one's are as ever */
  bool can;
  assert_int_equal(mx_device_can_reach(a, c, &can), MX_OK);
  assert_true(can);
  assert_int_equal(mx_device_can_reach(a, a, &can), MX_OK);
  assert_false(can);
  mx_device *alone = device(NULL);
  assert_int_equal(mx_device_can_reach(a, alone, &can), MX_OK);
  assert_false(can);
  assert_int_equal(mx_device_reach(a, alone, true), MX_UNSUPPORTED);
  mx_device_destroy(alone);
  mx_device_destroy(c);
  mx_device *more[8];
  unsigned n = 0;
  for (mx_device_options o = {sizeof o, 64 << 20, 1, MX_JIT_OFF, NULL, NULL, a};
       n < 8 && mx_device_create(&o, &more[n]) == MX_OK;)
    n++;
  assert_int_equal(n, 6); /* eight in all */
  while (n) mx_device_destroy(more[--n]);
}

/* A device has no memory for what a cooperative launch needs there: the other one does not begin. */
static void all_or_nothing(void **state) {
  (void)state;
  mx_device *c = device(a);
  load(c, 2);
  mx_addr word;
  void *host;
  assert_int_equal(mx_alloc_managed(a, 4, &word, &host), MX_OK);
  memset(host, 0, 4);
  mx_addr one, with = 0;
  for (uint64_t size = 64 << 20; size >= 16; size /= 2)
    while (mx_alloc(c, size, &one) == MX_OK) with = one;
  struct {
    mx_addr p;
    uint32_t first, rounds;
  } of[2] = {{word, 0, 1}, {word, 1, 1}};
  const void *params[2] = {&of[0], &of[1]};
  mx_launch_config k = config(1, 1);
  mx_kernel *const both[2] = {turns[0], turns[2]};
  assert_int_equal(mx_launch_cooperative_multi(both, 2, &k, params, sizeof of[0]), MX_OUT_OF_DEVICE_MEMORY);
  assert_int_equal(*(uint32_t *)host, 0);
  char *said = mx_last_error_text(a);
  assert_non_null(said);
  assert_non_null(strstr(said, "device 1: "));
  free(said);
  assert_int_equal(mx_free(c, with), MX_OK);
  mx_device_destroy(c);
  assert_int_equal(mx_free(a, word), MX_OK);
}

/* `turns` on both devices at once, one of which begins; and what is refused before anything runs. */
static void one_launch_on_both(void **state) {
  (void)state;
  mx_addr word;
  void *host;
  assert_int_equal(mx_alloc_managed(a, 4, &word, &host), MX_OK);
  memset(host, 0, 4);
  struct {
    mx_addr p;
    uint32_t first, rounds;
  } of[2] = {{word, 0, 50}, {word, 1, 50}};
  const void *params[2] = {&of[0], &of[1]};
  mx_launch_config c = config(1, 1);
  assert_int_equal(mx_launch_cooperative_multi(turns, 2, &c, params, sizeof of[0]), MX_OK);
  assert_int_equal(*(uint32_t *)host, 100);
  mx_kernel *const twice[2] = {turns[0], turns[0]}, *const mixed[2] = {turns[0], add[1]};
  assert_int_equal(mx_launch_cooperative_multi(twice, 2, &c, params, sizeof of[0]), MX_INVALID_LAUNCH);
  assert_int_equal(mx_launch_cooperative_multi(mixed, 2, &c, params, sizeof of[0]), MX_INVALID_LAUNCH);
  assert_int_equal(mx_launch_cooperative_multi(turns, 2, &c, params, 4), MX_INVALID_LAUNCH);
  c.block[0] = 2000;
  assert_int_equal(mx_launch_cooperative_multi(turns, 2, &c, params, sizeof of[0]), MX_INVALID_LAUNCH);
  assert_int_equal(*(uint32_t *)host, 100);
  assert_int_equal(mx_free(a, word), MX_OK);
}

static void reaches_only_what_is_allowed(void **state) {
  (void)state;
  mx_addr of_b, count;
  uint32_t v[500];
  for (int jit = MX_JIT_ON; jit <= MX_JIT_OFF; jit++) {
    assert_int_equal(mx_alloc(b, sizeof v, &of_b), MX_OK);
    assert_int_equal(mx_alloc(a, 4, &count), MX_OK);
    assert_int_equal(run_add(0, of_b, count, 500, (mx_jit_mode)jit), MX_TRAPPED);
    char *text = mx_last_error_text(a);
    assert_non_null(strstr(text, "of another device, at the start of buffer #"));
    free(text);
    assert_int_equal(mx_device_reset(a), MX_OK);
    load(a, 0);
    assert_int_equal(mx_alloc(a, 4, &count), MX_OK);
    assert_int_equal(mx_device_reach(a, b, true), MX_OK);
    assert_int_equal(run_add(0, of_b, count, 500, (mx_jit_mode)jit), MX_OK);
    assert_int_equal(run_add(0, of_b, count, 500, (mx_jit_mode)jit), MX_OK);
    assert_int_equal(mx_copy_from_device(b, v, of_b, sizeof v), MX_OK);
    for (unsigned k = 0; k < 500; k++) assert_int_equal(v[k], 2);
    assert_int_equal(mx_copy_from_device(a, v, count, 4), MX_OK);
    assert_int_equal(v[0], 1000);
    assert_int_equal(run_add(1, of_b, count, 1, (mx_jit_mode)jit), MX_TRAPPED); /* the other way is another matter */
    assert_int_equal(mx_device_reset(b), MX_OK);
    load(b, 1);
    assert_int_equal(run_add(0, of_b, count, 1, (mx_jit_mode)jit), MX_TRAPPED); /* it is gone */
    assert_int_equal(mx_device_reset(a), MX_OK);
    load(a, 0);
    assert_int_equal(mx_alloc(b, sizeof v, &of_b), MX_OK);
    assert_int_equal(mx_device_reach(a, b, false), MX_OK);
    assert_int_equal(mx_alloc(a, 4, &count), MX_OK);
    assert_int_equal(run_add(0, of_b, count, 1, (mx_jit_mode)jit), MX_TRAPPED);
    assert_int_equal(mx_device_reset(a), MX_OK);
    load(a, 0);
  }
}

static void managed_memory_is_everybodys(void **state) {
  (void)state;
  mx_addr p, count;
  void *host, *counted;
  assert_int_equal(mx_alloc_managed(a, 4 * 500, &p, &host), MX_OK);
  assert_int_equal(mx_alloc_managed(b, 4, &count, &counted), MX_OK);
  for (unsigned k = 0; k < 6; k++)
    assert_int_equal(run_add(k & 1, p, count, 500, k & 2 ? MX_JIT_ON : MX_JIT_OFF), MX_OK);
  for (unsigned k = 0; k < 500; k++) assert_int_equal(((uint32_t *)host)[k], 6);
  assert_int_equal(*(uint32_t *)counted, 3000);
}

struct player {
  unsigned k;
  mx_addr p;
  uint32_t rounds;
  mx_jit_mode jit;
  mx_status status;
};
static void *play(void *of) {
  struct player *me = of;
  mx_launch_config c = config(1, 1);
  c.jit = me->jit;
  me->status = mx_launch_args(turns[me->k], &c, (const void *[]){&me->p, &me->k, &me->rounds}, 3);
  return NULL;
}
static void talk(uint32_t rounds, mx_jit_mode jit, bool meanwhile) {
  mx_addr p, q;
  void *host;
  pthread_t thread;
  assert_int_equal(mx_alloc_managed(a, 4, &p, &host), MX_OK);
  _Atomic uint32_t *word = host;
  struct player first = {0, p, rounds, jit, MX_OK}, second = {1, p, rounds, jit, MX_OK};
  assert_int_equal(pthread_create(&thread, NULL, play, &first), 0);
  while (meanwhile && *word != 1) sched_yield(); /* a's launch waits for b's from here on */
  if (meanwhile) {
    assert_int_equal(mx_alloc(b, 64, &q), MX_OK);
    load(b, 1);
  }
  play(&second);
  pthread_join(thread, NULL);
  assert_int_equal(first.status, MX_OK);
  assert_int_equal(second.status, MX_OK);
  assert_int_equal(*word, 2 * rounds);
}
static void kernels_of_two_devices_talk(void **state) {
  (void)state;
  talk(2000, MX_JIT_OFF, false);
  talk(2000, MX_JIT_ON, false);
}

/* What the other device needs for its first launch, and a module, hold up nobody who waits for that launch. */
static void a_launch_waits_for_one_that_has_not_begun(void **state) {
  (void)state;
  talk(2, MX_JIT_OFF, true);
}

static void *free_soon(void *address) {
  assert_int_equal(mx_free(a, *(mx_addr *)address), MX_OK); /* waits for the launch of b that may touch it */
  return NULL;
}
static void nothing_goes_while_others_may_touch_it(void **state) {
  (void)state;
  mx_addr p, count;
  mx_stream *s;
  pthread_t thread;
  assert_int_equal(mx_device_reach(b, a, true), MX_OK);
  assert_int_equal(mx_stream_create(b, 0, &s), MX_OK);
  for (unsigned turn = 0; turn < 20; turn++) {
    uint32_t n = 1 << 16;
    assert_int_equal(mx_alloc(a, 4 * n, &p), MX_OK);
    assert_int_equal(mx_alloc(b, 4, &count), MX_OK);
    mx_launch_config c = config(n / 128, 128);
    assert_int_equal(mx_launch_args_async(add[1], &c, (const void *[]){&p, &count, &n}, 3, s), MX_OK);
    assert_int_equal(pthread_create(&thread, NULL, free_soon, &p), 0);
    mx_status status = mx_stream_synchronize(s); /* or it was freed before */
    pthread_join(thread, NULL);
    if (status == MX_TRAPPED) {
      assert_int_equal(mx_device_reset(b), MX_OK);
      load(b, 1);
    } else assert_int_equal(status, MX_OK);
  }
}

#define TEST(name_) cmocka_unit_test_setup_teardown(name_, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(addresses_are_distinct),
      TEST(one_launch_on_both),
      TEST(all_or_nothing),
      TEST(reaches_only_what_is_allowed),
      TEST(managed_memory_is_everybodys),
      TEST(kernels_of_two_devices_talk),
      TEST(a_launch_waits_for_one_that_has_not_begun),
      TEST(nothing_goes_while_others_may_touch_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
