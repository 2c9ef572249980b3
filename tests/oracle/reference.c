/* Program tree -> memory, thread by thread. Deliberately simple: one statement at a time for all threads that are at
 * it, by recursion over the tree. "Who is here" is a list of threads, so an active mask is just the members of that
 * list in one warp. Must share nothing with the machine: not its meanings of opcodes, not its splits and joins. */
#include "oracle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TRACE = 2048, MAX_DEPTH = 12 };
static const uint64_t max_steps = 60000;

enum status { RUN, BROKE, CONTINUED, RETURNED, ENDED };
struct frame {
  uint32_t v[NV], loc[NLOC], depth, result;
  uint64_t w[NW];
  bool q[NQ];
};
struct set {
  unsigned n;
  uint16_t t[MAX_THREADS];
};

struct ref {
  const struct program *p;
  unsigned nthreads, nwarps, warps_per_block;
  uint8_t status[MAX_THREADS];
  struct layout at;
  uint8_t *mem, *trace;
  uint32_t cursor[MAX_THREADS];
  uint32_t *sh, *sh2, *shacc; /* sh, sh2 by thread; shacc by block */
  uint64_t steps;
  uint32_t edges[MAX_THREADS]; /* by warp */
  unsigned depth;
  bool failed;
};

static unsigned tid_of(const struct ref *r, unsigned t) { return t % r->p->threads; }
static unsigned block_of(const struct ref *r, unsigned t) { return t / r->p->threads; }
static unsigned lane_of(const struct ref *r, unsigned t) { return tid_of(r, t) % r->p->lanes; }
static unsigned warp_of(const struct ref *r, unsigned t) { /* in the grid */
  return block_of(r, t) * r->warps_per_block + tid_of(r, t) / r->p->lanes;
}

static void record(struct ref *r, unsigned t, uint32_t value) {
  if (r->cursor[t] + 4 > MAX_TRACE) {
    r->failed = true;
    return;
  }
  memcpy(r->trace + (size_t)t * MAX_TRACE + r->cursor[t], &value, 4);
  r->cursor[t] += 4;
}

static void record_mask(struct ref *r, unsigned t, uint32_t id, uint64_t mask) {
  record(r, t, id);
  record(r, t, (uint32_t)mask);
  if (r->p->lanes == 64) record(r, t, (uint32_t)(mask >> 32));
}

static bool cmp_u(unsigned cmp, uint64_t a, uint64_t b) {
  switch (cmp) {
  case C_EQ: return a == b;
  case C_NE: return a != b;
  case C_LT: return a < b;
  case C_LE: return a <= b;
  case C_GT: return a > b;
  default: return a >= b;
  }
}
static bool cmp_s(unsigned cmp, int64_t a, int64_t b) {
  uint64_t flip = (uint64_t)1 << 63;
  return cmp_u(cmp, (uint64_t)a ^ flip, (uint64_t)b ^ flip);
}

static bool holds(const struct ref *r, const struct cond *c, const struct frame *f, unsigned t) {
  bool x = false;
  switch (c->kind) {
  case K_BIT: x = f->v[c->a] >> c->k & 1; break;
  case K_CMP: {
    uint32_t a = f->v[c->a], b = c->imm ? c->k : f->v[c->b];
    x = c->type == CT_S32 ? cmp_s(c->cmp, (int32_t)a, (int32_t)b) : cmp_u(c->cmp, a, b);
    break;
  }
  case K_Q: x = f->q[c->a]; break;
  case K_LANE: x = cmp_u(c->cmp, lane_of(r, t), c->k); break;
  case K_DEPTH: x = f->depth > 0; break;
  case K_BLOCK: x = block_of(r, t) >> c->k & 1; break;
  case K_WARP: x = (tid_of(r, t) / r->p->lanes) >> c->k & 1; break;
  }
  return x != c->neg;
}

