/* Compares the table's meanings with recordings of a real GPU, function by function, bit for bit.
 *   conform [-v] [-level NAME] [-only TEXT] FILE...     vector files (their format: tests/vectors/README.md), - for stdin
 * -level: the CPU level whose lane functions are used. Approximate functions are held to PTX's bounds instead.
 * Prints functions without a row, functions that differ (with their first difference) and 'N passed, N failed'.
 * Finds a row as an assembler would, by spelling and operand widths, but with a matcher of its own. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mx/isa.h"
#include "tests/vectors/approximate.h"
#include "tests/vectors/eval.h"

enum { MAX_VALUES = 16 };
struct signature { unsigned nin, nout; char in[MAX_VALUES][8], out[MAX_VALUES][8]; };

/* ---- spelling patterns ---------------------------------------------------------------------------------------------*/

static const char *group_end(const char *p, char close) { while (*p != close) p++; return p; }

/* Whether text matches the pattern from here on; adds the digits of its {} groups, of weight `place`, to *mod. */
static bool match(const char *p, const char *text, unsigned place, unsigned *mod) {
  while (*p) {
    if (*p != '{' && *p != '<' && *p != '[') {
      if (*p++ != *text++) return false;
      continue;
    }
    char open = *p, close = (char)(open == '{' ? '}' : open == '<' ? '>' : ']');
    const char *end = group_end(p, close);
    unsigned digits = 1;
    for (const char *c = p; c < end; c++) digits += *c == '|';
    unsigned digit = 0;
    for (const char *c = p + 1; c <= end; digit += *c == '|', c++) {
      size_t n = strcspn(c, "|=}>]");
      if (!strncmp(c, text, n)) {
        unsigned m = *mod + (open == '{' ? place * digit : 0);
        if (match(end + 1, text + n, open == '{' ? place * digits : place, &m)) {
          *mod = m;
          return true;
        }
      }
      c += n;
    }
    return open == '[' && match(end + 1, text, place, mod);
  }
  return !*text;
}

/* A vector type's register width, and a row operand's. Bytes travel in 16-bit registers. */
static unsigned width(const char *type) {
  if (!strcmp(type, "pred")) return 1;
  unsigned n = strstr(type, "x2") ? 32 : (unsigned)atoi(type + strcspn(type, "0123456789"));
  return n == 8 ? 16 : n;
}
static unsigned row_width(unsigned type) {
  unsigned n = mx__types[type].bits;
  return n == 8 ? 16 : n;
}

static int find(const char *name, const struct signature *s, unsigned *mod) {
  for (int op = 0; op < MX_OP_COUNT; op++) {
    const struct mx_op_info *o = &mx__ops[op];
    if (o->flags & MX_F_HIDDEN || (o->cls != MX_LANE && o->cls != MX_MEM)) continue;
    *mod = 0;
    if (!match(o->spelling, name, 1, mod)) continue;
    unsigned nin = 0, nout = 0;
    bool fits = true;
    for (unsigned k = 0; k < o->nopnds && fits; k++) {
      bool out = o->opnd[k].role & MX_OUT;
      unsigned *n = out ? &nout : &nin;
      fits = *n < (out ? s->nout : s->nin) && width(out ? s->out[*n] : s->in[*n]) == row_width(o->opnd[k].type);
      ++*n;
    }
    if (fits && nin == s->nin && nout == s->nout) return op;
  }
  return -1;
}

/* ---- one function of a file ----------------------------------------------------------------------------------------*/

/* How a recorded function maps to instructions: a single row, or one of the compositions that FORMAT.txt names. */
enum kind { MISSING, ROW, ATOMIC, SEQ4, CARRY_PAIR, CARRY_MAD, CARRY_CHAIN };
struct function {
  char name[128];
  struct signature sig;
  enum kind kind;
  int op[3];
  unsigned mod[3];
  unsigned nextra, extra_at; /* literals put among the inputs: a truth table, selectors */
  uint64_t extra[2];
  bool approximate;
  unsigned lines, bad;
  char first[512];
};

static void set_types(char types[][8], unsigned *n, const char *text) {
  *n = 0;
  while (*text && *n < MAX_VALUES) {
    size_t len = strcspn(text, ",");
    snprintf(types[(*n)++], 8, "%.*s", (int)(len < 7 ? len : 7), text);
    text += len;
    if (*text) text++;
  }
}

