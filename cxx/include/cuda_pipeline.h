/* A thread's asynchronous copies in batches (__pipeline_…) and barriers in shared memory (__mbarrier_…). */
#ifndef MX_CXX_CUDA_PIPELINE_H
#define MX_CXX_CUDA_PIPELINE_H
#include "mx/runtime.h"

#ifdef __CUDA__
typedef unsigned long long __mbarrier_t;
typedef unsigned long long __mbarrier_token_t;

__MX_DEVICE void __pipeline_memcpy_async(void *__restrict__ to, const void *__restrict__ from, size_t size,
                                         size_t zfill = 0) {
#define __MX_COPY(n_) \
  __asm__ volatile("__pipeline_memcpy_async [%0], [%1], " #n_ ", %2;" \
                   : \
                   : "l"(to), "l"(from), "r"((unsigned int)zfill) \
                   : "memory")
  if (size == 4) __MX_COPY(4);
  else if (size == 8) __MX_COPY(8);
  else __MX_COPY(16);
#undef __MX_COPY
}
__MX_DEVICE void __pipeline_commit() { __asm__ volatile("__pipeline_commit;" : : : "memory"); }
#define __pipeline_wait_prior(n_) __mx_pipeline_wait_prior((unsigned int)(n_))
/* The instruction takes an immediate. */
__MX_DEVICE void __mx_pipeline_wait_prior(unsigned int n) {
  if (n == 0) __asm__ volatile("__pipeline_wait_prior 0;" : : : "memory");
  else if (n == 1) __asm__ volatile("__pipeline_wait_prior 1;" : : : "memory");
  else if (n == 2) __asm__ volatile("__pipeline_wait_prior 2;" : : : "memory");
  else if (n == 3) __asm__ volatile("__pipeline_wait_prior 3;" : : : "memory");
  else if (n == 4) __asm__ volatile("__pipeline_wait_prior 4;" : : : "memory");
  else if (n == 5) __asm__ volatile("__pipeline_wait_prior 5;" : : : "memory");
  else if (n == 6) __asm__ volatile("__pipeline_wait_prior 6;" : : : "memory");
  else __asm__ volatile("__pipeline_wait_prior 7;" : : : "memory");
}
__MX_DEVICE void __pipeline_arrive_on(__mbarrier_t *b) {
  __asm__ volatile("__pipeline_arrive_on [%0];" : : "l"(b) : "memory");
}
__MX_DEVICE unsigned int __mbarrier_maximum_count() { return (1 << 20) - 1; }
__MX_DEVICE unsigned int __mbarrier_token_pending_count(__mbarrier_token_t t) {
  unsigned int n;
  __asm__("__mbarrier_token_pending_count %0, %1;" : "=r"(n) : "l"(t));
  return n;
}
__MX_DEVICE unsigned int __mbarrier_pending_count(__mbarrier_token_t t) { return __mbarrier_token_pending_count(t); }
__MX_DEVICE void __mbarrier_init(__mbarrier_t *b, unsigned int n) {
  __asm__ volatile("__mbarrier_init [%0], %1;" : : "l"(b), "r"(n) : "memory");
}
__MX_DEVICE void __mbarrier_inval(__mbarrier_t *b) { __asm__ volatile("__mbarrier_inval [%0];" : : "l"(b) : "memory"); }
__MX_DEVICE __mbarrier_token_t __mbarrier_arrive(__mbarrier_t *b) {
  __mbarrier_token_t t;
  __asm__ volatile("__mbarrier_arrive %0, [%1];" : "=l"(t) : "l"(b) : "memory");
  return t;
}
__MX_DEVICE __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t *b) {
  __mbarrier_token_t t;
  __asm__ volatile("__mbarrier_arrive_and_drop %0, [%1];" : "=l"(t) : "l"(b) : "memory");
  return t;
}
__MX_DEVICE bool __mbarrier_test_wait(__mbarrier_t *b, __mbarrier_token_t t) {
  int r;
  __asm__ volatile("{ .reg .pred %%p; __mbarrier_test_wait %%p, [%1], %2; selp.b32 %0, 1, 0, %%p; }"
                   : "=r"(r)
                   : "l"(b), "l"(t)
                   : "memory");
  return r;
}
#endif
#endif
