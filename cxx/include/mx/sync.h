/* cuda::atomic, cuda::barrier, cuda::pipeline and asynchronous copies, in the parts that the guides name. */
#ifndef MX_CXX_SYNC_H
#define MX_CXX_SYNC_H
#include "mx/runtime.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cuda {
enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
namespace std {
typedef ::std::memory_order memory_order;
constexpr memory_order memory_order_relaxed = ::std::memory_order_relaxed,
                       memory_order_consume = ::std::memory_order_consume,
                       memory_order_acquire = ::std::memory_order_acquire,
                       memory_order_release = ::std::memory_order_release,
                       memory_order_acq_rel = ::std::memory_order_acq_rel,
                       memory_order_seq_cst = ::std::memory_order_seq_cst;
} // namespace std
using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

__MX_BOTH void atomic_thread_fence(memory_order order, thread_scope scope = thread_scope_system) {
  if (order == memory_order_relaxed) return;
#ifdef __CUDA_ARCH__
  if (scope == thread_scope_block) __threadfence_block();
  else if (scope == thread_scope_device) __threadfence();
  else if (scope == thread_scope_system) __threadfence_system();
#else
  (void)scope;
  ::std::atomic_thread_fence(order);
#endif
}

/* ---- atomics ----------------------------------------------------------------------------------------------------*/
/* On the host and in kernels, each read-modify-write operation is made of compare and swap (exchange_if). */
namespace __mx {
#ifdef __CUDA_ARCH__
template <class T> __device__ inline T exchange_if(T *p, T expected, T desired) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) < 4, "atomics have at most eight bytes");
  if constexpr (sizeof(T) == 4)
    return __builtin_bit_cast(T, atomicCAS((unsigned int *)p, __builtin_bit_cast(unsigned int, expected),
                                           __builtin_bit_cast(unsigned int, desired)));
  else if constexpr (sizeof(T) == 8)
    return __builtin_bit_cast(T, atomicCAS((unsigned long long *)p, __builtin_bit_cast(unsigned long long, expected),
                                           __builtin_bit_cast(unsigned long long, desired)));
  else { /* compares and swaps the aligned word that has the value in it */
    const ::std::uintptr_t at = (::std::uintptr_t)p;
    unsigned int *word = (unsigned int *)(at & ~(::std::uintptr_t)3), shift = (unsigned)(at & 3) * 8;
    const unsigned int mask = (sizeof(T) == 1 ? 0xFFu : 0xFFFFu) << shift;
    typedef ::std::conditional_t<sizeof(T) == 1, unsigned char, unsigned short> U;
    unsigned int old = *(volatile unsigned int *)word;
    for (;;) {
      const U now = (U)((old & mask) >> shift);
      if (now != __builtin_bit_cast(U, expected)) return __builtin_bit_cast(T, now);
      const unsigned int next = (old & ~mask) | (unsigned)__builtin_bit_cast(U, desired) << shift;
      const unsigned int seen = atomicCAS(word, old, next);
      if (seen == old) return expected;
      old = seen;
    }
  }
}
template <class T> __device__ inline T load(const T *p) {
  if constexpr (sizeof(T) == 8) return __builtin_bit_cast(T, *(const volatile unsigned long long *)p);
  else if constexpr (sizeof(T) == 4) return __builtin_bit_cast(T, *(const volatile unsigned int *)p);
  else if constexpr (sizeof(T) == 2) return __builtin_bit_cast(T, *(const volatile unsigned short *)p);
  else return __builtin_bit_cast(T, *(const volatile unsigned char *)p);
}
template <class T> __device__ inline void store(T *p, T v) {
  if constexpr (sizeof(T) == 8) *(volatile unsigned long long *)p = __builtin_bit_cast(unsigned long long, v);
  else if constexpr (sizeof(T) == 4) *(volatile unsigned int *)p = __builtin_bit_cast(unsigned int, v);
  else if constexpr (sizeof(T) == 2) *(volatile unsigned short *)p = __builtin_bit_cast(unsigned short, v);
  else *(volatile unsigned char *)p = __builtin_bit_cast(unsigned char, v);
}
#else
template <class T> inline T exchange_if(T *p, T expected, T desired) {
  __atomic_compare_exchange(p, &expected, &desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}
template <class T> inline T load(const T *p) {
  T v;
  __atomic_load(const_cast<T *>(p), &v, __ATOMIC_SEQ_CST);
  return v;
}
template <class T> inline void store(T *p, T v) { __atomic_store(p, &v, __ATOMIC_SEQ_CST); }
template <class T> __device__ T exchange_if(T *, T, T);
template <class T> __device__ T load(const T *);
template <class T> __device__ void store(T *, T);
#endif
template <class T> __host__ __device__ inline bool same(T a, T b) { /* compares the bits, also of floats */
  typedef ::std::conditional_t<
      sizeof(T) == 8, unsigned long long,
      ::std::conditional_t<sizeof(T) == 4, unsigned int,
                           ::std::conditional_t<sizeof(T) == 2, unsigned short, unsigned char>>>
      U;
  return __builtin_bit_cast(U, a) == __builtin_bit_cast(U, b);
}

template <class T, thread_scope S, class Self> class atomic_operations {
  __host__ __device__ T *at() const { return static_cast<const Self *>(this)->__mx_at(); }
  template <class F> __host__ __device__ T change(F f, memory_order order) const {
    before(order);
    T old = __mx::load(at());
    for (;;) {
      const T seen = exchange_if(at(), old, (T)f(old));
      if (same(seen, old)) break;
      old = seen;
    }
    after(order);
    return old;
  }
  __host__ __device__ static void before(memory_order o) {
    if (o != memory_order_relaxed && o != memory_order_acquire) atomic_thread_fence(o, S);
  }
  __host__ __device__ static void after(memory_order o) {
    if (o != memory_order_relaxed && o != memory_order_release) atomic_thread_fence(o, S);
  }

public:
  typedef T value_type;
  static constexpr bool is_always_lock_free = sizeof(T) <= 8;
  __host__ __device__ T load(memory_order order = memory_order_seq_cst) const {
    if (order == memory_order_seq_cst) atomic_thread_fence(order, S);
    const T v = __mx::load(at());
    after(order);
    return v;
  }
  __host__ __device__ void store(T v, memory_order order = memory_order_seq_cst) const {
    before(order);
    __mx::store(at(), v);
    if (order == memory_order_seq_cst) atomic_thread_fence(order, S);
  }
  __host__ __device__ operator T() const { return load(); }
  __host__ __device__ T exchange(T v, memory_order order = memory_order_seq_cst) const {
    return change([=](T) { return v; }, order);
  }
  __host__ __device__ bool compare_exchange_strong(T &expected, T desired,
                                                   memory_order order = memory_order_seq_cst) const {
    before(order);
    const T seen = exchange_if(at(), expected, desired);
    after(order);
    const bool done = same(seen, expected);
    expected = seen;
    return done;
  }
  __host__ __device__ bool compare_exchange_strong(T &expected, T desired, memory_order order, memory_order) const {
    return compare_exchange_strong(expected, desired, order);
  }
  __host__ __device__ bool compare_exchange_weak(T &expected, T desired,
                                                 memory_order order = memory_order_seq_cst) const {
    return compare_exchange_strong(expected, desired, order);
  }
  __host__ __device__ bool compare_exchange_weak(T &expected, T desired, memory_order order, memory_order) const {
    return compare_exchange_strong(expected, desired, order);
  }
#define __MX_FETCH(name_, ...) \
  template <class V> __host__ __device__ T name_(V v, memory_order order = memory_order_seq_cst) const { \
    return change([=](T old) { return (T)(__VA_ARGS__); }, order); \
  }
  __MX_FETCH(fetch_add, old + v)
  __MX_FETCH(fetch_sub, old - v)
  __MX_FETCH(fetch_and, old &v)
  __MX_FETCH(fetch_or, old | v)
  __MX_FETCH(fetch_xor, old ^ v)
  __MX_FETCH(fetch_max, old < (T)v ? (T)v : old)
  __MX_FETCH(fetch_min, (T)v < old ? (T)v : old)
#undef __MX_FETCH
  template <class V> __host__ __device__ T operator+=(V v) const { return (T)(fetch_add(v) + v); }
  template <class V> __host__ __device__ T operator-=(V v) const { return (T)(fetch_sub(v) - v); }
  template <class V> __host__ __device__ T operator&=(V v) const { return (T)(fetch_and(v) & v); }
  template <class V> __host__ __device__ T operator|=(V v) const { return (T)(fetch_or(v) | v); }
  template <class V> __host__ __device__ T operator^=(V v) const { return (T)(fetch_xor(v) ^ v); }
  __host__ __device__ T operator++() const { return (T)(fetch_add(1) + 1); }
  __host__ __device__ T operator--() const { return (T)(fetch_sub(1) - 1); }
  __host__ __device__ T operator++(int) const { return fetch_add(1); }
  __host__ __device__ T operator--(int) const { return fetch_sub(1); }
  __host__ __device__ void wait(T old, memory_order order = memory_order_seq_cst) const {
    while (same(load(order), old)) {
#ifdef __CUDA_ARCH__
      __nanosleep(20);
#endif
    }
  }
  __host__ __device__ void notify_one() const {}
  __host__ __device__ void notify_all() const {}
};
} // namespace __mx

