/* Devices from the API's side: memory calls, modules, symbols, limits, errors, separate devices. */
#include "mx/asm.h"
#include "mx/mx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "on_device.h"

static const char program[] =
    ".version 9.0\n.target sm_90\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter = 7;\n"
    ".visible .global .align 8 .u64 table[3] = {1, generic(counter), counter};\n"
    ".visible .const .align 4 .b8 text[8] = {104, 105};\n"
    ".visible .entry first(.param .u64 p, .param .u32 n, .param .align 8 .b8 s[24])\n"
    ".reqntid 32\n{\n  ret;\n}\n"
    ".visible .entry second()\n.maxntid 64, 2\n{\n  .shared .align 16 .b8 cells[256];\n  .reg .u32 %r<2>;\n"
    "  mov.u32 %r0, cells;\n  st.shared.u32 [%r0], %r0;\n  ret;\n}\n";

static mx_device *d, *other;

static int set_up(void **state) {
  (void)state;
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  o.memory_bytes = 256 << 20;
  return mx_device_create(&o, &d) == MX_OK && mx_device_create(NULL, &other) == MX_OK ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  mx_device_destroy(d);
  mx_device_destroy(other);
  return 0;
}

static mx_module *load(const char *text) {
  mx_asm_result *r = mx_assemble(text, strlen(text), NULL);
  size_t n;
  const uint8_t *bytes = mx_asm_bytes(r, &n);
  for (size_t i = 0; !bytes && i < mx_asm_diagnostic_count(r); i++) {
    char *s = mx_asm_format(mx_asm_diagnostic_at(r, i), false);
    print_error("%s\n", s);
    free(s);
  }
  assert_non_null(bytes);
  mx_module *m = NULL;
  mx_status s = mx_module_load_data(d, bytes, n, &m);
  if (s != MX_OK) fail_msg("%s", mx_last_error_text(d));
  mx_asm_free(r);
  return m;
}

static void copies_and_fills(void **state) {
  (void)state;
  mx_addr a, b;
  uint32_t v[256], w[256];
  for (uint32_t i = 0; i < 256; i++) v[i] = i * 3;
  assert_int_equal(mx_alloc(d, sizeof v, &a), MX_OK);
  assert_int_equal(mx_alloc(d, sizeof v, &b), MX_OK);
  assert_int_equal(mx_copy_to_device(d, a, v, sizeof v), MX_OK);
  assert_int_equal(mx_copy_on_device(d, b, a, sizeof v), MX_OK);
  assert_int_equal(mx_copy_from_device(d, w, b, sizeof v), MX_OK);
  assert_memory_equal(v, w, sizeof v);
  assert_int_equal(mx_memset32(d, b + 4, 0x01020304, 3), MX_OK);
  assert_int_equal(mx_memset16(d, b + 16, 0xABCD, 2), MX_OK);
  assert_int_equal(mx_memset8(d, b + 20, 0xEE, 4), MX_OK);
  assert_int_equal(mx_copy_from_device(d, w, b, 28), MX_OK);
  uint32_t want[7] = {0, 0x01020304, 0x01020304, 0x01020304, 0xABCDABCD, 0xEEEEEEEE, 18};
  assert_memory_equal(w, want, sizeof want);
  assert_int_equal(mx_copy_on_device(d, a + 4, a, sizeof v - 4), MX_OK); /* overlapping */
  assert_int_equal(mx_copy_from_device(d, w, a, sizeof w), MX_OK);
  assert_int_equal(w[255], 254 * 3);
  mx_addr c;
  assert_int_equal(mx_alloc(other, sizeof v, &c), MX_OK);
  assert_int_equal(mx_copy_between_devices(other, c, d, a, sizeof v), MX_OK);
  assert_int_equal(mx_copy_from_device(other, v, c, sizeof v), MX_OK);
  assert_memory_equal(v, w, sizeof v);
}

