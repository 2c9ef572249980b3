/* Atomics of system scope are atomic against a thread of the host too: both add to the cells of managed memory while
 * the other does, and nothing is lost. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "on_device.h"

#include "mx/mx.h"
#include "mx/text.h"

enum { ROUNDS = 20, BLOCKS = 8, THREADS = 64 };

static const char text[] = ".entry add(.param .u64 cells, .param .u32 rounds)\n{\n"
                           "  mov.u32 %n, %rounds;\n"
                           "  mov.u32 %value, 1;\n  mov.u64 %wide, 0x100000001;\n  mov.f32 %float, 1.0;\n"
                           "again:\n"
                           "  atomicAdd_system.u32 _, [%cells], %value;\n"
                           "  atomicAdd_system.u64 _, [%cells+8], %wide;\n"
                           "  atomicAdd_system.f32 _, [%cells+16], %float;\n"
                           "  ld.volatile.u32 %old, [%cells+24];\n"
                           "swap:\n" /* plus one by comparison */
                           "  add.u32 %new, %old, 1;\n"
                           "  atomicCAS_system.u32 %seen, [%cells+24], %old, %new;\n"
                           "  setp.ne.u32 %other, %seen, %old;\n"
                           "  mov.u32 %old, %seen;\n"
                           "  @%other bra swap;\n"
                           "  sub.u32 %n, %n, 1;\n"
                           "  setp.ne.u32 %more, %n, 0;\n"
                           "  @%more bra again;\n"
                           "  exit;\n}\n";

struct cells {
  uint32_t count, pad;
  uint64_t wide;
  uint32_t real /* an f32 */, pad2, swapped;
};
struct host {
  struct cells *cells;
  volatile uint32_t rounds;
  volatile int stop;
};

static void *add_too(void *p) {
  struct host *h = p;
  while (!h->stop) {
    __atomic_fetch_add(&h->cells->count, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&h->cells->wide, 0x100000001u, __ATOMIC_RELAXED);
    uint32_t old = __atomic_load_n(&h->cells->real, __ATOMIC_RELAXED), new;
    do {
      float sum;
      memcpy(&sum, &old, sizeof sum);
      sum += 1;
      memcpy(&new, &sum, sizeof new);
    } while (!__atomic_compare_exchange_n(&h->cells->real, &old, new, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    __atomic_fetch_add(&h->cells->swapped, 1, __ATOMIC_RELAXED);
    h->rounds++;
  }
  return NULL;
}

static void beside_the_host(void **state) {
  (void)state;
  mx_device *device;
  mx_device_options options = MX_DEVICE_OPTIONS_INIT;
  options.threads = 2;
  assert_int_equal(mx_device_create(&options, &device), MX_OK);
  mx_module *module;
  mx_kernel *kernel;
  assert_int_equal(load_text(device, text, NULL, &module), MX_OK);
  assert_int_equal(mx_module_kernel(module, "add", &kernel), MX_OK);
  mx_addr at;
  void *host;
  assert_int_equal(mx_alloc_managed(device, sizeof(struct cells), &at, &host), MX_OK);
  memset(host, 0, sizeof(struct cells));
  struct host h = {.cells = host};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, add_too, &h), 0);
  while (!h.rounds) sched_yield(); /* so that they meet */
  mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
  config.grid[0] = BLOCKS;
  config.block[0] = THREADS;
  uint32_t rounds = ROUNDS;
  const void *args[] = {&at, &rounds};
  mx_status status = mx_launch_args(kernel, &config, args, 2);
  h.stop = 1;
  pthread_join(thread, NULL);
  assert_int_equal(status, MX_OK);
  const uint32_t all = h.rounds + BLOCKS * THREADS * rounds;
  assert_int_equal(h.cells->count, all);
  assert_true(h.cells->wide == 0x100000001u * (uint64_t)all);
  assert_int_equal(h.cells->swapped, all);
  float real;
  memcpy(&real, &h.cells->real, sizeof real);
  if (all < 1 << 24) assert_true(real == (float)all); /* beyond, f32 does not count on */
  mx_free(device, at);
  mx_module_unload(module);
  mx_device_destroy(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(beside_the_host)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
