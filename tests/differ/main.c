/* Both engines on random programs over the whole table: the registers of all threads, their memory, and traps with
 * their place must be the same, instruction counts too. differ --count 1000 [--seed N] [--batch N] [--instructions N]
 * [--stress N] [--jitc PATH] [--keep DIR]
 *   differ --costs LEVEL --jitc PATH [--row ID]      what compiling an instruction costs, for each row of the table;
 *   see costs.c
 * A module that shows a difference is kept in DIR as NAME.mxb, with its text in NAME.mxs. */
#include "programs.h"

#include "asm/disassemble.h"
#include "mx/mx.h"
#include "vm/load/module.h"

#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 2, BLOCK = 112, THREADS = BLOCKS * BLOCK }; /* the last warp of a block is not full */
/* Blocks of BLOCK threads or fewer: of one dimension; with rows that are parts of a warp; with any rows. */
static const uint32_t shapes[][2] = {{BLOCK, 1}, {16, 7}, {32, 3}, {48, 2}, {8, 14}, {16, 3}};
struct options {
  uint64_t seed, count, batch, instructions, stress;
  const char *jitc, *keep, *costs, *row;
  bool statements;
};
struct outcome {
  mx_status status;
  uint64_t steps, compiled;
  char *error;
  uint8_t memory[THREADS * DIFFER_SPAN];
};
struct machine {
  mx_device *device;
  mx_module *module;
  mx_kernel *kernel;
  mx_addr memory;
};

static void fill(uint8_t *memory, uint64_t seed) {
  static const uint64_t corners[] = {0,
                                     1,
                                     0xFFFFFFFF,
                                     0x80000000,
                                     0x7FFFFFFF,
                                     0x3F800000,
                                     0x7F800000,
                                     0xFFC00001,
                                     0x00000001,
                                     0x7FF0000000000000,
                                     0xFFF8000000000001,
                                     0x8000000000000000,
                                     0xFFFFFFFFFFFFFFFF,
                                     0x3FF0000000000000,
                                     0x0000000000000001,
                                     0x7C007E00};
  for (size_t i = 0; i < THREADS * DIFFER_SPAN; i += 8) {
    uint64_t v = differ_random(&seed);
    if (!(v & 7)) v = corners[v >> 8 & 15];
    else if ((v & 7) == 1) v &= 0xFF000000FFu;
    else if ((v & 7) == 2) v = (v & 0x807FFFFF807FFFFFu) | 0x3F8000003F800000u; /* floats near one */
    memcpy(memory + i, &v, 8);
  }
}

static bool load(struct machine *m, const uint8_t *bytes, size_t size) {
  const bool good = mx_module_load_data(m->device, bytes, size, &m->module) == MX_OK &&
                    mx_module_kernel(m->module, "differ", &m->kernel) == MX_OK &&
                    mx_alloc(m->device, THREADS * DIFFER_SPAN, &m->memory) == MX_OK;
  if (!good) {
    char *why = mx_last_error_text(m->device);
    fprintf(stderr, "differ: %s\n", why ? why : "not loaded");
    free(why);
  }
  return good;
}

static void ignore(void *user, const char *text, size_t size) { (void)user, (void)text, (void)size; }

static void run(struct machine *m, uint64_t seed, uint32_t which, mx_jit_mode jit, uint64_t stress,
                const uint8_t *begin, struct outcome *o) {
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = BLOCKS;
  memcpy(c.block, shapes[seed / 2 % (sizeof shapes / sizeof *shapes)], sizeof *shapes);
  c.jit = jit;
  c.jit_stress = stress;
  c.threads = 1;
  c.steps = 10000000;
  free(o->error);
  o->error = NULL;
  mx_copy_to_device(m->device, m->memory, begin, THREADS * DIFFER_SPAN);
  const void *args[] = {&m->memory, &which};
  o->status = mx_launch_args(m->kernel, &c, args, 2);
  mx_launch_stats s = {.struct_size = sizeof s};
  mx_device_stats(m->device, &s);
  o->steps = s.steps;
  o->compiled = s.steps_compiled;
  memset(o->memory, 0, sizeof o->memory);
  if (o->status == MX_OK) mx_copy_from_device(m->device, o->memory, m->memory, THREADS * DIFFER_SPAN);
  else o->error = mx_last_error_text(m->device);
}

static void say(const struct outcome *a, const struct outcome *b) {
  if (a->status != b->status || (a->error && b->error && strcmp(a->error, b->error)))
    printf("  interpreter: %s\n  compiled:    %s\n", a->error ? a->error : "ended", b->error ? b->error : "ended");
  else if (a->steps != b->steps)
    printf("  %llu instructions, compiled %llu\n", (unsigned long long)a->steps, (unsigned long long)b->steps);
  for (size_t i = 0, said = 0; i < sizeof a->memory && said < 6; i += 4)
    if (memcmp(a->memory + i, b->memory + i, 4)) {
      uint32_t x, y;
      memcpy(&x, a->memory + i, 4);
      memcpy(&y, b->memory + i, 4);
      const size_t at = i % DIFFER_SPAN;
      printf("  thread %zu, %s %zu: interpreter %08x, compiled %08x\n", i / DIFFER_SPAN,
             at < DIFFER_OUT ? "memory byte" : "result byte", at < DIFFER_OUT ? at : at - DIFFER_OUT, x, y);
      said++;
    }
}
static bool same(const struct outcome *a, const struct outcome *b) {
  if (a->status != b->status || a->steps != b->steps || memcmp(a->memory, b->memory, sizeof a->memory)) return false;
  return !a->error == !b->error && (!a->error || !strcmp(a->error, b->error));
}

