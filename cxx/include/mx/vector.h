/* Built-in vector types: structs of one to four components with the alignment that the guides give, make_NAME for each,
 * dim3. */
#ifndef MX_CXX_VECTOR_H
#define MX_CXX_VECTOR_H
#include "mx/keywords.h"

#define __MX_VECTOR(t_, n_, a1_, a2_, a4_) \
  struct __attribute__((aligned(a1_))) n_##1 { \
    t_ x; \
  }; \
  struct __attribute__((aligned(a2_))) n_##2 { \
    t_ x, y; \
  }; \
  struct n_##3 { \
    t_ x, y, z; \
  }; \
  struct __attribute__((aligned(a4_))) n_##4 { \
    t_ x, y, z, w; \
  }; \
  __MX_BOTH n_##1 make_##n_##1(t_ x) { return n_##1 {x}; } \
  __MX_BOTH n_##2 make_##n_##2(t_ x, t_ y) { return n_##2 {x, y}; } \
  __MX_BOTH n_##3 make_##n_##3(t_ x, t_ y, t_ z) { return n_##3 {x, y, z}; } \
  __MX_BOTH n_##4 make_##n_##4(t_ x, t_ y, t_ z, t_ w) { return n_##4 {x, y, z, w}; }
__MX_VECTOR(signed char, char, 1, 2, 4)
__MX_VECTOR(unsigned char, uchar, 1, 2, 4)
__MX_VECTOR(short, short, 2, 4, 8)
__MX_VECTOR(unsigned short, ushort, 2, 4, 8)
__MX_VECTOR(int, int, 4, 8, 16)
__MX_VECTOR(unsigned int, uint, 4, 8, 16)
__MX_VECTOR(long, long, 8, 16, 16)
__MX_VECTOR(unsigned long, ulong, 8, 16, 16)
__MX_VECTOR(long long, longlong, 8, 16, 16)
__MX_VECTOR(unsigned long long, ulonglong, 8, 16, 16)
__MX_VECTOR(float, float, 4, 8, 16)
__MX_VECTOR(double, double, 8, 16, 16)
#undef __MX_VECTOR

struct dim3 {
  unsigned int x, y, z;
  constexpr __host__ __device__ dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1)
      : x(x_), y(y_), z(z_) {}
  constexpr __host__ __device__ dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __host__ __device__ operator uint3() const { return uint3{x, y, z}; }
};

#endif
