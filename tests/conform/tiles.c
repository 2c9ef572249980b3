/* Recordings of matrix instructions: whole matrices (wmma/X.txt) in warps of 32 lanes and of 64, and registers
 * (mma.txt). All lines of one name are the blocks of one launch. Every bit must agree. Knows the public interface only.
 */
#include "tests/conform/conform.h"

#include "mx/mx.h"
#include "mx/text.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS = 4, D, A = 0, B, C, META = PARTS - 1, MOST = 4096, LINES = 4096 };

/* One name of a file, with its lines. */
struct group {
  char name[128];
  unsigned count[PARTS + 1]; /* elements of A, B, C, metadata, D */
  unsigned bits[PARTS + 1];
  uint64_t *cells; /* line after line: all of A, B, C, metadata, D */
  size_t lines, room;
};
struct place {
  unsigned rows, cols;
  bool is_col;
  char type[8];
};
/* What a file's header says of whole matrices. */
struct matrices {
  bool is;
  char shape[16];
  char op[8];
  unsigned k;
  struct place a, b, c, d;
};

static size_t line_cells(const struct group *g) {
  size_t n = 0;
  for (unsigned p = 0; p <= PARTS; p++) n += g->count[p];
  return n;
}

/* "3c00,0000,..." or digits without commas: one each. Returns how many, at most MOST; 0: wrong. */
static unsigned read_cells(const char *s, size_t n, uint64_t *to) {
  const bool commas = memchr(s, ',', n) || n > 1;
  unsigned count = 0;
  if (!n || (n == 1 && *s == '-')) return 0;
  if (!commas || !memchr(s, ',', n)) { /* one hexadecimal digit an element */
    for (size_t k = 0; k < n && count < MOST; k++) to[count++] = strtoul((char[]){s[k], 0}, NULL, 16);
    return count;
  }
  for (const char *end = s + n; s < end && count < MOST; s++) {
    char *at;
    to[count++] = strtoull(s, &at, 16);
    s = at;
  }
  return count;
}

static unsigned type_bits(const char *type) {
  const char *digits = strpbrk(type, "0123456789");
  return !strcmp(type, "tf32")                       ? 32
         : !strncmp(type, "b1", 2) && type[2] != '6' ? 1
         : digits                                    ? (unsigned)atoi(digits)
                                                     : 0;
}

/* "# m16n16k16_f16_f32_f32: A f16[16x16], B ..., C ... -> D ..." */
static bool read_header(const char *line, struct matrices *m) {
  char name[64], *types[3];
  if (sscanf(line, "# %63[^:]: A ", name) != 1 || strncmp(name, "m", 1)) return false;
  char *at = name;
  for (unsigned k = 0; k < 3; k++) {
    at = strchr(at, '_');
    if (!at) return false;
    *at++ = 0;
    types[k] = at;
  }
  unsigned rows, cols;
  *m = (struct matrices){.is = true};
  if (sscanf(name, "m%un%uk%u", &rows, &cols, &m->k) != 3) return false;
  snprintf(m->shape, sizeof m->shape, "%.15s", name);
  if (!strncmp(types[0], "b1", 2)) snprintf(m->op, sizeof m->op, ".%.5s", types[0] + 2), types[0][2] = 0;
  m->a = (struct place){rows, m->k, false, ""};
  m->b = (struct place){m->k, cols, false, ""};
  m->c = m->d = (struct place){rows, cols, false, ""};
  snprintf(m->a.type, 8, "%.7s", types[0]), snprintf(m->b.type, 8, "%.7s", types[0]);
  snprintf(m->c.type, 8, "%.7s", types[1]), snprintf(m->d.type, 8, "%.7s", types[2]);
  return true;
}

/* ---- programs ----------------------------------------------------------------------------------------------*/
static void put_registers(struct text *t, char letter, unsigned n) {
  put(t, "{");
  for (unsigned k = 0; k < n; k++) put(t, "%s%%%c%u", k ? ", " : "", letter, k);
  put(t, "}");
}
static void put_begin(struct text *t, unsigned lanes) {
  put(t, "%s\n.entry run(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 meta, .param .u64 d)\n{\n",
      lanes == 32 ? ".target sm_90" : ".target mx64");
}
static void put_address(struct text *t, const char *what, size_t bytes) {
  put(t, "  .reg .u64 %%p%s;\n  ld.param.u64 %%p%s, [%s];\n  mad.wide.u32 %%p%s, %%ctaid.x, %zu, %%p%s;\n", what, what,
      what, what, bytes, what);
}
static const char *register_type(unsigned bits, const char *type) {
  return bits == 64 ? "f64" : !strcmp(type, "f32") ? "f32" : "b32";
}

