/* Runs a session's launch on all its workers while nothing but breakpoints can stop it: after the order to continue,
 * when some time has passed without a stop.
 *
 * 1. Only the session's own worker evaluates conditions, stops, traps and is inspected. The others, and it while they
 * run, pause (MX_STOP_REST) before an instruction at which the session may stop, or that has trapped, as if it had not
 * been tried. 2. Then all pause at their next safepoint, and the session's worker goes on alone with the blocks that
 * they have suspended, lowest number first (schedule.c). So of several possible stops the one in the lowest block is
 * shown, unless blocks wait for one another. 3. Meanwhile each worker counts in x->steps, which are added to the
 * session's when they pause. */
#include "session.h"

#include "vm/exec/interp.h"
#include "vm/exec/launch.h"
#include "vm/exec/warp.h"

#define ALONE (1u << 20)      /* instructions before other workers join, so that short launches run in order */
#define MOST_ALONE (1u << 28) /* the most that this becomes when joining has been of little use */

void mx__debug_order_begins(struct mx_debug *g) {
  g->alone = ALONE;
  g->alone_until = g->plain && g->launch->helpers ? g->x->steps + g->alone : UINT64_MAX;
}

void mx__debug_went_on(struct mx_debug *g, const struct mx_exec *x) {
  const bool long_alone = !g->together && x->steps >= g->alone_until && !g->checks_values;
  if (long_alone || (g->plain && atomic_load_explicit(&g->pause, memory_order_relaxed)))
    mx__launch_stop(x->launch, MX_STOP_REST);
}

bool mx__debug_joins(struct mx_debug *g, struct mx_exec *x, uint64_t blocks) {
  if (blocks < 2) g->alone_until = UINT64_MAX;
  if (blocks < 2 || x->steps < g->alone_until || g->checks_values || atomic_load(&g->pause)) return false;
  g->together = true;
  g->before = x->steps;
  return true;
}

void mx__debug_helps(const struct mx_debug *g, struct mx_exec *x) { x->stops = g->x->stops; }

void mx__debug_parts(struct mx_debug *g, const struct mx_exec *x, uint64_t others) {
  const uint64_t ran = x->steps - g->before + others;
  g->together = false;
  g->executed += ran;
  g->alone = ran > g->alone ? ALONE : g->alone < MOST_ALONE ? g->alone * 2 : MOST_ALONE;
  g->alone_until = x->steps + g->alone;
}

bool mx__debug_rests(const struct mx_debug *g, struct mx_launch *l) {
  if (g->together) mx__launch_stop(l, MX_STOP_REST);
  return g->together;
}

const struct mx_insn *mx__debug_suspend_before(struct mx_exec *x, const struct mx_insn *i) {
  mx__launch_stop(x->launch, MX_STOP_REST);
  x->slice = x->reserve = 0;
  mx__uncount(x, i); /* the machine counts i, and will again */
  return mx__leave(x, i->pc, MX_EV_SLICE);
}

const struct mx_insn *mx__debug_uncount_trap(struct mx_exec *x, const struct mx_insn *next) {
  if (!next && x->event == MX_EV_TRAP) mx__uncount(x, mx__insn_of(x->split)); /* the same */
  return next;
}
