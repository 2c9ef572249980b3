// Noise of photons: a count by Poisson's law for each pixel's brightness. Random bits come from a counter and a key by
// rounds of 64-bit multiplications, so that no state is kept; the loops reject a varying number of times.
typedef struct { ulong key, counter, spare; int left; } Source;

static ulong bits(Source *s) {
  if (s->left) {
    s->left = 0;
    return s->spare;
  }
  ulong a = s->counter++, b = 0x9e3779b97f4a7c15ul, k = s->key;
  for (int r = 0; r < 6; r++) {
    const ulong hi = mul_hi(a, 0xd2b74407b1ce6e93ul), lo = a * 0xd2b74407b1ce6e93ul;
    a = hi ^ k ^ b;
    b = lo;
    k += 0x9e3779b97f4a7c15ul;
  }
  s->spare = b;
  s->left = 1;
  return a;
}

// in (0, 1]
static double unit(Source *s) { return ((bits(s) >> 11) + 1) * 1.1102230246251565e-16; }

__kernel void photon_noise(__global const ushort *bright, __global ushort *noisy, __global ulong *stream,
                           __global float *normal, ulong seed, int n, float gain) {
  const int i = get_global_id(0);
  if (i >= n) return;
  Source s = {seed ^ ((ulong)i << 20), (ulong)i * 4096, 0, 0};
  const float mean = bright[i] * gain;
  int count = 0;
  if (mean <= 0) count = 0;
  else if (mean < 12) { // products of uniform numbers
    const double limit = exp(-(double)mean);
    double p = unit(&s);
    while (p > limit && count < 200) {
      p *= unit(&s);
      count++;
    }
  } else { // a rounded normal number, kept by the ratio of the densities of a wide logistic one
    const double sd = sqrt((double)mean);
    for (int tries = 0; tries < 64; tries++) {
      const double u = 2 * unit(&s) - 1, v = 2 * unit(&s) - 1, r = u * u + v * v;
      if (r >= 1 || r == 0) continue;
      const double z = u * sqrt(-2 * log(r) / r), at = mean + sd * z + 0.5;
      if (at < 0 || at > 65535) continue;
      count = (int)at;
      break;
    }
  }
  noisy[i] = (ushort)min(count, 65535);
  float u, r;
  int tries = 0;
  do {
    const ulong b = bits(&s);
    u = (int)(b >> 40) * (1.0f / 8388608) - 1;
    const float v = (int)((b >> 8) & 0xffffff) * (1.0f / 8388608) - 1;
    r = u * u + v * v;
  } while ((r >= 1 || r < 1e-6f) && ++tries < 32);
  normal[i] = u * sqrt(-2 * log(r) / r);
  stream[i] = bits(&s) + s.counter;
}
