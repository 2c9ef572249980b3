// What the programs here share: calls that must succeed, and the last line.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call_) \
  do { \
    cudaError_t e_ = (call_); \
    if (e_ != cudaSuccess) { \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call_, cudaGetErrorString(e_)); \
      exit(1); \
    } \
  } while (0)

#define EXPECT(condition_) \
  do { \
    if (!(condition_)) { \
      printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition_); \
      exit(1); \
    } \
  } while (0)

// version 13 has a parameter more
#if CUDART_VERSION >= 13000
#define MAKE_CONTEXT(context_, flags_, device_) cuCtxCreate(context_, NULL, flags_, device_)
#else
#define MAKE_CONTEXT(context_, flags_, device_) cuCtxCreate(context_, flags_, device_)
#endif

static inline unsigned random_of(unsigned &state) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

template <class T> struct Buffer {
  T *p = nullptr;
  size_t n;
  explicit Buffer(size_t n_) : n(n_) { CHECK(cudaMalloc((void **)&p, n * sizeof(T))); }
  Buffer(const Buffer &) = delete;
  ~Buffer() { cudaFree(p); }
  void put(const T *from) { CHECK(cudaMemcpy(p, from, n * sizeof(T), cudaMemcpyHostToDevice)); }
  void get(T *to) const { CHECK(cudaMemcpy(to, p, n * sizeof(T), cudaMemcpyDeviceToHost)); }
};