static void ranges_are_checked_as_a_whole(void **state) {
  (void)state;
  mx_addr a;
  char bytes[200] = {0};
  assert_int_equal(mx_alloc(d, 100, &a), MX_OK);
  assert_int_equal(mx_allocation_set_name(d, a, "x"), MX_OK);
  assert_int_equal(mx_copy_to_device(d, a, bytes, 200), MX_INVALID_ADDRESS);
  expect_error_text(
      d, "mx_copy_to_device: write of 200 bytes at 0x100000000: the last 100 of 200 bytes are past the end of "
         "buffer #1 'x'");
  assert_int_equal(mx_copy_from_device(d, bytes, 0, 1), MX_INVALID_ADDRESS);
  expect_error_text(d, "null pointer");
  assert_int_equal(mx_memset32(d, a, 0, UINT64_MAX / 2), MX_INVALID_VALUE);
  assert_int_equal(mx_memset8(d, a, 0, UINT64_MAX), MX_INVALID_ADDRESS);
  assert_int_equal(mx_free(d, a + 1), MX_INVALID_ADDRESS);
  assert_int_equal(mx_copy_to_device(d, 0, NULL, 0), MX_OK);
  assert_int_equal(mx_free(d, a), MX_OK);
  assert_int_equal(mx_copy_from_device(d, bytes, a, 1), MX_INVALID_ADDRESS);
  expect_error_text(d, "freed buffer #1 'x'");
  assert_int_equal(mx_free(d, a), MX_INVALID_ADDRESS);
  assert_int_equal(mx_free(d, 0), MX_OK);
  assert_int_equal(mx_alloc(d, 1ull << 40, &a), MX_OUT_OF_DEVICE_MEMORY);
  expect_error_text(d, "out of memory");
  mx_addr base;
  uint64_t n, rest, all;
  assert_int_equal(mx_alloc(d, 1000, &a), MX_OK);
  assert_int_equal(mx_allocation_range(d, a + 999, &base, &n), MX_OK);
  assert_int_equal(base, a);
  assert_int_equal(n, 1000);
  assert_int_equal(mx_memory_info(d, &rest, &all), MX_OK);
  assert_int_equal(all - rest, 1000);
}

static void memory_lies_where_another_run_had_it(void **state) {
  (void)state;
  mx_addr a, b, c;
  mx_allocation_info i = {.struct_size = sizeof i};
  assert_int_equal(mx_alloc(d, 100, &a), MX_OK);
  assert_int_equal(mx_alloc_from(d, a), MX_INVALID_ADDRESS);
  assert_int_equal(mx_alloc_from(d, a + 100), MX_INVALID_ADDRESS);
  assert_int_equal(mx_alloc_from(d, UINT64_MAX), MX_INVALID_ADDRESS);
  assert_int_equal(mx_alloc_from(d, 0), MX_INVALID_ADDRESS);
  assert_int_equal(mx_alloc_from(NULL, a), MX_INVALID_VALUE);
  assert_int_equal(mx_alloc_from(d, a + 0x10000), MX_OK);
  assert_int_equal(mx_alloc(d, 300, &b), MX_OK);
  assert_int_equal(b, a + 0x10000);
  assert_int_equal(mx_alloc(d, 500, &c), MX_OK);
  assert_int_equal(mx_allocation_set_name(d, c, "third"), MX_OK);
  assert_int_equal(mx_allocation_next(d, 0, &i), MX_OK);
  assert_int_equal(i.address, a);
  assert_int_equal(i.bytes, 100);
  assert_int_equal(mx_allocation_next(d, a + 99, &i), MX_OK);
  assert_int_equal(i.address, a);
  assert_int_equal(mx_allocation_next(d, a + 100, &i), MX_OK);
  assert_int_equal(i.address, b);
  assert_false(i.variable || i.internal || i.name);
  assert_int_equal(mx_free(d, b), MX_OK);
  assert_int_equal(mx_allocation_next(d, a + 100, &i), MX_OK);
  assert_int_equal(i.address, c);
  assert_string_equal(i.name, "third");
  assert_int_equal(mx_alloc_constant(d, 10, &b, NULL), MX_OK);
  assert_int_equal(mx_allocation_next(d, c + 500, &i), MX_OK);
  assert_int_equal(i.address, b);
  assert_int_equal(mx_allocation_next(d, b + 10, &i), MX_NOT_FOUND);
  i.struct_size = 8;
  assert_int_equal(mx_allocation_next(d, 0, &i), MX_INVALID_VALUE);
}

