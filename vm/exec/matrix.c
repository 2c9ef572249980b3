/* Matrix instructions: which lanes take part, matrices in memory, and fragments. vm/exec/lanes/fn_tile.c has the
 * arithmetic, core/tile.h the layouts of registers. All lanes of the warp execute such an instruction together: lanes
 * that arrive first wait there for the others, and it is a trap if some have ended. */
#include "core/format.h"
#include "vm/exec/access.h"
#include "vm/exec/tile.h"
#include "vm/exec/tile_moves.h"
#include "vm/exec/warp.h"

#include <stdlib.h>
#include <string.h>

/* ---- all lanes together ---------------------------------------------------------------------------------*/
static bool waits_here(const struct mx_exec *x, const struct mx_split *s, const struct mx_insn *i) {
  return s->state == MX_WAIT_SYNC && s != x->split && s->frame == x->frame && s->pc == i->pc;
}
/* Whether the instruction may be executed now, for the whole warp. Otherwise *next is what the body returns: the split
 * waits, or has trapped. */
static bool all_here(struct mx_exec *x, const struct mx_insn *i, const struct mx_insn **next) {
  struct mx_warp *w = x->warp;
  if (x->mask == x->full) return true;
  if (w->live != x->full)
    return *next = mx__trap_at(x, i, MX_TRAP_SYNC, x->mask, mx__missing_lanes_text(x->full & ~w->live)), false;
  uint64_t here = x->mask;
  for (uint32_t k = 0; k < w->nsplits; k++)
    if (waits_here(x, &w->splits[k], i)) here |= w->splits[k].mask;
  if (here == x->full) return true;
  x->split->pc = i->pc;
  x->split->state = MX_WAIT_SYNC;
  x->split->sync_mask = x->full;
  return *next = mx__next_split(x), false;
}
/* After execution: lanes that waited at it go on, too. */
static const struct mx_insn *go_on(struct mx_exec *x, const struct mx_insn *i) {
  if (x->mask == x->full) return i + 1;
  for (uint32_t k = 0; k < x->warp->nsplits; k++) {
    struct mx_split *s = &x->warp->splits[k];
    if (!waits_here(x, s, i)) continue;
    s->pc = mx__next_pc(x, i);
    s->state = MX_RUNNABLE;
    s->spun = false;
  }
  return i + 1;
}

/* ---- forms ----------------------------------------------------------------------------------------------*/
enum { FIRST = MX_WMMA_LOAD_A_F16_32, LAST = MX_MOVMATRIX, MODS = 128 };

/* Which register of 32 lanes holds which piece of a part. */
static void find_pieces(struct mx_tile_plan *p, unsigned part, bool turned) {
  const struct mx_tile *t = &p->t;
  const bool sums = part == MX_PART_C || part == MX_PART_D;
  const unsigned bits = mx__elements[t->type[part]].bits, pair = sums && bits == 32 ? 2 : 1,
                 per_piece = 128 * pair / bits;
  unsigned rows, cols;
  mx__tile_size(t, part, &rows, &cols);
  const bool by_column = sums ? turned : part == MX_PART_B;
  p->along[part] = (uint8_t)((by_column ? rows : cols) / per_piece);
  for (unsigned r = 0; r < p->unique[part]; r++) {
    const struct mx_cell c = mx__tile_cell(t, part, r, 0, 0);
    const unsigned row = by_column ? c.col : c.row, col = by_column ? c.row : c.col;
    p->piece[part][(row / 8 * p->along[part] + col / per_piece) * pair + (pair == 2 ? col & 1 : 0)] = (uint8_t)r;
  }
}
/* Whether the fragments are those of the transposed product: see core/tile.c. */
static bool turns_sums(const struct mx_tile *t) { return t->lanes == 32 && t->m == 8 && t->n == 32; }
static void lay_out(struct mx_tile_plan *p) {
  struct mx_tile *t = &p->t;
  const unsigned kind = mx__elements[t->type[MX_PART_A]].kind;
  const bool pieces = t->lanes == 32 && !t->quads && mx__elements[t->type[MX_PART_A]].bits <= 32;
  const bool turned = turns_sums(t), swapped = pieces && t->m > t->n && !t->sparse && kind != MX_ELEMENT_BIT;
  unsigned rows, cols;
  p->x = swapped ? MX_PART_B : MX_PART_A;
  p->y = swapped ? MX_PART_A : MX_PART_B;
  p->rows = swapped ? t->n : t->m;
  p->cols = swapped ? t->m : t->n;
  p->across = swapped != turned;
  p->k = t->k;
  p->stored = t->sparse ? t->k / 2 : t->k;
  for (unsigned part = 0; part < MX_PARTS; part++) {
    if (!t->nregs[part]) continue;
    mx__tile_size(t, part, &rows, &cols);
    p->width[part] = (uint8_t)__builtin_ctz(part == MX_PART_A ? cols : part == MX_PART_B || turned ? rows : cols);
    for (unsigned r = 0; r < t->nregs[part]; r++)
      for (unsigned l = 0; l < t->lanes; l++) {
        const struct mx_cell c = mx__tile_cell(t, part, r, l, 0);
        p->at[part][r][l] = (uint16_t)(part == MX_PART_B || ((part == MX_PART_C || part == MX_PART_D) && turned)
                                           ? c.col * rows + c.row
                                           : c.row * cols + c.col);
        if (r && !l && !p->at[part][r][0] && !p->unique[part]) p->unique[part] = (uint8_t)r;
      }
    if (!p->unique[part]) p->unique[part] = t->nregs[part];
    if (pieces && mx__elements[t->type[part]].bits <= 32) find_pieces(p, part, turned);
  }
  const unsigned sums = t->part < MX_PARTS ? t->part : MX_PART_C;
  p->paired = t->lanes == 32 && !t->quads && !(t->nregs[sums] & 1) && mx__elements[t->type[sums]].bits == 32;
  for (unsigned r = 0; r < t->nregs[sums]; r++)
    for (unsigned l = 0; l < t->lanes && p->paired; l++)
      p->paired = p->at[sums][r][l] == p->at[sums][r & ~1u][l & ~3u] + (r & 1) + 2 * (l & 3);
}

