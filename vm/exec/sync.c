/* Warp operations: the exchange of values between lanes, and the rendezvous of the .sync forms.
 *
 * A .sync operation is complete for a membermask when every lane of the mask that still lives stands at an instruction
 * of the same opcode and modifier with that mask; at any pc. Lanes with other masks at the same instruction are handled
 * as separate groups. Those that must wait become splits of their own, one for each mask. */
#include "hooks.h"

#include "core/format.h"
#include "warp.h"

#include <string.h>

#define MAX_IN 3
/* Operands of one operation, in the layout of slots: lane arrays of 32 or 64 bits, predicates as masks. */
struct operands {
  const void *in[MAX_IN];
  void *out[2];
};
typedef void (*mx_eval)(const struct mx_insn *i, unsigned lanes, uint64_t group, const struct operands *o);

/* ---- what the operations do, for the lanes of a group ---------------------------------------------------*/
static void eval_nothing(const struct mx_insn *i, unsigned lanes, uint64_t group, const struct operands *o) {
  (void)i, (void)lanes, (void)group, (void)o;
}

static void eval_vote(const struct mx_insn *i, unsigned lanes, uint64_t group, const struct operands *o) {
  (void)lanes;
  uint64_t p = *(const uint64_t *)o->in[0] & group;
  bool yes = i->mod == 0 ? p == group : i->mod == 1 ? p != 0 : p == group || p == 0;
  uint64_t *d = o->out[0];
  *d = yes ? *d | group : *d & ~group;
}

static void eval_ballot(const struct mx_insn *i, unsigned lanes, uint64_t group, const struct operands *o) {
  uint64_t p = *(const uint64_t *)o->in[0] & group;
  bool wide = mx__types[mx__ops[i->op].opnd[0].type].bits == 64;
  for (unsigned l = 0; l < lanes; l++)
    if (wide) ((uint64_t *)o->out[0])[l] = p;
    else ((uint32_t *)o->out[0])[l] = (uint32_t)p;
}

/* Modifier: up, down, bfly, idx. */
unsigned mx__shuffle_source(unsigned mod, unsigned l, unsigned lanes, uint32_t b, uint32_t c, bool *in_range) {
  const unsigned wrap = lanes - 1, clamp = c & wrap, segment = c >> 8 & wrap, by = b & wrap, low = l & segment;
  const unsigned last = low | (clamp & ~segment & wrap);
  unsigned j;
  switch (mod) {
  case 0: j = l - by, *in_range = (int)(l - by) >= (int)last; break;
  case 1: j = l + by, *in_range = j <= last; break;
  case 2: j = l ^ by, *in_range = j <= last; break;
  default: j = low | (by & ~segment), *in_range = j <= last;
  }
  return *in_range ? j : l;
}
/* A source lane outside of the group gives the lane its own value. */
static void eval_shfl(const struct mx_insn *i, unsigned lanes, uint64_t group, const struct operands *o) {
  const uint32_t *a = o->in[0], *b = o->in[1], *c = o->in[2];
  uint32_t *d = o->out[0];
  uint64_t in_range = 0;
  for (unsigned l = 0; l < lanes; l++) {
    bool good;
    const unsigned j = mx__shuffle_source(i->mod, l, lanes, b[l], c[l], &good);
    d[l] = a[group >> (j & 63) & 1 ? j : l];
    in_range |= (uint64_t)good << l;
  }
  if (o->out[1]) {
    uint64_t *p = o->out[1];
    *p = (*p & ~group) | (in_range & group);
  }
}

static uint64_t value_at(const void *p, bool wide, unsigned l) {
  return wide ? ((const uint64_t *)p)[l] : ((const uint32_t *)p)[l];
}
static void set_at(void *p, bool wide, unsigned l, uint64_t v) {
  if (wide) ((uint64_t *)p)[l] = v;
  else ((uint32_t *)p)[l] = (uint32_t)v;
}

static void eval_match_any(const struct mx_insn *i, unsigned lanes, uint64_t group, const struct operands *o) {
  const struct mx_op_info *info = &mx__ops[i->op];
  bool wide = mx__types[info->opnd[1].type].bits == 64, wide_mask = mx__types[info->opnd[0].type].bits == 64;
  (void)lanes;
  for (uint64_t left = group; left;) {
    uint64_t v = value_at(o->in[0], wide, (unsigned)__builtin_ctzll(left)), same = 0;
    MX_FOR_LANES (l, left) same |= (uint64_t)(value_at(o->in[0], wide, (unsigned)l) == v) << l;
    MX_FOR_LANES (l, same) set_at(o->out[0], wide_mask, (unsigned)l, same);
    left &= ~same;
  }
}

