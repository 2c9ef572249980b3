/* Host threads against one another for some seconds: launches, streams, events, modules, memory, resets, sessions,
 * time limits and interrupts, on devices that they share. What an answer may be is checked, and what a launch has
 * left in memory; the thread sanitizer, and in its builds the order of locks, see the rest. stress [--seconds N]
 * [--jit off|auto|on] [--jitc FILE]
 * The kernels and copies themselves are in order, by events or because their memory is one thread's own. */
#include "mx/debug.h"
#include "mx/text.h"

#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HANG 60 /* seconds that a thread may take to come to its end */
#define WORDS 256u
#define ROUNDS 40u

static const char text[] = ".target mx64\n"
                           ".global .u32 count = 0;\n"
                           ".shared .u32 tile[64];\n"
                           ".entry work(.param .u64 p, .param .u32 n) {\n"
                           "  .reg .u32 i, v, t, c; .reg .pred q; .reg .u64 a;\n"
                           "  mov.u32 t, %tid.x; mad.lo.u32 i, %ctaid.x, %ntid.x, t; setp.ge.u32 q, i, %n; @q exit;\n"
                           "  mul.wide.u32 a, i, 4; add.u64 a, a, %p; ld.global.u32 v, [a]; mov.u32 c, 0;\n"
                           "L: add.u32 v, v, 3; add.u32 c, c, 1; setp.lt.u32 q, c, 40; @q bra L;\n"
                           "  st.shared.u32 [tile + t*4], v; bar.sync 0; ld.shared.u32 v, [tile + t*4];\n"
                           "  st.global.u32 [a], v; atom.global.add.u32 v, [count], 1; ret; }\n"
                           ".entry trapper(.param .u64 p, .param .u32 n) { trap; }\n"
                           ".entry forever(.param .u64 p, .param .u32 n) { L: bra L; }\n"
                           ".entry waits(.param .u64 p, .param .u32 n) {\n"
                           "  .reg .u32 v; .reg .pred q;\n"
                           "L: ld.volatile.global.u32 v, [%p]; setp.eq.u32 q, v, 0; @q bra L; ret; }\n";
struct params {
  uint64_t p;
  uint32_t n;
};
enum { PARAM_BYTES = 12 };

static const uint8_t *bytes;
static size_t size;
static mx_jit_mode mode;
static const char *compiler;
static atomic_bool over;
static atomic_uint wrong;
static mx_device *calm, *rough; /* rough: is reset and interrupted all the time */

/* ---- what is common -----------------------------------------------------------------------------------------*/
static _Thread_local uint64_t state;
static uint32_t below(uint32_t n) {
  state += 0x9E3779B97F4A7C15u;
  uint64_t z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9u;
  return (uint32_t)((z ^ z >> 27) >> 32) % n;
}

/* An answer that must be one of these; MX_OK always is. */
static mx_status may_be(mx_device *d, const char *what, mx_status s, uint32_t these) {
  if (s == MX_OK || these >> s & 1) return s;
  char *why = mx_last_error_text(d);
  printf("%s: %s (%s)\n", what, mx_status_name(s), why ? why : "");
  free(why);
  wrong++;
  return s;
}
#define ONE(s_) (1u << MX_##s_)
/* of a device that others reset: memory and modules may have gone, or a kernel of another thread have trapped */
#define ROUGH (ONE(INTERRUPTED) | ONE(TRAPPED) | ONE(TIME_LIMIT) | ONE(INVALID_ADDRESS) | ONE(OUT_OF_DEVICE_MEMORY))