static uint32_t alu(const struct stmt *s, const struct frame *f) {
  uint32_t a = f->v[s->a], b = s->imm ? s->k : f->v[s->b], c = f->v[s->c];
  switch (s->op) {
  case A_ADD: return a + b;
  case A_SUB: return a - b;
  case A_MUL: return a * b;
  case A_MAD: return a * b + c;
  case A_AND: return a & b;
  case A_OR: return a | b;
  case A_XOR: return a ^ b;
  case A_NOT: return ~a;
  case A_SHL: return b > 31 ? 0 : a << b;
  case A_SHRU: return b > 31 ? 0 : a >> b;
  case A_SHRS: {
    uint32_t n = b > 31 ? 31 : b, sign = a >> 31 ? ~(uint32_t)0 : 0;
    return n ? a >> n | sign << (32 - n) : a;
  }
  case A_SELP: return f->q[s->c % NQ] ? a : b;
  default: return b;
  }
}

static void alu64(const struct stmt *s, struct frame *f) {
  uint64_t a = f->w[s->a % NW], b = s->imm ? s->wide : f->w[s->b % NW], *d = &f->w[s->d % NW];
  uint32_t va = f->v[s->a], vb = f->v[s->b], n = s->imm ? s->k : f->v[s->b];
  switch (s->op) {
  case W_ADD: *d = a + b; break;
  case W_SUB: *d = a - b; break;
  case W_MUL: *d = a * b; break;
  case W_AND: *d = a & b; break;
  case W_OR: *d = a | b; break;
  case W_XOR: *d = a ^ b; break;
  case W_SHL: *d = n > 63 ? 0 : a << n; break;
  case W_SHRU: *d = n > 63 ? 0 : a >> n; break;
  case W_SHRS: {
    uint64_t m = n > 63 ? 63 : n, sign = a >> 63 ? ~(uint64_t)0 : 0;
    *d = m ? a >> m | sign << (64 - m) : a;
    break;
  }
  case W_MULU: *d = (uint64_t)va * vb; break;
  case W_MULS: *d = (uint64_t)((int64_t)(int32_t)va * (int32_t)vb); break;
  case W_MADU: *d = (uint64_t)va * vb + f->w[s->c % NW]; break;
  case W_CVTU: *d = va; break;
  case W_CVTS: *d = (uint64_t)(int64_t)(int32_t)va; break;
  case W_LOW: f->v[s->d] = (uint32_t)a; break;
  case W_PACK: *d = (uint64_t)vb << 32 | va; break;
  case W_UNPACK:
    f->v[s->d] = (uint32_t)a;
    f->v[(s->d + 1u) % NV] = (uint32_t)(a >> 32);
    break;
  default: *d = f->q[s->c % NQ] ? a : b; break;
  }
}

static void setp(const struct stmt *s, struct frame *f) {
  uint64_t wa = f->w[s->a % NW], wb = s->imm ? s->k : f->w[s->b % NW];
  uint32_t a = f->v[s->a], b = s->imm ? s->k : f->v[s->b];
  switch (s->form) {
  case CT_U32: f->q[s->d] = cmp_u(s->op, a, b); break;
  case CT_S32: f->q[s->d] = cmp_s(s->op, (int32_t)a, (int32_t)b); break;
  case CT_U64: f->q[s->d] = cmp_u(s->op, wa, wb); break;
  default: f->q[s->d] = cmp_s(s->op, (int64_t)wa, (int64_t)wb); break;
  }
}

static uint32_t float_step(uint32_t a, uint32_t b, uint32_t c) {
  float x = (float)a, y = (float)(int32_t)b, z = (float)c, sum, result;
  sum = x + y;
  result = fmaf(sum, y, z);
  uint32_t bits;
  memcpy(&bits, &result, 4);
  return bits;
}

static uint8_t *private_at(struct ref *r, unsigned t, uint32_t byte) {
  return r->mem + r->at.priv + t * NPRIV * 4 + byte;
}

