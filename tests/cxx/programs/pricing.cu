// Options priced in several ways that must agree: by formula in float, double and half, by simulation with a generator
// of one's own, by a tree in shared memory, by finite differences; many mathematical functions, constants in a
// structure.
#include "check.h"
#include <cmath>
#include <cuda_fp16.h>
#include <vector>

struct Option {
  float S, K, T;
};
struct Market {
  float r, v;
};
__constant__ Market market;

template <class T> __host__ __device__ T normal(T x) { return T(0.5) * erfc(-x * T(0.70710678118654752440)); }
template <class T> __host__ __device__ T call(T S, T K, T years, T r, T v) {
  const T root = v * sqrt(years), d1 = (log(S / K) + (r + v * v / 2) * years) / root;
  return S * normal(d1) - K * exp(-r * years) * normal(d1 - root);
}
__global__ void formula(const Option *o, float *f, double *d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  f[i] = call<float>(o[i].S, o[i].K, o[i].T, market.r, market.v);
  d[i] = call<double>(o[i].S, o[i].K, o[i].T, market.r, market.v);
}
// two at a time, in halves; the functions' arguments stay near 1
__global__ void in_halves(const Option *o, __half2 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i + 1 >= n) return;
  const Option a = o[2 * i], b = o[2 * i + 1];
  const __half2 moneyness = __floats2half2_rn(a.S / a.K, b.S / b.K), T = __floats2half2_rn(a.T, b.T);
  const __half2 v = __float2half2_rn(market.v), r = __float2half2_rn(market.r), half = __float2half2_rn(0.5f);
  const __half2 root = __hmul2(v, h2sqrt(T));
  const __half2 d1 = __h2div(__hfma2(__hfma2(__hmul2(v, v), half, r), T, h2log(moneyness)), root);
  const __half2 d2 = __hsub2(d1, root);
  auto cdf = [](__half2 x) { // logistic
    const __half2 k = __hmul2(x, __hfma2(__hmul2(x, x), __float2half2_rn(0.0706f), __float2half2_rn(1.5957f)));
    return h2rcp(__hadd2(__float2half2_rn(1), h2exp(__hneg2(k))));
  };
  out[i] = __hsub2(__hmul2(moneyness, cdf(d1)), __hmul2(h2exp(__hneg2(__hmul2(r, T))), cdf(d2)));
}
__device__ unsigned hash(unsigned x) {
  x ^= x >> 16, x *= 0x7feb352du;
  x ^= x >> 15, x *= 0x846ca68bu;
  return x ^ x >> 16;
}
__global__ void simulate(Option o, int paths, double *sums) {
  __shared__ double s[128];
  double total = 0;
  for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < paths; p += gridDim.x * blockDim.x) {
    const float u = (hash(2 * p + 1) + 0.5f) * 2.3283064e-10f, w = hash(2 * p + 77777) * 2.3283064e-10f;
    float sn, cs;
    sincospif(2 * w, &sn, &cs);
    const float z = sqrtf(-2 * logf(fminf(u, 0.99999994f)));
    const float drift = (market.r - 0.5f * market.v * market.v) * o.T, spread = market.v * sqrtf(o.T);
    total += fmaxf(o.S * expf(drift + spread * z * cs) - o.K, 0) + fmaxf(o.S * expf(drift - spread * z * cs) - o.K, 0);
  }
  s[threadIdx.x] = total;
  for (int k = 64; k; k >>= 1) {
    __syncthreads();
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
  }
  if (!threadIdx.x) sums[blockIdx.x] = s[0] / 2;
}
// one block for each option, steps in shared memory
__global__ void tree(const Option *o, double *out, int steps) {
  extern __shared__ double value[];
  const Option x = o[blockIdx.x];
  const double dt = (double)x.T / steps, u = exp((double)market.v * sqrt(dt)), d = 1 / u;
  const double p = (exp((double)market.r * dt) - d) / (u - d), discount = exp(-(double)market.r * dt);
  for (int i = threadIdx.x; i <= steps; i += blockDim.x) value[i] = fmax(x.S * pow(u, 2. * i - steps) - x.K, 0.);
  for (int t = steps; t > 0; t--) {
    __syncthreads();
    double next[4];
    int k = 0;
    for (int i = threadIdx.x; i < t; i += blockDim.x) next[k++] = discount * (p * value[i + 1] + (1 - p) * value[i]);
    __syncthreads();
    k = 0;
    for (int i = threadIdx.x; i < t; i += blockDim.x) value[i] = next[k++];
  }
  if (!threadIdx.x) out[blockIdx.x] = value[0];
}

int main() {
  const int n = 256;
  std::vector<Option> o(n);
  unsigned state = 9;
  for (auto &x : o)
    x = {80.f + random_of(state) % 40, 90.f + random_of(state) % 20, 0.25f + random_of(state) % 8 * 0.25f};
  const Market m = {0.03f, 0.25f};
  CHECK(cudaMemcpyToSymbol(market, &m, sizeof m));
  Buffer<Option> d(n);
  Buffer<float> f(n);
  Buffer<double> g(n), sums(40);
  Buffer<__half2> h(n / 2);
  d.put(o.data());
  formula<<<2, 128>>>(d.p, f.p, g.p, n);
  in_halves<<<1, 128>>>(d.p, h.p, n);
  std::vector<float> hf(n);
  std::vector<double> hd(n);
  std::vector<__half2> hh(n / 2);
  f.get(hf.data());
  g.get(hd.data());
  h.get(hh.data());
  double worst_f = 0, worst_h = 0, total = 0;
  for (int i = 0; i < n; i++) {
    const double want = call<double>(o[i].S, o[i].K, o[i].T, m.r, m.v);
    const float2 pair = __half22float2(hh[i / 2]);
    EXPECT(std::fabs(hd[i] - want) < 1e-10);
    worst_f = std::fmax(worst_f, std::fabs(hf[i] - want));
    worst_h = std::fmax(worst_h, std::fabs((i % 2 ? pair.y : pair.x) * o[i].K - want));
    total += hd[i];
  }
  EXPECT(worst_f < 1e-3 && worst_h < 1);
  printf("%.8f\n", total);
  double s[40], mean = 0;
  const int paths = 20000;
  simulate<<<40, 128>>>(o[7], paths, sums.p);
  sums.get(s);
  for (double x : s) mean += x;
  mean *= std::exp(-m.r * o[7].T) / paths;
  printf("simulated %.2f, formula %.2f\n", mean, hd[7]);
  EXPECT(std::fabs(mean - hd[7]) < 0.03 * hd[7] + 0.1);
  const int steps = 200;
  tree<<<16, 64, (steps + 1) * sizeof(double)>>>(d.p, g.p, steps);
  std::vector<double> t(n);
  CHECK(cudaMemcpy(t.data(), g.p, 16 * sizeof(double), cudaMemcpyDeviceToHost));
  for (int i = 0; i < 16; i++) EXPECT(std::fabs(t[i] - hd[i]) < 0.05);
  printf("tree %.4f\n", t[3]);
  puts("passed");
}
