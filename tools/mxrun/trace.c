/* --trace: the launch as a debugger's session that never stops, with a line for every warp instruction. */
#include "mxrun.h"

#include "mx/debug.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static mx_debug *_Atomic session; /* what Ctrl-C stops */

static void on_interrupt(int sig) {
  (void)sig;
  mx_debug *s = session;
  if (s) mx_debug_pause(s);
}

static void on_step(void *user, const mx_debug_event *e) {
  FILE *f = user;
  fprintf(f, "block %llu warp %u %s+%u lanes %016llx %s", (unsigned long long)e->block, e->warp,
          e->function ? e->function : "?", e->pc, (unsigned long long)e->lanes, e->instruction ? e->instruction : "?");
  if (e->file) fprintf(f, " %s:%u", e->file, e->line);
  fputc('\n', f);
}

mx_status launch_traced(mx_device *d, mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes,
                        const char *path, char **why) {
  bool standard = !strcmp(path, "-");
  FILE *f = standard ? stderr : fopen(path, "we");
  *why = NULL;
  if (!f) return *why = format("%s: %s", path, strerror(errno)), MX_HOST_FAILURE;
  mx_debug *s = NULL;
  mx_status status = mx_debug_begin(k, config, params, bytes, &s);
  if (status != MX_OK) {
    *why = failure_text(d, status);
  } else {
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND}, old;
    session = s;
    sigaction(SIGINT, &action, &old);
    status = mx_debug_trace(s, on_step, f);
    mx_debug_stop stop = {.struct_size = sizeof stop};
    char *trap = NULL;
    while (status == MX_OK) {
      status = mx_debug_go(s, MX_DEBUG_CONTINUE, 0, 0, 1, &stop);
      if (status != MX_OK || stop.reason == MX_DEBUG_AT_END) break;
      if (stop.reason != MX_DEBUG_AT_PAUSE) continue;
      trap = format("interrupted in %s at %s:%u, block %llu, warp %u", stop.function ? stop.function : "?",
                    stop.file ? stop.file : "?", stop.line, (unsigned long long)stop.block, stop.warp);
      break;
    }
    session = NULL;
    sigaction(SIGINT, &old, NULL);
    if (status == MX_OK) status = trap ? MX_INTERRUPTED : stop.status;
    mx_debug_end(s);
    if (trap) *why = trap;
    else if (status != MX_OK) *why = failure_text(d, status);
  }
  bool good = standard ? !fflush(f) : !fclose(f);
  if (!good && status == MX_OK) *why = format("%s: %s", path, strerror(errno)), status = MX_HOST_FAILURE;
  return status;
}
