/* cuda::latch and cuda::counting_semaphore: atomic numbers that waiting threads read until they may go on. */
#ifndef MX_CXX_WAITING_H
#define MX_CXX_WAITING_H
#include "mx/sync.h"

#ifndef __CUDA_ARCH__
#include <thread>
#endif
#define __MX_SIDES __attribute__((host, device)) inline
namespace cuda {
namespace __mx {
__MX_BOTH void nap() {
#ifdef __CUDA_ARCH__
  __nanosleep(20);
#else
  ::std::this_thread::yield();
#endif
}
} // namespace __mx

template <thread_scope S = thread_scope_system, ::std::ptrdiff_t Most = 0x7FFFFFFF> class counting_semaphore {
  atomic<int, S> free;

public:
  __MX_SIDES constexpr explicit counting_semaphore(::std::ptrdiff_t n) : free((int)n) {}
  counting_semaphore(const counting_semaphore &) = delete;
  static constexpr ::std::ptrdiff_t max() { return Most; }
  __MX_SIDES void release(::std::ptrdiff_t n = 1) { free.fetch_add((int)n, memory_order_release); }
  __MX_SIDES bool try_acquire() {
    int n = free.load(memory_order_relaxed);
    while (n > 0)
      if (free.compare_exchange_weak(n, n - 1, memory_order_acquire)) return true;
    return false;
  }
  __MX_SIDES void acquire() {
    while (!try_acquire()) __mx::nap();
  }
};
template <thread_scope S = thread_scope_system> using binary_semaphore = counting_semaphore<S, 1>;

template <thread_scope S = thread_scope_system> class latch {
  atomic<int, S> left;

public:
  __MX_SIDES constexpr explicit latch(::std::ptrdiff_t n) : left((int)n) {}
  latch(const latch &) = delete;
  __MX_SIDES void count_down(::std::ptrdiff_t n = 1) { left.fetch_sub((int)n, memory_order_acq_rel); }
  __MX_SIDES bool try_wait() const { return left.load(memory_order_acquire) == 0; }
  __MX_SIDES void wait() const {
    while (!try_wait()) __mx::nap();
  }
  __MX_SIDES void arrive_and_wait(::std::ptrdiff_t n = 1) {
    count_down(n);
    wait();
  }
};
namespace std {
template <::std::ptrdiff_t Most = 0x7FFFFFFF>
using counting_semaphore = ::cuda::counting_semaphore<thread_scope_system, Most>;
using binary_semaphore = ::cuda::binary_semaphore<thread_scope_system>;
using latch = ::cuda::latch<thread_scope_system>;
} // namespace std
} // namespace cuda
#undef __MX_SIDES
#endif