static _Atomic(struct mx_tile_plan *) plans[LAST - FIRST + 1][MODS];
static const struct mx_tile_plan *make_plan(const struct mx_insn *i) {
  struct mx_tile_plan *p, *none = NULL;
  p = calloc(1, sizeof *p);
  if (!p) return NULL;
  mx__tile_read(&p->t, i->op, i->mod);
  lay_out(p);
  if (atomic_compare_exchange_strong(&plans[i->op - FIRST][i->mod], &none, p)) return p;
  free(p);
  return none;
}
/* The plan for an instruction's form: made once in a process. NULL: out of memory. */
MX__INL const struct mx_tile_plan *plan_of(const struct mx_insn *i) {
  const struct mx_tile_plan *p = atomic_load_explicit(&plans[i->op - FIRST][i->mod], memory_order_acquire);
  return p ? p : make_plan(i);
}
static const struct mx_insn *no_memory(struct mx_exec *x, const struct mx_insn *i) {
  return mx__trap_at(x, i, MX_TRAP_HOST_MEMORY, x->mask, NULL);
}

/* ---- products --------------------------------------------------------------------------------------------*/
const struct mx_insn *mx__op_mma(struct mx_exec *x, const struct mx_insn *i) {
  const struct mx_insn *next;
  if (!all_here(x, i, &next)) return next;
  const struct mx_tile_plan *p = plan_of(i);
  if (!p) return no_memory(x, i);
  struct mx_tile_regs r;
  for (unsigned part = MX_PART_A; part <= MX_PART_C; part++)
    for (unsigned k = 0; k < p->t.nregs[part]; k++)
      r.in[part][k] = mx__operand(x, mx__operand_ref(i, p->t.first[part] + k));
  for (unsigned k = 0; k < p->t.nregs[MX_PART_D]; k++) r.d[k] = mx__operand(x, mx__operand_ref(i, k));
  if (p->t.sparse) {
    r.meta = mx__operand(x, mx__operand_ref(i, i->nopnds - 2u));
    r.selector = (unsigned)mx__operand_ref(i, i->nopnds - 1u);
  }
  x->prep->level->tile_mma(p, &r);
  return go_on(x, i);
}

/* ---- matrices in memory ----------------------------------------------------------------------------------*/
/* Finds lanes whose value differs from lane 0's, since all must have the same. */
static uint64_t unlike(const void *p, bool wide, unsigned lanes) {
  const size_t size = wide ? 8 : 4;
  uint64_t m = 0;
  if (!memcmp(p, (const unsigned char *)p + size, (lanes - 1) * size)) return 0;
  for (unsigned l = 1; l < lanes; l++)
    m |= (uint64_t)(wide ? ((const uint64_t *)p)[l] != *(const uint64_t *)p
                         : ((const uint32_t *)p)[l] != *(const uint32_t *)p)
         << l;
  return m;
}

