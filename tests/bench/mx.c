/* mx as a contestant: the kernels of a folder, interpreted or compiled. */
#include "bench.h"

#include <mx/check.h>
#include <mx/mx.h>
#include <mx/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct machine {
  mx_device *device;
  mx_kernel *kernel[BENCH_KERNELS];
  mx_addr buffer[BENCH_BUFFERS];
  mx_jit_mode jit;
};

static double run(struct bench_contestant *c, int kernel) {
  struct machine *m = c->state;
  const struct bench_work *w = &c->work[kernel];
  const void *args[BENCH_ARGS];
  size_t n = 0;
  for (; n < BENCH_ARGS && w->arg[n].kind != BENCH_END; n++)
    args[n] =
        w->arg[n].kind == BENCH_BUFFER ? (const void *)&m->buffer[w->arg[n].value] : (const void *)&w->arg[n].value;
  mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
  for (int d = 0; d < 2; d++) {
    config.grid[d] = (uint32_t)(w->items[d] / w->block[d]);
    config.block[d] = w->block[d];
  }
  config.jit = m->jit;
  config.threads = c->threads;
  const double start = bench_now();
  if (mx_launch_args(m->kernel[kernel], &config, args, n) != MX_OK) return -1;
  return bench_now() - start;
}

static bool read_back(struct bench_contestant *c, int kernel, void *result) {
  struct machine *m = c->state;
  enum bench_buffer b = c->work[kernel].result;
  return mx_copy_from_device(m->device, result, m->buffer[b], c->data->bytes[b]) == MX_OK;
}

static char *file_text(const char *folder, const char *name, size_t *size) {
  char path[512], *text = NULL;
  snprintf(path, sizeof path, "%s/%s.mxs", folder, name);
  FILE *f = fopen(path, "rb");
  if (f && (text = malloc(1 << 16))) *size = fread(text, 1, 1 << 16, f);
  if (f) fclose(f);
  return text;
}

static mx_module *load(struct bench_contestant *c, struct machine *m, const char *folder, int k) {
  size_t size = 0;
  mx_module *module = NULL;
  char *text = file_text(folder, c->work[k].text, &size), *messages = NULL;
  bool ok = text && mx_module_load_text(m->device, text, size, NULL, &module, &messages) == MX_OK &&
            mx_module_kernel(module, c->work[k].text, &m->kernel[k]) == MX_OK;
  if (!ok)
    snprintf(c->name, sizeof c->name, "mx: %s/%s.mxs: %s", folder, c->work[k].text,
             messages ? messages : "cannot be loaded");
  free(messages);
  free(text);
  return ok ? module : NULL;
}

bool bench_open_mx(struct bench_contestant *c, struct bench_data *data, const char *folder, const char *compiler,
                   bool checked) {
  struct machine *m = calloc(1, sizeof *m);
  *c = (struct bench_contestant){.data = data, .state = m, .run = run, .read = read_back};
  bench_works(c->work, data->n);
  snprintf(c->name, sizeof c->name, "mx %s: no memory", mx_version_string());
  mx_device_options options = MX_DEVICE_OPTIONS_INIT;
  options.jit_compiler = compiler;
  options.cache_dir = ""; /* so that every compile is seen */
  const mx_status made = m ? mx_device_create(&options, &m->device) : MX_OUT_OF_MEMORY;
  if (made == MX_UNSUPPORTED)
    snprintf(c->name, sizeof c->name, "mx %s: 'make bench LEVELS=plain' is for this processor, without SSE4.2",
             mx_version_string());
  if (made != MX_OK) return false;
  m->jit = compiler ? MX_JIT_ON : MX_JIT_OFF;
  if (checked && mx_device_check(m->device, MX_CHECK_ALL) != MX_OK) return false;
  for (int b = 0; b < BENCH_BUFFERS; b++)
    if (mx_alloc(m->device, data->bytes[b], &m->buffer[b]) != MX_OK ||
        mx_copy_to_device(m->device, m->buffer[b], data->buffer[b], data->bytes[b]) != MX_OK)
      return false;
  for (int k = 0; k < BENCH_KERNELS; k++)
    if (!load(c, m, folder, k)) return false;
  snprintf(c->name, sizeof c->name, "mx %s, %s", mx_version_string(),
           checked    ? "under mxrun check's tools"
           : compiler ? "compiled"
                      : "interpreter");
  return true;
}

size_t bench_findings(const struct bench_contestant *c) {
  const struct machine *m = c->state;
  return mx_device_findings(m->device);
}

bool bench_compiles(struct bench_contestant *c, const char *folder) {
  enum { TIMES = 5 };
  struct machine *m = c->state;
  for (int k = 0; k < BENCH_KERNELS; k++) {
    mx_kernel *before = m->kernel[k];
    double ms[TIMES];
    for (int r = 0; r < TIMES; r++) {
      mx_launch_stats s = {.struct_size = sizeof s};
      mx_module *module = load(c, m, folder, k);
      if (!module || run(c, k) < 0 || mx_device_stats(m->device, &s) != MX_OK || !(s.compile_ms > 0)) return false;
      ms[r] = s.compile_ms;
      mx_module_unload(module);
    }
    m->kernel[k] = before;
    c->compile_ms[k] = bench_median(ms, TIMES);
  }
  fprintf(stderr, "compiles measured\n");
  return true;
}