static void keep(const struct options *o, uint64_t seed, const uint8_t *bytes, size_t size) {
  char path[600];
  struct mx__image *image;
  char *why = NULL;
  if (!o->keep) return;
  snprintf(path, sizeof path, "%s/differ%llu.mxb", o->keep, (unsigned long long)seed);
  FILE *f = fopen(path, "wb");
  if (f) fwrite(bytes, 1, size, f), fclose(f);
  if (mx__image_read(bytes, size, &image, &why) != MX__LOAD_OK) return;
  snprintf(path, sizeof path, "%s/differ%llu.mxs", o->keep, (unsigned long long)seed);
  char *text = mx__disassemble(&image->image);
  if (text && (f = fopen(path, "w"))) fputs(text, f), fclose(f);
  free(text);
  mx__image_free(image);
}

/* One module. Traps stay with a device: it is reset, and the module loaded again, its code from the cache. */
static bool batch(struct machine *m, const struct options *o, uint64_t seed, uint64_t n, uint64_t *passed,
                  uint64_t *failed, uint64_t *trapped, uint64_t *steps) {
  static struct outcome a, b;
  static uint8_t begin[THREADS * DIFFER_SPAN];
  size_t size;
  uint8_t *bytes = differ_module(seed, seed & 1 ? 32 : 64, (unsigned)n, (unsigned)o->instructions, &size);
  bool good = bytes && load(m, bytes, size);
  for (uint32_t p = 0; good && p < n; p++) {
    fill(begin, seed * 1000003u + p);
    for (int e = 0; e < 2 && good; e++) {
      run(m, seed, p, e ? MX_JIT_ON : MX_JIT_OFF, e && o->stress ? o->stress + p : 0, begin, e ? &b : &a);
      if ((e ? &b : &a)->status == MX_TRAPPED) good = mx_device_reset(m->device) == MX_OK && load(m, bytes, size);
    }
    steps[0] += b.steps;
    steps[1] += b.compiled;
    *trapped += a.status == MX_TRAPPED;
    if (good && same(&a, &b)) {
      ++*passed;
      continue;
    }
    ++*failed;
    printf("module %llu, program %u:\n", (unsigned long long)seed, p);
    say(&a, &b);
    fflush(stdout);
    keep(o, seed, bytes, size);
    if (b.status == MX_JIT_FAILURE) *failed += n - p - 1, good = false;
  }
  mx_device_reset(m->device);
  free(bytes);
  free(a.error);
  free(b.error);
  a.error = b.error = NULL;
  return good;
}

static int discard(const char *path, const struct stat *s, int kind, struct FTW *f) {
  (void)s, (void)kind, (void)f;
  remove(path);
  return 0;
}

int main(int argc, char **argv) {
  struct options o = {.seed = 1, .count = 100, .batch = 40, .instructions = 24};
  static const struct option longs[] = {{"seed", 1, 0, 's'},
                                        {"count", 1, 0, 'n'},
                                        {"batch", 1, 0, 'b'},
                                        {"instructions", 1, 0, 'i'},
                                        {"stress", 1, 0, 'x'},
                                        {"jitc", 1, 0, 'c'},
                                        {"keep", 1, 0, 'k'},
                                        {"costs", 1, 0, 'C'},
                                        {"row", 1, 0, 'r'},
                                        {"statements", 0, 0, 'S'},
                                        {0}};
  for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) switch (c) {
    case 's': o.seed = strtoull(optarg, NULL, 0); break;
    case 'n': o.count = strtoull(optarg, NULL, 0); break;
    case 'b': o.batch = strtoull(optarg, NULL, 0); break;
    case 'i': o.instructions = strtoull(optarg, NULL, 0); break;
    case 'x': o.stress = strtoull(optarg, NULL, 0); break;
    case 'c': o.jitc = optarg; break;
    case 'k': o.keep = optarg; break;
    case 'C': o.costs = optarg; break;
    case 'r': o.row = optarg; break;
    case 'S': o.statements = true; break;
    default: return 2;
    }
  if (optind != argc || !o.batch || o.batch > 500 || o.instructions > 100) {
    fprintf(stderr, "differ: too many words, or numbers\n");
    return 2;
  }
  if (o.statements) return o.jitc ? differ_statements(o.jitc) : 2;
  if (o.costs) return o.jitc ? differ_costs(o.jitc, o.costs, o.row) : 2;
  char cache[] = "/tmp/mx-differ-XXXXXX";
  if (!mkdtemp(cache)) return 4;
  struct machine m = {0};
  mx_device_options d = MX_DEVICE_OPTIONS_INIT;
  d.jit_compiler = o.jitc;
  d.cache_dir = cache;
  uint64_t passed = 0, failed = 0, trapped = 0, steps[2] = {0};
  bool good = mx_device_create(&d, &m.device) == MX_OK;
  if (good) mx_device_set_output(m.device, ignore, NULL);
  for (uint64_t done = 0, seed = o.seed; good && done < o.count; done += o.batch, seed++)
    if (!batch(&m, &o, seed, o.count - done < o.batch ? o.count - done : o.batch, &passed, &failed, &trapped, steps) &&
        !failed)
      good = false;
  printf("%.1f %% of the instructions ran compiled\n", steps[0] ? 100.0 * (double)steps[1] / (double)steps[0] : 0.0);
  /* Of a program that traps, memory and registers are not compared: most must not. */
  printf("%llu of the programs trapped\n", (unsigned long long)trapped);
  if (o.count >= 10 && trapped * 5 > o.count) {
    printf("these are too many: what do the programs do that traps?\n");
    failed++;
  }
  printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed + !good);
  if (m.device) mx_device_destroy(m.device);
  nftw(cache, discard, 8, FTW_DEPTH | FTW_PHYS);
  return good && !failed ? 0 : 1;
}