static unsigned fragment(const struct place *p, unsigned lanes, bool sum) {
  const unsigned bits = type_bits(p->type), all = p->rows * p->cols * (bits == 64 ? 32 : bits) / 1024;
  const unsigned n = !sum && !strcmp(p->type, "f16") ? 8 : all ? all : 1;
  return lanes == 64 && n > 1 ? n / 2 : n;
}
static size_t matrix_bytes(const struct place *p) { return ((size_t)p->rows * p->cols * type_bits(p->type) + 7) / 8; }
static unsigned pitch(const struct place *p) { return p->is_col ? p->rows : p->cols; }

static void put_wmma(struct text *t, const struct matrices *m, bool finite, unsigned lanes) {
  const struct place *part[] = {&m->a, &m->b, &m->c, &m->d};
  static const char *const names[] = {"a", "b", "c", "d"};
  put_begin(t, lanes);
  for (unsigned k = 0; k < 4; k++) {
    const unsigned n = fragment(part[k], lanes, k > 1);
    put_address(t, names[k], matrix_bytes(part[k]));
    put(t, "  .reg .%s %%%s<%u>;\n", register_type(type_bits(part[k]->type), part[k]->type), names[k], n);
    if (k == 3) break;
    put(t, "  wmma.load.%s.sync.aligned.%s.%s.global.%s ", names[k], part[k]->is_col ? "col" : "row", m->shape,
        part[k]->type);
    put_registers(t, names[k][0], n);
    put(t, ", [%%p%s], %u;\n", names[k], pitch(part[k]));
  }
  put(t, "  wmma.mma%s%s.sync.aligned.%s.%s.%s.%s", m->op, *m->op ? ".popc" : "", m->a.is_col ? "col" : "row",
      m->b.is_col ? "col" : "row", m->shape, m->d.type);
  if (strcmp(m->a.type, "f16")) put(t, ".%s.%s", m->a.type, m->b.type);
  put(t, ".%s%s ", m->c.type, finite ? ".satfinite" : "");
  static const char order[] = "dabc";
  for (unsigned k = 0; k < 4; k++) {
    const unsigned at = k ? k - 1 : 3;
    put(t, k ? ", " : "");
    put_registers(t, order[k], fragment(part[at], lanes, at > 1));
  }
  put(t, ";\n  wmma.store.d.sync.aligned.%s.%s.global.%s [%%pd], ", m->d.is_col ? "col" : "row", m->shape, m->d.type);
  put_registers(t, 'd', fragment(&m->d, lanes, true));
  put(t, ", %u;\n  ret;\n}\n", pitch(&m->d));
}

/* An instruction whose registers are recorded; "#2" behind it is the selector of the metadata's lanes. */
static void put_mma(struct text *t, const struct group *g) {
  const char *selector = strchr(g->name, '#');
  static const char *const names[] = {"a", "b", "c", "meta", "d"};
  put_begin(t, 32);
  put(t, "  .reg .u32 %%lane;\n  mov.u32 %%lane, %%tid.x;\n");
  for (unsigned p = 0; p <= PARTS; p++) {
    if (!g->count[p]) continue;
    const unsigned bytes = g->bits[p] / 8, n = g->count[p] / 32;
    put_address(t, names[p], (size_t)g->count[p] * bytes);
    put(t, "  .reg .b%u %%%c<%u>;\n  mad.wide.u32 %%p%s, %%lane, %u, %%p%s;\n", g->bits[p], names[p][0], n, names[p],
        bytes, names[p]);
    for (unsigned k = 0; k < n && p < PARTS; k++)
      put(t, "  ld.global.b%u %%%c%u, [%%p%s+%u];\n", g->bits[p], names[p][0], k, names[p], k * 32 * bytes);
  }
  put(t, "  %.*s ", selector ? (int)(selector - g->name) : (int)strlen(g->name), g->name);
  static const unsigned order[] = {PARTS, A, B, C};
  for (unsigned k = 0; k < 4; k++) {
    put(t, k ? ", " : "");
    put_registers(t, names[order[k]][0], g->count[order[k]] / 32);
  }
  if (selector) put(t, ", %%m0, %s", selector + 1);
  put(t, ";\n");
  for (unsigned k = 0; k < g->count[PARTS] / 32; k++)
    put(t, "  st.global.b%u [%%pd+%u], %%d%u;\n", g->bits[PARTS], k * 32 * g->bits[PARTS] / 8, k);
  put(t, "  ret;\n}\n");
}

