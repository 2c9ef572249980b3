// Variables that the host reaches by their symbols alone: in namespaces without a name, of types without a name, static
// ones, templates, members of classes, inline ones, and such as only the host names. Kernels must see what it has
// written, and it what they have.
#include "check.h"

__constant__ struct {
  int a;
  float b;
} setting;
__device__ struct {
  int value[4];
} state;
__device__ enum { ONE = 1, TWO } colour;
__constant__ union {
  int i;
  float f;
} both;
typedef struct {
  int x, y;
} Named;
__constant__ Named named;
namespace {
__device__ int hidden = 1;
__constant__ float table[3] = {1, 2, 3};
__constant__ const int fixed[3] = {7, 8, 9};
__device__ int only_host[2] = {5, 6};
struct Local {
  int n;
};
__device__ Local local = {40};
namespace inner {
__device__ double deep = 1;
}
} // namespace
namespace outer {
namespace {
__device__ int hidden = 2; // another one
}
inline namespace v1 {
__device__ int version = 1;
}
} // namespace outer
static __device__ int single = 3;
static __constant__ int pair[2] = {1, 2};
template <class T> __device__ T last = T(3);
template <class T> __constant__ T factor;
namespace {
template <class T> __device__ T own = T(1);
}
__managed__ struct {
  int n;
} counted = {4};
namespace {
__managed__ int shared_by_both = 9;
}
#ifdef __clang__ // others have no such variables in classes, and inline ones for several files only
template <class T> struct Table {
  static __device__ T values[4];
  static __constant__ T scale;
};
template <class T> __device__ T Table<T>::values[4];
template <class T> __constant__ T Table<T>::scale;
struct Plain {
  static __device__ int count;
};
__device__ int Plain::count = 5;
inline __device__ int everywhere = 4;
#else
template <class T> __device__ T values[4];
template <class T> __constant__ T scale;
__device__ int count = 5, everywhere = 4;
#endif

__global__ void look(double *o) {
  static __device__ int calls = 100;
  o[0] = ++calls;
  o[1] = setting.a + setting.b;
  o[2] = state.value[1] + colour + both.f + named.y;
  o[3] = hidden + table[2] + local.n + inner::deep;
  o[4] = outer::hidden + outer::version + fixed[1];
  o[5] = single + pair[1];
  o[6] = last<int> + factor<float> + own<double>;
  o[7] = counted.n + shared_by_both;
#ifdef __clang__
  o[8] = Table<int>::values[1] * Table<float>::scale + Plain::count + everywhere;
#else
  o[8] = values<int>[1] * scale<float> + count + everywhere;
#endif
  state.value[2] = 77;
  hidden = 78;
  local.n = 79;
  own<double> = 80;
  counted.n = 81;
  shared_by_both++;
}
__global__ void again(double *o) {
  static __device__ int calls = 10; // not the other kernel's
  o[9] = ++calls;
}
template <class T> __global__ void put(T *p, T v) { *p = v; }

template <class T, class V> void to(const T &symbol, const V &v) {
  CHECK(cudaMemcpyToSymbol(symbol, &v, sizeof v));
}
template <class V, class T> V from(const T &symbol, size_t offset = 0) {
  V v;
  CHECK(cudaMemcpyFromSymbol(&v, symbol, sizeof v, offset));
  return v;
}

int main() {
  double *o;
  void *p;
  size_t size;
  const int four[4] = {1, 20, 3, 4};
  CHECK(cudaMallocManaged(&o, 10 * sizeof *o));
  look<<<1, 1>>>(o);
  CHECK(cudaDeviceSynchronize());
  for (int k = 0; k < 9; k++) printf("%g%c", o[k], k < 8 ? ' ' : '\n');
  EXPECT(o[0] == 101 && o[1] == 0 && o[3] == 45 && o[4] == 11 && o[7] == 13 && o[8] == 9);
  EXPECT(from<int>(state, 8) == 77 && from<int>(hidden) == 78 && from<int>(local) == 79 && from<double>(own<double>) == 80);
  EXPECT(counted.n == 81 && shared_by_both == 10);

  to(setting, Named{3, 0x40800000 /* 4.0f */});
  CHECK(cudaMemcpyToSymbol(state, four, sizeof four));
  to(colour, 2), to(both, 2.5f), to(named, Named{1, 10});
  to(hidden, 1000), to(local, 2000), to(inner::deep, 4000.0);
  CHECK(cudaMemcpyToSymbol(table, &four[1], 4, 8)); // a small number's bits: next to nothing
  to(outer::hidden, 30);
  CHECK(cudaGetSymbolAddress(&p, outer::version));
  put<<<1, 1>>>((int *)p, 500);
  to(single, 6), to(last<int>, 7), to(factor<float>, 8.0f), to(own<double>, 9.0);
  CHECK(cudaMemcpyToSymbol(pair, four, 8));
  counted.n = 5, shared_by_both = 6;
#ifdef __clang__
  CHECK(cudaMemcpyToSymbol(Table<int>::values, four, sizeof four));
  to(Table<float>::scale, 2.0f), to(Plain::count, 3), to(everywhere, 4);
#else
  CHECK(cudaMemcpyToSymbol(values<int>, four, sizeof four));
  to(scale<float>, 2.0f), to(count, 3), to(everywhere, 4);
#endif
  look<<<1, 1>>>(o);
  again<<<1, 1>>>(o);
  CHECK(cudaDeviceSynchronize());
  for (int k = 0; k < 10; k++) printf("%g%c", o[k], k < 9 ? ' ' : '\n');
  EXPECT(o[0] == 102 && o[1] == 7 && o[2] == 34.5 && (float)o[3] == 7000 && o[4] == 538 && o[5] == 26 && o[6] == 24 &&
         o[7] == 11 && o[8] == 47 && o[9] == 11);

  EXPECT(from<int>(only_host, 4) == 6 && from<int>(fixed, 8) == 9);
  to(only_host, 50);
  EXPECT(from<int>(only_host) == 50);
  CHECK(cudaGetSymbolSize(&size, only_host));
  EXPECT(size == 8);
  CHECK(cudaFree(o));
  printf("passed\n");
}
