// Objects in the heap of kernels, by every form of new and delete, in memory that is there already, with virtual
// functions; made, used and deleted by different kernels.
#include "check.h"
#include <new>

struct Shape {
  int size;
  __device__ explicit Shape(int s) : size(s) {}
  __device__ virtual ~Shape() {}
  __device__ virtual int area() const { return size; }
};
struct Square : Shape {
  __device__ explicit Square(int s) : Shape(s) {}
  __device__ int area() const override { return size * size; }
};
struct Node {
  int value;
  Node *next;
};

__global__ void make(Shape **shapes) {
  const int i = threadIdx.x;
  shapes[i] = i & 1 ? new Shape(i) : new Square(i);
}
__global__ void use(Shape *const *shapes, int *out) { out[threadIdx.x] = shapes[threadIdx.x]->area(); }
__global__ void end(Shape **shapes) { delete shapes[threadIdx.x]; }

__global__ void in_place(char *buffer, int *out) {
  __shared__ __align__(16) char shared[64 * sizeof(Square)];
  const int i = threadIdx.x;
  Shape *a = new (buffer + sizeof(Square) * i) Square(i);
  Shape *b = new ((void *)(shared + sizeof(Square) * i)) Shape(i + 5);
  out[i] = a->area() + b->area();
  b->~Shape();
}

__global__ void lists(int *out) {
  const int i = threadIdx.x;
  Node *head = nullptr;
  for (int k = 0; k < 5; k++) {
    Node *n = new Node;
    n->value = k * i;
    n->next = head;
    head = n;
  }
  int sum = 0;
  while (head) {
    Node *next = head->next;
    sum += head->value;
    delete head;
    head = next;
  }
  int *numbers = new int[i + 1];
  for (int k = 0; k <= i; k++) numbers[k] = k;
  sum += numbers[i / 2];
  delete[] numbers;
  Shape *pair = (Shape *)malloc(2 * sizeof *pair);
  new (&pair[1]) Shape(3);
  sum += pair[1].area();
  free(pair);
  out[i] = sum;
}

static void show(const char *what, const int *out) {
  CHECK(cudaDeviceSynchronize());
  printf("%s:", what);
  for (int t = 0; t < 64; t += 9) printf(" %d", out[t]);
  printf("\n");
}

int main() {
  Shape **shapes;
  int *out;
  char *buffer;
  CHECK(cudaMalloc(&shapes, 64 * sizeof *shapes));
  CHECK(cudaMallocManaged(&out, 64 * sizeof *out));
  CHECK(cudaMalloc(&buffer, 64 * sizeof(Square)));
  make<<<1, 64>>>(shapes);
  use<<<1, 64>>>(shapes, out);
  show("made elsewhere", out);
  EXPECT(out[9] == 9 && out[36] == 36 * 36);
  end<<<1, 64>>>(shapes);
  in_place<<<1, 64>>>(buffer, out);
  show("in place", out);
  EXPECT(out[9] == 81 + 14);
  lists<<<1, 64>>>(out);
  show("lists", out);
  EXPECT(out[9] == 90 + 4 + 3);
  CHECK(cudaFree(shapes));
  printf("passed\n");
}
