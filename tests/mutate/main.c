/* Modules with changed fields: an image that assembles (or that tests/unit/images.h makes) is changed in a few
 * fields, written and signed again, and looked at as anyone's module would be: verified, disassembled, loaded, run in
 * the interpreter and, some of them, in compiled code. Nothing may crash, hang or trap as INTERNAL, what the verifier
 * refuses must not load, and engines must agree.
 *   mutate [--seed FIRST] [--count N] [--jit EVERY] [--jitc FILE] [--keep DIR] [--show] FILE...
 * FILE: assembly or a module. --jit: one of EVERY that run is compiled too (0: none). --keep: a folder for the
 * modules that show something. --show: the one of the seed, here, with what it did. Children run 200 seeds each, so
 * that one crash costs one seed. */
#include "mutate.h"

#include "asm/container.h"
#include "asm/disassemble.h"
#include "mx/asm.h"
#include "mx/mx.h"
#include "tests/unit/images.h"
#include "vm/load/module.h"
#include "vm/load/verify.h"

#include <getopt.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#define BATCH 200
#define SECONDS 60 /* of a processor, for one; by the clock twenty times as many: see tests/limit */
#define BUFFERS 3
#define BYTES 4096
#define STEPS 4000

static struct counts {
  atomic_ullong seed, verified, refused, loaded, ended, trapped, other, compiled, wrong;
} * counts;
static struct input {
  uint8_t *bytes;
  size_t size;
} * inputs;
static size_t ninputs;
static uint64_t jit_every = 40;
static const char *compiler, *keep_in;
static bool show;
static mx_device *device;

static void keep(const char *what, uint64_t seed, const uint8_t *bytes, size_t size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s-%llu.mxb", keep_in ? keep_in : ".", what, (unsigned long long)seed);
  FILE *f = keep_in ? fopen(path, "wb") : NULL;
  if (!f) return;
  fwrite(bytes, 1, size, f);
  fclose(f);
}
static void wrong(const char *what, uint64_t seed, const uint8_t *bytes, size_t size, const char *how) {
  counts->wrong++;
  printf("seed %llu: %s%s%s\n", (unsigned long long)seed, what, how ? ": " : "", how ? how : "");
  fflush(stdout);
  keep(what, seed, bytes, size);
}

/* ---- running ----------------------------------------------------------------------------------------------------*/
struct outcome {
  mx_status status;
  mx_trap_kind trap;
  uint32_t pc, function;
  uint64_t lanes, digest, steps;
  char text[240];
};

