/* Checkpoints of a debugging session; see record.h. Searching in what they allow to run again is back.c's.
 *
 * 1. Frames and block objects are never given back to the system while a launch runs, so a checkpoint may remember
 *    them by address. Those made after it go to the free lists when the session goes back.
 * 2. What was written after a checkpoint, up to the next one, is in its `saves`, as it was at the checkpoint. Going back
 *    undoes the newest first.
 * 3. Going back drops newer checkpoints: they come again when the launch does. */
#include "vm/record.h"

#include "vm/effects.h"
#include "vm/fifo.h"
#include "vm/heap.h"
#include "vm/interp.h"
#include "vm/launch.h"
#include "vm/schedule.h"

#include <stdlib.h>
#include <string.h>

#define GRANULE 4096u
#define SPACING (1u << 20)      /* instructions between checkpoints: some 10 ms */
#define CLOSE_SPACING (1u << 15) /* where a session goes back to: the next step back will come from there */
#define DEFAULT_LIMIT ((size_t)256 << 20)
#define FEWEST 8u               /* checkpoints: rather than fewer, the oldest history is given up */
#define MOST 128u

struct save {
  struct save *next;
  unsigned char *at;
  uint32_t bytes;
  unsigned char was[];
};

struct mx_checkpoint {
  struct mx_checkpoint *older, *newer;
  uint64_t position;
  struct mx_block *block;       /* whose turn it is */
  struct mx_keep pieces;
  unsigned char *copies;
  struct mx_frame **free_frames; /* in their order */
  size_t nfree_frames;
  struct save *saves;
  size_t bytes;                 /* that all this takes */
};

struct mx_record {
  struct mx_debug *session;
  bool on;
  size_t limit, bytes;
  struct mx_checkpoint *oldest, *newest;
  uint32_t count;
  uint64_t frontier;            /* as far as the launch ever came */
  struct mx_checkpoint *go_to;
  /* what has been saved since the newest checkpoint: places by hash, 0 is free */
  unsigned char **seen;
  size_t nseen, room;
  unsigned char *heap_was;      /* the heap's tables when they first changed since then */
  struct mx_change *changes;
  size_t nchanges, next_change;
  bool lost;                    /* there was no memory: history begins at the next checkpoint */
};

/* ---- lists of pieces --------------------------------------------------------------------------------------*/

void mx__keep(struct mx_keep *k, void *at, size_t bytes) {
  if (k->n == k->room) {
    size_t room = k->room ? 2 * k->room : 32;
    struct mx_piece *more = realloc(k->list, room * sizeof *more);
    if (!more) {
      k->failed = true;
      return;
    }
    k->list = more;
    k->room = room;
  }
  k->list[k->n++] = (struct mx_piece){at, bytes};
}

static size_t total(const struct mx_keep *k) {
  size_t n = 0;
  for (size_t p = 0; p < k->n; p++) n += k->list[p].bytes;
  return n;
}

/* Pointers, each once. */
struct set { void **list; size_t n, room; bool failed; };

static void set_add(struct set *s, void *p) {
  if (s->n == s->room) {
    size_t room = s->room ? 2 * s->room : 64;
    void **more = realloc(s->list, room * sizeof *more);
    if (!more) {
      s->failed = true;
      return;
    }
    s->list = more;
    s->room = room;
  }
  s->list[s->n++] = p;
}
static int by_address(const void *a, const void *b) {
  const char *const *x = a, *const *y = b;
  return *x < *y ? -1 : *x > *y;
}
static void set_sort(struct set *s) {
  if (!s->n) return;
  qsort(s->list, s->n, sizeof *s->list, by_address);
  size_t n = 1;
  for (size_t k = 1; k < s->n; k++)
    if (s->list[k] != s->list[n - 1]) s->list[n++] = s->list[k];
  s->n = n;
}
static bool set_has(const struct set *s, void *p) {
  return s->n && bsearch(&p, s->list, s->n, sizeof *s->list, by_address) != NULL;
}

