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

/* Where an instruction comes from, and its role in code that contains inlined calls: see inline.h. */
enum ja_kind { JA_PLAIN, JA_ADDED, JA_CALLS, JA_RETURNS };
struct ja_origin {
  uint32_t frame, pc;    /* pc in the frame's own function */
  uint32_t bounds, into; /* number of its bounds cache, if it has one; of a call inlined: the callee's frame */
  uint8_t kind;
  bool counts, lead; /* counts: the machine counts it as a step. lead: a block and an entry begin here */
};
/* A call that is inlined; number 0 is the function itself. */
struct ja_frame {
  uint32_t func, parent, level;
  /* call: pc of the call in the caller's function; last: pc of the return in this one; begin: where this function's
   * copy begins in the inlined code */
  uint32_t call, last, begin;
  uint32_t first[3]; /* by class: the number of its first slot */
  /* the rank in the machine's order of the code behind the call; 0: the call is in a copy itself */
  uint32_t rank;
  uint64_t local; /* where its local memory begins, counted from frame 0's */
};

struct ja_ins {
  uint32_t pc, block, bounds; /* bounds: as in ja_origin */
  /* steps: how many instructions of its block count as steps before it; ticks: by how much these advance the clock */
  uint32_t frame, into, steps, ticks;
  uint8_t kind;
  bool counts;
  uint8_t form; /* enum mx_form */
  bool local;   /* a load or store in local memory, for all that is known: see ja_find_local_pointers() */
  /* ramps.c: it extends numbers, or multiplies them to wider ones, which are places in the grid; its operands are
   * multiples of a row's lanes */
  bool of_places, of_multiples;
  bool by_checker, left; /* in checked code (checked.c): the checker's body does it; compiled code is left before it */
  /* brx.idx: compiled code itself goes to the target; and to several, if it is not too much code */
  bool jumps, jumps_apart;
  uint16_t op;
  const mx_word *w;
  const struct mx_op_info *o;
  uint64_t wide;  /* operands of 8 and 16 bits whose slots may have higher bits set: widths.c */
  uint64_t *keep; /* of a stop: slots that have to be in the frame here; else NULL. See breakpoints.c */
  /* by operand, of results and of what warp operations read: its value in each lane, where it is known; NULL: of no
   * operand. See known.c */
  const uint64_t **known;
  /* of an inlined call: slots of the callee that are read before they are written, and so must be zeroed; or NULL */
  uint64_t *zero;
};

struct ja_block {
  uint32_t pc, first, end; /* instructions [first, end) */
  uint32_t steps, ticks;   /* how many of them count as steps; by how much these advance the clock */
  /* its successors inside this function; the targets of brx are not among them: see JA_FOR_SUCC */
  uint32_t succ[2], nsucc;
  /* its number in reverse postorder, and its immediate dominator; JA_NONE: it cannot be reached. See graph.h */
  uint32_t rpo, idom;
  bool leaves; /* its last instruction is always left to the machine */
  /* rank: in the machine's order; turn: its number in that order among the blocks of this code */
  uint32_t rank, turn;
  bool meets; /* lanes may meet at its beginning: the machine has a JOIN there */
  /* entry: code may be entered here; divergent: it ends in a branch at which lanes may go to different blocks */
  bool back_target, entry, divergent;
  bool hidden;    /* its divergent branch is hidden: both sides run in compiled code, under masks */
  bool converged; /* all lanes of the split are here whenever it runs */
  bool seen;
  uint64_t *pending; /* blocks before which other lanes may be waiting while it runs */
  /* the joins at which lanes may be expected, by the number of the block; bit nblocks: the function's return */
  uint64_t *open;
  uint32_t nthen, *then; /* blocks that may run after it */
  uint64_t *live_in;     /* slots that any lane may still read, including lanes pending elsewhere */
  uint64_t *flow_in;     /* slots that the lanes which are here may still read */
  uint64_t *uni_in;      /* slots that are uniform */
  /* slots whose f32 value may be made canonical (again) without changing the result, on every path to here */
  uint64_t *float_in;
  uint64_t *raw_in;    /* of these, those whose NaNs may not be canonical yet */
  uint64_t *preserved; /* slots that pending lanes will read: the block's results must be blended into them */
  int64_t *ramp_in;    /* by slot: its stride, or JA_FLAT, if it is a ramp (ramps.c); else 0 */
};

