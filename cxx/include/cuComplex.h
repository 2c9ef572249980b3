/* Complex numbers: cuFloatComplex and cuDoubleComplex, their arithmetic for host and kernels. */
#ifndef MX_CXX_CUCOMPLEX_H
#define MX_CXX_CUCOMPLEX_H
#include "mx/vector.h"
#include <math.h>

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define __MX_COMPLEX(c_, r_, f_, make_, fabs_, sqrt_, fma_) \
  __MX_BOTH r_ cuCreal##f_(c_ a) { return a.x; } \
  __MX_BOTH r_ cuCimag##f_(c_ a) { return a.y; } \
  __MX_BOTH c_ make_(r_ re, r_ im) { return c_{re, im}; } \
  __MX_BOTH c_ cuConj##f_(c_ a) { return c_{a.x, -a.y}; } \
  __MX_BOTH c_ cuCadd##f_(c_ a, c_ b) { return c_{a.x + b.x, a.y + b.y}; } \
  __MX_BOTH c_ cuCsub##f_(c_ a, c_ b) { return c_{a.x - b.x, a.y - b.y}; } \
  __MX_BOTH c_ cuCmul##f_(c_ a, c_ b) { return c_{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; } \
  __MX_BOTH c_ cuCdiv##f_(c_ a, c_ b) { \
    r_ s = 1 / (fabs_(b.x) + fabs_(b.y)), ax = a.x * s, ay = a.y * s, bx = b.x * s, by = b.y * s; \
    s = 1 / (bx * bx + by * by); \
    return c_{(ax * bx + ay * by) * s, (ay * bx - ax * by) * s}; \
  } \
  __MX_BOTH r_ cuCabs##f_(c_ a) { \
    r_ x = fabs_(a.x), y = fabs_(a.y), big = x > y ? x : y, small = x > y ? y : x; \
    if (big == 0 || isinf(big) || isnan(big + small)) return big + small; \
    r_ t = small / big; \
    return big * sqrt_(1 + t * t); \
  } \
  __MX_BOTH c_ cuCfma##f_(c_ a, c_ b, c_ d) { \
    return c_{fma_(a.x, b.x, d.x) - a.y * b.y, fma_(a.x, b.y, d.y) + a.y * b.x}; \
  }
__MX_COMPLEX(cuFloatComplex, float, f, make_cuFloatComplex, fabsf, sqrtf, fmaf)
__MX_COMPLEX(cuDoubleComplex, double, , make_cuDoubleComplex, fabs, sqrt, fma)
#undef __MX_COMPLEX
__MX_BOTH cuComplex make_cuComplex(float re, float im) { return cuComplex{re, im}; }
__MX_BOTH cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return cuDoubleComplex{a.x, a.y}; }
__MX_BOTH cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) { return cuFloatComplex{(float)a.x, (float)a.y}; }
#endif
