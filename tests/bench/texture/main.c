/* What a linear sample costs, of a picture of 2048 x 2048 texels of four channels, at neighbouring places and at random
 * ones: in compiled code, with PoCL's read_imagef, and by hand in AVX2 with the same rule: a table on stdout.
 *   bench-texture [CASE]   0 to 3: that row alone
 * Processor time of all threads for a sample. The three take turns, so that a processor that is slower for a while is
 * so for all of them, and medians of their rounds are printed. Compiled code and what is written by hand must have the
 * same bits; PoCL's differ in the last places, and are not compared. */
#include "tests/bench/texture/native.h"

#include "mx/mx.h"
#include "mx/text.h"
#include "mx/texture.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZE = 2048, SAMPLES = 1 << 21, BLOCK = 256, ROUNDS = 15 };

static const char program[] =
    ".entry sample(.param .u64 tex, .param .u64 x, .param .u64 y, .param .u64 out)\n{\n"
    "  mad.lo.u32 %i, %ctaid.x, %ntid.x, %tid.x;\n"
    "  ld.global.f32 %u, [%x + %i*4];\n  ld.global.f32 %v, [%y + %i*4];\n"
    "  tex.2d.v4.f32.f32 {%r, %g, %b, %a}, [%tex, {%u, %v}];\n"
    "  mad.wide.u32 %o, %i, 16, %out;\n  st.global.v4.f32 [%o], {%r, %g, %b, %a};\n  exit;\n}\n";
static const char opencl[] =
    "constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;\n"
    "kernel void sample(read_only image2d_t t, global const float *x, global const float *y, global float4 *out) {\n"
    "  const size_t i = get_global_id(0);\n  out[i] = read_imagef(t, s, (float2)(x[i], y[i]));\n}\n";

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void need(bool good, const char *what) {
  if (!good) fprintf(stderr, "bench-texture: %s\n", what), exit(1);
}
static uint32_t draw(void) {
  static uint64_t state = 1;
  state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
  return (uint32_t)(state >> 40);
}

static float *floats;
static uint8_t *bytes;
static float *x, *y, *got, *expected;

/* ---- mx -------------------------------------------------------------------------------------------------------*/
struct mx_side {
  mx_device *device;
  mx_kernel *kernel;
  mx_array *array;
  mx_texture texture;
  mx_addr at[3];
};
static void mx_begin(struct mx_side *s, bool in_floats) {
  mx_array_desc desc = MX_ARRAY_DESC_INIT;
  desc.kind = MX_ARRAY_2D, desc.type = in_floats ? MX_TEXEL_FLOAT : MX_TEXEL_UNSIGNED, desc.bits = in_floats ? 32 : 8;
  desc.channels = 4, desc.width = desc.height = SIZE;
  need(mx_array_create(s->device, &desc, &s->array) == MX_OK, "no array");
  mx_texel_box box = MX_TEXEL_BOX_INIT;
  const size_t row = (size_t)SIZE * (in_floats ? 16 : 4);
  need(mx_array_copy_in(s->array, &box, in_floats ? (void *)floats : (void *)bytes, row, 0) == MX_OK, "no texels");
  mx_texture_desc t = MX_TEXTURE_DESC_INIT;
  t.array = s->array, t.filter = MX_FILTER_LINEAR, t.normalized_read = true;
  need(mx_texture_create(s->device, &t, &s->texture) == MX_OK, "no texture");
  for (unsigned k = 0; k < 3; k++)
    need(mx_alloc(s->device, (size_t)SAMPLES * (k < 2 ? 4 : 16), &s->at[k]) == MX_OK, "no memory");
  mx_copy_to_device(s->device, s->at[0], x, SAMPLES * 4), mx_copy_to_device(s->device, s->at[1], y, SAMPLES * 4);
}
static double mx_round(const struct mx_side *s) {
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = SAMPLES / BLOCK, c.block[0] = BLOCK, c.threads = 1, c.jit = MX_JIT_ON;
  const void *args[] = {&s->texture, &s->at[0], &s->at[1], &s->at[2]};
  const double begin = now();
  if (mx_launch_args(s->kernel, &c, args, 4) != MX_OK) need(false, mx_last_error_text(s->device));
  return now() - begin;
}
static void mx_end(const struct mx_side *s) {
  mx_copy_from_device(s->device, got, s->at[2], (size_t)SAMPLES * 16);
  for (unsigned k = 0; k < 3; k++) mx_free(s->device, s->at[k]);
  mx_texture_destroy(s->device, s->texture), mx_array_destroy(s->array);
}

