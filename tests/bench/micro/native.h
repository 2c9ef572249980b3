/* The same work as a micro kernel's, in plain C: `blocks` blocks of 256 threads, ROUNDS accesses each. Compiled once
 * for each CPU level. */
#ifndef MICRO_NATIVE_H
#define MICRO_NATIVE_H

#include <stdint.h>

enum { BLOCK = 256, ROUNDS = 16, CELLS = BLOCK * ROUNDS };
#define INDEX(t_, i_) \
  ((((uint32_t)(t_)*1664525u + (uint32_t)(i_)*1013904223u) >> 20) & (CELLS - 1)) /* of a gather, in any order */
typedef void native_fn(void *data, uint32_t *out, unsigned blocks);
#define MICRO_CASES(X) \
  X(load_row_u8) \
  X(load_row_u16) \
  X(load_row_f32) \
  X(load_row_f64) \
  X(load_row_v4) \
  X(gather_u8) \
  X(gather_u16) \
  X(gather_f32) \
  X(gather_f64) \
  X(gather_v4) \
  X(store_row_u8) \
  X(store_row_u16) \
  X(store_row_f32) \
  X(store_row_f64) \
  X(scatter_u8) \
  X(scatter_f32) \
  X(private_same) \
  X(private_apart) \
  X(shared_row_u8) \
  X(shared_any_u8) X(atomic_shared) X(atomic_shared_old) X(atomic_global) X(atomic_global_old) X(atomic_float)
#define DECLARE(name_) extern native_fn v3_##name_, v4_##name_;
MICRO_CASES(DECLARE)
#undef DECLARE

#endif
