/* mx as a contestant: the case's PTX, compiled or interpreted. */
#include "foreign.h"

#include <mx/mx.h>
#include <mx/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mx_device *device;
static mx_kernel *kernel;
static mx_addr place[FOREIGN_BUFFERS];
static uint64_t local_at[FOREIGN_ARGS]; /* where in shared memory an argument of local memory begins */
static uint32_t shared_bytes;
static unsigned nthreads;

/* The PTX has the name of the source. */
const char *mx_open(const char *folder, const char *name, const char *compiler, unsigned threads) {
  static char said[400];
  mx_device_options options = MX_DEVICE_OPTIONS_INIT;
  options.jit_compiler = compiler;
  options.cache_dir = ""; /* so that the compile is seen */
  nthreads = threads;
  if (mx_device_create(&options, &device) != MX_OK) return "no device";
  char file[300], *messages = NULL;
  snprintf(file, sizeof file, "ptx/%.*s", (int)strcspn(it.file, "."), it.file);
  size_t size;
  char *text = foreign_text(folder, file, ".ptx", &size);
  mx_module *module;
  if (!text) return "no PTX";
  if (mx_module_load_text(device, text, size, NULL, &module, &messages) != MX_OK) {
    snprintf(said, sizeof said, "%s: %s", name, messages ? messages : "refused");
    return said;
  }
  free(text);
  if (mx_module_kernel(module, it.entry, &kernel) != MX_OK) return "no such kernel";
  mx_kernel_info info = {.struct_size = sizeof info};
  mx_kernel_get_info(kernel, &info);
  uint32_t at = (info.static_shared_bytes + 15) & ~15u;
  for (int k = 0; k < it.nargs; k++) {
    const struct foreign_arg *a = &it.arg[k];
    mx_param_info p = {.struct_size = sizeof p};
    if (mx_kernel_get_param(kernel, (uint32_t)k, &p) != MX_OK || (a->kind == FOREIGN_SCALAR && p.size != a->size))
      return "other parameters";
    if (a->kind != FOREIGN_LOCAL) continue;
    local_at[k] = at;
    at += ((uint32_t)a->size + 15) & ~15u;
  }
  shared_bytes = at - info.static_shared_bytes;
  for (int b = 0; b < it.nbuffers; b++)
    if (mx_alloc(device, it.buffer[b].bytes, &place[b]) != MX_OK) return "no memory for buffers";
  return NULL;
}

void mx_fill(bool all) {
  for (int b = 0; b < it.nbuffers; b++)
    if (all || it.buffer[b].mode != FOREIGN_IN)
      mx_copy_to_device(device, place[b], it.buffer[b].init, it.buffer[b].bytes);
}
void mx_read(int buffer, void *to) { mx_copy_from_device(device, to, place[buffer], it.buffer[buffer].bytes); }

const char *mx_go(bool compiled, struct foreign_time *took, struct foreign_stats *stats) {
  mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
  for (int d = 0; d < 3; d++) config.grid[d] = (uint32_t)it.grid[d], config.block[d] = (uint32_t)it.block[d];
  config.jit = compiled ? MX_JIT_ON : MX_JIT_OFF;
  config.threads = nthreads;
  config.shared_bytes = shared_bytes;
  const void *args[FOREIGN_ARGS];
  for (int k = 0; k < it.nargs; k++) {
    const struct foreign_arg *a = &it.arg[k];
    args[k] = a->kind == FOREIGN_BUFFER  ? (const void *)&place[a->buffer]
              : a->kind == FOREIGN_LOCAL ? (const void *)&local_at[k]
                                         : &a->value;
  }
  const struct foreign_time before = foreign_now();
  const mx_status status = mx_launch_args(kernel, &config, args, (size_t)it.nargs);
  const struct foreign_time after = foreign_now();
  *took = (struct foreign_time){after.wall - before.wall, after.cpu - before.cpu};
  mx_launch_stats s = {.struct_size = sizeof s};
  mx_device_stats(device, &s);
  *stats = (struct foreign_stats){.steps = s.steps, .compiled = s.steps_compiled, .compile_ms = s.compile_ms};
  static const char *const reason[] = {"done", "poll", "trap", "call", "block", "opcode", "diverge"};
  for (size_t k = 1, n = 0; k < sizeof reason / sizeof *reason; k++)
    if (s.exits[k])
      n += (size_t)snprintf(stats->exits + n, sizeof stats->exits - n, " %s %llu" + !n, reason[k],
                            (unsigned long long)s.exits[k]);
  return status == MX_OK ? NULL : mx_last_error_text(device);
}
