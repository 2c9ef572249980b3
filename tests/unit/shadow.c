/* What checkers keep of memory: at most four bytes for each byte that a kernel touches, also where lanes touch parts of
 * words and warps are small. The peak of a process that checks a launch is compared with one that does not. */
#include "mx/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "on_device.h"

#define BYTES (8u << 20)

/* p[i] = p[i] + 1, in warps of 32 lanes: most of a shadow is in use while words are read that are written next. */
#define KERNEL(name_, type_, reg_, bytes_) \
  ".visible .entry " name_ "(.param .u64 p)\n{\n" \
  "  .reg .u32 %r<5>;\n  .reg " reg_ " %v;\n  .reg .u64 %d<4>;\n" \
  "  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n  mov.u32 %r3, %tid.x;\n  mad.lo.u32 %r4, %r1, %r2, %r3;\n" \
  "  ld.param.u64 %d1, [p];\n  mul.wide.u32 %d2, %r4, " bytes_ ";\n  add.u64 %d3, %d1, %d2;\n" \
  "  ld.global." type_ " %v, [%d3];\n  add" reg_ " %v, %v, 1;\n  st.global." type_ " [%d3], %v;\n  ret;\n}\n"
static const char program[] = ".version 8.0\n.target sm_80\n.address_size 64\n" KERNEL("words", "u32", ".u32", "4")
    KERNEL("halves", "u16", ".u16", "2") KERNEL("singles", "u8", ".u16", "1");

static void run(const char *name, unsigned bytes, uint32_t tools) {
  mx_device *d;
  mx_module *m;
  mx_kernel *k;
  mx_addr p;
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.block[0] = 256, c.grid[0] = BYTES / bytes / 256;
  c.jit = MX_JIT_OFF;
  c.threads = 1;
  unsigned char *zeros = calloc(1, BYTES);
  const bool done = zeros && mx_device_create(NULL, &d) == MX_OK && mx_device_check(d, tools) == MX_OK &&
                    load_text(d, program, NULL, &m) == MX_OK && mx_module_kernel(m, name, &k) == MX_OK &&
                    mx_alloc(d, BYTES, &p) == MX_OK && mx_copy_to_device(d, p, zeros, BYTES) == MX_OK &&
                    mx_launch(k, &c, &p, sizeof p) == MX_OK && !mx_device_findings(d);
  _exit(!done);
}
static long peak(const char *name, unsigned bytes, uint32_t tools) {
  int status;
  struct rusage u;
  const pid_t child = fork();
  if (!child) run(name, bytes, tools);
  assert_true(child > 0 && wait4(child, &status, 0, &u) == child);
  assert_int_equal(status, 0);
  return u.ru_maxrss;
}
static void touched(const char *name, unsigned bytes) {
  const long plain = peak(name, bytes, 0), checked = peak(name, bytes, MX_CHECK_ALL);
  const double each = (double)(checked - plain) * 1024 / BYTES;
  if (each > 4) fail_msg("%s: %.2f bytes for each byte", name, each);
}
static void words_take_four_bytes_a_byte(void **state) {
  (void)state;
  touched("words", 4);
}
static void halves_take_no_more(void **state) {
  (void)state;
  touched("halves", 2);
}
static void single_bytes_take_no_more(void **state) {
  (void)state;
  touched("singles", 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_take_four_bytes_a_byte),
      cmocka_unit_test(halves_take_no_more),
      cmocka_unit_test(single_bytes_take_no_more),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
