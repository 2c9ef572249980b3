/* Recorded functions as kernels: text for each, one module for a file, and its launches. A thread takes one recording;
 * inputs and outputs travel as 64-bit cells. Knows the public interface only. */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mx/mx.h"
#include "mx/text.h"
#include "tests/vectors/conform.h"

/* ---- text ----------------------------------------------------------------------------------------------------------*/

struct text { char *at; size_t size, room; };
__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...) {
  char piece[512];
  va_list a;
  va_start(a, format);
  int n = vsnprintf(piece, sizeof piece, format, a);
  va_end(a);
  if (t->size + (size_t)n + 1 > t->room) {
    t->room = 2 * t->room + (size_t)n + 4096;
    t->at = realloc(t->at, t->room);
    if (!t->at) abort();
  }
  memcpy(t->at + t->size, piece, (size_t)n + 1);
  t->size += (size_t)n;
}

/* Registers: a letter for the width, i and o for inputs and outputs. Bytes are in 16-bit registers. */
static unsigned bits_of(const char *type) {
  if (!strcmp(type, "pred")) return 1;
  unsigned n = strstr(type, "x2") ? 32 : (unsigned)atoi(type + strcspn(type, "0123456789"));
  return n;
}
static char letter(const char *type) {
  unsigned n = bits_of(type);
  return n == 1 ? 'p' : n <= 16 ? 'h' : n == 32 ? 'r' : 'd';
}
static const char *in(const struct function *f, unsigned k) {
  static char name[4][16];
  static unsigned turn;
  char *s = name[turn++ & 3];
  snprintf(s, 16, "%%%ci%u", letter(f->sig.in[k]), k);
  return s;
}
static const char *out(const struct function *f, unsigned k) {
  static char name[4][16];
  static unsigned turn;
  char *s = name[turn++ & 3];
  snprintf(s, 16, "%%%co%u", letter(f->sig.out[k]), k);
  return s;
}

static void put_io(struct text *t, const char *reg, const char *type, const char *base, unsigned cell, bool load) {
  unsigned n = bits_of(type);
  if (n == 1 && load) put(t, "  ld.global.u32 %%t, [%s+%u];\n  setp.ne.u32 %s, %%t, 0;\n", base, 8 * cell, reg);
  else if (n == 1) put(t, "  selp.u32 %%t, 1, 0, %s;\n  st.global.u32 [%s+%u], %%t;\n", reg, base, 8 * cell);
  else if (load) put(t, "  ld.global.%c%u %s, [%s+%u];\n", n == 8 ? 'u' : 'b', n, reg, base, 8 * cell);
  else put(t, "  st.global.b%u [%s+%u], %s;\n", n, base, 8 * cell, reg);
}

/* The instruction itself: the name, as far as it is one, and its operands. */
static void put_row(struct text *t, const struct function *f) {
  char name[128], *paren;
  snprintf(name, sizeof name, "%s", f->name);
  if ((paren = strchr(name, '('))) { /* video: operands are letters, with selectors and signs */
    *paren = 0;
    put(t, "  %s ", name);
    for (const char *p = paren + 1; *p && *p != ')'; p++) {
      if (*p == 'd' && p == paren + 1) put(t, "%s", out(f, 0));
      else if (*p >= 'a' && *p <= 'c' && (p[-1] == ',' || p[-1] == '-')) put(t, "%s", in(f, (unsigned)(*p - 'a')));
      else put(t, "%c", *p);
    }
    put(t, ";\n");
    return;
  }
  if (!strncmp(name, "lop3.", 5)) {
    *strrchr(name, '.') = 0;
    put(t, "  %s %s%s%s, %s, %s, ", name, out(f, 0), f->sig.nout > 1 ? "|" : "", f->sig.nout > 1 ? out(f, 1) : "", in(f, 0), in(f, 1));
    put(t, "%s, 0x%" PRIx64 "%s%s;\n", in(f, 2), f->extra[0], f->sig.nin > 3 ? ", " : "", f->sig.nin > 3 ? in(f, 3) : "");
    return;
  }
  put(t, "  %s ", name);
  for (unsigned k = 0; k < f->sig.nout; k++) put(t, "%s%s", k ? "|" : "", out(f, k));
  for (unsigned k = 0; k < f->sig.nin; k++) put(t, ", %s", in(f, k));
  put(t, ";\n");
}

