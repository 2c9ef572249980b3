/* Conditions as tests that compiled code asks by itself (mx_debug_break_test), so that a breakpoint whose condition is
 * false costs little. A condition with something that tests cannot say (memory, division, lanes by number ...) has
 * none: the session then asks as ever. */
#include "expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 200 };
struct test {
  mx_debug_test step[MOST_STEPS];
  size_t n;
  int64_t lane; /* the only one that counts; -1: all */
};

static bool add(struct test *t, mx_debug_test step) {
  if (t->n == MOST_STEPS) return false;
  step.struct_size = sizeof step;
  t->step[t->n++] = step;
  return true;
}
static bool op(struct test *t, mx_debug_test_op o) { return add(t, (mx_debug_test){.op = o}); }
static bool integer(struct test *t, int64_t v) {
  return add(t, (mx_debug_test){.op = MX_DEBUG_TEST_INT, .bits = (uint64_t)v});
}
static bool real(struct test *t, double v) {
  mx_debug_test s = {.op = MX_DEBUG_TEST_REAL};
  memcpy(&s.bits, &v, sizeof v);
  return add(t, s);
}

static bool constant(struct test *t, const struct expression *e) {
  if (e->kind == VALUE_REAL) return real(t, e->real);
  unsigned unused = e->type && e->kind == VALUE_SIGNED ? 64 - 8 * e->type->size : 0;
  return integer(t, (int64_t)(e->bits << unused) >> unused);
}

static bool cell(struct test *t, const struct expression *e) {
  return (e->pred || e->cell.bits >= 32) && add(t, (mx_debug_test){.op = MX_DEBUG_TEST_CELL, .cell = e->cell});
}

static bool only_this_lane(struct test *t) {
  return t->lane < 0 ||
         (op(t, MX_DEBUG_TEST_LANE) && integer(t, t->lane) && op(t, MX_DEBUG_TEST_EQ) && op(t, MX_DEBUG_TEST_AND));
}

static bool translate(struct test *t, const struct expression *e);

static bool two(struct test *t, const struct expression *e, mx_debug_test_op o) {
  return translate(t, e->a) && translate(t, e->b) && op(t, o);
}

static bool compared(struct test *t, const struct expression *e) {
  static const mx_debug_test_op as_signed[] = {MX_DEBUG_TEST_EQ, MX_DEBUG_TEST_NE, MX_DEBUG_TEST_LT,
                                               MX_DEBUG_TEST_LE, MX_DEBUG_TEST_GT, MX_DEBUG_TEST_GE},
                                as_unsigned[] = {MX_DEBUG_TEST_EQ,          MX_DEBUG_TEST_NE,
                                                 MX_DEBUG_TEST_LT_UNSIGNED, MX_DEBUG_TEST_LE_UNSIGNED,
                                                 MX_DEBUG_TEST_GT_UNSIGNED, MX_DEBUG_TEST_GE_UNSIGNED};
  bool both = e->a->kind == VALUE_UNSIGNED && e->b->kind == VALUE_UNSIGNED;
  return two(t, e, (both ? as_unsigned : as_signed)[e->op - OP_EQ]);
}

static bool translate(struct test *t, const struct expression *e) {
  switch (e->op) {
  case OP_CONST: return constant(t, e);
  case OP_CELL: return cell(t, e);
  case OP_NEGATE:
    return (e->kind == VALUE_REAL ? real(t, -0.0) : integer(t, 0)) && translate(t, e->a) && op(t, MX_DEBUG_TEST_SUB);
  case OP_NOT: return translate(t, e->a) && op(t, MX_DEBUG_TEST_NOT);
  case OP_COMPLEMENT:
    if (e->pred) return translate(t, e->a) && op(t, MX_DEBUG_TEST_NOT);
    return translate(t, e->a) && integer(t, -1) && op(t, MX_DEBUG_TEST_BITS_XOR);
  case OP_OROR: return two(t, e, MX_DEBUG_TEST_OR);
  case OP_ANDAND: return two(t, e, MX_DEBUG_TEST_AND);
  case OP_OR: return two(t, e, MX_DEBUG_TEST_BITS_OR);
  case OP_XOR: return two(t, e, MX_DEBUG_TEST_BITS_XOR);
  case OP_AND: return two(t, e, MX_DEBUG_TEST_BITS_AND);
  case OP_ADD: return two(t, e, MX_DEBUG_TEST_ADD);
  case OP_SUB: return two(t, e, MX_DEBUG_TEST_SUB);
  case OP_MUL: return two(t, e, MX_DEBUG_TEST_MUL);
  case OP_EQ:
  case OP_NE:
  case OP_LT:
  case OP_LE:
  case OP_GT:
  case OP_GE: return compared(t, e);
  case OP_ISNAN:
    return e->a->kind == VALUE_REAL ? translate(t, e->a) && translate(t, e->a) && op(t, MX_DEBUG_TEST_NE)
                                    : integer(t, 0);
  case OP_ANY: return translate(t, e->a) && only_this_lane(t) && op(t, MX_DEBUG_TEST_ANY);
  case OP_ALL:
    return translate(t, e->a) && op(t, MX_DEBUG_TEST_NOT) && only_this_lane(t) && op(t, MX_DEBUG_TEST_ANY) &&
           op(t, MX_DEBUG_TEST_NOT);
  default: return false;
  }
}

static bool and_number(struct test *t, int64_t n, mx_debug_test_op what) {
  return n < 0 || (op(t, what) && integer(t, n) && op(t, MX_DEBUG_TEST_EQ) && op(t, MX_DEBUG_TEST_AND));
}

void point_tell_test(struct repl *r, const struct point *p) {
  mx_debug_breakpoint b = {.struct_size = sizeof b};
  size_t n = 0;
  while (mx_debug_break_at(r->g, n, &b) == MX_OK && b.number != p->inner) n++;
  if (b.number != p->inner || b.places != 1 || r->over) return;
  mx_debug_point at = {.pc = b.pc, .function = b.function};
  char *why = NULL;
  struct expression *e = p->condition ? expression_compile(r, p->condition, NULL, &at, &why) : NULL;
  struct test t = {.lane = p->lane};
  if ((p->condition ? e && translate(&t, e) : integer(&t, 1)) && and_number(&t, p->block, MX_DEBUG_TEST_BLOCK) &&
      and_number(&t, p->warp, MX_DEBUG_TEST_WARP) && and_number(&t, p->lane, MX_DEBUG_TEST_LANE))
    mx_debug_break_test(r->g, p->inner, t.step, t.n);
  expression_free(e);
  free(why);
}