/* What is compiled together: a kernel and all that it may call. */
struct ja_unit {
  const struct mx_image *image;
  const char *stops;      /* of a debugging session; NULL: none */
  const char *check_list; /* of checked code: checked.c; NULL: no checker watches */
  unsigned counts;        /* as in struct mx_launch */
  uint32_t lanes;         /* how many of a warp's lanes exist: the module's number of lanes, or fewer */
  uint32_t rows;          /* as in struct mx_launch */
  bool clocks;            /* warps keep their clocks */
  const bool *reachable;  /* by function */
  bool *wanted;     /* by function: code is needed for it; analysing a function adds those to which its code leaves */
  uint32_t in_line; /* functions of up to so many words are inlined: inline.h */
  uint32_t *calls;  /* by function: how many instructions call it */
  uint32_t *first_bounds; /* by function: the number of its first bounds cache */
};

struct ja {
  const struct ja_unit *unit;
  const struct mx_image *image;
  uint32_t lanes;           /* of unit */
  const struct mx_func *f;  /* the function, or, with inlined calls, one made of it and the copies, see inline.h */
  uint32_t number;          /* of the function */
  struct ja_origin *origin; /* by pc */
  struct ja_frame *frames;
  uint32_t nframes;
  bool fixed_stack; /* the frame's local memory has a fixed size */
  /* slots are numbered predicates first, then 32-bit ones, then 64-bit ones; words: 64-bit words in a set of slots */
  uint32_t nslots, words;
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
  uint32_t nloops;      /* natural loops, in the order of their headers' numbers */
  bool tangled;         /* the graph is irreducible: no branch is hidden */
  bool slots_in_memory; /* in state->spill_area, not in registers: lower.h */
  const char *stops;
  unsigned counts;        /* for a profile; 0: for none */
  bool checked;           /* a checker watches */
  bool clocks;            /* as the unit's */
  uint32_t row_lanes;     /* lanes of a row, in code for nobody who looks on; else 0: ramps.c */
  uint32_t *shorter_rows; /* while ramps are looked for: with how many lanes a row would have more of them */
  bool ramps;             /* there are rows, and the function is not too large to look for ramps */
  /* by instruction: the stride, or JA_FLAT, of the address of a load or store, if it is a ramp; else 0 */
  int64_t *address_ramp;
  uint64_t *written; /* if `checked`: by instruction, the slots that may have been written before it */
  struct ja_write {
    uint32_t ins;
    bool uniform;        /* the slot is uniform behind it */
  } * writes;            /* all writes, sorted by slot */
  uint32_t *first_write; /* by slot, the number of its first write; one entry more than slots */
  void *memory;          /* the chunks of memory for all of the above, freed together */
};

/* ja_unit_make: what is compiled for a kernel; false: out of memory. ja_analyse: one of its functions; NULL: out of
 * memory. */
bool ja_unit_make(struct ja_unit *u, const struct mx_image *image, uint32_t kernel, const char *stops, unsigned counts,
                  uint32_t lanes);
/* checked.c: what compiled code may do by itself with each instruction of checked code, by pc. */
enum ja_check { JA_UNCHECKED, JA_BY_CHECKER, JA_LEFT };
uint8_t *ja_check_list(const struct ja *a);
struct ja *ja_analyse(const struct ja_unit *unit, uint32_t func);
void ja_free(struct ja *a);
void ja_widths(struct ja *a);              /* a part of ja_analyse() */
void ja_find_known(struct ja *a);          /* the same */
void ja_find_local_pointers(struct ja *a); /* the same */
/* What is subtracted from the address of such an access to get its place in local memory: the beginning of the window
 * in which generic addresses of that space are, or 0. */
uint64_t ja_local_window(const struct ja_ins *i);
void *ja_get(struct ja *a, size_t n); /* memory of zeros that is freed with `a` */

static inline bool ja_has(const uint64_t *set, uint32_t k) { return set[k / 64] >> (k % 64) & 1; }
static inline void ja_add(uint64_t *set, uint32_t k) { set[k / 64] |= 1ull << (k % 64); }
static inline void ja_del(uint64_t *set, uint32_t k) { set[k / 64] &= ~(1ull << (k % 64)); }
static inline uint32_t ja_slot(const struct ja *a, unsigned cls, unsigned number) {
  return cls == MX_PRED ? number : cls == MX_R32 ? a->f->npred + number : a->f->npred + a->f->n32 + number;
}

