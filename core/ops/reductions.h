/* What bulk reductions and red.async do to an element: X(spelling, the atomic row's step in memory.def, type of an
 * element). The order is that of the modifiers of their rows in async.def. */
#ifndef MX_REDUCTIONS_H
#define MX_REDUCTIONS_H

#define MX_REDUCTIONS_32(FIRST, X) \
  FIRST(".and.b32", AND_B32, b32) \
  X(".or.b32", OR_B32, b32) \
  X(".xor.b32", XOR_B32, b32) \
  X(".add.u32", ADD_U32, u32) \
  X(".add.s32", ADD_U32, u32) \
  X(".inc.u32", INC_U32, u32) \
  X(".dec.u32", DEC_U32, u32) \
  X(".min.u32", MIN_U32, u32) X(".min.s32", MIN_S32, s32) X(".max.u32", MAX_U32, u32) X(".max.s32", MAX_S32, s32)
#define MX_REDUCTIONS_64(FIRST, X) \
  FIRST(".add.u64", ADD_U64, u64) \
  X(".add.s64", ADD_U64, u64) \
  X(".and.b64", AND_B64, b64) \
  X(".or.b64", OR_B64, b64) \
  X(".xor.b64", XOR_B64, b64) \
  X(".min.u64", MIN_U64, u64) X(".min.s64", MIN_S64, s64) X(".max.u64", MAX_U64, u64) X(".max.s64", MAX_S64, s64)
#define MX_REDUCTIONS_FLOAT(FIRST, X) \
  FIRST(".add.f32", ADD_F32, f32) \
  X(".add.f64", ADD_F64, f64) \
  X(".add.noftz.f16", ADD_F16, f16) \
  X(".add.noftz.bf16", ADD_BF16, bf16) \
  X(".min.f16", MIN_F16_V, f16) \
  X(".max.f16", MAX_F16_V, f16) X(".min.bf16", MIN_BF16_V, bf16) X(".max.bf16", MAX_BF16_V, bf16)

#endif
