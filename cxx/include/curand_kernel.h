/* Random numbers in kernels: Philox4x32 with ten rounds (Salmon and others, 2011), XORWOW (Marsaglia, 2003) and
 * MRG32k3a (L'Ecuyer, 1999). For the same seed, sequence and offset, generators and distributions give the same numbers
 * as other implementations of this interface; only the Poisson distribution with a mean of 64 or more differs. */
#ifndef MX_CXX_CURAND_KERNEL_H
#define MX_CXX_CURAND_KERNEL_H
#include "mx/runtime.h"

#ifdef __CUDA__
#include "mx/random_jumps.h"

struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned int STATE;
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

struct curandStateXORWOW {
  unsigned int d, v[5];
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef struct curandStateXORWOW curandStateXORWOW_t;
typedef struct curandStateXORWOW curandState;
typedef struct curandStateXORWOW curandState_t;

struct curandStateMRG32k3a {
  unsigned int s1[3], s2[3];
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t;

/* ---- Philox -----------------------------------------------------------------------------------------------------*/
__MX_DEVICE uint4 __mx_philox(uint4 c, uint2 k) {
  for (int round = 0; round < 10; round++) {
    unsigned int high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x, high1 = __umulhi(0xCD9E8D57u, c.z),
                 low1 = 0xCD9E8D57u * c.z;
    c = make_uint4(high1 ^ c.y ^ k.x, low1, high0 ^ c.w ^ k.y, low0);
    k.x += 0x9E3779B9u, k.y += 0xBB67AE85u;
  }
  return c;
}
__MX_DEVICE void __mx_philox_forward(curandStatePhilox4_32_10 *s, unsigned long long n) {
  unsigned long long low = (unsigned long long)s->ctr.y << 32 | s->ctr.x, sum = low + n;
  s->ctr.x = (unsigned int)sum, s->ctr.y = (unsigned int)(sum >> 32);
  if (sum < low && !++s->ctr.z) ++s->ctr.w;
}
__MX_DEVICE void skipahead(unsigned long long n, curandStatePhilox4_32_10 *s) {
  s->STATE += (unsigned int)(n & 3);
  n /= 4;
  if (s->STATE > 3) s->STATE -= 4, n++;
  __mx_philox_forward(s, n);
  s->output = __mx_philox(s->ctr, s->key);
}
__MX_DEVICE void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10 *s) {
  unsigned long long high = ((unsigned long long)s->ctr.w << 32 | s->ctr.z) + n;
  s->ctr.z = (unsigned int)high, s->ctr.w = (unsigned int)(high >> 32);
  s->output = __mx_philox(s->ctr, s->key);
}
__MX_DEVICE void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                             curandStatePhilox4_32_10 *s) {
  *s = curandStatePhilox4_32_10();
  s->key = make_uint2((unsigned int)seed, (unsigned int)(seed >> 32));
  skipahead_sequence(sequence, s);
  skipahead(offset, s);
}
__MX_DEVICE unsigned int curand(curandStatePhilox4_32_10 *s) {
  unsigned int r = s->STATE == 0   ? s->output.x
                   : s->STATE == 1 ? s->output.y
                   : s->STATE == 2 ? s->output.z
                                   : s->output.w;
  if (++s->STATE == 4) {
    s->STATE = 0;
    __mx_philox_forward(s, 1);
    s->output = __mx_philox(s->ctr, s->key);
  }
  return r;
}
__MX_DEVICE uint4 curand4(curandStatePhilox4_32_10 *s) {
  uint4 r;
  r.x = curand(s), r.y = curand(s), r.z = curand(s), r.w = curand(s);
  return r;
}

/* ---- XORWOW -----------------------------------------------------------------------------------------------------*/
__MX_DEVICE void __mx_xorwow_step(unsigned int *v) {
  unsigned int t = v[0] ^ v[0] >> 2;
  v[0] = v[1], v[1] = v[2], v[2] = v[3], v[3] = v[4];
  v[4] = (v[4] ^ v[4] << 4) ^ (t ^ t << 1);
}
/* Goes n steps forward. The polynomial is z^n modulo the minimal polynomial of a step (tools/tables/jumps.py), so that
 * the state after n steps is the sum (exclusive or) of the states after k steps for all k whose coefficient is 1. */
