/* What an instruction is about to do to memory; see effects.h. The interpreter's bodies find the same addresses for
 * themselves, faster: here they are found for somebody who looks on. */
#include "vm/effects.h"

#include "vm/access.h"
#include "vm/interp.h"

/* From the access column: elements written to memory, their type, and where the modifier has the space: a store's
 * lowest two bits are its order. */
static const struct { uint8_t type, elements, space_shift; } written[MX_OP_COUNT] = {
#define LOAD(...) {0, 0, 0}
#define PREFETCH(...) {0, 0, 0}
#define STORE(type_, n_) {MX_T_##type_, n_, 2}
#define ATOM(type_, ...) {MX_T_##type_, 1, 0}
#define ATOMV(type_, n_, ...) {MX_T_##type_, n_, 0}
#define OP(...)
#define OPF(...)
#define OPX(...)
#define OPM(id_, spelling_, shape_, cls_, mods_, flags_, doc_, ...) [MX_##id_] = __VA_ARGS__,
#include "mx/opcodes.def"
#undef LOAD
#undef PREFETCH
#undef STORE
#undef ATOM
#undef ATOMV
};

bool mx__op_writes(unsigned op) { return written[op].elements != 0; }

unsigned mx__writes(struct mx_exec *x, const struct mx_insn *i, struct mx_write list[MX_MAX_LANES]) {
  const struct mx_op_info *op = &mx__ops[i->op];
  uint64_t m = mx__lanes_of(x, i), bytes = written[i->op].elements * (mx__types[written[i->op].type].bits / 8u);
  unsigned base = 0, n = 0, space = i->mod >> written[i->op].space_shift;
  while (op->opnd[base].role != MX_IN) base++; /* the address comes first among the inputs */
  const void *address = mx__operand(x, base < 7 ? i->o[base] : i->more[base]);
  bool narrow = op->opnd[base].type == MX_T_u32, keep;
  struct mx_bounds b = x->bounds[i->aux];
  MX_FOR_LANES(l, m) {
    uint64_t a = narrow ? ((const uint32_t *)address)[l] + (uint32_t)i->off : ((const uint64_t *)address)[l] + (uint64_t)i->off;
    bool inside = b.span >= bytes && a - b.lo <= b.span - bytes;
    if (!inside && (!mx__access_bounds(x, space, a, &b, &keep) || b.span < bytes || a - b.lo > b.span - bytes)) return 0;
    if (!b.writable || (a & (bytes - 1))) return 0;
    list[n++] = (struct mx_write){
        .lane = (unsigned)l, .space = b.kind, .address = a + mx_space_window(space), .bytes = bytes,
        .host = x->window[b.kind] + b.off + (a - b.lo) + (b.kind == MX_LOCAL ? l * x->local_stride : 0)};
  }
  return n;
}
