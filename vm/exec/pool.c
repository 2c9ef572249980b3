/* Worker threads; see pool.h. A job wakes all threads; the first ones to wake make its calls, one each, and the others
 * sleep again. A thread may take longer to wake than the job takes: when the caller's own part has ended, calls that no
 * thread has begun are withdrawn. By itself the system often wakes a thread on the caller's own processor, where it
 * does not run before the job is over, even if it slept on another one (an idle processor of a virtual machine counts
 * as busy). So the threads are excluded from the caller's processor while the caller stays on it and does not wait. */
#include "pool.h"

#include "vm/memory/lock.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

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
  uint64_t job;  /* counts jobs: a thread serves each once */
  uint32_t held; /* the locks that the thread which waits for the job holds */
  /* next: the call that the next thread makes, if it is below n; running: how many calls have not ended */
  uint32_t next, n, running;
  void (*fn)(void *, uint32_t);
  void *arg;
  bool quit;
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
  return p;
}

/* Workers take no signals: those belong to the program's own threads. */
static bool add_thread(struct mx_pool *p) {
  struct place *t = calloc(1, sizeof *t);
  if (!t) return false;
  t->away = -1;
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int failed = pthread_create(&t->thread, NULL, serve, p);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (failed) {
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
  const uint32_t first = deadline ? 0 : 1, held = mx__locks_held();
  if (n > first && !*pool) *pool = pool_new();
  struct mx_pool *p = *pool;
  while (p && p->nthreads < n - first && add_thread(p)) {}
  uint32_t helpers = p ? (p->nthreads < n - first ? p->nthreads : n - first) : 0;
  if (helpers) {
    mx__lock(&p->lock);
    p->next = first;
    p->n = first + helpers;
    p->running = helpers;
    p->fn = fn;
    p->arg = arg;
    p->held = held;
    p->job++;
    if (first) send_away(p, sched_getcpu());
    else let_back(p);
    pthread_cond_broadcast(&p->work);
    mx__unlock(&p->lock);
  }
  if (first) fn(arg, 0);
  if (helpers) {
    mx__lock(&p->lock);
    if (first) {
      helpers -= p->n - p->next;
      p->running -= p->n - p->next;
      p->n = p->next;
    }
    const struct timespec soon = mx__time_in(1000000);
    bool kept = first;
    while (p->running) {
      const struct timespec *until = deadline ? deadline : kept ? &soon : NULL;
      if (!until) mx__wait(&p->done, &p->lock);
      else if (!mx__wait_until(&p->done, &p->lock, until) && p->running) {
        if (!deadline) {
          let_back(p), kept = false;
          continue;
        }
        deadline = NULL;
        mx__unlock(&p->lock); /* late() runs without the lock: it may wait for a thread that needs the pool */
        late(arg);
        mx__lock(&p->lock);
      }
    }
    mx__unlock(&p->lock);
  }
  return first + helpers;
}

void mx__pool_free(struct mx_pool *p) {
  if (!p) return;
  mx__lock(&p->lock);
  p->quit = true;
  pthread_cond_broadcast(&p->work);
  mx__unlock(&p->lock);
  while (p->threads) {
    struct place *t = p->threads;
    p->threads = t->next;
    pthread_join(t->thread, NULL);
    free(t);
  }
  mx__lock_done(&p->lock);
  pthread_cond_destroy(&p->work);
  pthread_cond_destroy(&p->done);
  free(p);
}
