// What programs ask: objects what they were made of, streams and memory what was said of them, kernels what they need,
// devices what they are; and errors by their names.
#include "check.h"
#include <cstring>
#include <string>

struct Big {
  double d[3];
  char c;
};
__global__ void __launch_bounds__(256) kernel(char c, double d, Big b, int *out) {
  extern __shared__ int dynamic[];
  __shared__ float fixed[64];
  fixed[threadIdx.x % 64] = d + b.d[1];
  dynamic[threadIdx.x] = c;
  __syncthreads();
  out[threadIdx.x] = dynamic[threadIdx.x] + (int)fixed[threadIdx.x % 64] + b.c;
}

int main() {
  // textures and surfaces
  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float2>();
  CHECK(cudaMallocArray(&array, &format, 32, 16, cudaArraySurfaceLoadStore));
  cudaResourceDesc r = {}, r2;
  r.resType = cudaResourceTypeArray;
  r.res.array.array = array;
  cudaTextureDesc t = {}, t2;
  t.addressMode[0] = cudaAddressModeMirror, t.addressMode[1] = cudaAddressModeWrap;
  t.filterMode = cudaFilterModeLinear, t.normalizedCoords = 1, t.maxAnisotropy = 4;
  cudaTextureObject_t texture;
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateTextureObject(&texture, &r, &t, nullptr));
  CHECK(cudaCreateSurfaceObject(&surface, &r));
  CHECK(cudaGetTextureObjectResourceDesc(&r2, texture));
  EXPECT(r2.resType == cudaResourceTypeArray && r2.res.array.array == array);
  CHECK(cudaGetTextureObjectTextureDesc(&t2, texture));
  EXPECT(t2.addressMode[0] == cudaAddressModeMirror && t2.filterMode == cudaFilterModeLinear && t2.normalizedCoords);
  memset(&r2, 0, sizeof r2);
  CHECK(cudaGetSurfaceObjectResourceDesc(&r2, surface));
  EXPECT(r2.res.array.array == array);
  cudaChannelFormatDesc f2;
  cudaExtent extent;
  unsigned flags;
  CHECK(cudaArrayGetInfo(&f2, &extent, &flags, array));
  printf("array %zu x %zu, %d %d %d %d bits, flags %u\n", extent.width, extent.height, f2.x, f2.y, f2.z, f2.w, flags);
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaDestroySurfaceObject(surface));
  EXPECT(cudaGetTextureObjectResourceDesc(&r2, texture) != cudaSuccess);
  cudaGetLastError();
  CHECK(cudaFreeArray(array));

  // streams
  int least, greatest, priority;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(greatest <= least);
  cudaStream_t s, s2;
  CHECK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, greatest));
  CHECK(cudaStreamCreate(&s2));
  CHECK(cudaStreamGetPriority(s, &priority));
  CHECK(cudaStreamGetFlags(s, &flags));
  EXPECT(priority == greatest && flags == cudaStreamNonBlocking);
  void *kept;
  CHECK(cudaMalloc(&kept, 4096));
  cudaStreamAttrValue v = {}, w = {};
  v.accessPolicyWindow.base_ptr = kept;
  v.accessPolicyWindow.num_bytes = 4096;
  v.accessPolicyWindow.hitRatio = 0.5f;
  v.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  v.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  CHECK(cudaStreamSetAttribute(s, cudaStreamAttributeAccessPolicyWindow, &v));
  CHECK(cudaStreamCopyAttributes(s2, s));
  CHECK(cudaStreamGetAttribute(s2, cudaStreamAttributeAccessPolicyWindow, &w));
  EXPECT(w.accessPolicyWindow.base_ptr == kept && w.accessPolicyWindow.hitProp == cudaAccessPropertyPersisting);
  unsigned long long id, id2;
  CHECK(cudaStreamGetId(s, &id));
  CHECK(cudaStreamGetId(s2, &id2));
  EXPECT(id != id2);
  CHECK(cudaCtxResetPersistingL2Cache());

  // managed memory
  char *m;
  int answer[3] = {7, 7, 7};
  CHECK(cudaMallocManaged(&m, 1 << 16));
#if CUDART_VERSION >= 13000
  cudaMemLocation device = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
#define AT(place_) place_
#define PREFETCH(p_, n_, place_) cudaMemPrefetchAsync(p_, n_, place_, 0, s)
#else
  const int device = 0, host = cudaCpuDeviceId;
