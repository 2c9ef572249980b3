/* The workers of a launch, and what each does: it takes a block from the queue (queue.h), runs it (turns.c) until it
 * ends or is parked, and takes the next. pool.c owns the threads.
 *
 * When several sweeps over the parked blocks have made no progress, workers back off for increasing times: the system
 * may have descheduled the worker that runs the awaited block. */
#include "schedule.h"

#include "core/format.h"
#include "vm/memory/memory.h"
#include "async.h"
#include "block.h"
#include "hooks.h"
#include "pool.h"
#include "queue.h"
#include "stuck.h"
#include "warp.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_RESIDENT 4u /* blocks a worker */
#define BACKOFF 50000     /* nanoseconds, the first time; at most 32 times as long */
#define NAPS 400u /* naps (see nanosleep) in the turns of all blocks that wait: some 30 us where they ask for 20 ns */
#define SWEEPS 4u /* without progress, before workers back off */

/* Waits a while if all resident blocks have had SWEEPS turns since one of them ended. */
static void back_off(struct mx_queue *s) {
  if (s->turns < SWEEPS * (uint64_t)s->resident || s->turns % s->resident) return;
  const struct timespec t = mx__time_in(BACKOFF << (s->backoffs < 5 ? s->backoffs : 5));
  if (!s->backoffs++) mx__pool_everywhere(*s->pool); /* the worker of the block that all wait for may be descheduled */
  s->waiting++;
  mx__wait_until(&s->wake, &s->lock, &t);
  s->waiting--;
}

/* The only worker's block may wait for another device's launch, whose worker may need this processor. */
static void yield_processor(struct mx_queue *s) {
  mx__unlock(&s->lock);
  sched_yield();
  mx__lock(&s->lock);
}

/* ---- for debuggers: workers that help the session's; vm/debug/parallel.c ----------------------------------------*/
static int by_number(const void *a, const void *b) {
  const struct mx_block *const *x = a, *const *y = b;
  return (*x)->index < (*y)->index ? -1 : (*x)->index > (*y)->index;
}

static void call_helpers(struct mx_queue *s) {
  const uint64_t few = (uint64_t)(1 + s->l->helpers) * FIRST_RESIDENT;
  if (s->allowed < few) s->allowed = few < s->most ? (uint32_t)few : s->most;
  s->l->workers = 1 + s->l->helpers;
  s->turns = s->backoffs = 0;
  s->others = 0;
  s->together = true;
  s->calls++;
  pthread_cond_broadcast(&s->helpers_changed);
}

/* The session's own worker has found no block to run. True: because all workers had paused, so that it has to go on. */
static bool goes_on_after_rest(struct mx_queue *s, struct mx_exec *x) {
  struct mx_launch *l = s->l;
  const bool were_together = s->together;
  s->together = false;
  if (s->waiting) pthread_cond_broadcast(&s->wake);
  while (s->joined) mx__wait(&s->helpers_changed, &s->lock);
  l->workers = 1;
  if (were_together) l->hooks->parts(l->debug, x, s->others);
  int rest = MX_STOP_REST;
  if (!atomic_compare_exchange_strong(l->stop, &rest, MX_STOP_NOT)) return false;
  const bool joins = !were_together && l->hooks->joins(l->debug, x, mx__queue_left(s));
  if (were_together || joins) mx__queue_sort(s);
  else if (s->nparked[1])
    s->suspended++, s->parked[0][s->nparked[0]++] = s->parked[1][--s->nparked[1]]; /* its own block goes on */
  if (joins) call_helpers(s);
  return true;
}

/* No block is left to run: the debugger may restore an earlier state, and name a block of it. */
static struct mx_block *asked_for_by_debugger(struct mx_queue *s, struct mx_exec *x) {
  mx__unlock(&s->lock);
  struct mx_block *b = s->l->hooks->stopped(s->l->debug, x, NULL);
  mx__lock(&s->lock);
  return b ? b->leader : NULL;
}

