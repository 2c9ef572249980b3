/* When kernels get compiled code.
 *
 * A kernel starts in the interpreter. One thread of the device (the "manager") watches the launch that runs: what it will
 * still need, seen from how far it came, and what the kernel has cost so far, is at stake; when that exceeds what a compile
 * is expected to cost (cost.c), the compiler is started, and its code is attached while warps run. So at worst the wait for
 * compiled code doubles what a kernel costs, however long it runs. Code in the cache is taken in at once. MX_JIT_ON does all
 * this before the launch.
 *
 * jit->lock guards everything here; a kernel's state moves NEW -> BUSY -> READY or FAILED. */
#include "jit.h"

#include "vm/attach.h"
#include "vm/module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_LOOK 0.001   /* seconds into a launch */
#define LOOK_AGAIN 1000000 /* nanoseconds */

enum state { NEW, BUSY, READY, FAILED };
struct mx_jit_kernel {
  enum state state;
  bool looked;                /* into the cache */
  double words;               /* instructions that a compile has to read */
  double spent;               /* seconds of launches without compiled code */
  double predicted;           /* seconds that compiling it is, or was, expected to take */
  struct mx_jit_object *object;
  char *note;                 /* why there is no code */
  double compile_ms;          /* of the compile, until a launch's statistics have it */
  uint64_t hits, misses;
};

