/* The n-th allocation fails, for every n: making a device, loading, launching, streams and debugging sessions then fail
 * with a status, or do without; nothing crashes or hangs, and the next try succeeds. The whole library is under test,
 * so the process's own allocator is replaced; the sanitizers have theirs in that place. */
#include "mx/debug.h"
#include "mx/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ && defined __GLIBC__
#define REPLACED 1
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
#else
#define REPLACED 0
#endif

static atomic_long left = -1; /* calls that still succeed; negative: all of them */
static atomic_bool failed;
static atomic_long maps = -1; /* pieces of memory that the system still gives; negative: any number */

#if REPLACED
static bool now(void) {
  if (atomic_load(&left) < 0) return false;
  if (atomic_fetch_sub(&left, 1) > 0) return false;
  atomic_store(&left, -1); /* one failure at a time */
  atomic_store(&failed, true);
  return true;
}
void *malloc(size_t n) { return now() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return now() ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return now() ? NULL : __libc_realloc(p, n); }
void *aligned_alloc(size_t align, size_t n) { return now() ? NULL : __libc_memalign(align, n); }
void *mmap(void *at, size_t n, int may, int kind, int file, off_t offset) {
  if (atomic_load(&maps) >= 0 && atomic_fetch_sub(&maps, 1) <= 0) return atomic_store(&maps, 0), MAP_FAILED;
  return (void *)syscall(SYS_mmap, at, n, may, kind, file, offset);
}
#endif

static const char program[] =
    ".version 9.0\n.target sm_90\n.global .u32 cell = 3;\n"
    ".func (.reg .u32 %out) twice(.reg .u32 %in) {\n  add.u32 %out, %in, %in;\n  ret;\n}\n"
    ".visible .entry work(.param .u64 p) {\n  .reg .u32 %r<4>; .reg .u64 %d<4>;\n  mov.u32 %r0, %tid.x;\n  call (%r1), "
    "twice, (%r0);\n"
    "  ld.param.u64 %d0, [p];\n  mul.wide.u32 %d1, %r0, 4;\n  add.u64 %d2, %d0, %d1;\n  st.global.u32 [%d2], %r1;\n  "
    "bar.sync 0;\n  ret;\n}\n"
    ".visible .entry own(.param .u64 p) {\n  .local .u32 cell[4];\n  st.local.u32 [cell], 7;\n  ret;\n}\n";

static uint8_t *bytes;
static size_t size;

static int assemble(void **state) {
  (void)state;
  mx_asm_result *r = mx_assemble(program, sizeof program - 1, NULL);
  const uint8_t *b = mx_asm_bytes(r, &size);
  if (!b) return -1;
  bytes = malloc(size);
  memcpy(bytes, b, size);
  mx_asm_free(r);
  return 0;
}

static int clean(void **state) {
  (void)state;
  free(bytes);
  return 0;
}

static mx_launch_config on_two_workers(uint32_t blocks) {
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = blocks;
  c.block[0] = 64;
  c.threads = 2;
  c.jit = MX_JIT_OFF;
  return c;
}

static mx_status launch_twice(mx_device *d, mx_module *m) {
  mx_kernel *k;
  mx_addr p;
  mx_stream *stream = NULL;
  const mx_launch_config c = on_two_workers(5);
  mx_status s = mx_module_kernel(m, "work", &k);
  if (s == MX_OK) s = mx_alloc(d, 256, &p);
  if (s == MX_OK) s = mx_launch(k, &c, &p, 8);
  if (s == MX_OK) s = mx_stream_create(d, 0, &stream);
  if (s == MX_OK) s = mx_launch_async(k, &c, &p, 8, stream);
  mx_status synced = stream ? mx_stream_destroy(stream) : MX_OK;
  return s == MX_OK ? synced : s;
}