/* An atomic on the cell at the last output (global), or at this thread's place in shared memory. */
static void put_atomic(struct text *t, const struct function *f) {
  char op[16] = "", space[16] = "", type[16] = "";
  sscanf(f->name, "atomic%15[A-Za-z].%15[a-z].%15[a-z0-9]", op, space, type);
  for (char *c = op; *c; c++) *c = (char)tolower(*c);
  bool sub = !strcmp(op, "sub"), cas = !strcmp(op, "cas"), shared = space[0] == 's';
  bool bits = !strcmp(op, "and") || !strcmp(op, "or") || !strcmp(op, "xor") || !strcmp(op, "exch") || cas;
  const char *tail = strchr("fb", type[0]) && strstr(type, "16") && !bits ? ".noftz" : "";
  if (bits) type[0] = 'b', memmove(type + 1, type + strcspn(type, "0123456789"), 4);
  unsigned n = bits_of(f->sig.in[0]), step = cas ? 2 : 1, last = f->sig.nout - 1;
  const char *where = shared ? "%t" : "%dout";
  unsigned offset = shared ? 0 : 8 * last;
  if (shared) put(t, "  mov.u32 %%t, cells;\n  mov.u32 %%u, %%tid.x;\n  mad.lo.u32 %%t, %%u, 8, %%t;\n");
  put(t, "  st.%s.b%u [%s+%u], %s;\n", space, n, where, offset, in(f, 0));
  for (unsigned k = 0; k < last; k++) {
    unsigned b = 1 + k * step;
    if (sub) put(t, "  neg.s%u %s, %s;\n", n, in(f, b), in(f, b));
    put(t, "  atom.%s.%s%s.%s %s, [%s+%u], %s", space, sub ? "add" : op, tail, type, out(f, k), where, offset, in(f, b));
    put(t, "%s%s;\n", cas ? ", " : "", cas ? in(f, b + 1) : "");
  }
  put(t, "  ld.%s.b%u %s, [%s+%u];\n", space, n, out(f, last), where, offset);
}

static void put_body(struct text *t, const struct function *f) {
  const char *type = f->sig.out[0], *name = f->name;
  switch (f->kind) {
    case ROW: put_row(t, f); break;
    case ATOMIC: case SEQ4: put_atomic(t, f); break;
    case CARRY_PAIR:
      put(t, "  %.3s.cc.%s %s, %s, %s;\n", name, type, out(f, 0), in(f, 0), in(f, 2));
      put(t, "  %.3sc.%s %s, %s, %s;\n", name, type, out(f, 1), in(f, 1), in(f, 3));
      break;
    case CARRY_MAD:
      put(t, "  mad.lo.cc.%s %s, %s, %s, %s;\n", type, out(f, 0), in(f, 0), in(f, 1), in(f, 2));
      put(t, "  madc.hi.%s %s, %s, %s, %s;\n", type, out(f, 1), in(f, 0), in(f, 1), in(f, 3));
      break;
    case CARRY_CHAIN:
      put(t, "  add.cc.%s %s, %s, %s;\n", type, out(f, 0), in(f, 0), in(f, 1));
      put(t, "  addc.cc.%s %s, %s, %s;\n", type, out(f, 1), in(f, 2), in(f, 3));
      put(t, "  addc.%s %s, %s, %s;\n", type, out(f, 2), in(f, 0), in(f, 3));
      break;
    case MISSING: break;
  }
}

enum { BLOCK = 128 };

static void put_kernel(struct text *t, const struct function *f, size_t number) {
  put(t, ".visible .entry k%zu(.param .u64 in, .param .u64 out, .param .u32 n) { // %s\n", number, f->name);
  put(t, "  .reg .b16 %%hi<16>, %%ho<16>;\n  .reg .b32 %%ri<16>, %%ro<16>, %%t, %%u, %%i, %%n;\n");
  put(t, "  .reg .b64 %%di<16>, %%do<16>, %%din, %%dout;\n  .reg .pred %%pi<16>, %%po<16>, %%p;\n");
  if (f->kind == ATOMIC || f->kind == SEQ4) put(t, "  .shared .align 8 .b8 cells[%d];\n", 8 * BLOCK);
  put(t, "  mov.u32 %%t, %%tid.x;\n  mov.u32 %%u, %%ctaid.x;\n  mad.lo.u32 %%i, %%u, %d, %%t;\n", BLOCK);
  put(t, "  ld.param.u32 %%n, [n];\n  setp.ge.u32 %%p, %%i, %%n;\n  @%%p ret;\n");
  put(t, "  ld.param.u64 %%din, [in];\n  ld.param.u64 %%dout, [out];\n");
  put(t, "  mad.wide.u32 %%din, %%i, %u, %%din;\n  mad.wide.u32 %%dout, %%i, %u, %%dout;\n", 8 * f->sig.nin, 8 * f->sig.nout);
  for (unsigned k = 0; k < f->sig.nin; k++) put_io(t, in(f, k), f->sig.in[k], "%din", k, true);
  put_body(t, f);
  for (unsigned k = 0; k < f->sig.nout; k++) put_io(t, out(f, k), f->sig.out[k], "%dout", k, false);
  put(t, "  ret;\n}\n");
}

