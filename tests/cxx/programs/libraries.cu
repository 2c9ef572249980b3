// Device code that a program loads by itself, by the runtime's calls and by the driver's: libraries, their kernels,
// variables; graphs of such kernels, of nodes made by the call for any kind, and captured from a stream.
#include "check.h"
#include <cstring>
#include <cuda.h>

static const char text[] = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .global .align 4 .u32 step = 3;
.visible .entry count(.param .u64 p, .param .u32 n) {
  .reg .u32 %i, %n, %s, %v; .reg .u64 %p, %a; .reg .pred %q;
  mov.u32 %i, %tid.x; ld.param.u32 %n, [n]; setp.ge.u32 %q, %i, %n; @%q ret;
  ld.param.u64 %p, [p]; mad.wide.u32 %a, %i, 4, %p;
  ld.global.u32 %v, [%a]; ld.global.u32 %s, [step]; add.u32 %v, %v, %s; st.global.u32 [%a], %v;
  ret;
}
.visible .entry nothing() { ret; }
)";
__global__ void doubled(unsigned *p, int n) {
  if (threadIdx.x < n) p[threadIdx.x] *= 2;
}
static void called(void *p) { ++*(int *)p; }
#define CU(call_) EXPECT((call_) == CUDA_SUCCESS)

#if CUDART_VERSION >= 13000
#define ADD(node_, graph_, from_, n_, params_) cudaGraphAddNode(node_, graph_, from_, NULL, n_, params_)
#else
#define ADD(node_, graph_, from_, n_, params_) cudaGraphAddNode(node_, graph_, from_, n_, params_)
#endif

static void libraries(unsigned *p) {
  char code[sizeof text];
  memcpy(code, text, sizeof text);
  cudaLibrary_t library;
  cudaKernel_t count, all[2], again;
  unsigned n, *step, five = 5;
  size_t bytes;
  CHECK(cudaLibraryLoadData(&library, code, NULL, NULL, 0, NULL, NULL, 0));
  memset(code, 0, sizeof code);
  CHECK(cudaLibraryGetKernel(&count, library, "count"));
  CHECK(cudaLibraryGetKernel(&again, library, "count"));
  CHECK(cudaLibraryGetKernelCount(&n, library));
  CHECK(cudaLibraryEnumerateKernels(all, 2, library));
  EXPECT(n == 2 && again == count && (all[0] == count) != (all[1] == count));
  EXPECT(cudaLibraryGetKernel(&again, library, "missing") == cudaErrorSymbolNotFound);
  CHECK(cudaLibraryGetGlobal((void **)&step, &bytes, library, "step"));
  CHECK(cudaMemcpy(step, &five, bytes, cudaMemcpyHostToDevice));
  int most = 10;
  void *args[] = {&p, &most};
  CHECK(cudaLaunchKernel((const void *)count, 1, 32, args, 0, 0));
  cudaFuncAttributes a;
  CHECK(cudaFuncGetAttributes(&a, (const void *)count));
  EXPECT(a.maxThreadsPerBlock == 1024);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaLibraryUnload(library));
  EXPECT(cudaLaunchKernel((const void *)count, 1, 32, args, 0, 0) == cudaErrorInvalidDeviceFunction);
  EXPECT(cudaLibraryLoadFromFile(&library, "/nowhere", NULL, NULL, 0, NULL, NULL, 0) == cudaErrorFileNotFound);
  cudaGetLastError();
}

