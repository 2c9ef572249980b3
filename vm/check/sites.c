/* What the instruction table and the operands say about each instruction of a launch, computed once before it
 * begins. */
#include "check.h"

#include "vm/load/prepare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Orders of loads and stores, as core/ops/memory.def numbers them. */
enum { ORDER_WEAK, ORDER_VOLATILE, ORDER_RELAXED, ORDER_STRONG };

static void describe_access(struct site *s, const struct mx_op_info *o, const struct mx_insn *i) {
  const enum mx_access_kind kind = mx__row_access[i->op].kind;
  const bool load = kind == MX_ACCESS_LOAD, store = kind == MX_ACCESS_STORE;
  s->writes = store || kind == MX_ACCESS_ATOMIC;
  s->access = ACCESS_WEAK;
  s->space = (uint8_t)(kind == MX_ACCESS_ATOMIC ? i->mod : i->mod >> 2);
  if (load || store) {
    s->bytes = (uint8_t)(mx__types[mx__row_access[i->op].type].bits / 8 * mx__row_access[i->op].elements);
    s->elements = mx__row_access[i->op].elements;
    const unsigned order = i->mod & 3;
    if (order != ORDER_WEAK) s->access = ACCESS_STRONG;
    s->in_step = order == ORDER_VOLATILE;
    s->acquires = load && order == ORDER_STRONG;
    s->releases = store && order == ORDER_STRONG;
  } else if (kind == MX_ACCESS_ATOMIC) {
    s->access = ACCESS_ATOMIC;
    s->acquires = s->releases = true;
  } else if (s->effect == MX_DOES_MBARRIER) {
    s->access = ACCESS_ATOMIC;
    s->acquires = s->releases = s->object = true;
    s->waits = o->flags & MX_F_SYNC;
  } else if (s->effect == MX_DOES_ASYNC) s->access = ACCESS_ASYNC;
  for (unsigned k = 0; k < o->nopnds; k++)
    if (o->opnd[k].type == MX_T_off && !s->first_value) {
      s->narrow = k && mx__types[o->opnd[k - 1].type].slot_class == MX_R32;
      s->first_value = (uint8_t)(k + 1);
    }
}

/* Operands in the order of the row: A and B, or the predicate that a comparison is combined with. */
static enum logic logic_of(const struct mx_insn *i) {
  char spelling[64];
  if (mx__means(i->op, "AND")) return LOGIC_AND;
  if (mx__means(i->op, "OR")) return LOGIC_OR;
  if (!mx__is_spelled(i->op, "setp")) return LOGIC_NONE;
  mx__spell(&mx__ops[i->op], i->mod, spelling, sizeof spelling);
  return strstr(spelling, ".and.") ? LOGIC_AND : strstr(spelling, ".or.") ? LOGIC_OR : LOGIC_NONE;
}

/* A register's slot in its frame's shadow: predicates first, then 32-bit slots, 64-bit slots and spill cells. */
static uint32_t slot_of(const struct mx_pfunc *fn, uint32_t lanes, mx_ref r, unsigned cls) {
  const struct mx_func *f = fn->func;
  if (r & 1) return NO_SLOT;
  if (cls == MX_PRED) return (uint32_t)r / 8;
  if (cls == MX_R32) return f->npred + ((uint32_t)r - fn->off_r32) / (lanes * 4);
  return f->npred + f->n32 + ((uint32_t)r - fn->off_r64) / (lanes * 8);
}
static uint32_t cell_slot(const struct mx_func *f, unsigned cls, uint32_t cell) {
  const uint32_t first = (uint32_t)f->npred + f->n32 + f->n64;
  return first + cell + (cls == MX_PRED ? 0u : cls == MX_R32 ? f->nspillpred : (uint32_t)f->nspillpred + f->nspill32);
}
static uint32_t all_slots(const struct mx_func *f) {
  return (uint32_t)f->npred + f->n32 + f->n64 + f->nspillpred + f->nspill32 + f->nspill64;
}

