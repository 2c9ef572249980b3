/* Recorded names as rows of the table, and what the rows' meanings make of inputs. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mx/isa.h"
#include "tests/vectors/conform.h"
#include "tests/vectors/eval.h"

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

/* ---- names ----------------------------------------------------------------------------------------------------------*/

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

void mx__resolve(struct function *f, const char *in, const char *out) {
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

void mx__run_meaning(const struct function *f, const uint64_t *v, uint64_t *r) {
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
