/* Unpacks a value into four registers: the one lane-wise instruction with more results than a lane body can have. */
#include "interp.h"

const struct mx_insn *mx__op_unpack4(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t m = mx__lanes_of(x, i);
  const unsigned n = x->lanes, bits = mx__types[mx__ops[i->op].opnd[4].type].bits, part = bits / 4;
  const void *v = mx__operand(x, i->o[4]);
  uint32_t *d[4];
  for (unsigned k = 0; k < 4; k++) d[k] = mx__operand(x, i->o[k]);
  MX_FOR_LANES (l, m) {
    const uint64_t low = bits == 32 ? ((const uint32_t *)v)[l] : ((const uint64_t *)v)[l];
    const uint64_t high = bits == 128 ? ((const uint64_t *)v)[n + l] : low >> 2 * part,
                   mask = UINT32_MAX >> (32 - part);
    d[0][l] = (uint32_t)(low & mask);
    d[1][l] = (uint32_t)(low >> part & mask);
    d[2][l] = (uint32_t)(high & mask);
    d[3][l] = (uint32_t)(high >> part & mask);
  }
  return i + 1;
}
