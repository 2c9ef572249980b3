/* The interpreter's own bodies: those of OPX rows, and the pseudo-instruction at reconvergence points. */
#ifndef MX_VM_INTERP_H
#define MX_VM_INTERP_H

#include "core/format.h" /* a trap's detail is a formatted text */
#include "exec.h"
#include "trap.h"

/* Declares the function that each OPX row names. */
#define OP(...)
#define OPF(...)
#define OPM(...)
#define OPX(id_, spelling_, shape_, cls_, mods_, flags_, doc_, fn_) \
  const struct mx_insn *mx__op_##fn_(struct mx_exec *x, const struct mx_insn *i);
#include "core/opcodes.def"
const struct mx_insn *mx__op_join(struct mx_exec *x, const struct mx_insn *i);

/* The lanes that execute i now: the split's, without those whose guard is false. */
static inline uint64_t mx__lanes_of(const struct mx_exec *x, const struct mx_insn *i) {
  if (i->guard == MX_GUARD_NONE) return x->mask;
  uint64_t p = ((const uint64_t *)x->base[0])[i->guard];
  return x->mask & (i->guard_neg ? ~p : p);
}
static inline void *mx__operand(const struct mx_exec *x, mx_ref r) { return x->base[r & 1] + r; }
/* The pc behind i. */
static inline uint32_t mx__next_pc(const struct mx_exec *x, const struct mx_insn *i) {
  return i->pc + mx_w_length(x->fn->func->code[i->pc]);
}

/* Raises a trap at i for `lanes`; detail is malloc'ed or NULL and is taken over. Always NULL, x->event is set. */
const struct mx_insn *mx__trap_at(struct mx_exec *x, const struct mx_insn *i, mx_trap_kind kind, uint64_t lanes,
                                  char *detail);

/* MX_TURN_ALL_ARRIVED: the turn has not ended, but compiled code may take over all warps. */
enum mx_turn { MX_TURN_DONE, MX_TURN_BLOCKED, MX_TURN_SPUN, MX_TURN_STOPPED, MX_TURN_ALL_ARRIVED };
enum mx_turn mx__warp_run(struct mx_exec *x, struct mx_warp *w);
/* The rest of a turn that another engine began, from instruction i on or, if that is NULL, with x->event. */
enum mx_turn mx__warp_go_on(struct mx_exec *x, struct mx_warp *w, const struct mx_insn *i);

#endif
