/* Programs from a seed. Every row of the table that has a result without further arrangements may occur, with any
 * modifier, guard and operands, accesses of full words more often; rows whose effects reach further are given what
 * they need:
 *   memory      addresses inside of the thread's own piece, of the shared variable, or of local memory; now and then
 *   outside; also by numbers, there and in the block's memory
 *   .sync       where no branch is open, with all lanes named
 *   control     branches forward, around one or two sides, and loops of few rounds, well nested; in every third
 *               program any graph of blocks, in any order; calls of functions of the same kind, which call others,
 *               have local memory and spill cells or none, and return early
 * All registers hold something from the start. 16-bit values have registers of their own: they must be zero-extended.
 * */
#include "programs.h"

#include "asm/container.h"
#include "core/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  WORDS = 4000,
  DEPTH = 3,
  NARG32 = 6,
  NARG64 = 4, /* that the kernel fills */
  N32 = 12,
  HALVES = 4,
  COUNTER = N32 + HALVES,
  ALL32 = COUNTER + DEPTH,
  /* REACH: an address made from a value; PLACE: the thread's piece; OWN: a called function's local memory; BEGIN: where
   * the memory of the block's first thread is, which is kept in the shared variable, behind what accesses reach */
  N64 = 8,
  REACH = N64,
  PLACE = N64 + 1,
  OWN = N64 + 2,
  BEGIN = N64 + 3,
  ALL64 = N64 + 4,
  BEGIN_AT = 448,
  NPRED = 4,
  AGAIN = NPRED,
  ALLPRED = NPRED + 1,
  CELLS = 2,  /* spill cells of each class */
  CALLED = 6, /* functions that programs call, behind the kernel */
  TABLES = 48,
  WAYS = 4, /* tables of a function; targets of each */
};