/* Where the matrix of a load or store lies. Elements are counted as the plan counts them: k, or columns of sums, follow
 * each other in a row; `along`: in memory, too. */
struct matrix {
  const struct mx_tile_plan *p;
  unsigned part, bits; /* of an element */
  bool along;
  uint64_t start, pitch; /* address; bytes from row to row, or from column to column */
  unsigned char *host;   /* of the first one; NULL: pieces may lie anywhere */
  /* piece n of a register, of `per_piece` elements, is at found[n][lane] */
  unsigned per_piece, pieces;
  unsigned char *found[MX_TILE_MAX_REGS * 2][MX_MAX_LANES];
};
static uint64_t offset_of(const struct matrix *m, unsigned element) {
  const unsigned width = m->p->width[m->part], row = element >> width, col = element & ((1u << width) - 1);
  return m->along ? row * m->pitch + col * m->bits / 8 : col * m->pitch + row * m->bits / 8;
}
static unsigned piece_bytes(const struct matrix *m) { return m->bits * m->per_piece / 8; }
static unsigned char *piece(const struct matrix *m, unsigned reg, unsigned lane, unsigned n) {
  return m->host ? m->host + offset_of(m, m->p->at[m->part][reg][lane] + n * m->per_piece)
                 : m->found[reg * m->pieces + n][lane];
}

/* Locates the matrix. False: trapped, and *next is what the body returns. */
static bool find_matrix(struct mx_exec *x, const struct mx_insn *i, const struct mx_tile_plan *p, unsigned address,
                        bool write, struct matrix *m, const struct mx_insn **next) {
  const struct mx_tile *t = &p->t;
  const unsigned part = t->part, bits = mx__elements[t->type[part]].bits;
  const bool wide = mx__types[mx__ops[i->op].opnd[address].type].bits == 64, is_col = t->is_col[part];
  const void *base = mx__operand(x, mx__operand_ref(i, address)),
             *pitch = mx__operand(x, mx__operand_ref(i, i->nopnds - 1u));
  const uint64_t odd = (x->uniform_operands >> address & 1 ? 0 : unlike(base, wide, x->lanes)) |
                       (x->uniform_operands >> (i->nopnds - 1) & 1 ? 0 : unlike(pitch, false, x->lanes));
  if (odd)
    return *next = mx__trap_at(x, i, MX_TRAP_SYNC, odd,
                               mx__format("their address or leading dimension is another one than lane 0's")),
           false;
  unsigned rows, cols;
  mx__tile_size(t, part, &rows, &cols);
  const uint64_t start =
      wide ? *(const uint64_t *)base + (uint64_t)i->off : (uint32_t)(*(const uint32_t *)base + (uint32_t)i->off);
  const uint32_t given = *(const uint32_t *)pitch, dense = is_col ? rows : cols, ld = given ? given : dense;
  /* PTX: the address is a multiple of what a row of the dense matrix has, at most 32 bytes; the dimension, of 16 bytes
   */
  const uint64_t align = (uint64_t)dense * bits / 8 > 32 ? 32 : (uint64_t)dense * bits / 8;
  if (start & (align - 1)) {
    struct mx_trap trap = {.kind = MX_TRAP_MISALIGNED,
                           .func = x->fn->number,
                           .pc = i->pc,
                           .warp = x->warp->number,
                           .lanes = x->mask,
                           .has_address = true,
                           .is_write = write,
                           .bytes = (uint32_t)align,
                           .address = start + mx_space_window(t->space)};
    memcpy(trap.block, x->block->ctaid, sizeof trap.block);
    mx__trap_raise(x->launch, &trap);
    return *next = mx__leave(x, i->pc, MX_EV_TRAP), false;
  }
  if ((uint64_t)ld * bits % 128 && !(bits == 64 && !(ld & 1)) && ld != dense)
    return *next = mx__trap_at(x, i, MX_TRAP_MISALIGNED, x->mask,
                               mx__format("the leading dimension %u is no multiple of 16 bytes", ld)),
           false;
  if (ld < dense)
    return *next = mx__trap_at(x, i, MX_TRAP_MISALIGNED, x->mask,
                               mx__format("the leading dimension %u is less than the %u elements of a %s", ld, dense,
                                          is_col ? "column" : "row")),
           false;
  m->p = p, m->part = part, m->bits = bits, m->start = start, m->pitch = (uint64_t)ld * bits / 8;
  m->along = part == MX_PART_A ? !is_col : part == MX_PART_B ? is_col : turns_sums(t) == is_col;
  const unsigned per = mx__tile_per_reg(t, part);
  m->per_piece = m->along ? per : 1, m->pieces = m->along ? 1 : per;
  /* Is all of it in the allocation that the instruction accessed last? */
  struct mx_bounds *b = &x->bounds[i->index];
  const unsigned lines = is_col ? cols : rows;
  const uint64_t bytes = (lines - 1) * m->pitch + dense * bits / 8, span = write ? b->writes : b->reads;
  if (span >= bytes && start - b->lo <= span - bytes && (wide || start + bytes <= UINT32_MAX)) {
    m->host = (unsigned char *)(uintptr_t)(b->host + start);
    if (b->kind == MX_GLOBAL) {
      /* The next access is probably as far from this one as this one is from the last: prefetch its lines, which are
       * far from each other. */
      const uint64_t here = (uint64_t)(uintptr_t)m->host, next = here + (start - b->last);
      b->last = start;
      for (unsigned k = 0; k < lines && (next ^ here) >= 64; k++)
        __builtin_prefetch((const void *)(uintptr_t)(next + k * m->pitch));
    }
    return true;
  }
  m->host = NULL;
  for (unsigned r = 0; r < t->nregs[part]; r++)
    for (unsigned n = 0; n < m->pieces; n++) {
      uint64_t address_of[MX_MAX_LANES];
      for (unsigned l = 0; l < x->lanes; l++) {
        address_of[l] = start + offset_of(m, p->at[part][r][l] + n * m->per_piece);
        if (!wide) address_of[l] = (uint32_t)address_of[l];
      }
      if (!mx__access_find(x, i, x->full, address_of, piece_bytes(m), t->space, write, m->found[r * m->pieces + n]))
        return *next = NULL, false;
    }
  return true;
}

