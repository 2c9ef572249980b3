/* The locks of the machine, and the one order in which a thread may hold several: their ranks, ascending. A thread
 * that works for another (pool.h) counts as holding what that one holds while it waits for it.
 *
 * 1. Who holds a lock takes only locks of higher ranks; of two with the same rank (two devices', say) never both.
 * 2. Who waits for a condition holds, besides its lock, only locks of lower ranks, and none that those need who are
 *    to bring it about.
 * 3. Functions of the program are called with none but RUN (streams' calls), or with OUTPUT (what kernels print) and
 *    lower ones: these may not call back.
 *
 * With MX_CHECK_LOCKS, which sanitizers' builds define, each thread knows what it holds, and a lock out of order ends
 * the process where it is asked for, whether or not another thread stands in the way this time. */
#ifndef MX_VM_LOCK_H
#define MX_VM_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define MX_LOCK_LIST(X) \
  X(MULTI)    /* multi.c: one launch on several devices at a time */ \
  X(RUN)      /* device.h: one launch at a time; held while it runs */ \
  X(MEMORY)   /* device.h: readers: launches and copies; writer: who frees, names, loads or resets */ \
  X(GROUP)    /* group.c: which devices are beside one another */ \
  X(REACHED)  /* device.h: readers: launches of other devices; writer: who frees, names or resets; see group.c */ \
  X(SCHEDULE) /* queue.c: which block is whose turn */ \
  X(POOL)     /* pool.c: a device's worker threads */ \
  X(TIER)     /* jit/runtime/tier.c: who gets compiled code */ \
  X(SESSION)  /* session.h: whether a session stands */ \
  X(LAUNCH)   /* launch.h: its trap and its statistics */ \
  X(PROFILE)  /* vm/profile: what launches have counted */ \
  X(OUTPUT)   /* output.h: while text goes to the program's functions */ \
  X(HEAP)     /* heap.c: memory that kernels allocate */ \
  X(PRINTED)  /* fifo.c: text that kernels print */ \
  X(QUEUES)   /* device.h: streams and events */ \
  X(DEVICE)   /* device.h: all else of a device; always for a short time */

enum mx_lock_rank {
#define X(name_) MX_LOCK_##name_,
  MX_LOCK_LIST(X)
#undef X
      MX_LOCK_COUNT
};

struct mx_lock {
  pthread_mutex_t mutex;
  enum mx_lock_rank rank;
};
struct mx_rwlock {
  pthread_rwlock_t lock;
  enum mx_lock_rank rank;
};

#ifdef MX_CHECK_LOCKS
void mx__lock_asked(enum mx_lock_rank rank); /* ends the process if the order does not allow this lock now */
void mx__lock_taken(enum mx_lock_rank rank);
void mx__lock_given(enum mx_lock_rank rank);
void mx__lock_waits(enum mx_lock_rank rank); /* a wait for a condition: this must be the highest lock that is held */
uint32_t mx__locks_held(void);               /* a bit for each rank */
void mx__locks_lent(uint32_t held);          /* this thread works for one that holds them; 0: no more */
#else
static inline void mx__lock_asked(enum mx_lock_rank rank) { (void)rank; }
static inline void mx__lock_taken(enum mx_lock_rank rank) { (void)rank; }
static inline void mx__lock_given(enum mx_lock_rank rank) { (void)rank; }
static inline void mx__lock_waits(enum mx_lock_rank rank) { (void)rank; }
static inline uint32_t mx__locks_held(void) { return 0; }
static inline void mx__locks_lent(uint32_t held) { (void)held; }
#endif

static inline void mx__lock_init(struct mx_lock *l, enum mx_lock_rank rank) {
  pthread_mutex_init(&l->mutex, NULL);
  l->rank = rank;
}
static inline void mx__lock_done(struct mx_lock *l) { pthread_mutex_destroy(&l->mutex); }
static inline void mx__lock(struct mx_lock *l) {
  mx__lock_asked(l->rank);
  pthread_mutex_lock(&l->mutex);
  mx__lock_taken(l->rank);
}
static inline bool mx__lock_try(struct mx_lock *l) { /* waits for nobody: any order will do */
  if (pthread_mutex_trylock(&l->mutex)) return false;
  mx__lock_taken(l->rank);
  return true;
}
static inline void mx__unlock(struct mx_lock *l) {
  mx__lock_given(l->rank);
  pthread_mutex_unlock(&l->mutex);
}

/* Conditions whose times are CLOCK_MONOTONIC's. */
static inline void mx__condition_init(pthread_cond_t *c) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(c, &monotonic);
  pthread_condattr_destroy(&monotonic);
}
static inline struct timespec mx__time_in(long nanoseconds) { /* less than a second */
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  if ((t.tv_nsec += nanoseconds) >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
  return t;
}
static inline bool mx__time_before(const struct timespec *a, const struct timespec *b) {
  return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}
static inline void mx__wait(pthread_cond_t *c, struct mx_lock *l) {
  mx__lock_waits(l->rank);
  pthread_cond_wait(c, &l->mutex);
  mx__lock_taken(l->rank);
}
/* False: the time passed first. */
static inline bool mx__wait_until(pthread_cond_t *c, struct mx_lock *l, const struct timespec *until) {
  mx__lock_waits(l->rank);
  const bool in_time = !pthread_cond_timedwait(c, &l->mutex, until);
  mx__lock_taken(l->rank);
  return in_time;
}

static inline void mx__rwlock_init(struct mx_rwlock *l, enum mx_lock_rank rank) {
  pthread_rwlock_init(&l->lock, NULL);
  l->rank = rank;
}
static inline void mx__rwlock_done(struct mx_rwlock *l) { pthread_rwlock_destroy(&l->lock); }
static inline void mx__lock_read(struct mx_rwlock *l) {
  mx__lock_asked(l->rank);
  pthread_rwlock_rdlock(&l->lock);
  mx__lock_taken(l->rank);
}
static inline void mx__lock_write(struct mx_rwlock *l) {
  mx__lock_asked(l->rank);
  pthread_rwlock_wrlock(&l->lock);
  mx__lock_taken(l->rank);
}
static inline bool mx__lock_try_write(struct mx_rwlock *l) {
  if (pthread_rwlock_trywrlock(&l->lock)) return false;
  mx__lock_taken(l->rank);
  return true;
}
static inline void mx__rwunlock(struct mx_rwlock *l) {
  mx__lock_given(l->rank);
  pthread_rwlock_unlock(&l->lock);
}

#endif