template <class T, thread_scope S = thread_scope_system>
class atomic : public __mx::atomic_operations<T, S, atomic<T, S>> {
  mutable T value;

public:
  atomic() = default;
  __host__ __device__ constexpr atomic(T v) : value(v) {}
  atomic(const atomic &) = delete;
  atomic &operator=(const atomic &) = delete;
  __host__ __device__ T operator=(T v) {
    this->store(v);
    return v;
  }
  __host__ __device__ T *__mx_at() const { return &value; }
};
template <class T, thread_scope S = thread_scope_system>
class atomic_ref : public __mx::atomic_operations<T, S, atomic_ref<T, S>> {
  T *p;

public:
  __host__ __device__ explicit atomic_ref(T &v) : p(&v) {}
  __host__ __device__ T operator=(T v) const {
    this->store(v);
    return v;
  }
  __host__ __device__ T *__mx_at() const { return p; }
};
template <thread_scope S = thread_scope_system> class atomic_flag {
  atomic<int, S> set;

public:
  __host__ __device__ constexpr atomic_flag() : set(0) {}
  __host__ __device__ bool test_and_set(memory_order o = memory_order_seq_cst) { return set.exchange(1, o); }
  __host__ __device__ void clear(memory_order o = memory_order_seq_cst) { set.store(0, o); }
  __host__ __device__ bool test(memory_order o = memory_order_seq_cst) const { return set.load(o); }
};
namespace std {
template <class T> using atomic = cuda::atomic<T, thread_scope_system>;
template <class T> using atomic_ref = cuda::atomic_ref<T, thread_scope_system>;
} // namespace std

