/* States of a launch that a session can go back to. A state is taken at the beginning of a warp's turn, when everything
 * is in blocks, frames and the schedule. Of memory, only pages that are written afterwards are kept, with their old
 * contents: going back restores these pages, newest state first, and then the rest.
 *
 * 1. The state `now` is the last one that the launch has passed. The pages of `now` are all that were written since
 *    it; those of a state before it, all that were written up to the next. States behind `now` are in the future, which
 * will be the same again unless the debugger changes something; then they are dropped.
 * 2. So a state may be dropped by giving its pages to the one before: pages that that one has already are older and
 * stay. */
#include "session.h"

#include "vm/exec/async.h"
#include "vm/exec/interp.h"
#include "vm/exec/launch.h"
#include "vm/exec/queue.h"
#include "vm/exec/warp.h"
#include "vm/load/prepare.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 4096u
#define STATES 96u
#define FIRST_INTERVAL 4096u /* instructions between states, at first; it doubles as the launch gets longer */
#define DEFAULT_LIMIT (256ull << 20)

struct page {
  unsigned char *at, *old;
  uint32_t bytes; /* old NULL: they were zero */
};
struct state {
  uint64_t position, turn;
  struct mx_block *running;
  struct mx_queue_state *schedule;
  unsigned char *tape;
  size_t used, room;
  struct page *pages;
  uint32_t npages, page_room;
  uint64_t written;       /* bytes kept in them */
  uint32_t *index, slots; /* hash over `at`: number + 1 */
};
struct mx_record {
  struct state *state[STATES + 1];
  uint32_t n, now;
  uint64_t limit, bytes, interval, newest, target;
  uint64_t turn;             /* turns so far, which distinguishes states at one position */
  struct mx_block **blocks;  /* an array as long as all blocks of the launch */
  struct recent {            /* what the current state already contains: */
    unsigned char *page;     /* the page that was kept last: most writes are to it again */
    unsigned char *whole[2]; /* long ranges from there on: the heap's tables, at each malloc */
    uint64_t bytes[2];
  } recent;
  bool lost; /* out of memory: a page is missing */
};

/* ---- pages ----------------------------------------------------------------------------------------------*/
static uint32_t hash(const unsigned char *p) { return (uint32_t)(((uintptr_t)p >> 4) * 0x9E3779B97F4A7C15u >> 33); }

static bool grow(struct state *s) {
  uint32_t slots = s->slots ? s->slots * 2 : 256;
  uint32_t *index = calloc(slots, sizeof *index);
  struct page *pages = index ? realloc(s->pages, slots / 2 * sizeof *pages) : NULL;
  if (!pages) return free(index), false;
  free(s->index);
  s->index = index, s->slots = slots, s->pages = pages, s->page_room = slots / 2;
  for (uint32_t k = 0; k < s->npages; k++) {
    uint32_t h = hash(pages[k].at) & (slots - 1);
    while (index[h]) h = (h + 1) & (slots - 1);
    index[h] = k + 1;
  }
  return true;
}

/* The place of a new page in the state; NULL: it has that page, or (*oom) there is no memory. */
static struct page *add_page(struct state *s, unsigned char *at, bool *oom) {
  if (s->npages == s->page_room && !grow(s)) return *oom = true, NULL;
  uint32_t h = hash(at) & (s->slots - 1);
  for (; s->index[h]; h = (h + 1) & (s->slots - 1))
    if (s->pages[s->index[h] - 1].at == at) return NULL;
  s->index[h] = s->npages + 1;
  return &s->pages[s->npages++];
}

static bool all_zero(const unsigned char *p, uint32_t n) { return !p[0] && (n == 1 || !memcmp(p, p + 1, n - 1)); }

static void keep(struct mx_record *r, unsigned char *at, uint32_t bytes) {
  bool oom = false;
  struct page *p = add_page(r->state[r->now], at, &oom);
  if (oom) r->lost = true;
  if (!p) return;
  *p = (struct page){.at = at, .bytes = bytes};
  r->bytes += sizeof *p + 8;
  if (all_zero(at, bytes)) return;
  p->old = malloc(bytes);
  if (!p->old) {
    r->lost = true;
    return;
  }
  memcpy(p->old, at, bytes);
  r->bytes += bytes;
  r->state[r->now]->written += bytes;
}

