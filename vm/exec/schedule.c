/* Blocks onto workers; see schedule.h. Below, a block stands for a unit: a cluster of blocks, by its leader (block.h).
 * Which threads there are is pool.c's, what a block does block.c's.
 *
 * At first only a few blocks for each worker are resident: they stay in the caches. When the resident ones have taken
 * many turns and none has ended, they may be waiting for a block that has not started, so twice as many are let in, up
 * to as many as the launch allows. The rule counts turns, never time, so one worker always makes the same schedule.
 *
 * A worker takes several blocks at once where there are many: the lock is not for each of them. It starts them in
 * order, one when the other has ended or been parked, so with one worker nothing is different.
 *
 * Parked blocks take turns in sweeps, up and down in turn: chains of blocks that wait for their neighbours, in either
 * direction, then come undone in one sweep instead of one link a sweep. When a block ends, the parked one that is
 * nearest to it is asked before any other starts: it waited for that one, more likely than not. When all have been
 * asked in vain, workers rest, for longer and longer: the worker of the block that all wait for may be descheduled just
 * now. */
#include "schedule.h"

#include "core/format.h"
#include "vm/memory/memory.h"
#include "async.h"
#include "block.h"
#include "hooks.h"
#include "pool.h"
#include "stuck.h"
#include "warp.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_RESIDENT 4u /* blocks a worker */
#define FIRST_TAKEN \
  8u /* blocks that a worker takes at once; then twice as many each time (parts of large arrays that lie side by side \
        stream */
#define MOST_TAKEN \
  256u /* better), up to these, which may be 20 us of work, and at most this part of its share of what is left: */
#define PART_TAKEN 16u
#define REST 50000 /* nanoseconds, the first time; at most 32 times as long */
#define NAPS 400u  /* naps (see nanosleep) in the turns of all blocks that wait: some 30 us where they ask for 20 ns */
#define SWEEPS 4u  /* in vain, before workers rest */
#define LAST_TURNS 1024u /* turns without a block ending, and this many a resident block, */
#define LAST_SWEEPS 4u   /* after an assertion has failed: who is left waits for lanes that ended there */
#define PATIENCE 8u      /* turns a resident block without one ending, before more are let in */

struct schedule {
  struct mx_launch *l;
  struct mx_pool **pool;
  struct mx_lock lock;
  pthread_cond_t wake;
  uint64_t next;  /* block that nobody has taken */
  uint64_t begun; /* blocks that have started */
  uint32_t resident, allowed, peak, most;
  uint64_t turns;           /* that ended parked, since a block ended or more were let in */
  uint64_t turns_since_end; /* the same, since a block ended */
  uint32_t rests;           /* the same, of workers */
  uint64_t parks;
  uint32_t waiting;            /* workers asleep */
  struct mx_block **parked[2]; /* stacks of `most`: those whose turn is still to come in this sweep, the others */
  uint32_t nparked[2];
  uint32_t
      resting; /* so many of the first stack come before any other block: a session's workers have suspended them */
  struct mx_block **idle; /* block objects without a block; stack of `most` */
  uint32_t nidle;
  struct mx_block **all;  /* in the order in which they were made */
  uint32_t made, objects; /* in use since then; objects >= made where the launch was taken back */
  /* of a session whose launch runs on several workers now and then: */
  pthread_cond_t company; /* the other workers are called, or have left */
  bool together, over;
  uint64_t calls, others;    /* how often they were called; what they have executed since the last time */
  struct mx_taken *returned; /* blocks that workers had taken and returned unstarted when they came to rest: by number,
                                l->helpers + 1 at most */
  uint32_t nreturned;
  uint32_t joined; /* so many are with it */
};

static bool stopped(const struct schedule *s) { return atomic_load_explicit(s->l->stop, memory_order_relaxed); }

static uint32_t parked_blocks(const struct schedule *s) { return s->nparked[0] + s->nparked[1]; }

