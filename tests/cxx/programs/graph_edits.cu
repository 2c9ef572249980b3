// Graphs that are asked and changed: parameters of nodes in graphs and in instances, edges, nodes left out, nodes that
// allocate, children, objects of the program that a graph keeps, and the picture for people.
#include "check.h"
#include <vector>

__global__ void scale(float *p, float f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= f;
}
__global__ void add(float *p, const float *q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += q[i];
}
static int called, destroyed;
static void count(void *by) { called += *(int *)by; }
static void gone(void *what) { destroyed += *(int *)what; }

int main() {
  const int n = 300;
  float a[n], out[n], *p, *q;
  for (int i = 0; i < n; i++) a[i] = i;
  CHECK(cudaMalloc(&p, sizeof a));
  CHECK(cudaMalloc(&q, sizeof a));
  cudaGraph_t g, child, clone;
  cudaGraphNode_t in, fill, times, plus, back, host, nodes[16];
  CHECK(cudaGraphCreate(&g, 0));
  CHECK(cudaGraphAddMemcpyNode1D(&in, g, nullptr, 0, p, a, sizeof a, cudaMemcpyHostToDevice));
  cudaMemsetParams set = {};
  set.dst = q, set.elementSize = 4, set.width = n, set.height = 1, set.value = 0;
  CHECK(cudaGraphAddMemsetNode(&fill, g, nullptr, 0, &set));
  float factor = 2;
  int count_ = n;
  void *arguments[] = {&p, &factor, &count_}, *pair[] = {&p, &q, &count_};
  cudaKernelNodeParams k = {};
  k.func = (void *)scale, k.gridDim = dim3(3), k.blockDim = dim3(128), k.kernelParams = arguments;
  CHECK(cudaGraphAddKernelNode(&times, g, &in, 1, &k));
  k.func = (void *)add, k.kernelParams = pair;
  CHECK(cudaGraphAddKernelNode(&plus, g, nullptr, 0, &k));
  CHECK(cudaGraphAddMemcpyNode1D(&back, g, &plus, 1, out, p, sizeof a, cudaMemcpyDeviceToHost));
  int by = 1, by_ten = 10;
  cudaHostNodeParams call = {count, &by};
  CHECK(cudaGraphAddHostNode(&host, g, &back, 1, &call));
#if CUDART_VERSION >= 13000
  cudaGraphNode_t from[] = {times, fill}, to[] = {plus, plus};
  CHECK(cudaGraphAddDependencies(g, from, to, nullptr, 2));
  size_t edges = 0, before = 16, behind = 16;
  CHECK(cudaGraphGetEdges(g, nullptr, nullptr, nullptr, &edges));
  CHECK(cudaGraphNodeGetDependencies(plus, nodes, nullptr, &before));
  EXPECT(before == 2 && (nodes[0] == times || nodes[1] == times));
  CHECK(cudaGraphNodeGetDependentNodes(plus, nodes, nullptr, &behind));
#else
  cudaGraphNode_t from[] = {times, fill}, to[] = {plus, plus};
  CHECK(cudaGraphAddDependencies(g, from, to, 2));
  size_t edges = 0, before = 16, behind = 16;
  CHECK(cudaGraphGetEdges(g, nullptr, nullptr, &edges));
  CHECK(cudaGraphNodeGetDependencies(plus, nodes, &before));
  EXPECT(before == 2 && (nodes[0] == times || nodes[1] == times));
  CHECK(cudaGraphNodeGetDependentNodes(plus, nodes, &behind));
#endif
  EXPECT(behind == 1 && nodes[0] == back);
  printf("%zu edges\n", edges);

  cudaGraphExec_t x;
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  CHECK(cudaGraphInstantiate(&x, g, 0));
  auto run = [&](const char *what) {
    called = 0;
    CHECK(cudaGraphLaunch(x, s));
    CHECK(cudaStreamSynchronize(s));
    double sum = 0;
    for (float v : out) sum += v;
    printf("%s: %g, called %d\n", what, sum, called);
  };
  run("as made");
  // in the instance
  cudaMemsetParams asked;
  CHECK(cudaGraphMemsetNodeGetParams(fill, &asked));
  EXPECT(asked.dst == q && asked.width == (size_t)n && asked.elementSize == 4);
  asked.value = 0x3f800000; // 1.0f
  CHECK(cudaGraphExecMemsetNodeSetParams(x, fill, &asked));
  cudaHostNodeParams ten = {count, &by_ten};
  CHECK(cudaGraphExecHostNodeSetParams(x, host, &ten));
  run("ones added");
  CHECK(cudaGraphNodeSetEnabled(x, times, 0));
  unsigned enabled = 7;
  CHECK(cudaGraphNodeGetEnabled(x, times, &enabled));
  EXPECT(enabled == 0);
  run("not scaled");
  CHECK(cudaGraphNodeSetEnabled(x, times, 1));
  CHECK(cudaGraphExecMemcpyNodeSetParams1D(x, in, p, a + 100, 100 * sizeof(float), cudaMemcpyHostToDevice));
  run("another source");
  CHECK(cudaGraphExecDestroy(x));
  // in the graph: seen by instances made later
  cudaHostNodeParams host_now;
  CHECK(cudaGraphHostNodeGetParams(host, &host_now));
  EXPECT(host_now.userData == &by);
  CHECK(cudaGraphHostNodeSetParams(host, &ten));
  cudaKernelNodeParams kernel_now;
  CHECK(cudaGraphKernelNodeGetParams(times, &kernel_now));
  EXPECT(kernel_now.blockDim.x == 128 && *(float *)kernel_now.kernelParams[1] == 2);
  CHECK(cudaGraphClone(&clone, g));
  CHECK(cudaGraphNodeFindInClone(&nodes[0], fill, clone));
  EXPECT(nodes[0] != fill);
  CHECK(cudaGraphDestroyNode(host));
  size_t left = 0;
  CHECK(cudaGraphGetNodes(g, nullptr, &left));
  CHECK(cudaGraphInstantiate(&x, g, 0));
  run("without the call");
  CHECK(cudaGraphExecDestroy(x));
  CHECK(cudaGraphInstantiate(&x, clone, 0));
  run("the clone");
  CHECK(cudaGraphExecDestroy(x));
  printf("%zu nodes left\n", left);
  // memory of a graph, and a child
  CHECK(cudaGraphCreate(&child, 0));
  cudaMemAllocNodeParams memory = {};
  memory.poolProps.allocType = cudaMemAllocationTypePinned;
  memory.poolProps.location.type = cudaMemLocationTypeDevice;
  memory.bytesize = sizeof a;
  cudaGraphNode_t allocate, set_it, use, give;
  CHECK(cudaGraphAddMemAllocNode(&allocate, child, nullptr, 0, &memory));
  set.dst = memory.dptr, set.value = 0x40000000; // 2.0f
  CHECK(cudaGraphAddMemsetNode(&set_it, child, &allocate, 1, &set));
  float *r = (float *)memory.dptr;
  void *third[] = {&r, &factor, &count_};
  k.func = (void *)scale, k.kernelParams = third;
  CHECK(cudaGraphAddKernelNode(&use, child, &set_it, 1, &k));
  CHECK(cudaGraphAddMemcpyNode1D(&back, child, &use, 1, out, r, sizeof a, cudaMemcpyDeviceToHost));
  CHECK(cudaGraphAddMemFreeNode(&give, child, &back, 1, memory.dptr));
  CHECK(cudaGraphDestroy(g));
  CHECK(cudaGraphInstantiate(&x, child, 0));
  run("memory of the graph");
  CHECK(cudaGraphExecDestroy(x));
  // objects
  int one = 1, hundred = 100;
  cudaUserObject_t object, other;
  CHECK(cudaGraphCreate(&g, 0));
  CHECK(cudaUserObjectCreate(&object, &one, gone, 1, cudaUserObjectNoDestructorSync));
  CHECK(cudaUserObjectCreate(&other, &hundred, gone, 1, cudaUserObjectNoDestructorSync));
  CHECK(cudaGraphRetainUserObject(g, object, 1, cudaGraphUserObjectMove));
  CHECK(cudaGraphRetainUserObject(g, other, 1));
  EXPECT(destroyed == 0);
  CHECK(cudaGraphDestroy(g));
  cudaDeviceSynchronize();
  printf("destroyed %d", destroyed);
  CHECK(cudaUserObjectRelease(other, 1));
  printf(", then %d\n", destroyed);
  // capture says what it is
  cudaStreamCaptureStatus status;
  unsigned long long id = 0;
  cudaGraph_t being;
#if CUDART_VERSION >= 13000
  CHECK(cudaStreamGetCaptureInfo(s, &status, &id, &being, nullptr, nullptr, nullptr));
  EXPECT(status == cudaStreamCaptureStatusNone);
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  scale<<<3, 128, 0, s>>>(p, 1, n);
  size_t last = 0;
  CHECK(cudaStreamGetCaptureInfo(s, &status, &id, &being, nullptr, nullptr, &last));
#else
  CHECK(cudaStreamGetCaptureInfo(s, &status, &id, &being, nullptr, nullptr));
  EXPECT(status == cudaStreamCaptureStatusNone);
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  scale<<<3, 128, 0, s>>>(p, 1, n);
  size_t last = 0;
  CHECK(cudaStreamGetCaptureInfo(s, &status, &id, &being, nullptr, &last));
#endif
  EXPECT(status == cudaStreamCaptureStatusActive && id && last == 1);
  float *between;
  CHECK(cudaMallocAsync(&between, 4096, s));
  CHECK(cudaMemsetAsync(between, 0, 4096, s));
  CHECK(cudaFreeAsync(between, s));
  CHECK(cudaStreamEndCapture(s, &g));
  EXPECT(g == being);
  CHECK(cudaGraphGetNodes(g, nullptr, &left));
  CHECK(cudaGraphDebugDotPrint(g, "/dev/null", cudaGraphDebugDotFlagsVerbose));
  CHECK(cudaGraphInstantiate(&x, g, 0));
  CHECK(cudaGraphLaunch(x, s));
  CHECK(cudaStreamSynchronize(s));
  printf("%zu nodes captured\n", left);
  puts("passed");
}