void mx__record_writes(struct mx_debug *g, unsigned char *lo, unsigned char *hi, unsigned char *at, uint64_t bytes) {
  struct mx_record *r = g->record;
  if (!r->n) return;
  struct recent *has = &r->recent;
  if (bytes > 16 * PAGE) {
    for (int k = 0; k < 2; k++)
      if (has->whole[k] == at && has->bytes[k] == bytes) return;
    has->whole[1] = has->whole[0], has->bytes[1] = has->bytes[0];
    has->whole[0] = at, has->bytes[0] = bytes;
  }
  for (unsigned char *end = at + bytes; at < end;) {
    unsigned char *page = (unsigned char *)((uintptr_t)at & ~(uintptr_t)(PAGE - 1));
    unsigned char *from = page < lo ? lo : page, *to = page + PAGE > hi ? hi : page + PAGE;
    if (from != has->page) keep(r, from, (uint32_t)(to - from));
    has->page = from;
    at = page + PAGE;
  }
}

/* ---- states: one description for taking and for putting back ----------------------------------------------*/
struct tape {
  struct state *s;
  size_t at;
  bool save, oom;
};

static void move(struct tape *t, void *p, size_t n) {
  struct state *s = t->s;
  if (!t->save) {
    memcpy(p, s->tape + t->at, n);
    t->at += n;
    return;
  }
  if (s->used + n > s->room) {
    size_t room = (s->used + n) * 2;
    unsigned char *more = realloc(s->tape, room);
    if (!more) {
      t->oom = true;
      return;
    }
    s->tape = more, s->room = room;
  }
  memcpy(s->tape + s->used, p, n);
  s->used += n;
}
#define MOVE(t_, v_) move((t_), &(v_), sizeof(v_))

static void move_warp(struct tape *t, struct mx_warp *w) {
  MOVE(t, w->live), MOVE(t, w->nsplits), MOVE(t, w->spins), MOVE(t, w->spin_limit), MOVE(t, w->clock);
  move(t, w->splits, w->nsplits * sizeof w->splits[0]);
}

/* Copies under way. */
static void move_async(struct tape *t, struct mx_block *b) {
  bool any = b->async != NULL;
  MOVE(t, any);
  if (!t->save) mx__async_clear(b);
  if (!any) return;
  struct mx_async *a = mx__async_of(b);
  if (!a) {
    t->oom = true;
    return;
  }
  MOVE(t, a->nwanted), MOVE(t, a->wanted), MOVE(t, a->passes), MOVE(t, a->events), MOVE(t, a->random);
  for (uint32_t w = 0; w < b->nwarps; w++) {
    struct mx_warp_copies *of = &a->warp[w];
    uint32_t n = of->n;
    MOVE(t, n), MOVE(t, of->groups_differ), MOVE(t, of->has_bulk_groups);
    MOVE(t, of->committed), MOVE(t, of->groups), MOVE(t, of->bulk_groups);
    for (uint32_t k = 0; k < n; k++) {
      struct mx_copy copy;
      if (t->save) copy = *of->list[k];
      MOVE(t, copy);
      if (!t->save && !mx__async_put(b, w, &copy)) t->oom = true;
    }
  }
}

static void move_block(struct tape *t, struct mx_block *b) {
  MOVE(t, b->unit), MOVE(t, b->index), MOVE(t, b->ctaid), MOVE(t, b->ended), MOVE(t, b->pass), MOVE(t, b->spins),
      MOVE(t, b->passes), MOVE(t, b->started), MOVE(t, b->round), MOVE(t, b->barriers_used);
  for (unsigned n = 0; n < MX_ALL_BARRIERS; n++) {
    struct mx_barrier *bar = &b->barriers[n];
    MOVE(t, bar->want), MOVE(t, bar->hold), MOVE(t, bar->all);
    move(t, bar->arrived, b->nwarps * sizeof *bar->arrived);
  }
  for (uint32_t w = 0; w < b->nwarps; w++) move_warp(t, &b->warps[w]);
  move_async(t, b);
  MOVE(t, b->timeouts), MOVE(t, b->time_over);
}

