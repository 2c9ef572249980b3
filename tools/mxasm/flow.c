/* Control flow of finished code: basic blocks and the nesting of divergence. Separate from the assembler's own graph
 * because it starts from words, also of modules that another program made. */
#include "mxasm.h"

#include "core/module.h"
#include "tools/common/cli.h"

#include <stdlib.h>
#include <string.h>

static const struct mx_op_info *op_at(const struct mx_func *fn, uint32_t pc) { return &mx__ops[mx_w_op(fn->code[pc])]; }
static bool guarded(mx_word w) { return mx_w_guard(w) != MX_GUARD_NONE; }

bool flow_reconv(const struct mx_func *fn, uint32_t pc, uint32_t *reconv) {
  mx_word w = fn->code[pc];
  if (op_at(fn, pc)->flags & MX_F_BRANCH) {
    *reconv = mx_w_reconv(w);
    return guarded(w);
  }
  if (mx_w_op(w) == MX_BRX) {
    *reconv = mx_w_field(w, 2) | mx_w_field(w, 3) << 10;
    return true;
  }
  return false;
}

/* Where control may go after the instruction at pc: calls visit for each. */
static void successors(const struct mx_func *fn, uint32_t pc, void (*visit)(void *user, uint32_t to), void *user) {
  mx_word w = fn->code[pc];
  const struct mx_op_info *o = op_at(fn, pc);
  uint32_t next = pc + mx_w_length(w);
  bool goes_on = !(o->flags & MX_F_END) || guarded(w);
  if (o->flags & MX_F_BRANCH) {
    goes_on = guarded(w);
    if (mx_w_target(w) < fn->ncode) visit(user, mx_w_target(w));
  }
  if (mx_w_op(w) == MX_BRX && mx_w_field(w, 1) < fn->ntables) {
    const struct mx_table *t = &fn->tables[mx_w_field(w, 1)];
    for (uint32_t k = 0; k < t->ntargets; k++)
      if (t->targets[k] < fn->ncode) visit(user, t->targets[k]);
  }
  if (goes_on && next < fn->ncode) visit(user, next);
}

static bool ends_block(const struct mx_func *fn, uint32_t pc) {
  return (op_at(fn, pc)->flags & (MX_F_BRANCH | MX_F_END)) != 0;
}

static void mark(void *user, uint32_t to) { ((uint8_t *)user)[to] = 1; }

static void link_block(void *user, uint32_t to) {
  struct flow *f = user;
  struct flow_block *b = &f->blocks[f->nblocks - 1];
  for (uint32_t k = 0; k < b->nnext; k++)
    if (b->next[k] == to) return;
  b->next = cli_realloc(b->next, (b->nnext + 1) * sizeof *b->next);
  b->next[b->nnext++] = to; /* a pc for now */
}

void flow_build(struct flow *f, const struct mx_func *fn) {
  uint8_t *leader = cli_alloc(fn->ncode + 1);
  memset(f, 0, sizeof *f);
  f->block_of = cli_alloc((fn->ncode + 1) * sizeof *f->block_of);
  if (fn->ncode) leader[0] = 1;
  for (uint32_t pc = 0; pc < fn->ncode; pc += mx_w_length(fn->code[pc])) {
    uint32_t r;
    if (!ends_block(fn, pc)) continue;
    successors(fn, pc, mark, leader);
    if (flow_reconv(fn, pc, &r) && r < fn->ncode) leader[r] = 1;
    uint32_t next = pc + mx_w_length(fn->code[pc]);
    if (next < fn->ncode) leader[next] = 1;
  }
  uint32_t n = 0;
  for (uint32_t pc = 0; pc < fn->ncode; pc++) n += leader[pc];
  f->blocks = cli_alloc((n + 1) * sizeof *f->blocks);
  for (uint32_t pc = 0, last = 0; pc < fn->ncode; pc += mx_w_length(fn->code[pc])) {
    if (leader[pc]) {
      if (f->nblocks && !ends_block(fn, last)) link_block(f, pc);
      f->blocks[f->nblocks++] = (struct flow_block){.lo = pc};
    }
    struct flow_block *b = &f->blocks[f->nblocks - 1];
    last = pc;
    b->hi = pc + mx_w_length(fn->code[pc]);
    if (ends_block(fn, pc)) successors(fn, pc, link_block, f);
    for (uint32_t k = pc; k < b->hi && k < fn->ncode; k++) f->block_of[k] = f->nblocks - 1;
  }
  for (uint32_t b = 0; b < f->nblocks; b++)
    for (uint32_t k = 0; k < f->blocks[b].nnext; k++) f->blocks[b].next[k] = f->block_of[f->blocks[b].next[k]];
  free(leader);
}