/* Frames in which lanes are. */
static void frames_in_use(const struct mx_block *b, struct set *s) {
  for (uint32_t n = 0; n < b->nwarps; n++) {
    const struct mx_warp *w = &b->warps[n];
    for (uint32_t k = 0; w->live && k < w->nsplits; k++) {
      for (struct mx_frame *f = w->splits[k].frame; f; f = f->parent) set_add(s, f);
      for (const struct mx_join *j = w->splits[k].join; j; j = j->parent)
        for (struct mx_frame *f = j->frame; f; f = f->parent) set_add(s, f);
    }
  }
}

/* The blocks in use: those that wait for their turn, and the one that has it. */
static void blocks_in_use(struct mx_launch *l, struct mx_block *current, struct set *s) {
  struct mx_block **parked = malloc((l->resident + 1u) * sizeof *parked);
  if (!parked) {
    s->failed = true;
    return;
  }
  uint32_t n = mx__schedule_parked(l, parked);
  for (uint32_t k = 0; k < n; k++) set_add(s, parked[k]);
  free(parked);
  if (current) set_add(s, current);
  set_sort(s);
}

/* ---- what was written since the newest checkpoint -----------------------------------------------------------*/

static size_t slot_of(const struct mx_record *r, const unsigned char *at) {
  size_t k = ((uintptr_t)at >> 6) * 0x9E3779B97F4A7C15u >> 20 & (r->room - 1);
  while (r->seen[k] && r->seen[k] != at) k = (k + 1) & (r->room - 1);
  return k;
}

/* Adds a place; false: it is there already, or (r->lost) memory has run out. */
static bool see(struct mx_record *r, unsigned char *at) {
  if (2 * r->nseen >= r->room) {
    struct mx_record larger = {.room = r->room ? 2 * r->room : 1024};
    larger.seen = calloc(larger.room, sizeof *larger.seen);
    if (!larger.seen) {
      r->lost = true;
      return false;
    }
    for (size_t k = 0; k < r->room; k++)
      if (r->seen[k]) larger.seen[slot_of(&larger, r->seen[k])] = r->seen[k];
    free(r->seen);
    r->seen = larger.seen;
    r->room = larger.room;
  }
  size_t k = slot_of(r, at);
  if (r->seen[k]) return false;
  r->seen[k] = at;
  r->nseen++;
  return true;
}

static void see_none(struct mx_record *r) {
  if (r->nseen) memset(r->seen, 0, r->room * sizeof *r->seen);
  r->nseen = 0;
}

static void save(struct mx_record *r, unsigned char *at, const unsigned char *was, uint32_t bytes) {
  struct mx_checkpoint *c = r->newest;
  struct save *s = malloc(sizeof *s + bytes);
  if (!s) {
    r->lost = true;
    return;
  }
  *s = (struct save){c->saves, at, bytes};
  memcpy(s->was, was, bytes);
  c->saves = s;
  c->bytes += sizeof *s + bytes;
  r->bytes += sizeof *s + bytes;
}

/* Saves the granules of [base, base + size) around the bytes at host, those that are not saved yet. */
static void save_range(struct mx_record *r, unsigned char *base, uint64_t size, unsigned char *host, uint64_t bytes) {
  uint64_t first = (uint64_t)(host - base) / GRANULE, last = ((uint64_t)(host - base) + bytes - 1) / GRANULE;
  for (uint64_t k = first; k <= last && !r->lost; k++) {
    unsigned char *at = base + k * GRANULE;
    uint64_t end = (k + 1) * GRANULE < size ? (k + 1) * GRANULE : size;
    if (see(r, at)) save(r, at, at, (uint32_t)(end - k * GRANULE));
  }
}

static bool lies_in(const unsigned char *p, const unsigned char *base, uint64_t size) { return base && p >= base && (uint64_t)(p - base) < size; }

