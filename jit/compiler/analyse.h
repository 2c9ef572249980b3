/* What the compiler finds out about one function before it builds anything: instructions and blocks, which slots live
 * where, which hold one value for all lanes, and which divergent branches can stay inside compiled code.
 *
 * A divergence is *hidden* where the code runs both sides under masks, in the order in which the machine would
 * (divergence.h). While a block runs, other lanes may stand before others: what these still read must stay as it is for
 * them. Other divergent branches go through the machine. Knows nothing of gccjit. */
#ifndef MX_JITC_ANALYSE_H
#define MX_JITC_ANALYSE_H

#include "core/module.h"

#define JA_NONE UINT32_MAX

/* Where an instruction comes from, and what it is in code that calls are built into: see inline.h. Sets of `counts`: it
 * is one that the machine counts. */
enum ja_kind { JA_PLAIN, JA_ADDED, JA_CALLS, JA_RETURNS };
struct ja_origin {
  uint32_t frame, pc;    /* pc in the frame's own function */
  uint32_t bounds, into; /* number of its bounds cache, if it has one; of a call in line: the callee's frame */
  uint8_t kind;
  bool counts, lead; /* lead: a block and an entry begin here */
};
/* A call that is inlined; number 0 is the function itself. */
struct ja_frame {
  uint32_t func, parent, level;
  uint32_t call, last, begin; /* pc of the call in the parent's function; of a return in this one; where it begins in
                                 the code that is built */
  uint32_t first[3];          /* by class: the number of its first slot */
  uint32_t rank;              /* the machine's, of what is behind the call; 0: it is in a copy */
  uint64_t local;             /* where its local memory begins, behind where that of frame 0 does */
};

struct ja_ins {
  uint32_t pc, block, bounds; /* bounds: as in ja_origin */
  uint32_t frame, into, steps,
      ticks; /* steps: so many are counted in its block before it; what these add to the clock */
  uint8_t kind;
  bool counts;
  uint8_t form;          /* enum mx_form */
  bool by_checker, left; /* of checked code: its body does it, or the machine: checked.c */
  uint16_t op;
  const mx_word *w;
  const struct mx_op_info *o;
  uint64_t wide;  /* operands of 8 and 16 bits whose slots may hold more: widths.c */
  uint64_t *keep; /* of a stop: slots that have to be in the frame here; else NULL. See breakpoints.c */
  uint64_t *zero; /* of a call in line: slots of the callee that are read before they are written; or NULL */
};

struct ja_block {
  uint32_t pc, first, end; /* instructions [first, end) */
  uint32_t steps, ticks;   /* as many are counted; what they add to the clock */
  uint32_t succ[2], nsucc; /* where control goes inside this function; tables of brx have no edges here, see leaves */
  uint32_t rpo,
      idom;    /* number in reverse postorder; immediate dominator. JA_NONE: control does not get here. See graph.h */
  bool leaves; /* its last instruction is always left to the machine */
  uint32_t rank, turn;                /* the machine's; its number in that order among the blocks here */
  bool meets;                         /* lanes may meet where it begins: the machine has a JOIN there */
  bool back_target, entry, divergent; /* divergent: ends in a guarded branch whose guard may differ between lanes */
  bool hidden;                        /* of a divergent branch: both sides run here */
  bool converged;                     /* while it runs, no lane of the split is anywhere else */
  bool seen;
  uint64_t *pending;     /* blocks before which other lanes may stand while it runs */
  uint64_t *open;        /* blocks where lanes may be expected; bit nblocks: at the function's return */
  uint32_t nthen, *then; /* blocks that may run after it */
  uint64_t *live_in;     /* slots that some lane may still read, pending ones included */
  uint64_t *flow_in;     /* the same for lanes that are here */
  uint64_t *uni_in;      /* slots that hold one value */
  uint64_t *float_in;    /* slots whose f32 value may be made canonical (again) without harm, on every way here */
  uint64_t *raw_in;      /* of these, those whose NaNs may not be canonical yet */
  uint64_t *preserved;   /* slots that pending lanes will read: results of the block must not overwrite theirs */
};

