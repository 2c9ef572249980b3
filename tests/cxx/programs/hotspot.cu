// Heat in a chip (after the well-known benchmark): pyramidal tiles, pitched memory, events, command line, verification
// on the host.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call) \
  do { \
    cudaError_t err__ = (call); \
    if (err__ != cudaSuccess) { \
      fprintf(stderr, "%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #call, cudaGetErrorName(err__), \
              cudaGetErrorString(err__)); \
      exit(EXIT_FAILURE); \
    } \
  } while (0)

#define BLOCK_SIZE 16
#define EXPAND_RATE 2
#define IN_RANGE(x, min, max) ((x) >= (min) && (x) <= (max))
#define CLAMP_RANGE(x, min, max) x = (x < (min)) ? min : ((x > (max)) ? max : x)

__constant__ float c_coef[4]; // cap, Rx, Ry, Rz

__global__ void __launch_bounds__(BLOCK_SIZE *BLOCK_SIZE)
    hotspot_kernel(int iteration, const float *__restrict__ power, const float *__restrict__ src,
                   float *__restrict__ dst, int cols, int rows, size_t pitch, int border_c, int border_r) {
  __shared__ float temp_on_cuda[BLOCK_SIZE][BLOCK_SIZE];
  __shared__ float power_on_cuda[BLOCK_SIZE][BLOCK_SIZE];
  __shared__ float temp_t[BLOCK_SIZE][BLOCK_SIZE];
  const float amb = 80.0f;
  int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
  const float step_div_cap = c_coef[0], rx1 = 1 / c_coef[1], ry1 = 1 / c_coef[2], rz1 = 1 / c_coef[3];
  int small_r = BLOCK_SIZE - iteration * 2, small_c = BLOCK_SIZE - iteration * 2;
  int blkY = small_r * by - border_r, blkX = small_c * bx - border_c;
  int blkYmax = blkY + BLOCK_SIZE - 1, blkXmax = blkX + BLOCK_SIZE - 1;
  int yidx = blkY + ty, xidx = blkX + tx;
  const size_t stride = pitch / sizeof(float);
  if (IN_RANGE(yidx, 0, rows - 1) && IN_RANGE(xidx, 0, cols - 1)) {
    temp_on_cuda[ty][tx] = src[stride * yidx + xidx];
    power_on_cuda[ty][tx] = __ldg(&power[stride * yidx + xidx]);
  }
  __syncthreads();
  int validYmin = (blkY < 0) ? -blkY : 0,
      validYmax = (blkYmax > rows - 1) ? BLOCK_SIZE - 1 - (blkYmax - rows + 1) : BLOCK_SIZE - 1;
  int validXmin = (blkX < 0) ? -blkX : 0,
      validXmax = (blkXmax > cols - 1) ? BLOCK_SIZE - 1 - (blkXmax - cols + 1) : BLOCK_SIZE - 1;
  int N = ty - 1, S = ty + 1, W = tx - 1, E = tx + 1;
  N = (N < validYmin) ? validYmin : N;
  S = (S > validYmax) ? validYmax : S;
  W = (W < validXmin) ? validXmin : W;
  E = (E > validXmax) ? validXmax : E;
  bool computed = false;
  for (int i = 0; i < iteration; i++) {
    computed = false;
    if (IN_RANGE(tx, i + 1, BLOCK_SIZE - i - 2) && IN_RANGE(ty, i + 1, BLOCK_SIZE - i - 2) &&
        IN_RANGE(tx, validXmin, validXmax) && IN_RANGE(ty, validYmin, validYmax)) {
      computed = true;
      temp_t[ty][tx] = temp_on_cuda[ty][tx] +
                       step_div_cap * (power_on_cuda[ty][tx] +
                                       (temp_on_cuda[S][tx] + temp_on_cuda[N][tx] - 2.0f * temp_on_cuda[ty][tx]) * ry1 +
                                       (temp_on_cuda[ty][E] + temp_on_cuda[ty][W] - 2.0f * temp_on_cuda[ty][tx]) * rx1 +
                                       (amb - temp_on_cuda[ty][tx]) * rz1);
    }
    __syncthreads();
    if (i == iteration - 1) break;
    if (computed) temp_on_cuda[ty][tx] = temp_t[ty][tx];
    __syncthreads();
  }
  if (computed) dst[stride * yidx + xidx] = temp_t[ty][tx];
}

int main(int argc, char **argv) {
  int rows = argc > 1 ? atoi(argv[1]) : 70, cols = argc > 2 ? atoi(argv[2]) : 90, total = argc > 3 ? atoi(argv[3]) : 10,
      pyramid = 2;
  std::vector<float> temp(rows * cols), power(rows * cols), ref, out(rows * cols);
  srand(7);
  for (auto &t : temp) t = 300 + (rand() % 1000) * 0.05f;
  for (auto &p : power) p = (rand() % 100) * 0.01f;
  const float coef[4] = {0.01f, 2.0f, 3.0f, 50.0f};
  CHECK(cudaMemcpyToSymbol(c_coef, coef, sizeof(coef)));
  float *d_temp[2], *d_power;
  size_t pitch = 0;
  for (int i = 0; i < 2; i++) CHECK(cudaMallocPitch((void **)&d_temp[i], &pitch, cols * sizeof(float), rows));
  CHECK(cudaMallocPitch((void **)&d_power, &pitch, cols * sizeof(float), rows));
  CHECK(cudaMemcpy2D(d_temp[0], pitch, temp.data(), cols * sizeof(float), cols * sizeof(float), rows,
                     cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2D(d_power, pitch, power.data(), cols * sizeof(float), cols * sizeof(float), rows,
                     cudaMemcpyHostToDevice));
  int border = pyramid * EXPAND_RATE / 2, small = BLOCK_SIZE - pyramid * EXPAND_RATE;
  dim3 block(BLOCK_SIZE, BLOCK_SIZE), grid((cols + small - 1) / small, (rows + small - 1) / small);
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  CHECK(cudaEventRecord(start, 0));
  int s = 1, d = 0;
  for (int t = 0; t < total; t += pyramid) {
    std::swap(s, d);
    hotspot_kernel<<<grid, block>>>(std::min(pyramid, total - t), d_power, d_temp[s], d_temp[d], cols, rows, pitch,
                                    border, border);
    CHECK(cudaPeekAtLastError());
  }
  CHECK(cudaEventRecord(stop, 0));
  CHECK(cudaEventSynchronize(stop));
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  CHECK(cudaMemcpy2D(out.data(), cols * sizeof(float), d_temp[d], pitch, cols * sizeof(float), rows,
                     cudaMemcpyDeviceToHost));
  ref = temp;
  std::vector<float> next(ref);
  for (int t = 0; t < total; t++) {
    for (int y = 0; y < rows; y++)
      for (int x = 0; x < cols; x++) {
        auto at = [&](int yy, int xx) { return ref[std::clamp(yy, 0, rows - 1) * cols + std::clamp(xx, 0, cols - 1)]; };
        float c = at(y, x);
        next[y * cols + x] = c + coef[0] * (power[y * cols + x] + (at(y + 1, x) + at(y - 1, x) - 2 * c) / coef[2] +
                                            (at(y, x + 1) + at(y, x - 1) - 2 * c) / coef[1] + (80.0f - c) / coef[3]);
      }
    ref.swap(next);
  }
  double worst = 0;
  for (int i = 0; i < rows * cols; i++) worst = std::max(worst, (double)std::fabs(ref[i] - out[i]));
  printf("%d x %d, %d steps, time is %s, %s\n", rows, cols, total, ms >= 0 ? "known" : "unknown",
         worst < 1e-2 ? "PASS" : "FAIL");
  if (worst >= 1e-2) printf("worst %g\n", worst);
  for (int i = 0; i < 2; i++) CHECK(cudaFree(d_temp[i]));
  CHECK(cudaFree(d_power));
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  CHECK(cudaDeviceReset());
  puts(worst < 1e-2 ? "passed" : "failed");
  return worst < 1e-2 ? 0 : 1;
}
