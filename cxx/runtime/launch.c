/* Launches of kernels, kernels' attributes and their occupancy. */
#include "rt.h"

#include <stdlib.h>
#include <string.h>

/* ---- <<< >>> ----------------------------------------------------------------------------------------------------*/
static _Thread_local struct {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
} pushed[8];
static _Thread_local unsigned depth;

unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream) {
  if (depth == sizeof pushed / sizeof *pushed) return 1;
  pushed[depth].grid = grid;
  pushed[depth].block = block;
  pushed[depth].shared = shared;
  pushed[depth++].stream = stream;
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  if (!depth) return rt_error(cudaErrorMissingConfiguration);
  depth--;
  *grid = pushed[depth].grid;
  *block = pushed[depth].block;
  *shared = pushed[depth].shared;
  *(cudaStream_t *)stream = pushed[depth].stream;
  return cudaSuccess;
}

/* Prints a line about the launch that has just ended (MX_STATS). */
static void tell(struct rt_device *d, const mx_kernel_info *info, const mx_launch_config *c) {
  static const char *const tiers[] = {[MX_TIER_INTERPRETED] = "interpreted",
                                      [MX_TIER_WAITING] = "interpreted",
                                      [MX_TIER_COMPILING] = "interpreted, compiler at work",
                                      [MX_TIER_COMPILED] = "compiled",
                                      [MX_TIER_CACHED] = "compiled, from the cache",
                                      [MX_TIER_READY] = "compiled before",
                                      [MX_TIER_FAILED] = "interpreted, no code",
                                      [MX_TIER_SLOWER] = "interpreted, its code is slower"};
  mx_launch_stats s = {.struct_size = sizeof s};
  if (mx_device_stats(d->mx, &s) != MX_OK) return;
  rt_say("%s<<<(%u,%u,%u),(%u,%u,%u),%u>>>: %llu warps, %llu instructions, %s, %.3f ms", info->name, c->grid[0],
         c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared_bytes, (unsigned long long)s.warps,
         (unsigned long long)s.steps, tiers[s.tier], s.seconds * 1e3);
}

/* Failures of the kernel itself are not reported here but by the next call that synchronises with it, as on devices. */
cudaError_t rt_launch(struct rt_device *d, mx_kernel *k, const struct rt_grid *g, void **args, cudaStream_t s) {
  mx_kernel_info info = {.struct_size = sizeof info};
  mx_trap_info trap = {.struct_size = sizeof trap};
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  mx_status status = mx_kernel_get_info(k, &info);
  if (status != MX_OK) return rt_status(d, status);
  if (g->shared > UINT32_MAX) return rt_error(cudaErrorInvalidValue);
  memcpy(c.grid, &g->grid, sizeof c.grid);
  memcpy(c.block, &g->block, sizeof c.block);
  memcpy(c.cluster, g->cluster, sizeof c.cluster);
  c.shared_bytes = (uint32_t)g->shared;
  c.cooperative = g->cooperative;
  c.timeout = rt_settings.timeout;
  mx_stream *stream = rt_stream(s);
  void **mirrored = rt_mirrors_leave(d, k, info.params, args);
  if (mirrored) args = mirrored;
  if (stream && !rt_watches()) {
    status = mx_launch_args_async(k, &c, (const void *const *)args, info.params, stream);
    free(mirrored);
    if (rt_settings.stats && status == MX_OK && mx_stream_synchronize(stream) == MX_OK)
      tell(d, &info, &c); /* one after the other */
    return rt_status(d, status);
  }
  const bool before = mx_device_trap(d->mx, &trap) == MX_OK && trap.kind != MX_TRAP_NONE;
  status = rt_watches() ? rt_watch_launch(d, k, &info, &c, args)
                        : mx_launch_args(k, &c, (const void *const *)args, info.params);
  free(mirrored);
  if (rt_settings.stats) tell(d, &info, &c);
  if (status != MX_TRAPPED || before) return rt_status(d, status);
  const cudaError_t kept = cudaPeekAtLastError();
  rt_status(d, status); /* says what happened */
  cudaGetLastError();
  rt_error(kept);
  return cudaSuccess;
}