static bool add(struct mx_check *c, size_t *room, struct reg r, uint16_t *n) {
  if (r.slot == NO_SLOT) return true;
  if (!mx__check_grow(c, (void **)&c->code->regs, c->code->nregs, room, sizeof r)) return false;
  c->code->regs[c->code->nregs++] = r;
  ++*n;
  return true;
}

static bool describe_registers(struct mx_check *c, struct site *s, const struct mx_pfunc *fn, size_t *room) {
  const struct mx_insn *i = s->insn;
  const struct mx_op_info *o = &mx__ops[i->op];
  const struct mx_func *f = fn->func;
  const mx_word *word = &f->code[i->pc];
  s->guard = i->guard == MX_GUARD_NONE || o->flags & MX_F_CALL ? NO_SLOT : i->guard;
  for (int out = 0; out < 2; out++) {
    if (out) s->first_out = (uint32_t)c->code->nregs;
    else s->first_in = (uint32_t)c->code->nregs;
    uint16_t *n = out ? &s->nout : &s->nin;
    if (o->flags & MX_F_CALL) {
      const unsigned results = mx_w_nres(*word), all = results + mx_w_narg(*word);
      const struct mx_func *callee = i->op == MX_CALL ? &c->code->prep->image->funcs[i->index] : NULL;
      const struct mx_proto *proto = callee ? NULL : &f->protos[i->index];
      for (unsigned k = out ? 0 : results; k < (out ? results : all); k++) {
        const unsigned cls = out ? (callee ? callee->results[k].cls : proto->res[k])
                                 : (callee ? callee->args[k - results].cls : proto->arg[k - results]);
        const struct reg r = {slot_of(fn, c->code->prep->lanes, i->more[k], cls), cls == MX_R128, cls == MX_PRED, 0, 0};
        if (!mx__check_grow(c, (void **)&c->code->regs, c->code->nregs, room, sizeof r)) return false;
        c->code->regs[c->code->nregs++] = r; /* literals too, since operands are found by number */
        ++*n;
      }
      continue;
    }
    if (o->flags & MX_F_BRANCH) continue;
    if (s->effect == MX_DOES_SPILL || s->effect == MX_DOES_FILL) {
      const bool spill = s->effect == MX_DOES_SPILL;
      const unsigned k = spill ? 2 : 0, at = spill ? 0 : 1, cls = mx__types[o->opnd[k].type].slot_class;
      const uint32_t cell = cell_slot(f, cls, (uint32_t)i->o[at] | (uint32_t)i->o[at + 1] << 10);
      const uint32_t slot = slot_of(fn, c->code->prep->lanes, i->o[k], cls);
      if (!add(c, room, (struct reg){out == spill ? cell : slot, 0, cls == MX_PRED, 0, 0}, n)) return false;
      continue;
    }
    for (unsigned k = 0; k < o->nopnds; k++) {
      const unsigned type = o->opnd[k].type, cls = mx__types[type].slot_class;
      if (type >= MX_T_raw || (o->opnd[k].role == MX_OUT) != out) continue;
      const bool address = k + 1 < o->nopnds && o->opnd[k + 1].type == MX_T_off;
      struct reg r = {slot_of(fn, c->code->prep->lanes, mx__operand_ref(i, k), cls), cls == MX_R128, cls == MX_PRED,
                      address, (uint8_t)(out || k < s->first_value ? k : k - s->first_value)};
      /* selections and logic need their operands by their numbers */
      if ((s->selects || s->logic) && !out) {
        if (!mx__check_grow(c, (void **)&c->code->regs, c->code->nregs, room, sizeof r)) return false;
        c->code->regs[c->code->nregs++] = r;
        ++*n;
      } else if (!add(c, room, r, n)) return false;
    }
  }
  return true;
}

