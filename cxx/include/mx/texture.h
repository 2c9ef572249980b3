/* Textures and surfaces in kernels: a template for each of the guides' functions, made of the instruction of that name.
 * After runtime.h. */
#ifndef MX_CXX_TEXTURE_H
#define MX_CXX_TEXTURE_H
#include "mx/runtime.h"

/* The instructions give a sample as four words, whatever the texture's format is; __mx_texel makes the type of them
 * that the program asks for. */
template <class T> struct __mx_component {
  static __device__ __inline__ T of(unsigned int word) { return (T)word; }
};
template <> struct __mx_component<float> {
  static __device__ __inline__ float of(unsigned int word) { return __builtin_bit_cast(float, word); }
};
template <class T> struct __mx_texel {
  static __device__ __inline__ T of(const unsigned int *w) { return __mx_component<T>::of(w[0]); }
};
#define __MX_TEXEL(t_, n_) \
  template <> struct __mx_texel<n_##1> { \
    static __device__ __inline__ n_##1 of(const unsigned int *w) { return n_##1 {__mx_component<t_>::of(w[0])}; } \
  }; \
  template <> struct __mx_texel<n_##2> { \
    static __device__ __inline__ n_##2 of(const unsigned int *w) { \
      return n_##2 {__mx_component<t_>::of(w[0]), __mx_component<t_>::of(w[1])}; \
    } \
  }; \
  template <> struct __mx_texel<n_##4> { \
    static __device__ __inline__ n_##4 of(const unsigned int *w) { \
      return n_##4 {__mx_component<t_>::of(w[0]), __mx_component<t_>::of(w[1]), __mx_component<t_>::of(w[2]), \
                    __mx_component<t_>::of(w[3])}; \
    } \
  };
__MX_TEXEL(signed char, char)
__MX_TEXEL(unsigned char, uchar)
__MX_TEXEL(short, short)
__MX_TEXEL(unsigned short, ushort)
__MX_TEXEL(int, int)
__MX_TEXEL(unsigned int, uint)
__MX_TEXEL(float, float)
#undef __MX_TEXEL

/* A function: name, parameters, the text of the operands from %4 on, and the operands with their constraints. */
#define __MX_SAMPLE(name_, parameters_, operands_, ...) \
  template <class T> __MX_DEVICE T name_ parameters_ { \
    unsigned int w[4]; \
    __asm__ volatile(#name_ ".u32 {%0, %1, %2, %3}, " operands_ ";" \
                     : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) \
                     : "l"(t), __VA_ARGS__ \
                     : "memory"); \
    return __mx_texel<T>::of(w); \
  }
#define __MX_T cudaTextureObject_t t
__MX_SAMPLE(tex1Dfetch, (__MX_T, int x), "%4, %5", "r"(x))
__MX_SAMPLE(tex1D, (__MX_T, float x), "%4, %5", "f"(x))
__MX_SAMPLE(tex2D, (__MX_T, float x, float y), "%4, %5, %6", "f"(x), "f"(y))
__MX_SAMPLE(tex3D, (__MX_T, float x, float y, float z), "%4, %5, %6, %7", "f"(x), "f"(y), "f"(z))
__MX_SAMPLE(tex1DLayered, (__MX_T, float x, int l), "%4, %5, %6", "f"(x), "r"(l))
__MX_SAMPLE(tex2DLayered, (__MX_T, float x, float y, int l), "%4, %5, %6, %7", "f"(x), "f"(y), "r"(l))
__MX_SAMPLE(texCubemap, (__MX_T, float x, float y, float z), "%4, %5, %6, %7", "f"(x), "f"(y), "f"(z))
__MX_SAMPLE(texCubemapLayered, (__MX_T, float x, float y, float z, int l), "%4, %5, %6, %7, %8", "f"(x), "f"(y), "f"(z),
            "r"(l))
__MX_SAMPLE(tex1DLod, (__MX_T, float x, float v), "%4, %5, %6", "f"(x), "f"(v))
__MX_SAMPLE(tex2DLod, (__MX_T, float x, float y, float v), "%4, %5, %6, %7", "f"(x), "f"(y), "f"(v))
__MX_SAMPLE(tex3DLod, (__MX_T, float x, float y, float z, float v), "%4, %5, %6, %7, %8", "f"(x), "f"(y), "f"(z),
            "f"(v))
__MX_SAMPLE(tex1DLayeredLod, (__MX_T, float x, int l, float v), "%4, %5, %6, %7", "f"(x), "r"(l), "f"(v))
__MX_SAMPLE(tex2DLayeredLod, (__MX_T, float x, float y, int l, float v), "%4, %5, %6, %7, %8", "f"(x), "f"(y), "r"(l),
            "f"(v))