static cudaError_t launch(const void *function, const struct rt_grid *g, void **args, cudaStream_t s) {
  struct rt_device *d = rt_stream_device(s);
  cudaError_t e;
  if (!d) return rt_error(cudaErrorInitializationError);
  mx_kernel *k = rt_kernel(d, function, &e);
  struct rt_function *f = rt_find_function(function);
  struct rt_grid with = *g;
  if (f && !f->cluster_known) rt_cluster_of(function, f->cluster), f->cluster_known = true;
  if (f && !g->cluster[0]) memcpy(with.cluster, f->cluster, sizeof with.cluster);
  g = &with;
  if (k && rt_capturing(s)) return rt_capture_kernel(s, d, function, k, g, args);
  return k ? rt_launch(d, k, g, args, s) : e;
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared,
                             cudaStream_t stream) {
  return launch(function, &(struct rt_grid){grid, block, shared, false, {0}}, args, stream);
}
cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared,
                                        cudaStream_t stream) {
  return launch(function, &(struct rt_grid){grid, block, shared, true, {0}}, args, stream);
}

void rt_launch_attributes(struct rt_grid *g, const cudaLaunchAttribute *attribute, unsigned n) {
  for (unsigned k = 0; k < n; k++) switch (attribute[k].id) {
    case cudaLaunchAttributeCooperative: g->cooperative = attribute[k].val.cooperative; break;
    case cudaLaunchAttributeClusterDimension:
      g->cluster[0] = attribute[k].val.clusterDim.x;
      g->cluster[1] = attribute[k].val.clusterDim.y;
      g->cluster[2] = attribute[k].val.clusterDim.z;
      break;
    default: break; /* hints, about what there is nothing of here */
    }
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **args) {
  if (!config || (config->numAttrs && !config->attrs)) return rt_error(cudaErrorInvalidValue);
  struct rt_grid g = {.grid = config->gridDim, .block = config->blockDim, .shared = config->dynamicSmemBytes};
  rt_launch_attributes(&g, config->attrs, config->numAttrs);
  return launch(function, &g, args, config->stream);
}

/* One launch on several devices: all have the same shape and the same kernel, each its own arguments. What the streams
 * were given before ends first, and the launch ends before the call returns. */
cudaError_t cudaLaunchCooperativeKernelMultiDevice(struct cudaLaunchParams *list, unsigned int n, unsigned int flags) {
  mx_kernel *kernel[RT_MOST_DEVICES];
  void *params[RT_MOST_DEVICES] = {NULL};
  mx_kernel_info info = {.struct_size = sizeof info};
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  cudaError_t e = list && n && n <= RT_MOST_DEVICES ? cudaSuccess : rt_error(cudaErrorInvalidValue);
  (void)flags;
  for (unsigned k = 0; k < n && e == cudaSuccess; k++) {
    struct rt_device *d = list[k].stream ? rt_stream_device(list[k].stream) : NULL; /* each needs one of its own */
    if (!d || list[k].func != list->func || memcmp(&list[k].gridDim, &list->gridDim, sizeof(dim3)) ||
        memcmp(&list[k].blockDim, &list->blockDim, sizeof(dim3)) || list[k].sharedMem != list->sharedMem)
      e = rt_error(cudaErrorInvalidValue);
    else if (!(kernel[k] = rt_kernel(d, list[k].func, &e)) || (e = cudaStreamSynchronize(list[k].stream))) break;
    else if (!k) e = rt_status(d, mx_kernel_get_info(kernel[0], &info));
    if (e == cudaSuccess && !(params[k] = calloc(1, info.param_bytes + 1))) e = rt_error(cudaErrorMemoryAllocation);
    for (uint32_t i = 0; i < info.params && e == cudaSuccess; i++) {
      mx_param_info p = {.struct_size = sizeof p};
      if ((e = rt_status(d, mx_kernel_get_param(kernel[k], i, &p))) == cudaSuccess)
        memcpy((char *)params[k] + p.offset, list[k].args[i], p.size);
    }
  }
  if (e == cudaSuccess) {
    memcpy(c.grid, &list->gridDim, sizeof c.grid);
    memcpy(c.block, &list->blockDim, sizeof c.block);
    c.shared_bytes = (uint32_t)list->sharedMem;
    c.cooperative = true;
    c.timeout = rt_settings.timeout;
    e = rt_status(rt_stream_device(list->stream),
                  mx_launch_cooperative_multi(kernel, n, &c, (const void *const *)params, info.param_bytes));
  }
  for (unsigned k = 0; k < RT_MOST_DEVICES; k++) free(params[k]);
  return e;
}

