// Heat in a plate: a five-point stencil with shared memory and halos, two buffers in turn, against the same on the host.
#include "check.h"
#include <cmath>
#include <vector>

constexpr int W = 130, H = 75, TILE = 16, STEPS = 20;

__global__ void step(const float *from, float *to, int w, int h, float k) {
  __shared__ float tile[TILE + 2][TILE + 2];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  int cx = min(x, w - 1), cy = min(y, h - 1), lx = threadIdx.x + 1, ly = threadIdx.y + 1;
  tile[ly][lx] = from[cy * w + cx];
  if (threadIdx.x == 0) tile[ly][0] = from[cy * w + max(cx - 1, 0)];
  if (threadIdx.x == TILE - 1) tile[ly][TILE + 1] = from[cy * w + min(cx + 1, w - 1)];
  if (threadIdx.y == 0) tile[0][lx] = from[max(cy - 1, 0) * w + cx];
  if (threadIdx.y == TILE - 1) tile[TILE + 1][lx] = from[min(cy + 1, h - 1) * w + cx];
  __syncthreads();
  if (x >= w || y >= h) return;
  float c = tile[ly][lx];
  float west = x ? tile[ly][lx - 1] : c, east = x < w - 1 ? tile[ly][lx + 1] : c;
  float north = y ? tile[ly - 1][lx] : c, south = y < h - 1 ? tile[ly + 1][lx] : c;
  to[y * w + x] = fmaf(k, west + east + north + south - 4.0f * c, c);
}

int main() {
  std::vector<float> plate(W * H), expected, next(W * H);
  for (int i = 0; i < W * H; i++) plate[i] = (float)((i * 37) % 101);
  expected = plate;
  Buffer<float> a(W * H), b(W * H);
  a.put(plate.data());
  dim3 block(TILE, TILE), grid((W + TILE - 1) / TILE, (H + TILE - 1) / TILE);
  float *from = a.p, *to = b.p;
  for (int s = 0; s < STEPS; s++) {
    step<<<grid, block>>>(from, to, W, H, 0.2f);
    std::swap(from, to);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(plate.data(), from, plate.size() * sizeof(float), cudaMemcpyDeviceToHost));
  for (int s = 0; s < STEPS; s++) {
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++) {
        float c = expected[y * W + x], west = x ? expected[y * W + x - 1] : c, east = x < W - 1 ? expected[y * W + x + 1] : c;
        float north = y ? expected[(y - 1) * W + x] : c, south = y < H - 1 ? expected[(y + 1) * W + x] : c;
        next[y * W + x] = fmaf(0.2f, west + east + north + south - 4.0f * c, c);
      }
    expected.swap(next);
  }
  double worst = 0, sum = 0;
  for (int i = 0; i < W * H; i++) worst = fmax(worst, fabs(plate[i] - expected[i])), sum += plate[i];
  EXPECT(worst < 1e-4);
  printf("mean %.4f\npassed\n", sum / (W * H));
}