static __device__ __attribute__((noinline)) void __mx_xorwow_jump(unsigned int *v, const unsigned int *polynomial) {
  unsigned int sum[5] = {0, 0, 0, 0, 0};
  for (int word = 0; word < 5; word++)
    for (unsigned int bit = 0; bit < 32; bit++) {
      const unsigned int mask = 0 - (polynomial[word] >> bit & 1);
      for (int k = 0; k < 5; k++) sum[k] ^= v[k] & mask;
      __mx_xorwow_step(v);
    }
  for (int k = 0; k < 5; k++) v[k] = sum[k];
}
__MX_DEVICE unsigned int curand(curandStateXORWOW *s) {
  __mx_xorwow_step(s->v);
  return s->v[4] + (s->d += 362437);
}
__MX_DEVICE void skipahead(unsigned long long n, curandStateXORWOW *s) {
  s->d += 362437 * (unsigned int)n;
  if (n < 1024) {
    while (n--) __mx_xorwow_step(s->v);
    return;
  }
  for (int k = 0; n >> k; k++)
    if (n >> k & 1) __mx_xorwow_jump(s->v, __mx_xorwow_powers[k]);
}
/* A sequence has 2^67 numbers. That is a multiple of 2^32, the period of d, which therefore stays the same. */
__MX_DEVICE void skipahead_sequence(unsigned long long n, curandStateXORWOW *s) {
  unsigned int low = (unsigned int)n, high = (unsigned int)(n >> 32);
  for (int k = 0; k < 8; k++)
    if (low >> 4 * k & 15) __mx_xorwow_jump(s->v, __mx_xorwow_sequences[15 * k + (low >> 4 * k & 15) - 1]);
  for (int k = 0; high >> k; k++)
    if (high >> k & 1) __mx_xorwow_jump(s->v, __mx_xorwow_powers[67 + 32 + k]);
}
__MX_DEVICE void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                             curandStateXORWOW *s) {
  const unsigned int t0 = 1099087573u * ((unsigned int)seed ^ 0xAAD26B49u),
                     t1 = 2591861531u * ((unsigned int)(seed >> 32) ^ 0xF7DCEFDDu);
  *s = curandStateXORWOW();
  s->d = 6615241u + t1 + t0;
  s->v[0] = 123456789u + t0, s->v[1] = 362436069u ^ t0, s->v[2] = 521288629u + t1;
  s->v[3] = 88675123u ^ t1, s->v[4] = 5783321u + t0;
  skipahead_sequence(sequence, s);
  skipahead(offset, s);
}

/* ---- MRG32k3a ---------------------------------------------------------------------------------------------------*/
#define __MX_MRG1 4294967087u
#define __MX_MRG2 4294944443u
typedef unsigned long long __mx_wide;
template <unsigned int M>
__MX_DEVICE unsigned int __mx_times(const unsigned int *a, const unsigned int *b, int stride) {
  return (unsigned int)(((__mx_wide)a[0] * b[0] % M + (__mx_wide)a[1] * b[stride] % M +
                         (__mx_wide)a[2] * b[2 * stride] % M) %
                        M);
}
/* Multiplies the state n times by the matrix, modulo M. */
template <unsigned int M>
static __device__ __attribute__((noinline)) void __mx_mrg_jump(unsigned int *v, const unsigned int *matrix,
                                                               unsigned long long n) {
  unsigned int a[9], b[9];
  for (int k = 0; k < 9; k++) a[k] = matrix[k];
  for (; n; n >>= 1) {
    if (n & 1) {
      for (int k = 0; k < 3; k++) b[k] = __mx_times<M>(a + 3 * k, v, 1);
      for (int k = 0; k < 3; k++) v[k] = b[k];
    }
    for (int k = 0; k < 9; k++) b[k] = __mx_times<M>(a + k / 3 * 3, a + k % 3, 3);
    for (int k = 0; k < 9; k++) a[k] = b[k];
  }
}
__MX_DEVICE unsigned int __mx_mrg(curandStateMRG32k3a *s) {
  const unsigned int p = (unsigned int)((1403580ull * s->s1[1] + 810728ull * (__MX_MRG1 - s->s1[0])) % __MX_MRG1),
                     q = (unsigned int)((527612ull * s->s2[2] + 1370589ull * (__MX_MRG2 - s->s2[0])) % __MX_MRG2);
  s->s1[0] = s->s1[1], s->s1[1] = s->s1[2], s->s1[2] = p;
  s->s2[0] = s->s2[1], s->s2[1] = s->s2[2], s->s2[2] = q;
  return p <= q ? p - q + __MX_MRG1 : p - q;
}
__MX_DEVICE unsigned int curand(curandStateMRG32k3a *s) { return (unsigned int)(__mx_mrg(s) * 1.000000048662); }
__MX_DEVICE void skipahead(unsigned long long n, curandStateMRG32k3a *s) {
  __mx_mrg_jump<__MX_MRG1>(s->s1, __mx_mrg_step1, n);
  __mx_mrg_jump<__MX_MRG2>(s->s2, __mx_mrg_step2, n);
}
/* A subsequence has 2^76 numbers. */
__MX_DEVICE void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a *s) {
  __mx_mrg_jump<__MX_MRG1>(s->s1, __mx_mrg_subsequence1, n);
  __mx_mrg_jump<__MX_MRG2>(s->s2, __mx_mrg_subsequence2, n);
}
/* A sequence has 2^127 numbers. */
__MX_DEVICE void skipahead_sequence(unsigned long long n, curandStateMRG32k3a *s) {
  __mx_mrg_jump<__MX_MRG1>(s->s1, __mx_mrg_sequence1, n);
  __mx_mrg_jump<__MX_MRG2>(s->s2, __mx_mrg_sequence2, n);
}
__MX_DEVICE void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                             curandStateMRG32k3a *s) {
  const __mx_wide x = seed ? (unsigned int)seed ^ 0x55555555u : 1u,
                  y = seed ? (unsigned int)(seed >> 32) ^ 0xAAAAAAAAu : 1u;
  *s = curandStateMRG32k3a();
  s->s1[0] = s->s1[2] = (unsigned int)(x * 12345 % __MX_MRG1), s->s1[1] = (unsigned int)(y * 12345 % __MX_MRG1);
  s->s2[0] = s->s2[2] = (unsigned int)(y * 12345 % __MX_MRG2), s->s2[1] = (unsigned int)(x * 12345 % __MX_MRG2);
  skipahead_subsequence(subsequence, s);
  skipahead(offset, s);
}

