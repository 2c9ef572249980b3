/* Inlined calls (inline.h): what remains of a call and a return when the callee's code stands in the call's place; and
 * what code knows about frames: their functions, whose bounds and literals it needs, and their local memory. */
#include "lowering.h"

#include "vm/exec/exec.h"
#include "vm/exec/jitabi.h"

#include <string.h>

#define X_FIELD(m_) MX_AT(exec, m_)

gcc_jit_rvalue *lw_fn(struct lw *l, uint32_t frame) {
  struct jx *j = &l->j;
  if (!frame) return jx_rv(l->fn);
  if (l->fn_of[frame]) return jx_rv(l->fn_of[frame]);
  gcc_jit_block *here = j->b;
  j->b = l->prologue;
  gcc_jit_rvalue *prepared = jx_rv(lw_field(l, l->x, X_FIELD(prep), j->t_pu8)),
                 *funcs = jx_rv(lw_field(l, prepared, MX_AT(prepared, funcs), j->t_pu8));
  l->fn_of[frame] = jx_local(j, j->t_pu8);
  jx_set(j, l->fn_of[frame], lw_at(l, funcs, (uint64_t)l->a->frames[frame].func * sizeof(struct mx_pfunc)));
  j->b = here;
  return jx_rv(l->fn_of[frame]);
}

/* ---- local memory -------------------------------------------------------------------------------------------*/
static gcc_jit_rvalue *of_frame(struct lw *l, uint64_t at, gcc_jit_type *t) {
  return jx_rv(lw_field(l, jx_rv(lw_field(l, l->x, X_FIELD(frame), l->j.t_pu8)), at, t));
}
/* Where local memory begins for the frame in which code was entered. */
static gcc_jit_rvalue *local_base(struct lw *l) {
  struct jx *j = &l->j;
  if (l->kernel) return lw_u64(l, 0);
  if (l->local) return jx_rv(l->local);
  gcc_jit_block *here = j->b;
  j->b = l->prologue;
  l->local = jx_local(j, j->t_u64);
  jx_set(j, l->local, of_frame(l, MX_AT(frame, local_base), j->t_u64));
  j->b = here;
  return jx_rv(l->local);
}
gcc_jit_rvalue *lw_local_memory(struct lw *l) {
  struct jx *j = &l->j;
  const struct ja_frame *f = &l->a->frames[l->ins->frame];
  const uint64_t at =
      f->local + (mx_w_operand(l->ins->w, 1) == MX_SR_LOCAL_TOP ? l->a->image->funcs[f->func].local_bytes : 0);
  return jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, local_base(l), lw_u64(l, at));
}

/* ---- calls and returns --------------------------------------------------------------------------------------*/
static gcc_jit_rvalue *limit(struct lw *l, uint64_t at) {
  gcc_jit_rvalue *launch = jx_rv(lw_field(l, l->x, X_FIELD(launch), l->j.t_pu8));
  return gcc_jit_context_new_cast(l->j.c, NULL, jx_rv(lw_field(l, launch, at, l->j.t_u32)), l->j.t_u64);
}
/* The condition that there are frames and local memory for all inlined calls. */
static gcc_jit_rvalue *has_room(struct lw *l) {
  struct jx *j = &l->j;
  const struct ja *a = l->a;
  if (l->room) return jx_rv(l->room);
  uint64_t levels = 0, local = 0;
  for (uint32_t k = 0; k < a->nframes; k++) {
    const struct ja_frame *f = &a->frames[k];
    const uint64_t end = f->local + a->image->funcs[f->func].local_bytes;
    levels = f->level > levels ? f->level : levels, local = end > local ? end : local;
  }
  gcc_jit_rvalue *base = local_base(l);
  gcc_jit_block *here = j->b;
  j->b = l->prologue;
  gcc_jit_rvalue *depth = lw_u64(l, levels);
  if (!l->kernel)
    depth = jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, depth,
                  gcc_jit_context_new_cast(j->c, NULL, of_frame(l, MX_AT(frame, depth), j->t_u32), j->t_u64));
  gcc_jit_rvalue *frames = lw_compare(l, GCC_JIT_COMPARISON_LT, depth, limit(l, MX_AT(launch, call_depth)));
  gcc_jit_rvalue *memory =
      lw_compare(l, GCC_JIT_COMPARISON_LE, jx_op(j, GCC_JIT_BINARY_OP_PLUS, j->t_u64, base, lw_u64(l, local)),
                 limit(l, MX_AT(launch, local_bytes)));
  l->room = jx_local(j, j->t_bool);
  jx_set(j, l->room,
         gcc_jit_context_new_binary_op(j->c, NULL, GCC_JIT_BINARY_OP_BITWISE_AND, j->t_bool, frames, memory));
  j->b = here;
  return jx_rv(l->room);
}
void lw_call(struct lw *l, uint32_t k) {
  struct jx *j = &l->j;
  const struct ja *a = l->a;
  gcc_jit_block *machine = lw_new_block(l, "machine"), *in = lw_new_block(l, "called"), *time = lw_new_block(l, "time");
  gcc_jit_lvalue *slice = lw_field(l, l->x, X_FIELD(slice), j->t_int);
  lw_split(l, has_room(l), time, machine);
  j->b = time;
  gcc_jit_rvalue *left = jx_keep(j, jx_op(j, GCC_JIT_BINARY_OP_MINUS, j->t_int, jx_rv(slice), jx_int(j, j->t_int, 1)));
  lw_split(l, lw_rare(l, lw_compare(l, GCC_JIT_COMPARISON_LE, left, jx_int(j, j->t_int, 0))), machine, in);
  j->b = machine;
  lw_leave(l, MX_JIT_GO, l->ins->pc, k, l->live, l->uni);
  j->b = in;
  jx_set(j, slice, left);
  for (uint32_t s = 0; l->ins->zero && s < a->nslots; s++) {
    const unsigned cls = lw_class(a, s);
    if (ja_has(l->ins->zero, s)) lw_set_one(l, s, jv_k(j, lw_bits_type(cls), 0).r[0]);
  }
  ja_ramp_step(a, l->ins, a->blocks[l->block].preserved, l->uni, l->ramps);
  ja_uniform_step(a, l->ins, a->blocks[l->block].preserved, l->uni);
  ja_float_step(a, l->ins, a->blocks[l->block].preserved, l->flt, l->raw);
  lw_saved_step(l);
}
void lw_return(struct lw *l, uint32_t k) {
  struct jx *j = &l->j;
  gcc_jit_block *others = lw_new_block(l, "others"), *on = lw_new_block(l, "returned");
  gcc_jit_rvalue *until = jx_rv(lw_field(l, l->x, X_FIELD(resched_rank), j->t_u32));
  lw_split(
      l, lw_rare(l, lw_compare(l, GCC_JIT_COMPARISON_LE, until, jx_int(j, j->t_u32, l->a->frames[l->ins->frame].rank))),
      others, on);
  j->b = others;
  lw_leave(l, MX_JIT_RETURN, l->ins->pc, k + 1, l->live + l->a->words, l->uni);
  j->b = on;
}