static void fill(mx_addr *a) {
  static uint8_t init[BYTES];
  for (int k = 0; k < BUFFERS; k++) {
    const bool numbers = below(2);
    for (uint32_t i = 0; i < BYTES; i += 4) {
      const uint32_t v = numbers ? i / 4 : (uint32_t)(rnd() >> (below(3) * 16));
      memcpy(init + i, &v, 4);
    }
    mx_alloc(device, BYTES, &a[k]);
    mx_copy_to_device(device, a[k], init, BYTES);
  }
}
static void arguments(mx_kernel *k, const mx_kernel_info *info, const mx_addr *a, uint8_t *params) {
  for (uint32_t p = 0; p < info->params; p++) {
    mx_param_info q = {.struct_size = sizeof q};
    if (mx_kernel_get_param(k, p, &q) != MX_OK) continue;
    uint64_t v = q.size == 8 ? a[p % BUFFERS] + (below(8) ? 0 : BYTES - 4 * below(66))
                 : below(5)  ? below(200)
                             : interesting();
    for (uint32_t at = 0; at < q.size; at += 8, v = interesting())
      memcpy(params + q.offset + at, &v, q.size - at < 8 ? q.size - at : 8);
  }
}
/* The kernel, its launch and its arguments follow from `how`. False: it does not load. */
static bool run(const uint8_t *bytes, size_t size, uint64_t how, mx_jit_mode jit, uint64_t stress,
                struct outcome *out) {
  *out = (struct outcome){0};
  mx_module *m;
  mx_device_reset(device);
  if (mx_module_load_data(device, bytes, size, &m) != MX_OK) return false;
  seed_set(how);
  mx_addr a[BUFFERS];
  fill(a);
  mx_kernel *k = mx_module_kernel_at(m, below(mx_module_kernel_count(m)));
  mx_kernel_info info = {.struct_size = sizeof info};
  out->status = MX_NOT_FOUND;
  if (!k || mx_kernel_get_info(k, &info) != MX_OK) return true;
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = 1 + (uint32_t)below(3);
  c.block[0] = 1 + (uint32_t)below(info.max_threads_per_block < 130 ? info.max_threads_per_block : 130);
  for (int x = 0; x < 3 && info.reqntid[0]; x++) c.block[x] = info.reqntid[x] ? info.reqntid[x] : 1;
  c.shared_bytes = (uint32_t)below(3) * 64;
  c.cooperative = !below(6);
  c.steps = STEPS, c.jit = jit, c.jit_stress = stress;
  uint8_t *params = calloc(1, info.param_bytes + 8u);
  arguments(k, &info, a, params);
  out->status = mx_launch(k, &c, params, info.param_bytes);
  free(params);
  mx_launch_stats stats = {.struct_size = sizeof stats};
  mx_device_stats(device, &stats);
  out->steps = stats.steps;
  if (out->status == MX_TRAPPED) {
    mx_trap_info t = {.struct_size = sizeof t};
    mx_device_trap(device, &t);
    out->trap = t.kind, out->pc = t.pc, out->lanes = t.lanes;
    out->digest = t.address ^ (uint64_t)t.warp << 50 ^ (uint64_t)t.block[0] << 40;
  } else if (out->status == MX_OK) {
    static uint8_t all[BYTES];
    for (int b = 0; b < BUFFERS; b++)
      if (mx_copy_from_device(device, all, a[b], BYTES) == MX_OK)
        out->digest = XXH3_64bits_withSeed(all, BYTES, out->digest);
  }
  char *text = out->status == MX_OK ? NULL : mx_last_error_text(device);
  if (text) snprintf(out->text, sizeof out->text, "%s", text);
  free(text);
  return true;
}
static bool agree(const struct outcome *a, const struct outcome *b) {
  if (a->status == MX_STEP_LIMIT || b->status == MX_STEP_LIMIT) return true; /* a limit is looked at now and then */
  return a->status == b->status && a->trap == b->trap && a->pc == b->pc && a->lanes == b->lanes &&
         a->digest == b->digest && (a->status != MX_OK || a->steps == b->steps);
}
static void say(const char *engine, const struct outcome *o) {
  if (show)
    printf("%s: %s, %llu steps, digest %016llx\n%s\n", engine, mx_status_name(o->status), (unsigned long long)o->steps,
           (unsigned long long)o->digest, o->text);
}
static void both_engines(uint64_t seed, uint64_t how, const uint8_t *bytes, size_t size) {
  struct outcome one, two;
  if (!run(bytes, size, how, MX_JIT_OFF, 0, &one)) return;
  counts->loaded++;
  (one.status == MX_OK ? &counts->ended : one.status == MX_TRAPPED ? &counts->trapped : &counts->other)[0]++;
  say("interpreter", &one);
  if (one.status == MX_TRAPPED && one.trap == MX_TRAP_INTERNAL) wrong("internal", seed, bytes, size, one.text);
  if (!jit_every || (!show && how % jit_every) || (one.status != MX_OK && (one.status != MX_TRAPPED || one.steps < 20)))
    return;
  counts->compiled++;
  for (uint64_t stress = 0; stress < 2; stress++) {
    run(bytes, size, how, MX_JIT_ON, stress ? seed + 1 : 0, &two);
    say(stress ? "changing engines" : "compiled", &two);
    if (agree(&one, &two)) continue;
    char both[640];
    snprintf(both, sizeof both, "%s %llx pc %u | %s %llx pc %u: %s", mx_status_name(one.status),
             (unsigned long long)one.digest, one.pc, mx_status_name(two.status), (unsigned long long)two.digest, two.pc,
             two.text);
    wrong("differs", seed, bytes, size, both);
  }
}

/* ---- one seed ---------------------------------------------------------------------------------------------------*/
static uint8_t *some_module(size_t *size) {
  if (ninputs && below(10) > 2) {
    const struct input *i = &inputs[below(ninputs)];
    uint8_t *copy = malloc(*size = i->size);
    return memcpy(copy, i->bytes, i->size);
  }
  struct made m = made_image_of(rnd(), below(2) ? 64 : 32, 0, 1 + (unsigned)below(30));
  uint8_t *bytes = mx__image_write(&m.image, size);
  made_free(&m);
  return bytes;
}
static void one(uint64_t seed) {
  seed_set(seed * 0x9E3779B97F4A7C15u + 12345);
  struct mx__image *image;
  char *why = NULL;
  size_t size;
  uint8_t *bytes = some_module(&size);
  const enum mx__load read = mx__image_read(bytes, size, &image, &why);
  free(bytes);
  free(why);
  if (read != MX__LOAD_OK) return;
  const bool gentle = below(3) != 0;
  for (uint64_t k = 0, n = 1 + below(gentle ? 12 : 4); k < n; k++) {
    const unsigned number = (unsigned)below(gentle ? ngentle : nmutations);
    mutation_apply(number, &image->image);
    if (show) printf("%s\n", mutation_name(number));
  }
  const enum mx__load verified = mx__verify(&image->image, &why);
  if (show && why) printf("refused: %s\n", why);
  free(why);
  const uint64_t how = rnd();
  bytes = mx__image_write(&image->image, &size);
  uint8_t *exact = malloc(size); /* so that a sanitizer sees its end */
  memcpy(exact, bytes, size);
  free(bytes);
  if (show) keep("seed", seed, exact, size);
  if (verified == MX__LOAD_OK) {
    counts->verified++;
    char *text = mx__disassemble(&image->image);
    free(text);
    both_engines(seed, how, exact, size);
  } else {
    counts->refused++;
    struct outcome o;
    if (run(exact, size, how, MX_JIT_OFF, 0,
            &o)) { /* the reader may have brought it back into order: then it must verify */
      struct mx__image *again;
      if (mx__image_read(exact, size, &again, NULL) == MX__LOAD_OK) {
        if (mx__verify(&again->image, NULL) != MX__LOAD_OK)
          wrong("refused", seed, exact, size, "and loaded all the same");
        mx__image_free(again);
      }
    }
  }
  free(exact);
  mx__image_free(image);
}

