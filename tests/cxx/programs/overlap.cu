// Work in several streams that overlaps: pinned and mapped memory, events that streams wait for, callbacks in order,
// host functions, priorities, registered memory, and times that make sense.
#include "check.h"
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

__global__ void work(const int *in, int *out, int n, int rounds) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned v = in[i];
    for (int r = 0; r < rounds; r++) v = v * 1664525u + 1013904223u;
    out[i] = (int)(v >> 8);
  }
}
__global__ void flag(volatile int *mapped, int value) {
  if (threadIdx.x == 0) *mapped = value;
  __threadfence_system();
}
static std::mutex lock;
static std::string order;
static void CUDART_CB note(cudaStream_t, cudaError_t status, void *user) {
  std::lock_guard<std::mutex> l(lock);
  order += status == cudaSuccess ? *(char *)user : '!';
}
static void CUDART_CB note_too(void *user) {
  std::lock_guard<std::mutex> l(lock);
  order += *(char *)user;
}

int main() {
  const int parts = 4, n = 20000;
  int *in, *out, *d_in[parts], *d_out[parts];
  CHECK(cudaHostAlloc(&in, parts * n * sizeof(int), cudaHostAllocDefault));
  CHECK(cudaMallocHost(&out, parts * n * sizeof(int)));
  for (int i = 0; i < parts * n; i++) in[i] = i;
  cudaStream_t stream[parts];
  cudaEvent_t begin, end, done[parts];
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
  static char names[] = "abcd";
  for (int k = 0; k < parts; k++) {
    CHECK(cudaStreamCreateWithFlags(&stream[k], cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&done[k], cudaEventDisableTiming));
    CHECK(cudaMalloc(&d_in[k], n * sizeof(int)));
    CHECK(cudaMalloc(&d_out[k], n * sizeof(int)));
  }
  CHECK(cudaEventRecord(begin, stream[0]));
  for (int k = 0; k < parts; k++) {
    if (k) CHECK(cudaStreamWaitEvent(stream[k], done[k - 1], 0)); // a chain
    CHECK(cudaMemcpyAsync(d_in[k], in + k * n, n * sizeof(int), cudaMemcpyHostToDevice, stream[k]));
    work<<<8, 128, 0, stream[k]>>>(d_in[k], d_out[k], n, 20 + k);
    CHECK(cudaMemcpyAsync(out + k * n, d_out[k], n * sizeof(int), cudaMemcpyDeviceToHost, stream[k]));
    CHECK(k % 2 ? cudaStreamAddCallback(stream[k], note, names + k, 0)
                : cudaLaunchHostFunc(stream[k], note_too, names + k));
    CHECK(cudaEventRecord(done[k], stream[k]));
  }
  CHECK(cudaEventRecord(end, stream[parts - 1]));
  CHECK(cudaEventSynchronize(end));
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  EXPECT(ms > 0 && ms < 60000);
  EXPECT(cudaEventElapsedTime(&ms, done[0], end) == cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  for (int k = 0; k < parts; k++) {
    CHECK(cudaStreamQuery(stream[k]));
    CHECK(cudaEventQuery(done[k]));
  }
  unsigned long sum = 0;
  for (int i = 0; i < parts * n; i++) {
    unsigned v = i;
    for (int r = 0; r < 20 + i / n; r++) v = v * 1664525u + 1013904223u;
    EXPECT(out[i] == (int)(v >> 8));
    sum = sum * 31 + out[i];
  }
  printf("%lx, callbacks in order %s\n", sum, order.c_str());
  // mapped memory: the host sees what a kernel writes, at another address or the same
  int *mapped, *on_device;
  CHECK(cudaHostAlloc(&mapped, 4096, cudaHostAllocMapped | cudaHostAllocWriteCombined));
  CHECK(cudaHostGetDevicePointer(&on_device, mapped, 0));
  *(volatile int *)mapped = 0;
  flag<<<1, 32, 0, stream[1]>>>(on_device, 42);
  while (*(volatile int *)mapped != 42) std::this_thread::yield();
  unsigned flags;
  CHECK(cudaHostGetFlags(&flags, mapped));
  EXPECT(flags & cudaHostAllocMapped);
  // memory of the program's own
  std::vector<int> own(n);
  for (int i = 0; i < n; i++) own[i] = i * 3;
  CHECK(cudaHostRegister(own.data(), n * sizeof(int), cudaHostRegisterMapped));
  CHECK(cudaHostGetDevicePointer(&on_device, own.data(), 0));
  work<<<8, 128, 0, stream[2]>>>(on_device, d_out[2], n, 0);
  CHECK(cudaMemcpyAsync(out, d_out[2], n * sizeof(int), cudaMemcpyDeviceToHost, stream[2]));
  CHECK(cudaStreamSynchronize(stream[2]));
  EXPECT(out[7] == 21 >> 8 && out[19999] == 59997 >> 8);
  CHECK(cudaHostUnregister(own.data()));
  // threads of the host, each with a stream
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < parts; k++)
    threads.emplace_back([&, k] {
      int *mine = out + k * n;
      for (int r = 0; r < 3; r++) {
        work<<<4, 64, 0, stream[k]>>>(d_in[k], d_out[k], n, r);
        cudaMemcpyAsync(mine, d_out[k], n * sizeof(int), cudaMemcpyDeviceToHost, stream[k]);
        if (cudaStreamSynchronize(stream[k]) == cudaSuccess && (r || mine[5] == (k * n + 5) >> 8)) right++;
      }
    });
  for (auto &t : threads) t.join();
  printf("%d of threads right\n", right.load());
  for (int k = 0; k < parts; k++) CHECK(cudaStreamDestroy(stream[k]));
  CHECK(cudaFreeHost(in));
  CHECK(cudaFreeHost(mapped));
  puts("passed");
}