__MX_SAMPLE(texCubemapLod, (__MX_T, float x, float y, float z, float v), "%4, %5, %6, %7, %8", "f"(x), "f"(y), "f"(z),
            "f"(v))
__MX_SAMPLE(texCubemapLayeredLod, (__MX_T, float x, float y, float z, int l, float v), "%4, %5, %6, %7, %8, %9", "f"(x),
            "f"(y), "f"(z), "r"(l), "f"(v))
__MX_SAMPLE(tex1DGrad, (__MX_T, float x, float dx, float dy), "%4, %5, %6, %7", "f"(x), "f"(dx), "f"(dy))
__MX_SAMPLE(tex2DGrad, (__MX_T, float x, float y, float2 dx, float2 dy), "%4, %5, %6, %7, %8, %9, %10", "f"(x), "f"(y),
            "f"(dx.x), "f"(dx.y), "f"(dy.x), "f"(dy.y))
__MX_SAMPLE(tex3DGrad, (__MX_T, float x, float y, float z, float4 dx, float4 dy),
            "%4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15", "f"(x), "f"(y), "f"(z), "f"(dx.x), "f"(dx.y),
            "f"(dx.z), "f"(dx.w), "f"(dy.x), "f"(dy.y), "f"(dy.z), "f"(dy.w))
__MX_SAMPLE(tex1DLayeredGrad, (__MX_T, float x, int l, float dx, float dy), "%4, %5, %6, %7, %8", "f"(x), "r"(l),
            "f"(dx), "f"(dy))
__MX_SAMPLE(tex2DLayeredGrad, (__MX_T, float x, float y, int l, float2 dx, float2 dy),
            "%4, %5, %6, %7, %8, %9, %10, %11", "f"(x), "f"(y), "r"(l), "f"(dx.x), "f"(dx.y), "f"(dy.x), "f"(dy.y))
#undef __MX_SAMPLE
template <class T> __MX_DEVICE T tex2Dgather(__MX_T, float x, float y, int comp = 0) {
  unsigned int w[4];
#define __MX_GATHER(c_) \
  __asm__ volatile("tex2Dgather" c_ ".u32 {%0, %1, %2, %3}, %4, %5, %6;" \
                   : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) \
                   : "l"(t), "f"(x), "f"(y) \
                   : "memory");
  if (comp == 0) __MX_GATHER(".r")
  else if (comp == 1) __MX_GATHER(".g")
  else if (comp == 2) __MX_GATHER(".b")
  else __MX_GATHER(".a")
#undef __MX_GATHER
  return __mx_texel<T>::of(w);
}
#undef __MX_T

/* A surface is read and written as bytes, without a conversion: values of 1, 2 and 4 bytes are in one register, larger
 * ones in two or four of 32 bits. */
