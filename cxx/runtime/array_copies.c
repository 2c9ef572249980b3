/* The calls that copy rows or bytes from and to arrays: each is a copy of boxes, by memory.c. */
#include "array.h"

#include <stdlib.h>

static cudaError_t plane(cudaArray_const_t a, bool in, size_t x, size_t y, void *memory, size_t pitch, size_t width,
                         size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
  if (!a) return rt_error(cudaErrorInvalidResourceHandle);
  const size_t texel = rt_texel_bytes(&a->format);
  if (x % texel || width % texel) return rt_error(cudaErrorInvalidValue);
  struct cudaMemcpy3DParms p = {.extent = {width / texel, height, 1}, .kind = kind};
  const struct cudaPitchedPtr m = {memory, pitch, width, height};
  const struct cudaPos at = {x / texel, y, 0};
  cudaArray_t array = (cudaArray_t)(uintptr_t)a;
  if (in) p.dstArray = array, p.dstPos = at, p.srcPtr = m;
  else p.srcArray = array, p.srcPos = at, p.dstPtr = m;
  return cudaMemcpy3DAsync(&p, stream);
}

/* Bytes one after the other: what is left of the first row, whole rows, and a beginning. */
static cudaError_t bytes(cudaArray_const_t a, bool in, size_t x, size_t y, char *memory, size_t count,
                         enum cudaMemcpyKind kind, cudaStream_t stream) {
  if (!a) return rt_error(cudaErrorInvalidResourceHandle);
  const size_t row = a->extent.width * rt_texel_bytes(&a->format);
  cudaError_t e = cudaSuccess;
  while (count && e == cudaSuccess) {
    const size_t n = x || count < row ? (count < row - x ? count : row - x) : row;
    const size_t rows = n == row ? count / row : 1;
    e = x >= row ? rt_error(cudaErrorInvalidValue) : plane(a, in, x, y, memory, n, n, rows, kind, stream);
    memory += n * rows, count -= n * rows, y += rows, x = 0;
  }
  return e;
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                     size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return plane(to, true, x, y, (void *)(uintptr_t)from, pitch, width, height, kind, stream);
}
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                size_t height, enum cudaMemcpyKind kind) {
  return cudaMemcpy2DToArrayAsync(to, x, y, from, pitch, width, height, kind, NULL);
}
cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                       size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return plane(from, false, x, y, to, pitch, width, height, kind, stream);
}
cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                  size_t height, enum cudaMemcpyKind kind) {
  return cudaMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, height, kind, NULL);
}
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t count,
                                   enum cudaMemcpyKind kind, cudaStream_t stream) {
  return bytes(to, true, x, y, (char *)(uintptr_t)from, count, kind, stream);
}
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t count,
                              enum cudaMemcpyKind kind) {
  return cudaMemcpyToArrayAsync(to, x, y, from, count, kind, NULL);
}
cudaError_t cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                     enum cudaMemcpyKind kind, cudaStream_t stream) {
  return bytes(from, false, x, y, to, count, kind, stream);
}
cudaError_t cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                enum cudaMemcpyKind kind) {
  return cudaMemcpyFromArrayAsync(to, from, x, y, count, kind, NULL);
}
cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t tox, size_t toy, cudaArray_const_t from, size_t fromx,
                                   size_t fromy, size_t count, enum cudaMemcpyKind kind) {
  char *between = malloc(count ? count : 1);
  (void)kind;
  if (!between) return rt_error(cudaErrorMemoryAllocation);
  cudaError_t e = cudaMemcpyFromArray(between, from, fromx, fromy, count, cudaMemcpyDeviceToHost);
  if (e == cudaSuccess) e = cudaMemcpyToArray(to, tox, toy, between, count, cudaMemcpyHostToDevice);
  free(between);
  return e;
}
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t tox, size_t toy, cudaArray_const_t from, size_t fromx,
                                     size_t fromy, size_t width, size_t height, enum cudaMemcpyKind kind) {
  if (!to || !from) return rt_error(cudaErrorInvalidResourceHandle);
  const size_t texel = rt_texel_bytes(&to->format);
  const struct cudaMemcpy3DParms p = {.srcArray = (cudaArray_t)(uintptr_t)from,
                                      .srcPos = {fromx / texel, fromy, 0},
                                      .dstArray = to,
                                      .dstPos = {tox / texel, toy, 0},
                                      .extent = {width / texel, height, 1},
                                      .kind = kind};
  return cudaMemcpy3D(&p);
}