static void eval_match_all(const struct mx_insn *i, unsigned lanes, uint64_t group, const struct operands *o) {
  const struct mx_op_info *info = &mx__ops[i->op];
  unsigned nres = o->out[1] ? 2 : 1;
  bool wide = mx__types[info->opnd[nres].type].bits == 64, wide_mask = mx__types[info->opnd[0].type].bits == 64,
       all = true;
  (void)lanes;
  uint64_t v = value_at(o->in[0], wide, (unsigned)__builtin_ctzll(group));
  MX_FOR_LANES (l, group) all &= value_at(o->in[0], wide, (unsigned)l) == v;
  MX_FOR_LANES (l, group) set_at(o->out[0], wide_mask, (unsigned)l, all ? group : 0);
  if (o->out[1]) *(uint64_t *)o->out[1] = all ? group : 0;
}

static void eval_redux(const struct mx_insn *i, unsigned lanes, uint64_t group, const struct operands *o) {
  const uint32_t *a = o->in[0];
  unsigned type = mx__ops[i->op].opnd[0].type;
  uint32_t r = a[__builtin_ctzll(group)];
  (void)lanes;
  MX_FOR_LANES (l, group & (group - 1)) {
    uint32_t v = a[l];
    if (type == MX_T_b32) r = i->mod == 0 ? r & v : i->mod == 1 ? r | v : r ^ v;
    else if (i->mod == 0) r += v;
    else {
      bool less = type == MX_T_s32 ? (int32_t)v < (int32_t)r : v < r;
      r = less == (i->mod == 1) ? v : r;
    }
  }
  MX_FOR_LANES (l, group) ((uint32_t *)o->out[0])[l] = r;
}

static void eval_elect(const struct mx_insn *i, unsigned lanes, uint64_t group, const struct operands *o) {
  (void)i, (void)lanes;
  MX_FOR_LANES (l, group) ((uint32_t *)o->out[0])[l] = (uint32_t)__builtin_ctzll(group);
  *(uint64_t *)o->out[1] = group & -group;
}

static void eval_active(const struct mx_insn *i, unsigned lanes, uint64_t group, const struct operands *o) {
  bool wide = mx__types[mx__ops[i->op].opnd[0].type].bits == 64;
  for (unsigned l = 0; l < lanes; l++)
    if (wide) ((uint64_t *)o->out[0])[l] = group;
    else ((uint32_t *)o->out[0])[l] = (uint32_t)group;
}

/* ---- running one ----------------------------------------------------------------------------------------*/
static unsigned results_of(const struct mx_op_info *o) {
  unsigned n = 0;
  while (n < o->nopnds && o->opnd[n].role == MX_OUT) n++;
  return n;
}
static size_t lane_bytes(unsigned type) { return mx__types[type].slot_class == MX_R64 ? 8 : 4; }

static void put(void *slot, const void *from, unsigned type, uint64_t m, uint64_t full, unsigned lanes) {
  if (mx__types[type].slot_class == MX_PRED)
    *(uint64_t *)slot = (*(uint64_t *)slot & ~m) | (*(const uint64_t *)from & m);
  else if (m == full) memcpy(slot, from, lane_bytes(type) * lanes);
  else if (lane_bytes(type) == 4)
    MX_FOR_LANES (l, m) ((uint32_t *)slot)[l] = ((const uint32_t *)from)[l];
  else
    MX_FOR_LANES (l, m) ((uint64_t *)slot)[l] = ((const uint64_t *)from)[l];
}

/* For lanes `group` of the current split alone; nin operands count. */
static void run_here(struct mx_exec *x, const struct mx_insn *i, uint64_t group, unsigned nin, mx_eval eval) {
  const struct mx_op_info *o = &mx__ops[i->op];
  unsigned nres = results_of(o);
  uint64_t result[2][MX_MAX_LANES];
  struct operands v = {{0}, {0}};
  for (unsigned k = 0; k < nres; k++) v.out[k] = result[k];
  for (unsigned k = 0; k < nin; k++) v.in[k] = mx__operand(x, i->o[nres + k]);
  eval(i, x->lanes, group, &v);
  for (unsigned k = 0; k < nres; k++)
    put(mx__operand(x, i->o[k]), result[k], o->opnd[k].type, group, x->full, x->lanes);
}

