/* Taking a value apart into four registers: the one lane-wise instruction with more results than a lane body has. */
#include "vm/interp.h"

const struct mx_insn *mx__op_unpack4(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t m = mx__lanes_of(x, i);
  const unsigned n = x->lanes;
  const bool wide = mx__ops[i->op].opnd[4].type == MX_T_b128;
  const uint64_t *v = mx__operand(x, i->o[4]);
  uint32_t *d[4];
  for (unsigned k = 0; k < 4; k++) d[k] = mx__operand(x, i->o[k]);
  MX_FOR_LANES(l, m) {
    const uint64_t low = v[l], high = wide ? v[n + l] : low >> 32;
    d[0][l] = (uint32_t)(wide ? low : low & 0xFFFF);
    d[1][l] = (uint32_t)(wide ? low >> 32 : low >> 16 & 0xFFFF);
    d[2][l] = (uint32_t)(wide ? high : high & 0xFFFF);
    d[3][l] = (uint32_t)(wide ? high >> 32 : high >> 16);
  }
  return i + 1;
}