static mx_device *device_beside(mx_device *beside, uint32_t threads) {
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  o.memory_bytes = 1 << 26, o.threads = threads, o.jit = mode, o.jit_compiler = compiler, o.beside = beside;
  mx_device *d;
  if (mx_device_create(&o, &d) == MX_OK) return d;
  puts("no device");
  exit(4);
}
static mx_device *device_new(uint32_t threads) { return device_beside(NULL, threads); }
static mx_launch_config shape(uint32_t blocks, double timeout) {
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = blocks, c.block[0] = 64, c.timeout = timeout;
  return c;
}
static void nap(uint32_t microseconds) { nanosleep(&(struct timespec){.tv_nsec = (long)microseconds * 1000}, NULL); }

/* ---- threads --------------------------------------------------------------------------------------------------*/
static atomic_ullong launches, streams, resets, sessions, limits, neighbours;

/* Modules loaded, run and unloaded; memory of its own. Any call may be the one that tells of another thread's
 * interrupted launch in a stream; then it has done nothing. */
static bool launch_and_look(mx_kernel *k, mx_addr a, uint32_t expected) {
  const uint32_t may = ONE(INTERRUPTED);
  const mx_launch_config c = shape(WORDS / 64 + below(3), 0);
  uint32_t host[WORDS];
  launches++;
  if (may_be(calm, "launch", mx_launch(k, &c, &(struct params){a, WORDS}, PARAM_BYTES), may)) return false;
  if (may_be(calm, "copy", mx_copy_from_device(calm, host, a, sizeof host), may)) return false;
  for (uint32_t i = 0; i < WORDS; i++)
    if (host[i] != expected) {
      printf("word %u is %u, expected %u\n", i, host[i], expected);
      wrong++;
      return false;
    }
  mx_launch_stats stats = {.struct_size = sizeof stats};
  may_be(calm, "statistics", mx_device_stats(calm, &stats), 0);
  mx_kernel_info info = {.struct_size = sizeof info};
  may_be(calm, "info", mx_kernel_get_info(k, &info), 0);
  free(mx_last_error_text(calm));
  free(mx_device_note(calm));
  return true;
}
static void *launcher(void *arg) {
  state = (uintptr_t)arg;
  const uint32_t may = ONE(INTERRUPTED);
  while (!over) {
    mx_module *m;
    mx_kernel *k;
    mx_addr a;
    if (may_be(calm, "load", mx_module_load_data(calm, bytes, size, &m), may)) continue;
    may_be(calm, "kernel", mx_module_kernel(m, "work", &k), 0);
    if (may_be(calm, "alloc", mx_alloc(calm, WORDS * 4, &a), may) == MX_OK) {
      if (may_be(calm, "set", mx_memset32(calm, a, 7, WORDS), may) == MX_OK)
        for (uint32_t n = 1; n < 6 && launch_and_look(k, a, 7 + 3 * ROUNDS * n); n++) {}
      may_be(calm, "free", mx_free(calm, a), may);
    }
    may_be(calm, "unload", mx_module_unload(m), 0);
  }
  return NULL;
}