static inline unsigned ja_result_bits(const struct ja_ins *i) { return mx__types[i->o->opnd[0].type].bits; }
/* Whether it multiplies factors of 32 bits to a product of 64. */
static inline bool ja_multiplies_wide(const struct ja_ins *i) {
  return (i->form == MX_FORM_MUL || i->form == MX_FORM_MAD) && ja_result_bits(i) > mx__types[i->o->opnd[1].type].bits;
}
/* What operand k holds in each lane; NULL: that is not known. */
static inline const uint64_t *ja_known(const struct ja_ins *i, unsigned k) { return i->known ? i->known[k] : NULL; }
/* Whether operand k is a constant that is known when the kernel is compiled. */
static inline bool ja_constant(const struct ja *a, const struct ja_ins *i, unsigned k, uint64_t *v) {
  const unsigned f = mx_w_operand(i->w, k);
  if (f < MX_LIT || a->f->lits[f - MX_LIT].kind != MX_LIT_VALUE) return false;
  *v = a->f->lits[f - MX_LIT].value;
  return true;
}
/* The class of a slot. */
static inline unsigned ja_class(const struct ja *a, uint32_t slot) {
  return slot < a->f->npred ? MX_PRED : slot < a->f->npred + a->f->n32 ? MX_R32 : MX_R64;
}
/* Whether it reads an address of local memory that compiled code knows: where the frame's part begins or ends. */
static inline bool ja_local(const struct ja *a, const struct ja_ins *i) {
  if (i->op != MX_SREG_64) return false;
  return mx_w_operand(i->w, 1) == MX_SR_LOCAL_BASE || (mx_w_operand(i->w, 1) == MX_SR_LOCAL_TOP && a->fixed_stack);
}
static inline uint32_t ja_number(const struct ja *a, uint32_t slot) { return slot - ja_slot(a, ja_class(a, slot), 0); }
/* ja_frame_of: the frame of a block's first instruction. The other: whether frame f is frame k, or was called from it,
 * directly or not. */
static inline uint32_t ja_frame_of(const struct ja *a, uint32_t b) { return a->origin[a->blocks[b].pc].frame; }
static inline bool ja_encloses(const struct ja *a, uint32_t f, uint32_t k) {
  while (a->frames[k].level > a->frames[f].level) k = a->frames[k].parent;
  return k == f;
}

/* Collects the slots that an instruction reads and writes; returns how many there are, at most JA_MAX_TOUCH. */
#define JA_MAX_TOUCH 600
uint32_t ja_uses(const struct ja *a, const struct ja_ins *i, uint32_t *slots);
uint32_t ja_defs(const struct ja *a, const struct ja_ins *i, uint32_t *slots);
/* The last write of the slot by an instruction of [from, before); NULL: there is none. */
const struct ja_write *ja_last_write(const struct ja *a, uint32_t from, uint32_t before, uint32_t slot);
/* Updates a set of live slots from behind the instruction to before it. */
void ja_live_step(const struct ja *a, const struct ja_ins *i, const uint64_t *preserved, uint64_t *live);
/* Adds the slots that are live where control may go from block b, targets of tables included. */
void ja_live_out(const struct ja *a, uint32_t b, uint64_t *live);
/* Updates a set of uniform slots from before the instruction to behind it. */
void ja_uniform_step(const struct ja *a, const struct ja_ins *i, const uint64_t *preserved, uint64_t *uni);
/* ramps.c. Updates the strides of the slots that are ramps from before the instruction to behind it; uni: the uniform
 * slots before it. ja_ramp_leaves: whether its result is only a ramp if it does not wrap, so that code has to be left
 * before the instruction where it would. */
void ja_ramp_step(const struct ja *a, const struct ja_ins *i, const uint64_t *preserved, const uint64_t *uni,
                  int64_t *ramps);
bool ja_ramp_leaves(const struct ja_ins *i);
/* The bits of the constant with which an instruction of MX_FORM_AND cuts a number, from `low` up to `end`. False: it
 * has none, or one whose bits are not adjacent. */
struct ja_bits {
  unsigned low, end;
};
bool ja_and_bits(const struct ja *a, const struct ja_ins *i, struct ja_bits *bits);
bool ja_extends_sign(
    const struct ja_ins *i);      /* of an instruction that extends numbers or multiplies them to wider ones */
void ja_find_ramps(struct ja *a); /* a part of ja_analyse() */
/* Whether load or store k accesses rows: its address is a ramp of the bytes that each lane accesses. ja_is_flat:
 * whether load k accesses one place for each row of lanes. ja_is_strided: whether the address is a ramp of a multiple
 * of these bytes, or one that falls. */
