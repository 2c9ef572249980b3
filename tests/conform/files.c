/* Vector files: text families, warps, and all results of a function of 16 bits. Knows their formats only. */
#include "tests/conform/conform.h"

#include <stdlib.h>
#include <string.h>

/* ---- lines ------------------------------------------------------------------------------------------------------*/
static void set_types(char types[][8], unsigned *n, const char *text) {
  *n = 0;
  while (*text && *n < MAX_VALUES) {
    size_t len = strcspn(text, ",");
    snprintf(types[(*n)++], 8, "%.*s", (int)(len < 7 ? len : 7), text);
    text += len;
    if (*text) text++;
  }
}

static unsigned values(const char *text, uint64_t *v, unsigned room) {
  unsigned n = 0;
  for (const char *p = text; *p && *p != '\t' && n < room; n++) {
    char *end;
    v[n] = strtoull(p, &end, 16);
    if (*p == '-') end++; /* no defined value */
    p = end + (*end == ',');
  }
  return n;
}

/* Room for one more line. */
static uint64_t *add_line(struct function *f) {
  const unsigned each = f->sig.nin + f->sig.nout;
  if (f->lines == f->room) {
    f->room = f->room ? 2 * f->room : 64;
    uint64_t *more = realloc(f->values, f->room * each * sizeof *more);
    if (!more) abort();
    f->values = more;
    if (f->warp && !(f->open = realloc(f->open, f->room))) abort();
  }
  return f->values + f->lines++ * each;
}

/* Field k of a line, separated by tabs; NULL: there are fewer. */
static const char *field(const char *line, unsigned k) {
  while (k-- && line) line = strchr(line, '\t') ? strchr(line, '\t') + 1 : NULL;
  return line;
}

static bool plain_line(struct function *f, const char *line) {
  const char *in = field(line, 1), *out = field(line, 2);
  uint64_t v[MAX_VALUES], r[MAX_VALUES];
  if (!in) return true;
  if (!out || values(in, v, MAX_VALUES) != f->sig.nin || values(out, r, MAX_VALUES) != f->sig.nout) return false;
  uint64_t *to = add_line(f);
  memcpy(to, v, f->sig.nin * sizeof *v);
  memcpy(to + f->sig.nin, r, f->sig.nout * sizeof *r);
  return true;
}

/* name, "mask,width,param", [32 lane operands if param is '-',] 32 inputs, 32 outputs[, 32 predicates] */
static bool warp_line(struct function *f, const char *line) {
  enum { LANES = 32 };
  uint64_t head[3], param[LANES], in[LANES], out[2][LANES];
  const char *h = field(line, 1);
  if (!h || !strchr(h, ',')) return !h;
  const char *width = strchr(h, ',') + 1, *one = strchr(width, ',') + 1;
  const bool per_lane = *one == '-';
  unsigned at = 2;
  if (values(h, head, 3) != 3) return false;
  head[1] = strtoull(width, NULL, 10);
  for (unsigned l = 0; l < LANES; l++) param[l] = head[2];
  if (per_lane && values(field(line, at++), param, LANES) != LANES) return false;
  const char *results = field(line, at + 1);
  if (!results || values(field(line, at), in, LANES) != LANES) return false;
  bool open[LANES] = {false};
  for (unsigned k = 0; k < f->sig.nout; k++) {
    const char *p = field(line, at + 1 + k);
    if (!p || values(p, out[k], LANES) != LANES) return false;
    for (unsigned l = 0; l < LANES; l++, p += strcspn(p, ",\t") + 1) open[l] |= *p == '-';
  }
  for (unsigned l = 0; l < LANES; l++) {
    uint64_t *to = add_line(f);
    to[0] = in[l], to[1] = param[l], to[2] = head[0], to[3] = head[1];
    for (unsigned k = 0; k < f->sig.nout; k++) to[4 + k] = out[k][l];
    f->open[f->lines - 1] = open[l];
  }
  return true;
}

/* ---- files ------------------------------------------------------------------------------------------------------*/
struct reader {
  const char *file, *only;
  unsigned every, number;
  struct function **fs;
  size_t *n;
};

static struct function *new_function(struct reader *r, const char *name, const char *in, const char *out) {
  if ((r->only && !strstr(name, r->only)) || r->number++ % r->every) return NULL;
  struct function *more = realloc(*r->fs, (*r->n + 1) * sizeof *more);
  if (!more) abort();
  *r->fs = more;
  struct function *f = memset(&more[(*r->n)++], 0, sizeof *f);
  f->file = r->file;
  snprintf(f->name, sizeof f->name, "%s", name);
  set_types(f->sig.in, &f->sig.nin, in);
  set_types(f->sig.out, &f->sig.nout, out);
  return f;
}

static bool read_text(FILE *in, struct reader *r) {
  char line[4096], name[128], types[256], out[128];
  bool right = true;
  struct function *f = NULL;
  const bool warp = !strncmp(r->file, "warp", 4);
  while (fgets(line, sizeof line, in)) {
    line[strcspn(line, "\n")] = 0;
    if (line[0] != '#') {
      if (f) right &= f->warp ? warp_line(f, line) : plain_line(f, line);
    } else if (sscanf(line, "# %127[^: <]: %255s -> %127s", name, types, out) == 3) {
      if (warp) strcat(types, ",u32,u32,s32");
      f = new_function(r, name, types, out);
      if (f) f->warp = warp, f->ptx = !strncmp(r->file, "ptx_", 4) || strchr(name, '(');
    }
  }
  return right;
}

/* The types of a function of 16 bits by its name: f16_NAME, bf16_NAME, or ptx_INSTRUCTION, which ends in its type. */
static bool read_all16(FILE *in, struct reader *r) {
  char name[128];
  const char *file = r->file;
  const bool ptx = !strncmp(file, "ptx_", 4);
  const char *start = strchr(file, '_') + 1;
  snprintf(name, sizeof name, "%.*s", (int)(strlen(start) - 4), start);
  const char *own = ptx ? strrchr(name, '.') + 1 : strncmp(file, "bf16_", 5) ? "f16" : "bf16";
  const char *from = !strncmp(name, "__short2", 8) ? "s16" : !strncmp(name, "__ushort2", 9) ? "u16" : own;
  const char *to = strstr(name, "2short_") ? "s16" : strstr(name, "2ushort_") ? "u16" : own;
  struct function *f = new_function(r, name, from, to);
  if (!f) return true;
  f->ptx = ptx;
  uint8_t pair[2];
  uint32_t n = 0;
  for (; n < 65536 && fread(pair, 1, 2, in) == 2; n++) {
    uint64_t *v = add_line(f);
    v[0] = n, v[1] = (uint64_t)(pair[0] | pair[1] << 8);
  }
  return n == 65536;
}

bool mx__read_vectors(const char *path, const char *only, unsigned every, struct function **fs, size_t *n) {
  FILE *in = strcmp(path, "-") ? fopen(path, "r") : stdin;
  if (!in) return false;
  const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path, *dot = strrchr(file, '.');
  struct reader r = {file, only, every, 0, fs, n};
  bool right = dot && !strcmp(dot, ".bin") && strchr(file, '_') ? read_all16(in, &r) : read_text(in, &r);
  if (in != stdin) fclose(in);
  return right;
}
