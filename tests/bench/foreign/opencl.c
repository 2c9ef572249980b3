/* PoCL as a contestant, by the system's OpenCL library, which is loaded at run time: building needs nothing of it. */
#include "foreign.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPE_CPU = 2, READ_WRITE = 1, PLATFORM_NAME = 0x0902, BUILD_LOG = 0x1183, PLATFORMS = 8 };

static struct {
  void *library, *device, *context, *queue, *kernel, *buffer[FOREIGN_BUFFERS];
  int (*enqueue)(void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned, void *, void *);
  int (*write)(void *, void *, unsigned, size_t, size_t, const void *, unsigned, void *, void *);
  int (*read)(void *, void *, unsigned, size_t, size_t, void *, unsigned, void *, void *);
  int (*finish)(void *);
} cl;

/* A function of the library, as a pointer of the type given. */
#define CL(type_, name_) __extension__((type_)dlsym(cl.library, #name_))
typedef int platforms(unsigned, void **, unsigned *);
typedef int platform_info(void *, unsigned, size_t, void *, size_t *);
typedef int devices(void *, uint64_t, unsigned, void **, unsigned *);
typedef void *make_context(void *, unsigned, void **, void *, void *, int *);
typedef void *make_queue(void *, void *, uint64_t, int *);
typedef void *make_program(void *, unsigned, const char **, const size_t *, int *);
typedef int build(void *, unsigned, void **, const char *, void *, void *);
typedef int build_info(void *, void *, unsigned, size_t, void *, size_t *);
typedef void *make_kernel(void *, const char *, int *);
typedef void *make_buffer(void *, uint64_t, size_t, void *, int *);
typedef int set_arg(void *, unsigned, size_t, const void *);

bool pocl_there(void) {
  void *list[PLATFORMS];
  unsigned n = 0;
  cl.library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!cl.library || CL(platforms *, clGetPlatformIDs)(PLATFORMS, list, &n)) return false;
  for (unsigned k = 0; k < n && k < PLATFORMS; k++) {
    char name[200] = "";
    CL(platform_info *, clGetPlatformInfo)(list[k], PLATFORM_NAME, sizeof name, name, NULL);
    if (!strcmp(name, "Portable Computing Language") &&
        !CL(devices *, clGetDeviceIDs)(list[k], TYPE_CPU, 1, &cl.device, NULL))
      return true;
  }
  return false;
}

const char *pocl_open(const char *folder) {
  if (!pocl_there()) return "no device";
  size_t size;
  char file[300], *text;
  snprintf(file, sizeof file, "src/%s", it.file);
  if (!(text = foreign_text(folder, file, "", &size))) return "no source";
  cl.context = CL(make_context *, clCreateContext)(NULL, 1, &cl.device, NULL, NULL, NULL);
  cl.queue = CL(make_queue *, clCreateCommandQueue)(cl.context, cl.device, 0, NULL);
  void *program = CL(make_program *, clCreateProgramWithSource)(cl.context, 1, (const char **)&text, &size, NULL);
  char options[200];
  snprintf(options, sizeof options, "-cl-std=CL1.2 %s", it.options);
  if (CL(build *, clBuildProgram)(program, 1, &cl.device, options, NULL, NULL)) {
    static char log[2000];
    CL(build_info *, clGetProgramBuildInfo)(program, cl.device, BUILD_LOG, sizeof log, log, NULL);
    return log;
  }
  if (!(cl.kernel = CL(make_kernel *, clCreateKernel)(program, it.entry, NULL))) return "no such kernel";
  for (int b = 0; b < it.nbuffers; b++) {
    cl.buffer[b] = CL(make_buffer *, clCreateBuffer)(cl.context, READ_WRITE, it.buffer[b].bytes, NULL, NULL);
    if (!cl.buffer[b]) return "no memory for buffers";
  }
  for (int k = 0; k < it.nargs; k++) {
    const struct foreign_arg *a = &it.arg[k];
    const bool buffer = a->kind == FOREIGN_BUFFER, local = a->kind == FOREIGN_LOCAL;
    const void *value = buffer ? (const void *)&cl.buffer[a->buffer] : local ? NULL : (const void *)&a->value;
    if (CL(set_arg *, clSetKernelArg)(cl.kernel, (unsigned)k, a->size, value)) return "other parameters";
  }
  cl.enqueue = CL(__typeof__(cl.enqueue), clEnqueueNDRangeKernel);
  cl.write = CL(__typeof__(cl.write), clEnqueueWriteBuffer);
  cl.read = CL(__typeof__(cl.read), clEnqueueReadBuffer);
  cl.finish = CL(__typeof__(cl.finish), clFinish);
  free(text);
  return NULL;
}
void pocl_fill(bool all) {
  for (int b = 0; b < it.nbuffers; b++)
    if (all || it.buffer[b].mode != FOREIGN_IN)
      cl.write(cl.queue, cl.buffer[b], 1, 0, it.buffer[b].bytes, it.buffer[b].init, 0, NULL, NULL);
}
void pocl_read(int buffer, void *to) {
  cl.read(cl.queue, cl.buffer[buffer], 1, 0, it.buffer[buffer].bytes, to, 0, NULL, NULL);
}
const char *pocl_go(struct foreign_time *took) {
  size_t items[3];
  for (int d = 0; d < 3; d++) items[d] = it.grid[d] * it.block[d];
  const struct foreign_time before = foreign_now();
  int error = cl.enqueue(cl.queue, cl.kernel, it.dimensions, NULL, items, it.block, 0, NULL, NULL);
  error |= cl.finish(cl.queue);
  const struct foreign_time after = foreign_now();
  *took = (struct foreign_time){after.wall - before.wall, after.cpu - before.cpu};
  return error ? "the launch failed" : NULL;
}
