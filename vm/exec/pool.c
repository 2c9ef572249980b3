/* Worker threads; see pool.h. A job wakes all; the first ones to come make its calls, one each, the others sleep on. A thread
 * may take longer to wake than the job does: when the caller's own part has ended, calls that nobody has begun are taken back.
 * Left alone, the system often wakes a thread on the caller's own processor, where it gets no turn before the job is over, even if it
 * slept elsewhere (a virtual machine's processor that sleeps counts as taken): so all are kept from there, as long as the caller stays
 * on it and does not wait for them. */
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

struct place {
  pthread_t thread;
  int away;        /* the processor of `usual` that it is kept from; -1: none */
  cpu_set_t usual;
  struct place *next;
};

struct mx_pool {
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  struct place *threads;
  uint32_t nthreads;
  uint64_t job;               /* counts jobs: a thread serves each once */
  uint32_t next, n, running;  /* the call that the next thread makes, while that is below n; calls that have not ended */
  void (*fn)(void *, uint32_t);
  void *arg;
  bool quit;
};

/* May run again everywhere, that is. */
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
  pthread_mutex_lock(&pool->lock);
  for (;;) {
    while (!pool->quit && (pool->job == seen || pool->next == pool->n)) pthread_cond_wait(&pool->work, &pool->lock);
    if (pool->quit) break;
    seen = pool->job;
    const uint32_t k = pool->next++;
    pthread_mutex_unlock(&pool->lock);
    pool->fn(pool->arg, k);
    pthread_mutex_lock(&pool->lock);
    if (!--pool->running) pthread_cond_signal(&pool->done);
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

static struct mx_pool *pool_new(void) {
  struct mx_pool *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->work, NULL);
  pthread_cond_init(&p->done, &monotonic);
  pthread_condattr_destroy(&monotonic);
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
  pthread_mutex_lock(&p->lock);
  let_back(p);
  pthread_mutex_unlock(&p->lock);
}

static struct timespec in_a_millisecond(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  if ((t.tv_nsec += 1000000) >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
  return t;
}
uint32_t mx__pool_run(struct mx_pool **pool, uint32_t n, void (*fn)(void *, uint32_t), void *arg,
                      const struct timespec *deadline, void (*late)(void *)) {
  uint32_t first = deadline ? 0 : 1;
  if (n > first && !*pool) *pool = pool_new();
  struct mx_pool *p = *pool;
  while (p && p->nthreads < n - first && add_thread(p)) {}
  uint32_t helpers = p ? (p->nthreads < n - first ? p->nthreads : n - first) : 0;
  if (helpers) {
    pthread_mutex_lock(&p->lock);
    p->next = first;
    p->n = first + helpers;
    p->running = helpers;
    p->fn = fn;
    p->arg = arg;
    p->job++;
    if (first) send_away(p, sched_getcpu());
    else let_back(p);
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
  }
  if (first) fn(arg, 0);
  if (helpers) {
    pthread_mutex_lock(&p->lock);
    if (first) {
      helpers -= p->n - p->next;
      p->running -= p->n - p->next;
      p->n = p->next;
    }
    const struct timespec soon = in_a_millisecond();
    bool kept = first;
    while (p->running) {
      const struct timespec *until = deadline ? deadline : kept ? &soon : NULL;
      if (!until) pthread_cond_wait(&p->done, &p->lock);
      else if (pthread_cond_timedwait(&p->done, &p->lock, until) && p->running) {
        if (deadline) late(arg), deadline = NULL;
        else let_back(p), kept = false;
      }
    }
    pthread_mutex_unlock(&p->lock);
  }
  return first + helpers;
}

void mx__pool_free(struct mx_pool *p) {
  if (!p) return;
  pthread_mutex_lock(&p->lock);
  p->quit = true;
  pthread_cond_broadcast(&p->work);
  pthread_mutex_unlock(&p->lock);
  while (p->threads) {
    struct place *t = p->threads;
    p->threads = t->next;
    pthread_join(t->thread, NULL);
    free(t);
  }
  pthread_mutex_destroy(&p->lock);
  pthread_cond_destroy(&p->work);
  pthread_cond_destroy(&p->done);
  free(p);
}