bool ja_is_row(const struct ja *a, uint32_t k);
bool ja_is_flat(const struct ja *a, uint32_t k);
bool ja_is_strided(const struct ja *a, uint32_t k);
#define JA_FLAT INT64_MAX /* stands for stride 0: the number is the same within each row of lanes */
static inline int64_t ja_stride(int64_t ramp) { return ramp == JA_FLAT ? 0 : ramp; }
enum { JA_MOST_ROWS = 4 };
/* How many rows of lanes a warp has. */
static inline unsigned ja_rows(const struct ja *a) { return a->row_lanes ? a->lanes / a->row_lanes : 1; }
/* NaN results are made canonical only where the program may look at their bits. Updates the sets float and raw (see
 * struct ja_block) from before the instruction to behind it. */
void ja_float_step(const struct ja *a, const struct ja_ins *i, const uint64_t *preserved, uint64_t *flt, uint64_t *raw);
/* Whether the instruction's result is the same for every NaN that its operand k may be. */
bool ja_any_nan(const struct ja *a, const struct ja_ins *i, unsigned k, const uint64_t *raw_after);
/* The slot of 32 or 64 bits that operand k names; JA_NONE: it names none. */
uint32_t ja_number_slot(const struct ja *a, const struct ja_ins *i, unsigned k);
/* Whether all operands that it reads are uniform. */
bool ja_uniform_inputs(const struct ja *a, const struct ja_ins *i, const uint64_t *uni);
/* Whether compiled code itself branches through a table: it is not too long, and nobody looks on. */
#define JA_MOST_INDICES 1024
static inline bool ja_jumps(const struct ja *a, const struct mx_table *t) {
  return t->ntargets && t->ntargets <= JA_MOST_INDICES && !a->stops && !a->counts && !a->checked;
}
/* Whether k is the first index that leads to its target. */
static inline bool ja_leads_first(const struct mx_table *t, uint32_t k) {
  for (uint32_t n = 0; n < k; n++)
    if (t->targets[n] == t->targets[k]) return false;
  return true;
}
static inline bool ja_always_leaves(const struct ja_ins *i) {
  if (i->kind != JA_PLAIN) return false;
  if (i->left) return true;
  if (i->jumps) return false;
  return (i->o->cls == MX_CTRL && i->op != MX_BRA && i->op != MX_NANOSLEEP) || i->o->flags & MX_F_SYNC ||
         i->o->flags & MX_F_CALL || mx_reads_clock(i->w);
}
/* Of these, warp operations. They need the machine only if lanes have to wait for others, so compiled code need not be
 * entered again right behind them. */
static inline bool ja_goes_on(const struct ja_ins *i) { return i->o->flags & MX_F_SYNC && i->o->cls == MX_CROSS; }
/* Tests of mbarriers, and waits there, need it only where a phase has not ended; then code is entered again behind
 * them. */
static inline bool ja_waits_at_mbarrier(const struct ja_ins *i) {
  return i->o->cls == MX_CTRL && mx__effect(i->op) == MX_DOES_MBARRIER;
}
/* Whether it is barrier 0 for the whole block, where a kernel's warps may wait with their state kept. */
static inline bool ja_is_barrier(const struct ja *a, const struct ja_ins *i) {
  if (!(a->f->flags & MX_FUNC_KERNEL) || a->checked || i->frame || i->op != MX_BAR_SYNC) return false;
  for (unsigned k = 0; k < 2; k++) {
    const unsigned field = mx_w_operand(i->w, k);
    if (field < MX_LIT || a->f->lits[field - MX_LIT].kind != MX_LIT_VALUE || a->f->lits[field - MX_LIT].value)
      return false;
  }
  return true;
}
/* Of these, barriers behind which code goes on with slots where they are: only blocks of one warp run code for a part
 * of a warp's lanes. */
static inline bool ja_passes(const struct ja *a, const struct ja_ins *i) {
  return a->lanes < a->image->lanes && ja_is_barrier(a, i);
}
/* A .b128 is packed from two halves, unpacked, or copied. */
static inline bool ja_moves_halves(const struct ja_ins *i) {
  return i->op == MX_MOV_128 || i->op == MX_PACK_128 || i->op == MX_UNPACK_128;
}
/* Whether control goes from it to the next instruction within compiled code, though the machine may be needed: also at
 * a guarded exit, where that holds for no lane. */
static inline bool ja_may_go_on(const struct ja_ins *i) {
  return ja_goes_on(i) || ja_waits_at_mbarrier(i) || (i->op == MX_EXIT && mx_w_guard(*i->w) != MX_GUARD_NONE);
}

/* Runs a statement for every block s_ that control may reach from block b_, targets of tables included. */
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