/* ---- runs ------------------------------------------------------------------------------------------------------*/
static void pack(unsigned char *to, const uint64_t *cells, const struct place *p) {
  const unsigned bits = type_bits(p->type);
  for (unsigned r = 0; r < p->rows; r++)
    for (unsigned c = 0; c < p->cols; c++) {
      const uint64_t v = cells[r * p->cols + c];
      const size_t at = p->is_col ? (size_t)c * p->rows + r : (size_t)r * p->cols + c;
      if (bits >= 8) memcpy(to + at * bits / 8, &v, bits / 8);
      else to[at * bits / 8] |= (unsigned char)(v << at * bits % 8);
    }
}
static uint64_t unpack(const unsigned char *from, const struct place *p, unsigned cell) {
  const unsigned bits = type_bits(p->type), r = cell / p->cols, c = cell % p->cols;
  uint64_t v = 0;
  memcpy(&v, from + (p->is_col ? (size_t)c * p->rows + r : (size_t)r * p->cols + c) * bits / 8, bits / 8);
  return v;
}

/* Runs the lines of a group; returns how many elements differ, or -1. */
static long run_group(mx_device *device, const struct group *g, const struct matrices *m, struct text *t,
                      unsigned lanes, bool jit, char *first, size_t room) {
  mx_module *module = NULL;
  char *messages = NULL;
  mx_kernel *kernel;
  long bad = -1;
  mx_addr address[PARTS + 1] = {0};
  unsigned char *host[PARTS + 1] = {0};
  size_t bytes[PARTS + 1];
  const size_t all = line_cells(g);
  struct place flat[PARTS + 1];
  for (unsigned p = 0; p <= PARTS; p++) {
    flat[p] = (struct place){1, g->count[p], false, ""};
    snprintf(flat[p].type, sizeof flat[p].type, "b%u", g->bits[p]);
  }
  const struct place *places[] = {m->is ? &m->a : &flat[0], m->is ? &m->b : &flat[1], m->is ? &m->c : &flat[2],
                                  &flat[3], m->is ? &m->d : &flat[4]};
  bool fine = mx_module_load_text(device, t->s, t->n, NULL, &module, &messages) == MX_OK &&
              mx_module_kernel(module, "run", &kernel) == MX_OK;
  for (unsigned p = 0; p <= PARTS && fine; p++) {
    bytes[p] = g->count[p] ? matrix_bytes(places[p]) : 0;
    host[p] = calloc(bytes[p] * g->lines + 1, 1);
    fine = host[p] && mx_alloc(device, bytes[p] * g->lines + 1, &address[p]) == MX_OK;
    size_t before = 0;
    for (unsigned q = 0; q < p; q++) before += g->count[q];
    for (size_t l = 0; l < g->lines && p < PARTS && fine && bytes[p]; l++)
      pack(host[p] + l * bytes[p], g->cells + l * all + before, places[p]);
    if (fine && p < PARTS && bytes[p])
      fine = mx_copy_to_device(device, address[p], host[p], bytes[p] * g->lines) == MX_OK;
  }
  if (fine) {
    mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
    config.grid[0] = (uint32_t)g->lines;
    config.block[0] = lanes;
    config.jit = jit ? MX_JIT_ON : MX_JIT_OFF;
    const void *args[] = {&address[0], &address[1], &address[2], &address[3], &address[4]};
    fine = mx_launch_args(kernel, &config, args, 5) == MX_OK &&
           mx_copy_from_device(device, host[PARTS], address[PARTS], bytes[PARTS] * g->lines) == MX_OK;
  }
  if (fine) {
    bad = 0;
    for (size_t l = 0; l < g->lines; l++)
      for (unsigned c = 0; c < g->count[PARTS]; c++) {
        const uint64_t want = g->cells[l * all + all - g->count[PARTS] + c],
                       got = unpack(host[PARTS] + l * bytes[PARTS], places[PARTS], c);
        if (want == got) continue;
        if (!bad++)
          snprintf(first, room, "line %zu, element %u: want %llx got %llx", l, c, (unsigned long long)want,
                   (unsigned long long)got);
      }
  } else {
    char *text = messages ? NULL : mx_last_error_text(device);
    snprintf(first, room, "%s", messages ? messages : text ? text : "not run");
    free(text);
  }
  for (unsigned p = 0; p <= PARTS; p++) mx_free(device, address[p]), free(host[p]);
  free(messages);
  if (module) mx_module_unload(module);
  return bad;
}