void mx__record_bytes(struct mx_debug *g, const struct mx_block *b, void *host, uint64_t bytes) {
  struct mx_record *r = g ? g->record : NULL;
  if (!r || !r->on || !r->newest || !bytes) return;
  const struct mx_launch *l = b->launch;
  uint64_t local = (uint64_t)l->local_bytes * l->lanes * b->nwarps;
  const struct mx_region *heap = &l->device->memory.heap, *global = &l->device->memory.global;
  if (lies_in(host, b->memory, b->memory_bytes)) return; /* shared: a piece of its block */
  if (lies_in(host, b->local, local)) save_range(r, b->local, local, host, bytes);
  else if (lies_in(host, heap->map, heap->committed)) save_range(r, heap->map, heap->committed, host, bytes);
  else save_range(r, global->map, global->committed, host, bytes);
}

void mx__record_insn(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i) {
  if (!g->record->on || !mx__op_writes(i->op)) return;
  struct mx_write list[MX_MAX_LANES];
  unsigned n = mx__writes(x, i, list);
  for (unsigned k = 0; k < n; k++)
    if (!k || ((uintptr_t)list[k].host ^ (uintptr_t)list[k - 1].host) >= 64 || list[k].bytes > 32)
      mx__record_bytes(g, x->block, list[k].host, list[k].bytes);
}

void mx__record_heap(struct mx_debug *g) {
  struct mx_record *r = g ? g->record : NULL;
  if (!r || !r->on || !r->newest || r->heap_was) return;
  size_t bytes;
  void *tables = mx__heap_tables(g->device->heap, &bytes);
  r->heap_was = malloc(bytes + 1);
  if (r->heap_was) memcpy(r->heap_was, tables, bytes);
  else r->lost = true;
}

/* What the heap's tables were becomes saves like others: of the parts that differ now. */
static void save_heap(struct mx_record *r) {
  if (!r->heap_was) return;
  size_t bytes;
  unsigned char *tables = mx__heap_tables(r->session->device->heap, &bytes);
  for (size_t k = 0; k < bytes; k += GRANULE) {
    size_t n = bytes - k < GRANULE ? bytes - k : GRANULE;
    if (memcmp(tables + k, r->heap_was + k, n) && see(r, tables + k)) save(r, tables + k, r->heap_was + k, (uint32_t)n);
  }
  free(r->heap_was);
  r->heap_was = NULL;
}

/* ---- checkpoints -----------------------------------------------------------------------------------------*/

static void checkpoint_free(struct mx_record *r, struct mx_checkpoint *c) {
  for (struct save *s = c->saves, *next; s; s = next) {
    next = s->next;
    free(s);
  }
  if (c->older) c->older->newer = c->newer;
  else r->oldest = c->newer;
  if (c->newer) c->newer->older = c->older;
  else r->newest = c->older;
  r->bytes -= c->bytes;
  r->count--;
  free(c->pieces.list);
  free(c->copies);
  free(c->free_frames);
  free(c);
}

static void forget_all(struct mx_record *r) {
  while (r->newest) checkpoint_free(r, r->newest);
  free(r->heap_was);
  r->heap_was = NULL;
  see_none(r);
  r->lost = false;
}

void mx__record_forget(struct mx_debug *g) {
  if (g && g->executed) g->record->lost = true;
}

/* Everything small, and the frames. */
static void pieces_of(struct mx_debug *g, struct mx_exec *x, struct mx_block *current, struct mx_keep *k) {
  struct mx_launch *l = x->launch;
  struct set blocks = {0}, frames = {0};
  blocks_in_use(l, current, &blocks);
  for (size_t n = 0; n < blocks.n; n++) {
    struct mx_block *b = blocks.list[n];
    mx__keep(k, b, sizeof *b);
    mx__keep(k, b->memory, b->memory_bytes);
    frames_in_use(b, &frames);
  }
  set_sort(&frames);
  for (size_t n = 0; n < frames.n; n++) {
    struct mx_frame *f = frames.list[n];
    mx__keep(k, f, sizeof *f + f->fn->frame_bytes);
  }
  mx__keep(k, x, sizeof *x);
  mx__keep(k, (void *)&l->started, sizeof l->started);
  mx__keep(k, (void *)&l->frame_bytes, sizeof l->frame_bytes);
  mx__keep(k, (void *)&l->steps, sizeof l->steps);
  mx__schedule_keep(l, k);
  if (g->device->heap) mx__heap_keep(g->device->heap, k);
  k->failed |= blocks.failed || frames.failed;
  free(blocks.list);
  free(frames.list);
}