/* Code of newer compilers asks for the kernel's handle before it launches; here the stub's address is the handle. */
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function) {
  *kernel = (cudaKernel_t)(uintptr_t)function;
  return rt_find_function(function) ? cudaSuccess : rt_error(cudaErrorInvalidDeviceFunction);
}
cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *function) {
  return kernel ? __cudaGetKernel(kernel, function) : rt_error(cudaErrorInvalidValue);
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
                               cudaStream_t stream) {
  return launch(kernel, &(struct rt_grid){grid, block, shared, false, {0}}, args, stream);
}
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                    cudaStream_t stream) {
  return launch(kernel, &(struct rt_grid){grid, block, shared, false, {0}}, args, stream);
}

/* ---- what a kernel is -------------------------------------------------------------------------------------------*/
static cudaError_t info_of(const void *function, struct rt_device **d, mx_kernel **k, mx_kernel_info *info) {
  cudaError_t e;
  *d = rt_current();
  if (!*d) return rt_error(cudaErrorInitializationError);
  *k = rt_kernel(*d, function, &e);
  *info = (mx_kernel_info){.struct_size = sizeof *info};
  return *k ? rt_status(*d, mx_kernel_get_info(*k, info)) : e;
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *symbol) {
  struct rt_device *d = rt_current();
  cudaError_t e;
  if (!d || !function) return rt_error(cudaErrorInvalidValue);
  *function = (cudaFunction_t)rt_kernel(d, symbol, &e);
  return e;
}

void rt_attributes(struct cudaFuncAttributes *a, const mx_kernel_info *info) {
  *a = (struct cudaFuncAttributes){
      .sharedSizeBytes = info->static_shared_bytes,
      .localSizeBytes = info->local_bytes,
      .maxThreadsPerBlock = (int)info->max_threads_per_block,
      .numRegs = (int)(info->slots32 + 2 * info->slots64),
      .ptxVersion = 80,
      .binaryVersion = 80,
      .maxDynamicSharedSizeBytes = 49152 - (int)info->static_shared_bytes,
  };
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *function) {
  struct rt_device *d;
  mx_kernel *k;
  mx_kernel_info info;
  if (!a) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = info_of(function, &d, &k, &info);
  if (e == cudaSuccess) rt_attributes(a, &info);
  return e;
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value) {
  struct rt_device *d;
  mx_kernel *k;
  mx_kernel_info info;
  cudaError_t e = info_of(function, &d, &k, &info);
  mx_device_properties p = {.struct_size = sizeof p};
  if (e != cudaSuccess || attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return e;
  mx_device_get_properties(d->mx, &p);
  return value < 0 || (uint64_t)value + info.static_shared_bytes > p.max_shared_bytes ? rt_error(cudaErrorInvalidValue)
                                                                                      : cudaSuccess;
}
cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config) {
  return (void)function, (void)config, cudaSuccess;
}
cudaError_t cudaFuncSetSharedMemConfig(const void *function, enum cudaSharedMemConfig config) {
  return (void)function, (void)config, cudaSuccess;
}

