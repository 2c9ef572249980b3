/* Seed -> program tree. Decides shapes only; knows neither spelling nor results. What may stand where is decided by
 * the context: `masks` (the tracked mask is known and the flow around is structured), `uniform` (the whole block is
 * here), `loop` and `wild` (whether break and continue may stand anywhere in the loop). */
#include "oracle.h"
#include <stdlib.h>
#include <string.h>

struct chunk {
  struct chunk *next;
};

struct gen {
  struct program *p;
  uint64_t rng;
  int budget; /* statements still to spend */
  bool apart; /* of the list that is being filled */
  unsigned next_barrier;
};

struct ctx {
  int func;
  unsigned depth, loops;
  bool masks, uniform, order;
  bool in_loop; /* break may stand at the top of this list */
  bool wild;    /* break and continue may stand anywhere inside */
  bool may_ret;
  bool straight; /* no control flow (blocks of a graph, deep nests) */
};

static uint32_t below(struct gen *g, uint32_t n) { return (uint32_t)(rng_next(&g->rng) >> 33) % n; }
static bool chance(struct gen *g, uint32_t percent) { return below(g, 100) < percent; }

static void *take(struct gen *g, size_t n) {
  struct chunk *c = calloc(1, sizeof *c + n);
  if (!c) abort();
  c->next = g->p->chunks;
  g->p->chunks = c;
  return c + 1;
}

void program_free(struct program *p) {
  for (struct chunk *c = p->chunks, *n; c; c = n) {
    n = c->next;
    free(c);
  }
  free(p);
}

static struct stmt *add(struct gen *g, struct list *l, enum stmt_kind kind) {
  struct stmt *s = take(g, sizeof *s);
  s->kind = (uint8_t)kind;
  s->id = ++g->p->nstmts;
  if (l->last) l->last->next = s;
  else l->first = s;
  l->last = s;
  g->budget--;
  s->d = (uint8_t)below(g, NV);
  s->a = (uint8_t)below(g, NV);
  s->b = (uint8_t)below(g, NV);
  s->c = (uint8_t)below(g, NV);
  s->form = (uint8_t)below(g, 4);
  s->apart = g->apart;
  return s;
}

static uint32_t literal(struct gen *g) {
  static const uint32_t corners[] = {0, 1, 2, 31, 32, 33, 63, 64, 0x7FFFFFFF, 0x80000000u, 0xFFFFFFFFu, 0xFF, 0xFFFF};
  switch (below(g, 4)) {
  case 0: return corners[below(g, sizeof corners / sizeof *corners)];
  case 1: return (uint32_t)rng_next(&g->rng);
  default: return below(g, 256);
  }
}

static void condition(struct gen *g, const struct ctx *x, struct cond *c) {
  c->neg = chance(g, 40);
  c->a = (uint8_t)below(g, NV);
  c->b = (uint8_t)below(g, NV);
  c->imm = chance(g, 50);
  c->cmp = (uint8_t)below(g, 6);
  c->type = (uint8_t)below(g, 2);
  switch (below(g, 10)) {
  case 0:
  case 1:
  case 2:
  case 3:
    c->kind = K_BIT;
    c->k = below(g, 32);
    break;
  case 4:
  case 5:
    c->kind = K_CMP;
    c->k = literal(g) * (chance(g, 50) ? 0x01000000u : 1u);
    break;
  case 6:
  case 7:
    c->kind = K_Q;
    c->a = (uint8_t)below(g, NQ);
    break;
  case 8:
    c->kind = K_LANE;
    c->k = below(g, g->p->lanes + 1);
    break;
  default:
    c->kind = chance(g, 50) ? K_WARP : K_BLOCK;
    c->k = below(g, 2);
    break;
  }
  (void)x;
}

static void block_condition(struct gen *g, struct cond *c) {
  c->kind = K_BLOCK;
  c->k = below(g, 2);
  c->neg = chance(g, 50);
}

static void list_fill(struct gen *g, struct list *l, struct ctx x, unsigned want);

