/* The focus: the block, warp, lane, split and frame that commands are about. */
#include "repl.h"

#include <string.h>

static bool show(struct repl *r) {
  mx_debug_frame f = {.struct_size = sizeof f};
  if (mx_debug_get_frame(r->g, r->block, r->warp, r->split, r->frame, &f) != MX_OK)
    return printf("block %llu warp %u: ended\n", (unsigned long long)r->block, r->warp), true;
  printf("block %llu warp %u lane %u split %u, %s+%u", (unsigned long long)r->block, r->warp, r->lane, r->split,
         f.function, f.pc);
  if (f.file) printf(" at %s:%u", f.file, f.line);
  printf("\n");
  if (f.file) show_line(r, f.file, f.line);
  return true;
}

static bool number(struct repl *r, char *arguments, const char *what, uint64_t *n) {
  char *word = next_word(&arguments);
  if (word && number_word(word, n)) return true;
  return complain(r, "which %s?", what);
}

/* The split that holds the lane, where one does. */
static void follow_lane(struct repl *r) {
  mx_debug_split s = {.struct_size = sizeof s};
  for (uint32_t k = 0; mx_debug_get_split(r->g, r->block, r->warp, k, &s) == MX_OK; k++)
    if (s.lanes >> r->lane & 1) {
      r->split = k;
      r->frame = 0;
      return;
    }
}

static bool go(struct repl *r, uint64_t block, uint64_t warp) {
  mx_debug_warp w = {.struct_size = sizeof w};
  if (warp > UINT32_MAX) return complain(r, "no such warp");
  mx_status s = mx_debug_get_warp(r->g, block, (uint32_t)warp, &w);
  if (s != MX_OK) return complain_status(r, s);
  r->block = block, r->warp = (uint32_t)warp;
  r->split = r->frame = 0;
  mx_debug_split sp = {.struct_size = sizeof sp};
  if (mx_debug_get_split(r->g, block, (uint32_t)warp, 0, &sp) == MX_OK && !(sp.lanes >> r->lane & 1))
    r->lane = (uint32_t)__builtin_ctzll(sp.lanes);
  return true;
}

bool do_block(struct repl *r, char *arguments) {
  uint64_t n;
  if (!running(r) || !coordinates(r, &arguments, r->config.grid, &n)) return false;
  return go(r, n, 0) && show(r);
}

bool do_warp(struct repl *r, char *arguments) {
  uint64_t n;
  if (!running(r) || !number(r, arguments, "warp", &n)) return false;
  return go(r, r->block, n) && show(r);
}

unsigned warp_lanes(struct repl *r) {
  mx_kernel_info i = {.struct_size = sizeof i, .lanes = REPL_LANES};
  if (r->kernel) mx_kernel_get_info(r->kernel, &i);
  return i.lanes;
}

bool do_lane(struct repl *r, char *arguments) {
  uint64_t n;
  if (!running(r) || !number(r, arguments, "lane", &n)) return false;
  if (n >= warp_lanes(r)) return complain(r, "lanes are numbered 0 to %u", warp_lanes(r) - 1);
  r->lane = (uint32_t)n;
  follow_lane(r);
  return show(r);
}

bool do_thread(struct repl *r, char *arguments) {
  uint64_t n;
  mx_kernel_info i = {.struct_size = sizeof i};
  if (!running(r) || !coordinates(r, &arguments, r->config.block, &n)) return false;
  mx_kernel_get_info(r->kernel, &i);
  if (!go(r, r->block, n / i.lanes)) return false;
  r->lane = (uint32_t)(n % i.lanes);
  follow_lane(r);
  return show(r);
}

bool do_split(struct repl *r, char *arguments) {
  uint64_t n;
  mx_debug_split s = {.struct_size = sizeof s};
  if (!running(r) || !number(r, arguments, "split", &n)) return false;
  mx_status st = mx_debug_get_split(r->g, r->block, r->warp, n < UINT32_MAX ? (uint32_t)n : UINT32_MAX, &s);
  if (st != MX_OK) return complain_status(r, st);
  r->split = (uint32_t)n, r->frame = 0;
  if (!(s.lanes >> r->lane & 1)) r->lane = (uint32_t)__builtin_ctzll(s.lanes);
  return show(r);
}

static bool to_frame(struct repl *r, uint64_t n) {
  mx_debug_frame f = {.struct_size = sizeof f};
  mx_status s = mx_debug_get_frame(r->g, r->block, r->warp, r->split, n < UINT32_MAX ? (uint32_t)n : UINT32_MAX, &f);
  if (s != MX_OK) return complain_status(r, s);
  r->frame = (uint32_t)n;
  return show(r);
}

bool do_frame(struct repl *r, char *arguments) {
  uint64_t n = r->frame;
  if (!running(r) || (*arguments && !number(r, arguments, "frame", &n))) return false;
  return to_frame(r, n);
}
bool do_up(struct repl *r, char *arguments) {
  (void)arguments;
  return running(r) && to_frame(r, r->frame + 1ull);
}
bool do_down(struct repl *r, char *arguments) {
  (void)arguments;
  if (!running(r)) return false;
  return r->frame ? to_frame(r, r->frame - 1ull) : complain(r, "this is the innermost frame");
}
