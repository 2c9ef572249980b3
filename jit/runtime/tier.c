/* When kernels get compiled code.
 *
 * A kernel starts in the interpreter. One thread of the device (the "manager") watches the running launch and estimates
 * the interpreter time that compiling could save: what the launch will still take, judged by its progress, plus what
 * the kernel has cost so far. When that exceeds what a compile is expected to cost (cost.c), the compiler is started,
 * and its code is attached while warps run. So at worst the wait for compiled code doubles what a kernel costs, however
 * long it runs. A launch may be too short to be looked at: when a kernel's launches have cost as much together, it is
 * compiled too. Code in the cache is loaded at once. MX_JIT_ON does all this before the launch.
 *
 * Compiled code is not always faster. What an instruction costs is measured on both engines, in processor time and with
 * all that entering and leaving takes, until enough has been seen; where compiled code loses, the interpreter has the
 * kernel again. A kernel whose code was there from the start is interpreted for a moment, once, to know. Not with
 * MX_JIT_ON: that is a demand.
 *
 * jit->lock guards everything here; a kernel's state moves NEW -> BUSY -> READY or FAILED. */
#include "jit.h"

#include "vm/exec/attach.h"
#include "vm/exec/hooks.h"
#include "vm/load/module.h"
#include "vm/memory/lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_LOOK 0.001   /* seconds into a launch */
#define LOOK_AGAIN 1000000 /* nanoseconds */
#define ENOUGH 0.008       /* seconds of an engine's time, for each worker, that suffice as a measurement of it */
#define TRIAL 0.1          /* seconds of compiled code before the interpreter is tried, if nothing is known of it */
#define CLEARLY 1.15       /* an engine counts as slower if it takes so many times as long */

enum state { NEW, BUSY, READY, FAILED };
struct mx_jit_kernel {
  mx_kernel *kernel;
  struct mx_prepared *prep; /* what the code is attached to */
  char *stops;              /* of a session; NULL: it is the kernel's own code */
  unsigned counts; /* as in struct mx_launch, and check_list as well: what its code counts, and lets a checker see */
  const char *check_list; /* the prepared code's */
  unsigned halved;        /* how often a warp's lanes are halved in its code, for blocks with few threads */
  uint32_t rows;          /* as in struct mx_launch */
  mx_body leave, enter;   /* of a session: bodies of instructions without and with an entry */
  bool wanted;            /* a launch that may use it runs */
  enum state state;
  bool looked;      /* into the cache */
  bool put_off;     /* a pause has stopped its compile; its next compile is not stopped by pauses, so that one ends */
  double words;     /* instructions that a compile has to read */
  double spent;     /* seconds of launches without compiled code */
  double predicted; /* seconds that compiling it is, or was, expected to take */
  struct mx_jit_object *object;
  char *note; /* why there is no code */
  struct mx_jit_engine {
    double seconds, steps;
  } engine[2];       /* what has been measured: interpreter, compiled code */
  double enough;     /* seconds of either that suffice; more with more workers, which publish their steps later */
  bool slower;       /* compiled code is */
  double compile_ms; /* of the compile, until a launch's statistics have it */
  uint64_t hits, misses;
};

