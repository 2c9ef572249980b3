// Graphs: a sequence captured from two streams and launched many times, and one made node by node.
#include "check.h"
#include <vector>

__global__ void scale(float *p, int n, float by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= by;
}
__global__ void add(float *p, const float *q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += q[i];
}
static void CUDART_CB tick(void *user) { ++*(int *)user; }

int main() {
  const int n = 1000, times = 5;
  std::vector<float> a(n), b(n), got(n);
  for (int i = 0; i < n; i++) a[i] = i, b[i] = 1;
  Buffer<float> da(n), db(n);
  cudaStream_t s, side;
  cudaEvent_t fork, join;
  CHECK(cudaStreamCreate(&s));
  CHECK(cudaStreamCreate(&side));
  CHECK(cudaEventCreate(&fork));
  CHECK(cudaEventCreate(&join));
  da.put(a.data()), db.put(b.data());
  int ticks = 0;
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(fork, s));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  scale<<<8, 128, 0, s>>>(da.p, n, 0.5f);
  scale<<<8, 128, 0, side>>>(db.p, n, 2.0f);
  CHECK(cudaEventRecord(join, side));
  CHECK(cudaStreamWaitEvent(s, join, 0));
  add<<<8, 128, 0, s>>>(da.p, db.p, n);
  CHECK(cudaLaunchHostFunc(s, tick, &ticks));
  CHECK(cudaMemcpyAsync(got.data(), da.p, n * sizeof(float), cudaMemcpyDeviceToHost, s));
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamIsCapturing(s, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  CHECK(cudaStreamEndCapture(s, &graph));
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 5 && ticks == 0);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int t = 0; t < times; t++) CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  EXPECT(ticks == times);
  for (int i = 0; i < n; i++) {
    float x = a[i], y = b[i];
    for (int t = 0; t < times; t++) x *= 0.5f, y *= 2, x += y;
    EXPECT(got[i] == x);
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));

  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t set, kernel, back, host;
  cudaMemsetParams zero = {};
  zero.dst = db.p, zero.value = 0x3f800000, zero.elementSize = 4, zero.width = n, zero.height = 1;
  CHECK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &zero));
  cudaKernelNodeParams k = {};
  float *p = db.p;
  int m = n;
  float by = 7;
  void *args[] = {&p, &m, &by};
  k.func = (void *)scale, k.gridDim = dim3(8), k.blockDim = dim3(128), k.kernelParams = args;
  CHECK(cudaGraphAddKernelNode(&kernel, graph, &set, 1, &k));
  by = 100; // parameters were copied
  CHECK(cudaGraphAddMemcpyNode1D(&back, graph, &kernel, 1, got.data(), db.p, n * sizeof(float), cudaMemcpyDeviceToHost));
  cudaHostNodeParams call = {};
  call.fn = tick, call.userData = &ticks;
  CHECK(cudaGraphAddHostNode(&host, graph, &back, 1, &call));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, s));
  CHECK(cudaStreamSynchronize(s));
  EXPECT(ticks == times + 1 && got[0] == 7 && got[n - 1] == 7);
  by = 3;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, kernel, &k));
  CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  EXPECT(got[n / 2] == 3 && ticks == times + 2);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(s));
  CHECK(cudaStreamDestroy(side));
  CHECK(cudaEventDestroy(fork));
  CHECK(cudaEventDestroy(join));
  printf("%d launches\npassed\n", ticks);
}