/* Two streams in turns, by events. */
static void *streamer(void *arg) {
  state = (uintptr_t)arg;
  const uint32_t may = ONE(INTERRUPTED);
  while (!over) {
    mx_module *m;
    mx_kernel *k;
    mx_addr a;
    mx_stream *one, *two;
    mx_event *first, *turn;
    uint32_t host[WORDS] = {0};
    if (may_be(calm, "load", mx_module_load_data(calm, bytes, size, &m), may)) continue;
    mx_module_kernel(m, "work", &k);
    if (mx_alloc(calm, sizeof host, &a) || mx_stream_create(calm, below(2), &one) || mx_stream_create(calm, 0, &two) ||
        mx_event_create(calm, &first) || mx_event_create(calm, &turn)) {
      puts("no streams");
      wrong++;
      break;
    }
    mx_event_record(first, one);
    for (uint32_t n = 0; n < 4; n++) {
      const struct params p = {a, WORDS};
      const mx_launch_config c = shape(3, 0);
      may_be(calm, "launch in a stream", mx_launch_async(k, &c, &p, PARAM_BYTES, one), may);
      may_be(calm, "copy in a stream", mx_copy_from_device_async(calm, host, a, sizeof host, one), may);
      mx_event_record(turn, one);
      mx_stream_wait_event(two, turn);
      may_be(calm, "set in a stream", mx_memset8_async(calm, a, 1, sizeof host, two), may);
      may_be(calm, "copy in a stream", mx_copy_to_device_async(calm, a, host, sizeof host, two), may);
      mx_event_record(turn, two);
      mx_stream_wait_event(one, turn);
      mx_stream_query(one);
      mx_event_query(turn);
      launches++;
    }
    double ms;
    may_be(calm, "event", mx_event_synchronize(turn), may);
    may_be(calm, "elapsed", mx_event_elapsed_ms(first, turn, &ms), may);
    may_be(calm, "stream", mx_stream_synchronize(two), may);
    may_be(calm, "stream", mx_stream_synchronize(one), may);
    mx_event_destroy(first), mx_event_destroy(turn);
    may_be(calm, "stream", mx_stream_destroy(one), may);
    may_be(calm, "stream", mx_stream_destroy(two), may);
    may_be(calm, "free", mx_free(calm, a), may);
    may_be(calm, "unload", mx_module_unload(m), 0);
    streams++;
  }
  return NULL;
}

/* The only one with handles of rough, which it resets in the midst of all. */
static void *resetter(void *arg) {
  state = (uintptr_t)arg;
  while (!over) {
    mx_module *m;
    mx_kernel *k;
    mx_addr a = 0;
    mx_stream *s;
    if (may_be(rough, "load", mx_module_load_data(rough, bytes, size, &m), ROUGH)) {
      may_be(rough, "reset", mx_device_reset(rough), 0);
      continue;
    }
    mx_module_kernel(m, (const char *[]){"work", "trapper", "work", "forever"}[below(4)], &k);
    may_be(rough, "alloc", mx_alloc(rough, WORDS * 4, &a), ROUGH);
    const struct params p = {a, WORDS};
    const mx_launch_config c = shape(5, 0.05);
    mx_stream_create(rough, 0, &s);
    for (int n = 0; n < 3; n++)
      may_be(rough, "launch in a stream", mx_launch_async(k, &c, &p, PARAM_BYTES, s), ROUGH), launches++;
    if (below(2)) nap(below(3000));
    may_be(rough, "reset", mx_device_reset(rough), 0);
    resets++;
    mx_stream_destroy(s);
  }
  return NULL;
}

/* Memory and questions, on the device that is reset: addresses may go, no handle is left over. */
static void *onlooker(void *arg) {
  state = (uintptr_t)arg;
  while (!over) {
    mx_addr a;
    void *host;
    uint8_t h[64] = {0};
    uint64_t x, y;
    mx_device_progress(rough, &x, &y);
    may_be(rough, "memory", mx_memory_info(rough, &x, &y), 0);
    mx_trap_info t = {.struct_size = sizeof t};
    may_be(rough, "trap", mx_device_trap(rough, &t), 0);
    free(mx_last_error_text(rough));
    if (may_be(rough, "alloc", mx_alloc(rough, 64 + below(5000), &a), ROUGH) == MX_OK) {
      may_be(rough, "copy", mx_copy_to_device(rough, a, h, sizeof h), ROUGH);
      may_be(rough, "copy", mx_copy_from_device(rough, h, a, sizeof h), ROUGH);
      may_be(rough, "name", mx_allocation_set_name(rough, a, "x"), ROUGH);
      may_be(rough, "range", mx_allocation_range(rough, a, &x, &y), ROUGH);
      may_be(rough, "free", mx_free(rough, a), ROUGH);
    }
    may_be(rough, "alloc", mx_alloc_managed(rough, 64, &a, &host), ROUGH);
    mx_launch_stats stats = {.struct_size = sizeof stats};
    may_be(rough, "statistics", mx_device_stats(rough, &stats), 0);
    may_be(rough, "limit", mx_limit_set(rough, MX_LIMIT_PRINTF_FIFO, 1u << (16 + below(3))), ROUGH);
    may_be(rough, "synchronize", mx_device_synchronize(rough), ROUGH);
    nap(200);
  }
  return NULL;
}

