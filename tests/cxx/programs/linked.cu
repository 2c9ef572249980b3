// The driver's API beyond modules and launches: texts linked into one module, arrays and textures, boxes, rows that are
// set, ranges of addresses with memory mapped into them, functions by their names.
// lanes: 32
#include "check.h"
#include <cstring>
#include <cuda.h>
#include <vector>

#define DO(call_) EXPECT((call_) == CUDA_SUCCESS)
static char library[] = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .func (.param .f32 out) weigh(.param .f32 x, .param .f32 by) {
  .reg .f32 %f<4>;
  ld.param.f32 %f1, [x];
  ld.param.f32 %f2, [by];
  fma.rn.f32 %f3, %f1, %f2, 0f3F800000;
  st.param.f32 [out], %f3;
  ret;
}
)";
static char program[] = R"(
.version 7.0
.target sm_50
.address_size 64
.extern .func (.param .f32 out) weigh(.param .f32 x, .param .f32 by);
.visible .entry sample(.param .u64 to, .param .u64 texture, .param .u32 n) {
  .reg .f32 %f<8>; .reg .u32 %r<4>; .reg .u64 %rd<4>; .reg .pred %p;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [texture];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p, %r2, %r1;
  @%p ret;
  cvt.rn.f32.u32 %f1, %r2;
  add.f32 %f1, %f1, 0f3F000000;
  mov.f32 %f2, 0f3FC00000;
  tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd2, {%f1, %f2}];
  { .param .f32 a; .param .f32 b; .param .f32 r;
    st.param.f32 [a], %f3;
    st.param.f32 [b], 0f40000000;
    call (r), weigh, (a, b);
    ld.param.f32 %f7, [r]; }
  mul.wide.u32 %rd3, %r2, 4;
  add.u64 %rd1, %rd1, %rd3;
  st.global.f32 [%rd1], %f7;
  ret;
}
)";