static void *split_operand(const struct mx_split *s, mx_ref r) {
  return (r & 1 ? s->frame->fn->pool : s->frame->slots) + r;
}
/* Whether two splits wait in the same operation with the same mask, and so meet. */
static bool meets(const struct mx_split *s, const struct mx_insn *i, uint64_t mask) {
  return s->state == MX_WAIT_SYNC && s->sync_mask == mask && mx__insn_of(s)->op == i->op &&
         mx__insn_of(s)->mod == i->mod;
}

static mx_eval eval_of(mx_body body);

/* For waiting splits that meet, `group` lanes in all: values are gathered from their frames, results scattered to them.
 */
static void run_together(struct mx_exec *x, struct mx_warp *w, const struct mx_insn *like, uint64_t mask,
                         uint64_t group) {
  const struct mx_op_info *o = &mx__ops[like->op];
  unsigned nres = results_of(o), nin = o->nopnds - nres - 1;
  uint64_t in[MAX_IN][MX_MAX_LANES], result[2][MX_MAX_LANES];
  memset(in, 0, sizeof in);
  struct operands v = {{0}, {0}};
  for (unsigned k = 0; k < nres; k++) v.out[k] = result[k];
  for (unsigned k = 0; k < nin; k++) v.in[k] = in[k];
  for (uint32_t n = 0; n < w->nsplits; n++)
    if (meets(&w->splits[n], like, mask))
      for (unsigned k = 0; k < nin; k++)
        put(in[k], split_operand(&w->splits[n], mx__insn_of(&w->splits[n])->o[nres + k]), o->opnd[nres + k].type,
            w->splits[n].mask, x->full, x->lanes);
  MX_TELL(x->launch, meets, x, like, group);
  eval_of(x->prep->level->bodies[like->op])(like, x->lanes, group, &v);
  for (uint32_t n = 0; n < w->nsplits; n++) {
    struct mx_split *s = &w->splits[n];
    if (!meets(s, like, mask)) continue;
    const struct mx_insn *i = mx__insn_of(s);
    for (unsigned k = 0; k < nres; k++)
      put(split_operand(s, i->o[k]), result[k], o->opnd[k].type, s->mask, x->full, x->lanes);
    s->pc += mx_w_length(s->frame->fn->func->code[s->pc]);
    s->state = MX_RUNNABLE;
    s->spun = false;
  }
}

/* The lanes of all splits that wait in the same operation as this one. */
static uint64_t waiting(const struct mx_warp *w, const struct mx_insn *i, uint64_t mask) {
  uint64_t m = 0;
  for (uint32_t k = 0; k < w->nsplits; k++)
    if (meets(&w->splits[k], i, mask)) m |= w->splits[k].mask;
  return m;
}

char *mx__missing_lanes_text(uint64_t lanes) {
  return mx__format("all lanes of the warp must execute this together; those of the mask 0x%llx have ended, or the "
                    "block has no such threads",
                    (unsigned long long)lanes);
}
/* Raises a trap: lanes are at an instruction of the whole warp, and others have ended. */
static void trap_at_whole(struct mx_exec *x, const struct mx_split *s) {
  struct mx_trap t = {.kind = MX_TRAP_SYNC,
                      .func = s->frame->fn->number,
                      .pc = s->pc,
                      .warp = x->warp->number,
                      .lanes = s->mask,
                      .detail = mx__missing_lanes_text(x->full & ~x->warp->live)};
  memcpy(t.block, x->block->ctaid, sizeof t.block);
  mx__trap_raise(x->launch, &t);
}
void mx__sync_recheck(struct mx_exec *x, struct mx_warp *w) {
  for (uint32_t k = 0; k < w->nsplits; k++) {
    if (w->splits[k].state != MX_WAIT_SYNC) continue;
    const struct mx_insn *i = mx__insn_of(&w->splits[k]);
    uint64_t mask = w->splits[k].sync_mask, here = waiting(w, i, mask);
    if (mx__ops[i->op].flags & MX_F_WHOLE) {
      if (mask & ~w->live) trap_at_whole(x, &w->splits[k]);
      continue;
    }
    if ((mask & w->live) == here) run_together(x, w, i, mask, here);
  }
}