static void managed_memory_is_one_memory(void **state) {
  (void)state;
  mx_addr a, b;
  void *host, *inside;
  assert_int_equal(mx_alloc_managed(d, 64, &a, &host), MX_OK);
  memcpy(host, "hello", 6);
  char s[6];
  assert_int_equal(mx_copy_from_device(d, s, a, 6), MX_OK);
  assert_string_equal(s, "hello");
  assert_int_equal(mx_managed_pointer(d, a + 4, &inside), MX_OK);
  assert_ptr_equal(inside, (char *)host + 4);
  assert_int_equal(mx_alloc(d, 64, &b), MX_OK);
  assert_int_equal(mx_managed_pointer(d, b, &inside), MX_INVALID_ADDRESS);
  assert_int_equal(mx_free(d, a), MX_OK);
}

static void modules_have_kernels_and_variables(void **state) {
  (void)state;
  mx_module *m = load(program);
  mx_kernel *k, *k2;
  assert_int_equal(mx_module_kernel_count(m), 2);
  assert_int_equal(mx_module_kernel(m, "first", &k), MX_OK);
  assert_ptr_equal(mx_module_kernel_at(m, 0), k);
  assert_null(mx_module_kernel_at(m, 2));
  assert_int_equal(mx_module_kernel(m, "third", &k2), MX_NOT_FOUND);
  expect_error_text(d, "'third'");
  mx_kernel_info info = {.struct_size = sizeof info};
  assert_int_equal(mx_kernel_get_info(k, &info), MX_OK);
  assert_string_equal(info.name, "first");
  assert_int_equal(info.lanes, 32);
  assert_int_equal(info.params, 3);
  assert_int_equal(info.param_bytes, 40);
  assert_int_equal(info.reqntid[0], 32);
  assert_int_equal(info.max_threads_per_block, 32);
  mx_param_info p = {.struct_size = sizeof p};
  assert_int_equal(mx_kernel_get_param(k, 1, &p), MX_OK);
  assert_string_equal(p.name, "n");
  assert_string_equal(p.type, "u32");
  assert_int_equal(p.offset, 8);
  assert_int_equal(mx_kernel_get_param(k, 2, &p), MX_OK);
  assert_int_equal(p.size, 24);
  assert_int_equal(mx_kernel_get_param(k, 3, &p), MX_INVALID_VALUE);
  assert_int_equal(mx_module_kernel(m, "second", &k2), MX_OK);
  assert_int_equal(mx_kernel_get_info(k2, &info), MX_OK);
  assert_int_equal(info.static_shared_bytes, 256);
  assert_int_equal(info.max_threads_per_block, 128);

  mx_addr counter, table, text;
  uint64_t n, t[3];
  uint32_t c;
  char s[8];
  assert_int_equal(mx_module_symbol(m, "counter", &counter, &n), MX_OK);
  assert_int_equal(n, 4);
  assert_int_equal(mx_copy_from_device(d, &c, counter, 4), MX_OK);
  assert_int_equal(c, 7);
  assert_int_equal(mx_module_symbol(m, "table", &table, &n), MX_OK);
  assert_int_equal(n, 24);
  assert_int_equal(mx_copy_from_device(d, t, table, 24), MX_OK);
  assert_int_equal(t[0], 1);
  assert_int_equal(t[1], counter);
  assert_int_equal(t[2], counter);
  assert_int_equal(mx_module_symbol(m, "text", &text, &n), MX_OK);
  assert_int_equal(mx_copy_to_device(d, text + 2, "!", 2), MX_OK);
  assert_int_equal(mx_copy_from_device(d, s, text, 8), MX_OK);
  assert_string_equal(s, "hi!");
  assert_int_equal(mx_module_symbol(m, "nothing", &text, &n), MX_NOT_FOUND);
  assert_int_equal(mx_free(d, counter), MX_INVALID_ADDRESS);
  assert_int_equal(mx_module_unload(m), MX_OK);
  assert_int_equal(mx_copy_from_device(d, &c, counter, 4), MX_INVALID_ADDRESS);
  expect_error_text(d, "freed variable 'counter'");
}

