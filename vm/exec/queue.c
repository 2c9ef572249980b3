/* Which block runs next: those that have not started, those that are parked, and how many may be resident; see queue.h.
 *
 * At first only a few blocks for each worker are resident: they stay in the caches. When the resident ones have taken
 * many turns and none has ended, they may be waiting for a block that has not started, so twice as many are let in, up
 * to as many as the launch allows. The rule counts turns, never time, so one worker always makes the same schedule.
 *
 * Where there are many blocks, a worker takes several at once, so that it does not need the lock for each. It starts
 * them in order, the next one when the one before has ended or been parked, as it would if it took them one by one.
 *
 * Parked blocks get their turns in sweeps, alternately in ascending and in descending order: a chain of blocks, each of
 * which waits for its neighbour, is then resolved in one sweep, not in one sweep for each link. When a block ends, the
 * parked block with the nearest number gets the next turn, since it probably waited for that one. */
#include "queue.h"

#include "async.h"

#include <stdlib.h>
#include <string.h>

/* Blocks that a worker takes at once, at first; then twice as many each time, since parts of large arrays that lie side
 * by side are read faster; up to MOST_TAKEN, which may be 20 us of work, and at most one in PART_TAKEN of its share of
 * what is left. */
#define FIRST_TAKEN 8u
#define MOST_TAKEN 256u
#define PART_TAKEN 16u
/* After an assertion has failed, blocks may wait for lanes that have ended there: the launch stops after LAST_TURNS
 * turns, and LAST_SWEEPS for each resident block, without a block ending. */
#define LAST_TURNS 1024u
#define LAST_SWEEPS 4u
#define PATIENCE 8u /* turns a resident block without one ending, before more are let in */

/* The next parked block, or NULL. */
static struct mx_block *pop_parked(struct mx_queue *s) {
  if (!s->nparked[0]) {
    struct mx_block **empty = s->parked[0];
    s->parked[0] = s->parked[1];
    s->nparked[0] = s->nparked[1];
    s->parked[1] = empty;
    s->nparked[1] = 0;
  }
  return s->nparked[0] ? s->parked[0][--s->nparked[0]] : NULL;
}

/* The parked block whose number is nearest to that one, or NULL. */
static struct mx_block *pop_near(struct mx_queue *s, uint64_t index) {
  uint64_t least = UINT64_MAX;
  uint32_t list = 0, at = 0;
  for (uint32_t k = 0; k < 2; k++)
    for (uint32_t i = 0; i < s->nparked[k]; i++) {
      const uint64_t other = s->parked[k][i]->unit, far = other > index ? other - index : index - other;
      if (far < least) least = far, list = k, at = i;
    }
  if (least == UINT64_MAX) return NULL;
  struct mx_block *b = s->parked[list][at];
  memmove(&s->parked[list][at], &s->parked[list][at + 1], (--s->nparked[list] - at) * sizeof b);
  return b;
}

/* Whether a block that was returned unstarted has a lower number than all that were suspended, and may start. */
static bool returned_first(const struct mx_queue *s) {
  return s->nreturned && s->returned->next < s->parked[0][s->nparked[0] - 1]->unit && s->resident < s->allowed;
}