/* Lists the instructions that compiled code may not execute by itself, though they access registers only. */
static bool name_watched(struct mx_check *c) {
  size_t size;
  FILE *to = open_memstream(&c->code->check_list, &size);
  if (!to) return false;
  mx__lanes_find(c);
  for (uint32_t k = 0; k < c->code->nsites; k++) {
    const struct site *s = &c->code->sites[k];
    if (!s->tracked && !s->lane_rule) continue;
    const bool left =
        mx__ops[s->insn->op].flags & MX_F_BRANCH || (s->guard != NO_SLOT && mx__is_tracked(c, s->func, s->guard));
    fprintf(to, "%u %u%s;", s->func, s->insn->pc, left ? " left" : "");
  }
  return !fclose(to);
}

bool mx__sites_make(struct mx_check *c) {
  struct mx_prepared *p = c->code->prep;
  c->code->first_site = calloc(p->nfuncs + 1u, sizeof *c->code->first_site);
  c->code->shadow_at = calloc(p->nfuncs + 1u, sizeof *c->code->shadow_at);
  c->code->nslots = calloc(p->nfuncs + 1u, sizeof *c->code->nslots);
  c->code->tracked = calloc(p->nfuncs + 1u, sizeof *c->code->tracked);
  if (!c->code->first_site || !c->code->shadow_at || !c->code->nslots || !c->code->tracked) return false;
  c->code->nsites = 0;
  for (uint32_t f = 0; f < p->nfuncs; f++) {
    c->code->first_site[f] = c->code->nsites;
    c->code->nsites += p->funcs[f].insns ? p->funcs[f].ninsns : 0;
  }
  c->code->sites = calloc(c->code->nsites + 1u, sizeof *c->code->sites);
  size_t room = 0;
  if (!c->code->sites) return false;
  for (uint32_t f = 0; f < p->nfuncs; f++) {
    struct mx_pfunc *fn = &p->funcs[f];
    if (!fn->insns) continue;
    for (uint32_t k = 0; k < fn->ninsns; k++) {
      struct site *s = &c->code->sites[c->code->first_site[f] + k];
      s->insn = &fn->insns[k];
      s->func = f;
      s->guard = NO_SLOT;
      if (s->insn->kind != MX_INSN_OP) continue;
      const struct mx_op_info *o = &mx__ops[s->insn->op];
      s->effect = mx__effect(s->insn->op);
      s->selects = mx__means(s->insn->op, "SEL");
      s->logic = logic_of(s->insn);
      if (mx__bounds_count(o) || o->cls == MX_MEM) {
        describe_access(s, o, s->insn);
        if (mx__bounds_count(o) == 1) s->origin = mx__origin_of_address(c, fn, s->insn);
      }
      if (s->effect == MX_DOES_FENCE) s->acquires = s->releases = true;
      if (s->effect == MX_DOES_FENCE || s->access == ACCESS_STRONG || (s->access == ACCESS_ATOMIC && !s->object))
        mx__order_of(c, s);
      if (!describe_registers(c, s, fn, &room)) return false;
    }
    /* the frame gets room for the shadow: masks of defined lanes, and numbers of notes */
    c->code->shadow_at[f] = (fn->frame_bytes + 7u) & ~7u;
    c->code->nslots[f] = all_slots(fn->func);
    fn->frame_bytes = (c->code->shadow_at[f] + c->code->nslots[f] * 12u + 63u) & ~63u;
  }
  return mx__polls_find(c) && mx__tracked_find(c) && name_watched(c);
}

void mx__code_drop(struct mx_check_code *code) {
  for (uint32_t f = 0; code->tracked && f < code->prep->nfuncs; f++) free(code->tracked[f]);
  free(code->tracked);
  free(code->sites);
  free(code->first_site);
  free(code->shadow_at);
  free(code->nslots);
  free(code->regs);
  free(code->check_list);
  if (!code->borrowed) mx__prepared_free(code->prep);
  *code = (struct mx_check_code){0};
}
