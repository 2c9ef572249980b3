/* Worker threads; see pool.h. A job wakes all threads; the first ones to wake make its calls, one each, and the others
 * sleep again. A thread may take longer to wake than the job takes: when the caller's own part has ended, calls that no
 * thread has begun are withdrawn. By itself the system often wakes a thread on the caller's own processor, where it
 * does not run before the job is over, even if it slept on another one (an idle processor of a virtual machine counts
 * as busy). So the threads are excluded from the caller's processor while the caller stays on it and does not wait.
 *
 * To sleep and to be woken takes longer than most waits: a caller looks for a while whether the last calls have ended
 * before it sleeps, and a thread looks for the next job if the last one has come as soon. */
#include "pool.h"

#include "vm/memory/lock.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#define AWAKE 50000 /* nanoseconds for which a thread that waits stays awake */

struct place {
  pthread_t thread;
  int away; /* the processor of `usual` that it must not use; -1: none */
  cpu_set_t usual;
  struct place *next;
};

struct mx_pool {
  struct mx_lock lock;
  pthread_cond_t work, done;
  struct place *threads;
  uint32_t nthreads;
  _Atomic uint64_t job; /* counts jobs: a thread serves each once */
  uint32_t held;        /* the locks that the thread which waits for the job holds */
  /* next: the call that the next thread makes, if it is below n; running: how many calls have not ended */
  uint32_t next, n;
  _Atomic uint32_t running;
  struct timespec soon; /* a job that comes before it has come soon after the last one */
  bool comes_soon;      /* the last one has */
  void (*fn)(void *, uint32_t);
  void *arg;
  _Atomic bool quit;
  struct {
    pthread_t thread;
    bool made, armed; /* armed: the job that runs has a deadline */
    bool sounding;    /* late() is being called */
    bool untimed;     /* sleeps until `wake`, else until `until` at the latest */
    pthread_cond_t wake;
    struct timespec until, deadline;
    void (*late)(void *);
  } watch;
};

/* Allows the thread all its processors again. */
static void let_back(struct mx_pool *p) {
  for (struct place *t = p->threads; t; t = t->next) {
    if (t->away >= 0) pthread_setaffinity_np(t->thread, sizeof t->usual, &t->usual);
    t->away = -1;
  }
}
static void send_away(struct mx_pool *p, int cpu) {
  for (struct place *t = p->threads; t; t = t->next) {
    if (t->away == cpu || (t->away < 0 && pthread_getaffinity_np(t->thread, sizeof t->usual, &t->usual))) continue;
    cpu_set_t others = t->usual;
    CPU_CLR(cpu, &others);
    if (CPU_COUNT(&others) && !pthread_setaffinity_np(t->thread, sizeof others, &others)) t->away = cpu;
  }
}

/* The pool is locked, and is not while this looks for what it waits for: another job than `seen`, or, if that is 0,
 * that all calls end. Others on this processor go first. */
static void stay_awake(struct mx_pool *p, uint64_t seen) {
  const struct timespec until = mx__time_in(AWAKE);
  struct timespec now = mx__time_in(0);
  mx__unlock(&p->lock);
  for (unsigned k = 1; (seen ? p->job == seen && !p->quit : p->running) && mx__time_before(&now, &until); k++) {
    if (k % 64 == 0) sched_yield();
    now = mx__time_in(0);
  }
  mx__lock(&p->lock);
}

static void *serve(void *p) {
  struct mx_pool *pool = p;
  uint64_t seen = 0;
  mx__lock(&pool->lock);
  for (;;) {
    while (!pool->quit && (pool->job == seen || pool->next == pool->n)) mx__wait(&pool->work, &pool->lock);
    if (pool->quit) break;
    seen = pool->job;
    const uint32_t k = pool->next++, held = pool->held;
    mx__unlock(&pool->lock);
    mx__locks_lent(held);
    pool->fn(pool->arg, k);
    mx__locks_lent(0);
    mx__lock(&pool->lock);
    if (!--pool->running) pthread_cond_signal(&pool->done);
    if (pool->comes_soon && pool->job == seen) stay_awake(pool, seen);
  }
  mx__unlock(&pool->lock);
  return NULL;
}