struct mx_jit {
  struct mx_lock lock;
  pthread_cond_t move; /* to the manager: a launch began or ended, or it is to end itself */
  pthread_cond_t done; /* from it: a compile ended */
  pthread_t manager;
  bool running, quit;
  struct mx_jit_kernel *of_launch; /* the kernel of the running launch; NULL: none */
  struct mx_jit_kernel *due;       /* to be compiled, whether it is running or not; NULL: none */
  struct mx_launch *launch;
  double began;
  struct {
    bool is;
    int engine;
    double seconds;
    uint64_t steps;
  } mark;                 /* where the measurement in progress began */
  uint64_t blocks_before; /* of the launch, started before that */
  struct mx_jit_kernel *compiling;
  atomic_int stop;        /* the compile in progress is not wanted any more */
  char *compiler, *cache; /* found once */
  bool searched;
  struct mx_jit_costs costs;
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static double processor_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- which engine is faster ------------------------------------------------------------------------------------*/
static double cost_of(const struct mx_jit_engine *e) { return e->steps > 0 ? e->seconds / e->steps : 0; }
static bool is_known(const struct mx_jit_kernel *jk) {
  return jk->engine[0].seconds >= jk->enough && jk->engine[1].seconds >= jk->enough;
}
/* Whether there is something to find out about the kernel. */
static bool may_choose(const struct mx_jit_kernel *jk, const struct mx_launch *l) {
  return l->jit == MX_JIT_AUTO && !l->jit_stress && !l->debug && jk->state == READY;
}
static void mark(struct mx_jit *j) {
  const struct mx_jit_kernel *jk = j->of_launch;
  j->mark.is = jk && j->launch->jit == MX_JIT_AUTO && !j->launch->debug && !is_known(jk);
  if (!j->mark.is) return;
  j->mark.engine = jk->state == READY && !atomic_load(&j->launch->interpreted);
  j->mark.seconds = processor_time();
  j->mark.steps = atomic_load_explicit(&j->launch->steps, memory_order_relaxed);
}
/* What has happened since the mark counts for the engine that ran then; a new measurement begins. */
static void measure(struct mx_jit *j) {
  if (j->mark.is && j->of_launch) {
    struct mx_jit_engine *e = &j->of_launch->engine[j->mark.engine];
    e->seconds += processor_time() - j->mark.seconds;
    e->steps += (double)(atomic_load_explicit(&j->launch->steps, memory_order_relaxed) - j->mark.steps);
  }
  mark(j);
}
/* The engine for the launch that runs, by what is known. */
static void choose(struct mx_jit *j) {
  struct mx_jit_kernel *jk = j->of_launch;
  if (!jk || !may_choose(jk, j->launch)) return;
  if (is_known(jk)) jk->slower = cost_of(&jk->engine[1]) > CLEARLY * cost_of(&jk->engine[0]);
  const bool trial = jk->engine[1].seconds >= TRIAL && jk->engine[0].seconds < jk->enough;
  const bool interpreted = jk->slower || trial;
  if (interpreted == atomic_load(&j->launch->interpreted)) return;
  measure(j);
  atomic_store(&j->launch->interpreted, interpreted);
  mark(j);
}

/* What a compile of k has to read: all that it can reach. */
static double words_of(const struct mx_jit_kernel *jk) {
  double words = 0;
  for (uint32_t f = 0; f < jk->prep->nfuncs; f++)
    if (jk->prep->funcs[f].insns) words += jk->prep->funcs[f].ninsns;
  return words;
}

static void attach(struct mx_jit_kernel *jk) {
  for (uint32_t f = 0; f < jk->prep->nfuncs; f++) {
    struct mx_jit_code *code = mx__jit_code(jk->object, f);
    if (code && jk->prep->funcs[f].insns &&
        mx__jit_inplace_make(code, &jk->prep->funcs[f], jk->prep->lanes, jk->prep->level))
      mx__jit_attach(&jk->prep->funcs[f], code, jk->enter);
  }
}
static void adopt(struct mx_jit_kernel *jk, struct mx_jit_object *object) {
  jk->object = object;
  if (jk->wanted) attach(jk);
  jk->state = READY;
}

static struct mx_jit_job job_of(const struct mx_jit *j, const struct mx_jit_kernel *jk) {
  const mx_kernel *k = jk->kernel;
  return (struct mx_jit_job){.module = k->module->bytes,
                             .module_size = k->module->size,
                             .kernel = k->func,
                             .stops = jk->stops,
                             .counts = jk->counts,
                             .check_list = jk->check_list,
                             .lanes = jk->halved ? jk->prep->lanes >> jk->halved : 0,
                             .kernel_name = k->module->image->image.funcs[k->func].name,
                             .rows = jk->rows,
                             .level = mx__jit_level(),
                             .compiler = j->compiler,
                             .cache = j->cache};
}

/* Takes code in from the cache. True: the kernel has code now. j->lock is held. */
static bool from_cache(struct mx_jit *j, struct mx_jit_kernel *jk) {
  if (jk->looked) return false;
  jk->looked = true;
  struct mx_jit_job job = job_of(j, jk);
  if (!j->cache || !mx__jit_key_make(&job)) return false;
  const int fd = mx__jit_cache_find(&job);
  free(job.key.text);
  char *why = NULL;
  struct mx_jit_object *object = fd >= 0 ? mx__jit_load(fd, jk->prep->nfuncs, &why) : NULL;
  free(why);
  if (object) adopt(jk, object), jk->hits++;
  else jk->misses++;
  return object;
}

/* Whether a launch that waits for its code must end before it has run at all: its time limit is over, it is
 * interrupted, or, in a session, paused. */
static bool is_over(struct mx_launch *l, const struct mx_jit_kernel *jk) {
  const struct timespec *end = l->deadline;
  const struct timespec now = mx__time_in(0);
  if (end && !mx__time_before(&now, end)) mx__launch_stop(l, MX_STOP_TIME);
  const int stop = atomic_load(l->stop);
  return stop == MX_STOP_TIME || stop == MX_STOP_INTERRUPT || (l->debug && !jk->put_off && l->hooks->paused(l->debug));
}
/* Who waits for a compile. */
struct request {
  struct mx_jit *j;
  const struct mx_jit_kernel *jk;
  struct mx_launch *waits; /* NULL: none, it is made in the background */
};
static bool is_unwanted(void *user) {
  const struct request *w = user;
  return atomic_load(&w->j->stop) || (w->waits && is_over(w->waits, w->jk));
}

/* Compiles, for a launch that waits for it, or in the background (waits NULL): what fails there becomes a note. j->lock
 * is held, and given up meanwhile. Nobody else compiles. */
static void compile(struct mx_jit *j, struct mx_jit_kernel *jk, struct mx_launch *waits) {
  struct mx_device *d = jk->kernel->module->device;
  jk->state = BUSY;
  j->compiling = jk;
  atomic_store(&j->stop, 0);
  struct mx_jit_job job = job_of(j, jk);
  mx__unlock(&j->lock);
  const double begin = now();
  char *why = NULL, *unkept = NULL;
  struct request request = {j, jk, waits};
  struct mx_jit_object *object = NULL;
  int fd = -1;
  if (!job.compiler)
    why =
        strdup("mx-jitc was not found (beside the program or library, in $PATH, by $MX_JITC or the device's options)");
  else if (mx__jit_key_make(&job)) fd = mx__jit_compile(&job, is_unwanted, &request, &why);
  const double took = now() - begin;
  if (fd >= 0) object = mx__jit_load(fd, jk->prep->nfuncs, &why);
  if (object) unkept = mx__jit_cache_keep(&job, object);
  free(job.key.text);
  const bool unwanted = !object && is_unwanted(&request);
  mx__lock(&j->lock);
  j->compiling = NULL;
  measure(j);
  if (object) {
    adopt(jk, object);
    mark(j);
    jk->compile_ms += took * 1e3;
    mx__jit_costs_learn(&j->costs, j->cache, jk->words, took);
    if (unkept) mx__device_note(d, "%s", unkept);
  } else if (unwanted) {
    jk->state = NEW; /* it is compiled when another launch wants it */
    jk->put_off = true;
  } else {
    jk->state = FAILED;
    jk->note = why;
    if (!waits)
      mx__device_note(d, "kernel '%s' stays in the interpreter: %s", job.kernel_name,
                      jk->note ? jk->note : "out of memory");
    why = NULL;
  }
  free(why);
  free(unkept);
  pthread_cond_broadcast(&j->done);
}

/* Seconds that the running launch will still take, from how far it came; what it has taken at least. */
static double remaining(const struct mx_jit *j) {
  const double ran = now() - j->began;
  const uint64_t before = j->blocks_before, all = j->launch->nblocks - before;
  const uint64_t started = atomic_load_explicit(j->launch->started, memory_order_relaxed) - before;
  const uint64_t ended = started > j->launch->workers ? started - j->launch->workers : 0;
  return !ended ? ran : ran * (double)(all - started) / (double)ended;
}
static bool is_worth_it(const struct mx_jit *j, const struct mx_jit_kernel *jk) {
  const double ran = now() - j->began;
  return ran >= FIRST_LOOK && jk->spent + ran + remaining(j) > jk->predicted;
}

static void *manage(void *arg) {
  struct mx_jit *j = arg;
  mx__lock(&j->lock);
  while (!j->quit) {
    if (j->compiling) { /* for a launch that waits for it */
      mx__wait(&j->done, &j->lock);
      continue;
    }
    if (j->due && j->due->state != NEW) j->due = NULL;
    struct mx_jit_kernel *jk = j->due ? j->due : j->of_launch;
    const bool finds_out = jk && jk == j->of_launch && may_choose(jk, j->launch) && !is_known(jk);
    if (!jk || (jk->state != NEW && !finds_out)) {
      mx__wait(&j->move, &j->lock);
      continue;
    }
    if (finds_out) measure(j), choose(j);
    else if (jk == j->due || is_worth_it(j, jk)) {
      compile(j, jk, NULL);
      continue;
    }
    const struct timespec soon = mx__time_in(LOOK_AGAIN);
    mx__wait_until(&j->move, &j->lock, &soon);
  }
  mx__unlock(&j->lock);
  return NULL;
}

static struct mx_jit *make(struct mx_device *d) {
  if (d->jit) return d->jit;
  struct mx_jit *j = calloc(1, sizeof *j);
  if (!j) return NULL;
  mx__lock_init(&j->lock, MX_LOCK_TIER);
  mx__condition_init(&j->move);
  mx__condition_init(&j->done);
  return d->jit = j;
}

static mx_status demanded(const struct mx_jit_kernel *jk, struct mx_launch *l, const char *why) {
  if (l->jit != MX_JIT_ON) return MX_OK;
  return mx__fail(l->device, MX_JIT_FAILURE, "kernel '%s': no compiled code: %s",
                  jk->kernel->module->image->image.funcs[jk->kernel->func].name, why ? why : "out of memory");
}

static struct mx_jit_kernel *kernel_new(mx_kernel *k, struct mx_prepared *prep) {
  struct mx_jit_kernel *jk = calloc(1, sizeof *jk);
  if (jk) jk->kernel = k, jk->prep = prep, jk->wanted = true;
  return jk;
}

static mx_status begin(struct mx_jit_kernel *jk, struct mx_launch *l) {
  struct mx_device *d = l->device;
  if (!mx__jit_level()) return demanded(jk, l, "there is none for CPUs below x86-64-v2, or with $MX_LEVEL");
  struct mx_jit *j = make(d);
  if (!j) return demanded(jk, l, NULL);
  mx_status s = MX_OK;
  mx__lock(&j->lock);
  jk->enough = ENOUGH * l->workers;
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
    jk->words = words_of(jk);
    jk->predicted = mx__jit_costs_predict(&j->costs, jk->words);
  }
  if (jk->state == NEW) from_cache(j, jk);
  if (l->jit == MX_JIT_ON) {
    while (!is_over(l, jk) && (jk->state == BUSY || (jk->state == NEW && j->compiling))) {
      const struct timespec soon = mx__time_in(LOOK_AGAIN);
      mx__wait_until(&j->done, &j->lock, &soon);
    }
    if (jk->state == NEW && !is_over(l, jk)) compile(j, jk, l);
    if (jk->state == FAILED) s = demanded(jk, l, jk->note);
    else if (jk->state != READY && !l->debug)
      s = mx__fail(d, MX_INTERRUPTED, "kernel '%s': its compile has been interrupted",
                   jk->kernel->module->image->image.funcs[jk->kernel->func].name);
  } else if ((jk->state == NEW || (may_choose(jk, l) && !is_known(jk))) && !j->running && !j->quit) {
    j->running = !pthread_create(&j->manager, NULL, manage, j);
  }
  if (s == MX_OK) {
    j->of_launch = jk;
    j->launch = l;
    j->began = now();
    j->blocks_before = atomic_load(l->started);
    if (jk->state == NEW && jk->spent > jk->predicted) j->due = jk;
    mark(j);
    choose(j);
    if (jk->state == NEW || j->mark.is) pthread_cond_signal(&j->move);
  }
  mx__unlock(&j->lock);
  return s;
}

