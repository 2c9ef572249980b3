/* Prints the results of the analyses for people and tests: mx-jitc --dump-cfg (for dot), --dump-plan. */
#include "dump.h"

#include <inttypes.h>

static void print_blocks(const struct ja *a, const char *what, const uint64_t *set, FILE *to) {
  const char *before = what;
  for (uint32_t b = 0; b <= a->nblocks; b++)
    if (ja_has(set, b)) {
      if (b < a->nblocks) fprintf(to, "%s%u", before, a->blocks[b].pc);
      else fprintf(to, "%sreturn", before);
      before = ",";
    }
}

/* What is known of a warp operation's operands: runs of lanes that have one value, the first three of them. */
static void print_known(const struct ja *a, const struct ja_ins *i, FILE *to) {
  if (!(i->o->flags & MX_F_SYNC) || i->o->cls != MX_CROSS || !i->known) return;
  fprintf(to, "  %u: %s knows", i->pc, i->o->id);
  for (unsigned k = 0; k < i->o->nopnds; k++) {
    const uint64_t *lanes = ja_known(i, k);
    if (!lanes) continue;
    fprintf(to, " %u:", k);
    unsigned from = 0, end = 0;
    for (unsigned run = 0; run < 3 && from < a->image->lanes; run++, from = end) {
      while (end < a->image->lanes && lanes[end] == lanes[from]) end++;
      fprintf(to, run ? ",%#" PRIx64 : "%#" PRIx64, lanes[from]);
    }
    if (from < a->image->lanes) fprintf(to, ",...");
  }
  fputc('\n', to);
}

void ja_dump_plan(const struct ja *a, FILE *to) {
  fprintf(to, "function %s: %u blocks%s%s\n", a->f->name, a->nblocks, a->slots_in_memory ? ", slots in memory" : "",
          a->tangled ? ", too tangled: lanes part in the machine" : "");
  for (uint32_t k = 1; k < a->nframes; k++) {
    const struct ja_frame *f = &a->frames[k], *from = &a->frames[f->parent];
    fprintf(to, "  %s is built where %s calls it at %u, from %u on\n", a->image->funcs[f->func].name,
            a->image->funcs[from->func].name, f->call, f->begin);
  }
  for (uint32_t k = 0; k < a->nblocks; k++) {
    const struct ja_block *b = &a->blocks[a->by_turn[k]];
    fprintf(to, "  %u:", b->pc);
    if (b->entry) fprintf(to, " entry");
    if (b->meets) fprintf(to, " meets");
    if (b->converged) fprintf(to, " converged");
    print_blocks(a, " pending ", b->pending, to);
    print_blocks(a, " expected ", b->open, to);
    if (b->nthen) fprintf(to, " ->");
    for (uint32_t n = 0; n < b->nthen; n++) fprintf(to, " %u", a->blocks[b->then[n]].pc);
    if (b->divergent) fprintf(to, b->hidden ? " parts" : " parts in the machine");
    if (b->leaves) fprintf(to, ja_passes(a, &a->ins[b->end - 1]) ? " passes" : " leaves");
    fputc('\n', to);
  }
  for (uint32_t k = 0; k < a->nins; k++) print_known(a, &a->ins[k], to);
  for (uint32_t k = 0; k < a->nins; k++)
    if (a->address_ramp[k] == JA_FLAT) fprintf(to, "  %u: %s's addresses are flat\n", a->ins[k].pc, a->ins[k].o->id);
    else if (a->address_ramp[k])
      fprintf(to, "  %u: %s's addresses increase by %" PRId64 "\n", a->ins[k].pc, a->ins[k].o->id, a->address_ramp[k]);
}

void ja_dump_cfg(const struct ja *a, FILE *to) {
  fprintf(to, "digraph \"%s\" {\n  node [shape=box fontname=monospace];\n", a->f->name);
  for (uint32_t k = 0; k < a->nblocks; k++) {
    const struct ja_block *b = &a->blocks[k];
    fprintf(to, "  b%u [label=\"pc %u, turn %u\\l%u instructions%s\\l\"];\n", b->pc, b->pc, b->turn, b->end - b->first,
            b->meets ? ", lanes meet" : "");
    if (b->idom != JA_NONE && b->idom != k) fprintf(to, "  b%u -> b%u [style=dotted];\n", a->blocks[b->idom].pc, b->pc);
    JA_FOR_SUCC(a, k, s, fprintf(to, "  b%u -> b%u;\n", b->pc, a->blocks[s].pc));
  }
  fprintf(to, "}\n");
}
