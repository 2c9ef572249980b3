/* A recorded name as an instruction, with what surrounds it. Most names are the instruction; README.md lists the
 * others. */
#include "tests/conform/conform.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- operands: %i0 ... and %o0 ... ------------------------------------------------------------------------------*/
static unsigned bits_of(const char *type) {
  if (!strcmp(type, "pred")) return 1;
  return strstr(type, "x2") ? 32 : (unsigned)atoi(type + strcspn(type, "0123456789"));
}

/* Bytes travel in 16-bit registers. */
static void put_register(struct text *t, const struct function *f, const char *type, char io, unsigned k) {
  const unsigned n = bits_of(type);
  if (n == 1) put(t, "  .reg .pred %%%c%u;\n", io, k);
  else if (f->ptx || n == 8) put(t, "  .reg .b%u %%%c%u;\n", n == 8 ? 16 : n, io, k);
  else put(t, "  .reg .%s %%%c%u;\n", type, io, k);
}

static void put_load(struct text *t, const char *type, unsigned k) {
  const unsigned n = bits_of(type);
  if (n == 1) put(t, "  ld.global.u32 %%t, [%%in+%u];\n  setp.ne.u32 %%i%u, %%t, 0;\n", 8 * k, k);
  else put(t, "  ld.global.%c%u %%i%u, [%%in+%u];\n", n == 8 ? 'u' : 'b', n, k, 8 * k);
}

static void put_store(struct text *t, const char *type, unsigned k) {
  const unsigned n = bits_of(type);
  if (n == 1) put(t, "  selp.u32 %%t, 1, 0, %%o%u;\n  st.global.u32 [%%out+%u], %%t;\n", k, 8 * k);
  else put(t, "  st.global.b%u [%%out+%u], %%o%u;\n", n, 8 * k, k);
}

/* Results and inputs from the given one on, separated by commas. */
static void put_results(struct text *t, const struct function *f) {
  for (unsigned k = 0; k < f->sig.nout; k++) put(t, "%s%%o%u", k ? "|" : "", k);
}
static void put_inputs(struct text *t, const struct function *f, unsigned from) {
  for (unsigned k = from; k < f->sig.nin; k++) put(t, ", %%i%u", k);
}

/* ---- names that are not the instruction -------------------------------------------------------------------------*/
/* C's operators: op_add.s32, cast.TO.FROM */
static bool put_operator(struct text *t, const struct function *f) {
  static const char *const names[][3] = {{"add", "add", "add"}, {"sub", "sub", "sub"}, {"mul", "mul.lo", "mul"},
                                         {"div", "", "div.rn"}, {"neg", "neg", "neg"}, {"and", "and", ""},
                                         {"or", "or", ""},      {"xor", "xor", ""},    {"lt", "", "setp.lt"},
                                         {"le", "", "setp.le"}, {"gt", "", "setp.gt"}, {"ge", "", "setp.ge"},
                                         {"eq", "", "setp.eq"}, {"ne", "", "setp.neu"}};
  char op[8], to[8], from[8];
  if (sscanf(f->name, "op_%7[a-z].%7s", op, to) == 2) {
    const bool is_float = to[0] == 'f';
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
      if (!strcmp(names[k][0], op)) {
        const bool bits = !is_float && (op[0] == 'a' ? op[1] == 'n' : op[0] == 'o' || op[0] == 'x');
        put(t, "  %s.%s%s ", names[k][1 + is_float], bits ? "b" : "", bits ? to + 1 : to);
      }
  } else if (sscanf(f->name, "cast.%7[a-z0-9].%7s", to, from) == 2) {
    const bool narrow = bits_of(to) < bits_of(from), whole = to[0] != 'f';
    if (bits_of(to) < 32) { /* by way of 32 bits */
      put(t, "  cvt.rzi.%c32.%s %%t, %%i0;\n  cvt.u16.u32 %%o0, %%t;\n", to[0], from);
      return true;
    }
    put(t, "  cvt%s.%s.%s ", whole ? ".rzi" : from[0] != 'f' || narrow ? ".rn" : "", to, from);
  } else {
    return false;
  }
  put_results(t, f);
  put_inputs(t, f, 0);
  put(t, ";\n");
  return true;
}

