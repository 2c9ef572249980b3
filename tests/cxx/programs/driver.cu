// no nvcc: the driver's API: a module of PTX text in the program, its kernels, variables and memory; parameters as pointers and packed.
#include "check.h"
#include <cuda.h>
#include <cstring>

static const char text[] = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 calls;
.visible .entry add(.param .u64 to, .param .u32 n, .param .u32 by)
{
  .reg .u32 %r<6>;
  .reg .u64 %rd<4>;
  .reg .pred %p;
  ld.param.u64 %rd1, [to];
  ld.param.u32 %r1, [n];
  ld.param.u32 %r2, [by];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.u32 %r3, %r3, %r4, %r5;
  setp.ge.u32 %p, %r3, %r1;
  @%p bra done;
  atom.global.add.u32 %r4, [calls], 1;
  mul.wide.u32 %rd2, %r3, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.u32 %r4, [%rd3];
  add.u32 %r4, %r4, %r2;
  st.global.u32 [%rd3], %r4;
done:
  ret;
}
)";

#define TRY(call_) EXPECT((call_) == CUDA_SUCCESS)

int main() {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction add;
  CUdeviceptr p, calls;
  CUstream stream;
  size_t bytes;
  unsigned n = 100, by = 7, host[100], count = 0;
  TRY(cuInit(0));
  TRY(cuDeviceGet(&device, 0));
  TRY(MAKE_CONTEXT(&context, 0, device));
  TRY(cuModuleLoadData(&module, text));
  TRY(cuModuleGetFunction(&add, module, "add"));
  EXPECT(cuModuleGetFunction(&add, module, "nothing") == CUDA_ERROR_NOT_FOUND);
  TRY(cuModuleGetGlobal(&calls, &bytes, module, "calls"));
  EXPECT(bytes == 4);
  TRY(cuMemAlloc(&p, sizeof host));
  TRY(cuMemsetD32(p, 5, n));
  TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  void *args[] = {&p, &n, &by};
  TRY(cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, stream, args, nullptr));
  TRY(cuStreamSynchronize(stream));
  unsigned char packed[16];
  size_t size = sizeof packed;
  memcpy(packed, &p, 8), memcpy(packed + 8, &n, 4), memcpy(packed + 12, &by, 4);
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  TRY(cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  TRY(cuCtxSynchronize());
  TRY(cuMemcpyDtoH(host, p, sizeof host));
  TRY(cuMemcpyDtoH(&count, calls, sizeof count));
  for (unsigned x : host) EXPECT(x == 19);
  EXPECT(count == 200);
  const char *name;
  TRY(cuGetErrorName(CUDA_ERROR_NOT_FOUND, &name));
  EXPECT(cuModuleLoad(&module, "/nowhere/to/be/found") == CUDA_ERROR_FILE_NOT_FOUND);
  TRY(cuMemFree(p));
  TRY(cuStreamDestroy(stream));
  TRY(cuModuleUnload(module));
  TRY(cuCtxDestroy(context));
  printf("%u %s\npassed\n", host[3], name);
}