uint64_t differ_random(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/* chain: results go round four registers of each kind, and each instruction reads the results of the one before it
 * where it can. */
enum { PREDICATES, WORDS32, NARROW, WORDS64, KINDS };
struct maker {
  uint64_t *state;
  uint32_t lanes;
  struct mx_func *f;
  mx_word *code;
  struct mx_lit *lits;
  bool chain, by_number; /* by_number: the access that is made has an address as by_number() makes it */
  unsigned from[KINDS], to[KINDS], turn;
  unsigned may_call, ncall; /* these functions */
  bool called, clocks;      /* clocks: of the warp, read now and then */
  struct mx_table *tables;
  uint32_t (*targets)[WAYS]; /* of these tables */
};
static uint32_t below(struct maker *k, uint32_t n) { return (uint32_t)(differ_random(k->state) % n); }

static unsigned literal(struct maker *k, unsigned kind, uint32_t index, uint64_t value) {
  uint32_t n = 0;
  while (n < k->f->nlits && (k->lits[n].kind != kind || k->lits[n].index != index || k->lits[n].value != value)) n++;
  if (n == k->f->nlits) k->lits[k->f->nlits++] = (struct mx_lit){(uint8_t)kind, index, value};
  return MX_LIT + n;
}
static unsigned number(struct maker *k, uint64_t v) { return literal(k, MX_LIT_VALUE, 0, v); }

/* An instruction; more than four fields go on in further words. */
static void put(struct maker *k, mx_word w, const unsigned *field, unsigned n) {
  mx_word *at = &k->code[k->f->ncode];
  *at = w;
  k->f->ncode++;
  for (unsigned x = 4; x < n; x += MX_EXT_FIELDS) k->code[k->f->ncode++] = 0;
  for (unsigned x = 0; x < n; x++) mx_w_set_operand(at, x, field[x]);
}
#define PUT(op_, mod_, ...) \
  put(k, mx_w_make(op_, MX_GUARD_NONE, false, mod_), (const unsigned[]){__VA_ARGS__}, \
      sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

/* ---- operands -------------------------------------------------------------------------------------------*/
static unsigned kind(unsigned type) {
  const unsigned c = mx__types[type].slot_class;
  return c == MX_PRED ? PREDICATES : c != MX_R32 ? WORDS64 : mx__types[type].bits < 32 ? NARROW : WORDS32;
}
static unsigned slot(struct maker *k, unsigned type) {
  if (k->chain) return k->from[kind(type)];
  switch (mx__types[type].slot_class) {
  case MX_PRED: return below(k, NPRED);
  case MX_R32: return mx__types[type].bits < 32 ? N32 + below(k, HALVES) : below(k, N32);
  case MX_R64: return below(k, N64);
  default: return below(k, N64 / 2) * 2;
  }
}
static unsigned input(struct maker *k, unsigned type) {
  static const uint64_t corners[] = {0,
                                     1,
                                     2,
                                     31,
                                     32,
                                     33,
                                     63,
                                     64,
                                     0x7F,
                                     0x80,
                                     0xFF,
                                     0x7FFF,
                                     0x8000,
                                     0xFFFF,
                                     0x7FFFFFFF,
                                     0x80000000,
                                     0xFFFFFFFF,
                                     0x3C00,
                                     0x7C00,
                                     0x7E01,
                                     0x3F800000,
                                     0x7F800000,
                                     0x7FC00001,
                                     0xFF800000,
                                     0x00000001,
                                     0x3FF0000000000000,
                                     0x7FF0000000000000,
                                     0x7FF8000000000001,
                                     0x8000000000000000,
                                     0x7FFFFFFFFFFFFFFF,
                                     0xFFFFFFFFFFFFFFFF,
                                     0x3210,
                                     0x7654};
  const unsigned bits = mx__types[type].bits;
  if (k->chain || bits == 128 || bits == 1 || below(k, 4)) return slot(k, type);
  const uint64_t v = corners[below(k, sizeof corners / sizeof *corners)];
  return number(k, bits < 64 ? v & (((uint64_t)1 << bits) - 1) : v);
}

static mx_word head(struct maker *k, unsigned op, unsigned mod) {
  if (k->chain || mx__ops[op].flags & MX_F_NOGUARD || below(k, 4)) return mx_w_make(op, MX_GUARD_NONE, false, mod);
  return mx_w_make(op, below(k, NPRED), below(k, 2), mod);
}

/* ---- rows -------------------------------------------------------------------------------------------------*/
static unsigned addresses(const struct mx_op_info *o) {
  unsigned n = 0;
  for (unsigned x = 0; x < o->nopnds; x++) n += o->opnd[x].type == MX_T_off;
  return n;
}
static bool has_raw(const struct mx_op_info *o) {
  for (unsigned x = 0; x < o->nopnds; x++)
    if (o->opnd[x].type == MX_T_raw) return true;
  return false;
}
static bool has_narrow(const struct mx_op_info *o) { /* 8-bit registers: none are kept */
  for (unsigned x = 0; x < o->nopnds; x++)
    if (o->opnd[x].type < MX_T_raw && mx__types[o->opnd[x].type].bits == 8) return true;
  return false;
}
static bool may(const struct maker *k, unsigned op, bool open) {
  const struct mx_op_info *o = &mx__ops[op];
  if (o->flags & ((k->lanes == 32 ? MX_F_W64 : MX_F_W32) | MX_F_BRANCH | MX_F_CALL | MX_F_END) || has_narrow(o))
    return false;
  if (o->flags & MX_F_SYNC && open) return false;
  if (!k->f->nspill32 && (!strncmp(o->id, "SPILL_", 6) || !strncmp(o->id, "FILL_", 5))) return false;
  /* memory of any content is no mbarrier, and any number is no texture: traps would end all programs */
  if (mx__effect(op) == MX_DOES_MBARRIER || mx__effect(op) == MX_DOES_IMAGE) return false;
  /* nor is it a count of bytes to copy at once, or anything that receives them */
  if (mx__effect(op) == MX_DOES_ASYNC && addresses(o) && !has_raw(o)) return false;
  if (o->flags & MX_F_WHOLE) return false; /* not all warps are full: tests/matrix */
  switch (o->cls) {
  case MX_LANE: return true;
  case MX_CROSS: return true;
  case MX_MEM: return addresses(o) || !o->nopnds;
  default: return o->flags & MX_F_SYNC; /* the block's barriers */
  }
}

/* Leaves the address of the access that is made in a register, as a sum with a 32-bit number times a factor, as
 * compilers write accesses to arrays: of the block's memory, whose address is the same for all lanes, of the shared
 * variable, or of local memory. Each lane's number is computed, loaded as an index that comes from memory, or that of
 * its place in a row. `reach` is the register for addresses of 64 bits; the access is of 2^bit bytes. */
static unsigned by_number(struct maker *k, unsigned space, bool narrow, unsigned bit, unsigned reach) {
  const unsigned factor = below(k, bit + 1), index = below(k, N32), own = number(k, 4 * below(k, 8));
  const bool is_signed = below(k, 2), row = space != MX_LOCAL && bit <= 4 && !below(k, 3);
  if (row) {
    PUT(MX_SREG_32, 0, index, below(k, 4) ? MX_SR_TID_X : MX_SR_TID_Y);
    if (space == MX_SHARED || below(k, 2)) PUT(MX_AND_32, 0, index, index, number(k, space == MX_SHARED ? 15 : 63));
  } else PUT(MX_AND_32, 0, index, below(k, N32), number(k, space == MX_LOCAL || bit == 6 ? 1 : 3));
  if (factor < bit) PUT(MX_SHL_32, 0, index, index, number(k, bit - factor));
  if (below(k, 2)) PUT(MX_ST_B32, 4 * MX_GLOBAL, PLACE, own, index), PUT(MX_LD_B32, 4 * MX_GLOBAL, index, PLACE, own);
  const unsigned times = number(k, 1u << factor), variable = literal(k, MX_LIT_VAR, 0, 0);
  if (narrow) {
    PUT(MX_MAD_LO_U32, 0, index, index, times, variable);
    return index;
  }
  const unsigned begin = space == MX_SHARED ? variable : space == MX_GLOBAL ? BEGIN : k->called ? OWN : number(k, 0);
  if (space == MX_GLOBAL) PUT(MX_LD_B64, 4 * MX_SHARED, BEGIN, variable, number(k, BEGIN_AT));
  if (below(k, 2)) {
    PUT(is_signed ? MX_MAD_WIDE_S32 : MX_MAD_WIDE_U32, 0, reach, index, times, begin);
    return reach;
  }
  PUT(is_signed ? MX_MUL_WIDE_S32 : MX_MUL_WIDE_U32, 0, reach, index, times);
  PUT(MX_ADD_U64, 0, reach, reach, begin);
  return reach;
}

/* Where an access goes: its modifier's space, its address operand and offset. reach: the register that an address of
 * each lane's own is made in. */
static unsigned place(struct maker *k, unsigned op, unsigned mod, unsigned type, unsigned reach, unsigned *address,
                      unsigned *offset) {
  const unsigned mods = mx__ops[op].mods;
  unsigned space = mods == 24 ? mod / 4 : mods == 3 ? mod : MX_GENERIC;
  if (type == MX_T_u32) space = MX_SHARED; /* 32 bits reach no more */
  if (space > MX_LOCAL || (k->by_number && space == MX_GENERIC)) space = MX_GLOBAL;
  const struct mx_row_access ac = mx__row_access[op];
  const unsigned bytes = ac.kind ? mx__types[ac.type].bits / 8 * ac.elements : 16;
  const bool wide = ac.kind ? bytes > 16 : mx__ops[op].nopnds > 4; /* up to 64 bytes, and aligned so */
  const uint32_t at = wide ? 64 * below(k, 3) : 16 * below(k, 12);
  *offset = number(k, at);
  if (k->by_number) {
    *address = by_number(k, space, type == MX_T_u32, wide ? 6 : (unsigned)__builtin_ctz(bytes), reach);
    if (space == MX_LOCAL) *offset = number(k, wide ? 0 : at & 16);
  } else if (space == MX_SHARED) *address = literal(k, MX_LIT_VAR, 0, 0);
  else if (space == MX_LOCAL) *address = k->called ? OWN : number(k, 0), *offset = number(k, wide ? 0 : at & 48);
  else if (below(k, 3)) *address = PLACE;
  else { /* lanes apart; chains measure what an access costs, so their addresses take few instructions */
    const unsigned bit = wide ? 6 : 4, from = below(k, N64);
    const uint64_t places = wide ? 1 : 3;
    PUT(MX_AND_64, 0, reach, from, number(k, k->chain ? places << bit : places));
    if (!k->chain) PUT(MX_SHL_64, 0, reach, reach, number(k, bit));
    PUT(MX_ADD_U64, 0, reach, reach, PLACE);
    *address = reach;
    if (!below(k, 300)) *offset = number(k, (uint64_t)1 << 38); /* outside of everything */
  }
  if (mods == 24 && space == MX_LOCAL && ac.kind && !below(k, 3)) {
    PUT(MX_CVTA_64, MX_LOCAL - 1, reach, *address);
    *address = reach, space = MX_GENERIC;
  }
  return mods == 24 ? mod % 4 + 4 * space : mods == 3 ? space : mod;
}

static unsigned special(struct maker *k, unsigned cls) {
  for (;;) {
    const unsigned n = below(k, MX_SR_COUNT);
    if (mx__types[mx__sregs[n].type].slot_class == cls && n != MX_SR_GRIDID)
      return n; /* the number of the launch differs */
  }
}

static unsigned result(struct maker *k, unsigned type) {
  static const unsigned first[KINDS] = {[NARROW] = N32};
  const unsigned n = type == MX_T_b128 ? k->turn++ % 4 * 2 : k->turn++ % 4;
  return k->chain ? (k->to[kind(type)] = first[kind(type)] + n) : slot(k, type);
}

static void row(struct maker *k, unsigned op, bool weak) {
  const struct mx_op_info *o = &mx__ops[op];
  unsigned field[MX_MAX_OPNDS], mod = k->chain ? 0 : below(k, o->mods ? o->mods : 1);
  const bool copies = mx__effect(op) == MX_DOES_ASYNC; /* to shared memory */
  if (o->flags & MX_F_MOVI) {
    k->code[k->f->ncode++] =
        head(k, op, 0) | mx_w_put_movi(result(k, o->opnd[0].type), (uint32_t)differ_random(k->state));
    return;
  }
  if (weak && o->cls == MX_MEM) mod &= ~3u;
  unsigned reach = REACH;
  for (unsigned x = 0; x < o->nopnds; x++) {
    const struct mx_opnd *p = &o->opnd[x];
    if (p->type == MX_T_raw) field[x] = mx__ranges[p->range].least;
    else if (p->type == MX_T_off) continue; /* came with its address */
    else if (p->role == MX_OUT) {
      field[x] = result(k, p->type);
      /* A load may leave its result in its address's register, where lanes that do not run keep the address. */
      if (!k->chain && p->type < MX_T_raw && mx__types[p->type].slot_class == MX_R64 && below(k, 2)) reach = field[x];
    } else if (x + 1 < o->nopnds && o->opnd[x + 1].type == MX_T_off)
      mod = place(k, op, mod, copies && !x ? MX_T_u32 : p->type, reach, &field[x], &field[x + 1]);
    else if (copies && p->type == MX_T_u32) field[x] = number(k, below(k, 5)); /* how many bytes are not zeros */
    else if (o->flags & MX_F_SYNC && o->cls == MX_CROSS && x + 1 == o->nopnds)
      field[x] = number(k, p->type == MX_T_b64 ? UINT64_MAX : UINT32_MAX);
    else if (o->cls == MX_CTRL && p->type != MX_T_pred) field[x] = number(k, 0); /* barrier 0, all threads */
    else field[x] = input(k, p->type);
  }
  if (op == MX_SREG_PRED || op == MX_SREG_32 || op == MX_SREG_64)
    field[1] = special(k, mx__types[o->opnd[0].type].slot_class);
  if (op == MX_SPILL_PRED || op == MX_SPILL_32 || op == MX_SPILL_64) field[0] = k->chain ? 0 : below(k, CELLS);
  if (op == MX_FILL_PRED || op == MX_FILL_32 || op == MX_FILL_64) field[1] = k->chain ? 0 : below(k, CELLS);
  put(k, head(k, op, mod), field, o->nopnds);
  memcpy(k->from, k->to, sizeof k->from);
}

/* ---- bodies -----------------------------------------------------------------------------------------------*/
static uint32_t branch(struct maker *k, unsigned guard, bool neg) { /* to be aimed later */
  k->code[k->f->ncode] = mx_w_make(MX_BRA, guard, neg, 0);
  return k->f->ncode++;
}
static void aim(struct maker *k, uint32_t at, uint32_t target, uint32_t reconv) {
  k->code[at] |= mx_w_put_branch(target, reconv);
}

/* Only words, long words and predicates. */
static bool is_plain(const struct mx_op_info *o) {
  for (unsigned x = 0; x < o->nopnds; x++)
    if (o->opnd[x].type < MX_T_raw && mx__types[o->opnd[x].type].bits != 1 && mx__types[o->opnd[x].type].bits != 32 &&
        mx__types[o->opnd[x].type].bits != 64)
      return false;
  return true;
}
/* A load, a store or an atomic of one element or several by number. */
static void access_by_number(struct maker *k) {
  const bool plain = below(k, 4), atomic = !below(k, 8); /* plain: full words */
  unsigned op;
  do op = below(k, MX_OP_COUNT);
  while (mx__row_access[op].kind == MX_NO_ACCESS || (mx__row_access[op].kind == MX_ACCESS_ATOMIC) != atomic ||
         !may(k, op, true) || (plain && !is_plain(&mx__ops[op])));
  k->by_number = true;
  row(k, op, false);
  k->by_number = false;
}

/* Loads and stores of words through one number, which only one of the two ways to the last of them has moved: what is
 * known there of the lanes' places is no knowledge of those that came by the other way. */
static void word_at(struct maker *k, unsigned index) {
  const unsigned at = number(k, 16 * below(k, 4)), word = below(k, N32);
  PUT(MX_MAD_WIDE_U32, 0, REACH, index, number(k, 4), BEGIN);
  if (below(k, 2)) PUT(MX_ST_B32, 4 * MX_GLOBAL, REACH, at, word);
  else PUT(MX_LD_B32, 4 * MX_GLOBAL, word == index ? (word + 1) % N32 : word, REACH, at);
}
static void moved_on_one_way(struct maker *k) {
  const unsigned index = below(k, N32);
  PUT(MX_LD_B64, 4 * MX_SHARED, BEGIN, literal(k, MX_LIT_VAR, 0, 0), number(k, BEGIN_AT));
  if (below(k, 2)) PUT(MX_SREG_32, 0, index, MX_SR_TID_X);
  PUT(MX_AND_32, 0, index, below(k, 2) ? index : below(k, N32), number(k, 63));
  const uint32_t over = branch(k, below(k, NPRED), below(k, 2));
  word_at(k, index);
  PUT(MX_ADD_U32, 0, index, index, number(k, 1 + below(k, 8)));
  aim(k, over, k->f->ncode, k->f->ncode);
  word_at(k, index);
}

static void some_rows(struct maker *k) {
  for (unsigned n = below(k, 4); n--;) {
    unsigned op;
    do op = below(k, MX_OP_COUNT);
    while (!may(k, op, true));
    row(k, op, false);
  }
}
/* A word of local memory at a place that a value gives, now and then outside of it, is changed and stored again. */
static void own_word(struct maker *k) {
  const unsigned index = N32 + below(k, HALVES), word = below(k, N32), begin = k->called ? OWN : number(k, 0);
  PUT(MX_AND_32, 0, index, below(k, N32), number(k, below(k, 40) ? 15 : 0x1FFFFF));
  PUT(MX_MAD_WIDE_U32, 0, REACH, index, number(k, 4), begin);
  const bool generic = below(k, 2);
  if (generic) PUT(MX_CVTA_64, MX_LOCAL - 1, REACH, REACH);
  if (generic && !below(k, 3)) PUT(MX_SELP_64, 0, REACH, REACH, PLACE, below(k, NPRED)); /* or of global memory */
  const unsigned space = generic ? MX_GENERIC : MX_LOCAL;
  PUT(MX_LD_B32, 4 * space, word, REACH, number(k, 0));
  PUT(MX_ADD_U32, 0, word, word, below(k, N32));
  PUT(MX_ST_B32, 4 * space, REACH, number(k, 0), word);
}
/* A loop that only computes, mostly with full words, reads, and may write local memory: its lanes may run one by one.
 * Now and then there is another way out. */
static void reading_loop(struct maker *k, unsigned depth) {
  const unsigned counter = COUNTER + depth, n = 1 + below(k, 3);
  uint32_t out = 0;
  PUT(MX_AND_32, 0, counter, below(k, N32), number(k, 15));
  const uint32_t top = k->f->ncode;
  if (!below(k, 3)) own_word(k);
  for (unsigned i = 0; i < 2 + n; i++) {
    const bool load = i == 0 || i == n;
    unsigned op;
    do op = below(k, MX_OP_COUNT);
    while (load ? mx__ops[op].cls != MX_MEM || mx__ops[op].flags & MX_F_VOLATILE ||
                      mx__ops[op].opnd[0].role != MX_OUT || !may(k, op, true)
                : mx__ops[op].cls != MX_LANE || !is_plain(&mx__ops[op]) || !may(k, op, true));
    k->by_number = mx__row_access[op].kind && below(k, 2);
    row(k, op, true);
    k->by_number = false;
    if (i != 1 || below(k, 4)) continue;
    PUT(MX_SETP_S32, 2, AGAIN, counter, number(k, 4));
    out = branch(k, AGAIN, false);
  }
  PUT(MX_SUB_U32, 0, counter, counter, number(k, 1));
  PUT(MX_SETP_S32, 5, AGAIN, counter, number(k, 0));
  const uint32_t back = branch(k, AGAIN, false);
  const bool other = out && below(k, 2), both = other && below(k, 2); /* the way out leads elsewhere */
  if (other) some_rows(k);
  const uint32_t end = both ? branch(k, MX_GUARD_NONE, false) : 0, to = k->f->ncode;
  if (both) some_rows(k);
  aim(k, back, top, k->f->ncode);
  if (out) aim(k, out, to, k->f->ncode);
  if (both) aim(k, end, k->f->ncode, MX_PC_RET);
}

static const struct mx_slot_ref called_args[] = {{MX_R32, 0},  {MX_R32, 1},   {MX_R64, 0},    {MX_R64, 1},
                                                 {MX_PRED, 0}, {MX_R32, N32}, {MX_R64, PLACE}},
                                called_results[] = {{MX_R32, 2}, {MX_R32, N32 + 1}, {MX_R64, 1}, {MX_PRED, 1}};
static void call(struct maker *k) {
  const unsigned n = k->may_call + below(k, k->ncall);
  PUT(MX_CALL, 0, n & 1023, n >> 10, 4, 7, below(k, N32), N32 + below(k, HALVES), below(k, N64),
      below(k, NPRED), /* results */
      input(k, MX_T_b32), below(k, N32), input(k, MX_T_b64), below(k, N64), below(k, NPRED), N32 + below(k, HALVES),
      PLACE);
}
/* A branch through a table, to be aimed later. */
static uint32_t jump(struct maker *k, unsigned index) {
  const uint32_t t = k->f->ntables++;
  PUT(MX_AND_32, 0, index, below(k, N32), number(k, WAYS - 1));
  k->tables[t] = (struct mx_table){k->targets[t], WAYS};
  const uint32_t at = k->f->ncode;
  PUT(MX_BRX, 0, index, t, 0, 0);
  return at;
}
static void aim_jump(struct maker *k, uint32_t at, unsigned way, uint32_t target) {
  k->targets[mx_w_operand(&k->code[at], 1)][way] = target;
}
static void meet_at(struct maker *k, uint32_t at, uint32_t reconv) {
  k->code[at] |= mx_w_put(2, reconv & 1023) | mx_w_put(3, reconv >> 10);
}
static void body(struct maker *k, unsigned n, unsigned depth);
/* Sides that a table names; some go on in the next one, and two indices may lead to one. */
static void sides(struct maker *k, unsigned depth) {
  uint32_t ends[WAYS] = {0};
  const uint32_t at = jump(k, COUNTER + depth);
  for (unsigned way = 0; way < WAYS; way++) {
    const bool twice = way && !below(k, 4);
    aim_jump(k, at, way, twice ? k->targets[k->f->ntables - 1][way - 1] : k->f->ncode);
    if (twice) continue;
    body(k, 1 + below(k, 2), DEPTH);
    if (below(k, 4)) ends[way] = branch(k, MX_GUARD_NONE, false);
  }
  for (unsigned way = 0; way < WAYS; way++)
    if (ends[way]) aim(k, ends[way], k->f->ncode, MX_PC_RET);
  meet_at(k, at, k->f->ncode);
}

static void body(struct maker *k, unsigned n, unsigned depth) {
  while (n--) {
    const unsigned dice = depth < DEPTH ? below(k, 40) : 40;
    if (dice < 4) { /* one side, or two */
      const uint32_t over = branch(k, below(k, NPRED), below(k, 2));
      body(k, 1 + below(k, 4), depth + 1);
      if (dice < 2) {
        const uint32_t end = branch(k, MX_GUARD_NONE, false), other = k->f->ncode;
        body(k, 1 + below(k, 4), depth + 1);
        aim(k, over, other, k->f->ncode);
        aim(k, end, k->f->ncode, MX_PC_RET);
      } else {
        aim(k, over, k->f->ncode, k->f->ncode);
      }
    } else if (dice == 4) { /* one to four rounds, as a value says */
      const unsigned counter = COUNTER + depth;
      PUT(MX_AND_32, 0, counter, below(k, N32), number(k, 3));
      const uint32_t top = k->f->ncode;
      body(k, 1 + below(k, 4), depth + 1);
      PUT(MX_SUB_U32, 0, counter, counter, number(k, 1));
      PUT(MX_SETP_S32, 5, AGAIN, counter, number(k, 0));
      const uint32_t back = branch(k, AGAIN, false);
      aim(k, back, top, k->f->ncode);
    } else if (dice == 5 || dice == 6) {
      reading_loop(k, depth);
    } else if (k->ncall && dice >= 7 && dice < 11) {
      call(k);
    } else if (dice >= 11 && dice < 14) {
      access_by_number(k);
    } else if (dice == 14) {
      moved_on_one_way(k);
    } else if (dice == 15 && k->f->ntables < TABLES) {
      sides(k, depth);
    } else if (k->clocks && !below(k, 8)) {
      if (below(k, 2)) PUT(MX_SREG_64, 0, below(k, N64), MX_SR_CLOCK64);
      else PUT(MX_SREG_32, 0, below(k, N32), MX_SR_CLOCK);
    } else {
      const bool full = !below(k, 6); /* words in memory: compiled code knows many forms of such rows */
      unsigned op;
      do op = below(k, MX_OP_COUNT);
      while (!may(k, op, depth > 0) ||
             (full && (mx__ops[op].cls != MX_MEM || mx__ops[op].flags & MX_F_VOLATILE || !is_plain(&mx__ops[op]))));
      row(k, op, false);
    }
  }
}

/* ---- any graph ---------------------------------------------------------------------------------------------*/
/* Blocks in any order of their text, with branches to any later one of their own order, so that sides share tails, and
 * now and then back to an earlier one, into the midst of loops too. What makes it end is a count of ways back for each
 * lane. */
enum {
  MOST_BLOCKS = 12,
  PARTS = 3,
  END = MOST_BLOCKS * PARTS
}; /* a block: up to the branch back; up to the other one; the jump */
struct node {
  uint32_t pc, branch;
  unsigned to[WAYS], n;
};

/* By node: those that every way to the end leads through. */
static void find_postdominators(const struct node *node, uint64_t *after) {
  for (unsigned x = 0; x < END; x++) after[x] = UINT64_MAX;
  after[END] = (uint64_t)1 << END;
  for (bool again = true; again;) {
    again = false;
    for (unsigned x = END; x--;) {
      uint64_t m = node[x].n ? UINT64_MAX : 0;
      for (unsigned e = 0; e < node[x].n; e++) m &= after[node[x].to[e]];
      m |= (uint64_t)1 << x;
      again |= m != after[x];
      after[x] = m;
    }
  }
}
static uint32_t meeting_place(const struct node *node, const uint64_t *after, unsigned x) {
  const uint64_t others = after[x] & ~((uint64_t)1 << x);
  for (unsigned d = 0; d <= END; d++)
    if (others >> d & 1 && after[d] == others) return node[d].pc;
  return MX_PC_RET;
}
static void tangle(struct maker *k) {
  struct node node[END + 1] = {{0}};
  uint64_t after[END + 1];
  unsigned order[MOST_BLOCKS];
  const unsigned n = 3 + below(k, MOST_BLOCKS - 2);
  const bool odd =
      !below(k, 16); /* branches say that they meet elsewhere than they do: no assembler of ours writes that */
  for (unsigned b = 0; b < n; b++) {
    const unsigned at = below(k, b + 1);
    order[b] = order[at], order[at] = b;
  }
  PUT(MX_AND_32, 0, COUNTER, below(k, N32), number(k, 7));
  const uint32_t first = branch(k, MX_GUARD_NONE, false);
  for (unsigned t = 0; t < n; t++) {
    const unsigned b = order[t];
    struct node *part = &node[b * PARTS];
    part[0].pc = k->f->ncode;
    some_rows(k);
    if (b && !below(k, 3)) {
      PUT(MX_SUB_U32, 0, COUNTER, COUNTER, number(k, 1));
      PUT(MX_SETP_S32, 5, AGAIN, COUNTER, number(k, 0));
      part[0].to[part[0].n++] = below(k, b + 1) * PARTS;
      part[0].branch = branch(k, AGAIN, false);
    }
    part[0].to[part[0].n++] = b * PARTS + 1;
    part[1].pc = k->f->ncode;
    some_rows(k);
    const unsigned left = n - 1 - b;
    if (left && below(k, 4)) {
      part[1].to[part[1].n++] = (b + 1 + below(k, left)) * PARTS;
      part[1].branch = branch(k, below(k, NPRED), below(k, 2));
    }
    part[1].to[part[1].n++] = b * PARTS + 2;
    part[2].pc = k->f->ncode;
    const bool jumps = left > 1 && k->f->ntables < TABLES && !below(k, 4);
    while (part[2].n < (jumps ? WAYS : 1))
      part[2].to[part[2].n++] = left ? (b + 1 + below(k, left < 3 ? left : 3)) * PARTS : END;
    part[2].branch = jumps ? jump(k, COUNTER + 1) : branch(k, MX_GUARD_NONE, false);
  }
  node[END].pc = k->f->ncode;
  find_postdominators(node, after);
  aim(k, first, node[0].pc, MX_PC_RET);
  for (unsigned x = 0; x < n * PARTS; x++) {
    if (!node[x].branch) continue;
    const uint32_t meet = odd ? node[below(k, n * PARTS)].pc : meeting_place(node, after, x);
    if (mx_w_op(k->code[node[x].branch]) == MX_BRX) {
      for (unsigned way = 0; way < WAYS; way++) aim_jump(k, node[x].branch, way, node[node[x].to[way]].pc);
      meet_at(k, node[x].branch, meet);
    } else aim(k, node[x].branch, node[node[x].to[0]].pc, node[x].n > 1 ? meet : MX_PC_RET);
  }
}

/* A function that is called: registers that are not arguments begin with 0. */
static void function(struct maker *k) {
  struct mx_func *f = k->f;
  f->n32 = ALL32, f->n64 = ALL64, f->npred = ALLPRED;
  f->nspill32 = f->nspill64 = f->nspillpred = below(k, 4) ? 0 : CELLS;
  f->args = called_args, f->nargs = sizeof called_args / sizeof *called_args;
  f->results = called_results, f->nresults = sizeof called_results / sizeof *called_results;
  f->local_bytes = 64 * (1 + below(k, 2));
  PUT(MX_SREG_64, 0, OWN, MX_SR_LOCAL_BASE);
  if (below(k, 2)) PUT(MX_XOR_32, 0, 3, 0, number(k, 0x9E3779B9u));
  body(k, 1 + below(k, 4), 1);
  if (!below(k, 2)) {
    const uint32_t over = branch(k, below(k, NPRED), below(k, 2));
    body(k, below(k, 3), 1);
    k->code[f->ncode++] = mx_w_make(MX_RET, MX_GUARD_NONE, false, 0);
    aim(k, over, f->ncode, MX_PC_RET);
    body(k, 1 + below(k, 4), 1);
  }
  k->code[f->ncode++] = mx_w_make(MX_RET, MX_GUARD_NONE, false, 0);
}

static void program(struct maker *k, unsigned instructions) {
  static const struct mx_slot_ref args[NARG32 + NARG64 + 1] = {{MX_R32, 0}, {MX_R32, 1}, {MX_R32, 2},    {MX_R32, 3},
                                                               {MX_R32, 4}, {MX_R32, 5}, {MX_R64, 0},    {MX_R64, 1},
                                                               {MX_R64, 2}, {MX_R64, 3}, {MX_R64, PLACE}};
  static const struct mx_slot_ref results[] = {
      {MX_R32, 0},  {MX_R32, 1},  {MX_R32, 2}, {MX_R32, 3},  {MX_R32, 4},  {MX_R32, 5},  {MX_R32, 6},
      {MX_R32, 7},  {MX_R32, 8},  {MX_R32, 9}, {MX_R32, 10}, {MX_R32, 11}, {MX_R32, 12}, {MX_R32, 13},
      {MX_R32, 14}, {MX_R32, 15}, {MX_R64, 0}, {MX_R64, 1},  {MX_R64, 2},  {MX_R64, 3},  {MX_R64, 4},
      {MX_R64, 5},  {MX_R64, 6},  {MX_R64, 7}, {MX_PRED, 0}, {MX_PRED, 1}, {MX_PRED, 2}, {MX_PRED, 3}};
  struct mx_func *f = k->f;
  f->n32 = ALL32, f->n64 = ALL64, f->npred = ALLPRED;
  f->nspill32 = f->nspill64 = f->nspillpred = CELLS;
  f->local_bytes = 128;
  f->args = args, f->nargs = sizeof args / sizeof *args;
  f->results = results, f->nresults = sizeof results / sizeof *results;
  /* some are the same in all lanes */
  for (unsigned s = NARG32; s < N32; s++)
    PUT(MX_XOR_32, 0, s, below(k, 3) ? s - NARG32 : number(k, 0), number(k, 0x9E3779B9u * s));
  for (unsigned s = N32; s < COUNTER; s++) PUT(MX_AND_32, 0, s, s - N32, number(k, 0xFFFF));
  for (unsigned s = NARG64; s < N64; s++)
    PUT(MX_XOR_64, 0, s, below(k, 3) ? s - NARG64 : number(k, 0), number(k, 0x9E3779B97F4A7C15u * s));
  for (unsigned s = 0; s < NPRED; s++)
    PUT(MX_SETP_U32, 2, s, s, below(k, 3) ? s + 1 : number(k, 0)); /* less than 0: nowhere, which only running shows */
  for (unsigned c = 0; c < CELLS; c++) {
    PUT(MX_SPILL_PRED, 0, c, 0, c);
    PUT(MX_SPILL_32, 0, c, 0, c);
    PUT(MX_SPILL_64, 0, c, 0, c);
  }
  if (!below(k, 3)) tangle(k);
  else body(k, instructions, 0);
  k->code[f->ncode++] = mx_w_make(MX_RET, MX_GUARD_NONE, false, 0);
}

/* Loads what registers begin with, calls program `which`, stores what they end with. */
static void kernel(struct maker *k, unsigned programs, uint32_t *targets) {
  enum {
    ADDRESS = ALL64,
    WHICH = COUNTER,
    TID = COUNTER + 1,
    LOAD = 4 * MX_GLOBAL,
    NRES = N32 + HALVES + N64 + NPRED,
    NARGS = NARG32 + NARG64 + 1
  };
  struct mx_func *f = k->f;
  f->n32 = ALL32, f->n64 = ALL64 + 1, f->npred = ALLPRED;
  PUT(MX_LD_B64, 4 * MX_PARAM, ADDRESS, number(k, 0), number(k, 0));
  PUT(MX_LD_B32, 4 * MX_PARAM, WHICH, number(k, 8), number(k, 0));
  PUT(MX_SREG_32, 0, TID, MX_SR_CTAID_X);
  PUT(MX_SREG_32, 0, 2, MX_SR_NTID_X);
  PUT(MX_SREG_32, 0, 0, MX_SR_NTID_Y);
  PUT(MX_MUL_LO_U32, 0, 0, 0, 2);
  PUT(MX_MUL_LO_U32, 0, 0, TID, 0); /* the number of the block's first thread */
  PUT(MX_SREG_32, 0, 1, MX_SR_TID_X);
  PUT(MX_SREG_32, 0, TID, MX_SR_TID_Y);
  PUT(MX_MAD_LO_U32, 0, TID, TID, 2, 1);
  PUT(MX_ADD_U32, 0, TID, TID, 0);
  PUT(MX_MUL_WIDE_U32, 0, BEGIN, 0, number(k, DIFFER_SPAN));
  PUT(MX_ADD_U64, 0, BEGIN, BEGIN, ADDRESS);
  PUT(MX_ADD_U64, 0, BEGIN, BEGIN, number(k, DIFFER_AREA));
  PUT(MX_ST_B64, 4 * MX_SHARED, literal(k, MX_LIT_VAR, 0, 0), number(k, BEGIN_AT), BEGIN);
  PUT(MX_MUL_WIDE_U32, 0, PLACE, TID, number(k, DIFFER_SPAN));
  PUT(MX_ADD_U64, 0, ADDRESS, ADDRESS, PLACE);
  PUT(MX_ADD_U64, 0, PLACE, ADDRESS, number(k, DIFFER_AREA));
  for (unsigned s = 0; s < NARG32; s++) PUT(MX_LD_B32, LOAD, s, ADDRESS, number(k, DIFFER_IN + 4 * s));
  for (unsigned s = 0; s < NARG64; s++) PUT(MX_LD_B64, LOAD, s, ADDRESS, number(k, DIFFER_IN + 32 + 8 * s));
  const uint32_t brx = f->ncode;
  PUT(MX_BRX, 0, WHICH, 0, 0, 0);
  unsigned field[4 + NRES + NARGS], n = 4;
  for (unsigned s = 0; s < N32 + HALVES; s++) field[n++] = s;
  for (unsigned s = 0; s < N64; s++) field[n++] = s;
  for (unsigned s = 0; s < NPRED; s++) field[n++] = s;
  for (unsigned s = 0; s < NARG32; s++) field[n++] = s;
  for (unsigned s = 0; s < NARG64; s++) field[n++] = s;
  field[n++] = PLACE;
  uint32_t *ends = calloc(programs, sizeof *ends);
  for (unsigned p = 0; ends && p < programs; p++) {
    targets[p] = f->ncode;
    field[0] = p & 1023, field[1] = p >> 10, field[2] = NRES, field[3] = NARGS;
    put(k, mx_w_make(MX_CALL, MX_GUARD_NONE, false, 0), field, n);
    ends[p] = branch(k, MX_GUARD_NONE, false);
  }
  const uint32_t end = f->ncode;
  for (unsigned p = 0; ends && p < programs; p++) aim(k, ends[p], end, MX_PC_RET);
  free(ends);
  k->code[brx] |= mx_w_put(2, end & 1023) | mx_w_put(3, end >> 10);
  for (unsigned s = 0; s < N32 + HALVES; s++) PUT(MX_ST_B32, LOAD, ADDRESS, number(k, DIFFER_OUT + 4 * s), s);
  for (unsigned s = 0; s < N64; s++) PUT(MX_ST_B64, LOAD, ADDRESS, number(k, DIFFER_OUT + 64 + 8 * s), s);
  for (unsigned s = 0; s < NPRED; s++) {
    PUT(MX_SELP_32, 0, TID, number(k, 1), number(k, 0), s);
    PUT(MX_ST_B32, LOAD, ADDRESS, number(k, DIFFER_OUT + 128 + 4 * s), TID);
  }
  k->code[f->ncode++] = mx_w_make(MX_EXIT, MX_GUARD_NONE, false, 0);
}

uint8_t *differ_module(uint64_t seed, uint32_t lanes, unsigned programs, unsigned instructions, size_t *size) {
  static const char *const called[CALLED] = {"called0", "called1", "called2", "called3", "called4", "called5"};
  const unsigned words = programs * 8 + WORDS, funcs = programs + 1 + CALLED;
  struct mx_func *f = calloc(funcs, sizeof *f);
  mx_word *code = calloc((size_t)(programs + CALLED) * WORDS + words, sizeof *code);
  struct mx_lit *lits = calloc((size_t)funcs * MX_MAX_LITS * 2, sizeof *lits);
  char(*names)[24] = calloc(programs, sizeof *names);
  uint32_t *targets = calloc(programs, sizeof *targets), shared[] = {0};
  struct mx_table *tables = calloc((size_t)funcs * TABLES, sizeof *tables);
  uint32_t(*ways)[WAYS] = calloc((size_t)funcs * TABLES, sizeof *ways);
  uint8_t *bytes = NULL;
  if (f && code && lits && names && targets && tables && ways) {
    const struct mx_var var = {"scratch", MX_SHARED, 0, 16, 512, NULL, 0, NULL, 0};
    for (unsigned p = 0; p < programs; p++) {
      snprintf(names[p], sizeof names[p], "program%u", p);
      uint64_t state = seed * 1000003u + p;
      struct maker k = {.state = &state,
                        .lanes = lanes,
                        .f = &f[p],
                        .code = code + (size_t)p * WORDS,
                        .lits = lits + (size_t)p * MX_MAX_LITS * 2,
                        .may_call = programs + 1,
                        .ncall = CALLED,
                        .clocks = seed % 3 == 2,
                        .tables = tables + (size_t)p * TABLES,
                        .targets = ways + (size_t)p * TABLES};
      f[p].name = names[p], f[p].code = k.code, f[p].lits = k.lits, f[p].tables = k.tables;
      program(&k, instructions);
    }
    for (unsigned p = 0; p < CALLED; p++) {
      struct mx_func *to = &f[programs + 1 + p];
      uint64_t state = seed * 1000003u + 0x10000 + p;
      struct maker k = {.state = &state,
                        .lanes = lanes,
                        .f = to,
                        .code = code + (size_t)programs * WORDS + words + (size_t)p * WORDS,
                        .lits = lits + (size_t)(programs + 1 + p) * MX_MAX_LITS * 2,
                        .may_call = programs + 2 + p,
                        .ncall = CALLED - 1 - p,
                        .called = true,
                        .clocks = seed % 3 == 2,
                        .tables = tables + (size_t)(programs + 1 + p) * TABLES,
                        .targets = ways + (size_t)(programs + 1 + p) * TABLES};
      to->name = called[p], to->code = k.code, to->lits = k.lits, to->tables = k.tables;
      function(&k);
    }
    struct mx_func *e = &f[programs];
    struct maker k = {.lanes = lanes,
                      .f = e,
                      .code = code + (size_t)programs * WORDS,
                      .lits = lits + (size_t)programs * MX_MAX_LITS * 2};
    const struct mx_param params[] = {{"memory", 0, 8, 8, MX_T_u64, false}, {"which", 8, 4, 4, MX_T_u32, false}};
    const struct mx_table table = {targets, programs};
    e->name = "differ", e->code = k.code, e->lits = k.lits, e->flags = MX_FUNC_KERNEL | MX_FUNC_VISIBLE;
    e->params = params, e->nparams = 2, e->param_bytes = 12;
    e->tables = &table, e->ntables = 1;
    e->shared = shared, e->nshared = 1;
    kernel(&k, programs, targets);
    const struct mx_image image = {.lanes = lanes,
                                   .sm = lanes == 32 ? 90 : 0,
                                   .ptx_version = lanes == 32 ? 90 : 0,
                                   .address_size = 64,
                                   .funcs = f,
                                   .nfuncs = funcs,
                                   .vars = &var,
                                   .nvars = 1};
    bytes = mx__image_write(&image, size);
  }
  free(f);
  free(code);
  free(lits);
  free(names);
  free(targets);
  free(tables);
  free(ways);
  return bytes;
}

uint8_t *differ_chain(unsigned op, unsigned instructions, size_t *size) {
  enum { ADDRESS = ALL64, TID = COUNTER, ROUND = 4, STORE = 4 * MX_GLOBAL };
  mx_word code[WORDS] = {0};
  struct mx_lit lits[2 * MX_MAX_LITS] = {0};
  uint32_t shared[] = {0};
  uint64_t state = 1;
  struct mx_func f = {.name = "differ",
                      .code = code,
                      .lits = lits,
                      .flags = MX_FUNC_KERNEL | MX_FUNC_VISIBLE,
                      .shared = shared,
                      .nshared = 1};
  struct maker wide = {.state = &state, .lanes = 64, .f = &f, .code = code, .lits = lits, .chain = true}, narrow = wide,
               *k = &wide;
  narrow.lanes = 32;
  if (!may(k, op, false) && !may(k = &narrow, op, false)) return NULL;
  const struct mx_param param = {"memory", 0, 8, 8, MX_T_u64, false};
  const struct mx_var var = {"scratch", MX_SHARED, 0, 16, 512, NULL, 0, NULL, 0};
  f.params = &param, f.nparams = 1, f.param_bytes = 8;
  f.n32 = ALL32, f.n64 = ALL64 + 1, f.npred = ALLPRED;
  f.nspill32 = f.nspill64 = f.nspillpred = CELLS;
  f.local_bytes = 128;
  PUT(MX_LD_B64, 4 * MX_PARAM, ADDRESS, number(k, 0), number(k, 0));
  PUT(MX_SREG_32, 0, TID, MX_SR_TID_X);
  PUT(MX_MUL_WIDE_U32, 0, PLACE, TID, number(k, DIFFER_SPAN));
  PUT(MX_ADD_U64, 0, ADDRESS, ADDRESS, PLACE);
  PUT(MX_ADD_U64, 0, PLACE, ADDRESS, number(k, DIFFER_AREA));
  for (unsigned s = 0; s < ROUND; s++) {
    PUT(MX_LD_B32, STORE, s, ADDRESS, number(k, DIFFER_IN + 4 * s));
    PUT(MX_LD_B64, STORE, s, ADDRESS, number(k, DIFFER_IN + 32 + 8 * s));
    PUT(MX_AND_32, 0, N32 + s, s, number(k, 0xFFFF));
    PUT(MX_SETP_U32, 2, s, s, TID);
  }
  if (op == MX_FILL_PRED) PUT(MX_SPILL_PRED, 0, 0, 0);
  if (op == MX_FILL_32) PUT(MX_SPILL_32, 0, 0, 0);
  if (op == MX_FILL_64) PUT(MX_SPILL_64, 0, 0, 0);
  k->from[NARROW] = k->to[NARROW] = N32;
  for (unsigned n = 0; n < instructions; n++) row(k, op, true);
  for (unsigned s = 0; s < ROUND; s++) {
    PUT(MX_ST_B32, STORE, ADDRESS, number(k, DIFFER_OUT + 4 * s), s);
    PUT(MX_ST_B32, STORE, ADDRESS, number(k, DIFFER_OUT + 32 + 4 * s), N32 + s);
    PUT(MX_ST_B64, STORE, ADDRESS, number(k, DIFFER_OUT + 64 + 8 * s), s);
    PUT(MX_SELP_32, 0, TID, number(k, 1), number(k, 0), s);
    PUT(MX_ST_B32, STORE, ADDRESS, number(k, DIFFER_OUT + 128 + 4 * s), TID);
  }
  code[f.ncode++] = mx_w_make(MX_EXIT, MX_GUARD_NONE, false, 0);
  const struct mx_image image = {.lanes = k->lanes,
                                 .sm = k->lanes == 32 ? 90 : 0,
                                 .ptx_version = k->lanes == 32 ? 90 : 0,
                                 .address_size = 64,
                                 .funcs = &f,
                                 .nfuncs = 1,
                                 .vars = &var,
                                 .nvars = 1};
  return mx__image_write(&image, size);
}
