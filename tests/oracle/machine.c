/* Runs one program on libmx and compares memory. The only file of the oracle that knows the library. */
#include "machine.h"

#include "mx/asm.h"
#include "mx/mx.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct machine {
  struct machine_options opt;
  mx_device *device;
  bool reset; /* the last failure took the device's modules with it */
  uint64_t warps, compiled;
};

__attribute__((format(printf, 1, 2))) static char *say(const char *fmt, ...) {
  char *text = NULL;
  va_list ap;
  va_start(ap, fmt);
  if (vasprintf(&text, fmt, ap) < 0) text = NULL;
  va_end(ap);
  return text;
}

struct machine *machine_open(const struct machine_options *o) {
  struct machine *m = calloc(1, sizeof *m);
  mx_device_options d = MX_DEVICE_OPTIONS_INIT;
  d.threads = o->threads;
  d.jit_compiler = o->jit_compiler;
  if (!m) return NULL;
  m->opt = *o;
  if (mx_device_create(&d, &m->device) == MX_OK) return m;
  free(m);
  return NULL;
}

void machine_close(struct machine *m) {
  if (!m) return;
  mx_device_destroy(m->device);
  free(m);
}

void machine_warps(const struct machine *m, uint64_t *all, uint64_t *compiled) {
  *all = m->warps;
  *compiled = m->compiled;
}

static char *assembly_errors(const mx_asm_result *a) {
  const mx_asm_diagnostic *first = mx_asm_diagnostic_at(a, 0);
  char *one = first ? mx_asm_format(first, false) : NULL,
       *text = say("does not assemble: %s", one ? one : "no diagnostic");
  free(one);
  return text;
}

static char *failure(struct machine *m, const char *what, mx_status s) {
  char *more = mx_last_error_text(m->device), *text = say("%s: %s: %s", what, mx_status_name(s), more ? more : "");
  free(more);
  return text;
}

static char *difference(const char *engine, const char *what, const uint8_t *got, const uint8_t *want, size_t size,
                        uint32_t stride, const struct program *p) {
  for (size_t i = 0; i < size; i += 4) {
    uint32_t g, w;
    memcpy(&g, got + i, 4);
    memcpy(&w, want + i, 4);
    if (g == w) continue;
    if (!stride) return say("%s: %s +%zu: 0x%08x, expected 0x%08x", engine, what, i, g, w);
    size_t t = i / stride, tid = t % p->threads;
    return say("%s: %s of block %zu, warp %zu, lane %zu, +%zu: 0x%08x, expected 0x%08x", engine, what, t / p->threads,
               tid / p->lanes, tid % p->lanes, i % stride, g, w);
  }
  return NULL;
}

/* How a program is run. */
enum engine { INTERPRETED, COMPILED, STRESSED, ENGINES };
static const char *const engine_name[ENGINES] = {"interpreter", "compiled", "stress"};

static mx_status launch(struct machine *m, mx_module *module, const struct program *p, enum engine e, mx_addr mem,
                        mx_addr trace) {
  mx_kernel *k;
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = p->blocks;
  c.block[0] = p->threads;
  c.jit = e == INTERPRETED ? MX_JIT_OFF : MX_JIT_ON;
  c.jit_stress = e == STRESSED ? m->opt.stress ^ p->seed * 0x9E3779B97F4A7C15u : 0;
  c.threads = m->opt.threads;
  c.steps = 20000000;
  mx_status s = mx_module_kernel(module, "oracle", &k);
  const void *args[] = {&mem, &trace};
  if (s == MX_OK) s = mx_launch_args(k, &c, args, 2);
  mx_launch_stats st = {.struct_size = sizeof st};
  if (s == MX_OK && e == COMPILED && mx_device_stats(m->device, &st) == MX_OK)
    m->warps += st.warps, m->compiled += st.warps_compiled;
  return s;
}

static char *run(struct machine *m, const struct program *p, const struct result *want, mx_module *module,
                 enum engine e) {
  mx_addr mem, trace;
  mx_status s;
  uint8_t *got = malloc(want->at.mem_bytes + (size_t)want->at.trace_bytes);
  if (!got) abort();
  if ((s = mx_alloc(m->device, want->at.mem_bytes, &mem)) != MX_OK ||
      (s = mx_alloc(m->device, want->at.trace_bytes, &trace)) != MX_OK ||
      (s = mx_copy_to_device(m->device, mem, want->mem_in, want->at.mem_bytes)) != MX_OK ||
      (s = mx_memset8(m->device, trace, 0xA5, want->at.trace_bytes)) != MX_OK ||
      (s = launch(m, module, p, e, mem, trace)) != MX_OK ||
      (s = mx_copy_from_device(m->device, got, mem, want->at.mem_bytes)) != MX_OK ||
      (s = mx_copy_from_device(m->device, got + want->at.mem_bytes, trace, want->at.trace_bytes)) != MX_OK) {
    char *why = failure(m, engine_name[e], s);
    free(got);
    mx_device_reset(m->device);
    m->reset = true;
    return why;
  }
  char *why = difference(engine_name[e], "trace", got + want->at.mem_bytes, want->trace, want->at.trace_bytes,
                         want->at.trace_stride, p);
  if (!why) why = difference(engine_name[e], "memory", got, want->mem, want->at.mem_bytes, 0, p);
  free(got);
  mx_free(m->device, mem);
  mx_free(m->device, trace);
  return why;
}

/* On one engine, or on all of them with one compile. */
static char *run_engines(struct machine *m, const struct program *p, const struct result *want, const uint8_t *bytes,
                         size_t size) {
  const struct machine_options *o = &m->opt;
  mx_module *module;
  mx_status s = mx_module_load_data(m->device, bytes, size, &module);
  if (s != MX_OK) return failure(m, "load", s);
  char *why = NULL;
  m->reset = false;
  if (o->all || !o->jit) why = run(m, p, want, module, INTERPRETED);
  if (!why && (o->all || (o->jit && !o->stress))) why = run(m, p, want, module, COMPILED);
  if (!why && (o->all || o->stress)) why = run(m, p, want, module, STRESSED);
  if (!m->reset) mx_module_unload(module);
  return why;
}

bool machine_check(struct machine *m, const struct program *p, const struct result *want, const char *text, size_t size,
                   char **why) {
  mx_asm_options o = {.struct_size = sizeof(mx_asm_options), .file_name = "oracle"};
  mx_asm_result *a = mx_assemble(text, size, &o);
  size_t n;
  if (!a) abort();
  const uint8_t *bytes = mx_asm_bytes(a, &n);
  *why = bytes ? run_engines(m, p, want, bytes, n) : assembly_errors(a);
  mx_asm_free(a);
  return !*why;
}
