/* What a launch costs does not depend on how large its grid is: memory stays, time is in proportion to the blocks. */
#include <mx/mx.h>
#include <mx/text.h>

#include <setjmp.h>
#include <string.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "on_device.h"

/* Newer compilers' sanitizers keep the frames of functions that have returned, which is memory that these tests would
 * count. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_stack_use_after_return=0"; }

static const char text[] = ".target sm_90\n"
                           ".entry count(.param .u64 to) { .reg .u64 %p; .reg .u32 %t; .reg .pred %rest; .shared "
                           ".align 4 .b32 cell[64]; .local .b32 mine[4];\n"
                           "  mov.u32 %t, %tid.x; st.local.u32 [mine], %t; st.shared.u32 [cell], %t; bar.sync 0; "
                           "setp.ne.u32 %rest, %t, 0; @%rest exit;\n"
                           "  ld.param.u64 %p, [to]; red.global.add.u32 [%p], 1; exit; }\n";

static void launch(uint32_t blocks, uint32_t threads) {
  mx_device *device;
  mx_module *module;
  mx_kernel *kernel;
  mx_addr to;
  assert_int_equal(mx_device_create(NULL, &device), MX_OK);
  assert_int_equal(load_text(device, text, NULL, &module), MX_OK);
  assert_int_equal(mx_module_kernel(module, "count", &kernel), MX_OK);
  assert_int_equal(mx_alloc(device, 4, &to), MX_OK);
  uint32_t counted;
  mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
  config.grid[0] = blocks;
  config.block[0] = 64;
  config.jit = MX_JIT_OFF;
  config.threads = threads;
  const void *args[] = {&to};
  assert_int_equal(mx_launch_args(kernel, &config, args, 1), MX_OK);
  assert_int_equal(mx_copy_from_device(device, &counted, to, 4), MX_OK);
  assert_int_equal(counted, blocks);
  mx_device_destroy(device);
}

/* In KiB: the most memory that a process had which did nothing else. */
static long peak(uint32_t blocks) {
  int status;
  struct rusage used;
  pid_t child = fork();
  assert_true(child >= 0);
  if (!child) {
    launch(blocks, 2);
    _exit(0);
  }
  assert_int_equal(wait4(child, &status, 0, &used), child);
  assert_int_equal(status, 0);
  return used.ru_maxrss;
}
/* Under sanitizers, which are slow, grids are a sixteenth. */
static unsigned shorter(void) {
  const char *quick = getenv("MX_QUICK");
  return quick && *quick ? 4 : 0;
}
static void memory_of_a_million_blocks(void **state) {
  (void)state;
  long few = peak(1 << 10), many = peak(1u << (20 - shorter()));
  if (many > few + 1024) print_error("%ld KiB with 2^10 blocks, %ld with 2^20\n", few, many);
  assert_true(many <= few + 1024);
}

static double cpu_seconds(void) { /* which other processes do not change much */
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double block_seconds(uint32_t blocks) {
  double start = cpu_seconds();
  launch(blocks, 1);
  return (cpu_seconds() - start) / blocks;
}
/* Other processes share the processor's caches and pipelines, for some time at most: a cost that grows with the grid is
 * there in each round, so that one round without it is enough. */
static void time_of_a_block(void **state) {
  (void)state;
  double few = 0, many = 1;
  for (int round = 0; round < 8 && many > 1.5 * few; round++) {
    few = block_seconds(1u << (16 - shorter()));
    many = block_seconds(1u << (19 - shorter()));
  }
  if (many > 1.5 * few) print_error("%.0f ns a block of 2^16, %.0f ns of 2^19\n", few * 1e9, many * 1e9);
  assert_true(many <= 1.5 * few);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(memory_of_a_million_blocks), cmocka_unit_test(time_of_a_block)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