/* The next parked block, or NULL. */
static struct mx_block *pop_parked(struct schedule *s) {
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
static struct mx_block *pop_near(struct schedule *s, uint64_t index) {
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
static bool returned_first(const struct schedule *s) {
  return s->nreturned && s->returned->next < s->parked[0][s->nparked[0] - 1]->unit && s->resident < s->allowed;
}

/* A block to run, or NULL when there is nothing left to do here; `ended`: the one that has just ended, or NULL. s->lock
 * is held. */
static struct mx_block *take(struct schedule *s, struct mx_taken *mine, const struct mx_block *ended, bool *start,
                             uint64_t *index) {
  *start = false;
  if (s->resting && !stopped(s) && !returned_first(s)) return s->resting--, pop_parked(s);
  struct mx_block *next = ended && !s->resting && !stopped(s) ? pop_near(s, ended->unit) : NULL;
  if (next) return next;
  for (;;) {
    if (stopped(s)) return NULL;
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

static void park(struct schedule *s, struct mx_block *b) {
  s->parked[1][s->nparked[1]++] = b;
  s->parks++;
  if (++s->turns_since_end >= LAST_TURNS + (uint64_t)s->resident * LAST_SWEEPS && atomic_load(&s->l->asserted))
    mx__launch_stop(s->l, MX_STOP_TRAP);
  if (++s->turns < (uint64_t)s->resident * PATIENCE || s->resident < s->allowed || s->begun >= s->l->nclusters) return;
  s->allowed = s->allowed > s->most / 2 ? s->most : s->allowed * 2;
  s->turns = s->rests = 0;
}

/* Whether all blocks under way wait at mbarriers in vain, b, which is parked now, among them, and no other can start:
 * the lowest of them, or NULL. */
static struct mx_block *deadlocked(const struct schedule *s, struct mx_block *b) {
  if (b->timeouts < MX_MOST_TIMEOUTS || parked_blocks(s) != s->resident ||
      (s->begun < s->l->nclusters && s->allowed < s->most))
    return NULL;
  for (uint32_t k = 0; k < 2; k++)
    for (uint32_t i = 0; i < s->nparked[k]; i++) {
      if (s->parked[k][i]->timeouts < MX_MOST_TIMEOUTS) return NULL;
      if (s->parked[k][i]->unit < b->unit) b = s->parked[k][i];
    }
  return b;
}

/* All resident blocks have been asked SWEEPS times since one has ended. */
static void rest(struct schedule *s) {
  if (s->turns < SWEEPS * (uint64_t)s->resident || s->turns % s->resident) return;
  const struct timespec t = mx__time_in(REST << (s->rests < 5 ? s->rests : 5));
  if (!s->rests++) mx__pool_everywhere(*s->pool); /* the worker of the block that all wait for may be descheduled */
  s->waiting++;
  mx__wait_until(&s->wake, &s->lock, &t);
  s->waiting--;
}

/* A lone worker's block waits for another device's launch, perhaps, whose worker may want this processor. */
static void yield_processor(struct schedule *s) {
  mx__unlock(&s->lock);
  sched_yield();
  mx__lock(&s->lock);
}

/* Brings the launch's step count up to date, as the engines do now and then; true: its limit is reached. */
static bool count_steps(struct mx_launch *l, struct mx_exec *x) {
  uint64_t more = x->steps - x->steps_published, all = atomic_fetch_add(&l->steps, more) + more;
  x->steps_published = x->steps;
  return l->steps_limit && all >= l->steps_limit;
}

/* ---- for debuggers: where blocks are, to be gone back to; one worker, which holds no lock ----------------------*/
struct mx_schedule_state {
  uint64_t next, turns, parks;
  uint32_t resident, allowed, peak, made, nparked[2], nidle, resting, nreturned;
  struct mx_block *list[]; /* behind it `returned` */
};

struct mx_schedule_state *mx__schedule_save(const struct mx_launch *l) {
  const struct schedule *s = l->schedule;
  struct mx_schedule_state *c =
      malloc(sizeof *c + sizeof c->list[0] * (parked_blocks(s) + s->nidle) + sizeof *s->returned * s->nreturned);
  if (!c) return NULL;
  *c = (struct mx_schedule_state){s->next,    s->turns,   s->parks,    s->resident,
                                  s->allowed, s->peak,    s->made,     {s->nparked[0], s->nparked[1]},
                                  s->nidle,   s->resting, s->nreturned};
  struct mx_block **at = c->list;
  for (int k = 0; k < 2; k++)
    for (uint32_t i = 0; i < s->nparked[k]; i++) *at++ = s->parked[k][i];
  for (uint32_t i = 0; i < s->nidle; i++) *at++ = s->idle[i];
  memcpy(at, s->returned, sizeof *s->returned * s->nreturned);
  return c;
}

void mx__schedule_restore(struct mx_launch *l, const struct mx_schedule_state *c) {
  struct schedule *s = l->schedule;
  s->next = s->begun = c->next, s->turns = c->turns, s->parks = c->parks;
  s->resident = c->resident, s->allowed = c->allowed, s->peak = c->peak, s->made = c->made;
  struct mx_block *const *at = c->list;
  for (int k = 0; k < 2; k++) {
    s->nparked[k] = c->nparked[k];
    for (uint32_t i = 0; i < s->nparked[k]; i++) s->parked[k][i] = *at++;
  }
  s->nidle = c->nidle, s->resting = c->resting;
  for (uint32_t i = 0; i < s->nidle; i++) s->idle[i] = *at++;
  s->nreturned = c->nreturned;
  memcpy(s->returned, at, sizeof *s->returned * s->nreturned);
  atomic_store(l->started, s->next * l->cluster_blocks);
}

/* ---- for debuggers: workers that help the session's; vm/debug/parallel.c ----------------------------------------*/
static int by_number(const void *a, const void *b) {
  const struct mx_block *const *x = a, *const *y = b;
  return (*x)->index < (*y)->index ? -1 : (*x)->index > (*y)->index;
}

static int by_number_down(const void *a, const void *b) {
  const struct mx_block *const *x = a, *const *y = b;
  return (*x)->unit < (*y)->unit ? 1 : (*x)->unit > (*y)->unit ? -1 : 0;
}

/* All blocks under way are to be taken up in order, before any other starts. s->lock is held, as below. */
static void line_up(struct schedule *s) {
  memcpy(s->parked[0] + s->nparked[0], s->parked[1], s->nparked[1] * sizeof *s->parked[0]);
  s->resting = s->nparked[0] += s->nparked[1];
  s->nparked[1] = 0;
  qsort(s->parked[0], s->resting, sizeof *s->parked[0], by_number_down);
}

/* Blocks that a worker has taken and will not start. */
static void return_unstarted(struct schedule *s, struct mx_taken *mine) {
  if (mine->next == mine->end) return;
  uint32_t at = 0;
  while (at < s->nreturned && s->returned[at].next < mine->next) at++;
  memmove(s->returned + at + 1, s->returned + at, (s->nreturned++ - at) * sizeof *mine);
  s->returned[at] = *mine;
  mine->next = mine->end;
}

static uint64_t blocks_left(const struct schedule *s) {
  uint64_t n = s->resident + s->l->nclusters - s->next;
  for (uint32_t k = 0; k < s->nreturned; k++) n += s->returned[k].end - s->returned[k].next;
  return n;
}

static void call_others(struct schedule *s) {
  const uint64_t few = (uint64_t)(1 + s->l->helpers) * FIRST_RESIDENT;
  if (s->allowed < few) s->allowed = few < s->most ? (uint32_t)few : s->most;
  s->l->workers = 1 + s->l->helpers;
  s->turns = s->rests = 0;
  s->others = 0;
  s->together = true;
  s->calls++;
  pthread_cond_broadcast(&s->company);
}

/* The session's worker has found nothing to do: because all rest, perhaps. True: then it has. */
static bool has_rested(struct schedule *s, struct mx_exec *x) {
  struct mx_launch *l = s->l;
  const bool were_together = s->together;
  s->together = false;
  if (s->waiting) pthread_cond_broadcast(&s->wake);
  while (s->joined) mx__wait(&s->company, &s->lock);
  l->workers = 1;
  if (were_together) l->hooks->parts(l->debug, x, s->others);
  int rest = MX_STOP_REST;
  if (!atomic_compare_exchange_strong(l->stop, &rest, MX_STOP_NOT)) return false;
  const bool joins = !were_together && l->hooks->joins(l->debug, x, blocks_left(s));
  if (were_together || joins) line_up(s);
  else if (s->nparked[1])
    s->resting++, s->parked[0][s->nparked[0]++] = s->parked[1][--s->nparked[1]]; /* its own block goes on */
  if (joins) call_others(s);
  return true;
}

/* Nothing is left to do: a debugger may want the launch back. */
static struct mx_block *taken_back(struct schedule *s, struct mx_exec *x) {
  mx__unlock(&s->lock);
  struct mx_block *b = s->l->hooks->stopped(s->l->debug, x, NULL);
  mx__lock(&s->lock);
  return b ? b->leader : NULL;
}

/* The blocks of all units that are parked; how many. */
static uint32_t members_of_parked(const struct schedule *s, struct mx_block **list) {
  uint32_t n = 0;
  for (int k = 0; k < 2; k++)
    for (uint32_t i = 0; i < s->nparked[k]; i++) n += mx__block_members(s->parked[k][i], list + n);
  return n;
}

/* All blocks that stand still, by number, and `b`, unless it is NULL; malloc'ed. */
static struct mx_block **standing(const struct schedule *s, struct mx_block *b, uint32_t *n) {
  struct mx_block **list = malloc((parked_blocks(s) + 1) * s->l->cluster_blocks * sizeof *list);
  *n = list ? members_of_parked(s, list) : 0;
  if (list && b) *n += mx__block_members(b, list + *n);
  if (list) qsort(list, *n, sizeof *list, by_number);
  return list;
}

/* Nothing goes on any more: who asks (mx_device_stuck) is told. s->lock is held. */
static void tell_stuck(struct schedule *s, struct mx_block *b) {
  uint32_t n;
  struct mx_block **list = standing(s, b, &n);
  char *text = list ? mx__stuck_text(s->l, list, n, true) : NULL;
  free(atomic_exchange(&s->l->stuck->text, text));
  free(list);
}

/* Where everybody was when the launch was interrupted. */
static char *interrupted_text(const struct schedule *s) {
  uint32_t n;
  struct mx_block **list = standing(s, NULL, &n);
  char *text = list ? mx__stuck_text(s->l, list, n, s->l->stuck && s->l->stuck->found) : NULL;
  const size_t length = text ? strlen(text) : 0;
  if (length > 3) memmove(text, text + 3, length - 2); /* the first line is indented by who prints it */
  free(list);
  return text;
}

/* ---- a worker ---------------------------------------------------------------------------------------------------*/
static struct mx_exec *exec_new(struct mx_launch *l) {
  struct mx_exec *x = aligned_alloc(64, (sizeof *x + 63) & ~(size_t)63);
  if (x && mx__exec_init(x, l)) return x;
  free(x);
  mx__launch_stop(l, MX_STOP_HOST_MEMORY);
  return NULL;
}

static void exec_free(struct mx_exec *x) {
  mx__exec_done(x);
  free(x);
}

/* Until none is left to be run here; `own`: by the session's own worker. s->lock is held. */
static void run_blocks(struct schedule *s, struct mx_exec *x, bool own) {
  struct mx_launch *l = s->l;
  bool start;
  uint64_t index;
  struct mx_taken mine = {0};
  const struct mx_block *ended = NULL;
  for (struct mx_block *b;;) {
    while (!(b = take(s, &mine, ended, &start, &index))) {
      if (l->debug) return_unstarted(s, &mine);
      if (!own || !has_rested(s, x)) break;
    }
    if (!b && own) start = false, b = taken_back(s, x);
    if (!b) break;
    if (s->waiting && (parked_blocks(s) || (s->next < l->nclusters && s->resident < s->allowed)))
      pthread_cond_signal(&s->wake);
    x->most_naps = NAPS / (1 + parked_blocks(s));
    mx__unlock(&s->lock);
    if (start) mx__block_start(b, index);
    const uint64_t first = mine.next;
    enum mx_block_status status = stopped(s) ? MX_BLOCK_STOPPED : mx__block_run(x, b, &mine);
    const uint64_t more = mine.next - first; /* that have started in its place */
    for (struct mx_block *back; own && status == MX_BLOCK_STOPPED && (back = l->hooks->stopped(l->debug, x, b));) {
      b = back->leader;
      status = mx__block_run(x, b, &mine);
    }
    if ((status == MX_BLOCK_PARKED || status == MX_BLOCK_YIELDED) && own && !s->together)
      l->hooks->parked(l->debug, x, b);
    const uint64_t spun = status == MX_BLOCK_PARKED && s->together ? l->hooks->digest(b) : 0;
    const bool looks =
        status == MX_BLOCK_PARKED && l->stuck && atomic_load_explicit(&l->stuck->look, memory_order_relaxed);
    const uint64_t digest = looks ? mx__block_digest(b) : 0;
    if (count_steps(l, x) && status != MX_BLOCK_DONE) mx__launch_stop(l, MX_STOP_STEPS);
    mx__lock(&s->lock);
    if (digest && mx__stuck_turn(l->stuck, b, digest, s->resident)) tell_stuck(s, b);
    if (spun) l->hooks->spun(l->debug, l, b, spun);
    s->begun += more;
    if (more) s->turns = s->turns_since_end = s->rests = 0;
    ended = NULL;
    if (status == MX_BLOCK_DONE) {
      ended = b;
      s->idle[s->nidle++] = b;
      if (l->stuck) l->stuck->quiet = 0;
      s->resident--;
      s->turns = s->turns_since_end = s->rests = 0;
      if (s->waiting && !s->resident && s->next >= l->nclusters) pthread_cond_broadcast(&s->wake);
    } else if (status == MX_BLOCK_STOPPED && atomic_load(l->stop) == MX_STOP_REST) {
      b->members[b->pass.member]->round.went_on =
          true; /* the turn that has been broken off may have been of use to others */
      s->parked[1][s->nparked[1]++] = b;
    } else {
      park(s, b);
      struct mx_block *stuck = deadlocked(s, b);
      if (stuck) mx__report_stuck(x, stuck);
      if (l->workers > 1 && status == MX_BLOCK_PARKED) rest(s);
      else if (l->nbeside) yield_processor(s);
    }
  }
  if (s->waiting) pthread_cond_broadcast(&s->wake);
}

/* One beyond the session's own: when it is called, until all part. */
static void help(struct schedule *s) {
  struct mx_launch *l = s->l;
  uint64_t seen = 0;
  mx__lock(&s->lock);
  for (;;) {
    while (!s->over && (s->calls == seen || !s->together)) mx__wait(&s->company, &s->lock);
    if (s->over) break;
    seen = s->calls;
    s->joined++;
    mx__unlock(&s->lock);
    struct mx_exec *x = exec_new(l);
    if (x) l->hooks->helps(l->debug, x);
    mx__lock(&s->lock);
    if (x) run_blocks(s, x, false), s->others += x->steps;
    mx__unlock(&s->lock);
    if (x) exec_free(x);
    mx__lock(&s->lock);
    s->joined--;
    pthread_cond_broadcast(&s->company);
  }
  mx__unlock(&s->lock);
}

static void work(void *arg, uint32_t k) {
  struct schedule *s = arg;
  struct mx_launch *l = s->l;
  if (k && l->debug) return help(s);
  struct mx_exec *x = exec_new(l);
  mx__lock(&s->lock);
  if (x) run_blocks(s, x, l->debug != NULL);
  else pthread_cond_broadcast(&s->wake);
  s->over = true;
  pthread_cond_broadcast(&s->company);
  mx__unlock(&s->lock);
  if (x) exec_free(x);
}

static void too_late(void *arg) {
  struct schedule *s = arg;
  mx__launch_stop(s->l, MX_STOP_TIME);
  mx__lock(&s->lock);
  pthread_cond_broadcast(&s->wake);
  mx__unlock(&s->lock);
}

/* "block (3,0,0), warp 1: kernel.mxs:12 in 'saxpy'" of the lowest block that has not ended. */
static char *where_text(const struct schedule *s) {
  const struct mx_block *b = NULL;
  for (int k = 0; k < 2; k++)
    for (uint32_t i = 0; i < s->nparked[k]; i++)
      for (uint32_t m = 0; m < s->parked[k][i]->nmembers; m++) {
        const struct mx_block *one = s->parked[k][i]->members[m];
        if (one->started && !one->ended && (!b || one->index < b->index)) b = one;
      }
  for (uint32_t w = 0; b && w < b->nwarps; w++) {
    const struct mx_warp *warp = &b->warps[w];
    if (!warp->nsplits) continue;
    const struct mx_split *split = &warp->splits[warp->nsplits - 1];
    if (!split->frame || !split->frame->fn) continue;
    const struct mx_pfunc *fn = split->frame->fn;
    const char *file;
    uint32_t line;
    mx__line_of(s->l->image, fn->number, split->pc, &file, &line);
    return file ? mx__format("block (%u,%u,%u), warp %u: %s:%u in '%s'", b->ctaid[0], b->ctaid[1], b->ctaid[2],
                             warp->number, file, line, fn->func->name)
                : mx__format("block (%u,%u,%u), warp %u: pc %u of '%s'", b->ctaid[0], b->ctaid[1], b->ctaid[2],
                             warp->number, split->pc, fn->func->name);
  }
  return NULL;
}

bool mx__schedule_waits(const struct mx_launch *l, const struct mx_taken *then) {
  struct schedule *s = l->schedule;
  mx__lock(&s->lock);
  const bool waits = then->next != then->end || s->next < l->nclusters || parked_blocks(s);
  mx__unlock(&s->lock);
  return waits;
}

uint32_t mx__schedule_parked(struct mx_launch *l, struct mx_block **list) {
  return members_of_parked(l->schedule, list);
}

uint32_t mx__schedule_made(struct mx_launch *l, struct mx_block **list) {
  struct schedule *s = l->schedule;
  uint32_t n = 0;
  for (uint32_t k = 0; k < s->objects; k++) n += mx__block_members(s->all[k], list + n);
  return n;
}

void mx__schedule(struct mx_launch *l, struct mx_pool **pool, const struct timespec *deadline, char **where) {
  struct schedule s = {.l = l, .pool = pool, .most = l->resident / l->cluster_blocks};
  *where = NULL;
  l->schedule = &s;
  for (int k = 0; k < 2; k++) s.parked[k] = calloc(s.most, sizeof(struct mx_block *));
  s.idle = calloc(s.most, sizeof(struct mx_block *));
  s.all = calloc(s.most, sizeof(struct mx_block *));
  s.returned = calloc(1 + l->helpers, sizeof *s.returned);
  if (!s.parked[0] || !s.parked[1] || !s.idle || !s.all || !s.returned) {
    mx__launch_stop(l, MX_STOP_HOST_MEMORY);
  } else {
    mx__lock_init(&s.lock, MX_LOCK_SCHEDULE);
    mx__condition_init(&s.wake);
    pthread_cond_init(&s.company, NULL);
    uint64_t few = (uint64_t)l->workers * FIRST_RESIDENT;
    s.allowed = l->cooperative || few > s.most ? s.most : (uint32_t)few;
    if (!mx__pool_run(pool, l->workers + l->helpers, work, &s, deadline, too_late))
      mx__launch_stop(l, MX_STOP_HOST_MEMORY);
    int why = atomic_load(l->stop);
    if (why == MX_STOP_INTERRUPT) *where = interrupted_text(&s);
    else if (why == MX_STOP_STEPS || why == MX_STOP_TIME) *where = where_text(&s);
    l->stats.blocks = (s.begun - s.resident) * l->cluster_blocks;
    l->stats.parks = s.parks;
    l->stats.peak_resident_blocks = s.peak * l->cluster_blocks;
    for (uint32_t i = 0; i < s.objects; i++) mx__block_free(s.all[i]);
    mx__lock_done(&s.lock);
    pthread_cond_destroy(&s.wake);
    pthread_cond_destroy(&s.company);
  }
  free(s.parked[0]);
  free(s.parked[1]);
  free(s.idle);
  free(s.all);
  free(s.returned);
}