static void *interrupter(void *arg) {
  state = (uintptr_t)arg;
  while (!over) {
    nap(1000 + below(20000));
    mx_device_interrupt(below(4) ? rough : calm);
  }
  return NULL;
}

/* Blocks that wait for one another for ever, ended by their time limit. */
static void *limiter(void *arg) {
  state = (uintptr_t)arg;
  mx_device *d = device_new(3);
  mx_module *m;
  mx_kernel *k;
  mx_addr a;
  if (mx_module_load_data(d, bytes, size, &m) || mx_module_kernel(m, "waits", &k) || mx_alloc(d, 64, &a)) wrong++;
  else
    while (!over) {
      mx_launch_config c = shape(6, 0.0005 + 0.0001 * below(40));
      c.block[0] = 1, c.jit = MX_JIT_OFF;
      const mx_status s = mx_launch(k, &c, &(struct params){a, 1}, PARAM_BYTES);
      if (s != MX_TIME_LIMIT) printf("a launch with a time limit: %s\n", mx_status_name(s)), wrong++;
      limits++;
    }
  mx_device_destroy(d);
  return NULL;
}

/* Devices that come and go beside the others, whose memory they work on where they may. */
static void *neighbour(void *arg) {
  state = (uintptr_t)arg;
  const uint32_t may = ONE(INTERRUPTED);
  while (!over) {
    mx_device *d = device_beside(below(2) ? calm : rough, 2);
    mx_module *m;
    mx_kernel *k;
    mx_addr a;
    uint32_t host[WORDS];
    if (mx_module_load_data(d, bytes, size, &m) || mx_module_kernel(m, "work", &k)) wrong++;
    else if (may_be(calm, "alloc", mx_alloc(calm, sizeof host, &a), may) == MX_OK) {
      const bool allowed = below(4);
      may_be(d, "reach", mx_device_reach(d, calm, allowed), 0);
      may_be(rough, "reach", mx_device_reach(rough, d, allowed), ROUGH);
      uint32_t expected = 7;
      bool known = may_be(calm, "set", mx_memset32(calm, a, 7, WORDS), may) == MX_OK;
      for (uint32_t n = 0; known && n < 3; n++) {
        const mx_launch_config c = shape(WORDS / 64, 0);
        const mx_status s = mx_launch(k, &c, &(struct params){a, WORDS}, PARAM_BYTES);
        if (s != (allowed ? MX_OK : MX_TRAPPED))
          printf("a launch beside another device: %s\n", mx_status_name(s)), wrong++;
        if (s != MX_OK) break;
        expected += 3 * ROUNDS;
        known = may_be(calm, "copy", mx_copy_from_device(calm, host, a, sizeof host), may) == MX_OK;
        for (uint32_t i = 0; known && i < WORDS; i++)
          if (host[i] != expected) {
            printf("word %u of another device is %u, expected %u\n", i, host[i], expected);
            wrong++;
            known = false;
          }
      }
      may_be(calm, "free", mx_free(calm, a), may);
      neighbours++;
    }
    mx_device_destroy(d);
  }
  return NULL;
}

