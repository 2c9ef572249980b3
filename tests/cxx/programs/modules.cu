// The driver's API: a module from PTX, what its kernel is, launches with parameters in both ways, memory in rows, fills
// of every width, events, occupancy, errors and their names.
#include "check.h"
#include <cuda.h>
#include <cstring>

#define DRIVER(call_) \
  do { \
    CUresult r_ = (call_); \
    if (r_ != CUDA_SUCCESS) { \
      const char *text = "?"; \
      cuGetErrorString(r_, &text); \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call_, text); \
      exit(1); \
    } \
  } while (0)

static const char ptx[] = R"(.version 7.0
.target sm_50
.address_size 64
.global .align 4 .u32 table[4] = {1, 2, 3, 4};
.visible .entry add(.param .u64 p, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<6>;
  .shared .align 4 .b8 room[64];
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra END;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd1, %rd3;
  ld.global.u32 %r6, [%rd4];
  add.s32 %r6, %r6, 5;
  st.global.u32 [%rd4], %r6;
END:
  ret;
}
)";

static size_t bytes_of(int threads) { return 4 * threads; }

int main() {
  DRIVER(cuInit(0));
  CUdevice device;
  CUcontext context;
  int count, value;
  char name[100], log[1024] = "";
  DRIVER(cuDeviceGetCount(&count));
  DRIVER(cuDeviceGet(&device, 0));
  DRIVER(cuDeviceGetName(name, sizeof name, device));
  DRIVER(MAKE_CONTEXT(&context, CU_CTX_SCHED_AUTO, device));
  DRIVER(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device));
  EXPECT(count >= 1 && value == 1024);
  DRIVER(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
  size_t limit;
  DRIVER(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
  EXPECT(limit >= 4096);

  CUmodule module;
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_TARGET_FROM_CUCONTEXT};
  void *values[] = {log, (void *)sizeof log, NULL};
  EXPECT(cuModuleLoadDataEx(&module, ".version 7.0\n.target sm_50\nnonsense", 3, options, values) ==
         CUDA_ERROR_INVALID_PTX);
  EXPECT(strstr(log, "nonsense"));
  DRIVER(cuModuleLoadDataEx(&module, ptx, 3, options, values));
  CUfunction add;
  DRIVER(cuModuleGetFunction(&add, module, "add"));
  const char *text;
  DRIVER(cuGetErrorName(cuModuleGetFunction(&add, module, "nothing"), &text));
  printf("%s\n", text);
  EXPECT(cuGetErrorName((CUresult)12345, &text) == CUDA_ERROR_INVALID_VALUE);

  CUdeviceptr p, q;
  CUstream stream;
  CUevent from, to;
  int data[100], rows[4][25];
  for (int i = 0; i < 100; i++) data[i] = i;
  DRIVER(cuMemAlloc(&p, sizeof data));
  DRIVER(cuMemcpyHtoD(p, data, sizeof data));
  DRIVER(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
  DRIVER(cuEventCreate(&from, CU_EVENT_DEFAULT));
  DRIVER(cuEventCreate(&to, CU_EVENT_DEFAULT));
  int n = 90;
  void *args[] = {&p, &n};
  float ms;
  DRIVER(cuEventRecord(from, stream));
  DRIVER(cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, stream, args, NULL));
  DRIVER(cuEventRecord(to, stream));
  DRIVER(cuStreamSynchronize(stream));
  DRIVER(cuEventElapsedTime(&ms, from, to));
  struct {
    CUdeviceptr p;
    int n;
  } packed = {p, 10};
  size_t size = 12;
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  DRIVER(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, 0, NULL, extra));
  DRIVER(cuCtxSynchronize());
  DRIVER(cuMemcpyDtoH(data, p, sizeof data));
  EXPECT(data[9] == 19 && data[89] == 94 && data[90] == 90 && ms >= 0);

  DRIVER(cuModuleGetGlobal(&q, &size, module, "table"));
  DRIVER(cuMemcpyDtoH(data, q, size));
  EXPECT(size == 16 && data[3] == 4);
  DRIVER(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add));
  EXPECT(value == 1024);
  DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, add, 128, 0));
  int grid, block;
  DRIVER(cuOccupancyMaxPotentialBlockSize(&grid, &block, add, bytes_of, 0, 256));
  EXPECT(value > 0 && grid > 0 && block > 0 && block <= 256);

  DRIVER(cuMemsetD32(p, 7, 100));
  DRIVER(cuMemsetD16Async(p, 3, 2, stream));
  DRIVER(cuMemsetD8Async(p + 4, 1, 4, stream));
  DRIVER(cuMemcpyDtoHAsync(data, p, sizeof data, stream));
  DRIVER(cuStreamSynchronize(stream));
  EXPECT(data[0] == 0x30003 && data[1] == 0x1010101 && data[99] == 7);
  size_t pitch;
  DRIVER(cuMemAllocPitch(&q, &pitch, 100, 4, 4));
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = data;
  copy.srcPitch = 100;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = q;
  copy.dstPitch = pitch;
  copy.WidthInBytes = 100;
  copy.Height = 4;
  DRIVER(cuMemcpy2D(&copy));
  CUDA_MEMCPY2D back = {};
  back.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  back.srcDevice = q;
  back.srcPitch = pitch;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = rows;
  back.dstPitch = 100;
  back.WidthInBytes = 100;
  back.Height = 4;
  DRIVER(cuMemcpy2DAsync(&back, stream));
  DRIVER(cuStreamSynchronize(stream));
  EXPECT(pitch >= 100 && rows[0][0] == 0x30003 && rows[3][24] == 7);
  CUdeviceptr base;
  DRIVER(cuMemGetAddressRange(&base, &size, p + 40));
  unsigned kind;
  DRIVER(cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
  EXPECT(base == p && size >= sizeof data && kind == CU_MEMORYTYPE_DEVICE);

  void *entry = NULL;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPoint("cuMemFree", &entry, cudaEnableDefault, &found));
  EXPECT(entry && found == cudaDriverEntryPointSuccess && !((CUresult(*)(CUdeviceptr))entry)(q));
  DRIVER(cuMemFree(p));
  DRIVER(cuStreamDestroy(stream));
  DRIVER(cuModuleUnload(module));
  DRIVER(cuCtxDestroy(context));
  printf("passed\n");
}