/* What is compiled together: a kernel and all that it may call. */
struct ja_unit {
  const struct mx_image *image;
  const char *stops;      /* of a debugging session; NULL: none */
  const char *check_list; /* of checked code: checked.c; NULL: nobody checks */
  unsigned counts;        /* as in struct mx_launch */
  uint32_t lanes;         /* the first ones of a warp, which are all that there are; of the module, or fewer */
  bool clocks;            /* warps keep their clocks */
  const bool *reachable;  /* by function */
  bool *
      wanted; /* by function: it needs code of its own; the analysis of a function adds those that its code leaves to */
  uint32_t in_line;       /* calls of functions of up to so many words are inlined: inline.h */
  uint32_t *calls;        /* by function: how many instructions call it */
  uint32_t *first_bounds; /* by function: the machine's number of its first bounds cache */
};

struct ja {
  const struct ja_unit *unit;
  const struct mx_image *image;
  uint32_t lanes;           /* of unit */
  const struct mx_func *f;  /* with calls built in: a function of its own, see inline.h */
  uint32_t number;          /* of the function */
  struct ja_origin *origin; /* by pc */
  struct ja_frame *frames;
  uint32_t nframes;
  bool fixed_stack;       /* its frame's local memory does not grow */
  uint32_t nslots, words; /* slots: predicates, then 32-bit ones, then 64-bit ones; words of a set of them */
  struct ja_ins *ins;
  uint32_t nins;
  struct ja_block *blocks;
  uint32_t nblocks, bwords;
  uint32_t *block_of_pc;   /* JA_NONE where no block begins */
  uint32_t *order, norder; /* blocks in reverse postorder */
  uint32_t *by_turn;       /* blocks in the machine's order */
  struct ja_loop {
    uint32_t head;
    uint64_t *body;
  } * loops;
  uint32_t nloops; /* natural ones, by the number of the header */
  bool tangled;    /* nothing is hidden */
  const char *stops;
  unsigned counts;   /* for a profile; 0: for none */
  bool checked;      /* a checker watches */
  bool clocks;       /* as the unit's */
  uint64_t *written; /* with it: by instruction, slots that may have been written before */
  struct ja_write {
    uint32_t ins;
    bool uniform;        /* the slot is, behind it */
  } * writes;            /* of slot 0 in the order of the text, then of slot 1, and so on */
  uint32_t *first_write; /* by slot, and one more */
  void *memory;          /* chunks, freed whole */
};

/* The unit of a kernel; false: out of memory. One of its functions; NULL: out of memory. */
bool ja_unit_make(struct ja_unit *u, const struct mx_image *image, uint32_t kernel, const char *stops, unsigned counts,
                  uint32_t lanes);
/* checked.c: which instructions of checked code compiled code may not do by itself. By pc. */
enum ja_check { JA_UNCHECKED, JA_BY_CHECKER, JA_LEFT };
uint8_t *ja_check_list(const struct ja *a);
struct ja *ja_analyse(const struct ja_unit *unit, uint32_t func);
void ja_free(struct ja *a);
void ja_widths(struct ja *a); /* part of it */

static inline bool ja_has(const uint64_t *set, uint32_t k) { return set[k / 64] >> (k % 64) & 1; }
static inline void ja_add(uint64_t *set, uint32_t k) { set[k / 64] |= 1ull << (k % 64); }
static inline void ja_del(uint64_t *set, uint32_t k) { set[k / 64] &= ~(1ull << (k % 64)); }
static inline uint32_t ja_slot(const struct ja *a, unsigned cls, unsigned number) {
  return cls == MX_PRED ? number : cls == MX_R32 ? a->f->npred + number : a->f->npred + a->f->n32 + number;
}

