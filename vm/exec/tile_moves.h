/* Matrices turned, in vectors of 16 bytes: what a load from memory has in common with the arithmetic. A register of 32
 * lanes, or of half a warp of 64, is 8 rows of 16 bytes, each of four lanes, whose elements follow each other. */
#ifndef MX_VM_TILE_MOVES_H
#define MX_VM_TILE_MOVES_H

#include "core/vocab.h"

#include <string.h>

typedef uint8_t mx__16u8 __attribute__((vector_size(16)));
typedef uint16_t mx__8u16 __attribute__((vector_size(16)));
typedef uint32_t mx__4u32 __attribute__((vector_size(16)));
typedef uint32_t mx__8u32 __attribute__((vector_size(32)));
typedef uint64_t mx__2u64 __attribute__((vector_size(16)));

MX__INL mx__4u32 mx__get16(const void *p) {
  mx__4u32 v;
  memcpy(&v, p, sizeof v);
  return v;
}
/* The lower half of a vector; the upper half is 0. */
MX__INL mx__4u32 mx__get8(const void *p) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return (mx__4u32)(mx__2u64){v, 0};
}
MX__INL void mx__put16(void *p, mx__4u32 v) { memcpy(p, &v, sizeof v); }

MX__INL mx__4u32 mx__low16(mx__4u32 a, mx__4u32 b) {
  return (mx__4u32)__builtin_shufflevector((mx__8u16)a, (mx__8u16)b, 0, 8, 1, 9, 2, 10, 3, 11);
}
MX__INL mx__4u32 mx__high16(mx__4u32 a, mx__4u32 b) {
  return (mx__4u32)__builtin_shufflevector((mx__8u16)a, (mx__8u16)b, 4, 12, 5, 13, 6, 14, 7, 15);
}
MX__INL mx__4u32 mx__low32(mx__4u32 a, mx__4u32 b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
MX__INL mx__4u32 mx__high32(mx__4u32 a, mx__4u32 b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }
MX__INL mx__4u32 mx__low64(mx__4u32 a, mx__4u32 b) {
  return (mx__4u32)__builtin_shufflevector((mx__2u64)a, (mx__2u64)b, 0, 2);
}
MX__INL mx__4u32 mx__high64(mx__4u32 a, mx__4u32 b) {
  return (mx__4u32)__builtin_shufflevector((mx__2u64)a, (mx__2u64)b, 1, 3);
}
MX__INL mx__4u32 mx__even32(mx__4u32 a, mx__4u32 b) { return __builtin_shufflevector(a, b, 0, 2, 4, 6); }
MX__INL mx__4u32 mx__odd32(mx__4u32 a, mx__4u32 b) { return __builtin_shufflevector(a, b, 1, 3, 5, 7); }
/* The lower 8 bytes of both, byte by byte. */
MX__INL mx__4u32 mx__low8(mx__4u32 a, mx__4u32 b) {
  return (mx__4u32)__builtin_shufflevector((mx__16u8)a, (mx__16u8)b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7,
                                           23);
}

/* 8 x 8 elements of 16 bits. */
MX__INL void mx__turn16(mx__4u32 r[8]) {
  mx__4u32 a[8], b[8];
#pragma GCC unroll 4
  for (unsigned k = 0; k < 8; k += 2) a[k] = mx__low16(r[k], r[k + 1]), a[k + 1] = mx__high16(r[k], r[k + 1]);
#pragma GCC unroll 2
  for (unsigned k = 0; k < 8; k += 4) {
    b[k] = mx__low32(a[k], a[k + 2]), b[k + 1] = mx__high32(a[k], a[k + 2]);
    b[k + 2] = mx__low32(a[k + 1], a[k + 3]), b[k + 3] = mx__high32(a[k + 1], a[k + 3]);
  }
#pragma GCC unroll 4
  for (unsigned k = 0; k < 4; k++) r[2 * k] = mx__low64(b[k], b[k + 4]), r[2 * k + 1] = mx__high64(b[k], b[k + 4]);
}
/* 4 x 4 elements of 32 bits. */
MX__INL void mx__turn32(mx__4u32 r[4]) {
  const mx__4u32 a = mx__low32(r[0], r[1]), b = mx__high32(r[0], r[1]), c = mx__low32(r[2], r[3]),
                 d = mx__high32(r[2], r[3]);
  r[0] = mx__low64(a, c), r[1] = mx__high64(a, c), r[2] = mx__low64(b, d), r[3] = mx__high64(b, d);
}

#endif
