/* What `undo` takes back: changes by hand at the place where the launch stands, and, where it is recorded, its last
 * movement. */
#include "repl.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1000 };

struct undone {
  enum { UNDO_REGISTER, UNDO_MEMORY, UNDO_MOVE } what;
  uint64_t position; /* where the launch stood */
  uint64_t block, lanes, address;
  uint32_t warp, split, frame, lane;
  char *name;
  mx_debug_register *was; /* UNDO_REGISTER */
  unsigned char *bytes;   /* UNDO_MEMORY */
  size_t size;
};

static void drop(struct repl *r, size_t k) {
  struct undone *u = &r->undone[k];
  free(u->name);
  free(u->was);
  free(u->bytes);
  memmove(u, u + 1, (--r->nundone - k) * sizeof *u);
}

void undo_forget(struct repl *r) {
  while (r->nundone) drop(r, r->nundone - 1);
  free(r->undone);
  r->undone = NULL;
}

static struct undone *add(struct repl *r, struct undone u) {
  if (r->nundone == MOST) drop(r, 0);
  u.position = r->stop.steps;
  u.block = r->block, u.warp = r->warp, u.split = r->split, u.frame = r->frame, u.lane = r->lane;
  r->undone = cli_realloc(r->undone, (r->nundone + 1) * sizeof u);
  r->undone[r->nundone] = u;
  return &r->undone[r->nundone++];
}

void undo_register(struct repl *r, const char *name, uint64_t lanes, const mx_debug_register *was) {
  struct undone *u = add(
      r,
      (struct undone){.what = UNDO_REGISTER, .lanes = lanes, .name = cli_strdup(name), .was = cli_alloc(sizeof *was)});
  *u->was = *was;
}

void undo_memory(struct repl *r, uint64_t address, size_t bytes) {
  unsigned char *was = cli_alloc(bytes);
  if (!read_memory(r, r->block, r->warp, r->lane, address, was, bytes)) return free(was);
  add(r, (struct undone){.what = UNDO_MEMORY, .address = address, .bytes = was, .size = bytes});
}

void undo_move(struct repl *r) {
  if (r->recording && !r->over && !r->calc) add(r, (struct undone){.what = UNDO_MOVE});
}

static mx_status put_back(struct repl *r, const struct undone *u) {
  mx_status s = MX_OK;
  if (u->what == UNDO_MEMORY) return mx_debug_write(r->g, u->block, u->warp, u->lane, u->address, u->bytes, u->size);
  for (unsigned l = 0; l < u->was->lanes && s == MX_OK; l++)
    if (u->lanes >> l & 1)
      s = mx_debug_set_register(r->g, u->block, u->warp, u->split, u->frame, u->name, 1ull << l, u->was->low[l],
                                u->was->high[l]);
  return s;
}

bool do_undo(struct repl *r, char *arguments) {
  (void)arguments;
  if (r->calc) return calc_undo(r);
  if (!r->g) return running(r);
  if (!r->nundone) return complain(r, "there is nothing to undo");
  const struct undone *u = &r->undone[r->nundone - 1];
  if (u->what == UNDO_MOVE) {
    const uint64_t position = u->position;
    drop(r, r->nundone - 1);
    char word[32];
    snprintf(word, sizeof word, "%llu", (unsigned long long)position);
    const size_t n = r->nundone;
    const bool good = do_goto(r, word);
    while (r->nundone > n) drop(r, r->nundone - 1); /* this movement is not one of the user's */
    return good;
  }
  if (r->over || u->position != r->stop.steps)
    return complain(r, "the launch has gone on since what was set: 'record' before 'run' lets it go back");
  const mx_status s = put_back(r, u);
  if (s == MX_OK && u->what == UNDO_REGISTER) printf("%s is as it was\n", u->name);
  else if (s == MX_OK) printf("%zu bytes at 0x%llx are as they were\n", u->size, (unsigned long long)u->address);
  drop(r, r->nundone - 1);
  return s == MX_OK || complain_status(r, s);
}