struct mx_block *mx__queue_take(struct mx_queue *s, struct mx_taken *mine, const struct mx_block *ended, bool *start,
                                uint64_t *index) {
  *start = false;
  if (s->suspended && !mx__queue_stopped(s) && !returned_first(s)) return s->suspended--, pop_parked(s);
  struct mx_block *next = ended && !s->suspended && !mx__queue_stopped(s) ? pop_near(s, ended->unit) : NULL;
  if (next) return next;
  for (;;) {
    if (mx__queue_stopped(s)) return NULL;
    const uint64_t left = s->l->nclusters - s->next;
    *start = (mine->next < mine->end || s->nreturned || left) && s->resident < s->allowed;
    if (*start) {
      if (mine->next == mine->end && s->nreturned) {
        *mine = (struct mx_taken){s->returned->next, s->returned->next + 1, 1};
        if (++s->returned->next == s->returned->end)
          memmove(s->returned, s->returned + 1, --s->nreturned * sizeof *s->returned);
      } else if (mine->next == mine->end) {
        const bool singly = (s->l->debug && !s->together) || s->l->steps_limit ||
                            s->parks; /* who waits mostly waits for one before it */
        const uint64_t part = left / (s->l->workers * PART_TAKEN), most = part < MOST_TAKEN ? part : MOST_TAKEN;
        mine->n = mine->n ? 2 * mine->n : FIRST_TAKEN;
        if (mine->n > most) mine->n = most;
        if (singly || !mine->n) mine->n = 1;
        mine->next = s->next;
        mine->end = s->next += mine->n;
      }
      *index = mine->next++;
      s->begun++;
      atomic_store_explicit(s->l->started, s->next * s->l->cluster_blocks, memory_order_relaxed);
      if (++s->resident > s->peak) s->peak = s->resident;
      if (s->nidle) return s->idle[--s->nidle];
      if (s->made < s->objects) return s->all[s->made++];
      /* the object is made without the lock: it is large */
      mx__unlock(&s->lock);
      struct mx_block *b = mx__block_new(s->l);
      mx__lock(&s->lock);
      if (b) s->all[s->made++] = b, s->objects = s->made;
      else mx__launch_stop(s->l, MX_STOP_HOST_MEMORY);
      return b;
    }
    struct mx_block *parked = pop_parked(s);
    if (parked) return parked;
    if (!s->resident && s->next >= s->l->nclusters) return NULL;
    s->waiting++;
    mx__wait(&s->wake, &s->lock);
    s->waiting--;
  }
}

void mx__queue_park(struct mx_queue *s, struct mx_block *b) {
  s->parked[1][s->nparked[1]++] = b;
  s->parks++;
  if (++s->turns_since_end >= LAST_TURNS + (uint64_t)s->resident * LAST_SWEEPS && atomic_load(&s->l->asserted))
    mx__launch_stop(s->l, MX_STOP_TRAP);
  if (++s->turns < (uint64_t)s->resident * PATIENCE || s->resident < s->allowed || s->begun >= s->l->nclusters) return;
  s->allowed = s->allowed > s->most / 2 ? s->most : s->allowed * 2;
  s->turns = s->backoffs = 0;
}

struct mx_block *mx__queue_deadlock(const struct mx_queue *s, struct mx_block *b) {
  if (b->timeouts < MX_MOST_TIMEOUTS || mx__queue_parked(s) != s->resident ||
      (s->begun < s->l->nclusters && s->allowed < s->most))
    return NULL;
  for (uint32_t k = 0; k < 2; k++)
    for (uint32_t i = 0; i < s->nparked[k]; i++) {
      if (s->parked[k][i]->timeouts < MX_MOST_TIMEOUTS) return NULL;
      if (s->parked[k][i]->unit < b->unit) b = s->parked[k][i];
    }
  return b;
}

bool mx__queue_others_wait(const struct mx_launch *l, const struct mx_taken *then) {
  struct mx_queue *s = l->schedule;
  mx__lock(&s->lock);
  const bool waits = then->next != then->end || s->next < l->nclusters || mx__queue_parked(s);
  mx__unlock(&s->lock);
  return waits;
}

bool mx__queue_yields(struct mx_block *b, const struct mx_taken *then) {
  if (++b->passes < MX_TURN_PASSES) return false;
  b->passes = 0;
  return b->nmembers > 1 || mx__queue_others_wait(b->launch, then);
}

uint32_t mx__queue_members(const struct mx_queue *s, struct mx_block **list) {
  uint32_t n = 0;
  for (int k = 0; k < 2; k++)
    for (uint32_t i = 0; i < s->nparked[k]; i++) n += mx__block_members(s->parked[k][i], list + n);
  return n;
}

uint32_t mx__queue_list_parked(struct mx_launch *l, struct mx_block **list) {
  return mx__queue_members(l->schedule, list);
}