static bool resolve1(struct function *f, int k, const char *name, const char *in, const char *out) {
  struct signature s;
  set_types(s.in, &s.nin, in);
  set_types(s.out, &s.nout, out);
  f->op[k] = find(name, &s, &f->mod[k]);
  return f->op[k] >= 0;
}

/* vadd.s32.u32.s32.sat(d.b2,a.h1,b.b0,c): selectors packed as isa.h says. */
static uint64_t selectors(const char *args, bool simd, unsigned lanes) {
  uint64_t packed = 0;
  const char *p = args;
  unsigned pos = 0;
  if (simd) packed = (uint64_t)(lanes == 4 ? 0xF | 03210u << 4 | 07654u << 16 : 0x3 | 010u << 4 | 032u << 16);
  for (; *p && *p != ')' && pos < 4; pos++) {
    size_t n = strcspn(p, ",)");
    if (*p == '-') packed |= 1ull << (8 + pos);
    const char *dot = memchr(p, '.', n);
    if (dot) {
      const char *q = dot + 2;
      size_t len = (size_t)(p + n - q);
      if (!simd) {
        packed |= (uint64_t)(dot[1] == 'b' ? 1 + (*q - '0') : 5 + (*q - '0')) << (3 * pos);
      } else if (pos == 0) {
        packed &= ~15ull;
        for (size_t i = 0; i < len; i++) packed |= 1ull << (q[i] - '0');
      } else {
        unsigned base = pos == 1 ? 4 : 16;
        packed &= ~(0xFFFull << base);
        for (size_t i = 0; i < len; i++) packed |= (uint64_t)(q[len - 1 - i] - '0') << (base + 3 * i);
      }
    }
    p += n;
    if (*p == ',') p++;
  }
  return packed;
}

static void resolve(struct function *f, const char *in, const char *out) {
  set_types(f->sig.in, &f->sig.nin, in);
  set_types(f->sig.out, &f->sig.nout, out);
  f->approximate = strstr(f->name, ".approx") || strstr(f->name, "div.full");
  char name[128], wide[384];
  const char *t = f->sig.out[0];
  snprintf(name, sizeof name, "%s", f->name);
  if (!strncmp(name, "atomic", 6)) {
    char op[16] = "", space[16] = "", type[16] = "";
    if (sscanf(name, "atomic%15[A-Za-z].%15[a-z].%15[a-z0-9]", op, space, type) != 3) return;
    for (char *c = op; *c; c++) *c = (char)tolower(*c);
    bool sub = !strcmp(op, "sub"), bits = !strcmp(op, "and") || !strcmp(op, "or") || !strcmp(op, "xor") || !strcmp(op, "exch") || !strcmp(op, "cas");
    if (bits) type[0] = 'b', memmove(type + 1, type + strcspn(type, "0123456789"), 4);
    snprintf(wide, sizeof wide, "atom.%s.%s%s.%s", space, sub ? "add" : op, strchr("fb", type[0]) && strstr(type, "16") && !bits ? ".noftz" : "", type);
    char types[64];
    snprintf(types, sizeof types, "u64,%s%s%s", f->sig.in[1], !strcmp(op, "cas") ? "," : "", !strcmp(op, "cas") ? f->sig.in[2] : "");
    for (int i = 0; i < MX_OP_COUNT && f->kind == MISSING; i++) {
      unsigned mod = 0;
      const struct mx_op_info *o = &mx__ops[i];
      if (o->cls != MX_MEM || o->opnd[0].role != MX_OUT || o->opnd[1].type != MX_T_u64) continue;
      if (!match(o->spelling, wide, 1, &mod) || row_width(o->opnd[0].type) != width(f->sig.in[0])) continue;
      f->op[0] = i, f->mod[0] = mod;
      f->kind = strstr(name, ".seq4") ? SEQ4 : ATOMIC;
      f->extra[0] = sub;
    }
    return;
  }
  char *paren = strchr(name, '(');
  if (paren) {
    *paren = 0;
    bool simd = name[strcspn(name, "24.")] != '.';
    f->extra[0] = selectors(paren + 1, simd, strchr(name, '4') && name[strcspn(name, "24.")] == '4' ? 4 : 2);
    f->nextra = 1, f->extra_at = f->sig.nin;
    bool merge = f->sig.nin == 3;
    snprintf(wide, sizeof wide, "%s%s,u32", in, merge ? "" : ",u32");
    if (!merge) f->extra[1] = f->extra[0], f->extra[0] = 0, f->nextra = 2;
    f->kind = resolve1(f, 0, name, wide, out) ? ROW : MISSING;
    return;
  }
  if (!strncmp(name, "lop3.", 5)) {
    char *lut = strrchr(name, '.');
    f->extra[0] = strtoull(lut + 1, NULL, 16), f->nextra = 1, f->extra_at = 3;
    *lut = 0;
    f->kind = resolve1(f, 0, name, f->sig.nin == 4 ? "u32,u32,u32,u32,pred" : "u32,u32,u32,u32", out) ? ROW : MISSING;
    return;
  }
  if (strstr(name, "cc_")) {
    char a[64], b[64], c[64], two[64], three[64], cc[64], two_c[64], three_c[64];
    snprintf(two, sizeof two, "%s,%s", t, t);
    snprintf(three, sizeof three, "%s,%s,%s", t, t, t);
    snprintf(two_c, sizeof two_c, "%s,%s,pred", t, t);
    snprintf(three_c, sizeof three_c, "%s,%s,%s,pred", t, t, t);
    snprintf(cc, sizeof cc, "%s,pred", t);
    if (!strncmp(name, "mad", 3)) {
      snprintf(a, sizeof a, "mad.lo.cc.%s", t);
      snprintf(b, sizeof b, "madc.hi.%s", t);
      if (resolve1(f, 0, a, three, cc) && resolve1(f, 1, b, three_c, t)) f->kind = CARRY_MAD;
    } else if (!strncmp(name, "addc.cc_chain", 13)) {
      snprintf(a, sizeof a, "add.cc.%s", t);
      snprintf(b, sizeof b, "addc.cc.%s", t);
      snprintf(c, sizeof c, "addc.%s", t);
      if (resolve1(f, 0, a, two, cc) && resolve1(f, 1, b, two_c, cc) && resolve1(f, 2, c, two_c, t)) f->kind = CARRY_CHAIN;
    } else {
      snprintf(a, sizeof a, "%.3s.cc.%s", name, t);
      snprintf(b, sizeof b, "%.3sc.%s", name, t);
      if (resolve1(f, 0, a, two, cc) && resolve1(f, 1, b, two_c, t)) f->kind = CARRY_PAIR;
    }
    return;
  }
  f->kind = resolve1(f, 0, name, in, out) ? ROW : MISSING;
}

