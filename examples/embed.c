/* libmx in a program of its own: assemble a kernel, run it, read the result, and see what a trap says.
 *
 *   cc -I include examples/embed.c build/libmx.a -lxxhash -lsleef -ldl -lm -lpthread && ./a.out */
#include <mx/text.h>

#include <stdio.h>
#include <stdlib.h>

static const char text[] = ".entry saxpy (.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)\n"
                           "{\n"
                           "  mad.lo.u32 %i, %ctaid.x, %ntid.x, %tid.x;\n"
                           "  setp.ge.u32 %outside, %i, %n;\n"
                           "  @%outside exit;\n"
                           "  ld.global.f32 %xi, [%x + %i*4];\n"
                           "  ld.global.f32 %yi, [%y + %i*4];\n"
                           "  fma.rn.f32 %r, %a, %xi, %yi;\n"
                           "  st.global.f32 [%y + %i*4], %r;\n"
                           "  exit;\n"
                           "}\n";

enum { N = 1000 };

/* Says what went wrong; true: nothing did. */
static bool good(mx_device *device, mx_status s) {
  if (s == MX_OK) return true;
  char *why = mx_last_error_text(device);
  fprintf(stderr, "%s: %s\n", mx_status_name(s), why ? why : mx_status_text(s));
  mx_text_free(why);
  return false;
}

static mx_status run(mx_device *device, uint32_t n, float *y) {
  mx_module *module;
  mx_kernel *saxpy = NULL;
  mx_addr dx = 0, dy = 0;
  char *messages;
  float x[N], a = 2.5f;
  for (int i = 0; i < N; i++) x[i] = (float)i, y[i] = 1;

  mx_status s = mx_module_load_text(device, text, sizeof text - 1, NULL, &module, &messages);
  if (messages) fputs(messages, stderr);
  mx_text_free(messages);
  if (s == MX_OK) s = mx_module_kernel(module, "saxpy", &saxpy);
  if (s == MX_OK) s = mx_alloc(device, sizeof x, &dx);
  if (s == MX_OK) s = mx_alloc(device, sizeof x, &dy);
  if (s == MX_OK) s = mx_allocation_set_name(device, dy, "y");
  if (s == MX_OK) s = mx_copy_to_device(device, dx, x, sizeof x);
  if (s == MX_OK) s = mx_copy_to_device(device, dy, y, sizeof x);

  mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
  config.grid[0] = 4;
  config.block[0] = 256;
  const void *args[] = {&dx, &dy, &a, &n};
  if (s == MX_OK) s = mx_launch_args(saxpy, &config, args, 4);
  if (s == MX_OK) s = mx_copy_from_device(device, y, dy, sizeof x);
  return s;
}

int main(void) {
  mx_device *device;
  mx_status s = mx_device_create(NULL, &device);
  if (s != MX_OK) {
    fprintf(stderr, "%s\n", mx_status_text(s));
    return 1;
  }
  float y[N];
  bool fine = good(device, run(device, N, y));
  if (fine) printf("y[0] = %g, y[999] = %g\n", y[0], y[N - 1]);

  /* too large an n: the kernel traps, and the device says where until it is reset */
  if (fine && run(device, N + 1, y) == MX_TRAPPED) {
    char *why = mx_last_error_text(device);
    printf("as it should: %s\n", why ? why : "");
    mx_text_free(why);
    fine = good(device, mx_device_reset(device));
  }
  mx_device_destroy(device);
  return fine ? 0 : 1;
}