/* ---- barriers: mbarriers in shared memory -----------------------------------------------------------------------*/
#ifdef __CUDA__
struct __mx_no_completion {};
template <thread_scope S, class Completion = __mx_no_completion> class barrier {
  static_assert((S == thread_scope_block || S == thread_scope_thread) && __is_same(Completion, __mx_no_completion),
                "mx has barriers of blocks, in shared memory, without a function for the end of a phase");
  unsigned long long state;

public:
  typedef unsigned long long arrival_token;
  barrier() = default;
  barrier(const barrier &) = delete;
  static constexpr ::std::ptrdiff_t max() { return (1 << 20) - 1; }
  __device__ void __mx_init(::std::ptrdiff_t n) {
    __asm__ volatile("mbarrier.init.b64 [%0], %1;" : : "l"(&state), "r"((int)n) : "memory");
  }
  __device__ arrival_token arrive(::std::ptrdiff_t n = 1) {
    arrival_token t;
    __asm__ volatile("mbarrier.arrive.b64 %0, [%1], %2;" : "=l"(t) : "l"(&state), "r"((int)n) : "memory");
    return t;
  }
  __device__ bool try_wait(arrival_token token) const {
    int done;
    __asm__ volatile("{ .reg .pred %%p; mbarrier.test_wait.b64 %%p, [%1], %2; selp.b32 %0, 1, 0, %%p; }"
                     : "=r"(done)
                     : "l"(&state), "l"(token)
                     : "memory");
    return done;
  }
  __device__ bool try_wait_parity(bool parity) const {
    int done;
    __asm__ volatile("{ .reg .pred %%p; mbarrier.test_wait.parity.b64 %%p, [%1], %2; selp.b32 %0, 1, 0, %%p; }"
                     : "=r"(done)
                     : "l"(&state), "r"((int)parity)
                     : "memory");
    return done;
  }
  __device__ void wait(arrival_token token) const {
    __asm__ volatile("mbarrier.wait.b64 [%0], %1;" : : "l"(&state), "l"(token) : "memory");
  }
  __device__ void wait_parity(bool parity) const {
    __asm__ volatile("mbarrier.wait.parity.b64 [%0], %1;" : : "l"(&state), "r"((int)parity) : "memory");
  }
  __device__ void arrive_and_wait() { wait(arrive()); }
  __device__ void arrive_and_drop() {
    arrival_token t;
    __asm__ volatile("mbarrier.arrive_drop.b64 %0, [%1];" : "=l"(t) : "l"(&state) : "memory");
  }
  friend __device__ void init(barrier *b, ::std::ptrdiff_t expected) { b->__mx_init(expected); }
};
namespace device {
template <thread_scope S> __device__ unsigned long long *barrier_native_handle(barrier<S> &b) {
  return (unsigned long long *)&b;
}
} // namespace device

