// cuda::atomic and cuda::atomic_ref: counters, a queue whose consumers wait for producers, a ticket lock, floats and bytes.
#include "check.h"
#include <cuda/atomic>
#include <cuda/std/array>
#include <cuda/std/limits>
#include <vector>

struct Lock {
  cuda::atomic<unsigned, cuda::thread_scope_device> next, serving;
  __device__ unsigned lock() {
    unsigned mine = next.fetch_add(1, cuda::memory_order_relaxed);
    while (serving.load(cuda::memory_order_acquire) != mine) __nanosleep(50);
    return mine;
  }
  __device__ void unlock(unsigned mine) { serving.store(mine + 1, cuda::memory_order_release); }
};

__global__ void locked(Lock *l, int *plain, int *order) {
  unsigned mine = l->lock();
  order[mine] = atomicExch(plain, *plain + 1);
  __threadfence();
  l->unlock(mine);
}

__global__ void counters(int *sum, float *total, unsigned char *bytes, unsigned *most) {
  cuda::atomic_ref<int, cuda::thread_scope_device> s(*sum);
  cuda::atomic_ref<float, cuda::thread_scope_device> f(*total);
  cuda::atomic_ref<unsigned char, cuda::thread_scope_device> b(bytes[threadIdx.x % 7]);
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> m(*most);
  s += 2;
  s.fetch_sub(1, cuda::memory_order_relaxed);
  f.fetch_add(0.5f);
  b.fetch_add(1);
  m.fetch_max(threadIdx.x * 3);
  __shared__ cuda::atomic<int, cuda::thread_scope_block> inside;
  if (threadIdx.x == 0) inside.store(0);
  __syncthreads();
  inside.fetch_or(1 << threadIdx.x % 8);
  __syncthreads();
  if (threadIdx.x == 0) s += inside.load();
}

// Block 0 makes numbers, the others take them in any order; each is taken once.
__global__ void queue(cuda::atomic<int, cuda::thread_scope_device> *made, cuda::atomic<int, cuda::thread_scope_device> *taken, int *items, int n, int *seen) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0)
      for (int k = 0; k < n; k++) {
        items[k] = k * 5;
        made->store(k + 1, cuda::memory_order_release);
      }
    return;
  }
  for (;;) {
    int k = taken->fetch_add(1);
    if (k >= n) return;
    while (made->load(cuda::memory_order_acquire) <= k) __nanosleep(20);
    atomicAdd(&seen[items[k] / 5], 1);
  }
}

int main() {
  Lock *lock;
  int *plain, *order;
  CHECK(cudaMallocManaged(&lock, sizeof *lock));
  CHECK(cudaMallocManaged(&plain, sizeof(int)));
  CHECK(cudaMallocManaged(&order, 128 * sizeof(int)));
  new (lock) Lock();
  lock->next = 0, lock->serving = 0, *plain = 0;
  locked<<<4, 32>>>(lock, plain, order);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 128; i++) EXPECT(order[i] == i);
  EXPECT(*plain == 128 && lock->next == 128);

  struct Sums {
    int sum;
    float total;
    unsigned most;
    unsigned char bytes[7];
  } *s;
  CHECK(cudaMallocManaged(&s, sizeof *s));
  *s = Sums();
  counters<<<3, 70>>>(&s->sum, &s->total, s->bytes, &s->most);
  CHECK(cudaDeviceSynchronize());
  EXPECT(s->sum == 3 * 70 + 3 * 255 && s->total == 105 && s->most == 207);
  for (unsigned char b : s->bytes) EXPECT(b == 30);

  const int n = 200;
  cuda::atomic<int, cuda::thread_scope_device> *ends;
  int *items, *seen;
  CHECK(cudaMallocManaged(&ends, 2 * sizeof *ends));
  CHECK(cudaMallocManaged(&items, n * sizeof(int)));
  CHECK(cudaMallocManaged(&seen, n * sizeof(int)));
  ends[0] = 0, ends[1] = 0;
  for (int i = 0; i < n; i++) seen[i] = 0;
  queue<<<3, 32>>>(&ends[0], &ends[1], items, n, seen);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < n; i++) EXPECT(seen[i] == 1);
  cuda::std::array<int, 3> a = {1, 2, 3};
  printf("%d %u %d %d\npassed\n", s->sum, s->most, ends[0].load(), (int)a.size() + (cuda::std::numeric_limits<int>::max() > 0));
}