static void run(const struct function *f, const uint64_t *v, uint64_t *r) {
  uint64_t in[MAX_VALUES + 1], t[2];
  switch (f->kind) {
    case ROW:
      for (unsigned i = 0, x = 0, k = 0; k < f->sig.nin + f->nextra; k++)
        in[k] = x < f->nextra && k >= f->extra_at ? f->extra[x++] : v[i++];
      mx__eval((unsigned)f->op[0], f->mod[0], in, r);
      break;
    case ATOMIC:
      memcpy(in, v, sizeof in[0] * f->sig.nin);
      if (f->extra[0]) in[1] = 0 - in[1];
      mx__eval((unsigned)f->op[0], f->mod[0], in, r);
      break;
    case SEQ4: {
      unsigned step = (f->sig.nin - 1) / 4;
      in[0] = v[0];
      for (unsigned i = 0; i < 4; i++) {
        for (unsigned k = 0; k < step; k++) in[1 + k] = v[1 + i * step + k];
        if (f->extra[0]) in[1] = 0 - in[1];
        mx__eval((unsigned)f->op[0], f->mod[0], in, t);
        r[i] = t[0];
        in[0] = t[1];
      }
      r[4] = in[0];
      break;
    }
    case CARRY_PAIR:
      mx__eval((unsigned)f->op[0], f->mod[0], (uint64_t[]){v[0], v[2]}, t);
      mx__eval((unsigned)f->op[1], f->mod[1], (uint64_t[]){v[1], v[3], t[1]}, r + 1);
      r[0] = t[0];
      break;
    case CARRY_MAD:
      mx__eval((unsigned)f->op[0], f->mod[0], (uint64_t[]){v[0], v[1], v[2]}, t);
      mx__eval((unsigned)f->op[1], f->mod[1], (uint64_t[]){v[0], v[1], v[3], t[1]}, r + 1);
      r[0] = t[0];
      break;
    case CARRY_CHAIN:
      mx__eval((unsigned)f->op[0], f->mod[0], (uint64_t[]){v[0], v[1]}, t);
      r[0] = t[0];
      mx__eval((unsigned)f->op[1], f->mod[1], (uint64_t[]){v[2], v[3], t[1]}, t);
      r[1] = t[0];
      mx__eval((unsigned)f->op[2], f->mod[2], (uint64_t[]){v[0], v[3], t[1]}, r + 2);
      break;
    case MISSING: break;
  }
}

