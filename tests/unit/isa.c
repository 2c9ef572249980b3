/* The table as data: which rows analyses follow as sums, products and copies of integers, read off their meanings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/isa.h"

static void forms_are_read_off_meanings(void **state) {
  (void)state;
  static const char *const spelled[] = {
      [MX_FORM_COPY] = "mov.b32 mov.b64 createpolicy.cvt.L2.b64 ",
      [MX_FORM_EXTEND] = "cvt.u64.u32 cvt.u64.s32 ",
      [MX_FORM_ADD] = "add.u32 add.u64 ",
      [MX_FORM_SUB] = "sub.u32 sub.u64 ",
      [MX_FORM_MUL] = "mul.lo.u32 mul.lo.u64 mul.wide.u32 mul.wide.s32 ",
      [MX_FORM_MAD] = "mad.lo.u32 mad.lo.u64 mad.wide.u32 mad.wide.s32 ",
      [MX_FORM_SHIFT] = "shl.b32 shl.b64 ",
      [MX_FORM_SELECT] = "selp.b32 selp.b64 ",
      [MX_FORM_CUT] = "cvt.u32.u64 ",
      [MX_FORM_FIT] = "cvt.u64.u32 cvt.u64.s32 ",
      [MX_FORM_DOWN] = "shr.s32 shr.s64 ",
      [MX_FORM_DOWN_U] = "shr.u32 shr.u64 ",
      [MX_FORM_AND] = "and.b32 and.b64 ",
      [MX_FORM_OR] = "or.b32 or.b64 ",
  };
  for (unsigned form = MX_FORM_COPY; form < sizeof spelled / sizeof *spelled; form++) {
    char all[256] = "";
    for (unsigned op = 0; op < MX_OP_COUNT; op++)
      for (unsigned mod = 0; mod < mx__ops[op].mods; mod++)
        if (mx__form(op, mod) == form) {
          const size_t n = strlen(all);
          assert_true(n + 32 < sizeof all);
          mx__spell(&mx__ops[op], mod, all + n, sizeof all - n - 1);
          strcat(all, " ");
        }
    assert_string_equal(all, spelled[form]);
  }
}
/* Not modulo 2^32 or 2^64, or not of the whole register. */
static void other_rows_have_no_form(void **state) {
  (void)state;
  static const unsigned none[] = {MX_ADD_U16,  MX_MUL_WIDE_U16, MX_ADD_SAT_S32, MX_MUL_HI_U32, MX_ADD_F32,
                                  MX_MOV_PRED, MX_OR_PRED,      MX_DIV_U32,     MX_SREG_32,    MX_MOVI_32};
  for (size_t k = 0; k < sizeof none / sizeof *none; k++)
    for (unsigned mod = 0; mod < mx__ops[none[k]].mods; mod++) assert_int_equal(mx__form(none[k], mod), MX_FORM_OTHER);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(forms_are_read_off_meanings),
                                     cmocka_unit_test(other_rows_have_no_form)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
