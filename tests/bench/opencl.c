/* A contestant behind the OpenCL interface: PoCL through the system's loader, Oclgrind through its own library. The
 * library is loaded at run time, so that building needs none of it. */
#include "bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*clGetPlatformIDs_t)(unsigned, void **, unsigned *);
typedef int (*clGetDeviceIDs_t)(void *, uint64_t, unsigned, void **, unsigned *);
typedef int (*clGetPlatformInfo_t)(void *, unsigned, size_t, void *, size_t *);
typedef void *(*clCreateContext_t)(void *, unsigned, void **, void *, void *, int *);
typedef void *(*clCreateCommandQueue_t)(void *, void *, uint64_t, int *);
typedef void *(*clCreateProgramWithSource_t)(void *, unsigned, const char **, const size_t *, int *);
typedef int (*clBuildProgram_t)(void *, unsigned, void **, const char *, void *, void *);
typedef void *(*clCreateKernel_t)(void *, const char *, int *);
typedef void *(*clCreateBuffer_t)(void *, uint64_t, size_t, void *, int *);
typedef int (*clSetKernelArg_t)(void *, unsigned, size_t, const void *);
typedef int (*clEnqueueNDRangeKernel_t)(void *, void *, unsigned, const size_t *, const size_t *, const size_t *,
                                        unsigned, void *, void *);
typedef int (*clEnqueueReadBuffer_t)(void *, void *, unsigned, size_t, size_t, void *, unsigned, void *, void *);
typedef int (*clFinish_t)(void *);

enum { DEVICE_TYPE_ALL = -1, COPY_HOST_PTR = 32, PLATFORM_VERSION = 0x0901, PLATFORM_NAME = 0x0902, PLATFORMS = 8 };

struct opencl {
  void *lib, *queue, *buffer[BENCH_BUFFERS], *kernel[BENCH_KERNELS];
  clEnqueueNDRangeKernel_t enqueue;
  clEnqueueReadBuffer_t read;
  clFinish_t finish;
};
#define CL(name_) __extension__((name_##_t)dlsym(cl->lib, #name_))

static double run(struct bench_contestant *c, int kernel) {
  struct opencl *cl = c->state;
  const struct bench_work *w = &c->work[kernel];
  size_t local[2] = {w->block[0], w->block[1]};
  double start = bench_now();
  int error = cl->enqueue(cl->queue, cl->kernel[kernel], w->items[1] > 1 ? 2 : 1, NULL, w->items, local, 0, NULL, NULL);
  error |= cl->finish(cl->queue);
  return error ? -1 : bench_now() - start;
}

static bool read_back(struct bench_contestant *c, int kernel, void *result) {
  struct opencl *cl = c->state;
  enum bench_buffer b = c->work[kernel].result;
  return !cl->read(cl->queue, cl->buffer[b], 1, 0, c->data->bytes[b], result, 0, NULL, NULL);
}

static bool set_args(struct opencl *cl, void *kernel, const struct bench_work *w) {
  int error = 0;
  for (unsigned i = 0; i < BENCH_ARGS && w->arg[i].kind != BENCH_END && w->arg[i].kind != BENCH_COUNT; i++) {
    const struct bench_arg *a = &w->arg[i];
    error |= a->kind == BENCH_BUFFER ? CL(clSetKernelArg)(kernel, i, sizeof(void *), &cl->buffer[a->value])
                                     : CL(clSetKernelArg)(kernel, i, sizeof a->value, &a->value);
  }
  return !error;
}

static char *file_text(const char *path) {
  FILE *f = fopen(path, "rb");
  char *text = calloc(1, 1 << 16);
  if (!f || !text || !fread(text, 1, (1 << 16) - 1, f)) {
    free(text);
    text = NULL;
  }
  if (f) fclose(f);
  return text;
}

static const char *open_device(struct bench_contestant *c, struct opencl *cl, const char *library, char *source,
                               const char *platform) {
  void *list[PLATFORMS], *device = NULL, *chosen = NULL;
  char version[128] = "", name[128] = "";
  unsigned n = 0;
  cl->lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!cl->lib) return "not installed";
  if (CL(clGetPlatformIDs)(PLATFORMS, list, &n)) return "no OpenCL platform";
  for (unsigned i = 0; i < n && i < PLATFORMS && !chosen; i++) {
    CL(clGetPlatformInfo)(list[i], PLATFORM_NAME, sizeof name, name, NULL);
    if (!platform || strstr(name, platform)) chosen = list[i];
  }
  if (!chosen) return "no such OpenCL platform";
  CL(clGetPlatformInfo)(chosen, PLATFORM_VERSION, sizeof version, version, NULL);
  if (CL(clGetDeviceIDs)(chosen, (uint64_t)DEVICE_TYPE_ALL & 0xFFFFFFFF, 1, &device, &n) || !n)
    return "no OpenCL device";
  void *context = CL(clCreateContext)(NULL, 1, &device, NULL, NULL, NULL);
  cl->queue = CL(clCreateCommandQueue)(context, device, 0, NULL);
  void *program = CL(clCreateProgramWithSource)(context, 1, (const char **)&source, NULL, NULL);
  if (CL(clBuildProgram)(program, 1, &device, "", NULL, NULL)) return "the kernels were not built";
  for (int b = 0; b < BENCH_BUFFERS; b++) {
    cl->buffer[b] = CL(clCreateBuffer)(context, COPY_HOST_PTR, c->data->bytes[b], c->data->buffer[b], NULL);
    if (!cl->buffer[b]) return "no memory for buffers";
  }
  for (int k = 0; k < BENCH_KERNELS; k++) {
    cl->kernel[k] = CL(clCreateKernel)(program, c->work[k].name, NULL);
    if (!cl->kernel[k] || !set_args(cl, cl->kernel[k], &c->work[k])) return "a kernel is missing";
  }
  cl->enqueue = CL(clEnqueueNDRangeKernel);
  cl->read = CL(clEnqueueReadBuffer);
  cl->finish = CL(clFinish);
  snprintf(c->name, sizeof c->name, "%.79s: %.79s", name, version);
  return NULL;
}

bool bench_open_opencl(struct bench_contestant *c, struct bench_data *data, const char *library, const char *source,
                       const char *platform) {
  struct opencl *cl = calloc(1, sizeof *cl);
  char *text = file_text(source);
  *c = (struct bench_contestant){.data = data, .state = cl, .run = run, .read = read_back};
  bench_works(c->work, data->n);
  const char *reason =
      !cl || !text ? "the kernels' source cannot be read" : open_device(c, cl, library, text, platform);
  if (reason) snprintf(c->name, sizeof c->name, "%s: %s", library, reason);
  free(text);
  return !reason;
}