static void nodes(unsigned *p) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t fill, kernel, host, copy;
  unsigned got[8] = {0};
  int n = 8, calls = 0;
  void *args[] = {&p, &n};
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNodeParams a = {cudaGraphNodeTypeMemset}, b = {cudaGraphNodeTypeKernel}, c = {cudaGraphNodeTypeHost},
                      d = {cudaGraphNodeTypeMemcpy};
  a.memset.dst = p;
  a.memset.value = 7;
  a.memset.elementSize = sizeof(unsigned);
  a.memset.width = 8;
  a.memset.height = 1;
  CHECK(ADD(&fill, graph, NULL, 0, &a));
  b.kernel.func = (void *)doubled;
  b.kernel.gridDim = dim3(1);
  b.kernel.blockDim = dim3(32);
  b.kernel.kernelParams = args;
  CHECK(ADD(&kernel, graph, &fill, 1, &b));
  c.host.fn = called;
  c.host.userData = &calls;
  CHECK(ADD(&host, graph, &kernel, 1, &c));
  d.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(p, sizeof got, sizeof got, 1);
  d.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(got, sizeof got, sizeof got, 1);
  d.memcpy.copyParams.extent = make_cudaExtent(sizeof got, 1, 1);
  d.memcpy.copyParams.kind = cudaMemcpyDeviceToHost;
  CHECK(ADD(&copy, graph, &host, 1, &d));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, 0));
  CHECK(cudaDeviceSynchronize());
  EXPECT(got[0] == 14 && got[7] == 14 && calls == 1);
  n = 4;
  CHECK(cudaGraphExecNodeSetParams(exec, kernel, &b));
  a.memset.value = 9;
  CHECK(cudaGraphNodeSetParams(fill, &a));
  CHECK(cudaGraphLaunch(exec, 0));
  CHECK(cudaDeviceSynchronize());
  EXPECT(got[3] == 14 && got[4] == 7);
  EXPECT(cudaGraphNodeSetParams(fill, &b) == cudaErrorInvalidValue);
  CHECK(cudaGraphKernelNodeCopyAttributes(kernel, kernel));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

static void driver(unsigned *p) {
  CUlibrary library;
  CUkernel kernel;
  CUfunction function;
  CUstream stream;
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode node, second;
  CUstreamCaptureStatus status;
  unsigned got[8];
  int n = 8;
  void *args[] = {&p, &n};
  CU(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
  CU(cuLibraryGetKernel(&kernel, library, "count"));
  CU(cuKernelGetFunction(&function, kernel));
  CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CU(cuMemsetD32Async((CUdeviceptr)p, 100, 8, stream));
  CU(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, args, NULL));
  CU(cuStreamIsCapturing(stream, &status));
  EXPECT(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CU(cuStreamEndCapture(stream, &graph));
  size_t many = 0;
  CU(cuGraphGetNodes(graph, NULL, &many));
  EXPECT(many == 2);
  CU(cuGraphInstantiate(&exec, graph, 0));
  CU(cuGraphLaunch(exec, stream));
  CU(cuStreamSynchronize(stream));
  CU(cuMemcpyDtoH(got, (CUdeviceptr)p, sizeof got));
  EXPECT(got[0] == 103 && got[7] == 103);
  CU(cuGraphExecDestroy(exec));
  CU(cuGraphDestroy(graph));

  CU(cuGraphCreate(&graph, 0));
  CUDA_KERNEL_NODE_PARAMS params = {};
  params.func = function;
  params.gridDimX = params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
  params.blockDimX = 32;
  params.kernelParams = args;
  CU(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
  n = 4;
  CU(cuGraphAddKernelNode(&second, graph, &node, 1, &params));
  CU(cuGraphKernelNodeGetParams(node, &params));
  EXPECT(params.func == function && *(int *)params.kernelParams[1] == 8);
  CU(cuGraphInstantiate(&exec, graph, 0));
  CU(cuGraphLaunch(exec, stream));
  CU(cuStreamSynchronize(stream));
  CU(cuMemcpyDtoH(got, (CUdeviceptr)p, sizeof got));
  EXPECT(got[0] == 109 && got[7] == 106);
  CU(cuLibraryUnload(library));
}

int main() {
  unsigned *p, got[32];
  CU(cuInit(0));
  CHECK(cudaMalloc(&p, sizeof got));
  CHECK(cudaMemset(p, 0, sizeof got));
  libraries(p);
  CHECK(cudaMemcpy(got, p, sizeof got, cudaMemcpyDeviceToHost));
  EXPECT(got[0] == 5 && got[9] == 5 && got[10] == 0);
  nodes(p);
  driver(p);
  puts("passed");
}
