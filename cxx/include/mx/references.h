/* Texture and surface references, which newer guides no longer have: the templates for such variables of file
 * scope, the functions of kernels that take one, and the calls that bind memory to one. In a kernel the value of
 * such a variable is its address, at which the runtime stores the number of the bound object. mxcc includes this header
 * for sources that use one of the two templates and do not define one of that name themselves. After texture.h. */
#ifndef MX_CXX_REFERENCES_H
#define MX_CXX_REFERENCES_H
#include "mx/texture.h"

template <class T, int Type = cudaTextureType1D, enum cudaTextureReadMode Mode = cudaReadModeElementType>
struct __attribute__((device_builtin_texture_type)) texture : public textureReference {
  __host__ __device__ constexpr texture(int norm = 0, enum cudaTextureFilterMode filter = cudaFilterModePoint,
                                        enum cudaTextureAddressMode address = cudaAddressModeClamp)
      : texture(norm, filter, address, __mx_channels<T>::get()) {}
  __host__ __device__ constexpr texture(int norm, enum cudaTextureFilterMode filter,
                                        enum cudaTextureAddressMode address, struct cudaChannelFormatDesc desc)
      : textureReference{norm, filter, {address, address, address}, desc, 0, 0, cudaFilterModePoint, 0, 0, 0, 0, {}} {}
};
template <class T, int Type = cudaSurfaceType1D>
struct __attribute__((device_builtin_surface_type)) surface : public surfaceReference {
  __host__ __device__ constexpr surface() : surfaceReference{__mx_channels<T>::get()} {}
};
template <int Type> struct __attribute__((device_builtin_surface_type)) surface<void, Type> : public surfaceReference {
  __host__ __device__ constexpr surface() : surfaceReference{{0, 0, 0, 0, cudaChannelFormatKindNone}} {}
};

/* ---- kernels ----------------------------------------------------------------------------------------------------*/
template <class R> __MX_DEVICE unsigned long long __mx_object(R reference) {
  unsigned long long object;
  __asm__ volatile("ld.global.u64 %0, [%1];" : "=l"(object) : "l"(reference) : "memory");
  return object;
}
template <class T, enum cudaTextureReadMode Mode> struct __mx_read { typedef T type; };
#define __MX_READ_AS_FLOATS(t_, v_) \
  template <> struct __mx_read<t_, cudaReadModeNormalizedFloat> { typedef float type; }; \
  template <> struct __mx_read<v_##1, cudaReadModeNormalizedFloat> { typedef float1 type; }; \
  template <> struct __mx_read<v_##2, cudaReadModeNormalizedFloat> { typedef float2 type; }; \
  template <> struct __mx_read<v_##4, cudaReadModeNormalizedFloat> { typedef float4 type; };
__MX_READ_AS_FLOATS(signed char, char)
__MX_READ_AS_FLOATS(unsigned char, uchar)
__MX_READ_AS_FLOATS(short, short)
__MX_READ_AS_FLOATS(unsigned short, ushort)
#undef __MX_READ_AS_FLOATS
template <> struct __mx_read<char, cudaReadModeNormalizedFloat> { typedef float type; };

#define __MX_LIST(...) __VA_ARGS__
#define __MX_SAMPLE(name_, type_, parameters_, arguments_) \
  template <class T, enum cudaTextureReadMode Mode> \
  __MX_DEVICE typename __mx_read<T, Mode>::type name_(texture<T, type_, Mode> t, __MX_LIST parameters_) { \
    return name_<typename __mx_read<T, Mode>::type>(__mx_object(t), __MX_LIST arguments_); \
  }