/* ---- launches --------------------------------------------------------------------------------------------------------*/

static bool say(mx_device *device, const char *what) {
  char *text = mx_last_error_text(device);
  fprintf(stderr, "conform: %s: %s\n", what, text ? text : "no reason given");
  free(text);
  return false;
}

static bool run(mx_device *device, mx_module *module, const struct function *f, size_t number, bool jit, uint64_t **got) {
  char name[32];
  snprintf(name, sizeof name, "k%zu", number);
  const size_t nin = f->sig.nin, nout = f->sig.nout, n = f->lines;
  uint64_t *cells = malloc((n * nin + 1) * sizeof *cells), *results = malloc((n * nout + 1) * sizeof *results);
  mx_kernel *kernel;
  mx_addr from = 0, to = 0;
  mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
  config.grid[0] = (uint32_t)((n + BLOCK - 1) / BLOCK);
  config.block[0] = BLOCK;
  config.jit = jit ? MX_JIT_ON : MX_JIT_OFF;
  uint32_t count = (uint32_t)n;
  const void *args[] = {&from, &to, &count};
  for (size_t l = 0; cells && l < n; l++) memcpy(cells + l * nin, f->values + l * (nin + nout), nin * sizeof *cells);
  bool done = cells && results && mx_module_kernel(module, name, &kernel) == MX_OK && mx_alloc(device, n * nin * 8, &from) == MX_OK &&
              mx_alloc(device, n * nout * 8, &to) == MX_OK && mx_copy_to_device(device, from, cells, n * nin * 8) == MX_OK &&
              mx_launch_args(kernel, &config, args, 3) == MX_OK && mx_copy_from_device(device, results, to, n * nout * 8) == MX_OK;
  if (done) *got = results;
  else say(device, f->name), free(results), mx_device_reset(device);
  free(cells);
  mx_free(device, from);
  mx_free(device, to);
  return done;
}

bool mx__run_kernels(const struct function *fs, size_t n, bool jit, uint64_t **got) {
  mx_device *device;
  mx_device_options options = MX_DEVICE_OPTIONS_INIT;
  if (mx_device_create(&options, &device) != MX_OK) return false;
  bool right = true;
  /* a module holds a few functions, so that one that is refused is found and does not stop the others */
  enum { PART = 32 };
  for (size_t part = 0; part < n; part += PART) {
    for (size_t alone = 0; alone <= PART; alone++) { /* 0: all of the part; then, if that failed, one by one */
      struct text t = {0};
      size_t first = alone ? part + alone - 1 : part, last = alone ? first + 1 : part + PART;
      put(&t, ".version 8.0\n.target sm_90\n.address_size 64\n");
      for (size_t k = first; k < last && k < n; k++)
        if (fs[k].kind != MISSING) put_kernel(&t, &fs[k], k);
      mx_module *module;
      char *messages;
      mx_status s = mx_module_load_text(device, t.at, t.size, NULL, &module, &messages);
      if (s == MX_OK) {
        for (size_t k = first; k < last && k < n; k++)
          if (fs[k].kind != MISSING && fs[k].lines) right &= run(device, module, &fs[k], k, jit, &got[k]);
        mx_module_unload(module);
      } else if (alone && first < n) {
        fprintf(stderr, "conform: %s: %s", fs[first].name, messages ? messages : "not loaded\n");
        right = false;
      }
      free(messages);
      free(t.at);
      if (s == MX_OK && !alone) break;
    }
  }
  mx_device_destroy(device);
  return right;
}