/* ---- asynchronous copies, which are carried out at once here ----------------------------------------------------*/
template <::std::size_t A> struct aligned_size_t {
  static constexpr ::std::size_t align = A;
  ::std::size_t value;
  __host__ __device__ explicit constexpr aligned_size_t(::std::size_t n) : value(n) {}
  __host__ __device__ constexpr operator ::std::size_t() const { return value; }
};
namespace __mx {
struct alone {
  __device__ static unsigned int thread_rank() { return 0; }
  __device__ static unsigned int size() { return 1; }
};
template <class G> __device__ inline void copy(const G &g, void *to, const void *from, ::std::size_t bytes) {
  const ::std::size_t step = g.size();
  if (!(((::std::uintptr_t)to | (::std::uintptr_t)from | bytes) & 3))
    for (::std::size_t k = g.thread_rank(); k < bytes / 4; k += step) ((int *)to)[k] = ((const int *)from)[k];
  else
    for (::std::size_t k = g.thread_rank(); k < bytes; k += step) ((char *)to)[k] = ((const char *)from)[k];
}
} // namespace __mx

enum class pipeline_role { producer, consumer };
/* Each stage has two barriers: producers arrive at full when they have filled it, and consumers at empty when they have
 * released it. */
template <thread_scope S, unsigned char N> struct pipeline_shared_state {
  barrier<thread_scope_block> full[N], empty[N];
  unsigned int producers, consumers;
};
template <thread_scope S> class pipeline {
  barrier<thread_scope_block> *full, *empty;
  unsigned int stages, head, tail; /* this thread has committed head stages and released tail */

public:
  __device__ pipeline(barrier<thread_scope_block> *f, barrier<thread_scope_block> *e, unsigned int n)
      : full(f), empty(e), stages(n), head(0), tail(0) {}
  __device__ void producer_acquire() {
    if (full && head >= stages) empty[head % stages].wait_parity((head / stages - 1) & 1);
  }
  __device__ void producer_commit() {
    if (full) full[head % stages].arrive();
    head++;
  }
  __device__ void consumer_wait() {
    if (full) full[tail % stages].wait_parity(tail / stages & 1);
  }
  __device__ void consumer_release() {
    if (full) empty[tail % stages].arrive();
    tail++;
  }
  __device__ bool quit() { return true; }
};
__device__ inline pipeline<thread_scope_thread> make_pipeline() { return {nullptr, nullptr, 1}; }
template <class G, thread_scope S, unsigned char N>
__device__ pipeline<S> __mx_pipeline(const G &g, pipeline_shared_state<S, N> *s, bool produces, bool consumes) {
  if (g.thread_rank() == 0) s->producers = s->consumers = 0;
  g.sync();
  if (produces) atomicAdd(&s->producers, 1u);
  if (consumes) atomicAdd(&s->consumers, 1u);
  g.sync();
  if (g.thread_rank() == 0)
    for (unsigned int k = 0; k < N; k++) s->full[k].__mx_init(s->producers), s->empty[k].__mx_init(s->consumers);
  g.sync();
  return {s->full, s->empty, N};
}
template <class G, thread_scope S, unsigned char N>
__device__ pipeline<S> make_pipeline(const G &g, pipeline_shared_state<S, N> *s) {
  return __mx_pipeline(g, s, true, true);
}
template <class G, thread_scope S, unsigned char N>
__device__ pipeline<S> make_pipeline(const G &g, pipeline_shared_state<S, N> *s, pipeline_role role) {
  return __mx_pipeline(g, s, role == pipeline_role::producer, role == pipeline_role::consumer);
}
template <class G, thread_scope S, unsigned char N>
__device__ pipeline<S> make_pipeline(const G &g, pipeline_shared_state<S, N> *s, ::std::size_t producers) {
  return __mx_pipeline(g, s, g.thread_rank() < producers, g.thread_rank() >= producers);
}
template <unsigned char N> __device__ void pipeline_consumer_wait_prior(pipeline<thread_scope_thread> &) {}

template <class G, class T, class Size, thread_scope S>
__device__ void memcpy_async(const G &g, T *to, const T *from, Size size, barrier<S> &) {
  __mx::copy(g, to, from, size);
}
template <class T, class Size, thread_scope S>
__device__ void memcpy_async(T *to, const T *from, Size size, barrier<S> &) {
  __mx::copy(__mx::alone(), to, from, size);
}
template <class G, class T, class Size, thread_scope S>
__device__ void memcpy_async(const G &g, T *to, const T *from, Size size, pipeline<S> &) {
  __mx::copy(g, to, from, size);
}
template <class T, class Size, thread_scope S>
__device__ void memcpy_async(T *to, const T *from, Size size, pipeline<S> &) {
  __mx::copy(__mx::alone(), to, from, size);
}
#endif
} // namespace cuda
#endif