static mx_status tier_begin(mx_kernel *k, struct mx_launch *l) {
  if (l->jit == MX_JIT_OFF || l->debug) return MX_OK;
  struct mx_jit_kernel **jk = &k->jit[l->counts][mx__launch_variant(l)];
  if (!*jk && !(*jk = kernel_new(k, l->prep)))
    return l->jit == MX_JIT_ON ? mx__fail_plain(l->device, MX_OUT_OF_MEMORY) : MX_OK;
  (*jk)->counts = l->counts, (*jk)->check_list = l->check_list, (*jk)->halved = l->halved;
  (*jk)->rows = l->rows;
  return begin(*jk, l);
}

static mx_tier tier_of(const struct mx_jit_kernel *k) {
  switch (k->state) {
  case NEW: return MX_TIER_WAITING;
  case BUSY: return MX_TIER_COMPILING;
  case FAILED: return MX_TIER_FAILED;
  default:
    return k->slower ? MX_TIER_SLOWER : k->hits ? MX_TIER_CACHED : k->compile_ms > 0 ? MX_TIER_COMPILED : MX_TIER_READY;
  }
}

static void end(struct mx_jit *j, struct mx_jit_kernel *jk) {
  measure(j);
  choose(j);
  if (jk->state != READY) jk->spent += now() - j->began;
  j->of_launch = NULL;
  j->launch = NULL;
}