/* ---- the program ------------------------------------------------------------------------------------------------*/
static void add_input(const char *path) {
  FILE *f = fopen(path, "rb");
  uint8_t *bytes = malloc(1 << 20);
  size_t size = f ? fread(bytes, 1, 1 << 20, f) : 0;
  if (f) fclose(f);
  if (size < 4 || memcmp(bytes, "MXB\n", 4)) {
    mx_asm_options o = {.struct_size = sizeof o, .file_name = path, .allow_include = true};
    mx_asm_result *r = mx_assemble(size ? (const char *)bytes : "", size, &o);
    size_t n;
    const uint8_t *made = mx_asm_bytes(r, &n);
    size = made && n <= 1 << 20 ? n : 0;
    if (size) memcpy(bytes, made, size);
    mx_asm_free(r);
  }
  if (!size) return free(bytes);
  inputs = realloc(inputs, (ninputs + 1) * sizeof *inputs);
  inputs[ninputs++] = (struct input){bytes, size};
}
static void drop(void *user, const char *text, size_t size) { (void)user, (void)text, (void)size; }
/* A module that hangs ends this process by a signal. On a busy machine a sound one may take long by the clock. */
static void begin_limit(void) {
  setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = SECONDS}, NULL);
  alarm(20 * SECONDS);
}
static void device_begin(void) {
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  o.memory_bytes = 1 << 26, o.threads = 1, o.cache_dir = "", o.jit_compiler = compiler;
  if (mx_device_create(&o, &device) != MX_OK) exit(4);
  mx_device_set_output(device, drop, NULL);
  mx_limit_set(device, MX_LIMIT_CALL_DEPTH, 30);
  mx_limit_set(device, MX_LIMIT_HEAP, 1 << 16);
}
int main(int argc, char **argv) {
  static const struct option longs[] = {{"seed", required_argument, 0, 's'},
                                        {"count", required_argument, 0, 'n'},
                                        {"jit", required_argument, 0, 'j'},
                                        {"jitc", required_argument, 0, 'c'},
                                        {"keep", required_argument, 0, 'k'},
                                        {"show", no_argument, 0, 'S'},
                                        {0}};
  uint64_t first = 1, count = 1000;
  for (int o; (o = getopt_long(argc, argv, "", longs, NULL)) != -1;) switch (o) {
    case 's': first = strtoull(optarg, NULL, 0); break;
    case 'n': count = strtoull(optarg, NULL, 0); break;
    case 'j': jit_every = strtoull(optarg, NULL, 0); break;
    case 'c': compiler = optarg; break;
    case 'k': keep_in = optarg; break;
    case 'S': show = true; break;
    default: return 2;
    }
  for (int k = optind; k < argc; k++) add_input(argv[k]);
  counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (counts == MAP_FAILED) return 4;
  if (show) {
    device_begin();
    one(first);
    mx_device_destroy(device);
    return counts->wrong != 0;
  }
  for (uint64_t s = first; s < first + count;) {
    const uint64_t end = s + BATCH < first + count ? s + BATCH : first + count;
    fflush(stdout);
    const pid_t child = fork();
    if (!child) {
      device_begin();
      for (uint64_t k = s; k < end; k++) {
        counts->seed = k;
        begin_limit();
        one(k);
      }
      setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
      alarm(0);
      mx_device_destroy(device);
      fflush(stdout);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    s = end;
    if (WIFEXITED(status) && !WEXITSTATUS(status)) continue;
    counts->wrong++;
    printf("seed %llu: %s %d\n", (unsigned long long)counts->seed, WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    s = counts->seed + 1;
  }
  printf("%llu seeds from %zu files: %llu verified, %llu refused; %llu ended, %llu trapped, %llu otherwise; %llu "
         "compiled; %llu wrong\n",
         (unsigned long long)count, ninputs, counts->verified, counts->refused, counts->ended, counts->trapped,
         counts->other, counts->compiled, counts->wrong);
  return counts->wrong != 0;
}