/* ---- uniform distribution: greater than 0, at most 1 ------------------------------------------------------------*/
__MX_DEVICE float __mx_uniform(unsigned int x) { return x * 2.3283064365386963e-10f + 1.1641532182693481e-10f; }
__MX_DEVICE double __mx_uniform(unsigned int x, unsigned int y) {
  return (double)(x ^ (unsigned long long)y << 21) * 1.1102230246251565e-16 + 5.551115123125783e-17;
}
template <class S> __MX_DEVICE float curand_uniform(S *s) { return __mx_uniform(curand(s)); }
template <class S> __MX_DEVICE double curand_uniform_double(S *s) {
  const unsigned int x = curand(s), y = curand(s);
  return __mx_uniform(x, y);
}
__MX_DEVICE float curand_uniform(curandStateMRG32k3a *s) { return (float)(__mx_mrg(s) * 2.3283065498378288e-10); }
__MX_DEVICE double curand_uniform_double(curandStateMRG32k3a *s) { return __mx_mrg(s) * 2.3283065498378288e-10; }
__MX_DEVICE float4 curand_uniform4(curandStatePhilox4_32_10 *s) {
  const uint4 r = curand4(s);
  return make_float4(__mx_uniform(r.x), __mx_uniform(r.y), __mx_uniform(r.z), __mx_uniform(r.w));
}
/* Has 32 random bits only, as in other implementations. */
__MX_DEVICE double curand_uniform_double(curandStatePhilox4_32_10 *s) {
  return curand(s) * 2.3283064365386963e-10 + 2.3283064365386963e-10;
}
__MX_DEVICE double2 curand_uniform2_double(curandStatePhilox4_32_10 *s) {
  const uint4 r = curand4(s);
  return make_double2(__mx_uniform(r.x, r.y), __mx_uniform(r.z, r.w));
}
__MX_DEVICE double4 curand_uniform4_double(curandStatePhilox4_32_10 *s) {
  const double2 a = curand_uniform2_double(s), b = curand_uniform2_double(s);
  return make_double4(a.x, a.y, b.x, b.y);
}

/* ---- normal distribution ----------------------------------------------------------------------------------------*/
/* The Box-Muller transform gives two numbers. A function that returns one keeps the other for its next call. */
__MX_DEVICE float2 __mx_normal(float uniform, float angle) {
  const float radius = sqrtf(-2.0f * logf(uniform));
  float2 r;
  __sincosf(angle, &r.x, &r.y);
  return make_float2(r.x * radius, r.y * radius);
}
__MX_DEVICE double2 __mx_normal(double uniform, double turns) {
  const double radius = sqrt(-2.0 * log(uniform));
  double2 r;
  sincospi(turns, &r.x, &r.y);
  return make_double2(r.x * radius, r.y * radius);
}
__MX_DEVICE float2 __mx_normal(unsigned int x, unsigned int y) {
  return __mx_normal(__mx_uniform(x), y * 1.4629180792671596e-9f + 7.314590396335798e-10f);
}
__MX_DEVICE double2 __mx_normal(uint4 r) { return __mx_normal(__mx_uniform(r.x, r.y), __mx_uniform(r.z, r.w) * 2.0); }
template <class S> __MX_DEVICE float2 curand_normal2(S *s) {
  const unsigned int x = curand(s), y = curand(s);
  return __mx_normal(x, y);
}
template <class S> __MX_DEVICE double2 curand_normal2_double(S *s) {
  uint4 r;
  r.x = curand(s), r.y = curand(s), r.z = curand(s), r.w = curand(s);
  return __mx_normal(r);
}
__MX_DEVICE float2 curand_normal2(curandStateMRG32k3a *s) {
  const float x = curand_uniform(s), y = curand_uniform(s) * 6.2831855f;
  return __mx_normal(x, y);
}
__MX_DEVICE double2 curand_normal2_double(curandStateMRG32k3a *s) {
  const double x = curand_uniform_double(s), y = curand_uniform_double(s) * 2.0;
  return __mx_normal(x, y);
}
/* Which distribution has kept a number: another distribution does not use it. */
enum { __MX_NO_EXTRA, __MX_EXTRA_NORMAL, __MX_EXTRA_LOG_NORMAL };
#define __MX_ONE_OF_TWO(t_, name_, d_, parameters_, which_, of_) \
  template <class S> __MX_DEVICE t_ name_##d_ parameters_ { \
    if (s->boxmuller_flag##d_ == which_) { \
      s->boxmuller_flag##d_ = __MX_NO_EXTRA; \
      return s->boxmuller_extra##d_; \
    } \
    const t_##2 r = curand_normal2##d_(s); \
    s->boxmuller_flag##d_ = which_; \
    s->boxmuller_extra##d_ = of_(r.y); \
    return of_(r.x); \
  }