static void straight(struct gen *g, struct list *l, const struct ctx *x) {
  struct stmt *s;
  switch (below(g, 20)) {
  case 0:
  case 1:
  case 2:
  case 3:
  case 4:
    s = add(g, l, S_ALU);
    s->op = (uint8_t)below(g, A_OPS);
    s->imm = chance(g, 40);
    s->k = literal(g);
    break;
  case 5:
  case 6:
    s = add(g, l, S_ALU64);
    s->op = (uint8_t)below(g, W_OPS);
    s->imm = chance(g, 30);
    s->wide = chance(g, 50) ? literal(g) : rng_next(&g->rng);
    s->k = below(g, 70);
    break;
  case 7:
  case 8:
    s = add(g, l, S_SETP);
    s->op = (uint8_t)below(g, 6);
    s->form = (uint8_t)below(g, 4);
    s->imm = chance(g, 40);
    s->k = literal(g);
    s->d = (uint8_t)below(g, NQ);
    break;
  case 9:
    s = add(g, l, S_PLOG);
    s->op = (uint8_t)below(g, 4);
    s->d = (uint8_t)below(g, NQ);
    s->a = (uint8_t)below(g, NQ);
    s->b = (uint8_t)below(g, NQ);
    break;
  case 10: s = add(g, l, S_FOP); break;
  case 11:
  case 12:
    s = add(g, l, S_LD);
    s->op = (uint8_t)below(g, M_FORMS);
    break;
  case 13:
  case 14:
    s = add(g, l, S_ST);
    s->op = (uint8_t)below(g, M_FORMS);
    break;
  case 15:
    s = add(g, l, S_ATOM);
    s->op = (uint8_t)below(g, AT_OPS);
    break;
  case 16: s = add(g, l, chance(g, 60) ? S_ACC : S_SHACC); break;
  case 17: s = add(g, l, chance(g, 50) ? S_LDLOC : S_STLOC); break;
  default: s = add(g, l, chance(g, 70) ? S_REC : chance(g, 50) ? S_REC64 : S_RECQ); break;
  }
  if ((s->kind <= S_SETP || s->kind == S_LD || s->kind == S_ST || s->kind == S_ATOM || s->kind == S_ACC) &&
      s->op != W_UNPACK && chance(g, 12))
    s->guard = (uint8_t)(1 + below(g, 2 * NQ));
  if (s->kind == S_ALU64 && (s->op == W_UNPACK || s->op == W_PACK)) s->guard = 0;
  (void)x;
}

static void masked(struct gen *g, struct list *l, const struct ctx *x) {
  struct stmt *s;
  switch (below(g, 11)) {
  case 0:
  case 1:
  case 2:
  case 3: add(g, l, S_MASK); break;
  case 4:
  case 5:
    s = add(g, l, S_BALLOT);
    s->a = (uint8_t)below(g, NQ);
    break;
  case 6:
    s = add(g, l, S_VOTE);
    s->op = (uint8_t)below(g, 3);
    s->d = (uint8_t)below(g, NQ);
    s->a = (uint8_t)below(g, NQ);
    break;
  case 7:
  case 8: {
    s = add(g, l, S_SHFL);
    s->op = (uint8_t)below(g, 4);
    s->imm = chance(g, 60);
    s->k = below(g, g->p->lanes);
    uint32_t seg = 0, sizes = g->p->lanes == 64 ? 6 : 5;
    if (chance(g, 40)) seg = (g->p->lanes - (1u << below(g, sizes))) & (g->p->lanes - 1);
    s->wide = seg << 8 | (s->op == SH_UP ? 0 : g->p->lanes - 1);
    break;
  }
  case 9:
    s = add(g, l, S_WARPX);
    s->k = 1 + below(g, g->p->lanes - 1);
    break;
  default:
    if (g->p->lanes == 64 && g->p->together) {
      s = add(g, l, S_ABALLOT);
      s->a = (uint8_t)below(g, NQ);
    } else add(g, l, S_MASK);
  }
  (void)x;
}

