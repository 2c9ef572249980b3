/* Cooperative groups: blocks, clusters, grids, tiles of a warp and the active lanes of a warp, made of barriers,
 * shuffles and votes. A group within a warp keeps the mask of its lanes. */
#ifndef MX_CXX_COOPERATIVE_GROUPS_H
#define MX_CXX_COOPERATIVE_GROUPS_H
#include "mx/runtime.h"

#ifdef __CUDA__
namespace cooperative_groups {

namespace __mx {
/* Not by inline assembly, which stays in the loop where it stands, and the masks made of it too. */
__MX_DEVICE unsigned int lane() { return (unsigned int)__nvvm_read_ptx_sreg_laneid(); }
__MX_DEVICE int count(__mx_mask m) { return sizeof m == 8 ? __popcll((long long)m) : __popc((int)m); }
/* The position of the k-th set bit of m, counted from 0; m has more than k bits set. */
__MX_DEVICE int place(__mx_mask m, int k) {
  while (k--) m &= m - 1;
  return sizeof m == 8 ? __ffsll((long long)m) - 1 : __ffs((int)m) - 1;
}
/* Values of any type travel in words, of 64 bits where they consist of such: the instructions are those that a shuffle
 * of a long takes. A float or a double is a word itself: as an integer it would be one more register. */
template <bool LONG> struct word_of_size { typedef unsigned int type; };
template <> struct word_of_size<true> { typedef unsigned long long type; };
template <class T> struct word_of : word_of_size<sizeof(T) % 8 == 0> {};
template <> struct word_of<float> { typedef float type; };
template <> struct word_of<double> { typedef double type; };
template <class T> using word = typename word_of<T>::type;
/* Applies f, which moves one word between lanes, to each word of a value of any type. */
template <class T, class F> __MX_DEVICE T by_words(T v, F f) {
  union {
    T value;
    word<T> part[(sizeof(T) + sizeof(word<T>) - 1) / sizeof(word<T>)];
  } u;
  if (sizeof(T) % 4) u.part[sizeof(T) / 4] = 0;
  u.value = v;
  for (unsigned k = 0; k < sizeof u.part / sizeof *u.part; k++) u.part[k] = f(u.part[k]);
  return u.value;
}
} // namespace __mx

/* ---- the block, the grid ----------------------------------------------------------------------------------------*/
class thread_block {
public:
  __device__ static void sync() { __syncthreads(); }
  __device__ static unsigned int thread_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  __device__ static unsigned int size() { return blockDim.x * blockDim.y * blockDim.z; }
  __device__ static unsigned int num_threads() { return size(); }
  __device__ static dim3 group_index() { return blockIdx; }
  __device__ static dim3 thread_index() { return threadIdx; }
  __device__ static dim3 group_dim() { return blockDim; }
  __device__ static dim3 dim_threads() { return blockDim; }
};
__MX_DEVICE thread_block this_thread_block() { return thread_block(); }

class grid_group {
  /* A cooperative launch has a workspace: a word with its size, then the word that counts arrivals at the barrier. */
  __device__ static unsigned int *arrivals() {
    unsigned int high, low;
    __asm__("mov.b32 %0, %%envreg1;" : "=r"(high));
    __asm__("mov.b32 %0, %%envreg2;" : "=r"(low));
    unsigned long long workspace = (unsigned long long)high << 32 | low;
    return workspace ? (unsigned int *)workspace + 1 : (unsigned int *)0;
  }

public:
  __device__ static bool is_valid() { return arrivals() != (unsigned int *)0; }
  /* One thread of each block adds to the word and then waits until the word's top bit changes. The first block adds
   * 2^31 less the number of the others and each other block adds 1, so that all of them together add 2^31, which
   * changes the top bit and leaves the other bits as they were. */
  __device__ static void sync() {
    __syncthreads();
    if (!thread_block::thread_rank()) {
      unsigned int *at = arrivals(), blocks = gridDim.x * gridDim.y * gridDim.z;
      if (!at) __trap();
      __threadfence();
      bool first = !(blockIdx.x | blockIdx.y | blockIdx.z);
      unsigned int add = first ? 0x80000000u - (blocks - 1) : 1, old = atomicAdd(at, add);
      while (!((old ^ *(volatile unsigned int *)at) & 0x80000000u))
        __asm__ volatile("nanosleep.u32 20;" : : : "memory");
      __threadfence();
    }
    __syncthreads();
  }
  __device__ static unsigned long long size() { return num_blocks() * thread_block::size(); }
  __device__ static unsigned long long num_threads() { return size(); }
  __device__ static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  __device__ static unsigned long long block_rank() {
    return (blockIdx.z * gridDim.y + blockIdx.y) * (unsigned long long)gridDim.x + blockIdx.x;
  }
  __device__ static unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
  __device__ static dim3 group_dim() { return gridDim; }
  __device__ static dim3 dim_blocks() { return gridDim; }
  __device__ static dim3 block_index() { return blockIdx; }
};
__MX_DEVICE grid_group this_grid() { return grid_group(); }

/* The grids of one launch on several devices. A launch on one device has one grid. */
class multi_grid_group {
#define __MX_OF_GRIDS(c_, type_, name_) \
  static __inline__ __device__ type_ name_() { \
    type_ r; \
    __asm__ volatile("{ .reg .b128 %%grids; this_multi_grid %%grids; multi_grid_group." #name_ " %0, %%grids; }" \
                     : "=" c_(r)); \
    return r; \
  }

public:
  __device__ static bool is_valid() { return grid_group::is_valid(); }
  __device__ static void sync() {
    __asm__ volatile("{ .reg .b128 %%grids; this_multi_grid %%grids; multi_grid_group.sync %%grids; }" : : : "memory");
  }
  __MX_OF_GRIDS("l", unsigned long long, thread_rank)
  __MX_OF_GRIDS("l", unsigned long long, num_threads)
  __MX_OF_GRIDS("r", unsigned int, grid_rank)
  __MX_OF_GRIDS("r", unsigned int, num_grids)
#undef __MX_OF_GRIDS
  __device__ static unsigned long long size() { return num_threads(); }
};
__MX_DEVICE multi_grid_group this_multi_grid() { return multi_grid_group(); }

/* Blocks that run at the same time and can access each other's shared memory. */
class cluster_group {
#define __MX_REGISTER(name_, register_) \
  static __inline__ __device__ unsigned int name_() { \
    unsigned int r; \
    __asm__("mov.u32 %0, %%" register_ ";" : "=r"(r)); \
    return r; \
  }
  __MX_REGISTER(index_x, "cluster_ctaid.x")
  __MX_REGISTER(index_y, "cluster_ctaid.y")
  __MX_REGISTER(index_z, "cluster_ctaid.z")
  __MX_REGISTER(dim_x, "cluster_nctaid.x")
  __MX_REGISTER(dim_y, "cluster_nctaid.y")
  __MX_REGISTER(dim_z, "cluster_nctaid.z")

public:
  class arrival_token {};
  __device__ static arrival_token barrier_arrive() {
    __asm__ volatile("barrier.cluster.arrive.release;" : : : "memory");
    return arrival_token();
  }
  __device__ static void barrier_wait() { __asm__ volatile("barrier.cluster.wait.acquire;" : : : "memory"); }
  __device__ static void barrier_wait(arrival_token &&) { barrier_wait(); }
  __device__ static void sync() { barrier_wait(barrier_arrive()); }
  __MX_REGISTER(block_rank, "cluster_ctarank")
  __MX_REGISTER(num_blocks, "cluster_nctarank")
#undef __MX_REGISTER
  __device__ static unsigned int thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
  __device__ static unsigned int num_threads() { return num_blocks() * thread_block::size(); }
  __device__ static unsigned int size() { return num_threads(); }
  __device__ static dim3 block_index() { return dim3(index_x(), index_y(), index_z()); }
  __device__ static dim3 dim_blocks() { return dim3(dim_x(), dim_y(), dim_z()); }
  __device__ static dim3 thread_index() {
    return dim3(index_x() * blockDim.x + threadIdx.x, index_y() * blockDim.y + threadIdx.y,
                index_z() * blockDim.z + threadIdx.z);
  }
  __device__ static dim3 dim_threads() {
    return dim3(dim_x() * blockDim.x, dim_y() * blockDim.y, dim_z() * blockDim.z);
  }
  /* map_shared_rank: the address of the same variable in the shared memory of the block with that rank.
   * query_shared_rank: the rank of the block whose shared memory the address is in. */
  template <class T> __device__ static T *map_shared_rank(T *p, int rank) {
    T *r;
    __asm__("mapa.u64 %0, %1, %2;" : "=l"(r) : "l"(p), "r"(rank));
    return r;
  }
  __device__ static unsigned int query_shared_rank(const void *p) {
    unsigned int r;
    __asm__("getctarank.u64 %0, %1;" : "=r"(r) : "l"(p));
    return r;
  }
};
__MX_DEVICE cluster_group this_cluster() { return cluster_group(); }

/* ---- lanes of a warp --------------------------------------------------------------------------------------------*/
class coalesced_group {
protected:
  __mx_mask lanes;
  unsigned int meta_rank, meta_size;

public:
  __device__ explicit coalesced_group(__mx_mask m, unsigned int rank = 0, unsigned int size = 1)
      : lanes(m), meta_rank(rank), meta_size(size) {}
  __device__ void sync() const { __syncwarp(lanes); }
  __device__ unsigned int size() const { return (unsigned)__mx::count(lanes); }
  __device__ unsigned int num_threads() const { return size(); }
  __device__ unsigned int thread_rank() const {
    return (unsigned)__mx::count(lanes & (((__mx_mask)1 << __mx::lane()) - 1));
  }
  __device__ unsigned int meta_group_rank() const { return meta_rank; }
  __device__ unsigned int meta_group_size() const { return meta_size; }
  __device__ __mx_mask __mx_lanes() const { return lanes; }