struct mx_jit {
  pthread_mutex_t lock;
  pthread_cond_t move;        /* to the manager: a launch began or ended, or it is to end itself */
  pthread_cond_t done;        /* from it: a compile ended */
  pthread_t manager;
  bool running, quit;
  mx_kernel *kernel;          /* whose launch is running, NULL: none */
  struct mx_launch *launch;
  double began;
  mx_kernel *compiling;
  atomic_int stop;            /* the compile in progress is not wanted any more */
  char *compiler, *cache;     /* found once */
  bool searched;
  struct mx_jit_costs costs;
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
/* What a compile of k has to read: all that it can reach. */
static double words_of(const mx_kernel *k) {
  double words = 0;
  for (uint32_t f = 0; f < k->prep->nfuncs; f++)
    if (k->prep->funcs[f].insns) words += k->prep->funcs[f].ninsns;
  return words;
}

static bool attach(mx_kernel *k, int fd) {
  struct mx_jit_object *o = mx__jit_load(fd, k->prep->nfuncs);
  if (!o) return false;
  k->jit->object = o;
  for (uint32_t f = 0; f < k->prep->nfuncs; f++) {
    struct mx_jit_code *code = mx__jit_code(o, f);
    if (code && k->prep->funcs[f].insns) mx__jit_attach(&k->prep->funcs[f], code);
  }
  return true;
}

static struct mx_jit_job job_of(const struct mx_jit *j, const mx_kernel *k) {
  return (struct mx_jit_job){.module = k->module->bytes, .module_size = k->module->size, .kernel = k->func,
                             .kernel_name = k->module->image->image.funcs[k->func].name, .level = mx__jit_level(), .compiler = j->compiler, .cache = j->cache};
}

/* Takes code in from the cache. True: the kernel has code now. j->lock is held. */
static bool from_cache(struct mx_jit *j, mx_kernel *k) {
  struct mx_jit_kernel *jk = k->jit;
  if (jk->looked) return false;
  jk->looked = true;
  struct mx_jit_job job = job_of(j, k);
  if (!j->cache || !mx__jit_key_make(&job)) return false;
  const int fd = mx__jit_cache_find(&job);
  free(job.key.text);
  if (fd >= 0 && attach(k, fd)) {
    jk->hits++;
    jk->state = READY;
    return true;
  }
  jk->misses++;
  return false;
}

/* Compiles k; j->lock is held, and given up meanwhile. Nobody else compiles. What fails in the background becomes a note. */
static void compile(struct mx_jit *j, mx_kernel *k, bool in_background) {
  struct mx_jit_kernel *jk = k->jit;
  struct mx_device *d = k->module->device;
  jk->state = BUSY;
  j->compiling = k;
  atomic_store(&j->stop, 0);
  struct mx_jit_job job = job_of(j, k);
  pthread_mutex_unlock(&j->lock);
  const double begin = now();
  char *why = NULL, *unkept = NULL;
  int fd = -1;
  if (!job.compiler) why = strdup("mx-jitc was not found (beside the program or library, in $PATH, by $MX_JITC or the device's options)");
  else if (mx__jit_key_make(&job)) fd = mx__jit_compile(&job, &j->stop, &why);
  const double took = now() - begin;
  if (fd >= 0) fd = mx__jit_cache_keep(&job, fd, &unkept);
  free(job.key.text);
  pthread_mutex_lock(&j->lock);
  j->compiling = NULL;
  const bool good = fd >= 0 && attach(k, fd);
  jk->state = good ? READY : FAILED;
  if (good) {
    jk->compile_ms += took * 1e3;
    mx__jit_costs_learn(&j->costs, j->cache, jk->words, took);
    if (unkept) mx__device_note(d, "%s", unkept);
  } else {
    jk->note = why ? why : strdup("the compiler's result does not fit this library");
    if (in_background && !atomic_load(&j->stop)) mx__device_note(d, "kernel '%s' stays in the interpreter: %s", job.kernel_name, jk->note ? jk->note : "out of memory");
    why = NULL;
  }
  free(why);
  free(unkept);
  pthread_cond_broadcast(&j->done);
}

/* Seconds that the running launch will still take, from how far it came; what it has taken at least. */
static double remaining(const struct mx_jit *j) {
  const double ran = now() - j->began;
  const uint64_t started = atomic_load_explicit(&j->launch->started, memory_order_relaxed), all = j->launch->nblocks;
  const uint64_t ended = started > j->launch->workers ? started - j->launch->workers : 0;
  return !ended ? ran : ran * (double)(all - started) / (double)ended;
}
static bool is_worth_it(const struct mx_jit *j, const mx_kernel *k) {
  const double ran = now() - j->began;
  return ran >= FIRST_LOOK && k->jit->spent + ran + remaining(j) > k->jit->predicted;
}

static void *manage(void *arg) {
  struct mx_jit *j = arg;
  pthread_mutex_lock(&j->lock);
  while (!j->quit) {
    mx_kernel *k = j->kernel;
    if (!k || k->jit->state != NEW) {
      pthread_cond_wait(&j->move, &j->lock);
      continue;
    }
    if (is_worth_it(j, k)) {
      compile(j, k, true);
      continue;
    }
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += LOOK_AGAIN;
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    pthread_cond_timedwait(&j->move, &j->lock, &t);
  }
  pthread_mutex_unlock(&j->lock);
  return NULL;
}

static struct mx_jit *make(struct mx_device *d) {
  if (d->jit) return d->jit;
  struct mx_jit *j = calloc(1, sizeof *j);
  if (!j) return NULL;
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_mutex_init(&j->lock, NULL);
  pthread_cond_init(&j->move, &attr);
  pthread_cond_init(&j->done, NULL);
  pthread_condattr_destroy(&attr);
  return d->jit = j;
}

static mx_status demanded(mx_kernel *k, struct mx_launch *l, const char *why) {
  if (l->jit != MX_JIT_ON) return MX_OK;
  return mx__fail(k->module->device, MX_JIT_FAILURE, "kernel '%s': no compiled code: %s", l->image->funcs[l->func].name, why ? why : "out of memory");
}

mx_status mx__tier_begin(mx_kernel *k, struct mx_launch *l) {
  struct mx_device *d = k->module->device;
  if (l->jit == MX_JIT_OFF) return MX_OK;
  if (!mx__jit_level()) return demanded(k, l, "there is none for CPUs below x86-64-v2, or with $MX_LEVEL");
  struct mx_jit *j = make(d);
  if (!k->jit && !(k->jit = calloc(1, sizeof *k->jit))) return demanded(k, l, NULL);
  if (!j) return demanded(k, l, NULL);
  struct mx_jit_kernel *jk = k->jit;
  mx_status s = MX_OK;
  pthread_mutex_lock(&j->lock);
  if (!j->searched) {
    j->searched = true;
    j->compiler = mx__jit_find_compiler(d->jit_compiler);
    char *why;
    j->cache = mx__jit_cache_dir(d->cache_dir, &why);
    if (why) mx__device_note(d, "%s", why);
    free(why);
    mx__jit_costs_read(&j->costs, j->cache);
  }
  if (jk->state == NEW) {
    jk->words = words_of(k);
    jk->predicted = mx__jit_costs_predict(&j->costs, jk->words);
  }
  if (jk->state == NEW) from_cache(j, k);
  if (l->jit == MX_JIT_ON) {
    while (jk->state == BUSY || (jk->state == NEW && j->compiling)) pthread_cond_wait(&j->done, &j->lock);
    if (jk->state == NEW) compile(j, k, false);
    if (jk->state == FAILED) s = demanded(k, l, jk->note);
  } else if (jk->state == NEW && !j->running && !j->quit) {
    j->running = !pthread_create(&j->manager, NULL, manage, j);
  }
  if (s == MX_OK) {
    j->kernel = k;
    j->launch = l;
    j->began = now();
    if (jk->state == NEW) pthread_cond_signal(&j->move);
  }
  pthread_mutex_unlock(&j->lock);
  return s;
}

static mx_tier tier_of(const struct mx_jit_kernel *k) {
  switch (k->state) {
    case NEW: return MX_TIER_WAITING;
    case BUSY: return MX_TIER_COMPILING;
    case FAILED: return MX_TIER_FAILED;
    default: return k->hits ? MX_TIER_CACHED : k->compile_ms > 0 ? MX_TIER_COMPILED : MX_TIER_READY;
  }
}

void mx__tier_end(mx_kernel *k, struct mx_launch *l) {
  struct mx_jit *j = k->module->device->jit;
  if (l->jit == MX_JIT_OFF || !j || !k->jit) return;
  pthread_mutex_lock(&j->lock);
  struct mx_jit_kernel *jk = k->jit;
  if (jk->state != READY) jk->spent += now() - j->began;
  l->stats.tier = tier_of(jk);
  l->stats.interpreted_ms = jk->spent * 1e3;
  l->stats.predicted_compile_ms = jk->predicted * 1e3;
  l->stats.compile_ms = jk->compile_ms;
  l->stats.cache_hits = jk->hits;
  l->stats.cache_misses = jk->misses;
  jk->compile_ms = 0;
  jk->hits = jk->misses = 0;
  j->kernel = NULL;
  j->launch = NULL;
  pthread_mutex_unlock(&j->lock);
}

void mx__tier_forget(mx_module *m) {
  struct mx_jit *j = m->device ? m->device->jit : NULL;
  for (size_t i = 0; i < m->nkernels; i++) {
    mx_kernel *k = &m->kernels[i];
    if (!k->jit) continue;
    if (j) {
      pthread_mutex_lock(&j->lock);
      while (j->compiling == k) {
        atomic_store(&j->stop, 1);
        pthread_cond_wait(&j->done, &j->lock);
      }
      pthread_mutex_unlock(&j->lock);
    }
    mx__jit_unload(k->jit->object);
    free(k->jit->note);
    free(k->jit);
    k->jit = NULL;
  }
}

void mx__tier_done(struct mx_device *d) {
  struct mx_jit *j = d->jit;
  if (!j) return;
  pthread_mutex_lock(&j->lock);
  j->quit = true;
  atomic_store(&j->stop, 1);
  pthread_cond_signal(&j->move);
  const bool running = j->running;
  pthread_mutex_unlock(&j->lock);
  if (running) pthread_join(j->manager, NULL);
  pthread_mutex_destroy(&j->lock);
  pthread_cond_destroy(&j->move);
  pthread_cond_destroy(&j->done);
  free(j->compiler);
  free(j->cache);
  free(j);
  d->jit = NULL;
}
