/* Every row of intrinsics.def as an instruction: with registers of its types it assembles, without a suffix where these
 * are enough, and what it expands to is ordinary code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "intrinsic_text.h"
#include "mx/asm.h"

static void assembles(struct text *t) {
  mx_asm_result *r = mx_assemble(t->s, t->n, NULL);
  assert_non_null(r);
  unsigned unexpected = 0;
  for (size_t k = 0; k < mx_asm_diagnostic_count(r); k++) {
    const mx_asm_diagnostic *d = mx_asm_diagnostic_at(r, k);
    if (!strcmp(d->id, "read-before-write")) continue; /* the rows' inputs have no values */
    print_message("%s: %s\n", d->source_line, d->text);
    unexpected++;
  }
  assert_int_equal(unexpected, 0);
  assert_non_null(mx_asm_bytes(r, NULL));
  mx_asm_free(r);
  free(t->s);
}

static void every_row_assembles(void **state) {
  (void)state;
  for (int lanes = 32; lanes <= 64; lanes += 32) {
    struct text t = {0};
    put(&t, lanes == 32 ? ".target sm_90\n" : ".target mx64\n");
    for (unsigned k = 0; k < mx__intrinsic_count; k++)
      for (unsigned pick = 0;
           of_lanes(&mx__intrinsics[k], lanes) && pick < (strpbrk(mx__intrinsics[k].row.spelling, "{<") ? 4 : 1);
           pick++)
        put_kernel(&t, &mx__intrinsics[k], k, pick, true);
    assembles(&t);
  }
}

/* Types that are more than bits say which overload is meant, without a suffix. */
static void types_are_enough(void **state) {
  (void)state;
  struct text t = {0};
  for (unsigned k = 0; k < mx__intrinsic_count; k++) {
    bool bits = false;
    for (unsigned o = 0; o < mx__intrinsics[k].row.nopnds; o++) {
      const char *type = mx__types[mx__intrinsics[k].row.opnd[o].type].name;
      bits |= type[0] == 'b' && type[1] != 'f';
    }
    if (!bits && of_lanes(&mx__intrinsics[k], 64)) put_kernel(&t, &mx__intrinsics[k], k, 0, false);
  }
  assembles(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_row_assembles), cmocka_unit_test(types_are_enough)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