static void run(mx_device *device, const char *file, struct group *g, const struct matrices *header, bool jit,
                struct tally *n) {
  struct matrices m = *header;
  const char *layouts = m.is ? strchr(g->name, '.') : NULL;
  if (layouts) m.a.is_col = m.c.is_col = layouts[1] == 'c', m.b.is_col = m.d.is_col = layouts[2] == 'c';
  for (unsigned lanes = 32; lanes <= (m.is ? 64 : 32); lanes *= 2) {
    struct text t = {0};
    char first[512] = "";
    if (m.is) put_wmma(&t, &m, strstr(g->name, ".satf"), lanes);
    else put_mma(&t, g);
    const long bad = run_group(device, g, &m, &t, lanes, jit, first, sizeof first);
    n->elements += g->lines * g->count[PARTS];
    if (bad)
      n->failed++, printf("%s: %s, %u lanes: %ld of %zu elements differ; %s\n", file, g->name, lanes, bad,
                          g->lines * g->count[PARTS], first);
    else n->passed++;
    free(t.s);
  }
}

bool mx__run_tiles(const char *path, const char *only, unsigned every, const struct how *how, struct tally *n) {
  FILE *in = fopen(path, "r");
  if (!in) return false;
  char *line = NULL;
  size_t room = 0;
  ssize_t length = getline(&line, &room, in);
  struct matrices m = {0};
  if (length < 2 || (!read_header(line, &m) && strncmp(line, "# registers", 11))) return free(line), fclose(in), false;
  mx_device *device;
  mx_device_options options = MX_DEVICE_OPTIONS_INIT;
  options.threads = how->threads;
  if (mx_device_create(&options, &device) != MX_OK) return free(line), fclose(in), false;
  const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  struct group *groups = NULL;
  size_t ngroups = 0;
  static uint64_t cells[5 * MOST];
  while ((length = getline(&line, &room, in)) > 0) {
    if (line[length - 1] == '\n') line[--length] = 0;
    if (*line == '#' || !length) continue;
    char name[128];
    const char *tab = strchr(line, '\t');
    if (!tab || tab - line >= (long)sizeof name) continue;
    snprintf(name, sizeof name, "%.*s", (int)(tab - line), line);
    if (m.is && strrchr(name, '.')) *strrchr(name, '.') = 0; /* the style of its data */
    if (only && !strstr(name, only)) continue;
    struct group *g = NULL;
    for (size_t k = 0; k < ngroups && !g; k++)
      if (!strcmp(groups[k].name, name)) g = &groups[k];
    if (!g) {
      groups = realloc(groups, (ngroups + 1) * sizeof *groups);
      if (!groups) abort();
      g = &groups[ngroups++];
      *g = (struct group){0};
      memcpy(g->name, name, sizeof name);
    }
    const char *at = tab + 1;
    size_t total = 0;
    for (unsigned p = 0; p <= PARTS; p++) {
      if (m.is && p == META) continue;
      const size_t width = strcspn(at, "\t");
      const unsigned count = read_cells(at, width, cells + total);
      g->count[p] = count;
      g->bits[p] = count && memchr(at, ',', width) ? 4 * (unsigned)strcspn(at, ",") : 32;
      total += count;
      at += width;
      if (*at == '\t') at++;
    }
    if ((g->lines + 1) * total > g->room) {
      g->room = 2 * (g->lines + 1) * total;
      g->cells = realloc(g->cells, g->room * sizeof *g->cells);
      if (!g->cells) abort();
    }
    memcpy(g->cells + g->lines++ * total, cells, total * sizeof *cells);
  }
  for (size_t k = 0; k < ngroups; k++) {
    if (k % every == 0) run(device, file, &groups[k], &m, how->jit, n);
    free(groups[k].cells);
  }
  free(groups);
  mx_device_destroy(device);
  free(line);
  fclose(in);
  return true;
}
