/* What joins assembler and machine (api/), who frees texts, constant memory, and what mx_free says. */
#include "mx/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "on_device.h"

static const char program[] = ".visible .global .align 4 .u32 counter;\n"
                              ".entry piece(.param .u64 out)\n{\n"
                              "  malloc %p, 64;\n  st.global.u64 [%out], %p;\n  ret;\n}\n"
                              ".entry constant(.param .u64 offset, .param .u64 address, .param .u64 out)\n{\n"
                              "  ld.const.u32 %v, [%offset+4];\n  ld.u32 %w, [%address+4];\n  add.u32 %v, %v, %w;\n  "
                              "st.global.u32 [%out], %v;\n  ret;\n}\n";

static mx_device *d;

static int set_up(void **state) {
  (void)state;
  return mx_device_create(NULL, &d) == MX_OK ? 0 : -1;
}
static int tear_down(void **state) {
  (void)state;
  mx_device_destroy(d);
  return 0;
}
static mx_kernel *kernel(const char *name) {
  mx_module *m;
  mx_kernel *k;
  assert_int_equal(load_text(d, program, NULL, &m), MX_OK);
  assert_int_equal(mx_module_kernel(m, name, &k), MX_OK);
  return k;
}

static void texts_are_loaded(void **state) {
  (void)state;
  static const char wrong[] = ".entry k() { adx.u32 %a, 1, 2; bra nowhere; }\n";
  mx_module *m = NULL;
  char *messages;
  mx_asm_options o = MX_ASM_OPTIONS_INIT;
  o.file_name = "wrong.mxs";
  kernel("piece");
  assert_int_equal(mx_module_load_text(d, wrong, sizeof wrong - 1, &o, &m, &messages), MX_INVALID_MODULE);
  assert_null(m);
  assert_non_null(strstr(messages, "wrong.mxs:1:14: error: unknown instruction 'adx'"));
  assert_non_null(strstr(messages, "label 'nowhere' is not defined"));
  mx_text_free(messages);
  mx_text_free(NULL);
  assert_int_equal(mx_module_load_text(d, wrong, sizeof wrong - 1, &o, &m, NULL), MX_INVALID_MODULE);
  o.struct_size = 0;
  assert_int_equal(mx_module_load_text(d, wrong, sizeof wrong - 1, &o, &m, &messages), MX_INVALID_VALUE);
  assert_null(mx_assemble(wrong, sizeof wrong - 1, &o));
  o.struct_size = sizeof o + 8; /* of a later library */
  assert_null(mx_assemble(wrong, sizeof wrong - 1, &o));
  o.struct_size = offsetof(mx_asm_options, allow_include); /* of an earlier one */
  mx_asm_result *r = mx_assemble(wrong, sizeof wrong - 1, &o);
  assert_int_equal(mx_asm_diagnostic_count(r), 2);
  const mx_asm_diagnostic *x = mx_asm_diagnostic_at(r, 0);
  assert_int_equal(x->struct_size, sizeof *x);
  assert_string_equal(x->id, "unknown-mnemonic");
  assert_string_equal(x->file, "wrong.mxs");
  assert_null(mx_asm_diagnostic_at(r, 2));
  assert_null(mx_asm_bytes(r, NULL));
  mx_asm_free(r);
  assert_null(mx_assemble(NULL, 1, NULL));
  assert_null(mx_asm_bytes(NULL, NULL));
  assert_int_equal(mx_asm_diagnostic_count(NULL), 0);
}

static void bytes_become_text(void **state) {
  (void)state;
  mx_asm_result *r = mx_assemble(program, sizeof program - 1, NULL);
  size_t size, again;
  const uint8_t *bytes = mx_asm_bytes(r, &size);
  char *why, *text = mx_disassemble(bytes, size, &why);
  assert_non_null(text);
  assert_null(why);
  assert_non_null(strstr(text, ".entry piece"));
  mx_asm_result *back = mx_assemble(text, strlen(text), NULL);
  const uint8_t *same = mx_asm_bytes(back, &again);
  assert_int_equal(again, size);
  assert_memory_equal(same, bytes, size);
  mx_asm_free(back);
  mx_text_free(text);
  assert_null(mx_disassemble(bytes, size - 1, &why));
  assert_non_null(why);
  mx_text_free(why);
  assert_null(mx_disassemble(bytes, size - 1, NULL));
  assert_null(mx_disassemble(NULL, 0, &why));
  mx_text_free(why);
  mx_asm_free(r);
}

static void constant_memory(void **state) {
  (void)state;
  mx_kernel *k = kernel("constant");
  mx_addr address, offset, out;
  uint64_t limit;
  uint32_t v[2] = {5, 21};
  assert_int_equal(mx_alloc_constant(d, sizeof v, &address, &offset), MX_OK);
  assert_int_equal(mx_copy_to_device(d, address, v, sizeof v), MX_OK);
  assert_int_equal(mx_alloc(d, 4, &out), MX_OK);
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  const void *args[] = {&offset, &address, &out};
  assert_int_equal(mx_launch_args(k, &c, args, 3), MX_OK);
  assert_int_equal(mx_copy_from_device(d, v, out, 4), MX_OK);
  assert_int_equal(v[0], 42);
  assert_int_equal(mx_free(d, address), MX_OK);
  assert_int_equal(mx_launch_args(k, &c, args, 3), MX_TRAPPED);
  expect_error_text(d, "freed buffer #1");
  assert_int_equal(mx_device_reset(d), MX_OK);
  assert_int_equal(mx_limit_get(d, MX_LIMIT_CONSTANT, &limit), MX_OK);
  assert_int_equal(limit, 65536);
  assert_int_equal(mx_alloc_constant(d, 65537, &address, NULL), MX_OUT_OF_DEVICE_MEMORY);
  expect_error_text(d, "65537 bytes, the limit of constant memory is 65536");
  assert_int_equal(mx_limit_set(d, MX_LIMIT_CONSTANT, 32 << 20), MX_OK);
  assert_int_equal(mx_alloc_constant(d, 32 << 20, &address, NULL), MX_OK);
  assert_int_equal(mx_alloc_constant(d, 32 << 20, NULL, &offset), MX_OUT_OF_DEVICE_MEMORY); /* the window is full */
  assert_int_equal(offset, 0);
}

static void what_cannot_be_freed(void **state) {
  (void)state;
  mx_kernel *k = kernel("piece");
  mx_module *m;
  mx_addr out, piece, variable;
  assert_int_equal(mx_alloc(d, 8, &out), MX_OK);
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  const void *args[] = {&out};
  assert_int_equal(mx_launch_args(k, &c, args, 1), MX_OK);
  assert_int_equal(mx_copy_from_device(d, &piece, out, 8), MX_OK);
  assert_int_equal(mx_free(d, piece), MX_INVALID_ADDRESS);
  expect_error_text(d, "is memory that a kernel got by malloc");
  assert_int_equal(mx_module_load_text(d, program, sizeof program - 1, NULL, &m, NULL), MX_OK);
  assert_int_equal(mx_module_symbol(m, "counter", &variable, NULL), MX_OK);
  assert_int_equal(mx_free(d, variable), MX_INVALID_ADDRESS);
  expect_error_text(d, "is in variable 'counter': unloading its module frees it");
  assert_int_equal(mx_free(d, out + 1), MX_INVALID_ADDRESS);
  expect_error_text(d, "is not the start of an allocation: 1 byte into buffer #1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(texts_are_loaded, set_up, tear_down),
      cmocka_unit_test(bytes_become_text),
      cmocka_unit_test_setup_teardown(constant_memory, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_cannot_be_freed, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
