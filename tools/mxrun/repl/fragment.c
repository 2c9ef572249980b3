/* Fragments of matrix instructions, shown as the matrices that they are: `print wmma(%c0..%c3, c, 16x16x16)`. Which
 * lane has which element is core/tile.h's; the form is found in the table, by shape, part, registers and type. */
#include "core/tile.h"
#include "repl.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 64, MOST_COLS = 256 };
static const char parts[] = "dabc";

struct fragment {
  char *name[MX_TILE_MAX_REGS];
  unsigned n, part, m, cols, k; /* n registers; the shape: m x cols x k */
  char type[8];                 /* empty: any */
  bool wmma;
};

/* "%c0" or "%c0..%c3" */
static bool take_registers(struct repl *r, struct fragment *f, char *word) {
  char *dots = strstr(word, ".."), *last = dots ? dots + 2 + strspn(dots + 2, " ") : NULL;
  if (dots) *dots = 0;
  size_t n = strlen(word), digits;
  while (n && isspace((unsigned char)word[n - 1])) word[--n] = 0;
  digits = n;
  while (digits && isdigit((unsigned char)word[digits - 1])) digits--;
  const unsigned long from = strtoul(word + digits, NULL, 10),
                      to = dots && !strncmp(last, word, digits) ? strtoul(last + digits, NULL, 10) : from;
  if (dots && (digits == n || strncmp(last, word, digits) || !isdigit((unsigned char)last[digits]) || to < from))
    return complain(r, "'%s..%s' is no range of registers", word, last);
  for (unsigned long k = from; k <= to; k++) {
    if (f->n == MX_TILE_MAX_REGS) return complain(r, "a fragment has %d registers at most", MX_TILE_MAX_REGS);
    f->name[f->n++] = dots ? format("%.*s%lu", (int)digits, word, k) : cli_strdup(word);
  }
  return true;
}
static bool read_fragment(struct repl *r, struct fragment *f, char *text) {
  char *save = NULL, x = 0;
  bool shape = false;
  f->part = MX_PARTS;
  for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
    word += strspn(word, " \t{}");
    word[strcspn(word, "\t{}")] = 0;
    for (size_t n = strlen(word); n && word[n - 1] == ' ';) word[--n] = 0;
    if (*word == '%') {
      if (!take_registers(r, f, word)) return false;
    } else if (sscanf(word, "%3ux%3ux%3u%c", &f->m, &f->cols, &f->k, &x) == 3) shape = true;
    else if (strlen(word) == 1 && strchr(parts, *word)) f->part = (unsigned)(strchr(parts, *word) - parts);
    else if (*word && strlen(word) < sizeof f->type && !*f->type) strcpy(f->type, word);
    else return complain(r, "'%s' is no register, part (a b c d), shape (16x16x16) or type", word);
  }
  return (f->n && shape && f->part < MX_PARTS) ||
         complain(r, "expected registers, a part (a b c d), a shape (16x16x16) and perhaps a type: wmma(%%c0..%%c3, c, "
                     "16x16x16)");
}

/* The form that has such a fragment. `bits`, `type`: of the registers; the type tells f32 from s32 where nothing is
 * said. */
static bool find_form(const struct fragment *f, unsigned lanes, unsigned bits, const char *type, struct mx_tile *t,
                      unsigned *part) {
  bool found = false;
  for (unsigned op = MX_WMMA_LOAD_A_F16_32; op < MX_LDMATRIX_X1; op++)
    for (unsigned mod = 0; mod < mx__ops[op].mods; mod++) {
      struct mx_tile form;
      mx__tile_read(&form, op, mod);
      if (form.wmma != f->wmma || form.lanes != lanes || form.m != f->m || form.n != f->cols || form.k != f->k)
        continue;
      for (unsigned p = 0; p < MX_PARTS; p++) {
        if (p != f->part || form.nregs[p] != f->n || (mx__elements[form.type[p]].bits > 32) != (bits > 32)) continue;
        const char *name = mx__elements[form.type[p]].name;
        if (*f->type ? strcmp(name, f->type) != 0 : found && strcmp(name, type) != 0) continue;
        if (!found || !strcmp(name, type)) *t = form, *part = p;
        found = true;
        if (*f->type || !strcmp(name, type)) return true;
      }
    }
  return found;
}