static void tier_end(mx_kernel *k, struct mx_launch *l) {
  struct mx_jit *j = k->module->device->jit;
  if (l->jit == MX_JIT_OFF || !j || !(l->debug || k->jit[l->counts][mx__launch_variant(l)])) return;
  mx__lock(&j->lock);
  if (l->debug) { /* its session has not noticed yet, but nobody may look at it any more */
    if (j->launch == l) end(j, j->of_launch);
    mx__unlock(&j->lock);
    return;
  }
  struct mx_jit_kernel *jk = k->jit[l->counts][mx__launch_variant(l)];
  end(j, jk);
  l->stats.tier = tier_of(jk);
  l->stats.interpreted_ms = jk->spent * 1e3;
  l->stats.predicted_compile_ms = jk->predicted * 1e3;
  l->stats.compile_ms = jk->compile_ms;
  l->stats.cache_hits = jk->hits;
  l->stats.cache_misses = jk->misses;
  l->stats.interpreted_ns = 1e9 * cost_of(&jk->engine[0]);
  l->stats.compiled_ns = 1e9 * cost_of(&jk->engine[1]);
  jk->compile_ms = 0;
  jk->hits = jk->misses = 0;
  mx__unlock(&j->lock);
}

static void forget(struct mx_jit *j, struct mx_jit_kernel *jk) {
  if (j) {
    mx__lock(&j->lock);
    if (j->due == jk) j->due = NULL;
    while (j->compiling == jk) {
      atomic_store(&j->stop, 1);
      mx__wait(&j->done, &j->lock);
    }
    mx__unlock(&j->lock);
  }
  mx__jit_unload(jk->object);
  free(jk->stops);
  free(jk->note);
  free(jk);
}

