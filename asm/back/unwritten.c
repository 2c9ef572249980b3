/* Registers that are certainly read before they are written: a warning where no path to the read has a write. Separate
 * because everything else in the back takes programs as they are. Looked at are only registers that the author named
 * and that the text reads before it writes them: hardly any program has one, so this costs hardly any program time. */
#include "back.h"

#include <string.h>

enum { MOST = 64 }; /* registers of one function that are looked at */

enum touch { UNTOUCHED, READ_FIRST, WRITTEN_FIRST };

static bool writes(const struct ir_insn *in, uint32_t reg) {
  for (uint32_t k = 0; k < in->nopnds; k++)
    if (in->opnds[k].kind == IR_REG && in->opnds[k].reg == reg && mx__insn_writes(in, k)) return true;
  return false;
}
static bool reads(const struct ir_insn *in, uint32_t reg) {
  if (in->guard == reg) return true;
  for (uint32_t k = 0; k < in->nopnds; k++)
    if (in->opnds[k].kind == IR_REG && in->opnds[k].reg == reg && !mx__insn_writes(in, k)) return true;
  return false;
}

/* Blocks to which control comes from the entry or from any block in `from`. */
static void reach(const struct cfg *g, bool *from, uint32_t *queue) {
  uint32_t head = 0, n = 0;
  for (uint32_t b = 0; b < g->nblocks; b++)
    if (from[b]) queue[n++] = b;
  memset(from, 0, g->nblocks * sizeof *from);
  while (head < n) {
    const uint32_t b = queue[head++];
    for (uint32_t i = g->succ_at[b]; i < g->succ_at[b + 1]; i++) {
      const uint32_t s = g->succ[i];
      if (s >= g->nblocks || from[s]) continue;
      from[s] = true;
      queue[n++] = s;
    }
  }
}

/* The first read that no write comes before, on any path. `entered`: blocks that can be reached; `written`: scratch,
 * blocks at whose begin it may have been written. */
static const struct ir_insn *certain_read(const struct back_body *b, const struct cfg *g, uint32_t reg,
                                          const bool *entered, bool *written, uint32_t *queue) {
  memset(written, 0, g->nblocks * sizeof *written);
  for (uint32_t i = 0; i < b->ninsns; i++)
    if (entered[g->block_of[i]] && writes(&b->insns[i], reg)) written[g->block_of[i]] = true;
  reach(g, written, queue);
  for (uint32_t i = 0; i < b->ninsns; i++) {
    const uint32_t block = g->block_of[i];
    if (!entered[block] || written[block]) continue;
    if (reads(&b->insns[i], reg)) return &b->insns[i];
    if (writes(&b->insns[i], reg)) written[block] = true;
  }
  return NULL;
}

static void touch(uint8_t *first, uint32_t reg, enum touch how) {
  if (first[reg] == UNTOUCHED) first[reg] = (uint8_t)how;
}

void mx__warn_unwritten(const struct back_body *b) {
  uint8_t *first = mx__arena_alloc(b->arena, (size_t)b->nregs + 1);
  for (uint32_t i = 0; i < b->func->nargs; i++) first[b->args[i]] = WRITTEN_FIRST;
  for (uint32_t i = 0; i < b->ninsns; i++) {
    const struct ir_insn *in = &b->insns[i];
    if (in->guard != IR_NONE) touch(first, in->guard, READ_FIRST);
    for (unsigned pass = 0; pass < 2; pass++) /* an instruction reads before it writes */
      for (uint32_t k = 0; k < in->nopnds; k++)
        if (in->opnds[k].kind == IR_REG && mx__insn_writes(in, k) == (pass == 1))
          touch(first, in->opnds[k].reg, pass ? WRITTEN_FIRST : READ_FIRST);
  }
  const struct cfg *g = NULL;
  bool *entered = NULL, *written = NULL;
  uint32_t *queue = NULL;
  for (uint32_t r = 0, looked = 0; r < b->nregs && looked < MOST; r++) {
    if (first[r] != READ_FIRST || !b->regs[r].name) continue;
    looked++;
    if (!g) {
      g = mx__cfg_build(b->arena, b);
      entered = mx__arena_alloc(b->arena, ((size_t)g->nblocks + 1) * sizeof *entered);
      written = mx__arena_alloc(b->arena, ((size_t)g->nblocks + 1) * sizeof *written);
      queue = mx__arena_alloc(b->arena, 2 * ((size_t)g->nblocks + 1) * sizeof *queue);
      entered[0] = true;
      reach(g, entered, queue);
      entered[0] = true;
    }
    const struct ir_insn *in = certain_read(b, g, r, entered, written, queue);
    if (in)
      mx__diag(b->diags, MX_DIAG_WARNING, "read-before-write", in->loc, NULL,
               "'%s' is read, and nothing has been written to it before", b->regs[r].name);
  }
}