static double small_real(unsigned exponent_bits, unsigned fraction_bits, uint64_t bits, bool infinite) {
  const unsigned field = (unsigned)(bits >> fraction_bits) & ((1u << exponent_bits) - 1),
                 most = (1u << exponent_bits) - 1, fraction = (unsigned)bits & ((1u << fraction_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  double v =
      ldexp(field ? fraction + (1u << fraction_bits) : fraction, (int)(field ? field : 1) - bias - (int)fraction_bits);
  if (field == most && (infinite || fraction + 1 == 1u << fraction_bits)) v = fraction ? (double)NAN : (double)INFINITY;
  return bits >> (exponent_bits + fraction_bits) & 1 ? -v : v;
}
static char *element_text(unsigned type, uint64_t bits, char fmt) {
  const struct mx_element_info *e = &mx__elements[type];
  struct text t = {0};
  if (fmt == 'x') text_printf(&t, "0x%llx", (unsigned long long)bits);
  else if (type == MX_E_e4m3 || type == MX_E_e5m2)
    text_printf(&t, "%g", type == MX_E_e4m3 ? small_real(4, 3, bits, false) : small_real(5, 2, bits, true));
  else if (e->kind == MX_ELEMENT_FLOAT) {
    if (type == MX_E_tf32) bits &= 0xFFFFE000; /* the others are not looked at */
    const char *as = type == MX_E_tf32 ? "f32" : e->name;
    elem_print(&t, elem_find(as, strlen(as)), &bits);
  } else if (e->kind == MX_ELEMENT_SIGNED)
    text_printf(&t, "%lld", (long long)(int64_t)(bits << (64 - e->bits)) >> (64 - e->bits));
  else text_printf(&t, "%llu", (unsigned long long)bits);
  return t.s;
}

static bool show(struct repl *r, const struct fragment *f, const char *text, char fmt) {
  mx_debug_register reg[MX_TILE_MAX_REGS];
  for (unsigned k = 0; k < f->n; k++) {
    reg[k] = (mx_debug_register){.struct_size = sizeof reg[k]};
    const mx_status s = mx_debug_get_register(r->g, r->block, r->warp, r->split, r->frame, f->name[k], &reg[k]);
    if (s != MX_OK) return complain(r, "%s holds nothing here", f->name[k]);
    if (reg[k].unset) return say("%s is not set yet\n", f->name[k]), true;
  }
  struct mx_tile t;
  unsigned part = MX_PART_D, rows, cols, width = 1;
  if (!find_form(f, reg[0].lanes, reg[0].bits, reg[0].type, &t, &part))
    return complain(r, "no %s of warps of %u lanes has such a fragment: %u registers of %c, %ux%ux%u%s%s",
                    f->wmma ? "wmma" : "mma", reg[0].lanes, f->n, parts[f->part], f->m, f->cols, f->k,
                    *f->type ? " " : "", f->type);
  mx__tile_size(&t, part, &rows, &cols);
  if (t.quads) rows *= 4; /* the four products, one behind the other */
  const struct mx_element_info *e = &mx__elements[t.type[part]];
  char *(*cell)[MOST_COLS] = cli_alloc(MOST_ROWS * sizeof *cell);
  memset(cell, 0, MOST_ROWS * sizeof *cell);
  const unsigned per = mx__tile_per_reg(&t, part);
  for (unsigned k = 0; k < f->n; k++)
    for (unsigned l = 0; l < reg[k].lanes; l++)
      for (unsigned at = 0; at < per; at++) {
        const struct mx_cell c = mx__tile_cell(&t, part, k, l, at);
        char **to = &cell[c.row][c.col];
        if (*to) continue; /* a copy */
        *to = reg[k].known >> l & 1
                  ? element_text(t.type[part],
                                 e->bits == 64 ? reg[k].low[l]
                                               : reg[k].low[l] >> at * e->bits & ((UINT64_C(1) << e->bits) - 1),
                                 fmt)
                  : cli_strdup("?");
        if (strlen(*to) > width) width = (unsigned)strlen(*to);
      }
  printf("%s (%s[%u,%u])\n", text, e->name, rows, cols);
  for (unsigned row = 0; row < rows; row++) {
    printf("  %2u:", row);
    for (unsigned col = 0; col < cols; col++)
      printf(e->bits == 1 && fmt != 'x' ? "%s%*s" : "%s %*s", e->bits == 1 && fmt != 'x' && !col ? " " : "", (int)width,
             cell[row][col] ? cell[row][col] : "?");
    printf("\n");
  }
  for (unsigned k = 0; k < MOST_ROWS * MOST_COLS; k++) free(cell[k / MOST_COLS][k % MOST_COLS]);
  free(cell);
  return true;
}

bool print_fragment(struct repl *r, const char *text, char fmt, bool *good) {
  struct fragment f = {.wmma = !strncmp(text, "wmma(", 5)};
  const size_t n = strlen(text), head = f.wmma ? 5 : 4;
  if ((!f.wmma && strncmp(text, "mma(", 4)) || text[n - 1] != ')') return false;
  char *inner = format("%.*s", (int)(n - head - 1), text + head);
  *good = running(r) && read_fragment(r, &f, inner) && show(r, &f, text, fmt);
  for (unsigned k = 0; k < f.n; k++) free(f.name[k]);
  free(inner);
  return true;
}