static void access_private(struct ref *r, const struct stmt *s, struct frame *f, unsigned t) {
  static const uint8_t mask[] = {60, 63, 63, 62, 62, 56, 48, 56};
  uint32_t i = f->v[s->a];
  uint32_t byte = s->op == M_U8 || s->op == M_S8     ? i & 63
                  : s->op == M_U16 || s->op == M_S16 ? (i & 31) * 2
                                                     : (i & 15) * 4 & mask[s->op];
  uint8_t *m = private_at(r, t, byte);
  unsigned words = s->op == M_V2 ? 2 : s->op == M_V4 ? 4 : 1;
  if (s->kind == S_LD) {
    uint16_t h = 0;
    if (s->op == M_U16 || s->op == M_S16) memcpy(&h, m, 2);
    switch (s->op) {
    case M_U8: f->v[s->d] = *m; break;
    case M_S8: f->v[s->d] = (uint32_t)(int32_t)(int8_t)*m; break;
    case M_U16: f->v[s->d] = h; break;
    case M_S16: f->v[s->d] = (uint32_t)(int32_t)(int16_t)h; break;
    case M_B64: memcpy(&f->w[s->d % NW], m, 8); break;
    default:
      for (unsigned i2 = 0; i2 < words; i2++) memcpy(&f->v[(s->d + i2) % NV], m + 4 * i2, 4);
    }
  } else {
    uint16_t h = (uint16_t)f->v[s->b];
    switch (s->op) {
    case M_U8:
    case M_S8: *m = (uint8_t)f->v[s->b]; break;
    case M_U16:
    case M_S16: memcpy(m, &h, 2); break;
    case M_B64: memcpy(m, &f->w[s->b % NW], 8); break;
    default:
      for (unsigned i2 = 0; i2 < words; i2++) memcpy(m + 4 * i2, &f->v[(s->b + i2) % NV], 4);
    }
  }
}

static void atomic_private(struct ref *r, const struct stmt *s, struct frame *f, unsigned t) {
  uint32_t old, now, b = f->v[s->b];
  uint8_t *m = private_at(r, t, (f->v[s->a] & 15) * 4);
  memcpy(&old, m, 4);
  now = s->op == AT_ADD ? old + b : s->op == AT_EXCH ? b : old == f->v[s->c] ? b : old;
  memcpy(m, &now, 4);
  f->v[s->d] = old;
}

static void accumulate(struct ref *r, const struct stmt *s, const struct frame *f) {
  if (s->form & 1) {
    uint64_t x;
    uint8_t *m = r->mem + r->at.acc + (f->v[s->a] & 3) * 8;
    memcpy(&x, m, 8);
    x += f->w[s->b % NW];
    memcpy(m, &x, 8);
  } else {
    uint32_t x;
    uint8_t *m = r->mem + r->at.acc + 32 + (f->v[s->a] & 3) * 8;
    memcpy(&x, m, 4);
    x += f->v[s->b];
    memcpy(m, &x, 4);
  }
}

static void order_cell(struct ref *r, const struct stmt *s, struct frame *f, unsigned t) {
  uint32_t old, a = f->v[s->a];
  uint8_t *m = r->mem + r->at.ord + warp_of(r, t) * NORD * 4 + s->k * 4;
  memcpy(&old, m, 4);
  uint32_t now = s->op == O_ADD ? old + a : s->op == O_LOAD ? old : a;
  memcpy(m, &now, 4);
  if (s->op != O_STORE) f->v[s->d] = old;
}

/* One statement of one thread, where no other thread matters. */
static void step(struct ref *r, const struct stmt *s, struct frame *f, unsigned t) {
  if (s->guard && f->q[(s->guard - 1) % NQ] == (s->guard > NQ)) return;
  switch (s->kind) {
  case S_ALU: f->v[s->d] = alu(s, f); break;
  case S_ALU64: alu64(s, f); break;
  case S_SETP: setp(s, f); break;
  case S_PLOG: {
    bool a = f->q[s->a], b = f->q[s->b];
    f->q[s->d] = s->op == 0 ? a && b : s->op == 1 ? a || b : s->op == 2 ? a != b : !a;
    break;
  }
  case S_FOP: f->v[s->d] = float_step(f->v[s->a], f->v[s->b], f->v[s->c]); break;
  case S_LD:
  case S_ST: access_private(r, s, f, t); break;
  case S_ATOM: atomic_private(r, s, f, t); break;
  case S_ACC: accumulate(r, s, f); break;
  case S_SHACC: r->shacc[block_of(r, t) * NSHACC + (f->v[s->a] & 7)] += f->v[s->b]; break;
  case S_LDLOC: f->v[s->d] = f->loc[f->v[s->a] & 7]; break;
  case S_STLOC: f->loc[f->v[s->a] & 7] = f->v[s->b]; break;
  case S_REC:
    record(r, t, s->id);
    record(r, t, f->v[s->a]);
    break;
  case S_REC64:
    record(r, t, s->id);
    record(r, t, (uint32_t)f->w[s->a % NW]);
    record(r, t, (uint32_t)(f->w[s->a % NW] >> 32));
    break;
  case S_RECQ:
    record(r, t, s->id);
    record(r, t, f->q[0] + 2u * f->q[1] + 4u * f->q[2] + 8u * f->q[3]);
    break;
  case S_ORDER: order_cell(r, s, f, t); break;
  }
}