uint32_t mx__queue_list_made(struct mx_launch *l, struct mx_block **list) {
  struct mx_queue *s = l->schedule;
  uint32_t n = 0;
  for (uint32_t k = 0; k < s->objects; k++) n += mx__block_members(s->all[k], list + n);
  return n;
}

/* ---- for debuggers: saving and restoring the queue; there is one worker, which holds no lock --------------------*/
struct mx_queue_state {
  uint64_t next, turns, parks;
  uint32_t resident, allowed, peak, made, nparked[2], nidle, suspended, nreturned;
  struct mx_block *list[]; /* behind it `returned` */
};

struct mx_queue_state *mx__queue_save(const struct mx_launch *l) {
  const struct mx_queue *s = l->schedule;
  struct mx_queue_state *c =
      malloc(sizeof *c + sizeof c->list[0] * (mx__queue_parked(s) + s->nidle) + sizeof *s->returned * s->nreturned);
  if (!c) return NULL;
  *c = (struct mx_queue_state){s->next,    s->turns,     s->parks,    s->resident,
                               s->allowed, s->peak,      s->made,     {s->nparked[0], s->nparked[1]},
                               s->nidle,   s->suspended, s->nreturned};
  struct mx_block **at = c->list;
  for (int k = 0; k < 2; k++)
    for (uint32_t i = 0; i < s->nparked[k]; i++) *at++ = s->parked[k][i];
  for (uint32_t i = 0; i < s->nidle; i++) *at++ = s->idle[i];
  memcpy(at, s->returned, sizeof *s->returned * s->nreturned);
  return c;
}

void mx__queue_restore(struct mx_launch *l, const struct mx_queue_state *c) {
  struct mx_queue *s = l->schedule;
  s->next = s->begun = c->next, s->turns = c->turns, s->parks = c->parks;
  s->resident = c->resident, s->allowed = c->allowed, s->peak = c->peak, s->made = c->made;
  struct mx_block *const *at = c->list;
  for (int k = 0; k < 2; k++) {
    s->nparked[k] = c->nparked[k];
    for (uint32_t i = 0; i < s->nparked[k]; i++) s->parked[k][i] = *at++;
  }
  s->nidle = c->nidle, s->suspended = c->suspended;
  for (uint32_t i = 0; i < s->nidle; i++) s->idle[i] = *at++;
  s->nreturned = c->nreturned;
  memcpy(s->returned, at, sizeof *s->returned * s->nreturned);
  atomic_store(l->started, s->next * l->cluster_blocks);
}

/* ---- for debuggers: workers that help the session's; vm/debug/parallel.c ----------------------------------------*/
static int by_number_down(const void *a, const void *b) {
  const struct mx_block *const *x = a, *const *y = b;
  return (*x)->unit < (*y)->unit ? 1 : (*x)->unit > (*y)->unit ? -1 : 0;
}

void mx__queue_sort(struct mx_queue *s) {
  memcpy(s->parked[0] + s->nparked[0], s->parked[1], s->nparked[1] * sizeof *s->parked[0]);
  s->suspended = s->nparked[0] += s->nparked[1];
  s->nparked[1] = 0;
  qsort(s->parked[0], s->suspended, sizeof *s->parked[0], by_number_down);
}

void mx__queue_return(struct mx_queue *s, struct mx_taken *mine) {
  if (mine->next == mine->end) return;
  uint32_t at = 0;
  while (at < s->nreturned && s->returned[at].next < mine->next) at++;
  memmove(s->returned + at + 1, s->returned + at, (s->nreturned++ - at) * sizeof *mine);
  s->returned[at] = *mine;
  mine->next = mine->end;
}

uint64_t mx__queue_left(const struct mx_queue *s) {
  uint64_t n = s->resident + s->l->nclusters - s->next;
  for (uint32_t k = 0; k < s->nreturned; k++) n += s->returned[k].end - s->returned[k].next;
  return n;
}