void flow_free(struct flow *f) {
  for (uint32_t b = 0; b < f->nblocks; b++) free(f->blocks[b].next);
  free(f->blocks);
  free(f->block_of);
}

/* A join belongs to a reconvergence point. Point r lies inside point s when a branch that meets again at r stands in a
 * block that lanes may pass between a branch of s and s itself. The depth is the longest chain of that relation. */
struct region {
  uint32_t reconv;
  uint8_t *in;
  uint32_t depth;
  bool open;
};

static uint32_t region_depth(struct region *all, uint32_t n, uint32_t k, const struct flow *f,
                             const struct mx_func *fn) {
  struct region *me = &all[k];
  if (me->depth || me->open) return me->depth;
  me->open = true;
  uint32_t deepest = 0;
  for (uint32_t b = 0; b < f->nblocks; b++) {
    if (!me->in[b]) continue;
    uint32_t r, last = f->blocks[b].lo;
    while (last + mx_w_length(fn->code[last]) < f->blocks[b].hi) last += mx_w_length(fn->code[last]);
    if (!flow_reconv(fn, last, &r) || r == me->reconv) continue;
    for (uint32_t j = 0; j < n; j++) {
      if (all[j].reconv != r) continue;
      uint32_t d = region_depth(all, n, j, f, fn);
      if (d > deepest) deepest = d;
    }
  }
  me->open = false;
  return me->depth = deepest + 1;
}

/* Marks the successors of b, up to block `end`, and puts the new ones on the stack. */
static void push(uint8_t *in, uint32_t *stack, uint32_t *top, const struct flow_block *b, uint32_t end) {
  for (uint32_t j = 0; j < b->nnext; j++) {
    uint32_t to = b->next[j];
    if (to == end || in[to]) continue;
    in[to] = 1;
    stack[(*top)++] = to;
  }
}

uint32_t flow_depth(const struct flow *f, const struct mx_func *fn) {
  struct region *all = NULL;
  uint32_t n = 0, depth = 0;
  uint32_t *stack = cli_alloc((f->nblocks + 1) * sizeof *stack);
  for (uint32_t b = 0; b < f->nblocks; b++) {
    uint32_t r, last = f->blocks[b].lo, k = 0;
    while (last + mx_w_length(fn->code[last]) < f->blocks[b].hi) last += mx_w_length(fn->code[last]);
    if (!flow_reconv(fn, last, &r)) continue;
    while (k < n && all[k].reconv != r) k++;
    if (k == n) {
      if ((uint64_t)(n + 1) * f->nblocks > 64u << 20) goto too_large;
      all = cli_realloc(all, (n + 1) * sizeof *all);
      all[n++] = (struct region){.reconv = r, .in = cli_alloc(f->nblocks)};
    }
    uint32_t top = 0, end = r < fn->ncode ? f->block_of[r] : UINT32_MAX;
    push(all[k].in, stack, &top, &f->blocks[b], end);
    while (top) {
      top--;
      push(all[k].in, stack, &top, &f->blocks[stack[top]], end);
    }
  }
  for (uint32_t k = 0; k < n; k++) {
    uint32_t d = region_depth(all, n, k, f, fn);
    if (d > depth) depth = d;
  }
  if (0)
  too_large:
    depth = UINT32_MAX;
  for (uint32_t k = 0; k < n; k++) free(all[k].in);
  free(all);
  free(stack);
  return depth;
}