/* ---- sets ------------------------------------------------------------------------------------------------*/
static void run_list(struct ref *r, const struct list *l, struct frame *f, const struct set *here);

static void still_here(const struct ref *r, const struct set *from, struct set *to) {
  unsigned n = 0;
  for (unsigned i = 0; i < from->n; i++)
    if (r->status[from->t[i]] == RUN) to->t[n++] = from->t[i];
  to->n = n;
}

static void part(const struct ref *r, const struct set *from, const struct cond *c, const struct frame *f,
                 struct set *yes, struct set *no) {
  yes->n = no->n = 0;
  for (unsigned i = 0; i < from->n; i++) {
    struct set *to = holds(r, c, &f[from->t[i]], from->t[i]) ? yes : no;
    to->t[to->n++] = from->t[i];
  }
}

/* Per warp: the lanes of `here`, and those of them where predicate q (or !q) holds. */
static void lanes_of(const struct ref *r, const struct set *here, uint64_t *mask) {
  memset(mask, 0, r->nwarps * sizeof *mask);
  for (unsigned i = 0; i < here->n; i++) mask[warp_of(r, here->t[i])] |= (uint64_t)1 << lane_of(r, here->t[i]);
}
static void ballot(const struct ref *r, const struct set *here, const struct frame *f, unsigned q, uint64_t *mask) {
  memset(mask, 0, r->nwarps * sizeof *mask);
  for (unsigned i = 0; i < here->n; i++)
    if (f[here->t[i]].q[q]) mask[warp_of(r, here->t[i])] |= (uint64_t)1 << lane_of(r, here->t[i]);
}

/* Value of `from` (by thread) as shfl moves it; 0 where the source lane is not here. */
static uint32_t shuffled(const struct ref *r, unsigned op, uint32_t b, uint32_t c, const uint32_t *from, unsigned t,
                         uint64_t mask, bool *in_range) {
  int width = (int)r->p->lanes, lane = (int)lane_of(r, t), amount = (int)b & (width - 1);
  int clamp = (int)c & (width - 1), segment = (int)(c >> 8) & (width - 1);
  int highest = (lane & segment) | (clamp & ~segment & (width - 1)), lowest = lane & segment, j;
  switch (op) {
  case SH_UP:
    j = lane - amount;
    *in_range = j >= highest;
    break;
  case SH_DOWN:
    j = lane + amount;
    *in_range = j <= highest;
    break;
  case SH_BFLY:
    j = lane ^ amount;
    *in_range = j <= highest;
    break;
  default:
    j = lowest | (amount & ~segment & (width - 1));
    *in_range = j <= highest;
    break;
  }
  if (!*in_range) j = lane;
  return mask >> j & 1 ? from[t - (unsigned)lane + (unsigned)j] : 0;
}

static unsigned turned(const struct ref *r, unsigned t, uint32_t by) { /* thread `by` further on in its block */
  unsigned tid = tid_of(r, t);
  return t - tid + (tid + by) % r->p->threads;
}