/* ---- PoCL -----------------------------------------------------------------------------------------------------*/
struct cl_side {
  bool is_there; /* and has images */
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  cl_kernel kernel;
  cl_mem m[4];
};
static void cl_begin(struct cl_side *s, bool in_floats) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int e = clGetPlatformIDs(1, &platform, NULL);
  s->is_there = false;
  if (e || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return;
  s->context = clCreateContext(NULL, 1, &device, NULL, NULL, &e);
  const char *text = opencl;
  s->queue = clCreateCommandQueue(s->context, device, 0, &e);
  s->program = clCreateProgramWithSource(s->context, 1, &text, NULL, &e);
  if (e || clBuildProgram(s->program, 1, &device, NULL, NULL, NULL)) return;
  s->kernel = clCreateKernel(s->program, "sample", &e);
  const cl_image_format format = {CL_RGBA, in_floats ? CL_FLOAT : CL_UNORM_INT8};
  const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIZE, .image_height = SIZE};
  s->m[0] = clCreateImage(s->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, &desc,
                          in_floats ? (void *)floats : (void *)bytes, &e);
  if (e) return;
  for (unsigned n = 0; n < 2; n++)
    s->m[1 + n] = clCreateBuffer(s->context, CL_MEM_COPY_HOST_PTR, SAMPLES * 4, n ? y : x, &e);
  s->m[3] = clCreateBuffer(s->context, 0, (size_t)SAMPLES * 16, NULL, &e);
  for (unsigned n = 0; n < 4; n++) clSetKernelArg(s->kernel, n, sizeof s->m[n], &s->m[n]);
  s->is_there = true;
}
static double cl_round(const struct cl_side *s) {
  const size_t global = SAMPLES, local = BLOCK;
  const double begin = now();
  need(!clEnqueueNDRangeKernel(s->queue, s->kernel, 1, NULL, &global, &local, 0, NULL, NULL) && !clFinish(s->queue),
       "PoCL does not run");
  return now() - begin;
}
static void cl_end(const struct cl_side *s) {
  if (!s->is_there) return;
  for (unsigned n = 0; n < 4; n++) clReleaseMemObject(s->m[n]);
  clReleaseKernel(s->kernel), clReleaseProgram(s->program);
  clReleaseCommandQueue(s->queue), clReleaseContext(s->context);
}

/* ---- by hand, and rounds --------------------------------------------------------------------------------------*/
static double hand_round(bool in_floats) {
  const double begin = now();
  if (in_floats) native_floats(floats, SIZE, x, y, SAMPLES, expected);
  else native_bytes(bytes, SIZE, x, y, SAMPLES, expected);
  return now() - begin;
}
static int by_time(const void *a, const void *b) {
  const double p = *(const double *)a, q = *(const double *)b;
  return (p > q) - (p < q);
}
/* In nanoseconds a sample. */
static double median(double *took) {
  qsort(took, ROUNDS, sizeof *took, by_time);
  return took[ROUNDS / 2] * (1e9 / SAMPLES);
}

int main(int argc, char **argv) {
  floats = malloc((size_t)SIZE * SIZE * 16), bytes = malloc((size_t)SIZE * SIZE * 4);
  x = malloc(SAMPLES * 4), y = malloc(SAMPLES * 4);
  got = malloc((size_t)SAMPLES * 16), expected = malloc((size_t)SAMPLES * 16);
  need(floats && bytes && x && y && got && expected, "no memory");
  for (size_t k = 0; k < (size_t)SIZE * SIZE * 4; k++)
    bytes[k] = (uint8_t)draw(), floats[k] = (float)(draw() + 1) / 16777216;
  mx_device_options options = MX_DEVICE_OPTIONS_INIT;
  struct mx_side a = {0};
  mx_module *module;
  options.cache_dir = "";
  options.jit_compiler = getenv("MX_JITC");
  need(mx_device_create(&options, &a.device) == MX_OK, "no device");
  need(mx_module_load_text(a.device, program, sizeof program - 1, NULL, &module, NULL) == MX_OK, "no module");
  need(mx_module_kernel(module, "sample", &a.kernel) == MX_OK, "no kernel");
  printf("%-34s %8s %8s %8s %10s %10s\n", "2048 x 2048, ns a sample", "mx", "PoCL", "AVX2", "PoCL / mx", "mx / AVX2");
  for (unsigned k = 0; k < 4; k++) {
    const bool in_floats = k < 2, random = k & 1;
    if (argc > 1 && (unsigned)atoi(argv[1]) != k) continue;
    for (uint32_t n = 0; n < SAMPLES; n++) {
      x[n] = random ? (float)(draw() % (SIZE * 4096)) / 4096 : (float)(n % SIZE) + 0.25f;
      y[n] = random ? (float)(draw() % (SIZE * 4096)) / 4096 : (float)(n / SIZE) + 0.6f;
    }
    struct cl_side b;
    double took[3][ROUNDS] = {{0}};
    mx_begin(&a, in_floats), cl_begin(&b, in_floats);
    for (unsigned r = 0; r <= ROUNDS; r++) { /* the first one compiles, and is overwritten */
      const unsigned at = r ? r - 1 : 0;
      took[0][at] = mx_round(&a);
      if (b.is_there) took[1][at] = cl_round(&b);
      took[2][at] = hand_round(in_floats);
    }
    mx_end(&a), cl_end(&b);
    const double mx = median(took[0]), other = median(took[1]), hand = median(took[2]);
    need(!memcmp(got, expected, (size_t)SAMPLES * 16), "other bits than by hand");
    printf("%-34s %8.1f ",
           k == 0   ? "f32x4, neighbours"
           : k == 1 ? "f32x4, at random"
           : k == 2 ? "u8x4, neighbours"
                    : "u8x4, at random",
           mx);
    if (!b.is_there) printf("%8s %8.1f %10s %10.2f\n", "-", hand, "-", mx / hand);
    else printf("%8.1f %8.1f %10.2f %10.2f\n", other, hand, other / mx, mx / hand);
    fflush(stdout);
  }
  mx_device_destroy(a.device);
  return 0;
}