const struct mx_insn *mx__op_wmma_load(struct mx_exec *x, const struct mx_insn *i) {
  const struct mx_insn *next;
  if (!all_here(x, i, &next)) return next;
  const struct mx_tile_plan *p = plan_of(i);
  if (!p) return no_memory(x, i);
  struct matrix m;
  if (!find_matrix(x, i, p, p->t.nregs[p->t.part], false, &m, &next)) return next;
  const unsigned n = p->t.nregs[m.part], bytes = piece_bytes(&m), lane_bytes = bytes * m.pieces;
  void *d[MX_TILE_MAX_REGS];
  for (unsigned r = 0; r < n; r++) d[r] = mx__operand(x, mx__operand_ref(i, r));
  if (m.host && m.bits <= 32 && (m.along || m.bits >= 8)) {
    x->prep->level->tile_load(p, m.host, m.pitch, m.along, d);
    return go_on(x, i);
  }
  for (unsigned r = 0; r < n; r++)
    for (unsigned l = 0; l < x->lanes; l++)
      for (unsigned e = 0; e < m.pieces; e++)
        memcpy((unsigned char *)d[r] + l * lane_bytes + e * bytes, piece(&m, r, l, e), bytes);
  return go_on(x, i);
}

const struct mx_insn *mx__op_wmma_store(struct mx_exec *x, const struct mx_insn *i) {
  const struct mx_insn *next;
  if (!all_here(x, i, &next)) return next;
  const struct mx_tile_plan *p = plan_of(i);
  if (!p) return no_memory(x, i);
  struct matrix m;
  if (!find_matrix(x, i, p, 0, true, &m, &next)) return next;
  const unsigned n = p->t.nregs[m.part], bytes = piece_bytes(&m), lane_bytes = bytes * m.pieces;
  if (m.host && m.along && p->t.lanes == 64 && m.bits <= 32) { /* the registers are the matrix itself, row after row */
    const size_t row = ((size_t)m.bits << p->width[m.part]) / 8, all = 64 * sizeof(uint32_t);
    for (unsigned r = 0; r < n; r++) {
      const unsigned char *from = mx__operand(x, mx__operand_ref(i, p->t.first[m.part] + r));
      for (size_t at = 0; at < all; at += row, m.host += m.pitch)
        for (size_t part = 0; part < row; part += 16) mx__put16(m.host + part, mx__get16(from + at + part));
    }
    return go_on(x, i);
  }
  if (m.host && m.along && p->paired) { /* two registers of four lanes are 32 bytes of a row */
    for (unsigned r = 0; r < n; r += 2) {
      const uint32_t *even = mx__operand(x, mx__operand_ref(i, p->t.first[m.part] + r)),
                     *odd = mx__operand(x, mx__operand_ref(i, p->t.first[m.part] + r + 1));
      for (unsigned l = 0; l < x->lanes; l += 4) {
        unsigned char *to = piece(&m, r, l, 0);
        const mx__4u32 a = mx__get16(even + l), b = mx__get16(odd + l);
        mx__put16(to, mx__low32(a, b)), mx__put16(to + 16, mx__high32(a, b));
      }
    }
    return go_on(x, i);
  }
  for (unsigned r = 0; r < n; r++) {
    const unsigned char *v = mx__operand(x, mx__operand_ref(i, p->t.first[m.part] + r));
    for (unsigned l = 0; l < x->lanes; l++)
      for (unsigned n = 0; n < m.pieces; n++) memcpy(piece(&m, r, l, n), v + l * lane_bytes + n * bytes, bytes);
  }
  return go_on(x, i);
}