#define AT(place_) place_
#define PREFETCH(p_, n_, place_) cudaMemPrefetchAsync(p_, n_, place_, s)
#endif
  CHECK(cudaMemAdvise(m, 1 << 16, cudaMemAdviseSetReadMostly, AT(device)));
  CHECK(cudaMemAdvise(m, 1 << 16, cudaMemAdviseSetPreferredLocation, AT(host)));
  CHECK(cudaMemAdvise(m, 1 << 16, cudaMemAdviseSetAccessedBy, AT(device)));
  CHECK(PREFETCH(m, 1 << 16, device));
  CHECK(cudaStreamSynchronize(s));
  CHECK(cudaMemRangeGetAttribute(answer, 4, cudaMemRangeAttributeReadMostly, m, 4096));
  CHECK(cudaMemRangeGetAttribute(answer + 1, 4, cudaMemRangeAttributePreferredLocation, m, 4096));
  CHECK(cudaMemRangeGetAttribute(answer + 2, 4, cudaMemRangeAttributeLastPrefetchLocation, m, 4096));
  printf("read mostly %d, preferred %d, prefetched to %d", answer[0], answer[1], answer[2]);
  CHECK(cudaMemRangeGetAttribute(answer, 8, cudaMemRangeAttributeAccessedBy, m, 4096));
  printf(", used by %d and %d", answer[0], answer[1]);
  CHECK(cudaMemAdvise(m, 1 << 16, cudaMemAdviseUnsetReadMostly, AT(device)));
  CHECK(cudaMemRangeGetAttribute(answer, 4, cudaMemRangeAttributeReadMostly, m, 4096));
  printf(", then %d\n", answer[0]);
  cudaPointerAttributes p;
  CHECK(cudaPointerGetAttributes(&p, m));
  EXPECT(p.type == cudaMemoryTypeManaged && p.devicePointer == m && p.hostPointer == m);
  CHECK(cudaPointerGetAttributes(&p, kept));
  EXPECT(p.type == cudaMemoryTypeDevice && p.device == 0);
  CHECK(cudaPointerGetAttributes(&p, &answer));
  EXPECT(p.type == cudaMemoryTypeUnregistered);

  // kernels
  cudaFuncAttributes a;
  CHECK(cudaFuncGetAttributes(&a, kernel));
  EXPECT(a.maxThreadsPerBlock <= 256 && a.sharedSizeBytes == 256 && a.numRegs > 0 && a.localSizeBytes == 0);
  size_t offset, size;
  for (int k = 0; k < 4; k++) {
    CHECK(cudaFuncGetParamInfo((const void *)kernel, k, &offset, &size));
    printf("parameter %d at %zu, %zu bytes\n", k, offset, size);
  }
  EXPECT(cudaFuncGetParamInfo((const void *)kernel, 4, &offset, &size) == cudaErrorInvalidValue);
  cudaGetLastError();
  int blocks, grid, block;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 128, 512));
  EXPECT(blocks > 0);
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, kernel, 1024, 0));
  EXPECT(block % 32 == 0 && block <= 256 && grid > 0);
  CHECK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, kernel, [](int b) { return b * sizeof(int); }));
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 16384));
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  CHECK(cudaFuncSetCacheConfig(kernel, cudaFuncCachePreferShared));
  int *out;
  CHECK(cudaMalloc(&out, 256 * sizeof(int)));
  kernel<<<1, block, block * sizeof(int)>>>('a', 2.5, Big{{1, 2, 3}, 'b'}, out);
  int got;
  CHECK(cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost));
  printf("kernel says %d\n", got);

  // devices
  cudaDeviceProp d;
  CHECK(cudaGetDeviceProperties(&d, 0));
  int width, value;
  CHECK(cudaDeviceGetAttribute(&width, cudaDevAttrMaxTexture2DWidth, 0));
  EXPECT(d.maxTexture2D[0] == width && width >= 65536 && d.maxTexture3D[2] >= 2048 && d.maxSurface2D[1] >= 32768);
  EXPECT(d.major >= 7 && d.maxGridSize[0] == 2147483647 && d.maxThreadsDim[2] == 64 && d.totalGlobalMem > 1 << 20);
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
  EXPECT(value == d.major);
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
  CHECK(cudaDeviceGetLimit(&size, cudaLimitStackSize));
  EXPECT(size >= 8192);
  char bus[32];
  CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
  CHECK(cudaDeviceGetByPCIBusId(&value, bus));
  EXPECT(value == 0);
  cudaFuncCache config;
  CHECK(cudaDeviceGetCacheConfig(&config));
  for (cudaError_t e : {cudaErrorInvalidConfiguration, cudaErrorUnsupportedLimit, cudaErrorTextureNotBound,
                        cudaErrorDevicesUnavailable, cudaErrorInvalidSurface, cudaErrorTooManyPeers})
    printf("%d %s\n", (int)e, cudaGetErrorName(e));
  puts("passed");
}