static void warp_op(struct ref *r, const struct stmt *s, struct frame *f, const struct set *here) {
  uint64_t mask[MAX_THREADS], votes[MAX_THREADS];
  uint32_t from[MAX_THREADS];
  lanes_of(r, here, mask);
  unsigned q = s->kind == S_MEET ? s->b % NQ : s->a % NQ;
  if (s->kind != S_MASK) ballot(r, here, f, q, votes);
  for (unsigned i = 0; i < here->n; i++) from[here->t[i]] = f[here->t[i]].v[s->a];
  for (unsigned i = 0; i < here->n; i++) {
    unsigned t = here->t[i], w = warp_of(r, t);
    struct frame *ft = &f[t];
    bool in_range;
    switch (s->kind) {
    case S_MASK: record_mask(r, t, s->id, mask[w]); break;
    case S_BALLOT:
    case S_ABALLOT:
      ft->w[s->d % NW] = votes[w];
      record_mask(r, t, s->id, votes[w]);
      break;
    case S_VOTE:
      ft->q[s->d % NQ] = s->op == 0   ? votes[w] == mask[w]
                         : s->op == 1 ? votes[w] != 0
                                      : votes[w] == mask[w] || !votes[w];
      break;
    case S_SHFL: {
      uint32_t b = s->imm ? s->k : ft->v[s->b];
      ft->v[s->d] = shuffled(r, s->op, b, (uint32_t)s->wide, from, t, mask[w], &in_range);
      if (s->form & 1) ft->q[s->d % NQ] = in_range;
      break;
    }
    case S_WARPX: r->sh2[t] = from[t]; break;
    case S_MEET:
      if (s->op == MEET_BALLOT) ft->w[s->d % NW] = votes[w];
      else if (s->op == MEET_SHFL)
        ft->v[s->d] = shuffled(r, SH_IDX, s->k, r->p->lanes - 1, from, t, mask[w], &in_range);
      break;
    }
  }
  if (s->kind == S_WARPX)
    for (unsigned i = 0; i < here->n; i++) {
      unsigned t = here->t[i], lane = lane_of(r, t), j = lane ^ s->k;
      f[t].v[s->d] = mask[warp_of(r, t)] >> j & 1 ? r->sh2[t - lane + j] : 0;
    }
}

static void block_op(struct ref *r, const struct stmt *s, struct frame *f, const struct set *here) {
  uint32_t count[MAX_THREADS], yes[MAX_THREADS]; /* by block */
  memset(count, 0, sizeof count);
  memset(yes, 0, sizeof yes);
  unsigned kind = s->kind == S_MEET ? (s->op == MEET_BAR ? S_BLOCKX : S_BARRED) : s->kind;
  unsigned red = s->kind == S_MEET ? s->op - MEET_POPC : s->op;
  for (unsigned i = 0; i < here->n; i++) {
    unsigned t = here->t[i];
    count[block_of(r, t)]++;
    if (f[t].q[s->a % NQ]) yes[block_of(r, t)]++;
    bool gives = kind == S_BLOCKX || (kind == S_HANDOVER && (tid_of(r, t) / r->p->lanes & 1) == (s->form & 1));
    if (gives) r->sh[t] = f[t].v[s->a];
  }
  for (unsigned i = 0; i < here->n; i++) {
    unsigned t = here->t[i], b = block_of(r, t);
    bool gives = (tid_of(r, t) / r->p->lanes & 1) == (s->form & 1);
    switch (kind) {
    case S_BLOCKX: f[t].v[s->d] = r->sh[turned(r, t, s->k)]; break;
    case S_HANDOVER:
      if (!gives) f[t].v[s->d] = r->sh[turned(r, t, s->k)];
      break;
    case S_SHREAD: f[t].v[s->d] = r->shacc[b * NSHACC + (f[t].v[s->a] & 7)]; break;
    default:
      if (red == 0) f[t].v[s->d] = yes[b];
      else f[t].q[s->d % NQ] = red == 1 ? yes[b] == count[b] : yes[b] > 0;
    }
  }
}

/* Each warp of `here` takes a backward branch or a call: once, or, where its lanes may be apart, once for each. */
static void count_edges(struct ref *r, const struct stmt *s, const struct set *here) {
  unsigned before = UINT32_MAX;
  for (unsigned i = 0; i < here->n; i++) {
    unsigned w = warp_of(r, here->t[i]);
    if (s->apart || w != before) r->edges[w]++;
    before = w;
  }
}