static unsigned values(char *text, uint64_t *v) {
  unsigned n = 0;
  for (char *p = text; *p && n < MAX_VALUES; n++) {
    v[n] = strtoull(p, &p, 16);
    if (*p == ',') p++;
  }
  return n;
}

/* A byte comes back extended to its register. */
static uint64_t type_mask(const char *type) { return strchr("us", type[0]) && type[1] == '8' ? 0xFF : ~0ull; }

/* The recordings of these lost the operand's upper half on the way to the GPU: run by themselves on the same device,
 * atom and red of these types add both halves, in every spelling. Their lower halves are right. */
static bool half_recorded(const char *name) {
  return !strncmp(name, "atomicAdd.shared.f16x2", 22) || !strncmp(name, "atomicAdd.shared.bf16x2", 23);
}

static void check(struct function *f, char *line) {
  uint64_t v[MAX_VALUES], want[MAX_VALUES], got[MAX_VALUES] = {0};
  char *in = strchr(line, '\t'), *out = in ? strchr(in + 1, '\t') : NULL;
  if (!out) return;
  *out = 0;
  f->lines++;
  char text[256];
  snprintf(text, sizeof text, "%s", in + 1);
  if (values(in + 1, v) != f->sig.nin || values(out + 1, want) != f->sig.nout) {
    f->bad++;
    return;
  }
  run(f, v, got);
  for (unsigned k = 0; k < f->sig.nout; k++) {
    got[k] &= type_mask(f->sig.out[k]);
    if (half_recorded(f->name)) got[k] &= 0xFFFF, want[k] &= 0xFFFF;
  }
  if (f->approximate ? !mx__close_enough(f->name, v, want[0], got[0]) : memcmp(want, got, f->sig.nout * sizeof want[0])) {
    if (!f->bad++)
      snprintf(f->first, sizeof f->first, "%s: want %llx,%llx,%llx got %llx,%llx,%llx", text, (unsigned long long)want[0],
               f->sig.nout > 1 ? (unsigned long long)want[1] : 0, f->sig.nout > 2 ? (unsigned long long)want[2] : 0,
               (unsigned long long)got[0], f->sig.nout > 1 ? (unsigned long long)got[1] : 0,
               f->sig.nout > 2 ? (unsigned long long)got[2] : 0);
  }
}

/* ---- files ---------------------------------------------------------------------------------------------------------*/

static unsigned passed, failed;
static bool verbose;
static const char *only;

static void finish(const char *file, struct function *f) {
  if (!f->name[0] || (only && !strstr(f->name, only))) return;
  if (f->kind == MISSING) {
    printf("%s: %s: no row\n", file, f->name);
    failed++;
  } else if (f->bad) {
    printf("%s: %s (%s): %u of %u differ; %s\n", file, f->name, mx__ops[f->op[0]].id, f->bad, f->lines, f->first);
    failed++;
  } else {
    if (verbose) printf("%s: %s: %u lines (%s)\n", file, f->name, f->lines, mx__ops[f->op[0]].id);
    passed++;
  }
}

static bool run_file(const char *path) {
  FILE *in = strcmp(path, "-") ? fopen(path, "r") : stdin;
  if (!in) {
    fprintf(stderr, "conform: cannot open %s\n", path);
    return false;
  }
  const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  struct function f = {0};
  char line[1024];
  while (fgets(line, sizeof line, in)) {
    line[strcspn(line, "\n")] = 0;
    if (line[0] == '#') {
      char types[256], out[128];
      finish(file, &f);
      memset(&f, 0, sizeof f);
      if (sscanf(line, "# %127[^: ]: %255s -> %127s", f.name, types, out) == 3) resolve(&f, types, out);
    } else if (f.kind != MISSING) {
      check(&f, line);
    }
  }
  finish(file, &f);
  fclose(in);
  return true;
}

int main(int argc, char **argv) {
  bool opened = true;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "-v")) verbose = true;
    else if (!strcmp(argv[i], "-level") && i + 1 < argc) {
      if (!mx__eval_level(argv[++i])) {
        fprintf(stderr, "conform: this CPU has no level '%s'\n", argv[i]);
        return 2;
      }
    } else if (!strcmp(argv[i], "-only") && i + 1 < argc) only = argv[++i];
    else opened &= run_file(argv[i]);
  }
  printf("%u passed, %u failed\n", passed, failed);
  return failed || !opened;
}
