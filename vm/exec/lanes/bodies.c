/* All bodies of this CPU level in one table, by opcode. */
#include "body.h"
#include "samples.h"

#undef OP
#undef OPF
#undef OPM
#undef OPX

#include "vm/exec/interp.h"
#include "vm/exec/tile.h"

#define OP(id_, ...) const struct mx_insn *MX_BODY(ROW_##id_)(struct mx_exec *, const struct mx_insn *);
#define OPX(...)
#include "core/opcodes.def"

static const mx_body unguarded[MX_OP_COUNT] = {
#define OP(id_, ...) [MX_##id_] = MX_BODY(ROW_##id_),
#define OPX(id_, spelling_, shape_, cls_, mods_, flags_, doc_, fn_) [MX_##id_] = mx__op_##fn_,
#include "core/opcodes.def"
};

/* The body of plain instructions that have a guard. Bodies in `unguarded` do not look for one: most instructions have
 * none, and the test would take a tenth of their time. Bodies of memory accesses (OPM) test their guard themselves. */
static const struct mx_insn *guarded(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t all = x->mask;
  if ((x->mask = mx__active(x, i))) unguarded[i->op](x, i);
  x->mask = all;
  return i + 1;
}

static const mx_body bodies[MX_OP_COUNT] = {
#define OP(id_, ...) [MX_##id_] = guarded,
#define OPM(id_, ...) [MX_##id_] = MX_BODY(ROW_##id_),
#define OPX(id_, spelling_, shape_, cls_, mods_, flags_, doc_, fn_) [MX_##id_] = mx__op_##fn_,
#include "core/opcodes.def"
};

#define STRING(x_) STRING_(x_)
#define STRING_(x_) #x_
mx__tile_mma MX_FN(tile_mma);
mx__tile_load MX_FN(tile_load);
uint32_t MX_LV(mx__jit_shape)(struct mx_exec *x, uint32_t form, uint64_t mask);
bool MX_LV(mx__jit_access)(struct mx_exec *x, const struct mx_jit_access *a, unsigned char *spill_area, uint64_t mask);
void MX_LV(mx__land_rows)(const struct mx_row_copy *ring, uint32_t mask, uint32_t first, uint32_t end, unsigned lanes);
bool MX_LV(mx__copy_rows)(const struct mx_exec *x, const struct mx_insn *i, struct mx_row_copy *c);
const struct mx_level MX_LV(mx__level) = {
    STRING(MX_LEVEL),      bodies,           unguarded,        MX_LV(mx__jit_shape),
    MX_LV(mx__jit_access), MX_FN(tile_mma),  MX_FN(tile_load), MX_LV(mx__land_rows),
    MX_LV(mx__copy_rows),  MX_LV(mx__sample)};