static void *watch(void *p) {
  struct mx_pool *pool = p;
  mx__lock(&pool->lock);
  while (!pool->quit) {
    const struct timespec now = mx__time_in(0);
    if (pool->watch.armed && !mx__time_before(&now, &pool->watch.deadline)) {
      const uint32_t held = pool->held;
      pool->watch.armed = false;
      pool->watch.sounding = true;
      mx__unlock(&pool->lock); /* late() may wait for a thread that needs the pool */
      mx__locks_lent(held);
      pool->watch.late(pool->arg);
      mx__locks_lent(0);
      mx__lock(&pool->lock);
      pool->watch.sounding = false;
      pthread_cond_signal(&pool->done);
    } else if (pool->watch.armed) {
      pool->watch.until = pool->watch.deadline;
      (void)mx__wait_until(&pool->watch.wake, &pool->lock, &pool->watch.until);
    } else {
      pool->watch.untimed = true;
      mx__wait(&pool->watch.wake, &pool->lock);
      pool->watch.untimed = false;
    }
  }
  mx__unlock(&pool->lock);
  return NULL;
}

static struct mx_pool *pool_new(void) {
  struct mx_pool *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  mx__lock_init(&p->lock, MX_LOCK_POOL);
  pthread_cond_init(&p->work, NULL);
  mx__condition_init(&p->done);
  mx__condition_init(&p->watch.wake);
  return p;
}

/* The pool's threads take no signals: those belong to the program's own threads. */
static bool begin_thread(pthread_t *thread, void *(*main)(void *), struct mx_pool *p) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  const int failed = pthread_create(thread, NULL, main, p);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return !failed;
}

static bool add_thread(struct mx_pool *p) {
  struct place *t = calloc(1, sizeof *t);
  if (!t) return false;
  t->away = -1;
  if (!begin_thread(&t->thread, serve, p)) {
    free(t);
    return false;
  }
  t->next = p->threads;
  p->threads = t;
  p->nthreads++;
  return true;
}

void mx__pool_everywhere(struct mx_pool *p) {
  if (!p) return;
  mx__lock(&p->lock);
  let_back(p);
  mx__unlock(&p->lock);
}

uint32_t mx__pool_run(struct mx_pool **pool, uint32_t n, void (*fn)(void *, uint32_t), void *arg,
                      const struct timespec *deadline, void (*late)(void *)) {
  const uint32_t held = mx__locks_held();
  if ((n > 1 || deadline) && !*pool) *pool = pool_new();
  struct mx_pool *p = *pool;
  if (deadline && !(p && (p->watch.made || (p->watch.made = begin_thread(&p->watch.thread, watch, p))))) return 0;
  while (p && p->nthreads < n - 1 && add_thread(p)) {}
  const uint32_t helpers = p ? (p->nthreads < n - 1 ? p->nthreads : n - 1) : 0;
  if (helpers || deadline) {
    mx__lock(&p->lock);
    const struct timespec now = mx__time_in(0);
    p->comes_soon = mx__time_before(&now, &p->soon);
    p->next = 1;
    p->n = 1 + helpers;
    p->running = helpers;
    p->fn = fn;
    p->arg = arg;
    p->held = held;
    p->job++;
    if (deadline) {
      p->watch.armed = true;
      p->watch.deadline = *deadline;
      p->watch.late = late;
      if (p->watch.untimed || mx__time_before(deadline, &p->watch.until)) pthread_cond_signal(&p->watch.wake);
    }
    if (helpers) {
      send_away(p, sched_getcpu());
      pthread_cond_broadcast(&p->work);
    }
    mx__unlock(&p->lock);
  }
  fn(arg, 0);
  uint32_t made = 1;
  if (helpers || deadline) {
    mx__lock(&p->lock);
    p->running -= p->n - p->next;
    p->n = p->next;
    made = p->n;
    if (p->running) stay_awake(p, 0);
    const struct timespec soon = mx__time_in(1000000);
    bool kept = true;
    while (p->running) {
      if (!kept) mx__wait(&p->done, &p->lock);
      else if (!mx__wait_until(&p->done, &p->lock, &soon) && p->running) let_back(p), kept = false;
    }
    p->watch.armed = false;
    while (p->watch.sounding) mx__wait(&p->done, &p->lock);
    p->soon = mx__time_in(AWAKE);
    mx__unlock(&p->lock);
  }
  return made;
}

void mx__pool_free(struct mx_pool *p) {
  if (!p) return;
  mx__lock(&p->lock);
  p->quit = true;
  pthread_cond_broadcast(&p->work);
  pthread_cond_signal(&p->watch.wake);
  mx__unlock(&p->lock);
  if (p->watch.made) pthread_join(p->watch.thread, NULL);
  while (p->threads) {
    struct place *t = p->threads;
    p->threads = t->next;
    pthread_join(t->thread, NULL);
    free(t);
  }
  mx__lock_done(&p->lock);
  pthread_cond_destroy(&p->work);
  pthread_cond_destroy(&p->done);
  pthread_cond_destroy(&p->watch.wake);
  free(p);
}
