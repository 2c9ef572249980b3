/* Rows whose meanings take many operations and few where an operand is a constant, or where a processor's instruction
 * does most of them at once: logic of three operands by a table, funnel shifts, permutations of bytes, minimum and
 * maximum of floats. The results must be those of the meanings in the table. */
#include "meaning.h"

static jv op(struct jx *j, enum jx_bin what, jv x, jv y) { return jv_bin(j, what, MX_T_u32, x, y); }
static jv number(struct jx *j, uint64_t v) { return jv_k(j, MX_T_u32, v); }
static jv inverse(struct jx *j, jv x) { return jv_un(j, JX_NOT, MX_T_u32, x); }

/* Logic of inputs x[0] to x[n - 1]; the first is the highest bit of the index into the table. */
static jv logic(struct jx *j, const jv *x, unsigned n, unsigned table) {
  const unsigned all = (1u << (1u << n)) - 1;
  if (table == 0 || table == all) return number(j, table ? ~0u : 0);
  const unsigned half = 1u << (n - 1), ones = (1u << half) - 1, off = table & ones, on = table >> half;
  if (off == on) return logic(j, x + 1, n - 1, off);
  if (off == 0 && on == ones) return x[0];
  if (off == ones && on == 0) return inverse(j, x[0]);
  if (on == (~off & ones)) return op(j, JX_XOR, x[0], logic(j, x + 1, n - 1, off));
  if (off == 0) return op(j, JX_AND, x[0], logic(j, x + 1, n - 1, on));
  if (off == ones) return op(j, JX_OR, inverse(j, x[0]), logic(j, x + 1, n - 1, on));
  if (on == ones) return op(j, JX_OR, x[0], logic(j, x + 1, n - 1, off));
  if (on == 0) return op(j, JX_AND, inverse(j, x[0]), logic(j, x + 1, n - 1, off));
  const jv no = logic(j, x + 1, n - 1, off);
  return op(j, JX_XOR, no, op(j, JX_AND, x[0], op(j, JX_XOR, no, logic(j, x + 1, n - 1, on))));
}

/* The low half of {high, low} shifted right by n. */
static jv funnel(struct jx *j, jv low, jv high, unsigned n) {
  if (n == 0) return low;
  if (n == 32) return high;
  if (low.r[0] == high.r[0] && j->isa->rotate && !low.k) {
    gcc_jit_rvalue *v = j->isa->rotate(j, low.r[0], n);
    return (jv){.t = MX_T_u32, .u = low.u, .r = {v, v}};
  }
  return op(j, JX_OR, op(j, JX_SHR, low, number(j, n)), op(j, JX_SHL, high, number(j, 32 - n)));
}

/* Byte k of the result is byte 0 to 7 of {b, a}, as nibble k of the selector says; selectors 8 to 15, which replicate
 * signs, are not done here. */
static bool picked(struct jx *j, jv a, jv b, unsigned selector, jv *out) {
  bool done[4] = {false}, any = false;
  if (selector & 0x8888) return false;
  for (unsigned first = 0; first < 4; first++) { /* bytes that move by the same distance are moved together */
    const int from = selector >> 4 * first & 7, by = (int)first - (from & 3);
    uint64_t keep = 0;
    for (unsigned k = first; k < 4; k++) {
      const int other = selector >> 4 * k & 7;
      if (done[k] || other >> 2 != from >> 2 || (int)k - (other & 3) != by) continue;
      done[k] = true;
      keep |= 0xFFull << 8 * k;
    }
    if (!keep) continue;
    jv x = from < 4 ? a : b;
    if (by) x = op(j, by > 0 ? JX_SHL : JX_SHR, x, number(j, 8u * (unsigned)(by > 0 ? by : -by)));
    if (keep != 0xFFFFFFFF) x = op(j, JX_AND, x, number(j, keep));
    *out = any ? op(j, JX_OR, *out, x) : x;
    any = true;
  }
  return true;
}

bool jx_shortcut(struct jx *j, unsigned opcode, unsigned modifier, const jv *in, jv *out) {
  jv x[3];
  if ((opcode == MX_MIN_F32 || opcode == MX_MAX_F32) && !modifier && j->isa->extreme) {
    bool canonical;
    gcc_jit_rvalue *v = j->isa->extreme(j, opcode == MX_MAX_F32, in[0].r[0], in[1].r[0], &canonical);
    *out = (jv){.t = MX_T_f32, .u = in[0].u && in[1].u, .canonical = canonical, .r = {v, v}};
    return true;
  }
  if (opcode != MX_LOP3 && opcode != MX_SHF_L && opcode != MX_SHF_R && opcode != MX_PRMT) return false;
  const jv constant = in[opcode == MX_LOP3 ? 3 : 2];
  if (!constant.k) return false;
  for (unsigned k = 0; k < 3; k++) x[k] = jv_as(j, MX_T_u32, in[k]);
  if (opcode == MX_PRMT) return picked(j, x[0], x[1], constant.kv & 0xFFFF, out);
  if (opcode == MX_LOP3) {
    const unsigned table = constant.kv & 0xFF;
    if (!j->isa->logic) *out = logic(j, x, 3, table);
    else {
      gcc_jit_rvalue *v = j->isa->logic(j, x[0].r[0], x[1].r[0], x[2].r[0], table);
      *out = (jv){.t = MX_T_u32, .u = x[0].u && x[1].u && x[2].u, .r = {v, v}};
    }
    return true;
  }
  const unsigned n = modifier ? constant.kv & 31 : constant.kv < 32 ? (unsigned)constant.kv : 32;
  *out = opcode == MX_SHF_R ? funnel(j, x[0], x[1], n) : funnel(j, x[0], x[1], 32 - n);
  return true;
}