static mx_status debug_once(mx_device *d, mx_module *m) {
  mx_kernel *k;
  mx_addr p;
  mx_debug *g = NULL;
  int n;
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.block[0] = 64;
  mx_debug_stop stop = {.struct_size = sizeof stop};
  mx_status s = mx_module_kernel(m, "work", &k);
  if (s == MX_OK) s = mx_alloc(d, 256, &p);
  if (s == MX_OK) s = mx_debug_begin(k, &c, &p, 8, &g);
  if (s == MX_OK) s = mx_debug_break(g, "twice", 0, &n);
  if (s == MX_OK) s = mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 1, &stop);
  if (s == MX_OK && stop.reason == MX_DEBUG_AT_BREAKPOINT) mx_debug_block_count(g);
  if (s == MX_OK && stop.reason == MX_DEBUG_AT_BREAKPOINT) s = mx_debug_go(g, MX_DEBUG_FINISH, 0, 0, 1, &stop);
  mx_debug_end(g);
  return s == MX_OK && stop.reason == MX_DEBUG_AT_END ? stop.status : s;
}

static mx_status everything(mx_status (*what)(mx_device *, mx_module *)) {
  mx_device *d;
  mx_module *m;
  mx_status s = mx_device_create(NULL, &d);
  if (s != MX_OK) return s;
  s = mx_module_load_data(d, bytes, size, &m);
  if (s == MX_OK) s = what(d, m);
  free(mx_last_error_text(d));
  mx_device_destroy(d);
  return s;
}

/* Which statuses a failed allocation may lead to: the system's threads need memory, and a lane's stack is memory. */
static bool expected(mx_status s) {
  return s == MX_OK || s == MX_OUT_OF_MEMORY || s == MX_HOST_FAILURE || s == MX_TRAPPED || s == MX_BUSY;
}

static void every_allocation(mx_status (*what)(mx_device *, mx_module *)) {
  if (!REPLACED) skip();
  for (long n = 0; n < 5000; n++) {
    atomic_store(&failed, false);
    atomic_store(&left, n);
    mx_status s = everything(what);
    atomic_store(&left, -1);
    if (!expected(s)) fail_msg("allocation %ld: %s", n, mx_status_name(s));
    if (atomic_load(&failed)) continue;
    assert_int_equal(s, MX_OK);
    assert_true(n > 20);
    return;
  }
  fail_msg("no end of allocations");
}

static void launches(void **state) {
  (void)state;
  every_allocation(launch_twice);
}
static void sessions(void **state) {
  (void)state;
  every_allocation(debug_once);
}

static long own_maps;
/* Lanes' own memory is asked for when the first of them needs it: by each worker. */
static mx_status launch_own(mx_device *d, mx_module *m) {
  mx_kernel *k;
  const mx_addr p = 0;
  const mx_launch_config c = on_two_workers(64);
  mx_status s = mx_module_kernel(m, "own", &k);
  if (s == MX_OK) s = mx_launch(k, &c, &p, 8); /* threads and their stacks are there, then */
  atomic_store(&maps, own_maps);
  if (s == MX_OK) s = mx_launch(k, &c, &p, 8);
  atomic_store(&maps, -1);
  mx_trap_info trap = {.struct_size = sizeof trap};
  if (s == MX_TRAPPED && (mx_device_trap(d, &trap) != MX_OK || trap.kind != MX_TRAP_HOST_MEMORY))
    return MX_HOST_FAILURE;
  return s;
}
static void own_memory(void **state) {
  (void)state;
  if (!REPLACED) skip();
  for (long n = 0; n < 3; n++) {
    own_maps = n;
    const mx_status s = everything(launch_own);
    if (n == 0) assert_int_equal(s, MX_TRAPPED);
    else if (n == 1) assert_true(s == MX_TRAPPED || s == MX_OK); /* whether the second worker gets a block */
    else assert_int_equal(s, MX_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(launches), cmocka_unit_test(sessions),
                                     cmocka_unit_test(own_memory)};
  return cmocka_run_group_tests(tests, assemble, clean);
}
