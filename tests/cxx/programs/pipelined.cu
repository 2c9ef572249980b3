// Work that overlaps: chunks through three streams with pinned memory, events between, host functions that check, a
// producer on the device that a host thread watches through mapped memory, and threads of the host with streams of their own.
#include "check.h"
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

__global__ void wave(const float *in, float *out, int n, float phase) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] * 0.5f + phase;
}
__global__ void smooth(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (in[max(i - 1, 0)] + in[i] + in[min(i + 1, n - 1)]) / 3;
}
__global__ void progress(volatile int *step, volatile int *seen, int steps) {
  for (int k = 1; k <= steps; k++) {
    *step = k;
    __threadfence_system();
    while (*seen < k) __nanosleep(100);
  }
}

struct Chunk {
  const float *data;
  int n;
  float first;
  std::atomic<int> *fine;
};
static void CUDART_CB verify(void *user) {
  Chunk *c = (Chunk *)user;
  bool ok = true;
  for (int i = 1; i + 1 < c->n; i++) ok &= fabsf(c->data[i] - (c->first + i) * 0.5f - 1) < 1e-2f;
  *c->fine += ok;
}

static void worker(int number, std::atomic<int> *fine) {
  const int n = 500;
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  std::vector<float> h(n, (float)number), r(n);
  float *a, *b;
  CHECK(cudaMalloc(&a, n * sizeof(float)));
  CHECK(cudaMalloc(&b, n * sizeof(float)));
  CHECK(cudaMemcpyAsync(a, h.data(), n * sizeof(float), cudaMemcpyHostToDevice, s));
  for (int k = 0; k < 4; k++) {
    wave<<<2, 64, 0, s>>>(a, b, n, (float)k);
    std::swap(a, b);
  }
  CHECK(cudaMemcpyAsync(r.data(), a, n * sizeof(float), cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));
  float want = (float)number;
  for (int k = 0; k < 4; k++) want = want * 0.5f + k;
  bool ok = true;
  for (float v : r) ok &= v == want;
  *fine += ok;
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaStreamDestroy(s));
}

int main() {
  const int chunks = 9, n = 1000, STREAMS = 3;
  float *in, *out, *d[STREAMS][3];
  cudaStream_t s[STREAMS];
  cudaEvent_t done[STREAMS], begin, end;
  CHECK(cudaMallocHost(&in, chunks * n * sizeof(float)));
  CHECK(cudaHostAlloc(&out, chunks * n * sizeof(float), cudaHostAllocDefault));
  for (int i = 0; i < chunks * n; i++) in[i] = (float)i;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  for (int k = 0; k < STREAMS; k++) {
    CHECK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&done[k], cudaEventDisableTiming | cudaEventBlockingSync));
    for (float *&p : d[k]) CHECK(cudaMalloc(&p, n * sizeof(float)));
  }
  std::atomic<int> fine(0);
  std::vector<Chunk> list(chunks);
  CHECK(cudaEventRecord(begin));
  for (int c = 0; c < chunks; c++) {
    int k = c % STREAMS;
    CHECK(cudaMemcpyAsync(d[k][0], in + c * n, n * sizeof(float), cudaMemcpyHostToDevice, s[k]));
    if (c >= 1) CHECK(cudaStreamWaitEvent(s[k], done[(c - 1) % STREAMS], 0));
    wave<<<4, 128, 0, s[k]>>>(d[k][0], d[k][1], n, 1);
    smooth<<<(n + 127) / 128, 128, 0, s[k]>>>(d[k][1], d[k][2], n);
    CHECK(cudaEventRecord(done[k], s[k]));
    CHECK(cudaMemcpyAsync(out + c * n, d[k][2], n * sizeof(float), cudaMemcpyDeviceToHost, s[k]));
    list[c].data = out + c * n, list[c].n = n, list[c].first = (float)(c * n), list[c].fine = &fine;
    CHECK(cudaLaunchHostFunc(s[k], verify, &list[c]));
  }
  for (cudaStream_t x : s) CHECK(cudaStreamSynchronize(x));
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  EXPECT(fine == chunks && ms >= 0);

  volatile int *cells;
  CHECK(cudaHostAlloc((void **)&cells, 2 * sizeof(int), cudaHostAllocMapped));
  cells[0] = cells[1] = 0;
  int *mapped;
  CHECK(cudaHostGetDevicePointer((void **)&mapped, (void *)cells, 0));
  progress<<<1, 1, 0, s[0]>>>(mapped, mapped + 1, 5);
  for (int k = 1; k <= 5; k++) {
    while (cells[0] < k) std::this_thread::yield();
    cells[1] = k;
  }
  CHECK(cudaStreamSynchronize(s[0]));
  fine = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) threads.emplace_back(worker, t, &fine);
  for (std::thread &t : threads) t.join();
  EXPECT(fine == 4);
  for (int k = 0; k < STREAMS; k++) {
    CHECK(cudaStreamDestroy(s[k]));
    CHECK(cudaEventDestroy(done[k]));
    for (float *p : d[k]) CHECK(cudaFree(p));
  }
  CHECK(cudaFreeHost(in));
  CHECK(cudaFreeHost(out));
  CHECK(cudaFreeHost((void *)cells));
  printf("%d chunks\npassed\n", chunks);
}
