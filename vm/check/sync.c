/* The sync tool: masks that name lanes which have ended, shuffles that read from lanes which do not take part, barriers
 * at which a part of a warp or of a block is missing. If lanes never come, that is a deadlock, which the machine
 * reports (memory.c makes a finding of it); warp-synchronous accesses are found by race.c. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mask_of(const struct mx_exec *x, const struct mx_insn *i, uint64_t lane) {
  const struct mx_op_info *o = &mx__ops[i->op];
  const void *p = mx__operand(x, i->o[o->nopnds - 1]);
  return mx__types[o->opnd[o->nopnds - 1].type].bits == 64 ? ((const uint64_t *)p)[lane] : ((const uint32_t *)p)[lane];
}

/* Lanes are at a .sync operation, and their masks name others that have ended at exit_site. */
static void names_ended(struct mx_check *c, uint32_t site, uint64_t warp, uint64_t lanes, uint64_t named,
                        uint32_t exit_site) {
  struct finding *f = mx__found_at(c, MX_CHECK_SYNC, "mask-ended", site, warp, lanes, exit_site, 0);
  if (!f) return;
  char *text = mx__lanes_text(named);
  mx__found_other(f, c, mx__format("%s ended", text ? text : "lanes"), exit_site, warp, 0);
  mx__found_end(f, mx__format("the mask names %s, which have ended", text ? text : "lanes"));
  free(text);
}
static void masks(struct mx_exec *x, uint32_t site, uint64_t m) {
  struct mx_check *c = check_of(x);
  const struct warp_state *w = warp_state(x);
  uint64_t wrong = 0, named = 0;
  MX_FOR_LANES (l, m) {
    const uint64_t gone = mask_of(x, c->insn, l) & w->ended;
    wrong |= (uint64_t)(gone != 0) << l, named |= gone;
  }
  if (wrong) names_ended(c, site, w->number, wrong, named, w->exit_site[__builtin_ctzll(named)]);
}

static void shuffle(struct mx_exec *x, uint32_t site, uint64_t m, bool sync) {
  struct mx_check *c = check_of(x);
  const struct mx_insn *i = c->insn;
  const struct mx_op_info *o = &mx__ops[i->op];
  const unsigned first = o->opnd[1].role == MX_OUT ? 2 : 1;
  const uint32_t *b = mx__operand(x, i->o[first + 1]), *clamp = mx__operand(x, i->o[first + 2]);
  uint64_t wrong = 0, from = 0;
  MX_FOR_LANES (l, m) {
    bool in_range;
    const unsigned j = mx__shuffle_source(i->mod, (unsigned)l, x->lanes, b[l], clamp[l], &in_range);
    const uint64_t there = sync ? mask_of(x, i, l) & x->warp->live : m;
    if (in_range && !(there >> j & 1)) wrong |= 1ull << l, from |= 1ull << j;
  }
  if (!wrong) return;
  const struct warp_state *w = warp_state(x);
  const uint64_t ended = from & w->ended;
  struct finding *f = mx__finding(x, MX_CHECK_SYNC, "shuffle-source", site, wrong, ended != 0, 0);
  if (!f) return;
  char *lanes = mx__lanes_text(from);
  const char *text = lanes ? lanes : "lanes";
  if (ended) mx__found_other(f, c, mx__format("%s, ended", text), w->exit_site[__builtin_ctzll(ended)], w->number, 0);
  else if (from & ~w->begun) mx__found_story(f, mx__format("%s: the warp has no such lanes", text));
  else mx__found_story(f, mx__format(sync ? "%s: not in the mask" : "%s: elsewhere at this time", text));
  mx__found_end(f, mx__format("shuffle from a lane that does not take part"));
  free(lanes);
}

void mx__sync_before(struct mx_exec *x, uint32_t site, uint64_t m) {
  const struct mx_check *c = check_of(x);
  const struct site *s = &c->code->sites[site];
  const struct mx_op_info *o = &mx__ops[s->insn->op];
  const bool sync = o->cls == MX_CROSS && o->flags & MX_F_SYNC && !(o->flags & MX_F_WHOLE) && o->nopnds;
  if (sync) masks(x, site, m);
  if (s->effect == MX_DOES_SHUFFLE) shuffle(x, site, m, sync);
}

/* Lanes may also end while others wait for them: those that took a branch to the end, and stood there until now. */
void mx__sync_exit(struct mx_exec *x, uint32_t site, uint64_t m) {
  struct mx_check *c = check_of(x);
  struct warp_state *w = warp_state(x);
  for (uint32_t k = 0; k < x->warp->nsplits; k++) {
    const struct mx_split *s = &x->warp->splits[k];
    if (s->state == MX_WAIT_SYNC && s->sync_mask & m)
      names_ended(c, site_at(c, s->frame->fn, s->pc), w->number, s->mask, s->sync_mask & m, site);
  }
  w->ended |= m;
  MX_FOR_LANES (l, m) w->exit_site[l] = site;
}

/* A barrier is complete: finds lanes that are missing, and lanes of a warp that arrived at another instruction. */
void mx__sync_barrier(struct mx_check *c, struct mx_block *b, uint32_t number) {
  const struct mx_barrier *bar = &b->barriers[number];
  const struct block_state *s = block_state(b);
  uint32_t came_warp = 0, came = 0;
  for (uint32_t w = b->nwarps; w--;)
    if (bar->arrived[w]) came_warp = w, came = s->warps[w].barrier_site[__builtin_ctzll(bar->arrived[w])];
  for (uint32_t w = 0; w < b->nwarps; w++) {
    const struct warp_state *of = &s->warps[w];
    const uint64_t arrived = bar->arrived[w], missed = bar->want ? 0 : of->ended;
    if (missed) {
      const unsigned lane = (unsigned)__builtin_ctzll(missed);
      struct finding *f = mx__found_at(c, MX_CHECK_SYNC, "barrier-missed", came, s->warps[came_warp].number,
                                       bar->arrived[came_warp], of->exit_site[lane], 0);
      if (f) {
        char *lanes = mx__lanes_text(missed);
        mx__found_other(f, c, mx__format("%s never came: ended", lanes ? lanes : "lanes"), of->exit_site[lane],
                        of->number, missed);
        free(lanes);
        mx__found_end(f, mx__format("part of the block never comes to the barrier"));
      }
    }
    if (!arrived) continue;
    const uint32_t site = of->barrier_site[__builtin_ctzll(arrived)];
    uint64_t same = 0;
    if (!(arrived & ~of->together)) continue;
    MX_FOR_LANES (l, arrived) same |= (uint64_t)(of->barrier_site[l] == site) << l;
    if (same == arrived) continue;
    const uint64_t others = arrived & ~same;
    const uint32_t other = of->barrier_site[__builtin_ctzll(others)];
    struct finding *f = mx__found_at(c, MX_CHECK_SYNC, "barrier-divergent", site, of->number, same, other, 0);
    if (!f) continue;
    mx__found_other(f, c, mx__format("the others came"), other, of->number, others);
    mx__found_end(f, mx__format("lanes of one warp come to a barrier at different places"));
  }
}