__MX_SAMPLE(tex1Dfetch, cudaTextureType1D, (int x), (x))
__MX_SAMPLE(tex1D, cudaTextureType1D, (float x), (x))
__MX_SAMPLE(tex1DLod, cudaTextureType1D, (float x, float level), (x, level))
__MX_SAMPLE(tex1DGrad, cudaTextureType1D, (float x, float dx, float dy), (x, dx, dy))
__MX_SAMPLE(tex2D, cudaTextureType2D, (float x, float y), (x, y))
__MX_SAMPLE(tex2DLod, cudaTextureType2D, (float x, float y, float level), (x, y, level))
__MX_SAMPLE(tex2DGrad, cudaTextureType2D, (float x, float y, float2 dx, float2 dy), (x, y, dx, dy))
__MX_SAMPLE(tex2Dgather, cudaTextureType2D, (float x, float y, int component = 0), (x, y, component))
__MX_SAMPLE(tex3D, cudaTextureType3D, (float x, float y, float z), (x, y, z))
__MX_SAMPLE(tex3DLod, cudaTextureType3D, (float x, float y, float z, float level), (x, y, z, level))
__MX_SAMPLE(tex3DGrad, cudaTextureType3D, (float x, float y, float z, float4 dx, float4 dy), (x, y, z, dx, dy))
__MX_SAMPLE(tex1DLayered, cudaTextureType1DLayered, (float x, int layer), (x, layer))
__MX_SAMPLE(tex1DLayeredLod, cudaTextureType1DLayered, (float x, int layer, float level), (x, layer, level))
__MX_SAMPLE(tex1DLayeredGrad, cudaTextureType1DLayered, (float x, int layer, float dx, float dy), (x, layer, dx, dy))
__MX_SAMPLE(tex2DLayered, cudaTextureType2DLayered, (float x, float y, int layer), (x, y, layer))
__MX_SAMPLE(tex2DLayeredLod, cudaTextureType2DLayered, (float x, float y, int layer, float level), (x, y, layer, level))
__MX_SAMPLE(tex2DLayeredGrad, cudaTextureType2DLayered, (float x, float y, int layer, float2 dx, float2 dy),
            (x, y, layer, dx, dy))
__MX_SAMPLE(texCubemap, cudaTextureTypeCubemap, (float x, float y, float z), (x, y, z))
__MX_SAMPLE(texCubemapLod, cudaTextureTypeCubemap, (float x, float y, float z, float level), (x, y, z, level))
__MX_SAMPLE(texCubemapLayered, cudaTextureTypeCubemapLayered, (float x, float y, float z, int layer), (x, y, z, layer))
__MX_SAMPLE(texCubemapLayeredLod, cudaTextureTypeCubemapLayered, (float x, float y, float z, int layer, float level),
            (x, y, z, layer, level))
#undef __MX_SAMPLE

#define __MX_SURFACE(name_, type_, parameters_, arguments_) \
  template <class T, class S> \
  __MX_DEVICE void name_##read(T *data, surface<S, type_> s, __MX_LIST parameters_, \
                               cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
    name_##read(data, __mx_object(s), __MX_LIST arguments_, mode); \
  } \
  template <class T, class S> \
  __MX_DEVICE T name_##read(surface<S, type_> s, __MX_LIST parameters_, \
                            cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
    return name_##read<T>(__mx_object(s), __MX_LIST arguments_, mode); \
  } \
  template <class T, class S> \
  __MX_DEVICE void name_##write(T data, surface<S, type_> s, __MX_LIST parameters_, \
                                cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
    name_##write(data, __mx_object(s), __MX_LIST arguments_, mode); \
  }
__MX_SURFACE(surf1D, cudaSurfaceType1D, (int x), (x))
__MX_SURFACE(surf2D, cudaSurfaceType2D, (int x, int y), (x, y))
__MX_SURFACE(surf3D, cudaSurfaceType3D, (int x, int y, int z), (x, y, z))
__MX_SURFACE(surf1DLayered, cudaSurfaceType1DLayered, (int x, int layer), (x, layer))
__MX_SURFACE(surf2DLayered, cudaSurfaceType2DLayered, (int x, int y, int layer), (x, y, layer))
__MX_SURFACE(surfCubemap, cudaSurfaceTypeCubemap, (int x, int y, int face), (x, y, face))
__MX_SURFACE(surfCubemapLayered, cudaSurfaceTypeCubemapLayered, (int x, int y, int face), (x, y, face))
#undef __MX_SURFACE
#undef __MX_LIST