static bool copy_free_frames(struct mx_checkpoint *c, const struct mx_exec *x) {
  for (struct mx_frame *f = x->free_frames; f; f = f->parent) c->nfree_frames++;
  c->free_frames = malloc((c->nfree_frames + 1) * sizeof *c->free_frames);
  size_t n = 0;
  for (struct mx_frame *f = x->free_frames; c->free_frames && f; f = f->parent) c->free_frames[n++] = f;
  return c->free_frames != NULL;
}

/* Gives up checkpoint c, neither the oldest nor the newest: its saves go to the one before where that has none of the
 * same place. */
static void merge(struct mx_record *r, struct mx_checkpoint *c) {
  struct mx_checkpoint *to = c->older;
  struct set have = {0};
  for (const struct save *s = to->saves; s; s = s->next) set_add(&have, s->at);
  set_sort(&have);
  for (struct save *s = c->saves, *next; s && !have.failed; s = next) {
    next = s->next;
    size_t bytes = sizeof *s + s->bytes;
    c->saves = next;
    c->bytes -= bytes;
    r->bytes -= bytes;
    if (set_has(&have, s->at)) {
      free(s);
      continue;
    }
    s->next = to->saves;
    to->saves = s;
    to->bytes += bytes;
    r->bytes += bytes;
  }
  free(have.list);
  if (have.failed) r->lost = true;
  else checkpoint_free(r, c);
}

/* The checkpoint that is missed least: the gap that it leaves is small against its distance from the newest one. */
static struct mx_checkpoint *least_useful(const struct mx_record *r) {
  struct mx_checkpoint *best = NULL;
  double least = 0;
  for (struct mx_checkpoint *c = r->newest->older; c && c->older; c = c->older) {
    double gap = (double)(c->newer->position - c->older->position) / (double)(r->newest->position - c->older->position + 1);
    if (!best || gap < least) best = c, least = gap;
  }
  return best;
}

static void make_room(struct mx_record *r) {
  while (r->count > 1 && !r->lost && (r->count > MOST || r->bytes > r->limit)) {
    struct mx_checkpoint *c = r->count > FEWEST ? least_useful(r) : NULL;
    if (c) merge(r, c);
    else checkpoint_free(r, r->oldest);
  }
}

static void take_checkpoint(struct mx_debug *g, struct mx_exec *x, struct mx_block *b) {
  struct mx_record *r = g->record;
  struct mx_checkpoint *c = calloc(1, sizeof *c);
  if (!c) return;
  c->position = g->executed;
  c->block = b;
  pieces_of(g, x, b, &c->pieces);
  size_t bytes = total(&c->pieces), at = 0;
  c->copies = malloc(bytes + 1);
  c->bytes = sizeof *c + bytes;
  if (c->pieces.failed || !c->copies || !copy_free_frames(c, x)) {
    free(c->pieces.list);
    free(c->copies);
    free(c->free_frames);
    free(c);
    return;
  }
  for (size_t p = 0; p < c->pieces.n; p++) {
    memcpy(c->copies + at, c->pieces.list[p].at, c->pieces.list[p].bytes);
    at += c->pieces.list[p].bytes;
  }
  if (r->newest) save_heap(r);
  see_none(r);
  c->older = r->newest;
  if (r->newest) r->newest->newer = c;
  else r->oldest = c;
  r->newest = c;
  r->count++;
  r->bytes += c->bytes;
  make_room(r);
}

void mx__record_turn(struct mx_debug *g, struct mx_exec *x, struct mx_block *b) {
  struct mx_record *r = g->record;
  if (!r->on && g->executed) return;
  if (r->lost) forget_all(r);
  uint64_t spacing = SPACING, target = mx__back_target(g);
  if (target > g->executed) {
    spacing = (target - g->executed) / 4;
    spacing = spacing < CLOSE_SPACING ? CLOSE_SPACING : spacing > SPACING ? SPACING : spacing;
  }
  if (!r->newest || g->executed - r->newest->position >= spacing) take_checkpoint(g, x, b);
}

