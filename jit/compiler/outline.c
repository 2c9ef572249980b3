/* An instruction's results from its row's meaning, chunk by chunk: in line, or, where that takes many statements, by a
 * function of the object that is built once for all instructions of its kind. So a row with a long meaning costs only a
 * call at every place but the first. The function is built from the same meaning. */
#include "meaning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An instruction is called if a chunk of it takes at least so many statements; a call with its operands takes about
 * four. With shorter vectors there are more chunks. */
static unsigned long_one(const struct jx *j) { return 2 * j->w + 8; }

/* What distinguishes kinds of instructions: row, modifier, constant operands, fields of the instruction itself, whether
 * operands are uniform, whether results are made canonical. */
struct kind {
  uint16_t op, field[3];
  uint8_t modifier, constants;
  bool same, canon;
};
static struct outlined {
  struct kind kind;
  enum { NO_FORM, IN_LINE, CALLED } how;
  gcc_jit_function *f;
  gcc_jit_type *results;
  gcc_jit_field *field[4]; /* if it returns several vectors */
  bool multiplies;
} * known; /* of the one object that this process makes */
static unsigned nknown, room, nbuilt;

static unsigned vectors(unsigned type, bool same) { return jx_wide(type) && !same ? 2 : 1; }

/* Computes the meaning's results in the types of their registers. */
static void expand(struct jx *j, const struct kind *k, const jv *in, jv *d, jv *q) {
  const struct mx_op_info *o = &mx__ops[k->op];
  *q = (jv){0};
  *d = jx_meanings[k->op](j, k->modifier, in, q);
  *d = jv_cvt(j, o->opnd[0].type, d->t, *d);
  const bool two = q->r[0];
  if (two) {
    *q = jv_cvt(j, o->opnd[1].type, q->t, *q);
    for (unsigned h = 0; h < 2; h++) /* the first result may overwrite the operand of the second */
      if (q->r[h]) q->r[h] = jx_keep(j, q->r[h]);
  }
  if (!k->canon) return;
  *d = jv_canon(j, o->opnd[0].type, *d);
  if (two) *q = jv_canon(j, o->opnd[1].type, *q);
}

/* Whether operand k is passed in calls: all are, in order, each as its vectors, except fields of the instruction. */
static bool passed(const struct mx_op_info *o, unsigned nout, unsigned k) { return o->opnd[nout + k].type < MX_T_raw; }
enum { MOST = 16 };

/* Builds the function, with constants as constants if `constants`. Returns how many statements it has. */
static unsigned build(struct jx *j, struct outlined *to, const jv *in, unsigned nin, bool constants) {
  const struct kind *k = &to->kind;
  const struct mx_op_info *o = &mx__ops[k->op];
  const unsigned nout = o->nopnds - nin;
  gcc_jit_param *param[MOST];
  unsigned n = 0;
  jv inside[8];
  char name[64];
  for (unsigned i = 0; i < nin; i++) {
    inside[i] = in[i];
    if (!passed(o, nout, i) || (constants && in[i].k)) continue;
    inside[i].k = false, inside[i].u = k->same, inside[i].low = 0;
    for (unsigned h = 0; h < vectors(in[i].t, k->same); h++) {
      snprintf(name, sizeof name, "in%u_%u", i, h);
      param[n] = gcc_jit_context_new_param(j->c, NULL, jx_type(j, in[i].t), name);
      inside[i].r[h] = gcc_jit_param_as_rvalue(param[n++]);
    }
    if (vectors(in[i].t, k->same) == 1) inside[i].r[1] = inside[i].r[0];
  }
  gcc_jit_type *type = jx_type(j, o->opnd[0].type);
  unsigned nresults = 0;
  for (unsigned r = 0; r < nout; r++)
    for (unsigned h = 0; h < vectors(o->opnd[r].type, k->same); h++) {
      snprintf(name, sizeof name, "out%u_%u", r, h);
      to->field[nresults++] = gcc_jit_context_new_field(j->c, NULL, jx_type(j, o->opnd[r].type), name);
    }
  snprintf(name, sizeof name, "row_%s_%u", o->id, nbuilt++);
  if (nresults > 1) {
    gcc_jit_struct *s = gcc_jit_context_new_struct_type(j->c, NULL, name, (int)nresults, to->field);
    type = to->results = gcc_jit_struct_as_type(s);
  }
  gcc_jit_function *const caller = j->fn;
  gcc_jit_block *const here = j->b;
  to->f = j->fn = gcc_jit_context_new_function(j->c, NULL, GCC_JIT_FUNCTION_INTERNAL, type, name, (int)n, param, 0);
  j->b = gcc_jit_function_new_block(to->f, "begin");
  jv result[2];
  const unsigned before = j->serial;
  const bool may_doubt = j->may_doubt;
  j->may_doubt = false; /* whoever calls it does not see the value */
  expand(j, k, inside, &result[0], &result[1]);
  j->may_doubt = may_doubt;
  const unsigned statements = j->serial - before;
  if (j->bad) gcc_jit_block_end_with_return(j->b, NULL, jx_rv(jx_local(j, type)));
  else if (nresults > 1) {
    gcc_jit_lvalue *all = jx_local(j, type);
    for (unsigned r = 0, f = 0; r < nout; r++)
      for (unsigned h = 0; h < vectors(o->opnd[r].type, k->same); h++, f++)
        jx_set(j, gcc_jit_lvalue_access_field(all, NULL, to->field[f]),
               jx_bits(j, jx_type(j, o->opnd[r].type), result[r].r[h]));
    gcc_jit_block_end_with_return(j->b, NULL, jx_rv(all));
  } else gcc_jit_block_end_with_return(j->b, NULL, jx_bits(j, type, result[0].r[0]));
  j->fn = caller, j->b = here;
  return statements;
}
static void call(struct jx *j, const struct outlined *to, const jv *in, unsigned nin, jv *d, jv *q) {
  const struct kind *k = &to->kind;
  const struct mx_op_info *o = &mx__ops[k->op];
  const unsigned nout = o->nopnds - nin;
  gcc_jit_rvalue *arg[MOST];
  unsigned n = 0;
  for (unsigned i = 0; i < nin; i++)
    for (unsigned h = 0; passed(o, nout, i) && h < vectors(in[i].t, k->same); h++)
      arg[n++] = jx_bits(j, jx_type(j, in[i].t), in[i].r[h]);
  gcc_jit_rvalue *got = gcc_jit_context_new_call(j->c, NULL, to->f, (int)n, arg);
  jv *const result[2] = {d, q};
  if (!to->results) {
    *d = jx_fresh(o->opnd[0].type, k->same);
    d->r[0] = d->r[1] = jx_keep(j, got);
    return;
  }
  gcc_jit_lvalue *all = jx_local(j, to->results);
  jx_set(j, all, got);
  for (unsigned r = 0, f = 0; r < nout; r++) {
    *result[r] = jx_fresh(o->opnd[r].type, k->same);
    for (unsigned h = 0; h < 2; h++)
      result[r]->r[h] = h && vectors(o->opnd[r].type, k->same) == 1
                            ? result[r]->r[0]
                            : jx_keep(j, jx_rv(gcc_jit_lvalue_access_field(all, NULL, to->field[f++])));
  }
}