static void block_wide(struct gen *g, struct list *l) {
  struct stmt *s;
  switch (below(g, 5)) {
  case 0:
  case 1:
    s = add(g, l, S_BLOCKX);
    s->k = below(g, g->p->threads);
    break;
  case 2:
    s = add(g, l, S_BARRED);
    s->op = (uint8_t)below(g, 3);
    s->a = (uint8_t)below(g, NQ);
    break;
  case 3: s = add(g, l, S_SHREAD); break;
  default:
    if (g->p->exits || !g->p->full || g->p->threads <= g->p->lanes) {
      add(g, l, S_SHREAD);
      return;
    }
    s = add(g, l, S_HANDOVER);
    s->k = below(g, g->p->threads);
  }
  s->wide = 1 + below(g, 15); /* barrier number */
}

static struct ctx deeper(const struct ctx *x) {
  struct ctx y = *x;
  y.depth++;
  y.in_loop = x->in_loop && x->wild;
  y.may_ret = x->may_ret && !x->masks;
  y.uniform = false;
  return y;
}

static void gen_if(struct gen *g, struct list *l, const struct ctx *x) {
  struct stmt *s = add(g, l, S_IF);
  struct ctx y = deeper(x);
  if (x->uniform && chance(g, 25)) {
    block_condition(g, &s->cond);
    y.uniform = true;
  } else condition(g, x, &s->cond);
  s->form = (uint8_t)below(g, 3); /* 0 then falls through; 1 else falls through; 2 then lies out of line */
  s->nsub = 2;
  list_fill(g, &s->sub[0], y, below(g, 4) + (chance(g, 90) ? 1 : 0));
  if (chance(g, 60)) list_fill(g, &s->sub[1], y, 1 + below(g, 4));
}

static void gen_meet(struct gen *g, struct list *l, const struct ctx *x) {
  struct stmt *s = add(g, l, S_MEET);
  condition(g, x, &s->cond);
  s->op = (uint8_t)(x->uniform && chance(g, 60) ? below(g, 4) : MEET_BALLOT + below(g, 3));
  s->form = (uint8_t)below(g, 2);
  s->a = (uint8_t)below(g, NV);
  s->k = below(g, s->op == MEET_BAR ? g->p->threads : g->p->lanes);
  s->wide = below(g, 16);
  struct ctx y = deeper(x);
  s->nsub = 4;
  for (unsigned i = 0; i < 4; i++) list_fill(g, &s->sub[i], y, below(g, 3));
}

static void gen_loop(struct gen *g, struct list *l, const struct ctx *x) {
  struct stmt *s = add(g, l, S_LOOP);
  struct ctx y = deeper(x);
  y.loops++;
  y.in_loop = true;
  y.wild = chance(g, 45);
  y.may_ret = x->may_ret && !x->masks && y.wild;
  s->flag = chance(g, 40); /* trips: k, the same for all lanes; otherwise v[a] & k */
  s->k = s->flag ? 1 + below(g, 4) : below(g, 2) ? 3 : 7;
  if (x->uniform && s->flag && chance(g, 40)) {
    y.uniform = true;
    y.wild = false;
    y.in_loop = false;
  }
  if (y.wild) {
    y.masks = false;
    y.order = false;
  }
  s->form = (uint8_t)below(g, 3); /* 0 test at the head; 1 test at the end; 2 test at the head, body out of line */
  s->nsub = 1;
  list_fill(g, &s->sub[0], y, 1 + below(g, 6));
}

static void gen_switch(struct gen *g, struct list *l, const struct ctx *x) {
  struct stmt *s = add(g, l, S_SWITCH);
  struct ctx y = deeper(x);
  y.order = false;
  s->ntable = chance(g, 50) ? 4 : 8;
  s->nsub = 2 + below(g, 3);
  for (unsigned i = 0; i < s->ntable; i++) s->table[i] = (uint8_t)below(g, s->nsub);
  s->flag = chance(g, 30); /* cases fall into the next one */
  if (s->flag) y.masks = false;
  s->k = below(g, 24); /* which bits of v[a] choose */
  for (unsigned i = 0; i < s->nsub; i++) list_fill(g, &s->sub[i], y, below(g, 3));
}