/* video: operands are letters, with selectors and signs */
static void put_video(struct text *t, const struct function *f) {
  const char *paren = strchr(f->name, '(');
  put(t, "  %.*s ", (int)(paren - f->name), f->name);
  for (const char *p = paren + 1; *p && *p != ')'; p++) {
    if (*p == 'd' && p == paren + 1) put(t, "%%o0");
    else if (*p >= 'a' && *p <= 'c' && (p[-1] == ',' || p[-1] == '-')) put(t, "%%i%d", *p - 'a');
    else put(t, "%c", *p);
  }
  put(t, ";\n");
}

/* lop3.b32.96: the truth table; with a predicate as fourth input */
static void put_lop3(struct text *t, const struct function *f) {
  const char *table = strrchr(f->name, '.');
  put(t, "  %.*s ", (int)(table - f->name), f->name);
  put_results(t, f);
  put(t, ", %%i0, %%i1, %%i2, 0x%s%s;\n", table + 1, f->sig.nin > 3 ? ", %i3" : "");
}

/* add.cc_addc.T, sub.cc_subc.T, mad.lo.cc_madc.hi.T, addc.cc_chain.T */
static void put_carry(struct text *t, const struct function *f) {
  const char *type = f->sig.out[0];
  if (!strncmp(f->name, "mad", 3)) {
    put(t, "  mad.lo.cc.%s %%o0, %%i0, %%i1, %%i2;\n  madc.hi.%s %%o1, %%i0, %%i1, %%i3;\n", type, type);
  } else if (strstr(f->name, "chain")) {
    put(t, "  add.cc.%s %%o0, %%i0, %%i1;\n  addc.cc.%s %%o1, %%i2, %%i3;\n  addc.%s %%o2, %%i0, %%i3;\n", type, type,
        type);
  } else {
    put(t, "  %.3s.cc.%s %%o0, %%i0, %%i2;\n  %.3sc.%s %%o1, %%i1, %%i3;\n", f->name, type, f->name, type);
  }
}

/* atomicAdd.shared.f32: on a cell in that space, once, or four times (.seq4); the last output is what the cell holds
 * then */
static void put_atomic(struct text *t, const struct function *f) {
  char name[128];
  snprintf(name, sizeof name, "%s", f->name);
  if (strstr(name, ".seq4")) *strstr(name, ".seq4") = 0;
  const bool shared = strstr(name, ".shared");
  const unsigned n = bits_of(f->sig.in[0]), step = strncmp(name, "atomicCAS", 9) ? 1 : 2, last = f->sig.nout - 1;
  const char *space = shared ? "shared" : "global", *where = shared ? "%cell" : "%out";
  const unsigned at = shared ? 0 : 8 * last;
  put(t, "  st.%s.b%u [%s+%u], %%i0;\n", space, n, where, at);
  for (unsigned k = 0; k < last; k++) {
    put(t, "  %s %%o%u, [%s+%u], %%i%u", name, k, where, at, 1 + k * step);
    if (step == 2) put(t, ", %%i%u", 2 + k * step);
    put(t, ";\n");
  }
  put(t, "  ld.%s.b%u %%o%u, [%s+%u];\n", space, n, last, where, at);
}