static mx_debug *open_session;
static pthread_mutex_t session_lock = PTHREAD_MUTEX_INITIALIZER;
static void note_session(mx_debug *s) {
  pthread_mutex_lock(&session_lock);
  open_session = s;
  pthread_mutex_unlock(&session_lock);
}
static void *pauser(void *arg) {
  state = (uintptr_t)arg;
  while (!over) {
    pthread_mutex_lock(&session_lock);
    if (open_session) mx_debug_pause(open_session);
    pthread_mutex_unlock(&session_lock);
    nap(below(3000));
  }
  return NULL;
}
static void *debugger(void *arg) {
  state = (uintptr_t)arg;
  while (!over) {
    mx_device *d = device_new(2);
    mx_module *m;
    mx_kernel *k;
    mx_addr a;
    mx_debug *s;
    mx_debug_stop stop = {.struct_size = sizeof stop};
    mx_module_load_data(d, bytes, size, &m);
    mx_module_kernel(m, "work", &k);
    mx_alloc(d, WORDS * 4, &a);
    const mx_launch_config c = shape(4, 0);
    if (may_be(d, "session", mx_debug_begin(k, &c, &(struct params){a, WORDS}, PARAM_BYTES, &s), 0) == MX_OK) {
      note_session(s);
      if (below(2)) mx_debug_record(s, true, 1 << 20);
      int number;
      mx_debug_break(s, "work", 5, &number);
      for (uint32_t n = 0; n < 20; n++) {
        const bool back = n % 5 == 4;
        if (mx_debug_go(s, n % 3 ? MX_DEBUG_STEP : MX_DEBUG_CONTINUE, 0, 0, 1 + n, &stop) ||
            stop.reason == MX_DEBUG_AT_END)
          break;
        if (back && mx_debug_back(s, MX_DEBUG_STEP, 0, 0, 2, &stop) == MX_OK && stop.reason == MX_DEBUG_AT_END) break;
      }
      note_session(NULL);
      mx_debug_end(s);
      sessions++;
    }
    mx_device_destroy(d);
  }
  return NULL;
}

/* ---- the program ------------------------------------------------------------------------------------------------*/
int main(int argc, char **argv) {
  static const struct option longs[] = {{"seconds", required_argument, 0, 's'},
                                        {"jit", required_argument, 0, 'j'},
                                        {"jitc", required_argument, 0, 'c'},
                                        {0}};
  uint32_t seconds = 2;
  mode = MX_JIT_OFF;
  for (int o; (o = getopt_long(argc, argv, "", longs, NULL)) != -1;) switch (o) {
    case 's': seconds = (uint32_t)atoi(optarg); break;
    case 'j': mode = *optarg == 'a' ? MX_JIT_AUTO : optarg[1] == 'n' ? MX_JIT_ON : MX_JIT_OFF; break;
    case 'c': compiler = optarg; break;
    default: return 2;
    }
  setvbuf(stdout, NULL, _IOLBF, 0);
  mx_asm_result *assembled = mx_assemble(text, strlen(text), NULL);
  bytes = mx_asm_bytes(assembled, &size);
  if (!bytes) return puts("the program does not assemble"), 4;
  calm = device_new(3);
  rough = device_beside(calm, 3);
  void *(*const roles[])(void *) = {launcher,    launcher, streamer,  streamer, resetter, onlooker,
                                    interrupter, limiter,  neighbour, debugger, pauser};
  enum { ROLES = sizeof roles / sizeof *roles };
  pthread_t threads[ROLES];
  for (uintptr_t k = 0; k < ROLES; k++)
    if (pthread_create(&threads[k], NULL, roles[k], (void *)(k + 1))) return puts("no thread"), 4;
  for (uint32_t s = 0; s < seconds * 10; s++) nap(100000);
  over = true;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += HANG;
  for (int k = 0; k < ROLES; k++)
    if (pthread_timedjoin_np(threads[k], NULL, &until)) {
      printf("thread %d of %d does not end\n", k, ROLES);
      abort(); /* with all stacks, where somebody looks */
    }
  mx_device_destroy(calm);
  mx_device_destroy(rough);
  mx_asm_free(assembled);
  printf("%llu launches, %llu rounds of streams, %llu resets, %llu time limits, %llu neighbours, %llu sessions; %u "
         "wrong\n",
         launches, streams, resets, limits, neighbours, sessions, wrong);
  return wrong != 0;
}