/* ---- control ---------------------------------------------------------------------------------------------*/
static void leave(struct ref *r, const struct stmt *s, struct frame *f, const struct set *here, enum status how) {
  for (unsigned i = 0; i < here->n; i++) {
    unsigned t = here->t[i];
    if (!holds(r, &s->cond, &f[t], t)) continue;
    if (s->kind == S_EXIT && s->flag && (f[t].v[s->cond.b] & 6) != 6) continue;
    r->status[t] = (uint8_t)how;
    f[t].result = f[t].v[0];
  }
}

static void come_back(struct ref *r, const struct set *all, enum status from) {
  for (unsigned i = 0; i < all->n; i++)
    if (r->status[all->t[i]] == from) r->status[all->t[i]] = RUN;
}

static void run_loop(struct ref *r, const struct stmt *s, struct frame *f, const struct set *all) {
  struct set here = *all, next;
  uint32_t trips[MAX_THREADS];
  for (unsigned i = 0; i < all->n; i++) trips[all->t[i]] = s->flag ? s->k : f[all->t[i]].v[s->a] & s->k;
  for (uint32_t round = 0; here.n && !r->failed; round++) {
    next.n = 0;
    for (unsigned i = 0; i < here.n; i++)
      if ((s->form == 1 && round == 0) || round < trips[here.t[i]]) next.t[next.n++] = here.t[i];
    for (unsigned i = 0; i < next.n; i++) f[next.t[i]].v[s->d] = round;
    count_edges(r, s, &next);
    run_list(r, &s->sub[0], f, &next);
    come_back(r, &next, CONTINUED);
    still_here(r, &next, &here);
  }
  come_back(r, all, BROKE);
}

static void run_switch(struct ref *r, const struct stmt *s, struct frame *f, const struct set *all) {
  uint8_t which[MAX_THREADS];
  for (unsigned i = 0; i < all->n; i++) which[all->t[i]] = s->table[f[all->t[i]].v[s->a] >> s->k & (s->ntable - 1)];
  for (unsigned c = 0; c < s->nsub; c++) {
    struct set here = {0};
    for (unsigned i = 0; i < all->n; i++) {
      unsigned t = all->t[i];
      if (r->status[t] == RUN && (which[t] == c || (s->flag && which[t] < c))) here.t[here.n++] = (uint16_t)t;
    }
    run_list(r, &s->sub[c], f, &here);
  }
}

static void enter(struct frame *n, uint32_t x, uint64_t y, uint32_t depth) {
  for (unsigned k = 0; k < NV; k++) n->v[k] = x * (2 * k + 1) + (uint32_t)y * k;
  for (unsigned k = 0; k < NW; k++) n->w[k] = y + k;
  for (unsigned k = 0; k < NQ; k++) n->q[k] = x >> k & 1;
  for (unsigned k = 0; k < NLOC; k++) n->loc[k] = x + k;
  n->depth = depth;
}

static void run_call(struct ref *r, const struct stmt *s, struct frame *f, const struct set *here) {
  if (r->depth == MAX_DEPTH) {
    r->failed = true;
    return;
  }
  struct frame *n = calloc(r->nthreads, sizeof *n);
  if (!n) abort();
  for (unsigned i = 0; i < here->n; i++) {
    struct frame *ft = &f[here->t[i]];
    enter(&n[here->t[i]], ft->v[s->a], ft->w[s->b % NW], s->flag ? ft->depth - 1 : ft->v[s->c] & s->k);
  }
  count_edges(r, s, here);
  r->depth++;
  run_list(r, &r->p->funcs[s->func].body, n, here);
  r->depth--;
  for (unsigned i = 0; i < here->n; i++) {
    unsigned t = here->t[i];
    if (r->status[t] == ENDED) continue;
    f[t].v[s->d] = r->status[t] == RETURNED ? n[t].result : n[t].v[0];
    r->status[t] = RUN;
  }
  free(n);
}

