// Random numbers in kernels: the three generators with seeds, sequences and offsets, and what distributions take of
// them; the numbers are those that other implementations of the interface give.
#include "check.h"
#include <curand_kernel.h>

struct Draws {
  unsigned int word[4], behind[3], poisson[2];
  float uniform[2], normal[3];
  double wide, wideNormal[2];
};

template <class S> __global__ void draw(Draws *out, unsigned long long seed, unsigned long long offset) {
  Draws d;
  S s, t;
  curand_init(seed, threadIdx.x, offset, &s);
  for (int k = 0; k < 4; k++) d.word[k] = curand(&s);
  for (int k = 0; k < 2; k++) d.uniform[k] = curand_uniform(&s);
  for (int k = 0; k < 3; k++) d.normal[k] = curand_normal(&s);
  d.wide = curand_uniform_double(&s);
  for (int k = 0; k < 2; k++) d.wideNormal[k] = curand_normal_double(&s);
  for (int k = 0; k < 2; k++) d.poisson[k] = curand_poisson(&s, 3.5 + 10 * k);
  t = s;
  skipahead(12345678901ull, &t);
  d.behind[0] = curand(&t);
  t = s;
  skipahead_sequence(1000 + threadIdx.x, &t);
  d.behind[1] = curand(&t);
  t = s;
  for (int k = 0; k < 1500; k++) curand(&t);
  skipahead(1500, &s);
  d.behind[2] = curand(&s) - curand(&t); // the same
  out[threadIdx.x] = d;
}

__global__ void fours(double *out) {
  curandStatePhilox4_32_10_t s;
  curand_init(99, threadIdx.x, 2, &s);
  const float4 a = curand_uniform4(&s), b = curand_normal4(&s);
  const double4 c = curand_uniform4_double(&s), d = curand_normal4_double(&s);
  const double2 e = curand_uniform2_double(&s), f = curand_normal2_double(&s);
  const uint4 g = curand_poisson4(&s, 7);
  out[threadIdx.x] = a.x + a.w + b.y + b.z + c.x + c.w + d.y + d.z + e.x + e.y + f.x + f.y + g.x + g.w;
}

template <class S> static void show(const char *name, unsigned first) {
  const unsigned long long seeds[] = {0, 1234, 0x123456789abcdefull}, offsets[] = {0, 77, 5000000000ull};
  Draws *out;
  CHECK(cudaMallocManaged(&out, 64 * sizeof *out));
  for (int k = 0; k < 3; k++) {
    draw<S><<<1, 64>>>(out, seeds[k], offsets[k]);
    CHECK(cudaDeviceSynchronize());
    if (!k) EXPECT(out[0].word[0] == first);
    for (int t = 0; t < 64; t += 13) {
      const Draws &d = out[t];
      EXPECT(!d.behind[2]);
      printf("%s %d %d: %08x %08x %08x %08x  %.5f %.5f  %.4f %.4f %.4f  %.9f  %.8f %.8f  %u %u  %08x %08x\n", name, k,
             t, d.word[0], d.word[1], d.word[2], d.word[3], d.uniform[0], d.uniform[1], d.normal[0], d.normal[1],
             d.normal[2], d.wide, d.wideNormal[0], d.wideNormal[1], d.poisson[0], d.poisson[1], d.behind[0],
             d.behind[1]);
    }
  }
  CHECK(cudaFree(out));
}

int main() {
  show<curandStatePhilox4_32_10_t>("philox", 0x6627e8d5u);
  show<curandStateXORWOW_t>("xorwow", 0xbd7f03b6u);
  show<curandStateMRG32k3a_t>("mrg", 0x2083cd07u);
  double *sums;
  CHECK(cudaMallocManaged(&sums, 64 * sizeof *sums));
  fours<<<1, 64>>>(sums);
  CHECK(cudaDeviceSynchronize());
  for (int t = 0; t < 64; t += 9) printf("%.5f ", sums[t]);
  printf("\npassed\n");
}
