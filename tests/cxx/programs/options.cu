// Prices of options: the closed formula, a binomial tree in shared memory, and Monte Carlo with numbers of a simple
// generator; doubles and floats.
#include "check.h"
#include <cmath>
#include <vector>

struct Option {
  float spot, strike, years;
};
constexpr float RATE = 0.02f, VOLATILITY = 0.30f;

template <class T> __host__ __device__ T normal(T x) { return (T)0.5 * erfc(-x * (T)0.70710678118654752440); }
template <class T> __host__ __device__ T closed(Option o, T &put) {
  T root = sqrt((T)o.years), d1 = (log((T)o.spot / (T)o.strike) + ((T)RATE + (T)0.5 * VOLATILITY * VOLATILITY) * o.years) / (VOLATILITY * root), d2 = d1 - VOLATILITY * root;
  T discounted = o.strike * exp(-(T)RATE * o.years), call = o.spot * normal(d1) - discounted * normal(d2);
  put = call - o.spot + discounted;
  return call;
}
template <class T> __global__ void __launch_bounds__(128) formula(const Option *o, T *call, T *put, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) call[i] = closed<T>(o[i], put[i]);
}

template <int STEPS> __global__ void tree(const Option *options, float *call) {
  __shared__ float value[STEPS + 1];
  Option o = options[blockIdx.x];
  float dt = o.years / STEPS, v = VOLATILITY * sqrtf(dt), up = expf(v), grow = expf(RATE * dt), p = (grow - 1 / up) / (up - 1 / up);
  for (int i = threadIdx.x; i <= STEPS; i += blockDim.x) value[i] = fmaxf(o.spot * expf(v * (2.0f * i - STEPS)) - o.strike, 0);
  for (int step = STEPS; step > 0; step--) {
    __syncthreads();
    float next[(STEPS + 63) / 64];
    for (int i = threadIdx.x, k = 0; i < step; i += blockDim.x, k++) next[k] = (p * value[i + 1] + (1 - p) * value[i]) / grow;
    __syncthreads();
    for (int i = threadIdx.x, k = 0; i < step; i += blockDim.x, k++) value[i] = next[k];
  }
  if (threadIdx.x == 0) call[blockIdx.x] = value[0];
}

__device__ float uniform(unsigned &s) {
  s ^= s << 13, s ^= s >> 17, s ^= s << 5;
  return (s >> 8) * (1.0f / 16777216) + 1.0f / 33554432;
}
__global__ void paths(Option o, int each, double *sum, double *squares) {
  unsigned s = 1234567 + 7919 * (blockIdx.x * blockDim.x + threadIdx.x);
  float drift = (RATE - 0.5f * VOLATILITY * VOLATILITY) * o.years, v = VOLATILITY * sqrtf(o.years);
  double a = 0, b = 0;
  for (int i = 0; i < each; i++) {
    float r = sqrtf(-2 * __logf(uniform(s))), t = 6.2831853f * uniform(s);
    float x = fmaxf(o.spot * __expf(drift + v * r * __cosf(t)) - o.strike, 0);
    a += x, b += (double)x * x;
  }
  atomicAdd(sum, a);
  atomicAdd(squares, b);
}

int main() {
  const int n = 200;
  std::vector<Option> o(n);
  unsigned state = 9;
  for (Option &x : o) x = {5 + random_of(state) % 250 * 0.1f, 1 + random_of(state) % 990 * 0.1f, 0.25f + random_of(state) % 90 * 0.1f};
  o[0] = {30, 32, 1};
  Buffer<Option> dop(n);
  Buffer<float> call(n), put(n);
  Buffer<double> dcall(n), dput(n), sums(2);
  dop.put(o.data());
  std::vector<float> c(n), p(n);
  std::vector<double> dc(n), dp(n);
  formula<<<2, 128>>>(dop.p, call.p, put.p, n);
  formula<<<2, 128>>>(dop.p, dcall.p, dput.p, n);
  call.get(c.data()), put.get(p.data()), dcall.get(dc.data()), dput.get(dp.data());
  for (int i = 0; i < n; i++) {
    double want_put, want = closed<double>(o[i], want_put);
    EXPECT(fabs(dc[i] - want) < 1e-9 && fabs(dp[i] - want_put) < 1e-9);
    EXPECT(fabs(c[i] - want) < 2e-4 && fabs(p[i] - want_put) < 2e-4);
  }
  tree<255><<<8, 64>>>(dop.p, call.p);
  call.get(c.data());
  for (int i = 0; i < 8; i++) EXPECT(fabs(c[i] - dc[i]) < 0.03 + 0.01 * dc[i]);
  CHECK(cudaMemset(sums.p, 0, 2 * sizeof(double)));
  paths<<<4, 64>>>(o[0], 40, sums.p, sums.p + 1);
  double s[2], many = 4 * 64 * 40;
  sums.get(s);
  double mean = s[0] / many, deviation = sqrt((s[1] / many - mean * mean) / many);
  EXPECT(fabs(mean * exp(-RATE) - dc[0]) < 5 * deviation);
  printf("%.4f %.4f\npassed\n", dc[0], dp[0]);
}