bool mx__record_again(const struct mx_debug *g) { return g && g->executed < g->record->frontier; }

/* ---- the host's changes ------------------------------------------------------------------------------------*/

static void change_free(struct mx_change *c) {
  free(c->name);
  free(c->bytes);
}

bool mx__record_change(struct mx_debug *g, const struct mx_change *change) {
  struct mx_record *r = g->record;
  if (!r->on) return true;
  while (r->nchanges > r->next_change) change_free(&r->changes[--r->nchanges]);
  r->frontier = g->executed;
  struct mx_change *more = realloc(r->changes, (r->nchanges + 1) * sizeof *more), *c;
  if (!more) return false;
  r->changes = more;
  c = &more[r->nchanges];
  *c = *change;
  c->position = g->executed;
  c->name = change->name ? strdup(change->name) : NULL;
  c->bytes = change->bytes ? malloc(change->size) : NULL;
  if ((change->name && !c->name) || (change->bytes && !c->bytes)) {
    change_free(c);
    return false;
  }
  if (c->bytes) memcpy(c->bytes, change->bytes, change->size);
  r->nchanges++;
  r->next_change = r->nchanges;
  return true;
}

void mx__record_changes(struct mx_debug *g, struct mx_exec *x) {
  struct mx_record *r = g->record;
  if (r->next_change == r->nchanges || r->changes[r->next_change].position != g->executed) return;
  g->launch = x->launch;
  g->x = x;
  g->applying = true;
  while (r->next_change < r->nchanges && r->changes[r->next_change].position == g->executed)
    mx__debug_apply(g, &r->changes[r->next_change++]);
  g->applying = false;
}

/* ---- for the session --------------------------------------------------------------------------------------*/

mx_status mx_debug_record(mx_debug *g, size_t limit) {
  mx_status s = mx__debug_ready(g, "mx_debug_record");
  if (s != MX_OK) return s;
  struct mx_record *r = g->record;
  r->limit = limit ? limit : DEFAULT_LIMIT;
  /* the first checkpoint is there from the beginning, and holds as long as nothing has run */
  if (!r->on && g->executed) r->lost = true;
  r->on = true;
  return MX_OK;
}

bool mx__record_reaches(const struct mx_debug *g, uint64_t *oldest) {
  const struct mx_record *r = g->record;
  if (!r->on || r->lost || !r->oldest) return false;
  *oldest = r->oldest->position;
  return true;
}

mx_status mx_debug_history(mx_debug *g, uint64_t *oldest, uint64_t *newest) {
  mx_status s = mx__debug_ready_or_over(g, "mx_debug_history");
  if (s != MX_OK) return s;
  struct mx_record *r = g->record;
  uint64_t first;
  if (!r->on) return mx__fail(g->device, MX_NOT_FOUND, "the session does not record");
  if (!mx__record_reaches(g, &first)) return mx__fail(g->device, MX_NOT_FOUND, "history begins when the block's turn ends");
  if (oldest) *oldest = first;
  if (newest) *newest = r->frontier > g->executed ? r->frontier : g->executed;
  return MX_OK;
}

struct mx_record *mx__record_new(struct mx_debug *g) {
  struct mx_record *r = calloc(1, sizeof *r);
  if (r) r->session = g;
  return r;
}

void mx__record_free(struct mx_record *r) {
  if (!r) return;
  forget_all(r);
  for (size_t n = 0; n < r->nchanges; n++) change_free(&r->changes[n]);
  free(r->changes);
  free(r->seen);
  free(r);
}

/* ---- going back --------------------------------------------------------------------------------------------*/

struct mx_checkpoint *mx__checkpoint_before(struct mx_record *r, uint64_t position) {
  struct mx_checkpoint *c = r->newest;
  while (c && c->position > position) c = c->older;
  return c;
}
void mx__record_mark(struct mx_debug *g) {
  if (g->executed > g->record->frontier) g->record->frontier = g->executed;
}
struct mx_checkpoint *mx__checkpoint_first(struct mx_record *r) { return r->oldest; }
struct mx_checkpoint *mx__checkpoint_older(const struct mx_checkpoint *c) { return c->older; }
uint64_t mx__checkpoint_position(const struct mx_checkpoint *c) { return c->position; }
void mx__record_go_to(struct mx_debug *g, struct mx_checkpoint *c) { g->record->go_to = c; }
bool mx__record_going(const struct mx_debug *g) { return g->record->go_to != NULL; }