/* The member masks of lanes, which are the last operand of a .sync operation. */
struct masks {
  const void *of_lanes;
  bool wide;
};
static uint64_t mask_of(const struct masks *m, unsigned lane) { return value_at(m->of_lanes, m->wide, lane); }
/* Those of the lanes that name the same members as the first one. */
static uint64_t first_group(const struct masks *m, uint64_t lanes) {
  const uint64_t mask = mask_of(m, (unsigned)__builtin_ctzll(lanes));
  uint64_t group = 0;
  MX_FOR_LANES (l, lanes) group |= (uint64_t)(mask_of(m, (unsigned)l) == mask) << l;
  return group;
}
/* Whether no lane has to wait for another split, and no lane is missing from its own mask. */
static bool completes_here(const struct mx_exec *x, const struct masks *m) {
  for (uint64_t pending = x->mask; pending;) {
    const uint64_t group = first_group(m, pending), mask = mask_of(m, (unsigned)__builtin_ctzll(pending));
    if (group & ~mask || (mask & x->warp->live) != group) return false;
    pending &= ~group;
  }
  return true;
}
/* The body of every .sync row. Compiled code goes on with all its lanes behind it, so where some must wait nothing is
 * done for it: it leaves, and the interpreter executes the instruction. */
static const struct mx_insn *rendezvous(struct mx_exec *x, const struct mx_insn *i, mx_eval eval) {
  const struct mx_op_info *o = &mx__ops[i->op];
  unsigned nres = results_of(o), nin = o->nopnds - nres - 1u;
  const struct masks masks = {mx__operand(x, i->o[o->nopnds - 1]), mx__types[o->opnd[o->nopnds - 1].type].bits == 64};
  if (x->in_compiled && !completes_here(x, &masks)) return NULL;
  uint64_t pending = x->mask, waits = 0;
  struct {
    uint64_t mask, lanes;
  } groups[MX_MAX_LANES];
  unsigned ngroups = 0;
  while (pending) {
    const uint64_t group = first_group(&masks, pending), mask = mask_of(&masks, (unsigned)__builtin_ctzll(pending));
    if (group & ~mask) {
      char *text = mx__format("they call with the mask 0x%llx, which does not name them", (unsigned long long)mask);
      return mx__trap_at(x, i, MX_TRAP_SYNC, group & ~mask, text);
    }
    pending &= ~group;
    if ((mask & x->warp->live) == group) {
      MX_TELL(x->launch, meets, x, i, group);
      run_here(x, i, group, nin, eval);
    } else groups[ngroups].mask = mask, groups[ngroups++].lanes = group, waits |= group;
  }
  if (!waits) return i + 1;
  x->split->pc = i->pc;
  /* Each waiting group becomes a split; the last may be the current split itself, when no lane of it goes on. */
  bool some_go_on = waits != x->mask;
  for (unsigned k = 0; k < ngroups; k++) {
    struct mx_split *s =
        k + 1 == ngroups && !some_go_on ? x->split : mx__split_off(x, groups[k].lanes, i->pc, MX_WAIT_SYNC);
    s->state = MX_WAIT_SYNC;
    s->sync_mask = groups[k].mask;
  }
  if (some_go_on) x->split->pc = mx__next_pc(x, i);
  for (unsigned k = 0; k < ngroups; k++) {
    uint64_t here = waiting(x->warp, i, groups[k].mask);
    if ((groups[k].mask & x->warp->live) == here) run_together(x, x->warp, i, groups[k].mask, here);
  }
  return mx__next_split(x);
}

/* ---- bodies ---------------------------------------------------------------------------------------------*/
#define EACH_SYNC(X) \
  X(bar_warp, eval_nothing) \
  X(vote, eval_vote) \
  X(ballot, eval_ballot) \
  X(shfl, eval_shfl) X(match_any, eval_match_any) X(match_all, eval_match_all) X(redux, eval_redux) X(elect, eval_elect)
#define SYNC_BODY(name_, eval_) \
  const struct mx_insn *mx__op_##name_(struct mx_exec *x, const struct mx_insn *i) { return rendezvous(x, i, eval_); }
EACH_SYNC(SYNC_BODY)

/* Operations among the lanes that are active. */
#define ACTIVE_BODY(name_, nin_, eval_) \
  const struct mx_insn *mx__op_##name_(struct mx_exec *x, const struct mx_insn *i) { \
    uint64_t m = mx__lanes_of(x, i); \
    if (m) run_here(x, i, m, nin_, eval_); \
    return i + 1; \
  }
ACTIVE_BODY(activemask, 0, eval_active)
ACTIVE_BODY(vote_active, 1, eval_vote)
ACTIVE_BODY(ballot_active, 1, eval_ballot)
ACTIVE_BODY(shfl_active, 3, eval_shfl)

static mx_eval eval_of(mx_body body) {
#define BY_BODY(name_, eval_) {mx__op_##name_, eval_},
  static const struct {
    mx_body body;
    mx_eval eval;
  } by_body[] = {EACH_SYNC(BY_BODY)};
  for (size_t k = 0; k < sizeof by_body / sizeof by_body[0]; k++)
    if (body == by_body[k].body) return by_body[k].eval;
  return eval_nothing;
}
