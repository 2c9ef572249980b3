/* A kernel in CUDA C++ on libmx: nvcc compiles it to PTX, mx runs that on the CPU. Needs nvcc, but no GPU; where there
 * is no nvcc, it says so and ends.
 *
 *   cc examples/cuda/run.c $(pkg-config --cflags --libs mx) -o run && ./run examples/cuda/saxpy.cu */
#include <mx/text.h>

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { N = 1000 };

/* 0: compiled, 127: there is no nvcc, otherwise nvcc's own status */
static int compile(const char *source, const char *ptx) {
  char *words[] = {"nvcc", "-ptx", "-arch=compute_80", "-o", (char *)ptx, (char *)source, NULL};
  pid_t child;
  int status;
  if (posix_spawnp(&child, "nvcc", NULL, NULL, words, environ)) return 127;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 1;
  return WEXITSTATUS(status);
}

static char *read_file(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  char *text = malloc(1 << 20);
  *size = text ? fread(text, 1, 1 << 20, f) : 0;
  fclose(f);
  return text;
}

static void print(void *user, const char *text, size_t size) { fwrite(text, 1, size, user); }

static mx_status run(mx_device *device, const char *ptx, size_t size, float *y) {
  mx_module *module;
  mx_kernel *saxpy = NULL;
  mx_addr dx = 0, dy = 0;
  char *messages;
  float x[N], a = 2.5f;
  int n = N;
  for (int i = 0; i < N; i++) x[i] = (float)i, y[i] = 1;

  mx_status s = mx_module_load_text(device, ptx, size, NULL, &module, &messages);
  if (messages) fputs(messages, stderr);
  mx_text_free(messages);
  if (s == MX_OK) s = mx_device_set_output(device, print, stdout);
  if (s == MX_OK) s = mx_module_kernel(module, "saxpy", &saxpy);
  if (s == MX_OK) s = mx_alloc(device, sizeof x, &dx);
  if (s == MX_OK) s = mx_alloc(device, sizeof x, &dy);
  if (s == MX_OK) s = mx_copy_to_device(device, dx, x, sizeof x);
  if (s == MX_OK) s = mx_copy_to_device(device, dy, y, sizeof x);

  mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
  config.grid[0] = (N + 255) / 256;
  config.block[0] = 256;
  const void *args[] = {&n, &a, &dx, &dy};
  if (s == MX_OK) s = mx_launch_args(saxpy, &config, args, 4);
  if (s == MX_OK) s = mx_copy_from_device(device, y, dy, sizeof x);
  return s;
}

int main(int argc, char **argv) {
  const char *source = argc > 1 ? argv[1] : "examples/cuda/saxpy.cu";
  char path[] = "/tmp/mx-cuda-XXXXXX";
  int fd = mkstemp(path);
  if (fd < 0) return perror(path), 1;
  close(fd);
  int status = compile(source, path);
  size_t size = 0;
  char *ptx = status ? NULL : read_file(path, &size);
  unlink(path);
  if (status == 127) return puts("nvcc is not installed: nothing to show"), 0;
  if (!ptx) return fprintf(stderr, "nvcc failed on %s\n", source), 1;

  mx_device *device;
  float y[N];
  mx_status s = mx_device_create(NULL, &device);
  if (s != MX_OK) return fprintf(stderr, "%s\n", mx_status_text(s)), 1;
  s = run(device, ptx, size, y);
  if (s == MX_OK) {
    printf("y[0] = %g, y[999] = %g\n", y[0], y[N - 1]);
  } else {
    char *why = mx_last_error_text(device);
    fprintf(stderr, "%s\n", why ? why : mx_status_text(s));
    mx_text_free(why);
  }
  mx_device_destroy(device);
  free(ptx);
  return s == MX_OK ? 0 : 1;
}
