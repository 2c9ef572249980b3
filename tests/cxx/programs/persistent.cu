// Blocks that stay: a queue of tasks of uneven size, a scan in one pass where blocks look back at others, a reduction
// whose last block ends it, and a lock that all lanes of a warp take.
#include "check.h"
#include <vector>

__global__ void tasks(const int *size, int n, int *next, unsigned long long *out) {
  __shared__ int task;
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) task = atomicAdd(next, 1);
    __syncthreads();
    if (task >= n) return;
    unsigned long long s = 0;
    for (int i = threadIdx.x; i < size[task]; i += blockDim.x) s += (unsigned long long)i * task;
    atomicAdd(&out[task], s);
  }
}

struct State {
  volatile int flag, part, whole; // flag: 0 nothing, 1 the block's own sum, 2 all up to it
};
__global__ void scan(const int *in, int *out, int n, State *states, int *ticket) {
  __shared__ int s[256], before, block;
  int t = threadIdx.x;
  if (t == 0) block = atomicAdd(ticket, 1); // in the order in which blocks begin
  __syncthreads();
  int i = block * blockDim.x + t;
  s[t] = i < n ? in[i] : 0;
  for (int d = 1; d < (int)blockDim.x; d *= 2) {
    __syncthreads();
    int v = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += v;
  }
  __syncthreads();
  if (t == 0) {
    int sum = s[blockDim.x - 1], from = 0;
    State *own = &states[block];
    own->part = sum;
    own->whole = sum; // final for the first block, whose flag says so at once
    __threadfence();
    own->flag = block ? 1 : 2;
    for (int k = block - 1; k >= 0; k--) {
      while (states[k].flag == 0) {}
      __threadfence();
      if (states[k].flag == 2) {
        from += states[k].whole;
        break;
      }
      from += states[k].part;
    }
    own->whole = from + sum;
    __threadfence();
    own->flag = 2;
    before = from;
  }
  __syncthreads();
  if (i < n) out[i] = s[t] + before;
}

__device__ unsigned arrived = 0;
__global__ void sum_once(const float *in, int n, volatile float *parts, float *out) {
  __shared__ float s[128];
  __shared__ bool last;
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
  s[threadIdx.x] = v;
  for (int d = blockDim.x / 2; d; d /= 2) {
    __syncthreads();
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
  }
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float all = 0;
    for (unsigned b = 0; b < gridDim.x; b++) all += parts[b];
    *out = all;
  }
}

__global__ void locked(int *lock, int *count, int turns) {
  for (int k = 0; k < turns; k++) {
    bool done = false;
    while (!done)
      if (atomicCAS(lock, 0, 1) == 0) {
        __threadfence();
        *(volatile int *)count += 1;
        __threadfence();
        atomicExch(lock, 0);
        done = true;
      }
  }
}

int main() {
  const int n = 90;
  std::vector<int> size(n);
  std::vector<unsigned long long> got(n);
  for (int i = 0; i < n; i++) size[i] = i % 9 == 0 ? 3000 : i;
  Buffer<int> dsize(n), cells(3);
  Buffer<unsigned long long> dout(n);
  dsize.put(size.data());
  CHECK(cudaMemset(cells.p, 0, 3 * sizeof(int)));
  CHECK(cudaMemset(dout.p, 0, n * 8));
  tasks<<<5, 64>>>(dsize.p, n, cells.p, dout.p);
  dout.get(got.data());
  for (int i = 0; i < n; i++) EXPECT(got[i] == (unsigned long long)size[i] * (size[i] - 1) / 2 * i);

  const int m = 10000, blocks = (m + 255) / 256;
  std::vector<int> in(m), out(m);
  for (int i = 0; i < m; i++) in[i] = i % 7 - 2;
  Buffer<int> din(m), dscan(m), ticket(1);
  Buffer<State> states(blocks);
  din.put(in.data());
  CHECK(cudaMemset(states.p, 0, blocks * sizeof(State)));
  CHECK(cudaMemset(ticket.p, 0, sizeof(int)));
  scan<<<blocks, 256>>>(din.p, dscan.p, m, states.p, ticket.p);
  dscan.get(out.data());
  for (int i = 0, s = 0; i < m; i++) {
    s += in[i];
    EXPECT(out[i] == s);
  }
  Buffer<float> f(m), parts(16), total(1);
  std::vector<float> values(m);
  for (int i = 0; i < m; i++) values[i] = (float)(i % 100);
  f.put(values.data());
  for (int k = 0; k < 3; k++) { // the counter is zero again after each
    float sum = 0;
    CHECK(cudaMemset(total.p, 0, sizeof(float)));
    sum_once<<<16, 128>>>(f.p, m, parts.p, total.p);
    total.get(&sum);
    EXPECT(sum == 495000);
  }
  locked<<<3, 40>>>(cells.p + 1, cells.p + 2, 4);
  int c[3];
  cells.get(c);
  EXPECT(c[1] == 0 && c[2] == 3 * 40 * 4);
  printf("%d %d\npassed\n", out[m - 1], c[2]);
}
