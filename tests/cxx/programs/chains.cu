// The least and the greatest of sums and of three, on both sides: one word for each function, equal in the kernel and
// on the host.
#include "check.h"

enum { ROWS = 20, THREADS = 64 };

__host__ __device__ static void all(unsigned *out, int t) {
  const int a = t * 7919 - 30000, b = 12345 - t * 1000, c = t * t - 500;
  const unsigned ua = a * 65537u + 77, ub = b * 40503u, uc = c * 30011u;
  bool p, q;
  unsigned pair[2];
  int row = 0;
#define PUT(value_) out[THREADS * row++ + t] = (unsigned)(value_)
  PUT(__vimax3_s32(a, b, c));
  PUT(__vimin3_s32(a, b, c));
  PUT(__vimax3_u32(ua, ub, uc));
  PUT(__vimin3_u32(ua, ub, uc));
  PUT(__vimax3_s16x2(ua, ub, uc));
  PUT(__vimin3_u16x2(ua, ub, uc));
  PUT(__viaddmax_s32(a, b, c));
  PUT(__viaddmin_u32(ua, ub, uc));
  PUT(__viaddmax_s16x2(ua, ub, uc));
  PUT(__viaddmin_u16x2(ua, ub, uc));
  PUT(__vimax_s32_relu(a, b));
  PUT(__vimin3_s32_relu(a, b, c));
  PUT(__viaddmax_s32_relu(a, b, c));
  PUT(__vimax_s16x2_relu(ua, ub));
  PUT(__vimin3_s16x2_relu(ua, ub, uc));
  PUT(__viaddmin_s16x2_relu(ua, ub, uc));
  PUT(__vibmax_s32(a, b, &p) * 2 + p);
  PUT(__vibmin_u32(ua, ub, &p) * 2 + p);
  pair[0] = __vibmax_s16x2(ua, ub, &p, &q);
  PUT(pair[0] * 4 + p * 2 + q);
  pair[1] = __vibmin_u16x2(ua, ub, &p, &q);
  PUT(pair[1] * 4 + p * 2 + q);
}

__global__ void kernel(unsigned *out) { all(out, threadIdx.x); }

int main() {
  static unsigned host[ROWS * THREADS], device[ROWS * THREADS];
  Buffer<unsigned> out(ROWS * THREADS);
  kernel<<<1, THREADS>>>(out.p);
  CHECK(cudaDeviceSynchronize());
  out.get(device);
  for (int t = 0; t < THREADS; t++) all(host, t);
  for (int r = 0; r < ROWS; r++) {
    for (int t = 0; t < THREADS; t++) EXPECT(host[THREADS * r + t] == device[THREADS * r + t]);
    for (int t = 0; t < THREADS; t += 7) printf("%08x ", device[THREADS * r + t]);
    printf("\n");
  }
  printf("passed\n");
}