/* All parked blocks and, unless it is NULL, `b`, by number; malloc'ed. */
static struct mx_block **unfinished(const struct mx_queue *s, struct mx_block *b, uint32_t *n) {
  struct mx_block **list = malloc((mx__queue_parked(s) + 1) * s->l->cluster_blocks * sizeof *list);
  *n = list ? mx__queue_members(s, list) : 0;
  if (list && b) *n += mx__block_members(b, list + *n);
  if (list) qsort(list, *n, sizeof *list, by_number);
  return list;
}

/* Nothing makes progress any more: leaves a text for mx_device_stuck. s->lock is held. */
static void publish_stuck_text(struct mx_queue *s, struct mx_block *b) {
  uint32_t n;
  struct mx_block **list = unfinished(s, b, &n);
  char *text = list ? mx__stuck_text(s->l, list, n, true) : NULL;
  free(atomic_exchange(&s->l->stuck->text, text));
  free(list);
}

/* Where all blocks were when the launch was interrupted. */
static char *interrupted_text(const struct mx_queue *s) {
  uint32_t n;
  struct mx_block **list = unfinished(s, NULL, &n);
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

/* Runs blocks until none is left for this worker; `own`: the session's own worker. s->lock is held. Each step of the
 * loop takes one block, gives it a turn without the lock, and puts it where it belongs after that: among those that
 * may be used for another (it has ended), back first in line (it was interrupted), or among the parked. */
static void run_blocks(struct mx_queue *s, struct mx_exec *x, bool own) {
  struct mx_launch *l = s->l;
  bool start;
  uint64_t index;
  struct mx_taken mine = {0};
  const struct mx_block *ended = NULL;
  for (struct mx_block *b;;) {
    while (!(b = mx__queue_take(s, &mine, ended, &start, &index))) {
      if (l->debug) mx__queue_return(s, &mine);
      if (!own || !goes_on_after_rest(s, x)) break;
    }
    if (!b && own) start = false, b = asked_for_by_debugger(s, x);
    if (!b) break;
    if (s->waiting && (mx__queue_parked(s) || (s->next < l->nclusters && s->resident < s->allowed)))
      pthread_cond_signal(&s->wake);
    x->most_naps = NAPS / (1 + mx__queue_parked(s));
    mx__unlock(&s->lock);
    if (start) mx__block_start(b, index);
    const uint64_t first = mine.next;
    /* the turn; a block that ends lets others of the grid begin in its memory at once, which `mine` counts */
    enum mx_block_status status = mx__queue_stopped(s) ? MX_BLOCK_STOPPED : mx__block_run(x, b, &mine);
    const uint64_t more = mine.next - first; /* that have started in its place */
    for (struct mx_block *back; own && status == MX_BLOCK_STOPPED && (back = l->hooks->stopped(l->debug, x, b));) {
      b = back->leader;
      status = mx__block_run(x, b, &mine);
    }
    if ((status == MX_BLOCK_PARKED || status == MX_BLOCK_YIELDED) && own && !s->together)
      l->hooks->parked(l->debug, x, b);
    /* whether this turn has changed anything: asked by sessions, and by what looks for launches without progress */
    const uint64_t spun = status == MX_BLOCK_PARKED && s->together ? l->hooks->digest(b) : 0;
    const bool looks =
        status == MX_BLOCK_PARKED && l->stuck && atomic_load_explicit(&l->stuck->look, memory_order_relaxed);
    const uint64_t digest = looks ? mx__block_digest(b) : 0;
    const uint64_t steps = mx__add_steps(x);
    mx__lock(&s->lock);
    /* A launch may end with just as many instructions as its limit; a block that is left has another to execute. */
    if (l->steps_limit && steps >= l->steps_limit &&
        (status != MX_BLOCK_DONE || s->next < l->nclusters || mx__queue_parked(s)))
      mx__launch_stop(l, MX_STOP_STEPS);
    if (digest && mx__stuck_turn(l->stuck, b, digest, s->resident)) publish_stuck_text(s, b);
    if (spun) l->hooks->spun(l->debug, l, b, spun);
    s->begun += more;
    if (more) s->turns = s->turns_since_end = s->backoffs = 0;
    ended = NULL;
    if (status == MX_BLOCK_DONE) {
      ended = b;
      s->idle[s->nidle++] = b;
      if (l->stuck) l->stuck->quiet = 0;
      s->resident--;
      s->turns = s->turns_since_end = s->backoffs = 0;
      if (s->waiting && !s->resident && s->next >= l->nclusters) pthread_cond_broadcast(&s->wake);
    } else if (status == MX_BLOCK_STOPPED && atomic_load(l->stop) == MX_STOP_REST) {
      b->members[b->pass.member]->round.went_on = true; /* the interrupted turn may have been useful to other blocks */
      s->parked[1][s->nparked[1]++] = b;
    } else {
      mx__queue_park(s, b);
      struct mx_block *stuck = mx__queue_deadlock(s, b);
      if (stuck) mx__trap_deadlock(x, stuck);
      if (l->workers > 1 && status == MX_BLOCK_PARKED) back_off(s);
      else if (l->nbeside) yield_processor(s);
    }
  }
  if (s->waiting) pthread_cond_broadcast(&s->wake);
}

/* A worker beyond the session's own: runs blocks from each call to the next stop. */
static void help_session(struct mx_queue *s) {
  struct mx_launch *l = s->l;
  uint64_t seen = 0;
  mx__lock(&s->lock);
  for (;;) {
    while (!s->over && (s->calls == seen || !s->together)) mx__wait(&s->helpers_changed, &s->lock);
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
    pthread_cond_broadcast(&s->helpers_changed);
  }
  mx__unlock(&s->lock);
}

static void work(void *arg, uint32_t k) {
  struct mx_queue *s = arg;
  struct mx_launch *l = s->l;
  if (k && l->debug) return help_session(s);
  struct mx_exec *x = exec_new(l);
  mx__lock(&s->lock);
  if (x) run_blocks(s, x, l->debug != NULL);
  else pthread_cond_broadcast(&s->wake);
  s->over = true;
  pthread_cond_broadcast(&s->helpers_changed);
  mx__unlock(&s->lock);
  if (x) exec_free(x);
}

static void on_deadline(void *arg) {
  struct mx_queue *s = arg;
  mx__launch_stop(s->l, MX_STOP_TIME);
  mx__lock(&s->lock);
  pthread_cond_broadcast(&s->wake);
  mx__unlock(&s->lock);
}

/* "block (3,0,0), warp 1: kernel.mxs:12 in 'saxpy'" of the lowest block that has not ended. */
static char *where_text(const struct mx_queue *s) {
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
    char *mbarrier = mx__stuck_mbarrier(s->l, b, split),
         *place = file ? mx__format("%s:%u in", file, line) : mx__format("pc %u of", split->pc);
    char *text =
        mx__format("block (%u,%u,%u), warp %u: %s '%s'%s%s", b->ctaid[0], b->ctaid[1], b->ctaid[2], warp->number,
                   place ? place : "", fn->func->name, mbarrier ? "\n    " : "", mbarrier ? mbarrier : "");
    free(mbarrier), free(place);
    return text;
  }
  return NULL;
}

void mx__schedule(struct mx_launch *l, struct mx_pool **pool, const struct timespec *deadline, char **where) {
  struct mx_queue s = {.l = l, .pool = pool, .most = l->resident / l->cluster_blocks};
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
    pthread_cond_init(&s.helpers_changed, NULL);
    uint64_t few = (uint64_t)l->workers * FIRST_RESIDENT;
    s.allowed = l->cooperative || few > s.most ? s.most : (uint32_t)few;
    if (!mx__pool_run(pool, l->workers + l->helpers, work, &s, deadline, on_deadline))
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
    pthread_cond_destroy(&s.helpers_changed);
  }
  free(s.parked[0]);
  free(s.parked[1]);
  free(s.idle);
  free(s.all);
  free(s.returned);
}