static void run_graph(struct ref *r, const struct stmt *s, struct frame *f, const struct set *all) {
  const struct graph *g = s->graph;
  uint32_t fuel[MAX_THREADS];
  for (unsigned i = 0; i < all->n; i++) fuel[all->t[i]] = g->fuel;
  for (unsigned k = 0; k < g->nstages; k++) {
    const struct gstage *st = &g->stages[k];
    struct set here;
    uint64_t votes[MAX_THREADS] = {0};
    for (unsigned i = 0; i < all->n && !r->failed; i++) {
      struct set one = {.n = 1, .t = {all->t[i]}};
      unsigned t = one.t[0];
      if (r->status[t] != RUN) continue;
      int at = (int)(holds(r, &st->entry, &f[t], t) ? st->enter_yes : st->enter_no);
      while (at >= 0 && r->status[t] == RUN && !r->failed) {
        const struct gblock *b = &g->blocks[st->first + (unsigned)at];
        r->steps++;
        r->edges[warp_of(r, t)] += 2;
        run_list(r, &b->body, f, &one);
        if (fuel[t] <= 1) {
          fuel[t] = 1;
          break;
        }
        fuel[t]--;
        at = holds(r, &b->cond, &f[t], t) ? b->yes : b->no;
      }
    }
    if (!g->meet) continue;
    still_here(r, all, &here);
    for (unsigned i = 0; i < here.n; i++) {
      unsigned t = here.t[i];
      if (holds(r, &st->pred, &f[t], t)) votes[warp_of(r, t)] |= (uint64_t)1 << lane_of(r, t);
    }
    for (unsigned i = 0; i < here.n; i++) f[here.t[i]].w[st->d] = votes[warp_of(r, here.t[i])];
  }
}

static void run_stmt(struct ref *r, const struct stmt *s, struct frame *f, const struct set *here) {
  struct set yes, no;
  switch (s->kind) {
  case S_MASK:
  case S_BALLOT:
  case S_ABALLOT:
  case S_VOTE:
  case S_SHFL:
  case S_WARPX: warp_op(r, s, f, here); break;
  case S_BLOCKX:
  case S_BARRED:
  case S_SHREAD:
  case S_HANDOVER: block_op(r, s, f, here); break;
  case S_IF: /* the side that falls through goes first; form 0: that is the then side */
    part(r, here, &s->cond, f, &yes, &no);
    if (s->form == 2) count_edges(r, s, &yes);
    if (s->form == 0) run_list(r, &s->sub[0], f, &yes);
    run_list(r, &s->sub[1], f, &no);
    if (s->form != 0) run_list(r, &s->sub[0], f, &yes);
    break;
  case S_MEET:
    part(r, here, &s->cond, f, &yes, &no);
    run_list(r, &s->sub[0], f, &yes);
    run_list(r, &s->sub[1], f, &no);
    {
      struct set both;
      still_here(r, here, &both);
      if (s->op <= MEET_OR) block_op(r, s, f, &both);
      else warp_op(r, s, f, &both);
    }
    run_list(r, &s->sub[2], f, &yes);
    run_list(r, &s->sub[3], f, &no);
    break;
  case S_LOOP: run_loop(r, s, f, here); break;
  case S_BREAK: leave(r, s, f, here, BROKE); break;
  case S_CONTINUE: leave(r, s, f, here, CONTINUED); break;
  case S_RET: leave(r, s, f, here, RETURNED); break;
  case S_EXIT: leave(r, s, f, here, ENDED); break;
  case S_SWITCH: run_switch(r, s, f, here); break;
  case S_CALL: run_call(r, s, f, here); break;
  case S_GRAPH: run_graph(r, s, f, here); break;
  default:
    for (unsigned i = 0; i < here->n; i++) step(r, s, &f[here->t[i]], here->t[i]);
  }
}

static void run_list(struct ref *r, const struct list *l, struct frame *f, const struct set *all) {
  struct set here;
  for (const struct stmt *s = l->first; s; s = s->next) {
    if (s->dropped) continue;
    still_here(r, all, &here);
    if (!here.n || r->failed) return;
    r->steps += here.n;
    if (r->steps > max_steps * (1 + r->nthreads / 64)) {
      r->failed = true;
      return;
    }
    run_stmt(r, s, f, &here);
  }
}