static void damaged_modules_are_refused(void **state) {
  (void)state;
  mx_asm_result *r = mx_assemble(program, sizeof program - 1, NULL);
  size_t n;
  const uint8_t *bytes = mx_asm_bytes(r, &n);
  assert_non_null(bytes);
  mx_module *m;
  uint8_t *copy = malloc(n);
  memcpy(copy, bytes, n);
  copy[n - 1] ^= 1;
  assert_int_equal(mx_module_load_data(d, copy, n, &m), MX_INVALID_MODULE);
  assert_null(m);
  assert_int_equal(mx_module_load_data(d, "", 0, &m), MX_INVALID_MODULE);
  assert_int_equal(mx_module_load_file(d, "/nonexistent/x.mxb", &m), MX_FILE_ERROR);
  expect_error_text(d, "/nonexistent/x.mxb");
  char name[] = "/tmp/mx-unit-XXXXXX";
  int fd = mkstemp(name);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, bytes, n), (ssize_t)n);
  close(fd);
  assert_int_equal(mx_module_load_file(d, name, &m), MX_OK);
  unlink(name);
  free(copy);
  mx_asm_free(r);
}

static void limits_have_ranges(void **state) {
  (void)state;
  uint64_t v;
  assert_int_equal(mx_limit_get(d, MX_LIMIT_HEAP, &v), MX_OK);
  assert_int_equal(v, 8 << 20);
  assert_int_equal(mx_limit_set(d, MX_LIMIT_RESIDENT_BLOCKS, 0), MX_INVALID_VALUE);
  expect_error_text(d, "resident blocks");
  assert_int_equal(mx_limit_set(d, MX_LIMIT_STACK, 65536), MX_OK);
  assert_int_equal(mx_limit_get(d, MX_LIMIT_STACK, &v), MX_OK);
  assert_int_equal(v, 65536);
  assert_int_equal(mx_limit_get(d, MX_LIMIT_COUNT, &v), MX_INVALID_VALUE);
  mx_device_properties p = {.struct_size = sizeof p};
  assert_int_equal(mx_device_get_properties(d, &p), MX_OK);
  assert_int_equal(p.max_threads_per_block, 1024);
  p.struct_size = 0;
  assert_int_equal(mx_device_get_properties(d, &p), MX_INVALID_VALUE);
}

static void a_reset_device_is_as_new(void **state) {
  (void)state;
  mx_addr a, b;
  char c;
  assert_int_equal(mx_alloc(d, 10, &a), MX_OK);
  load(program);
  assert_int_equal(mx_memset8(d, a, 1, 10), MX_OK);
  assert_int_equal(mx_device_reset(d), MX_OK);
  assert_int_equal(mx_copy_from_device(d, &c, a, 1), MX_INVALID_ADDRESS);
  assert_int_equal(mx_alloc(d, 10, &b), MX_OK);
  assert_int_equal(a, b);
  assert_int_equal(mx_copy_from_device(d, &c, b, 1), MX_OK);
  assert_int_equal(c, 0);
}

static void nothing_is_no_crash(void **state) {
  (void)state;
  mx_device_destroy(NULL);
  mx_device_interrupt(NULL);
  assert_null(mx_last_error_text(NULL));
  assert_int_equal(mx_device_reset(NULL), MX_INVALID_VALUE);
  assert_int_equal(mx_alloc(NULL, 1, NULL), MX_INVALID_VALUE);
  assert_int_equal(mx_alloc(d, 1, NULL), MX_INVALID_VALUE);
  assert_int_equal(mx_module_unload(NULL), MX_INVALID_VALUE);
  assert_int_equal(mx_launch(NULL, NULL, NULL, 0), MX_INVALID_VALUE);
  assert_string_equal(mx_status_name(MX_TRAPPED), "MX_TRAPPED");
  assert_string_equal(mx_status_text((mx_status)999), "unknown status");
  assert_string_equal(mx_trap_kind_name(MX_TRAP_SYNC), "SYNC");
  assert_int_equal(mx_version(), MX_VERSION_HEX);
  mx_device_options o = {.struct_size = 1000};
  mx_device *x;
  assert_int_equal(mx_device_create(&o, &x), MX_INVALID_VALUE);
  assert_null(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(copies_and_fills, set_up, tear_down),
      cmocka_unit_test_setup_teardown(ranges_are_checked_as_a_whole, set_up, tear_down),
      cmocka_unit_test_setup_teardown(memory_lies_where_another_run_had_it, set_up, tear_down),
      cmocka_unit_test_setup_teardown(managed_memory_is_one_memory, set_up, tear_down),
      cmocka_unit_test_setup_teardown(modules_have_kernels_and_variables, set_up, tear_down),
      cmocka_unit_test_setup_teardown(damaged_modules_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(limits_have_ranges, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_reset_device_is_as_new, set_up, tear_down),
      cmocka_unit_test_setup_teardown(nothing_is_no_crash, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