static void tier_forget(mx_module *m) {
  for (size_t i = 0; i < m->nkernels; i++)
    for (unsigned n = 0; n < MX_COUNTS * MX_VARIANTS; n++) {
      struct mx_jit_kernel **jk = &m->kernels[i].jit[n / MX_VARIANTS][n % MX_VARIANTS];
      if (*jk) forget(m->device->jit, *jk);
      *jk = NULL;
    }
}

/* ---- sessions ---------------------------------------------------------------------------------------------*/
static struct mx_jit_kernel *tier_session(mx_kernel *k, struct mx_prepared *prep, const char *stops, mx_body leave,
                                          mx_body enter) {
  struct mx_jit_kernel *jk = kernel_new(k, prep);
  if (!jk) return NULL;
  jk->wanted = false;
  jk->leave = leave;
  jk->enter = enter;
  if ((jk->stops = strdup(stops))) return jk;
  free(jk);
  return NULL;
}

static mx_status tier_session_begin(struct mx_jit_kernel *jk, struct mx_launch *l) {
  struct mx_jit *j = make(l->device);
  if (j) {
    mx__lock(&j->lock);
    jk->wanted = true;
    if (jk->object) attach(jk);
    mx__unlock(&j->lock);
  }
  return begin(jk, l);
}

static void tier_session_end(struct mx_jit_kernel *jk) {
  struct mx_jit *j = jk->kernel->module->device->jit;
  if (!j) return;
  mx__lock(&j->lock);
  jk->wanted = false;
  for (uint32_t f = 0; jk->object && f < jk->prep->nfuncs; f++) {
    struct mx_jit_code *code = mx__jit_code(jk->object, f);
    if (code && jk->prep->funcs[f].insns) mx__jit_detach(&jk->prep->funcs[f], code, jk->leave);
  }
  if (j->of_launch == jk) end(j, jk);
  mx__unlock(&j->lock);
}

static bool tier_session_ready(struct mx_jit_kernel *jk) {
  struct mx_jit *j = jk->kernel->module->device->jit;
  if (!j) return false;
  mx__lock(&j->lock);
  const bool ready = jk->state == READY;
  mx__unlock(&j->lock);
  return ready;
}

static struct mx_jit_code *tier_session_code(struct mx_jit_kernel *jk, uint32_t func) {
  return jk->object ? mx__jit_code(jk->object, func) : NULL;
}

static void tier_session_forget(struct mx_jit_kernel *jk) { forget(jk->kernel->module->device->jit, jk); }

static void tier_done(struct mx_device *d) {
  struct mx_jit *j = d->jit;
  if (!j) return;
  mx__lock(&j->lock);
  j->quit = true;
  atomic_store(&j->stop, 1);
  pthread_cond_signal(&j->move);
  const bool running = j->running;
  mx__unlock(&j->lock);
  if (running) pthread_join(j->manager, NULL);
  mx__lock_done(&j->lock);
  pthread_cond_destroy(&j->move);
  pthread_cond_destroy(&j->done);
  free(j->compiler);
  free(j->cache);
  free(j);
  d->jit = NULL;
}

const struct mx_engine mx__compiling = {
    .begin = tier_begin,
    .end = tier_end,
    .forget = tier_forget,
    .done = tier_done,
    .session = tier_session,
    .session_begin = tier_session_begin,
    .session_end = tier_session_end,
    .session_ready = tier_session_ready,
    .session_code = tier_session_code,
    .session_forget = tier_session_forget,
};
