/* The body of instructions at the entries of compiled code; see attach.h. */
#include "attach.h"

#include "hooks.h"
#include "launch.h"
#include "warp.h"

#include <stdlib.h>

enum mx_exit_reason mx__exit_reason(const struct mx_exec *x, const struct mx_insn *next) {
  if (!next) {
    if (x->event == MX_EV_TRAP) return MX_EXIT_TRAP;
    if (x->event == MX_EV_SLICE) return x->stress ? MX_EXIT_STRESS : MX_EXIT_POLL;
    return x->warp->live ? MX_EXIT_BLOCK : MX_EXIT_DONE;
  }
  const struct mx_op_info *o = &mx__ops[next->op];
  if (next->kind == MX_INSN_JOIN || o->flags & MX_F_BRANCH) return MX_EXIT_DIVERGE;
  if (o->flags & MX_F_CALL) return MX_EXIT_CALL;
  return o->flags & MX_F_SYNC ? MX_EXIT_BLOCK : MX_EXIT_OPCODE;
}

const struct mx_insn *mx__jit_entry_body(struct mx_exec *x, const struct mx_insn *i) {
  const struct mx_pfunc *fn = x->fn;
  if (!x->warp->ran_jit) {
    x->warp->ran_jit = true;
    x->stats.warps_compiled++;
  }
  x->stats.enters++;
  mx__uncount(x, i); /* compiled code counts this instruction itself */
  uint64_t before = x->steps;
  const struct mx_insn *next =
      mx__jit_enter(x, atomic_load_explicit(&fn->jit, memory_order_acquire), fn->entry_of[i - fn->insns], i);
  x->stats.steps_compiled += x->steps - before;
  const enum mx_exit_reason why = mx__exit_reason(x, next);
  x->stats.exits[why]++;
  if (x->probed) x->launch->probe->left(x, why, next);
  return next;
}

static const struct mx_insn *go_over(struct mx_exec *x, const struct mx_insn *i) {
  /* In stress mode the interpreter goes on every other time. A launch without the JIT may share prepared code with one
   * that uses it. */
  if (x->jit_off || mx__launch_is_interpreted(x->launch) || (x->stress && mx__random(x) & 1) ||
      (x->launch->probe && x->launch->probe->stays && x->launch->probe->stays(x)))
    return mx__body_without_code(x, i)(x, i);
  return mx__jit_entry_body(x, i);
}

/* The instruction of entry e: the one behind the pseudo-instruction, which must run first. */
static struct mx_insn *entry(const struct mx_pfunc *fn, const struct mx_jit_code *code, uint32_t e) {
  struct mx_insn *i = &fn->insns[fn->index_of_pc[code->entries[e].pc]];
  return i->kind == MX_INSN_JOIN ? i + 1 : i;
}

bool mx__jit_attach(struct mx_pfunc *fn, struct mx_jit_code *code, mx_body enter) {
  uint32_t *entry_of = fn->entry_of ? fn->entry_of : malloc(sizeof *entry_of * fn->ninsns);
  if (!entry_of) return false;
  fn->entry_of = entry_of;
  atomic_store_explicit(&fn->jit, code, memory_order_release);
  for (uint32_t e = 0; e < code->table->nentries; e++) {
    struct mx_insn *i = entry(fn, code, e);
    entry_of[i - fn->insns] = e;
    __atomic_store_n(&i->fn, enter ? enter : go_over, __ATOMIC_RELEASE);
  }
  atomic_store_explicit(&code->attached, true, memory_order_release);
  return true;
}

void mx__jit_detach(struct mx_pfunc *fn, struct mx_jit_code *code, mx_body leave) {
  for (uint32_t e = 0; e < code->table->nentries; e++)
    __atomic_store_n(&entry(fn, code, e)->fn, leave, __ATOMIC_RELEASE);
  atomic_store(&code->attached, false);
}