/* ---- start and end ---------------------------------------------------------------------------------------*/
static void start_frame(const struct ref *r, struct frame *f, unsigned t) {
  const struct program *p = r->p;
  for (unsigned k = 0; k < NV; k++) {
    f->v[k] = t * p->v0[k][0] + p->v0[k][1];
    f->v[k] ^= f->v[k] >> 15;
  }
  for (unsigned k = 0; k < NW; k++) f->w[k] = (uint64_t)f->v[k] * f->v[k + 1];
  for (unsigned k = 0; k < NQ; k++) f->q[k] = f->v[k] >> 7 & 1;
  for (unsigned k = 0; k < NLOC; k++) f->loc[k] = f->v[0] + k;
}

bool reference_run(const struct program *p, struct result *out) {
  struct ref *r = calloc(1, sizeof *r);
  if (!r) abort();
  r->p = p;
  r->nthreads = p->blocks * p->threads;
  r->warps_per_block = (p->threads + p->lanes - 1) / p->lanes;
  r->nwarps = r->warps_per_block * p->blocks;
  struct layout *at = &r->at;
  at->ord = NACC * 8;
  at->priv = at->ord + r->nwarps * NORD * 4;
  at->mem_bytes = at->priv + r->nthreads * NPRIV * 4;
  uint8_t *mem_in = malloc(at->mem_bytes);
  r->mem = malloc(at->mem_bytes);
  r->trace = malloc((size_t)r->nthreads * MAX_TRACE);
  struct frame *f = calloc(r->nthreads, sizeof *f);
  r->sh = calloc(r->nthreads, sizeof *r->sh);
  r->sh2 = calloc(r->nthreads, sizeof *r->sh2);
  r->shacc = calloc(p->blocks * NSHACC, sizeof *r->shacc);
  if (!mem_in || !r->mem || !r->trace || !f || !r->sh || !r->sh2 || !r->shacc) abort();
  uint64_t s = p->seed ^ 0x5851F42D4C957F2Du;
  for (uint32_t i = 0; i < at->mem_bytes; i++) mem_in[i] = (uint8_t)(rng_next(&s) >> 56);
  memcpy(r->mem, mem_in, at->mem_bytes);
  memset(r->trace, 0xA5, (size_t)r->nthreads * MAX_TRACE);

  struct set all = {.n = r->nthreads};
  for (unsigned t = 0; t < r->nthreads; t++) {
    all.t[t] = (uint16_t)t;
    start_frame(r, &f[t], t);
    r->sh[t] = f[t].v[0];
  }
  run_list(r, &p->funcs[0].body, f, &all);
  for (unsigned t = 0; t < r->nthreads; t++) /* what the end of the kernel records */
    if (r->status[t] == RUN)
      for (unsigned k = 0; k < NV; k++) record(r, t, f[t].v[k]);

  for (unsigned t = 0; t < r->nthreads; t++)
    if (r->cursor[t] > at->trace_stride) at->trace_stride = r->cursor[t];
  at->trace_stride = (at->trace_stride + 19) & ~15u;
  at->trace_bytes = at->trace_stride * r->nthreads;
  out->trace = malloc(at->trace_bytes);
  if (!out->trace) abort();
  memset(out->trace, 0xA5, at->trace_bytes);
  for (unsigned t = 0; t < r->nthreads; t++)
    memcpy(out->trace + (size_t)t * at->trace_stride, r->trace + (size_t)t * MAX_TRACE, r->cursor[t]);
  out->at = *at;
  out->mem = r->mem;
  out->mem_in = mem_in;
  out->steps = r->steps;
  out->edges = 0;
  for (unsigned w = 0; w < r->nwarps; w++)
    if (r->edges[w] > out->edges) out->edges = r->edges[w];
  bool ok = !r->failed;
  free(r->trace), free(f), free(r->sh), free(r->sh2), free(r->shacc), free(r);
  return ok;
}

void result_free(struct result *r) { free(r->mem_in), free(r->mem), free(r->trace); }