  template <class T> __device__ T shfl(T v, unsigned int rank) const {
    int from = __mx::place(lanes, (int)(rank % size()));
    return __mx::by_words(v, [=](__mx::word<T> w) { return __shfl_sync(lanes, w, from); });
  }
  template <class T> __device__ T shfl_up(T v, unsigned int delta) const {
    unsigned int rank = thread_rank();
    return shfl(v, rank < delta ? rank : rank - delta);
  }
  template <class T> __device__ T shfl_down(T v, unsigned int delta) const {
    unsigned int rank = thread_rank();
    return shfl(v, rank + delta < size() ? rank + delta : rank);
  }
  template <class T> __device__ T shfl_xor(T v, unsigned int mask) const {
    unsigned int rank = thread_rank();
    return shfl(v, (rank ^ mask) < size() ? rank ^ mask : rank);
  }
  __device__ int any(int p) const { return __any_sync(lanes, p); }
  __device__ int all(int p) const { return __all_sync(lanes, p); }
  __device__ __mx_mask ballot(int p) const { return pack(__ballot_sync(lanes, p)); }
  template <class T> __device__ __mx_mask match_any(T v) const { return pack(__match_any_sync(lanes, v)); }
  template <class T> __device__ __mx_mask match_all(T v, int &p) const { return pack(__match_all_sync(lanes, v, &p)); }

private:
  /* Turns a mask of the warp's lanes into one of ranks in the group. */
  __device__ __mx_mask pack(__mx_mask m) const {
    __mx_mask r = 0;
    int k = 0;
    for (__mx_mask left = lanes; left; left &= left - 1, k++)
      if (m & (left & -left)) r |= (__mx_mask)1 << k;
    return r;
  }
};
__MX_DEVICE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

/* Any group of threads: a block, or lanes of a warp. */
class thread_group {
  bool block;
  coalesced_group part;

public:
  __device__ thread_group(const thread_block &) : block(true), part(0) {}
  __device__ thread_group(const coalesced_group &g) : block(false), part(g) {}
  template <class G, class = decltype(G::size()), class = decltype(G::meta_group_rank())>
  __device__ thread_group(const G &g) : block(false), part(g.__mx_lanes(), g.meta_group_rank(), g.meta_group_size()) {}
  __device__ void sync() const {
    if (block) thread_block::sync();
    else part.sync();
  }
  __device__ unsigned int size() const { return block ? thread_block::size() : part.size(); }
  __device__ unsigned int num_threads() const { return size(); }
  __device__ unsigned int thread_rank() const { return block ? thread_block::thread_rank() : part.thread_rank(); }
  __device__ bool is_valid() const { return true; }
};

/* SIZE is a power of two, at most the number of lanes of a warp. */
template <unsigned int SIZE, class Parent = void> class thread_block_tile;
namespace __mx {
/* The size of the group that a tile is a part of, and the thread's rank in that group. */
template <class Parent> struct whole {
  __device__ static unsigned int size() { return thread_block::size(); }
  __device__ static unsigned int rank() { return thread_block::thread_rank(); }
};
template <unsigned int SIZE, class P> struct whole<thread_block_tile<SIZE, P>> {
  __device__ static constexpr unsigned int size() { return SIZE; }
  __device__ static unsigned int rank() { return lane() & (SIZE - 1); }
};
} // namespace __mx
template <unsigned int SIZE, class Parent> class thread_block_tile {
  static_assert(SIZE && !(SIZE & (SIZE - 1)) && SIZE <= __MX_LANES,
                "the size of a tile is a power of two, at most that of a warp");
  static constexpr __mx_mask all_of =
      SIZE == sizeof(__mx_mask) * 8 ? ~(__mx_mask)0 : ((__mx_mask)1 << SIZE % (sizeof(__mx_mask) * 8)) - 1;
  __device__ static unsigned int first() { return __mx::lane() & ~(SIZE - 1); }

public:
  thread_block_tile() = default;
  template <class P> __device__ thread_block_tile(const thread_block_tile<SIZE, P> &) {}
  __device__ static __mx_mask __mx_lanes() { return all_of << first(); }
  __device__ static void sync() { __syncwarp(__mx_lanes()); }
  __device__ static constexpr unsigned int size() { return SIZE; }
  __device__ static constexpr unsigned int num_threads() { return SIZE; }
  __device__ static unsigned int thread_rank() { return __mx::lane() & (SIZE - 1); }
  __device__ static unsigned int meta_group_rank() { return __mx::whole<Parent>::rank() / SIZE; }
  __device__ static unsigned int meta_group_size() { return (__mx::whole<Parent>::size() + SIZE - 1) / SIZE; }

  template <class T> __device__ T shfl(T v, int rank) const {
    return __mx::by_words(v, [=](__mx::word<T> w) { return __shfl_sync(__mx_lanes(), w, rank, SIZE); });
  }
  template <class T> __device__ T shfl_up(T v, unsigned int delta) const {
    return __mx::by_words(v, [=](__mx::word<T> w) { return __shfl_up_sync(__mx_lanes(), w, delta, SIZE); });
  }
  template <class T> __device__ T shfl_down(T v, unsigned int delta) const {
    return __mx::by_words(v, [=](__mx::word<T> w) { return __shfl_down_sync(__mx_lanes(), w, delta, SIZE); });
  }
  template <class T> __device__ T shfl_xor(T v, unsigned int mask) const {
    return __mx::by_words(v, [=](__mx::word<T> w) { return __shfl_xor_sync(__mx_lanes(), w, (int)mask, SIZE); });
  }
  __device__ int any(int p) const { return __any_sync(__mx_lanes(), p); }
  __device__ int all(int p) const { return __all_sync(__mx_lanes(), p); }
  __device__ __mx_mask ballot(int p) const { return __ballot_sync(__mx_lanes(), p) >> first() & all_of; }
  template <class T> __device__ __mx_mask match_any(T v) const {
    return __match_any_sync(__mx_lanes(), v) >> first() & all_of;
  }
  template <class T> __device__ __mx_mask match_all(T v, int &p) const {
    return __match_all_sync(__mx_lanes(), v, &p) >> first() & all_of;
  }
};

/* ---- parts of groups --------------------------------------------------------------------------------------------*/
__MX_DEVICE thread_block_tile<1, void> this_thread() { return thread_block_tile<1, void>(); }
template <unsigned int SIZE> __MX_DEVICE thread_block_tile<SIZE, thread_block> tiled_partition(const thread_block &) {
  return {};
}
template <unsigned int SIZE, unsigned int OUTER, class P>
__MX_DEVICE thread_block_tile<SIZE, thread_block_tile<OUTER, P>> tiled_partition(const thread_block_tile<OUTER, P> &) {
  static_assert(SIZE <= OUTER, "a part is no larger than the whole");
  return {};
}
template <class G> __MX_DEVICE coalesced_group tiled_partition(const G &g, unsigned int size) {
  unsigned int rank = g.thread_rank(), first = __mx::lane() - rank % size;
  return coalesced_group(__activemask() &
                             ((size >= sizeof(__mx_mask) * 8 ? ~(__mx_mask)0 : ((__mx_mask)1 << size) - 1) << first),
                         rank / size, (g.size() + size - 1) / size);
}
template <class G, class L> __MX_DEVICE coalesced_group labeled_partition(const G &g, L label) {
  __mx_mask own = __match_any_sync(g.__mx_lanes(), label), lowest = own & -own;
  /* the lowest lane of each part */
  __mx_mask first = __ballot_sync(g.__mx_lanes(), (__mx_mask)1 << __mx::lane() == lowest);
  return coalesced_group(own, (unsigned)__mx::count(first & (lowest - 1)), (unsigned)__mx::count(first));
}
template <class G> __MX_DEVICE coalesced_group binary_partition(const G &g, bool p) {
  return labeled_partition(g, (int)p);
}

template <class G> __MX_DEVICE void sync(const G &g) { g.sync(); }
template <class G> __MX_DEVICE unsigned int thread_rank(const G &g) { return g.thread_rank(); }
template <class G> __MX_DEVICE unsigned int group_size(const G &g) { return g.size(); }

/* ---- reductions and scans over lanes ----------------------------------------------------------------------------*/
template <class T> struct plus {
  __device__ T operator()(const T &a, const T &b) const { return a + b; }
};
template <class T> struct less {
  __device__ T operator()(const T &a, const T &b) const { return b < a ? b : a; }
};
template <class T> struct greater {
  __device__ T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};
template <class T> struct bit_and {
  __device__ T operator()(const T &a, const T &b) const { return a & b; }
};
template <class T> struct bit_or {
  __device__ T operator()(const T &a, const T &b) const { return a | b; }
};
template <class T> struct bit_xor {
  __device__ T operator()(const T &a, const T &b) const { return a ^ b; }
};

template <unsigned int SIZE, class P, class T, class Op>
__MX_DEVICE T reduce(const thread_block_tile<SIZE, P> &g, T v, Op op) {
  for (unsigned int d = SIZE / 2; d; d /= 2) v = op(v, g.shfl_xor(v, d));
  return v;
}
template <class T, class Op> __MX_DEVICE T reduce(const coalesced_group &g, T v, Op op) {
  T sum = g.shfl(v, 0);
  for (unsigned int k = 1; k < g.size(); k++) sum = op(sum, g.shfl(v, k));
  return sum;
}
/* Reductions for which there is an instruction. */
#define __MX_REDUCE(type_, op_, how_) \
  template <unsigned int SIZE, class P> \
  __MX_DEVICE type_ reduce(const thread_block_tile<SIZE, P> &g, type_ v, op_<type_>) { \
    return __reduce_##how_##_sync(g.__mx_lanes(), v); \
  } \
  __MX_DEVICE type_ reduce(const coalesced_group &g, type_ v, op_<type_>) { \
    return __reduce_##how_##_sync(g.__mx_lanes(), v); \
  }
__MX_REDUCE(int, plus, add)
__MX_REDUCE(int, less, min)
__MX_REDUCE(int, greater, max)
__MX_REDUCE(unsigned int, plus, add)
__MX_REDUCE(unsigned int, less, min)
__MX_REDUCE(unsigned int, greater, max)
__MX_REDUCE(unsigned int, bit_and, and)
__MX_REDUCE(unsigned int, bit_or, or)
__MX_REDUCE(unsigned int, bit_xor, xor)
#undef __MX_REDUCE
template <class G, class T, class Op> __MX_DEVICE T inclusive_scan(const G &g, T v, Op op) {
  for (unsigned int d = 1; d < g.size(); d *= 2) {
    T before = g.shfl_up(v, d);
    if (g.thread_rank() >= d) v = op(before, v);
  }
  return v;
}
template <class G, class T> __MX_DEVICE T inclusive_scan(const G &g, T v) { return inclusive_scan(g, v, plus<T>()); }
template <class G, class T, class Op> __MX_DEVICE T exclusive_scan(const G &g, T v, Op op) {
  T all = g.shfl_up(inclusive_scan(g, v, op), 1);
  return g.thread_rank() ? all : T();
}
template <class G, class T> __MX_DEVICE T exclusive_scan(const G &g, T v) { return exclusive_scan(g, v, plus<T>()); }

/* ---- what one thread of a group does ----------------------------------------------------------------------------*/
template <class G, class F, class... A> __MX_DEVICE void invoke_one(const G &g, F &&f, A &&...args) {
  if (g.thread_rank() == 0) static_cast<F &&>(f)(static_cast<A &&>(args)...);
}
/* The same, and all threads of the group get the result. */
template <class G, class F, class... A>
__MX_DEVICE auto invoke_one_broadcast(const G &g, F &&f, A &&...args)
    -> decltype(static_cast<F &&>(f)(static_cast<A &&>(args)...)) {
  decltype(static_cast<F &&>(f)(static_cast<A &&>(args)...)) r{};
  if (g.thread_rank() == 0) r = static_cast<F &&>(f)(static_cast<A &&>(args)...);
  return g.shfl(r, 0);
}

/* ---- copies by all threads of a group ---------------------------------------------------------------------------*/
/* Whole words are copied from global to shared memory asynchronously, anything else at once. After wait(), all threads
 * of the group see the data. */
template <class G, class T, class Shape>
__MX_DEVICE void memcpy_async(const G &g, T *__restrict__ to, const T *__restrict__ from, const Shape &shape) {
  const size_t bytes = shape, all = (size_t)to | (size_t)from | bytes;
  if (!__isShared(to) || !__isGlobal(from) || all % 4) {
    for (size_t k = g.thread_rank(); k < bytes; k += g.size()) ((char *)to)[k] = ((const char *)from)[k];
    return;
  }
  const unsigned int shared = (unsigned int)__cvta_generic_to_shared(to);
  const size_t global = __cvta_generic_to_global(from);
  if (all % 16)
    for (size_t k = g.thread_rank() * 4; k < bytes; k += g.size() * 4)
      __asm__ volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                       :
                       : "r"(shared + (unsigned)k), "l"(global + k)
                       : "memory");
  else
    for (size_t k = g.thread_rank() * 16; k < bytes; k += g.size() * 16)
      __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                       :
                       : "r"(shared + (unsigned)k), "l"(global + k)
                       : "memory");
  __asm__ volatile("cp.async.commit_group;" : : : "memory");
}
/* Copies as many elements as the smaller of the two layouts has. */
template <class G, class T, class To, class From>
__MX_DEVICE void memcpy_async(const G &g, T *__restrict__ to, const To &toLayout, const T *__restrict__ from,
                              const From &fromLayout) {
  const size_t a = toLayout, b = fromLayout;
  memcpy_async(g, to, from, (a < b ? a : b) * sizeof(T));
}
template <class G> __MX_DEVICE void wait(const G &g) {
  __asm__ volatile("cp.async.wait_all;" : : : "memory");
  g.sync();
}
template <unsigned int N, class G> __MX_DEVICE void wait_prior(const G &g) {
  __asm__ volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
  g.sync();
}

} // namespace cooperative_groups
#endif
#endif
