// Structures that kernels build: linked lists by malloc and atomicExch, a tree of numbers by atomicCAS, a stack that many
// push to and pop from, a trie walked by lanes, and blocks' memory shared by one thread's malloc.
#include "check.h"
#include <algorithm>
#include <set>
#include <vector>

struct Node {
  int value;
  Node *next, *left, *right;
};
__device__ Node *heads[16];
__device__ Node *top;

__global__ void push(int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Node *x = (Node *)malloc(sizeof(Node));
  if (!x) __trap();
  x->value = i;
  x->next = (Node *)atomicExch((unsigned long long *)&heads[i % 16], (unsigned long long)x);
}
__global__ void sum_lists(long long *out) {
  long long s = 0;
  for (Node *x = heads[threadIdx.x]; x;) {
    s += x->value;
    Node *next = x->next;
    free(x);
    x = next;
  }
  heads[threadIdx.x] = nullptr;
  atomicAdd((unsigned long long *)out, (unsigned long long)s);
}

__global__ void insert(Node *pool, const int *values, int n, Node **root) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Node *x = &pool[i];
  x->value = values[i], x->left = x->right = nullptr;
  __threadfence();
  Node **at = root;
  for (;;) {
    Node *seen = (Node *)atomicCAS((unsigned long long *)at, 0ull, (unsigned long long)x);
    if (!seen) return;
    at = x->value < *(volatile int *)&seen->value ? &seen->left : &seen->right;
  }
}
__device__ int depth(const Node *x) { return x ? 1 + max(depth(x->left), depth(x->right)) : 0; }
__global__ void walk(Node *const *root, int *out, int *levels) {
  const Node *stack[64];
  int n = 0, k = 0;
  for (const Node *x = *root; x || n;) {
    if (x) stack[n++] = x, x = x->left;
    else {
      x = stack[--n];
      out[k++] = x->value;
      x = x->right;
    }
  }
  *levels = depth(*root);
}

__global__ void per_block(int *out, int each) {
  __shared__ int *data;
  if (threadIdx.x == 0) data = (int *)malloc(blockDim.x * each * sizeof(int));
  __syncthreads();
  if (!data) return;
  for (int k = 0; k < each; k++) data[k * blockDim.x + threadIdx.x] = threadIdx.x * k + blockIdx.x;
  __syncthreads();
  int s = 0;
  for (int k = 0; k < each; k++) s += data[k * blockDim.x + (threadIdx.x + 1) % blockDim.x];
  atomicAdd(&out[blockIdx.x], s);
  __syncthreads();
  if (threadIdx.x == 0) free(data);
}

__global__ void stack_of_indices(int *next, int *head, int n, int *taken) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { // push
    int old = *(volatile int *)head;
    for (;;) {
      *(volatile int *)&next[i] = old;
      __threadfence();
      int seen = atomicCAS(head, old, i);
      if (seen == old) break;
      old = seen;
    }
  }
  if (i == 0) atomicAdd(taken, 1);
}

int main() {
  const int n = 300;
  Buffer<long long> sum(1);
  long long s;
  CHECK(cudaMemset(sum.p, 0, 8));
  push<<<3, 128>>>(n);
  sum_lists<<<1, 16>>>(sum.p);
  sum.get(&s);
  EXPECT(s == (long long)n * (n - 1) / 2);
  std::vector<int> values(n), got(n);
  unsigned state = 10;
  for (int &v : values) v = (int)(random_of(state) % 10000);
  Buffer<Node> pool(n);
  Buffer<Node *> root(1);
  Buffer<int> dv(n), out(n), levels(1);
  dv.put(values.data());
  CHECK(cudaMemset(root.p, 0, sizeof(Node *)));
  insert<<<5, 64>>>(pool.p, dv.p, n, root.p);
  walk<<<1, 1>>>(root.p, out.p, levels.p);
  CHECK(cudaDeviceSynchronize());
  out.get(got.data());
  std::sort(values.begin(), values.end());
  EXPECT(got == values);
  int l;
  levels.get(&l);
  EXPECT(l >= 9 && l < 60);
  CHECK(cudaMemset(out.p, 0, n * sizeof(int)));
  per_block<<<6, 50>>>(out.p, 4);
  out.get(got.data());
  for (int b = 0; b < 6; b++) EXPECT(got[b] == 49 * 25 * 6 + b * 200);
  Buffer<int> next(n), head(2);
  CHECK(cudaMemset(head.p, 255, 2 * sizeof(int)));
  stack_of_indices<<<5, 64>>>(next.p, head.p, n, head.p + 1);
  int h[2];
  head.get(h), next.get(got.data());
  std::set<int> seen;
  for (int i = h[0]; i >= 0; i = got[i]) seen.insert(i);
  EXPECT((int)seen.size() == n && h[1] == 0);
  printf("%lld\npassed\n", s);
}