/* ---- frames: they stay where they are, in use or on the worker's free list -----------------------------------*/
struct frames {
  struct mx_frame **at;
  size_t n, room;
  bool oom;
};

static void add_frame(struct frames *l, struct mx_frame *f) {
  if (l->n == l->room) {
    size_t room = l->room ? l->room * 2 : 64;
    struct mx_frame **more = realloc(l->at, room * sizeof *more);
    if (!more) {
      l->oom = true;
      return;
    }
    l->at = more, l->room = room;
  }
  l->at[l->n++] = f;
}

static int by_place(const void *a, const void *b) {
  const struct mx_frame *const *x = a, *const *y = b;
  return *x < *y ? -1 : *x > *y;
}

static void sort_once(struct frames *l) {
  if (!l->n) return;
  qsort(l->at, l->n, sizeof *l->at, by_place);
  size_t kept = 1;
  for (size_t k = 1; k < l->n; k++)
    if (l->at[k] != l->at[kept - 1]) l->at[kept++] = l->at[k];
  l->n = kept;
}

/* All frames that lanes of the block's warps stand in. */
static void frames_of(const struct mx_block *b, struct frames *l) {
  for (uint32_t n = 0; n < b->nwarps; n++) {
    const struct mx_warp *w = &b->warps[n];
    for (uint32_t k = 0; k < w->nsplits; k++)
      for (struct mx_frame *f = w->splits[k].frame; f; f = f->parent) add_frame(l, f);
  }
}

static size_t frame_bytes(const struct mx_frame *f) { return sizeof *f + f->fn->frame_bytes; }

/* ---- taking and putting back ------------------------------------------------------------------------------*/
static void move_all(struct tape *t, struct mx_debug *g, struct mx_exec *x, struct mx_block *const *blocks,
                     uint32_t n) {
  struct mx_launch *l = x->launch;
  MOVE(t, x->steps), MOVE(t, x->steps_published), MOVE(t, x->stats);
  uint64_t steps = atomic_load(&l->steps);
  MOVE(t, steps);
  if (!t->save) atomic_store(&l->steps, steps);
  MOVE(t, g->record->turn), MOVE(t, g->random), MOVE(t, g->quiet), MOVE(t, g->sure), MOVE(t, g->value_changed);
  for (uint32_t k = 0; k < n; k++) {
    struct mx_block *b = blocks ? blocks[k] : NULL;
    MOVE(t, b);
    move_block(t, b);
  }
}

static void state_free(struct mx_record *r, struct state *s) {
  for (uint32_t k = 0; k < s->npages; k++) {
    r->bytes -= sizeof s->pages[k] + 8 + (s->pages[k].old ? s->pages[k].bytes : 0);
    free(s->pages[k].old);
  }
  r->bytes -= s->used;
  free(s->pages);
  free(s->index);
  free(s->schedule);
  free(s->tape);
  free(s);
}

/* The blocks that are under way, b among them. */
static uint32_t live_blocks(const struct mx_launch *l, struct mx_block *b, struct mx_block **list) {
  uint32_t n = mx__queue_list_parked((struct mx_launch *)(uintptr_t)l, list);
  return n + mx__block_members(b, list + n);
}

static struct state *state_new(struct mx_debug *g, struct mx_exec *x, struct mx_block *b) {
  struct state *s = calloc(1, sizeof *s);
  struct mx_block **blocks = g->record->blocks;
  struct frames l = {0};
  struct tape t = {.s = s, .save = true};
  if (!s) return NULL;
  s->position = g->executed;
  s->turn = g->record->turn;
  s->running = b;
  s->schedule = mx__queue_save(x->launch);
  uint32_t n = live_blocks(x->launch, b, blocks);
  MOVE(&t, n);
  move_all(&t, g, x, blocks, n);
  for (uint32_t k = 0; k < n; k++) frames_of(blocks[k], &l);
  sort_once(&l);
  MOVE(&t, l.n);
  for (size_t k = 0; k < l.n; k++) {
    size_t bytes = frame_bytes(l.at[k]);
    MOVE(&t, l.at[k]), MOVE(&t, bytes);
    move(&t, l.at[k], bytes);
  }
  free(l.at);
  if (!t.oom && !l.oom && s->schedule && grow(s)) {
    g->record->bytes += s->used;
    return s;
  }
  g->record->bytes += s->used;
  state_free(g->record, s);
  return NULL;
}

