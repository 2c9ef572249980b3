/* Every row of intrinsics.def as an instruction: with registers of its types it assembles, without a suffix where these are
 * enough, and what it expands to is ordinary code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mx/asm.h"
#include "mx/intrinsics.h"

struct text { char *s; size_t n, room; };
__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...) {
  va_list a;
  if (t->room - t->n < 512) t->s = realloc(t->s, t->room = 2 * t->room + 4096);
  assert_non_null(t->s);
  va_start(a, format);
  t->n += (size_t)vsnprintf(t->s + t->n, t->room - t->n, format, a);
  va_end(a);
  assert_true(t->n < t->room);
}

/* The spelling with alternative `pick` of each group (the last one if there are fewer), optional suffixes if asked. */
static void put_spelling(struct text *t, const char *p, unsigned pick, bool suffix) {
  while (*p) {
    size_t n = strcspn(p, "{<[");
    put(t, "%.*s", (int)n, p);
    p += n;
    if (!*p) return;
    const char open = *p, *end = strpbrk(p, "}>]");
    if (open == '[') {
      if (suffix) put(t, "%.*s", (int)strcspn(p + 1, "|]"), p + 1);
      p = end + 1;
      continue;
    }
    for (unsigned k = 0; k < pick && memchr(p + 1, '|', (size_t)(end - p - 1)); k++) p += 1 + strcspn(p + 1, "|");
    put(t, "%.*s", (int)strcspn(p + 1, "|}>"), p + 1);
    p = end + 1;
  }
}

/* A kernel of this one instruction, unguarded and guarded. */
static void put_kernel(struct text *t, const struct mx_intrinsic *i, unsigned number, unsigned pick, bool suffix) {
  put(t, ".entry k%u_%u() {\n.reg .pred %%on;\n", number, pick);
  for (unsigned k = 0; k < i->row.nopnds; k++)
    if (i->row.opnd[k].type < MX_T_raw) put(t, ".reg .%s %%o%u;\n", mx__types[i->row.opnd[k].type].name, k);
  for (int guarded = 0; guarded < 2; guarded++) {
    put(t, guarded ? "@%%on " : "");
    put_spelling(t, i->row.spelling, pick, suffix);
    for (unsigned k = 0; k < i->row.nopnds; k++) {
      const struct mx_opnd *o = &i->row.opnd[k];
      put(t, k && o->type != MX_T_off ? ", " : " ");
      if (k + 1 < i->row.nopnds && o[1].type == MX_T_off) put(t, "[%%o%u+8]", k);
      else if (o->type == MX_T_raw) put(t, "1");
      else if (o->type != MX_T_off) put(t, "%%o%u", k);
    }
    put(t, ";\n");
  }
  put(t, "ret;\n}\n");
}

static void assembles(struct text *t) {
  mx_asm_result *r = mx_assemble(t->s, t->n, NULL);
  assert_non_null(r);
  const mx_asm_diagnostic *list;
  size_t n = mx_asm_diagnostics(r, &list);
  for (size_t k = 0; k < n; k++) print_message("%s: %s\n", list[k].source_line, list[k].text);
  assert_int_equal(n, 0);
  assert_non_null(mx_asm_bytes(r, NULL));
  mx_asm_free(r);
  free(t->s);
}

static bool of_lanes(const struct mx_intrinsic *i, int lanes) { return !(i->row.flags & (lanes == 32 ? MX_F_W64 : MX_F_W32)); }

static void every_row_assembles(void **state) {
  (void)state;
  for (int lanes = 32; lanes <= 64; lanes += 32) {
    struct text t = {0};
    put(&t, lanes == 32 ? ".target sm_90\n" : ".target mx64\n");
    for (unsigned k = 0; k < mx__intrinsic_count; k++)
      for (unsigned pick = 0; of_lanes(&mx__intrinsics[k], lanes) && pick < (strpbrk(mx__intrinsics[k].row.spelling, "{<") ? 4 : 1); pick++)
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