static void gen_call(struct gen *g, struct list *l, const struct ctx *x) {
  unsigned fit[MAX_FUNCS], n = 0;
  for (unsigned f = (unsigned)x->func + 1; f < g->p->nfuncs; f++)
    if (g->p->funcs[f].cls == F_PLAIN || (g->p->funcs[f].cls == F_MASKED && x->masks && x->order == g->p->order) ||
        (g->p->funcs[f].cls == F_UNIFORM && x->uniform))
      fit[n++] = f;
  if (!n) {
    straight(g, l, x);
    return;
  }
  struct stmt *s = add(g, l, S_CALL);
  s->func = (int)fit[below(g, n)];
  s->k = g->p->funcs[s->func].cls == F_UNIFORM ? 0 : 3; /* depth = v[c] & k */
}

static void gen_self_call(struct gen *g, struct list *l, const struct ctx *x) {
  struct stmt *i = add(g, l, S_IF);
  i->cond.kind = K_DEPTH;
  i->form = (uint8_t)below(g, 3);
  i->nsub = 2;
  struct ctx y = deeper(x);
  list_fill(g, &i->sub[0], y, below(g, 2));
  struct stmt *s = add(g, &i->sub[0], S_CALL);
  s->func = x->func;
  s->flag = true; /* depth - 1 */
  if (chance(g, 50)) list_fill(g, &i->sub[0], y, 1);
  if (chance(g, 50)) list_fill(g, &i->sub[1], y, 1);
}

static void gen_graph(struct gen *g, struct list *l, const struct ctx *x) {
  struct stmt *s = add(g, l, S_GRAPH);
  struct graph *h = s->graph = take(g, sizeof *h);
  h->meet = x->masks && !g->p->together;
  h->nstages = h->meet ? 1 + below(g, 2) : 1;
  h->fuel = 4 + below(g, 12);
  unsigned per[2] = {2 + below(g, 5), 2 + below(g, 4)};
  h->nblocks = per[0] + (h->nstages > 1 ? per[1] : 0);
  h->blocks = take(g, h->nblocks * sizeof *h->blocks);
  struct ctx y = deeper(x);
  y.masks = y.order = y.in_loop = y.wild = y.may_ret = false;
  bool forward = chance(g, 40); /* forward jumps only */
  for (unsigned i = 0, first = 0; i < h->nstages; first += per[i++]) {
    struct gstage *t = &h->stages[i];
    t->first = first;
    t->n = per[i];
    condition(g, x, &t->entry);
    condition(g, x, &t->pred);
    t->d = (uint8_t)below(g, NW);
    t->enter_yes = below(g, t->n);
    t->enter_no = forward ? 0 : below(g, t->n);
    for (unsigned b = 0; b < t->n; b++) {
      struct gblock *k = &h->blocks[first + b];
      struct ctx z = y;
      z.straight = !chance(g, 20);
      list_fill(g, &k->body, z, below(g, 3));
      condition(g, x, &k->cond);
      for (int w = 0; w < 2; w++) {
        int to = chance(g, 20) ? -1 - (int)below(g, 2)
                 : forward     ? (b + 1 < t->n ? (int)(b + 1 + below(g, t->n - b - 1)) : -1 - (int)below(g, 2))
                               : (int)below(g, t->n);
        *(w ? &k->yes : &k->no) = to;
      }
    }
  }
}