static void put_pages_back(struct state *s) {
  for (uint32_t k = 0; k < s->npages; k++) {
    if (s->pages[k].old) memcpy(s->pages[k].at, s->pages[k].old, s->pages[k].bytes);
    else memset(s->pages[k].at, 0, s->pages[k].bytes);
  }
}

static void put_back(struct mx_debug *g, struct mx_exec *x, struct state *s) {
  struct mx_launch *l = x->launch;
  struct frames all = {0};
  struct mx_block **made = g->record->blocks;
  uint32_t n = mx__queue_list_made(l, made);
  for (uint32_t k = 0; k < n; k++) {
    frames_of(made[k], &all);
    made[k]->started = false;
    for (uint32_t w = 0; w < made[k]->nwarps; w++) made[k]->warps[w].nsplits = 0, made[k]->warps[w].live = 0;
  }
  for (struct mx_frame *f = x->free_frames; f; f = f->parent) add_frame(&all, f);
  sort_once(&all);
  mx__queue_restore(l, s->schedule);
  struct tape t = {.s = s};
  MOVE(&t, n);
  move_all(&t, g, x, NULL, n);
  if (t.oom) mx__launch_stop(l, MX_STOP_HOST_MEMORY);
  size_t frames;
  MOVE(&t, frames);
  struct frames used = {0};
  for (size_t k = 0; k < frames; k++) {
    struct mx_frame *f;
    size_t bytes;
    MOVE(&t, f), MOVE(&t, bytes);
    size_t size = f->size; /* the piece of memory stays as large as it is */
    move(&t, f, bytes);
    f->size = size;
    add_frame(&used, f);
  }
  x->free_frames = NULL;
  for (size_t a = 0, b = 0; a < all.n; a++) {
    while (b < used.n && used.at[b] < all.at[a]) b++;
    if (b < used.n && used.at[b] == all.at[a]) continue;
    all.at[a]->parent = x->free_frames;
    x->free_frames = all.at[a];
  }
  free(all.at);
  free(used.at);
}

struct mx_block *mx__record_rewind(struct mx_debug *g, struct mx_exec *x) {
  struct mx_record *r = g->record;
  struct mx_launch *l = x->launch;
  uint32_t to = r->now;
  while (to && r->state[to]->position > r->target) to--;
  for (uint32_t k = r->now + 1; k-- > to;) put_pages_back(r->state[k]);
  r->now = to;
  r->recent = (struct recent){0};
  struct state *s = r->state[to];
  put_back(g, x, s);
  g->executed = s->position;
  g->splits = x->stats.splits;
  mx__lock(&l->lock);
  l->trapped = false;
  free(l->trap.detail);
  l->trap = (struct mx_trap){0};
  mx__unlock(&l->lock);
  atomic_store(l->stop, MX_STOP_NOT);
  memset(x->bounds, 0, sizeof *x->bounds * (g->prep->nbounds ? g->prep->nbounds : 1));
  g->rewinding = g->trap_shown = false;
  mx__compiled_rewound(g);
  g->pass = NULL;
  g->pending = 0;
  return s->running;
}

/* ---- which states are kept --------------------------------------------------------------------------------*/
static void drop(struct mx_record *r, uint32_t k) {
  state_free(r, r->state[k]);
  memmove(&r->state[k], &r->state[k + 1], (--r->n - k) * sizeof r->state[0]);
}