/* ---- 8 x 8 tiles -----------------------------------------------------------------------------------------*/
/* Rows of 16 bytes; lane l has the address of row l % 8 of tile l / 8. */
static bool find_rows(struct mx_exec *x, const struct mx_insn *i, unsigned address, unsigned tiles, bool write,
                      unsigned char **host) {
  const bool wide = mx__types[mx__ops[i->op].opnd[address].type].bits == 64;
  const void *base = mx__operand(x, mx__operand_ref(i, address));
  const unsigned space = i->mod >> 1 ? MX_SHARED : MX_GENERIC;
  const struct mx_bounds *b = &x->bounds[i->index]; /* of the allocation that the instruction accessed last */
  const uint64_t span = write ? b->writes : b->reads, most = span < 16 ? 0 : span - 16;
  uint64_t at[MX_MAX_LANES], odd = span < 16;
  for (unsigned l = 0; l < 8 * tiles; l++) {
    const unsigned n = x->uniform_operands >> address & 1 ? 0 : l;
    at[l] = wide ? ((const uint64_t *)base)[n] + (uint64_t)i->off
                 : (uint32_t)(((const uint32_t *)base)[n] + (uint32_t)i->off);
    odd |= (at[l] & 15) | (at[l] - b->lo > most);
    host[l] = (unsigned char *)(uintptr_t)(b->host + at[l]);
  }
  return !odd || mx__access_find(x, i, UINT64_MAX >> (64 - 8 * tiles), at, 16, space, write, host);
}

/* A lane has two elements of a row; the registers' bytes are the tile's. */
const struct mx_insn *mx__op_ldmatrix(struct mx_exec *x, const struct mx_insn *i) {
  const struct mx_insn *next;
  if (!all_here(x, i, &next)) return next;
  const unsigned tiles = i->nopnds - 2u;
  unsigned char *host[MX_MAX_LANES];
  mx__4u32 tile[4][8];
  if (!find_rows(x, i, tiles, tiles, false, host)) return NULL;
  for (unsigned l = 0; l < 8 * tiles; l++) tile[l / 8][l % 8] = mx__get16(host[l]);
  for (unsigned k = 0; k < tiles; k++) {
    if (i->mod & 1) mx__turn16(tile[k]);
    memcpy(mx__operand(x, mx__operand_ref(i, k)), tile[k], sizeof tile[k]);
  }
  return go_on(x, i);
}

const struct mx_insn *mx__op_stmatrix(struct mx_exec *x, const struct mx_insn *i) {
  const struct mx_insn *next;
  if (!all_here(x, i, &next)) return next;
  const unsigned tiles = i->nopnds - 2u;
  unsigned char *host[MX_MAX_LANES];
  mx__4u32 tile[4][8];
  if (!find_rows(x, i, 0, tiles, true, host)) return NULL;
  for (unsigned k = 0; k < tiles; k++) {
    memcpy(tile[k], mx__operand(x, mx__operand_ref(i, 2 + k)), sizeof tile[k]);
    if (i->mod & 1) mx__turn16(tile[k]);
  }
  for (unsigned l = 0; l < 8 * tiles; l++) mx__put16(host[l], tile[l / 8][l % 8]);
  return go_on(x, i);
}

const struct mx_insn *mx__op_movmatrix(struct mx_exec *x, const struct mx_insn *i) {
  const struct mx_insn *next;
  if (!all_here(x, i, &next)) return next;
  mx__4u32 tile[8];
  memcpy(tile, mx__operand(x, i->o[1]), sizeof tile);
  mx__turn16(tile);
  memcpy(mx__operand(x, i->o[0]), tile, sizeof tile);
  return go_on(x, i);
}
