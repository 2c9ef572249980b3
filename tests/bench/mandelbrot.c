/* Mandelbrot, 1024 x 1024, 256 iterations: interpreter, compiled code and, where an OpenCL library is installed, PoCL, in
 * turns within one run. Prints medians and ratios; measures, does not judge. OpenCL is loaded at run time, so that
 * building needs none of it. */
#include <mx/mx.h>
#include <mx/text.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 1024, ITERATIONS = 256, ROUNDS = 15 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static double median(double *ms) {
  qsort(ms, ROUNDS, sizeof *ms, by_value);
  return ms[ROUNDS / 2];
}

/* ---- the same kernel in OpenCL C -------------------------------------------------------------------------*/
static const char cl_source[] =
    "__kernel void mandel(__global int *out, int W, int H, int maxit) {\n"
    "  int i = get_global_id(0), px = i % W, py = i / W;\n"
    "  float cx = -2.0f + 3.0f * px / (float)W, cy = -1.5f + 3.0f * py / (float)H, x = 0, y = 0;\n"
    "  int n = 0;\n"
    "  while (n < maxit && x * x + y * y < 4.0f) { float t = x * x - y * y + cx; y = 2 * x * y + cy; x = t; n++; }\n"
    "  out[i] = n;\n"
    "}\n";
struct cl {
  void *lib, *queue, *kernel, *buffer;
  int (*enqueue)(void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned, void *, void *);
  int (*finish)(void *);
  char name[256];
};
#define CL(name_) __extension__((name_##_t)dlsym(c->lib, #name_))
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

static bool cl_open(struct cl *c) {
  c->lib = dlopen("libOpenCL.so.1", RTLD_NOW);
  if (!c->lib) return false;
  void *platform, *device;
  unsigned n = 0;
  const char *source = cl_source;
  int w = SIDE, it = ITERATIONS;
  if (CL(clGetPlatformIDs)(1, &platform, &n) || !n || CL(clGetDeviceIDs)(platform, 0xFFFFFFFF, 1, &device, &n) || !n) return false;
  CL(clGetPlatformInfo)(platform, 0x0901, sizeof c->name, c->name, NULL);
  void *context = CL(clCreateContext)(NULL, 1, &device, NULL, NULL, NULL);
  c->queue = CL(clCreateCommandQueue)(context, device, 0, NULL);
  void *program = CL(clCreateProgramWithSource)(context, 1, &source, NULL, NULL);
  if (CL(clBuildProgram)(program, 1, &device, "", NULL, NULL)) return false;
  c->kernel = CL(clCreateKernel)(program, "mandel", NULL);
  c->buffer = CL(clCreateBuffer)(context, 1, sizeof(int) * SIDE * SIDE, NULL, NULL);
  CL(clSetKernelArg)(c->kernel, 0, sizeof(void *), &c->buffer);
  CL(clSetKernelArg)(c->kernel, 1, sizeof w, &w);
  CL(clSetKernelArg)(c->kernel, 2, sizeof w, &w);
  CL(clSetKernelArg)(c->kernel, 3, sizeof it, &it);
  c->enqueue = __extension__((int (*)(void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned, void *, void *))dlsym(c->lib, "clEnqueueNDRangeKernel"));
  c->finish = __extension__((int (*)(void *))dlsym(c->lib, "clFinish"));
  return c->enqueue && c->finish;
}
static double cl_run(struct cl *c) {
  size_t global = SIDE * SIDE, local = 256;
  double t = now();
  c->enqueue(c->queue, c->kernel, 1, NULL, &global, &local, 0, NULL, NULL);
  c->finish(c->queue);
  return now() - t;
}

/* ---- mx ---------------------------------------------------------------------------------------------------*/
static mx_device *device;
static void need(mx_status s, const char *what) {
  if (s == MX_OK) return;
  char *text = mx_last_error_text(device);
  fprintf(stderr, "bench: %s: %s\n", what, text ? text : mx_status_text(s));
  exit(3);
}

static char *read_text(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  char *text = NULL;
  if (f && !fseek(f, 0, SEEK_END)) {
    *size = (size_t)ftell(f);
    rewind(f);
    text = malloc(*size + 1);
    if (text && fread(text, 1, *size, f) != *size) *size = 0;
  }
  if (f) fclose(f);
  return text;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: bench MANDELBROT.mxs [MX-JITC]\n");
    return 2;
  }
  size_t size = 0;
  char *text = read_text(argv[1], &size);
  if (!text) {
    fprintf(stderr, "bench: %s: cannot be read\n", argv[1]);
    return 4;
  }
  mx_device_options options = MX_DEVICE_OPTIONS_INIT;
  options.jit_compiler = argc > 2 ? argv[2] : NULL;
  need(mx_device_create(&options, &device), "device");
  mx_asm_result *assembly = mx_assemble(text, size, NULL);
  size_t bytes = 0;
  const uint8_t *code = assembly ? mx_asm_bytes(assembly, &bytes) : NULL;
  if (!code) {
    fprintf(stderr, "bench: %s does not assemble\n", argv[1]);
    return 1;
  }
  mx_module *module;
  mx_kernel *kernel;
  need(mx_module_load_data(device, code, bytes, &module), "module");
  need(mx_module_kernel(module, "mandelbrot", &kernel), "kernel");
  mx_addr out;
  need(mx_alloc(device, sizeof(int) * SIDE * SIDE, &out), "memory");
  uint32_t w = SIDE, h = SIDE;
  int32_t it = ITERATIONS;
  const void *args[] = {&out, &w, &h, &it};
  mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
  config.grid[0] = SIDE * SIDE / 256;
  config.block[0] = 256;

  struct cl cl = {0};
  bool have_cl = cl_open(&cl);
  double ms[3][ROUNDS];
  for (int k = -1; k < ROUNDS; k++) { /* one round to warm up */
    for (int engine = 0; engine < 2; engine++) {
      config.jit = engine ? MX_JIT_ON : MX_JIT_OFF;
      double t = now();
      need(mx_launch_args(kernel, &config, args, 4), "launch");
      if (k >= 0) ms[engine][k] = now() - t;
    }
    double t = have_cl ? cl_run(&cl) : 0;
    if (k >= 0) ms[2][k] = t;
  }
  double interp = median(ms[0]), jit = median(ms[1]), pocl = median(ms[2]);
  printf("mandelbrot %dx%d, %d iterations, median of %d interleaved runs\n", SIDE, SIDE, ITERATIONS, ROUNDS);
  printf("  mx interpreter  %8.2f ms\n  mx jit          %8.2f ms\n", interp, jit);
  if (have_cl) printf("  %s %.2f ms\n  interpreter %.2f x, jit %.2f x as fast\n", cl.name, pocl, pocl / interp, pocl / jit);
  mx_asm_free(assembly);
  mx_device_destroy(device);
  free(text);
  return 0;
}