/* Drops state k; the one before it gets its pages, unless it has them. */
static void merge(struct mx_record *r, uint32_t k) {
  struct state *s = r->state[k], *before = r->state[k - 1];
  for (uint32_t p = 0; p < s->npages; p++) {
    bool oom = false;
    struct page *to = add_page(before, s->pages[p].at, &oom);
    if (oom) r->lost = true;
    if (!to) continue;
    *to = s->pages[p];
    r->bytes += sizeof *to + 8;
    s->pages[p].old = NULL;
  }
  drop(r, k);
  if (r->now >= k) r->now--;
}

/* Drops every second state up to now. */
static void thin(struct mx_record *r) {
  while (r->n > r->now + 1) drop(r, r->n - 1);
  for (uint32_t k = 1; k < r->now; k++) merge(r, k);
  r->interval *= 2;
  r->recent = (struct recent){0};
}

/* Future states are dropped first, since they can be reached again; then states are merged; if that is not enough, the
 * oldest are dropped. */
static void keep_within_limit(struct mx_record *r) {
  while (r->bytes > r->limit && r->n > r->now + 1) drop(r, r->n - 1);
  while (r->bytes > r->limit && r->now) {
    uint64_t before = r->bytes;
    if (r->now > 1) thin(r);
    if (r->bytes > before - before / 8) {
      drop(r, 0);
      r->now--;
    }
  }
}

/* Instructions from one state to the next: more where many pages are written, since each state keeps them anew. Near a
 * place that was gone back to states are close, because the next step back is likely. */
static uint64_t interval(const struct mx_debug *g, const struct mx_record *r) {
  uint64_t written = r->state[r->now]->written;
  bool back = r->now + 1 < r->n || g->search.on || g->stop_at != UINT64_MAX;
  if (r->bytes > r->limit) return FIRST_INTERVAL; /* a new state, so that an old one can go */
  uint64_t least = back ? r->interval / 16 : r->interval, costs = back ? written / 128 : written / 8;
  if (least < FIRST_INTERVAL) least = FIRST_INTERVAL;
  return least > costs ? least : costs;
}

/* On the way back to a position: whether half of what was left behind the last state has passed. So the states before
 * the position are the closer to it the nearer they are, whatever was written, and the next step back is short. */
static bool is_half_way(const struct mx_debug *g, const struct mx_record *r) {
  const uint64_t to = g->search.on ? g->search.end : g->stop_at, passed = g->executed - r->state[r->now]->position;
  return to != UINT64_MAX && passed >= FIRST_INTERVAL && to > g->executed && to - g->executed <= passed;
}

void mx__record_turn(struct mx_debug *g, struct mx_exec *x, struct mx_block *b) {
  struct mx_record *r = g->record;
  if (g->executed > r->newest) r->newest = g->executed;
  r->turn++;
  if (r->lost) mx__record_forget(g);
  if (!r->blocks && !(r->blocks = malloc((x->launch->resident + MX_MAX_CLUSTER) * sizeof *r->blocks))) return;
  if (r->now + 1 < r->n && r->state[r->now + 1]->turn == r->turn) {
    r->now++; /* the launch has reached a recorded state again */
  } else {
    if (r->n && g->executed - r->state[r->now]->position < interval(g, r) && !is_half_way(g, r)) return;
    if (r->n > STATES - 1) thin(r);
    struct state *s = state_new(g, x, b);
    if (!s) return;
    uint32_t at = r->n ? r->now + 1 : 0;
    memmove(&r->state[at + 1], &r->state[at], (r->n++ - at) * sizeof r->state[0]);
    r->state[at] = s;
    r->now = at;
    keep_within_limit(r);
  }
  r->recent = (struct recent){0};
  memset(x->bounds, 0, sizeof *x->bounds * (g->prep->nbounds ? g->prep->nbounds : 1));
}

void mx__record_first(struct mx_debug *g) {
  const uint32_t ticks = mx__ticks(mx__insn_of(g->x->split)); /* the instruction that it stands at counts already */
  g->x->warp->clock -= ticks;
  mx__record_turn(g, g->x, g->x->block);
  g->x->warp->clock += ticks;
}

uint64_t mx__record_before(struct mx_debug *g, uint64_t position) {
  const struct mx_record *r = g->record;
  for (uint32_t k = r->now + 1; k--;)
    if (k < r->n && r->state[k]->position < position) return r->state[k]->position;
  return position;
}

