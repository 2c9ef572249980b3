// What cuda::std has beside the library's own: bits, spans, exchanges, and classes that kernels use.
#include "check.h"
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

template <class T> __device__ float total(cuda::std::span<const T> values) {
  float sum = 0;
  for (const T &v : values) sum += v;
  return sum + values.size() + values.front() - values.back() + values.subspan(1).size();
}

__global__ void mixture(float *out) {
  const unsigned t = threadIdx.x;
  cuda::std::array<int, 4> four{1, 2, 3, (int)t};
  float sum = 0;
  for (int x : four) sum += x;
  auto tuple = cuda::std::make_tuple(1, 2.5f, t);
  cuda::std::pair<int, float> pair(3, 4.5f);
  cuda::std::optional<int> maybe;
  if (t & 1) maybe = t;
  sum += cuda::std::get<1>(tuple) + pair.second + maybe.value_or(5) + cuda::std::numeric_limits<int>::max() % 10;
  sum += cuda::std::is_same<int, int>::value + cuda::std::exchange(pair.first, 7) + pair.first;
  int a = 1, b = t;
  cuda::std::swap(a, b);
  sum += a * 2 + b;
  cuda::std::complex<float> z(t, 1);
  z = z * z + cuda::std::conj(z);
  sum += z.real() + z.imag();
  float values[3] = {1, 2, (float)t};
  sum += total<float>(values);
  out[t] = sum;
}

__global__ void bits(unsigned *out) {
  const unsigned t = threadIdx.x * 2654435761u >> (threadIdx.x % 29);
  const unsigned long long wide = (unsigned long long)t << 20;
  out[threadIdx.x] = cuda::std::popcount(t) + cuda::std::countl_zero(t) * 100 + cuda::std::countr_zero(t) * 10000 +
                     cuda::std::bit_width(wide) * 1000000 + cuda::std::has_single_bit(t) * 100000000u +
                     (cuda::std::rotl(t, 7) ^ cuda::std::rotr(t, 3)) % 97 + cuda::std::bit_ceil(t % 1000 + 1) +
                     cuda::std::bit_floor(t % 1000) + cuda::std::countl_zero((unsigned char)t) +
                     (cuda::std::bit_cast<float>(0x40490FDBu) > 3);
}

int main() {
  Buffer<float> sums(64);
  Buffer<unsigned> counts(64);
  float s[64];
  unsigned c[64];
  mixture<<<1, 64>>>(sums.p);
  bits<<<1, 64>>>(counts.p);
  CHECK(cudaDeviceSynchronize());
  sums.get(s);
  counts.get(c);
  for (int t = 0; t < 64; t += 9) printf("%g %u\n", s[t], c[t]);
  EXPECT(cuda::std::popcount(255u) == 8 && cuda::std::rotl((unsigned char)0x81, 1) == 3);
  printf("passed\n");
}
