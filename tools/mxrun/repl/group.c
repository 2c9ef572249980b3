/* Registers of 128 bits as text: a cooperative group, where the value is one, as core/intrinsics/groups.def lays it
 * out; otherwise its digits. Apart from print.c, whose values have 64 bits. */
#include "repl.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK, GRID, GRIDS, TILE, LANES, CLUSTER, KINDS };

/* "tile of 4 threads, lanes 4-7, part 1 of 16"; NULL: lane's value is no group. Others than groups have the same bits
 * by chance only: lanes and their number must agree, and the lane is one of them. malloc'ed. */
static char *group_text(uint64_t low, uint64_t high, unsigned lane, unsigned thread) {
  static const char *const whole[KINDS] = {[GRID] = "grid", [GRIDS] = "grids of all devices", [CLUSTER] = "cluster"};
  const unsigned kind = (unsigned)(high & 255), threads = (unsigned)(high >> 8 & 0xFFFFFF),
                 parts = (unsigned)(high >> 48);
  if (kind >= KINDS) return NULL;
  if (whole[kind]) return low || high != kind ? NULL : cli_strdup(whole[kind]);
  if (kind == BLOCK)
    return low || !threads || threads > 1024 || high >> 32 ? NULL : format("block of %u threads", threads);
  const unsigned part = kind != TILE       ? (unsigned)(high >> 32 & 0xFFFF)
                        : threads && parts ? thread % (threads * parts) / threads
                                           : 0;
  if (!(low >> lane & 1) || (unsigned)__builtin_popcountll(low) != threads || part >= parts) return NULL;
  char *lanes = lanes_text(low);
  char *text =
      kind == TILE
          ? format("tile of %u thread%s, %s, part %u of %u", threads, threads == 1 ? "" : "s", lanes, part, parts)
          : format("%u coalesced thread%s, %s, part %u of %u", threads, threads == 1 ? "" : "s", lanes, part, parts);
  free(lanes);
  return text;
}
static char *digits(uint64_t low, uint64_t high) {
  return high ? format("0x%llx%016llx", (unsigned long long)high, (unsigned long long)low)
              : format("0x%llx", (unsigned long long)low);
}
char *wide_text(struct repl *r, const mx_debug_register *g, unsigned lane, char fmt) {
  if (!(g->known >> lane & 1)) return cli_strdup("?");
  char *text = fmt ? NULL : group_text(g->low[lane], g->high[lane], lane, r->warp * warp_lanes(r) + lane);
  return text ? text : digits(g->low[lane], g->high[lane]);
}

/* One line for the lanes that have the same value. */
bool print_wide(struct repl *r, const char *text, char fmt, bool *good) {
  mx_debug_register g = {.struct_size = sizeof g};
  if ((fmt && fmt != 'x') || !r->g || *text != '%' ||
      mx_debug_get_register(r->g, r->block, r->warp, r->split, r->frame, text, &g) != MX_OK || g.bits != 128)
    return false;
  *good = true;
  if (g.unset) return say("%s is not set yet\n", text), true;
  const uint64_t all = focus_lanes(r);
  for (uint64_t left = all, same; left; left &= ~same) {
    const unsigned first = (unsigned)__builtin_ctzll(left);
    same = 0;
    for (unsigned l = first; l < g.lanes; l++)
      if (left >> l & 1 && (g.known >> l & 1) == (g.known >> first & 1) &&
          (!(g.known >> l & 1) || (g.low[l] == g.low[first] && g.high[l] == g.high[first])))
        same |= UINT64_C(1) << l;
    char *value = wide_text(r, &g, first, fmt), *lanes = lanes_text(same);
    if (left == all && same != all) say("%s (%s)\n", text, g.type);
    if (same == all) say("%s = %s in %s\n", text, value, lanes);
    else say("  %s: %s\n", lanes, value);
    free(value);
    free(lanes);
  }
  return true;
}
