/* Random numbers in kernels: Philox4x32 with ten rounds (Salmon and others, 2011), XORWOW (Marsaglia, 2003) and
 * MRG32k3a (L'Ecuyer, 1999). Philox is counted: its numbers for a seed, a sequence and an offset are the same
 * everywhere. The states of the others are seeded by a mixer, so that sequences differ from one another, and from those
 * of other implementations. */
#ifndef MX_CXX_CURAND_KERNEL_H
#define MX_CXX_CURAND_KERNEL_H
#include "mx/runtime.h"

#ifdef __CUDA__
struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned int STATE;
  int boxmuller_flag;
  float boxmuller_extra;
};
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

struct curandStateXORWOW {
  unsigned int d, v[5];
  int boxmuller_flag;
  float boxmuller_extra;
};
typedef struct curandStateXORWOW curandStateXORWOW_t;
typedef struct curandStateXORWOW curandState;
typedef struct curandStateXORWOW curandState_t;

struct curandStateMRG32k3a {
  double s1[3], s2[3];
  int boxmuller_flag;
  float boxmuller_extra;
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

/* ---- the others -------------------------------------------------------------------------------------------------*/
__MX_DEVICE unsigned long long __mx_mixed(unsigned long long &state) {
  unsigned long long z = state += 0x9E3779B97F4A7C15ull;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}
__MX_DEVICE unsigned long long __mx_start(unsigned long long seed, unsigned long long sequence) {
  unsigned long long s = seed, t = sequence ^ 0xD1B54A32D192ED03ull;
  return __mx_mixed(s) ^ __mx_mixed(t);
}
__MX_DEVICE unsigned int curand(curandStateXORWOW *s) {
  unsigned int t = s->v[0] ^ s->v[0] >> 2;
  s->v[0] = s->v[1], s->v[1] = s->v[2], s->v[2] = s->v[3], s->v[3] = s->v[4];
  s->v[4] = (s->v[4] ^ s->v[4] << 4) ^ (t ^ t << 1);
  s->d += 362437;
  return s->v[4] + s->d;
}
__MX_DEVICE void skipahead(unsigned long long n, curandStateXORWOW *s) {
  while (n--) curand(s);
}
__MX_DEVICE void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                             curandStateXORWOW *s) {
  unsigned long long m = __mx_start(seed, sequence);
  *s = curandStateXORWOW();
  for (int k = 0; k < 5; k++) s->v[k] = (unsigned int)__mx_mixed(m) | (k == 4); /* not all are zero */
  s->d = (unsigned int)__mx_mixed(m);
  skipahead(offset, s);
}
__MX_DEVICE double __mx_mrg(curandStateMRG32k3a *s) {
  const double m1 = 4294967087.0, m2 = 4294944443.0;
  double p = 1403580.0 * s->s1[1] - 810728.0 * s->s1[0], q = 527612.0 * s->s2[2] - 1370589.0 * s->s2[0];
  p -= ::floor(p / m1) * m1, q -= ::floor(q / m2) * m2;
  s->s1[0] = s->s1[1], s->s1[1] = s->s1[2], s->s1[2] = p;
  s->s2[0] = s->s2[1], s->s2[1] = s->s2[2], s->s2[2] = q;
  return p <= q ? p - q + m1 : p - q;
}
__MX_DEVICE unsigned int curand(curandStateMRG32k3a *s) {
  return (unsigned int)(__mx_mrg(s) * (4294967296.0 / 4294967088.0));
}
__MX_DEVICE void skipahead(unsigned long long n, curandStateMRG32k3a *s) {
  while (n--) __mx_mrg(s);
}
__MX_DEVICE void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                             curandStateMRG32k3a *s) {
  unsigned long long m = __mx_start(seed, sequence);
  *s = curandStateMRG32k3a();
  for (int k = 0; k < 3; k++)
    s->s1[k] = (double)(1 + __mx_mixed(m) % 4294944000u), s->s2[k] = (double)(1 + __mx_mixed(m) % 4294944000u);
  skipahead(offset, s);
}

/* ---- distributions: above 0, up to 1; normal ones in pairs by Box and Muller's way ------------------------------*/
__MX_DEVICE float __mx_uniform(unsigned int x) { return x * 2.3283064365386963e-10f + 1.1641532182693481e-10f; }
__MX_DEVICE float2 __mx_normal(unsigned int x, unsigned int y) {
  float radius = sqrtf(-2.0f * logf(__mx_uniform(x))), s, c;
  sincosf(__mx_uniform(y) * 6.283185307179586f, &s, &c);
  return make_float2(radius * s, radius * c);
}
template <class S> __MX_DEVICE float curand_uniform(S *s) { return __mx_uniform(curand(s)); }
template <class S> __MX_DEVICE double curand_uniform_double(S *s) {
  unsigned long long x = curand(s), y = curand(s);
  return (double)((x ^ y << 21) & 0x1FFFFFFFFFFFFFull) * 1.1102230246251565e-16 + 5.551115123125783e-17;
}
template <class S> __MX_DEVICE float2 curand_normal2(S *s) {
  unsigned int x = curand(s), y = curand(s);
  return __mx_normal(x, y);
}
template <class S> __MX_DEVICE float curand_normal(S *s) {
  if (s->boxmuller_flag) {
    s->boxmuller_flag = 0;
    return s->boxmuller_extra;
  }
  float2 r = curand_normal2(s);
  s->boxmuller_flag = 1;
  s->boxmuller_extra = r.y;
  return r.x;
}
template <class S> __MX_DEVICE double curand_normal_double(S *s) {
  double radius = sqrt(-2.0 * log(curand_uniform_double(s)));
  return radius * sin(curand_uniform_double(s) * 6.283185307179586);
}
template <class S> __MX_DEVICE float curand_log_normal(S *s, float mean, float deviation) {
  return expf(mean + deviation * curand_normal(s));
}
__MX_DEVICE float4 curand_uniform4(curandStatePhilox4_32_10 *s) {
  uint4 r = curand4(s);
  return make_float4(__mx_uniform(r.x), __mx_uniform(r.y), __mx_uniform(r.z), __mx_uniform(r.w));
}
__MX_DEVICE float4 curand_normal4(curandStatePhilox4_32_10 *s) {
  uint4 r = curand4(s);
  float2 a = __mx_normal(r.x, r.y), b = __mx_normal(r.z, r.w);
  return make_float4(a.x, a.y, b.x, b.y);
}
#endif
#endif
