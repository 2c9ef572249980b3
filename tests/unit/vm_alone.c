/* The machine without jit/, whose objects this program is not linked with: launches, traps and sessions are
 * interpreted, and a launch that demands compiled code fails with a reason. */
#include "vm/host/engine.h"

#include "mx/debug.h"
#include "mx/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 256 };
static const char program[] =
    ".version 9.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry twice(.param .u64 p)\n{\n"
    "  .reg .u32 %r<3>;\n  .reg .u64 %d<3>;\n  .reg .pred %q;\n"
    "  mov.u32 %r0, %tid.x;\n  ld.param.u64 %d0, [p];\n  mul.wide.u32 %d1, %r0, 4;\n  add.u64 %d2, %d0, %d1;\n"
    "  ld.global.u32 %r1, [%d2];\n  mov.u32 %r2, 0;\n"
    "AGAIN:\n  add.u32 %r1, %r1, %r0;\n  add.u32 %r2, %r2, 1;\n  setp.lt.u32 %q, %r2, 100;\n  @%q bra AGAIN;\n"
    "  bar.sync 0;\n  st.global.u32 [%d2], %r1;\n  ret;\n}\n";

static mx_device *d;
static mx_kernel *k;
static mx_addr p;

static int set_up(void **state) {
  (void)state;
  mx_module *m;
  char *messages = NULL;
  uint32_t in[N];
  for (uint32_t i = 0; i < N; i++) in[i] = 7;
  if (mx__device_create(NULL, &mx__interpreter, &d) != MX_OK) return -1;
  if (mx_module_load_text(d, program, sizeof program - 1, NULL, &m, &messages) != MX_OK ||
      mx_module_kernel(m, "twice", &k) != MX_OK)
    return -1;
  return mx_alloc(d, sizeof in, &p) == MX_OK && mx_copy_to_device(d, p, in, sizeof in) == MX_OK ? 0 : -1;
}
static int tear_down(void **state) {
  (void)state;
  mx_device_destroy(d);
  return 0;
}

static void has_run(void) {
  uint32_t out[N];
  assert_int_equal(mx_copy_from_device(d, out, p, sizeof out), MX_OK);
  for (uint32_t i = 0; i < N; i++) assert_int_equal(out[i], 7 + 100 * i);
}
static void failed_because(const char *what) {
  char *text = mx_last_error_text(d);
  assert_non_null(text);
  assert_non_null(strstr(text, what));
  free(text);
}
static mx_launch_config config(mx_jit_mode jit) {
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.block[0] = N;
  c.jit = jit;
  return c;
}

static void a_launch_is_interpreted(void **state) {
  (void)state;
  const mx_launch_config c = config(MX_JIT_AUTO);
  assert_int_equal(mx_launch(k, &c, &p, sizeof p), MX_OK);
  has_run();
  mx_launch_stats stats = {.struct_size = sizeof stats};
  assert_int_equal(mx_device_stats(d, &stats), MX_OK);
  assert_int_equal(stats.warps_compiled, 0);
}

static void compiled_code_cannot_be_demanded(void **state) {
  (void)state;
  const mx_launch_config c = config(MX_JIT_ON);
  assert_int_equal(mx_launch(k, &c, &p, sizeof p), MX_JIT_FAILURE);
  failed_because("no engine");
}

static void a_trap_is_told(void **state) {
  (void)state;
  const mx_launch_config c = config(MX_JIT_AUTO);
  mx_addr nowhere = p + 4;
  assert_int_equal(mx_launch(k, &c, &nowhere, sizeof nowhere), MX_TRAPPED);
  failed_because("twice");
}

static void a_session_stops_and_goes_on(void **state) {
  (void)state;
  const mx_launch_config c = config(MX_JIT_AUTO);
  mx_debug *g;
  mx_debug_stop stop = {.struct_size = sizeof stop};
  int number;
  assert_int_equal(mx_debug_begin(k, &c, &p, sizeof p, &g), MX_OK);
  assert_int_equal(mx_debug_break(g, "twice", 0, &number), MX_OK);
  do assert_int_equal(mx_debug_go(g, MX_DEBUG_CONTINUE, 0, 0, 1, &stop), MX_OK);
  while (stop.reason == MX_DEBUG_AT_BREAKPOINT);
  assert_int_equal(stop.reason, MX_DEBUG_AT_END);
  mx_debug_end(g);
  has_run();
}

static void a_device_may_go_before_its_session(void **state) {
  (void)state;
  const mx_launch_config c = config(MX_JIT_AUTO);
  mx_debug *g;
  assert_int_equal(mx_debug_begin(k, &c, &p, sizeof p, &g), MX_OK);
}

int main(void) {
#define T(f_) cmocka_unit_test_setup_teardown(f_, set_up, tear_down)
  const struct CMUnitTest tests[] = {T(a_launch_is_interpreted), T(compiled_code_cannot_be_demanded), T(a_trap_is_told),
                                     T(a_session_stops_and_goes_on), T(a_device_may_go_before_its_session)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
