/* A launch under watch: Ctrl-C stops it cleanly, and on a terminal one that takes longer than a second says so, and one
 * that hangs says who spins where. */
#include "mxrun.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static mx_device *_Atomic running; /* what Ctrl-C interrupts */

static void on_interrupt(int sig) {
  (void)sig;
  mx_device *d = running;
  if (d) mx_device_interrupt(d);
}

struct watch {
  pthread_mutex_t lock;
  pthread_cond_t done;
  bool over, terminal;
  const char *what;
  mx_device *device;
};

/* The launch makes no progress any more: this is said once, on a terminal, and the launch goes on spinning. */
static void say_stuck(const struct watch *w, const char *who) {
  char *text = format("mxrun: %s makes no progress: all lanes spin or wait, and no register changes%s\n"
                      "  'mxrun -i' with the same words, then 'run', stops there and tells more; Ctrl-C ends this\n",
                      w->what, who);
  fputs("\r\033[K", stderr);
  cli_fold(stderr, text);
  free(text);
}

static void *show_progress(void *user) {
  struct watch *w = user;
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  bool shown = false;
  pthread_mutex_lock(&w->lock);
  for (unsigned seconds = 1; !w->over; seconds++) {
    at.tv_sec++;
    while (!w->over && !pthread_cond_timedwait(&w->done, &w->lock, &at)) {}
    if (w->over) break;
    char *who = mx_device_stuck(w->device); /* short launches are not looked at */
    if (who && w->terminal) say_stuck(w, who);
    mx_text_free(who);
    if (!w->terminal) continue;
    uint64_t begun, blocks;
    mx_device_progress(w->device, &begun, &blocks);
    shown = true;
    fprintf(stderr, "\r%s: %u s, block %llu of %llu\033[K", w->what, seconds, (unsigned long long)begun,
            (unsigned long long)blocks);
  }
  if (shown) fputs("\r\033[K", stderr);
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

static mx_status launch_all(mx_kernel *const *kernels, size_t n, const mx_launch_config *config, const void *params,
                            size_t bytes) {
  const void **same = cli_alloc(n * sizeof *same);
  for (size_t k = 0; k < n; k++) same[k] = params;
  const mx_status s = mx_launch_cooperative_multi(kernels, n, config, same, bytes);
  free(same);
  return s;
}

mx_status launch_watched(mx_device *d, mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes,
                         const char *what) {
  return launch_watched_on(d, &k, 1, config, params, bytes, what);
}

mx_status launch_watched_on(mx_device *d, mx_kernel *const *kernels, size_t n, const mx_launch_config *config,
                            const void *params, size_t bytes, const char *what) {
  /* After the first Ctrl-C the signal has its usual meaning again, so that a second one ends the program. */
  struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND}, old;
  struct watch w = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, isatty(STDERR_FILENO), what, d};
  pthread_t thread;
  bool progress = !pthread_create(&thread, NULL, show_progress, &w);
  running = d;
  sigaction(SIGINT, &action, &old);
  mx_status s = n == 1 ? mx_launch(kernels[0], config, params, bytes) : launch_all(kernels, n, config, params, bytes);
  sigaction(SIGINT, &old, NULL);
  running = NULL;
  if (progress) {
    pthread_mutex_lock(&w.lock);
    w.over = true;
    pthread_cond_signal(&w.done);
    pthread_mutex_unlock(&w.lock);
    pthread_join(thread, NULL);
  }
  return s;
}