#define __MX_ITSELF(r_) r_
#define __MX_EXP(r_) exp(mean + deviation * r_)
__MX_ONE_OF_TWO(float, curand_normal, , (S * s), __MX_EXTRA_NORMAL, __MX_ITSELF)
__MX_ONE_OF_TWO(double, curand_normal, _double, (S * s), __MX_EXTRA_NORMAL, __MX_ITSELF)
__MX_ONE_OF_TWO(float, curand_log_normal, , (S * s, float mean, float deviation), __MX_EXTRA_LOG_NORMAL, __MX_EXP)
__MX_ONE_OF_TWO(double, curand_log_normal, _double, (S * s, double mean, double deviation), __MX_EXTRA_LOG_NORMAL,
                __MX_EXP)
#undef __MX_ONE_OF_TWO
#undef __MX_ITSELF
#undef __MX_EXP
__MX_DEVICE float4 curand_normal4(curandStatePhilox4_32_10 *s) {
  const uint4 r = curand4(s);
  const float2 a = __mx_normal(r.x, r.y), b = __mx_normal(r.z, r.w);
  return make_float4(a.x, a.y, b.x, b.y);
}
__MX_DEVICE double4 curand_normal4_double(curandStatePhilox4_32_10 *s) {
  const double2 a = curand_normal2_double(s), b = curand_normal2_double(s);
  return make_double4(a.x, a.y, b.x, b.y);
}

/* ---- log-normal distribution, in pairs and fours ----------------------------------------------------------------*/
template <class S> __MX_DEVICE float2 curand_log_normal2(S *s, float mean, float deviation) {
  const float2 r = curand_normal2(s);
  return make_float2(expf(mean + deviation * r.x), expf(mean + deviation * r.y));
}
template <class S> __MX_DEVICE double2 curand_log_normal2_double(S *s, double mean, double deviation) {
  const double2 r = curand_normal2_double(s);
  return make_double2(exp(mean + deviation * r.x), exp(mean + deviation * r.y));
}
__MX_DEVICE float4 curand_log_normal4(curandStatePhilox4_32_10 *s, float mean, float deviation) {
  const float4 r = curand_normal4(s);
  return make_float4(expf(mean + deviation * r.x), expf(mean + deviation * r.y), expf(mean + deviation * r.z),
                     expf(mean + deviation * r.w));
}
__MX_DEVICE double4 curand_log_normal4_double(curandStatePhilox4_32_10 *s, double mean, double deviation) {
  const double4 r = curand_normal4_double(s);
  return make_double4(exp(mean + deviation * r.x), exp(mean + deviation * r.y), exp(mean + deviation * r.z),
                      exp(mean + deviation * r.w));
}

/* ---- Poisson distribution ---------------------------------------------------------------------------------------*/
/* Knuth's method, a product of uniform numbers, for means below 64, and the normal approximation for others. */
template <class S> __MX_DEVICE unsigned int curand_poisson(S *s, double mean) {
  if (mean >= 64.0) {
    const double r = mean + sqrt(mean) * curand_normal_double(s) + 0.5;
    return r > 0 ? (unsigned int)r : 0;
  }
  unsigned int k = 0;
  float p = expf((float)mean);
  do k++, p *= curand_uniform(s);
  while (p > 1.0f);
  return k - 1;
}
__MX_DEVICE uint4 curand_poisson4(curandStatePhilox4_32_10 *s, double mean) {
  uint4 r;
  r.x = curand_poisson(s, mean), r.y = curand_poisson(s, mean);
  r.z = curand_poisson(s, mean), r.w = curand_poisson(s, mean);
  return r;
}
#undef __MX_MRG1
#undef __MX_MRG2
#endif
#endif
