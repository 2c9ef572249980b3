// A list and a tree in managed memory: pointers that the host made and kernels follow, and the other way.
#include "check.h"

struct Node {
  int value;
  Node *left, *right;
};

__global__ void sums(Node *const *roots, int n, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Node *stack[16];
  int depth = 0, sum = 0;
  stack[depth++] = roots[i];
  while (depth) {
    Node *x = stack[--depth];
    if (!x) continue;
    sum += x->value;
    stack[depth++] = x->left;
    stack[depth++] = x->right;
  }
  out[i] = sum;
}

__global__ void chain(Node *pool, int n) {
  int i = threadIdx.x;
  if (i < n) pool[i].value = i * 3, pool[i].left = nullptr, pool[i].right = i + 1 < n ? &pool[i + 1] : nullptr;
}

static Node *grow(Node *&next, int low, int high) {
  if (low > high) return nullptr;
  Node *x = next++;
  int middle = (low + high) / 2;
  x->value = middle;
  x->left = grow(next, low, middle - 1);
  x->right = grow(next, middle + 1, high);
  return x;
}

int main() {
  const int trees = 100;
  Node *pool, **roots;
  int *out;
  CHECK(cudaMallocManaged(&pool, 20000 * sizeof(Node)));
  CHECK(cudaMallocManaged(&roots, trees * sizeof *roots));
  CHECK(cudaMallocManaged(&out, trees * sizeof *out));
  Node *next = pool;
  for (int k = 0; k < trees; k++) roots[k] = grow(next, 1, k);
  sums<<<4, 32>>>(roots, trees, out);
  CHECK(cudaDeviceSynchronize());
  for (int k = 0; k < trees; k++) EXPECT(out[k] == k * (k + 1) / 2);
  chain<<<1, 128>>>(pool, 100);
  CHECK(cudaDeviceSynchronize());
  int sum = 0, length = 0;
  for (Node *x = pool; x; x = x->right) sum += x->value, length++;
  EXPECT(length == 100 && sum == 3 * 99 * 100 / 2);
  cudaPointerAttributes a;
  CHECK(cudaPointerGetAttributes(&a, pool + 3));
  EXPECT(a.type == cudaMemoryTypeManaged && a.devicePointer == a.hostPointer);
  CHECK(cudaFree(pool));
  CHECK(cudaFree(roots));
  CHECK(cudaFree(out));
  printf("%d nodes, sum %d\npassed\n", length, sum);
}