#define __MX_SURFACE(name_, parameters_, arguments_, p1_, p2_, p4_, ...) \
  template <class T> \
  __MX_DEVICE void name_##read(T *data, cudaSurfaceObject_t t, __MX_LIST parameters_, \
                               cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
    if (mode == cudaBoundaryModeZero) __MX_READ(#name_, ".zero", p1_, p2_, p4_, __VA_ARGS__) \
    else if (mode == cudaBoundaryModeClamp) __MX_READ(#name_, ".clamp", p1_, p2_, p4_, __VA_ARGS__) \
    else __MX_READ(#name_, ".trap", p1_, p2_, p4_, __VA_ARGS__) \
  } \
  template <class T> \
  __MX_DEVICE T name_##read(cudaSurfaceObject_t t, __MX_LIST parameters_, \
                            cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
    T r; \
    name_##read(&r, t, __MX_LIST arguments_, mode); \
    return r; \
  } \
  template <class T> \
  __MX_DEVICE void name_##write(T data, cudaSurfaceObject_t t, __MX_LIST parameters_, \
                                cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
    if (mode == cudaBoundaryModeZero) __MX_WRITE(#name_, ".zero", p1_, p2_, p4_, __VA_ARGS__) \
    else if (mode == cudaBoundaryModeClamp) __MX_WRITE(#name_, ".clamp", p1_, p2_, p4_, __VA_ARGS__) \
    else __MX_WRITE(#name_, ".trap", p1_, p2_, p4_, __VA_ARGS__) \
  }
#define __MX_LIST(...) __VA_ARGS__
#define __MX_READ(name_, mode_, p1_, p2_, p4_, ...) \
  { \
    unsigned int w[4]; \
    unsigned short h; \
    if (sizeof(T) == 1) \
      __asm__ volatile(name_ "read.u8" mode_ " %0, " p1_ ";" : "=h"(h) : "l"(t), __VA_ARGS__ : "memory"); \
    else if (sizeof(T) == 2) \
      __asm__ volatile(name_ "read.u16" mode_ " %0, " p1_ ";" : "=h"(h) : "l"(t), __VA_ARGS__ : "memory"); \
    else if (sizeof(T) == 4) \
      __asm__ volatile(name_ "read.u32" mode_ " %0, " p1_ ";" : "=r"(w[0]) : "l"(t), __VA_ARGS__ : "memory"); \
    else if (sizeof(T) == 8) \
      __asm__ volatile(name_ "read.u32" mode_ " {%0, %1}, " p2_ ";" \
                       : "=r"(w[0]), "=r"(w[1]) \
                       : "l"(t), __VA_ARGS__ \
                       : "memory"); \
    else \
      __asm__ volatile(name_ "read.u32" mode_ " {%0, %1, %2, %3}, " p4_ ";" \
                       : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) \
                       : "l"(t), __VA_ARGS__ \
                       : "memory"); \
    if (sizeof(T) < 4) __builtin_memcpy(data, &h, sizeof(T) < 4 ? sizeof(T) : 0); \
    else __builtin_memcpy(data, w, sizeof(T) < 4 ? 0 : sizeof(T)); \
  }
#define __MX_WRITE(name_, mode_, p1_, p2_, p4_, ...) \
  { \
    unsigned int w[4]; \
    unsigned short h = 0; \
    if (sizeof(T) < 4) __builtin_memcpy(&h, &data, sizeof(T) < 4 ? sizeof(T) : 0); \
    else __builtin_memcpy(w, &data, sizeof(T) < 4 ? 0 : sizeof(T)); \
    if (sizeof(T) == 1) \
      __asm__ volatile(name_ "write.u8" mode_ " %0, " p1_ ";" : : "h"(h), "l"(t), __VA_ARGS__ : "memory"); \
    else if (sizeof(T) == 2) \
      __asm__ volatile(name_ "write.u16" mode_ " %0, " p1_ ";" : : "h"(h), "l"(t), __VA_ARGS__ : "memory"); \
    else if (sizeof(T) == 4) \
      __asm__ volatile(name_ "write.u32" mode_ " %0, " p1_ ";" : : "r"(w[0]), "l"(t), __VA_ARGS__ : "memory"); \
    else if (sizeof(T) == 8) \
      __asm__ volatile(name_ "write.u32" mode_ " {%0, %1}, " p2_ ";" \
                       : \
                       : "r"(w[0]), "r"(w[1]), "l"(t), __VA_ARGS__ \
                       : "memory"); \
    else \
      __asm__ volatile(name_ "write.u32" mode_ " {%0, %1, %2, %3}, " p4_ ";" \
                       : \
                       : "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "l"(t), __VA_ARGS__ \
                       : "memory"); \
  }
#define __MX_SURFACE1(name_, p_, a_, ...) __MX_SURFACE(name_, p_, a_, "%1, %2", "%2, %3", "%4, %5", __VA_ARGS__)
#define __MX_SURFACE2(name_, p_, a_, ...) \
  __MX_SURFACE(name_, p_, a_, "%1, %2, %3", "%2, %3, %4", "%4, %5, %6", __VA_ARGS__)
#define __MX_SURFACE3(name_, p_, a_, ...) \
  __MX_SURFACE(name_, p_, a_, "%1, %2, %3, %4", "%2, %3, %4, %5", "%4, %5, %6, %7", __VA_ARGS__)
__MX_SURFACE1(surf1D, (int x), (x), "r"(x))
__MX_SURFACE2(surf2D, (int x, int y), (x, y), "r"(x), "r"(y))
__MX_SURFACE3(surf3D, (int x, int y, int z), (x, y, z), "r"(x), "r"(y), "r"(z))
__MX_SURFACE2(surf1DLayered, (int x, int layer), (x, layer), "r"(x), "r"(layer))
__MX_SURFACE3(surf2DLayered, (int x, int y, int layer), (x, y, layer), "r"(x), "r"(y), "r"(layer))
__MX_SURFACE3(surfCubemap, (int x, int y, int face), (x, y, face), "r"(x), "r"(y), "r"(face))
__MX_SURFACE3(surfCubemapLayered, (int x, int y, int face), (x, y, face), "r"(x), "r"(y), "r"(face))
#undef __MX_SURFACE
#undef __MX_SURFACE1
#undef __MX_SURFACE2
#undef __MX_SURFACE3
#undef __MX_READ
#undef __MX_WRITE
#undef __MX_LIST

#endif