/* Decides how instructions of that kind are built, and builds the function for that. A function that is then not called
 * costs next to nothing: the compiler drops it at once. */
static struct outlined *look_up(struct jx *j, const struct kind *k, const jv *in, unsigned nin) {
  for (unsigned n = 0; n < nknown; n++)
    if (!memcmp(&known[n].kind, k, sizeof *k)) return &known[n];
  if (nknown == room && !(known = realloc(known, sizeof *known * (room = room ? 2 * room : 32))))
    abort(); /* a process of its own */
  struct outlined *new = &known[nknown++];
  *new = (struct outlined){.kind = *k, .how = IN_LINE};
  j->multiplies = false;
  const unsigned statements = build(j, new, in, nin, true);
  new->multiplies = j->multiplies;
  if (!j->bad && statements > long_one(j)) {
    new->how = CALLED;
    if (k->constants) build(j, new, in, nin, false); /* one function for all constants */
  }
  if (j->bad) new->how = NO_FORM;
  j->bad = false;
  return new;
}
static struct kind kind_of(unsigned op, unsigned modifier, bool canon, const jv *in, unsigned nin) {
  const struct mx_op_info *o = &mx__ops[op];
  struct kind k;
  memset(&k, 0, sizeof k); /* it is compared byte by byte */
  k.op = (uint16_t)op, k.modifier = (uint8_t)modifier, k.canon = canon, k.same = true;
  for (unsigned i = 0, fields = 0; i < nin; i++) {
    if (!passed(o, o->nopnds - nin, i)) k.field[fields++] = (uint16_t)in[i].kv;
    else k.same &= in[i].u, k.constants |= (uint8_t)(in[i].k << i);
  }
  return k;
}

bool jx_row_exists(struct jx *j, unsigned op, unsigned modifier, const jv *in, unsigned nin) {
  const struct kind k = kind_of(op, modifier, false, in, nin);
  return look_up(j, &k, in, nin)->how != NO_FORM;
}
bool jx_row(struct jx *j, unsigned op, unsigned modifier, bool canon, const jv *in, unsigned nin, gcc_jit_rvalue *lanes,
            jv *d, jv *q) {
  const struct mx_op_info *o = &mx__ops[op];
  struct kind k = kind_of(op, modifier, canon, in, nin);
  if (j->bad) return false;
  *q = (jv){0};
  if (jx_shortcut(j, op, modifier, in, d)) {
    *d = jv_cvt(j, o->opnd[0].type, d->t, *d);
    if (canon) *d = jv_canon(j, o->opnd[0].type, *d);
    return !j->bad;
  }
  const struct outlined *to = j->w == 1 ? NULL : look_up(j, &k, in, nin);
  jv some[8];
  if (to && to->multiplies && lanes && jx_float(in[0].t)) {
    memcpy(some, in, sizeof *in * nin);
    some[0] = jv_only(j, in[0].t, lanes, in[0]);
    in = some;
    k = kind_of(op, modifier, canon, in, nin);
    to = look_up(j, &k, in, nin);
  }
  if (to && to->how == NO_FORM) return false;
  if (to && to->how == CALLED) call(j, to, in, nin, d, q);
  else expand(j, &k, in, d, q);
  return !j->bad;
}