int main() {
  CUdevice device;
  CUcontext context, now;
  unsigned version = 0;
  DO(cuInit(0));
  DO(cuDeviceGet(&device, 0));
  DO(MAKE_CONTEXT(&context, 0, device));
  DO(cuCtxGetApiVersion(context, &version));
  EXPECT(version >= 3010);
  DO(cuCtxGetCurrent(&now));
  EXPECT(now == context);
  // linking, and what is said where a part is wrong
  char log[512] = "?";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)sizeof log};
  CUlinkState linker;
  void *image;
  size_t bytes;
  DO(cuLinkCreate(2, options, values, &linker));
  DO(cuLinkAddData(linker, CU_JIT_INPUT_PTX, library, sizeof library, "library", 0, nullptr, nullptr));
  DO(cuLinkAddData(linker, CU_JIT_INPUT_PTX, program, sizeof program, "program", 0, nullptr, nullptr));
  EXPECT(cuLinkAddFile(linker, CU_JIT_INPUT_PTX, "/nowhere/part.ptx", 0, nullptr, nullptr) ==
         CUDA_ERROR_FILE_NOT_FOUND);
  DO(cuLinkComplete(linker, &image, &bytes));
  CUmodule module;
  CUfunction sample;
  DO(cuModuleLoadData(&module, image));
  DO(cuLinkDestroy(linker));
  DO(cuModuleGetFunction(&sample, module, "sample"));
  const char *name = nullptr;
  DO(cuFuncGetName(&name, sample));
  printf("linked: %s\n", name);
  // an array, filled from a box, as a texture
  const int w = 8, h = 4;
  std::vector<float> texels(w * h);
  for (int i = 0; i < w * h; i++) texels[i] = i * 0.5f;
  CUDA_ARRAY_DESCRIPTOR format = {w, h, CU_AD_FORMAT_FLOAT, 1}, asked;
  CUarray array;
  DO(cuArrayCreate(&array, &format));
  DO(cuArrayGetDescriptor(&asked, array));
  EXPECT(asked.Width == w && asked.Height == h && asked.Format == CU_AD_FORMAT_FLOAT && asked.NumChannels == 1);
  CUDA_MEMCPY2D rows = {};
  rows.srcMemoryType = CU_MEMORYTYPE_HOST, rows.srcHost = texels.data(), rows.srcPitch = w * sizeof(float);
  rows.dstMemoryType = CU_MEMORYTYPE_ARRAY, rows.dstArray = array;
  rows.WidthInBytes = w * sizeof(float), rows.Height = h;
  DO(cuMemcpy2D(&rows));
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY, resource.res.array.hArray = array;
  CUDA_TEXTURE_DESC how = {};
  how.addressMode[0] = how.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
  how.filterMode = CU_TR_FILTER_MODE_LINEAR;
  CUtexObject texture;
  DO(cuTexObjectCreate(&texture, &resource, &how, nullptr));
  CUdeviceptr out;
  int n = 12;
  DO(cuMemAlloc(&out, 64 * sizeof(float)));
  DO(cuMemsetD2D32(out, 32, 0x42280000, 5, 8)); // 42, in five of eight columns
  void *arguments[] = {&out, &texture, &n};
  DO(cuLaunchKernel(sample, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  float got[64];
  DO(cuMemcpyDtoH(got, out, sizeof got));
  for (int i = 0; i < 24; i++) printf("%g%c", got[i], i % 8 == 7 ? '\n' : ' ');
  DO(cuTexObjectDestroy(texture));
  // a box within a volume
  CUarray volume;
  CUDA_ARRAY3D_DESCRIPTOR solid = {6, 5, 4, CU_AD_FORMAT_UNSIGNED_INT8, 4, CUDA_ARRAY3D_SURFACE_LDST};
  DO(cuArray3DCreate(&volume, &solid));
  std::vector<unsigned> in(6 * 5 * 4), back(3 * 2 * 2);
  for (unsigned i = 0; i < in.size(); i++) in[i] = i;
  CUDA_MEMCPY3D box = {};
  box.srcMemoryType = CU_MEMORYTYPE_HOST, box.srcHost = in.data(), box.srcPitch = 24, box.srcHeight = 5;
  box.dstMemoryType = CU_MEMORYTYPE_ARRAY, box.dstArray = volume;
  box.WidthInBytes = 24, box.Height = 5, box.Depth = 4;
  DO(cuMemcpy3D(&box));
  box = {};
  box.srcMemoryType = CU_MEMORYTYPE_ARRAY, box.srcArray = volume, box.srcXInBytes = 8, box.srcY = 1, box.srcZ = 2;
  box.dstMemoryType = CU_MEMORYTYPE_HOST, box.dstHost = back.data(), box.dstPitch = 12, box.dstHeight = 2;
  box.WidthInBytes = 12, box.Height = 2, box.Depth = 2;
  DO(cuMemcpy3D(&box));
  for (unsigned i = 0; i < back.size(); i++) EXPECT(back[i] == (2 + i / 6) * 30 + (1 + i / 3 % 2) * 6 + 2 + i % 3);
  DO(cuArrayDestroy(volume));
  // a range that grows
  CUmemAllocationProp what = {};
  what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  what.location.type = CU_MEM_LOCATION_TYPE_DEVICE, what.location.id = device;
  size_t granule;
  DO(cuMemGetAllocationGranularity(&granule, &what, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr range;
  CUmemGenericAllocationHandle part[2];
  CUmemAccessDesc access = {what.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  DO(cuMemAddressReserve(&range, 2 * granule, 0, 0, 0));
  for (int k = 0; k < 2; k++) {
    DO(cuMemCreate(&part[k], granule, &what, 0));
    DO(cuMemMap(range + k * granule, granule, 0, part[k], 0));
    DO(cuMemSetAccess(range, (k + 1) * granule, &access, 1));
    DO(cuMemRelease(part[k]));
  }
  DO(cuMemsetD32(range + granule - 32, 7, 16)); // across both
  unsigned across[16];
  DO(cuMemcpyDtoH(across, range + granule - 32, sizeof across));
  EXPECT(across[0] == 7 && across[15] == 7);
  DO(cuMemUnmap(range, 2 * granule));
  DO(cuMemAddressFree(range, 2 * granule));
  // functions by their names
  CUresult (*get)(CUdeviceptr *, size_t) = nullptr;
  CUdriverProcAddressQueryResult found;
  DO(cuGetProcAddress_v2("cuMemAlloc", (void **)&get, 12000, 0, &found));
  DO(get(&range, 100));
  DO(cuMemFree(range));
  DO(cuModuleUnload(module));
  DO(cuCtxDestroy(context));
  puts("passed");
}