/* ---- occupancy: of one of the processors that the device says it has --------------------------------------------*/
cudaError_t rt_occupancy(int *blocks, struct rt_device *d, mx_kernel *k, int threads, size_t shared) {
  mx_kernel_info info = {.struct_size = sizeof info};
  struct cudaDeviceProp p;
  uint32_t most = 0;
  *blocks = 0;
  if (!d || mx_kernel_get_info(k, &info) != MX_OK || threads <= 0) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = cudaGetDeviceProperties_v2(&p, d->number);
  if (e != cudaSuccess) return e;
  if (threads > (int)info.max_threads_per_block || shared > UINT32_MAX ||
      mx_occupancy(k, (uint32_t)threads, (uint32_t)shared, &most) != MX_OK)
    return cudaSuccess;
  const int lanes = (int)info.lanes, whole = (threads + lanes - 1) / lanes * lanes;
  int n = p.maxThreadsPerMultiProcessor / whole;
  const size_t bytes = info.static_shared_bytes + shared;
  if (bytes && (size_t)n > p.sharedMemPerMultiprocessor / bytes) n = (int)(p.sharedMemPerMultiprocessor / bytes);
  if (n > p.maxBlocksPerMultiProcessor) n = p.maxBlocksPerMultiProcessor;
  if ((uint32_t)n * (uint32_t)p.multiProcessorCount > most) n = (int)most / p.multiProcessorCount;
  *blocks = n;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads,
                                                                   size_t shared, unsigned int flags) {
  struct rt_device *d;
  mx_kernel *k;
  mx_kernel_info info;
  (void)flags;
  if (!blocks || threads <= 0) return rt_error(cudaErrorInvalidValue);
  *blocks = 0;
  cudaError_t e = info_of(function, &d, &k, &info);
  return e == cudaSuccess ? rt_occupancy(blocks, d, k, threads, shared) : e;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
                                                          size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

enum { MOST_BLOCKS_OF_CLUSTER = 16 };
cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *function, const cudaLaunchConfig_t *config) {
  if (!size || !config || !rt_find_function(function)) return rt_error(cudaErrorInvalidValue);
  *size = MOST_BLOCKS_OF_CLUSTER;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *function, const cudaLaunchConfig_t *config) {
  struct cudaDeviceProp p;
  struct rt_grid g = {.cluster = {1, 1, 1}};
  int blocks;
  if (!clusters || !config || (config->numAttrs && !config->attrs)) return rt_error(cudaErrorInvalidValue);
  rt_launch_attributes(&g, config->attrs, config->numAttrs);
  const uint32_t of_one = g.cluster[0] * g.cluster[1] * g.cluster[2];
  const dim3 *b = &config->blockDim;
  struct rt_device *d = rt_current();
  cudaError_t e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, (int)(b->x * b->y * b->z),
                                                                config->dynamicSmemBytes);
  if (e == cudaSuccess) e = cudaGetDeviceProperties_v2(&p, d ? d->number : 0);
  *clusters =
      e == cudaSuccess && of_one && of_one <= MOST_BLOCKS_OF_CLUSTER ? blocks * p.multiProcessorCount / (int)of_one : 0;
  return e;
}
cudaError_t cudaFuncGetParamInfo(const void *function, size_t number, size_t *offset, size_t *size) {
  struct rt_device *d;
  mx_kernel *k;
  mx_kernel_info info;
  mx_param_info p = {.struct_size = sizeof p};
  cudaError_t e = info_of(function, &d, &k, &info);
  if (e != cudaSuccess) return e;
  if (!offset || number >= info.params) return rt_error(cudaErrorInvalidValue);
  e = rt_status(d, mx_kernel_get_param(k, number, &p));
  *offset = p.offset;
  if (size) *size = p.size;
  return e;
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks, int threads) {
  struct rt_device *d;
  mx_kernel *k;
  mx_kernel_info info;
  mx_device_properties p = {.struct_size = sizeof p};
  (void)threads;
  if (!bytes || blocks < 1) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = info_of(function, &d, &k, &info);
  if (e != cudaSuccess) return e;
  mx_device_get_properties(d->mx, &p);
  const size_t room = p.max_shared_bytes / (size_t)blocks;
  *bytes = room > info.static_shared_bytes ? room - info.static_shared_bytes : 0;
  return cudaSuccess;
}