/* ---- the host ---------------------------------------------------------------------------------------------------*/
/* The bound memory has the texture's own format, unless the program gives another. */
#define __MX_TEXTURE template <class T, int Type, enum cudaTextureReadMode Mode> static inline cudaError_t
#define __MX_REFERENCE const texture<T, Type, Mode> &t
__MX_TEXTURE cudaBindTexture(size_t *offset, __MX_REFERENCE, const void *p, const struct cudaChannelFormatDesc &desc,
                             size_t size = 0xffffffffu) {
  return cudaBindTexture(offset, (const textureReference *)&t, p, &desc, size);
}
__MX_TEXTURE cudaBindTexture(size_t *offset, __MX_REFERENCE, const void *p, size_t size = 0xffffffffu) {
  return cudaBindTexture(offset, (const textureReference *)&t, p, &t.channelDesc, size);
}
__MX_TEXTURE cudaBindTexture2D(size_t *offset, __MX_REFERENCE, const void *p, const struct cudaChannelFormatDesc &desc,
                               size_t width, size_t height, size_t pitch) {
  return cudaBindTexture2D(offset, (const textureReference *)&t, p, &desc, width, height, pitch);
}
__MX_TEXTURE cudaBindTexture2D(size_t *offset, __MX_REFERENCE, const void *p, size_t width, size_t height,
                               size_t pitch) {
  return cudaBindTexture2D(offset, (const textureReference *)&t, p, &t.channelDesc, width, height, pitch);
}
__MX_TEXTURE cudaBindTextureToArray(__MX_REFERENCE, cudaArray_const_t array, const struct cudaChannelFormatDesc &desc) {
  return cudaBindTextureToArray((const textureReference *)&t, array, &desc);
}
__MX_TEXTURE cudaBindTextureToArray(__MX_REFERENCE, cudaArray_const_t array) {
  return cudaBindTextureToArray((const textureReference *)&t, array, (const struct cudaChannelFormatDesc *)0);
}
__MX_TEXTURE cudaBindTextureToMipmappedArray(__MX_REFERENCE, cudaMipmappedArray_const_t array) {
  return cudaBindTextureToMipmappedArray((const textureReference *)&t, array, (const struct cudaChannelFormatDesc *)0);
}
__MX_TEXTURE cudaBindTextureToMipmappedArray(__MX_REFERENCE, cudaMipmappedArray_const_t array,
                                             const struct cudaChannelFormatDesc &desc) {
  return cudaBindTextureToMipmappedArray((const textureReference *)&t, array, &desc);
}
__MX_TEXTURE cudaUnbindTexture(__MX_REFERENCE) { return cudaUnbindTexture((const textureReference *)&t); }
__MX_TEXTURE cudaGetTextureAlignmentOffset(size_t *offset, __MX_REFERENCE) {
  return cudaGetTextureAlignmentOffset(offset, (const textureReference *)&t);
}
#undef __MX_TEXTURE
#undef __MX_REFERENCE
template <class T, int Type>
static inline cudaError_t cudaBindSurfaceToArray(const surface<T, Type> &s, cudaArray_const_t array,
                                                 const struct cudaChannelFormatDesc &desc) {
  return cudaBindSurfaceToArray((const surfaceReference *)&s, array, &desc);
}
template <class T, int Type>
static inline cudaError_t cudaBindSurfaceToArray(const surface<T, Type> &s, cudaArray_const_t array) {
  return cudaBindSurfaceToArray((const surfaceReference *)&s, array, (const struct cudaChannelFormatDesc *)0);
}

#endif