static inline unsigned ja_result_bits(const struct ja_ins *i) { return mx__types[i->o->opnd[0].type].bits; }
/* Factors of 32 bits, a product of 64. */
static inline bool ja_multiplies_wide(const struct ja_ins *i) {
  return (i->form == MX_FORM_MUL || i->form == MX_FORM_MAD) && ja_result_bits(i) > mx__types[i->o->opnd[1].type].bits;
}
/* The class of a slot. */
static inline unsigned ja_class(const struct ja *a, uint32_t slot) {
  return slot < a->f->npred ? MX_PRED : slot < a->f->npred + a->f->n32 ? MX_R32 : MX_R64;
}
/* Whether it reads where the frame's local memory begins or ends, and code knows. */
static inline bool ja_local(const struct ja *a, const struct ja_ins *i) {
  if (i->op != MX_SREG_64) return false;
  return mx_w_operand(i->w, 1) == MX_SR_LOCAL_BASE || (mx_w_operand(i->w, 1) == MX_SR_LOCAL_TOP && a->fixed_stack);
}
static inline uint32_t ja_number(const struct ja *a, uint32_t slot) { return slot - ja_slot(a, ja_class(a, slot), 0); }
/* The frame of a block's first instruction; whether frame f is k or one that k was called from. */
static inline uint32_t ja_frame_of(const struct ja *a, uint32_t b) { return a->origin[a->blocks[b].pc].frame; }
static inline bool ja_encloses(const struct ja *a, uint32_t f, uint32_t k) {
  while (a->frames[k].level > a->frames[f].level) k = a->frames[k].parent;
  return k == f;
}

/* Slots read and written by an instruction; returns their number. At most JA_MAX_TOUCH. */
#define JA_MAX_TOUCH 600
uint32_t ja_uses(const struct ja *a, const struct ja_ins *i, uint32_t *slots);
uint32_t ja_defs(const struct ja *a, const struct ja_ins *i, uint32_t *slots);
/* The last one of instructions from..before that writes the slot; NULL: none does. */
const struct ja_write *ja_last_write(const struct ja *a, uint32_t from, uint32_t before, uint32_t slot);
/* Takes one instruction backwards through a live set. */
void ja_live_step(const struct ja *a, const struct ja_ins *i, const uint64_t *preserved, uint64_t *live);
/* Adds what is live where control may go from block b, tables included. */
void ja_live_out(const struct ja *a, uint32_t b, uint64_t *live);
/* Takes one instruction forwards through a set of uniform slots. */
void ja_uniform_step(const struct ja *a, const struct ja_ins *i, const uint64_t *preserved, uint64_t *uni);
/* NaN results become canonical only where someone may look at their bits. Takes one instruction forwards through the
 * sets float and raw (see ja_block). */
void ja_float_step(const struct ja *a, const struct ja_ins *i, const uint64_t *preserved, uint64_t *flt, uint64_t *raw);
/* Whether the instruction's result does not depend on which NaN its operand k is. */
bool ja_any_nan(const struct ja *a, const struct ja_ins *i, unsigned k, const uint64_t *raw_after);
/* Whether all operands that it reads hold one value. */
bool ja_uniform_inputs(const struct ja *a, const struct ja_ins *i, const uint64_t *uni);
static inline bool ja_always_leaves(const struct ja_ins *i) {
  if (i->kind != JA_PLAIN) return false;
  if (i->left) return true;
  return (i->o->cls == MX_CTRL && i->op != MX_BRA && i->op != MX_NANOSLEEP) || i->o->flags & MX_F_SYNC ||
         i->o->flags & MX_F_CALL || mx_reads_clock(i->w);
}
/* Of these, warp operations, which need the machine only where lanes have to wait for others: then they need not come
 * back at once. */
static inline bool ja_goes_on(const struct ja_ins *i) { return i->o->flags & MX_F_SYNC && i->o->cls == MX_CROSS; }

/* The statement behind for every block s_ that control may reach from b, tables included. */
#define JA_FOR_SUCC(a_, b_, s_, ...) \
  do { \
    const struct ja_block *bl__ = &(a_)->blocks[b_]; \
    for (uint32_t k__ = 0; k__ < bl__->nsucc; k__++) { \
      const uint32_t s_ = bl__->succ[k__]; \
      __VA_ARGS__; \
    } \
    const struct ja_ins *l__ = &(a_)->ins[bl__->end - 1]; \
    if (l__->op == MX_BRX) { \
      const struct mx_table *t__ = &(a_)->f->tables[mx_w_operand(l__->w, 1)]; \
      for (uint32_t k__ = 0; k__ < t__->ntargets; k__++) { \
        const uint32_t s_ = (a_)->block_of_pc[t__->targets[k__]]; \
        __VA_ARGS__; \
      } \
    } \
  } while (0)

#endif