static void list_fill(struct gen *g, struct list *l, struct ctx x, unsigned want) {
  for (unsigned i = 0; i < want && g->budget > 0; i++) {
    g->apart = !x.masks;
    unsigned dice = below(g, 100);
    bool deep = x.straight || x.depth >= 4 || g->budget < 6;
    /* An exit below a branch may move that branch's meeting point to the end of the kernel; then masks are open. */
    bool may_exit = g->p->exits && !x.straight && (!g->p->together || (!x.func && !x.depth));
    if (x.in_loop && chance(g, 12)) {
      struct stmt *s = add(g, l, x.wild && chance(g, 50) ? S_CONTINUE : S_BREAK);
      condition(g, &x, &s->cond);
    } else if (x.may_ret && chance(g, 6)) {
      struct stmt *s = add(g, l, S_RET);
      condition(g, &x, &s->cond);
    } else if (may_exit && chance(g, g->p->together ? 9 : 4)) {
      struct stmt *s = add(g, l, S_EXIT);
      condition(g, &x, &s->cond);
      s->cond.kind = K_BIT; /* rarely all of them */
      s->cond.k = below(g, 32);
      s->flag = chance(g, 70); /* and two more bits must agree */
    } else if (deep || dice < 45) {
      if (x.uniform && chance(g, 12)) block_wide(g, l);
      else if (x.order && chance(g, 12)) {
        struct stmt *s = add(g, l, S_ORDER);
        s->op = (uint8_t)below(g, O_OPS);
        s->k = below(g, NORD);
      } else if (x.masks && chance(g, 35)) masked(g, l, &x);
      else straight(g, l, &x);
    } else if (dice < 62) gen_if(g, l, &x);
    else if (dice < 72) {
      if (x.loops < 3) gen_loop(g, l, &x);
      else gen_if(g, l, &x);
    } else if (dice < 78) gen_switch(g, l, &x);
    else if (dice < 86) gen_call(g, l, &x);
    else if (dice < 92) gen_graph(g, l, &x);
    else if (x.masks && !x.order) gen_meet(g, l, &x);
    else gen_if(g, l, &x);
  }
}

struct program *program_generate(uint64_t seed, unsigned lanes, unsigned percent) {
  struct gen g = {.rng = seed * 2 + (lanes == 64)};
  struct program *p = g.p = calloc(1, sizeof *p);
  if (!p) abort();
  p->seed = seed;
  p->lanes = lanes;
  rng_next(&g.rng);
  p->blocks = chance(&g, 60) ? 1 : 2 + below(&g, 2);
  unsigned warps = chance(&g, 50) ? 1 : 2 + below(&g, 3);
  p->threads = warps * lanes;
  p->full = chance(&g, 75);
  if (!p->full) p->threads -= 1 + below(&g, lanes - 1);
  p->together = chance(&g, 75);
  p->order = p->together && chance(&g, 40);
  p->exits = chance(&g, 35);
  p->nfuncs = 1 + below(&g, MAX_FUNCS) * percent / 100;
  for (unsigned i = 0; i < NV; i++) {
    p->v0[i][0] = (uint32_t)rng_next(&g.rng) | 1;
    p->v0[i][1] = (uint32_t)rng_next(&g.rng);
  }
  for (unsigned f = 1; f < p->nfuncs; f++) {
    p->funcs[f].cls = (enum func_class)below(&g, 3);
    p->funcs[f].recursive = p->funcs[f].cls != F_UNIFORM && chance(&g, 50);
  }
  for (unsigned f = 0; f < p->nfuncs; f++) {
    enum func_class cls = f ? p->funcs[f].cls : F_UNIFORM;
    struct ctx x = {.func = (int)f,
                    .masks = cls != F_PLAIN,
                    .uniform = cls == F_UNIFORM,
                    .order = p->order && cls != F_PLAIN,
                    .may_ret = f && cls != F_UNIFORM};
    struct list *l = &p->funcs[f].body;
    g.budget = f ? 4 + (int)below(&g, 14) : 10 + (int)below(&g, chance(&g, 20) ? 80 : 30);
    g.budget = 2 + (g.budget - 2) * (int)percent / 100;
    unsigned half = 2 + below(&g, 5);
    list_fill(&g, l, x, half);
    if (p->funcs[f].recursive) gen_self_call(&g, l, &x);
    list_fill(&g, l, x, f ? 1 + below(&g, 3) : 40);
  }
  return p;
}