/* Blocks and frames that exist now. */
static void everything(struct mx_exec *x, struct mx_block *current, struct set *blocks, struct set *frames) {
  blocks_in_use(x->launch, current, blocks);
  for (size_t n = 0; n < blocks->n; n++) frames_in_use(blocks->list[n], frames);
  for (struct mx_frame *f = x->free_frames; f; f = f->parent) set_add(frames, f);
  struct mx_block **idle = malloc((x->launch->resident + 1u) * sizeof *idle);
  uint32_t n = idle ? mx__schedule_idle(x->launch, idle) : 0;
  for (uint32_t k = 0; k < n; k++) set_add(blocks, idle[k]);
  free(idle);
  set_sort(blocks);
  set_sort(frames);
}

static void restore(struct mx_record *r, struct mx_checkpoint *c) {
  save_heap(r);
  for (struct mx_checkpoint *k = r->newest;; k = r->newest) {
    for (struct save *s = k->saves, *next; s; s = next) {
      next = s->next;
      memcpy(s->at, s->was, s->bytes);
      k->bytes -= sizeof *s + s->bytes;
      r->bytes -= sizeof *s + s->bytes;
      free(s);
    }
    k->saves = NULL;
    if (k == c) break;
    checkpoint_free(r, k);
  }
  see_none(r);
  size_t at = 0;
  for (size_t p = 0; p < c->pieces.n; p++) {
    memcpy(c->pieces.list[p].at, c->copies + at, c->pieces.list[p].bytes);
    at += c->pieces.list[p].bytes;
  }
}

/* The free frames of the checkpoint in their order, then those made after it. */
static void link_frames(struct mx_exec *x, const struct mx_checkpoint *c, const struct set *now) {
  struct set then = {0};
  struct mx_frame **tail = &x->free_frames;
  for (size_t k = 0; k < c->nfree_frames; k++) {
    *tail = c->free_frames[k];
    tail = &c->free_frames[k]->parent;
    set_add(&then, c->free_frames[k]);
  }
  struct set blocks = {0};
  blocks_in_use(x->launch, c->block, &blocks);
  for (size_t n = 0; n < blocks.n; n++) frames_in_use(blocks.list[n], &then);
  set_sort(&then);
  for (size_t n = 0; n < now->n && !then.failed && !blocks.failed; n++) {
    struct mx_frame *f = now->list[n];
    if (set_has(&then, f)) continue;
    f->lanes = 0;
    *tail = f;
    tail = &f->parent;
  }
  *tail = NULL;
  free(then.list);
  free(blocks.list);
}

struct mx_block *mx__record_rewind(struct mx_debug *g, struct mx_exec *x, struct mx_block *current) {
  struct mx_record *r = g->record;
  if (!r->go_to || g->quit) return NULL;
  struct mx_checkpoint *c = r->go_to;
  r->go_to = NULL;
  struct set blocks = {0}, frames = {0};
  everything(x, current, &blocks, &frames);
  restore(r, c);
  link_frames(x, c, &frames);
  for (size_t n = 0; n < blocks.n; n++) {
    struct mx_block *b = blocks.list[n];
    if (b != c->block) mx__schedule_adopt(x->launch, b);
  }
  free(blocks.list);
  free(frames.list);
  struct mx_launch *l = x->launch;
  memset(x->bounds, 0, sizeof *x->bounds * (g->prep->nbounds ? g->prep->nbounds : 1));
  l->trapped = false;
  free(l->trap.detail);
  l->trap.detail = NULL;
  atomic_store(l->stop, MX_STOP_NOT);
  g->trap_shown = false;
  g->executed = c->position;
  r->next_change = 0;
  while (r->next_change < r->nchanges && r->changes[r->next_change].position < c->position) r->next_change++;
  return c->block;
}