void mx__record_take(struct mx_debug *g, uint64_t position) {
  g->record->target = position;
  if (g->executed > g->record->newest) g->record->newest = g->executed;
}

void mx__record_cut(struct mx_debug *g) {
  struct mx_record *r = g->record;
  while (r->n > r->now + 1) drop(r, r->n - 1);
  r->newest = g->executed;
}

void mx__record_forget(struct mx_debug *g) {
  struct mx_record *r = g->record;
  if (!r) return;
  while (r->n) drop(r, r->n - 1);
  r->now = 0;
  r->lost = false;
  r->recent = (struct recent){0};
  mx__edits_free(g);
}

bool mx__record_is_empty(const struct mx_debug *g) { return g->record && !g->record->n; }

bool mx__record_begin(struct mx_debug *g, uint64_t limit) {
  g->record = calloc(1, sizeof *g->record);
  if (!g->record) return false;
  g->record->limit = limit ? limit : DEFAULT_LIMIT;
  g->record->interval = FIRST_INTERVAL;
  return true;
}

void mx__record_free(struct mx_debug *g) {
  mx__record_forget(g);
  if (g->record) free(g->record->blocks);
  free(g->record);
  g->record = NULL;
}

void mx__record_info(const struct mx_debug *g, mx_debug_recording *out) {
  const struct mx_record *r = g->record;
  out->on = r != NULL;
  if (!r) return;
  out->oldest = r->n ? r->state[0]->position : g->executed;
  out->newest = r->newest > g->executed ? r->newest : g->executed;
  out->states = r->n;
  out->bytes = r->bytes;
}

/* ---- changes by the debugger ------------------------------------------------------------------------------*/
void mx__edits_free(struct mx_debug *g) {
  for (size_t k = 0; g->edits && k < g->edits->n; k++) free(g->edits->at[k].data);
  if (g->edits) free(g->edits->at);
  free(g->edits);
  g->edits = NULL;
}

/* A change at this position: what was recorded behind it will not happen again. If memory runs out, the whole past is
 * dropped. */
static void keep_edit(struct mx_debug *g, struct mx_edit e, const void *data, size_t size) {
  if (!g->record || (g->edits && g->edits->applying)) return;
  mx__record_cut(g);
  if (!g->edits) g->edits = calloc(1, sizeof *g->edits);
  struct mx_edits *l = g->edits;
  while (l && l->n && l->at[l->n - 1].position > g->executed) free(l->at[--l->n].data);
  if (l && l->n == l->room) {
    struct mx_edit *more = realloc(l->at, (l->room * 2 + 8) * sizeof *more);
    if (more) l->at = more, l->room = l->room * 2 + 8;
  }
  e.position = g->executed;
  e.data = malloc(size + 1);
  if (!l || l->n == l->room || !e.data) {
    free(e.data);
    mx__record_forget(g);
    return;
  }
  memcpy(e.data, data, size);
  l->at[l->n++] = e;
}

void mx__edit_register(struct mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t frame,
                       const char *name, uint64_t lanes, uint64_t low, uint64_t high) {
  keep_edit(g,
            (struct mx_edit){.what = MX_EDIT_REGISTER,
                             .block = block,
                             .warp = warp,
                             .split = split,
                             .frame = frame,
                             .lanes = lanes,
                             .low = low,
                             .high = high},
            name, strlen(name) + 1);
}
void mx__edit_memory(struct mx_debug *g, uint64_t block, uint32_t warp, uint32_t lane, mx_addr address,
                     const void *from, size_t bytes) {
  keep_edit(g,
            (struct mx_edit){
                .what = MX_EDIT_MEMORY, .block = block, .warp = warp, .lane = lane, .address = address, .bytes = bytes},
            from, bytes);
}
void mx__edit_jump(struct mx_debug *g, uint64_t block, uint32_t warp, uint32_t split, uint32_t pc) {
  keep_edit(g, (struct mx_edit){.what = MX_EDIT_JUMP, .block = block, .warp = warp, .split = split, .pc = pc}, "", 0);
}
