/* Recorded functions as kernels: some functions to a kernel, since a compile costs more than a launch, a thread to a
 * line. Warps are always full: the last lines stand for those that are missing. Knows the public interface only. */
#include "tests/conform/conform.h"

#include "mx/mx.h"
#include "mx/text.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 128, TOGETHER = 16 };
struct job {
  mx_addr in, out;
  uint64_t lines;
};

/* How much of a kernel a function takes: atomics compile slowly. */
static size_t cost(const struct function *f) {
  return strncmp(f->name, "atomic", 6) ? 1 : strstr(f->name, ".seq4") ? TOGETHER / 2 : TOGETHER / 4;
}

/* ---- text -------------------------------------------------------------------------------------------------------*/
static void put_kernel(struct text *t, struct function *const *fs, size_t n) {
  put(t, fs[0]->warp ? ".target sm_90\n" : ".target mx64\n");
  put(t, ".visible .entry run(.param .u64 jobs) {\n  .reg .u32 %%lane;\n  .reg .b64 %%jobs, %%in, %%out;\n  .reg "
         ".u64 %%lines, %%number;\n");
  put(t, "  .reg .u32 %%t, %%cell;\n  .reg .pred %%over, %%in_mask, %%p;\n  .shared .align 8 .b8 cells[%d];\n",
      8 * BLOCK);
  put(t, "  mov.u32 %%t, %%tid.x;\n  mad.lo.u32 %%lane, %%ctaid.x, %d, %%t;\n  cvt.u64.u32 %%number, %%lane;\n", BLOCK);
  put(t, "  mov.u32 %%cell, cells;\n  mad.lo.u32 %%cell, %%t, 8, %%cell;\n  ld.param.u64 %%jobs, [jobs];\n");
  for (size_t k = 0; k < n; k++) {
    const size_t at = sizeof(struct job) * k;
    put(t, "{\n  ld.global.u64 %%lines, [%%jobs+%zu];\n  setp.ge.u64 %%over, %%number, %%lines;\n  @%%over bra done;\n",
        at + 16);
    put(t, "  ld.global.u64 %%in, [%%jobs+%zu];\n  mad.wide.u32 %%in, %%lane, %u, %%in;\n", at, 8 * fs[k]->sig.nin);
    put(t, "  ld.global.u64 %%out, [%%jobs+%zu];\n  mad.wide.u32 %%out, %%lane, %u, %%out;\n", at + 8,
        8 * fs[k]->sig.nout);
    mx__put_function(t, fs[k]);
    put(t, "done:\n}\n");
  }
  put(t, "  ret;\n}\n");
}

/* ---- launches ---------------------------------------------------------------------------------------------------*/
static size_t full(size_t lines) { return (lines + BLOCK - 1) / BLOCK * BLOCK; }

static bool fill(mx_device *device, const struct function *f, struct job *job) {
  const size_t nin = f->sig.nin, nout = f->sig.nout, n = full(f->lines);
  uint64_t *cells = malloc(n * nin * sizeof *cells + 1);
  if (!cells) return false;
  for (size_t l = 0; l < n; l++)
    memcpy(cells + l * nin, f->values + (l < f->lines ? l : f->lines - 1) * (nin + nout), nin * sizeof *cells);
  job->lines = n;
  bool fine = mx_alloc(device, n * nin * 8, &job->in) == MX_OK && mx_alloc(device, n * nout * 8, &job->out) == MX_OK &&
              mx_copy_to_device(device, job->in, cells, n * nin * 8) == MX_OK &&
              mx_memset8(device, job->out, 0, n * nout * 8) == MX_OK;
  free(cells);
  return fine;
}

static bool take(mx_device *device, struct function *f, const struct job *job) {
  const size_t bytes = f->lines * f->sig.nout * sizeof *f->got;
  f->got = malloc(bytes + 1);
  if (f->got && mx_copy_from_device(device, f->got, job->out, bytes) == MX_OK) return true;
  free(f->got);
  f->got = NULL;
  return false;
}

static bool launch(mx_device *device, mx_module *module, struct function *const *fs, size_t n, bool jit) {
  struct job jobs[TOGETHER] = {0};
  size_t most = 0;
  mx_addr table = 0;
  mx_kernel *kernel;
  bool fine = mx_module_kernel(module, "run", &kernel) == MX_OK && mx_alloc(device, sizeof jobs, &table) == MX_OK;
  for (size_t k = 0; k < n && fine; k++) {
    fine = fill(device, fs[k], &jobs[k]);
    if (jobs[k].lines > most) most = jobs[k].lines;
  }
  mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
  config.grid[0] = (uint32_t)(most / BLOCK);
  config.block[0] = BLOCK;
  config.jit = jit ? MX_JIT_ON : MX_JIT_OFF;
  const void *args[] = {&table};
  fine = fine && mx_copy_to_device(device, table, jobs, sizeof jobs) == MX_OK &&
         mx_launch_args(kernel, &config, args, 1) == MX_OK;
  for (size_t k = 0; k < n && fine; k++) fine = take(device, fs[k], &jobs[k]);
  if (!fine) {
    char *text = mx_last_error_text(device);
    fprintf(stderr, "conform: %s: %s\n", fs[0]->name, text ? text : "no reason given");
    free(text);
    mx_device_reset(device); /* the module ends with it */
    return false;
  }
  for (size_t k = 0; k < n; k++) mx_free(device, jobs[k].in), mx_free(device, jobs[k].out);
  mx_free(device, table);
  return true;
}

/* A function that is refused must not stop the others: after a failure of several, each runs alone. */
static void run(mx_device *device, struct function *const *fs, size_t n, bool jit) {
  struct text t = {0};
  mx_module *module;
  char *messages = NULL;
  put_kernel(&t, fs, n);
  bool fine = mx_module_load_text(device, t.s, t.n, NULL, &module, &messages) == MX_OK;
  if (!fine && n == 1) fprintf(stderr, "conform: %s: %s", fs[0]->name, messages ? messages : "not loaded\n");
  free(messages);
  free(t.s);
  if (fine) {
    fine = launch(device, module, fs, n, jit);
    if (fine) mx_module_unload(module);
  }
  if (fine) return;
  if (n == 1) fs[0]->refused = true;
  for (size_t k = 0; k < n && n > 1; k++) run(device, fs + k, 1, jit);
}

bool mx__run_kernels(struct function *fs, size_t n, const struct how *how) {
  mx_device *device;
  mx_device_options options = MX_DEVICE_OPTIONS_INIT;
  options.threads = how->threads;
  if (mx_device_create(&options, &device) != MX_OK) {
    fprintf(stderr, "conform: this build or this CPU cannot run here (levels: make LEVELS=\"v2 v3 v4\")\n");
    return false;
  }
  for (size_t k = 0; k < n;) {
    struct function *group[TOGETHER];
    size_t m = 0;
    for (size_t taken = 0; k < n && taken < TOGETHER && (!m || fs[k].warp == group[0]->warp); k++)
      if (fs[k].lines) taken += cost(&fs[k]), group[m++] = &fs[k];
    if (m) run(device, group, m, how->jit);
  }
  mx_device_destroy(device);
  return true;
}
