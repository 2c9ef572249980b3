/* Bytes as a module: read, verify, write again, disassemble, and whatever the verifier passes must run to a clean end
 * under a step limit. The input is the container's body; header and digest are made here, so that they hide nothing.
 * An input that begins with 'G' is the seed of a valid program instead: random code rarely survives the verifier. */
#include "fuzz.h"

#include "../unit/images.h"

#include "asm/container.h"
#include "asm/disassemble.h"
#include "mx/mx.h"
#include "vm/load/module.h"
#include "vm/load/verify.h"

#include <xxhash.h>

#define STEPS 3000

static void require(int held, const char *what) {
  if (held) return;
  fprintf(stderr, "fuzz_bytecode: %s\n", what);
  abort();
}

static void put_le(uint8_t *at, uint64_t v, unsigned n) {
  for (unsigned k = 0; k < n; k++) at[k] = (uint8_t)(v >> (8 * k));
}

static uint8_t *with_header(const uint8_t *body, size_t size) {
  uint8_t *file = calloc(1, MX_CONTAINER_HEADER + size);
  if (!file) return NULL;
  memcpy(file, MX_CONTAINER_MAGIC, 4);
  put_le(file + 4, MX_CONTAINER_VERSION, 2);
  put_le(file + 6, MX_CONTAINER_HEADER, 2);
  put_le(file + 8, mx__table_digest(), 8);
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(body, size));
  memcpy(file + 16, digest.digest, sizeof digest.digest);
  if (size) memcpy(file + MX_CONTAINER_HEADER, body, size);
  return file;
}

/* Writing what was read, and reading that, ends in the same bytes. */
static void check_writer(const struct mx_image *image) {
  size_t size, again_size;
  uint8_t *bytes = mx__image_write(image, &size);
  struct mx__image *back = NULL;
  char *why = NULL;
  enum mx__load loaded = mx__image_read(bytes, size, &back, &why);
  require(loaded == MX__LOAD_OK, why ? why : "what was written cannot be read");
  uint8_t *again = mx__image_write(&back->image, &again_size);
  require(size == again_size && !memcmp(bytes, again, size), "the second writing differs");
  free(bytes);
  free(again);
  mx__image_free(back);
}

static void ignore_output(void *user, const char *text, size_t size) { (void)user, (void)text, (void)size; }

static mx_device *device(void) {
  static mx_device *d;
  if (!d) {
    mx_device_options o = MX_DEVICE_OPTIONS_INIT;
    o.memory_bytes = 1 << 24;
    o.threads = 1;
    o.jit = MX_JIT_OFF;
    o.cache_dir = "";
    require(mx_device_create(&o, &d) == MX_OK, "no device");
    mx_device_set_output(d, ignore_output, NULL);
    mx_limit_set(d, MX_LIMIT_CALL_DEPTH, 20);
    mx_limit_set(d, MX_LIMIT_HEAP, 1 << 16);
  }
  return d;
}

static void run_kernel(mx_kernel *k) {
  mx_kernel_info info = {.struct_size = sizeof info};
  if (mx_kernel_get_info(k, &info) != MX_OK) return;
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = 2;
  c.block[0] = 70;
  for (int x = 0; x < 3 && info.reqntid[0]; x++) c.block[x] = info.reqntid[x] ? info.reqntid[x] : 1;
  c.steps = STEPS;
  c.shared_bytes = 64;
  void *params = calloc(1, info.param_bytes + 1);
  mx_status s = params ? mx_launch(k, &c, params, info.param_bytes) : MX_OK;
  free(params);
  if (s != MX_OK) mx_device_reset(device()); /* ends the module too */
}

static void run_module(const uint8_t *file, size_t size) {
  size_t n = 1;
  for (size_t k = 0; k < n && k < 3; k++) {
    mx_module *m;
    if (mx_module_load_data(device(), file, size, &m) != MX_OK) break;
    n = mx_module_kernel_count(m);
    if (k < n) run_kernel(mx_module_kernel_at(m, k));
    mx_device_reset(device());
  }
}

static uint8_t *body_of(uint64_t seed, unsigned rows, size_t *size) {
  struct made m = made_image_of(seed, seed & 1 ? 64 : 32, 0, rows);
  uint8_t *file = mx__image_write(&m.image, size);
  made_free(&m);
  require(file != NULL, "no memory");
  *size -= MX_CONTAINER_HEADER;
  memmove(file, file + MX_CONTAINER_HEADER, *size);
  return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *made = NULL;
  uint64_t seed = 0;
  if (size > 1 && data[0] == 'G') {
    memcpy(&seed, data + 1, size < 9 ? size - 1 : 8);
    made = body_of(seed, 1 + data[size - 1] % 64, &size);
  }
  uint8_t *file = with_header(made ? made : data, size);
  bool valid = made;
  free(made);
  if (!file) return 0;
  size += MX_CONTAINER_HEADER;
  struct mx__image *image;
  char *why;
  if (mx__image_read(file, size, &image, &why) == MX__LOAD_OK) {
    enum mx__load verified = mx__verify(&image->image, &why);
    require((verified == MX__LOAD_REFUSED) == (why != NULL), "refused without a reason, or a reason without refusal");
    if (valid && why) fprintf(stderr, "%s\n", why);
    require(!valid || verified == MX__LOAD_OK, "a valid program is refused");
    check_writer(&image->image);
    char *text = mx__disassemble(&image->image);
    require(text != NULL, "no disassembly");
    free(text);
    mx__image_free(image);
    if (verified == MX__LOAD_OK) run_module(file, size);
  }
  free(why);
  free(file);
  return 0;
}

uint8_t *fuzz_seed(unsigned n, size_t *size) {
  if (n < 24) return body_of(n + 1, 1 + n * 4, size);
  if (n >= 48) return NULL;
  uint8_t *seed = calloc(1, *size = 9);
  if (seed) seed[0] = 'G', seed[1] = (uint8_t)n, seed[8] = (uint8_t)(n * 7);
  return seed;
}
