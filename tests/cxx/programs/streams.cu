// Streams and events: pieces of an array travel in four streams, one waits for another by an event, callbacks come in order.
#include "check.h"
#include <vector>

constexpr int STREAMS = 4, PIECE = 3000;

__global__ void square(int *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= p[i];
}
__global__ void add_from(int *to, const int *from, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] += from[i];
}

static void CUDART_CB count(cudaStream_t, cudaError_t status, void *user) { *(int *)user += status == cudaSuccess; }
static void CUDART_CB host(void *user) { *(int *)user *= 10; }

// Two copies by one call, of which each version has another form.
#if CUDART_VERSION < 12080
struct cudaMemcpyAttributes;
extern "C" cudaError_t cudaMemcpyBatchAsync(void **, void **, size_t *, size_t, cudaMemcpyAttributes *, size_t *,
                                            size_t, size_t *, cudaStream_t);
#endif
static cudaError_t copy_batch(void **to, void **from, size_t *sizes, cudaStream_t stream) {
#if CUDART_VERSION < 12080
  size_t failed;
  return cudaMemcpyBatchAsync(to, from, sizes, 2, nullptr, nullptr, 0, &failed, stream);
#else
  cudaMemcpyAttributes a = {};
  a.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  size_t first = 0;
#if CUDART_VERSION < 13000
  size_t failed;
  return cudaMemcpyBatchAsync(to, from, sizes, 2, &a, &first, 1, &failed, stream);
#else
  return cudaMemcpyBatchAsync((const void **)to, (const void **)from, sizes, 2, &a, &first, 1, stream);
#endif
#endif
}

int main() {
  int *pinned;
  CHECK(cudaMallocHost(&pinned, STREAMS * PIECE * sizeof(int)));
  for (int i = 0; i < STREAMS * PIECE; i++) pinned[i] = i % 1000;
  int *d;
  CHECK(cudaMalloc(&d, STREAMS * PIECE * sizeof(int)));
  cudaStream_t s[STREAMS];
  cudaEvent_t begin, end, half;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventCreateWithFlags(&half, cudaEventDisableTiming));
  for (int k = 0; k < STREAMS; k++) CHECK(k % 2 ? cudaStreamCreate(&s[k]) : cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
  CHECK(cudaEventRecord(begin, s[0]));
  for (int k = 0; k < STREAMS; k++) {
    int *p = d + k * PIECE, *h = pinned + k * PIECE;
    CHECK(cudaMemcpyAsync(p, h, PIECE * sizeof(int), cudaMemcpyHostToDevice, s[k]));
    square<<<(PIECE + 127) / 128, 128, 0, s[k]>>>(p, PIECE);
    CHECK(cudaGetLastError());
    if (k == 2) CHECK(cudaEventRecord(half, s[k]));
  }
  int called = 4, times = 0;
  CHECK(cudaStreamWaitEvent(s[3], half, 0));
  add_from<<<(PIECE + 127) / 128, 128, 0, s[3]>>>(d + 3 * PIECE, d + 2 * PIECE, PIECE);
  for (int k = 0; k < STREAMS; k++) CHECK(cudaMemcpyAsync(pinned + k * PIECE, d + k * PIECE, PIECE * sizeof(int), cudaMemcpyDeviceToHost, s[k]));
  CHECK(cudaStreamAddCallback(s[0], count, &times, 0));
  CHECK(cudaLaunchHostFunc(s[0], host, &called));
  CHECK(cudaEventRecord(end, s[0]));
  for (int k = 0; k < STREAMS; k++) CHECK(cudaStreamSynchronize(s[k]));
  CHECK(cudaEventSynchronize(end));
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  EXPECT(ms >= 0 && cudaStreamQuery(s[1]) == cudaSuccess && cudaEventQuery(half) == cudaSuccess);
  EXPECT(cudaEventElapsedTime(&ms, begin, half) != cudaSuccess);
  cudaGetLastError();
  EXPECT(times == 1 && called == 40);
  long long sum = 0;
  for (int i = 0; i < STREAMS * PIECE; i++) {
    int x = i % 1000, y = (i - PIECE) % 1000, expected = x * x + (i >= 3 * PIECE ? y * y : 0);
    EXPECT(pinned[i] == expected);
    sum += pinned[i];
  }

  int from[6] = {1, 2, 3, 4, 5, 6}, back[6] = {0};
  void *to[] = {d, d + 4}, *here[] = {from + 3, from}, *there[] = {back, back + 3};
  size_t sizes[] = {3 * sizeof(int), 3 * sizeof(int)};
  CHECK(copy_batch(to, here, sizes, s[1]));
  CHECK(copy_batch(there, to, sizes, s[1]));
  CHECK(cudaStreamSynchronize(s[1]));
  EXPECT(back[0] == 4 && back[2] == 6 && back[3] == 1 && back[5] == 3);
  for (int k = 0; k < STREAMS; k++) CHECK(cudaStreamDestroy(s[k]));
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaEventDestroy(half));
  CHECK(cudaFree(d));
  CHECK(cudaFreeHost(pinned));
  printf("sum %lld\npassed\n", sum);
}