/* A call by the lanes of the mask. The PTX form of a shuffle wants the width packed. */
static void put_warp(struct text *t, const struct function *f) {
  const char *dot = strchr(f->name, '.');
  const int base = dot ? (int)(dot - f->name) : (int)strlen(f->name);
  put(t, "  mov.u32 %%t, %%laneid;\n  shr.u32 %%t, %%i2, %%t;\n  and.b32 %%t, %%t, 1;\n  setp.ne.u32 %%in_mask, "
         "%%t, 0;\n");
  if (!strncmp(f->name, "shfl.", 5)) {
    put(t, "  sub.u32 %%t, 32, %%i3;\n  shl.b32 %%t, %%t, 8;\n  or.b32 %%t, %%t, %d;\n",
        strstr(f->name, ".up") ? 0 : 31);
    put(t, "  @%%in_mask %s %%o0|%%o1, %%i0, %%i1, %%t, %%i2;\n", f->name);
  } else if (!strncmp(f->name, "vote.", 5)) {
    put(t, "  setp.ne.s32 %%p, %%i0, 0;\n  @%%in_mask %s.pred %%p, %%p, %%i2;\n  selp.s32 %%o0, 1, 0, %%p;\n", f->name);
  } else if (!strncmp(f->name, "shfl_", 5)) {
    const bool idx = !strncmp(f->name, "shfl_idx", 8);
    put(t, "  .reg .s32 %%lane_operand;\n  mov.b32 %%lane_operand, %%i1;\n");
    put(t, "  @%%in_mask __shfl%.*s_sync%s %%o0, %%i2, %%i0, %%lane_operand, %%i3;\n", idx ? 0 : base - 4, f->name + 4,
        dot);
  } else if (!strcmp(f->name, "activemask")) {
    put(t, "  @%%in_mask __activemask %%o0;\n");
  } else {
    put(t, "  @%%in_mask __%s ", f->name);
    put_results(t, f);
    put(t, ", %%i2, %%i0;\n");
  }
}

/* A vector by its dimension and its five elements, in memory. */
static void put_norm(struct text *t, const struct function *f) {
  const unsigned bytes = bits_of(f->sig.in[1]) / 8;
  put(t, "  .local .align 8 .b8 elements[40];\n  .reg .u64 %%elements;\n");
  for (unsigned k = 1; k < f->sig.nin; k++)
    put(t, "  st.local.b%u [elements+%u], %%i%u;\n", 8 * bytes, bytes * (k - 1), k);
  put(t, "  cvta.local.u64 %%elements, elements;\n  %s %%o0, %%i0, [%%elements];\n", f->name);
}

/* max.unsigned_long.long: C's long has 64 bits */
static void put_plain(struct text *t, const struct function *f) {
  put(t, "  ");
  for (const char *p = f->name; *p;) {
    if (!strncmp(p, ".unsigned_long", 14)) put(t, ".u64"), p += 14;
    else if (!strncmp(p, ".long", 5)) put(t, ".s64"), p += 5;
    else put(t, "%c", *p++);
  }
  put(t, " ");
  put_results(t, f);
  put_inputs(t, f, 0);
  put(t, ";\n");
}

static bool starts(const struct function *f, const char *text) { return !strncmp(f->name, text, strlen(text)); }

void mx__put_function(struct text *t, const struct function *f) {
  for (unsigned k = 0; k < f->sig.nin; k++) put_register(t, f, f->sig.in[k], 'i', k), put_load(t, f->sig.in[k], k);
  for (unsigned k = 0; k < f->sig.nout; k++) put_register(t, f, f->sig.out[k], 'o', k);
  put(t, "  // %s\n", f->name);
  if (f->warp) put_warp(t, f);
  else if (strchr(f->name, '(')) put_video(t, f);
  else if (starts(f, "lop3.")) put_lop3(t, f);
  else if (strstr(f->name, "cc_")) put_carry(t, f);
  else if (starts(f, "atomic")) put_atomic(t, f);
  else if (starts(f, "__ld")) put(t, "  %s %%o0, [%%in];\n", f->name);
  else if (starts(f, "__st"))
    put(t, "  %s [%%out], %%i0;\n  ld.global.b%u %%o0, [%%out];\n", f->name, bits_of(f->sig.in[0]));
  else if (!strcmp(f->name, "norm") || !strcmp(f->name, "normf") || !strcmp(f->name, "rnorm") ||
           !strcmp(f->name, "rnormf"))
    put_norm(t, f);
  else if (!put_operator(t, f)) put_plain(t, f);
  for (unsigned k = 0; k < f->sig.nout; k++) put_store(t, f->sig.out[k], k);
}
