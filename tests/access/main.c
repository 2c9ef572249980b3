/* Accesses to memory whose offsets lie at all corners, in every space and in every form that compiled code tells
 * apart, run by both engines: memory, instruction counts and traps with their place must be the same. access [--seed
 * N] [--part K/N] [--jitc PATH]
 * A case is a form, a space and an offset; the instruction, the way in which lanes lie and what follows are picked at
 * random. Its base is given when it is launched, so that base and offset together come to the memory's beginning, its
 * end, past either, between two elements, and to wherever the offset alone leads. --part takes every N-th case. */
#include "tests/text.h"

#include "mx/asm.h"
#include "mx/mx.h"

#include <ftw.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  EXTENT = 1024 /* bytes of every memory that is accessed */,
  CASES = 24 /* of a module */,
  THREADS = 96,
  TARGETS = 8
};

static uint64_t draw(uint64_t *seed) { /* splitmix64 */
  uint64_t z = *seed += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/* ---- cases -------------------------------------------------------------------------------------------------*/
enum form { DIRECT, ONE, INDEXED, STEADY, FORWARDS, BACKWARDS, RUN, SIDE, NAMED, APART, FORMS };
enum space { GLOBAL, SHARED, SHARED32, LOCAL, LOCAL32, CONST, PARAM, GENERIC, GENERIC_SHARED, GENERIC_LOCAL, SPACES };
static const struct {
  const char *suffix, *base;
  bool narrow, written, atomics;
} spaces[SPACES] = {[GLOBAL] = {".global", "%buf", false, true, true},
                    [SHARED] = {".shared", "0", false, true, true},
                    [SHARED32] = {".shared", "0", true, true, true},
                    [LOCAL] = {".local", "mine", false, true, false},
                    [LOCAL32] = {".local", "mine", true, true, false},
                    [CONST] = {".const", "fixed", false, false, false},
                    [PARAM] = {".param", "0", false, false, false},
                    [GENERIC] = {"", "%buf", false, true, true},
                    [GENERIC_SHARED] = {"", "0x10000000000", false, true, true},
                    [GENERIC_LOCAL] = {"", "mine_generic", false, true, false}};
/* What an access does to the address $: values are %w0 to %w3 (64 bits) and %v0 to %v3 (32 bits). */
enum kind { LOAD, STORE, ATOMIC };
static const struct {
  enum kind kind;
  unsigned bytes;
  const char *text;
} accesses[] = {{LOAD, 1, "ld@.u8 %v0, [$];"},
                {LOAD, 2, "ld@.s16 %v0, [$];"},
                {LOAD, 4, "ld@.u32 %v0, [$];"},
                {LOAD, 8, "ld@.u64 %w0, [$];"},
                {LOAD, 4, "ld@.s32 %w0, [$];"},
                {LOAD, 8, "ld@.v2.u32 {%v0, %v1}, [$];"},
                {LOAD, 16, "ld@.v4.u32 {%v0, %v1, %v2, %v3}, [$];"},
                {LOAD, 16, "ld@.v2.u64 {%w0, %w1}, [$];"},
                {LOAD, 2, "ld@.v2.u8 {%v0, %v1}, [$];"},
                {LOAD, 4, "ld@.b32 %v0, [$];"},
                {STORE, 1, "st@.u8 [$], %v0;"},
                {STORE, 2, "st@.u16 [$], %v0;"},
                {STORE, 4, "st@.u32 [$], %v0;"},
                {STORE, 8, "st@.u64 [$], %w0;"},
                {STORE, 8, "st@.v2.u32 [$], {%v0, %v1};"},
                {STORE, 16, "st@.v4.u32 [$], {%v0, %v1, %v2, %v3};"},
                {STORE, 16, "st@.v2.u64 [$], {%w0, %w1};"},
                {STORE, 4, "st@.u32 [$], %w0;"},
                {STORE, 4, "st@.v4.u8 [$], {%v0, %v1, %v2, %v3};"},
                {ATOMIC, 4, "atom@.add.u32 %v0, [$], %v1;"},
                {ATOMIC, 4, "red@.add.u32 [$], %v1;"},
                {ATOMIC, 8, "atom@.max.u64 %w0, [$], %w1;"},
                {ATOMIC, 4, "atom@.cas.b32 %v0, [$], %v1, %v2;"},
                {ATOMIC, 4, "atom@.exch.b32 %v0, [$], %v1;"}};
enum { ACCESSES = sizeof accesses / sizeof *accesses };
static const char *const lanes_lie[] = {"row", "one", "half", "apart", "wide"};
enum { LIES = sizeof lanes_lie / sizeof *lanes_lie };

static unsigned corners(unsigned size, int64_t *off) {
  const int64_t s = size, at[] = {INT64_C(1) << 15, INT64_C(1) << 31, INT64_C(1) << 32};
  unsigned n = 0;
  off[n++] = 0, off[n++] = 1, off[n++] = s, off[n++] = -s, off[n++] = INT64_MAX, off[n++] = INT64_MAX - s + 1,
  off[n++] = INT64_MIN;
  for (unsigned k = 0; k < 3; k++) off[n++] = at[k], off[n++] = -at[k], off[n++] = at[k] - s, off[n++] = -at[k] - s;
  return n;
}
enum { CORNERS = 19 };

struct test {
  enum form form;
  enum space space;
  unsigned access, lie;
  int64_t off;
  bool guarded;
};
static void line(struct text *t, const struct test *c, unsigned access, const char *address) {
  put(t, "  %s", c->guarded ? "@%g " : "");
  for (const char *p = accesses[access].text; *p; p++) {
    if (*p == '@') put(t, "%s", spaces[c->space].suffix);
    else if (*p == '$') put(t, "%s", address);
    else put(t, "%c", *p);
  }
  put(t, "\n");
  if (accesses[access].kind != STORE) /* what came, into the sum */
    put(t, "  mul.lo.u64 %%s, %%s, 31; cvt.u64.u32 %%y, %%v0; add.u64 %%s, %%s, %%y; add.u64 %%s, %%s, %%w0; "
           "cvt.u64.u32 %%y, %%v1; add.u64 %%s, %%s, %%y;\n"
           "  add.u64 %%s, %%s, %%w1; cvt.u64.u32 %%y, %%v3; add.u64 %%s, %%s, %%y;\n");
}
/* %a (or, narrow, %r) becomes base + at + where the lane lies. */
static void address(struct text *t, const struct test *c, bool spread) {
  static const char *const lie[] = {"mov.u32 %o, %t;", "mov.u32 %o, 0;", "and.b32 %o, %t, 15;",
                                    "mul.lo.u32 %o, %t, 7; and.b32 %o, %o, 31;", "mul.lo.u32 %o, %t, 3;"};
  const unsigned size = accesses[c->access].bytes;
  put(t, "  %s mul.lo.u32 %%o, %%o, %u;\n", spread ? lie[c->lie] : "mov.u32 %o, 0;", size);
  if (spaces[c->space].narrow)
    put(t, "  mov.u32 %%r, %s; cvt.u32.u64 %%q, %%at; add.u32 %%r, %%r, %%q; add.u32 %%r, %%r, %%o;\n",
        spaces[c->space].base);
  else if (c->space == GENERIC_LOCAL)
    put(t, "  mov.u64 %%a, mine; cvta.local.u64 %%a, %%a; add.u64 %%a, %%a, %%at; cvt.u64.u32 %%y, %%o; add.u64 %%a, "
           "%%a, %%y;\n");
  else
    put(t, "  mov.u64 %%a, %s; add.u64 %%a, %%a, %%at; cvt.u64.u32 %%y, %%o; add.u64 %%a, %%a, %%y;\n",
        spaces[c->space].base);
}
static void body(struct text *t, const struct test *c, unsigned label) {
  const bool narrow = spaces[c->space].narrow;
  const unsigned size = accesses[c->access].bytes, plain = accesses[c->access].kind == STORE ? 12 : 2;
  const char *reg = narrow ? "%r" : "%a", *add = narrow ? "add.u32 %r, %r," : "add.u64 %a, %a,";
  char at[64];
  snprintf(at, sizeof at, "%s + %lld", reg, (long long)c->off);
  switch (c->form) {
  case DIRECT:
  case SIDE:
    address(t, c, true);
    if (c->form == SIDE) put(t, "  and.b32 %%q, %%t, 3; setp.ne.u32 %%p, %%q, 0; @!%%p bra E%u;\n", label);
    line(t, c, c->access, at);
    if (c->form == SIDE) put(t, "E%u: add.u64 %%s, %%s, 1;\n", label);
    break;
  case ONE: address(t, c, false), line(t, c, c->access, at); break;
  case INDEXED: /* base + number * size */
    if (narrow || c->space == GENERIC_LOCAL) address(t, c, true);
    else
      put(t, "  mov.u64 %%y, %s; add.u64 %%y, %%y, %%at; mul.lo.u32 %%o, %%t, %u; mad.wide.u32 %%a, %%o, %u, %%y;\n",
          spaces[c->space].base,
          c->lie == 1   ? 0
          : c->lie == 4 ? 2
                        : 1,
          size > 8 ? 8 : size);
    line(t, c, c->access, at);
    break;
  case STEADY:
  case FORWARDS:
  case BACKWARDS:
    address(t, c, true);
    put(t, "  mov.u32 %%i, 0;\nE%u:\n", label);
    line(t, c, c->access, at);
    if (c->form != STEADY) put(t, "  %s %d;\n", add, c->form == FORWARDS ? (int)size : -(int)size);
    put(t, "  add.u32 %%i, %%i, 1; setp.lt.u32 %%p, %%i, 5; @%%p bra E%u;\n", label);
    break;
  case RUN: /* beside others through the same number */
    address(t, c, true);
    put(t, "  mov.u32 %%i, 0;\nE%u:\n", label);
    line(t, c, plain, reg);
    line(t, c, c->access, at);
    snprintf(at, sizeof at, "%s + 16", reg);
    line(t, c, plain, at);
    line(t, c, c->access, reg);
    put(t, "  add.u32 %%i, %%i, 1; setp.lt.u32 %%p, %%i, 3; @%%p bra E%u;\n", label);
    break;
  case NAMED: /* a variable's name, and two offsets */
    snprintf(at, sizeof at, "%s + %lld",
             c->space == CONST                          ? "fixed"
             : c->space == LOCAL || c->space == LOCAL32 ? "mine"
                                                        : "tile",
             (long long)c->off);
    line(t, c, plain, "tile");
    line(t, c, c->access, at);
    break;
  case APART: /* lanes leave a loop at different times */
    address(t, c, true);
    put(t, "  mov.u32 %%i, 0;\nE%u:\n", label);
    line(t, c, c->access, at);
    put(t, "  %s %u;\n  add.u32 %%i, %%i, 1; and.b32 %%q, %%t, 7; setp.lt.u32 %%p, %%i, %%q; @%%p bra E%u;\n", add,
        size, label);
    break;
  default: break;
  }
}
/* Case number k of all: false, if there is none such. */
static bool pick(struct test *c, uint64_t k, uint64_t seed) {
  int64_t off[CORNERS];
  seed += k * 977;
  *c = (struct test){.form = k / CORNERS / SPACES, .space = k / CORNERS % SPACES};
  static const unsigned plain[] = {2, 3, 12, 13}; /* 32 and 64 bits, which have most forms */
  do c->access = draw(&seed) % 3 ? plain[draw(&seed) % 4] : (unsigned)(draw(&seed) % ACCESSES);
  while ((accesses[c->access].kind != LOAD && !spaces[c->space].written) ||
         (accesses[c->access].kind == ATOMIC && !spaces[c->space].atomics));
  c->lie = draw(&seed) & 1 ? 0 : (unsigned)(draw(&seed) % LIES);
  c->guarded = draw(&seed) & 1;
  corners(accesses[c->access].bytes, off);
  c->off = off[k % CORNERS];
  if (c->form == NAMED) return c->space == SHARED || c->space == CONST || c->space == LOCAL;
  return !(c->form == RUN && !spaces[c->space].written && accesses[c->access].kind != LOAD);
}
static char *module(const struct test *c, unsigned n, unsigned lanes) {
  struct text t = {0};
  put(&t, "%s.const .align 16 .u32 fixed[%d] = {", lanes == 32 ? ".target sm_90\n" : "", EXTENT / 4);
  for (unsigned k = 0; k < EXTENT / 4; k++) put(&t, "%s%u", k ? ", " : "", k * 2654435761u);
  put(&t,
      "};\n.shared .align 16 .b8 tile[%d];\n"
      ".entry access(.param .u64 out, .param .u64 buf, .param .u64 at, .param .u32 which, .param .align 16 .b8 "
      "more[%d]) {\n"
      "  .local .align 16 .b8 mine[%d];\n"
      "  .reg .u32 %%t, %%o, %%r, %%q, %%i, %%v<4>; .reg .u64 %%a, %%y, %%s, %%w<4>; .reg .pred %%p, %%g, %%here;\n"
      "  mov.u32 %%t, %%tid.x; mov.u64 %%s, 7; mov.u32 %%i, 0; and.b32 %%q, %%t, 7; setp.ne.u32 %%g, %%q, 5;\n"
      "fill: shl.b32 %%o, %%i, 2; mad.lo.u32 %%q, %%i, 40503, %%t; st.local.u32 [mine + %%o], %%q; st.shared.u32 [tile "
      "+ %%o], %%i;\n"
      "  add.u32 %%i, %%i, 1; setp.lt.u32 %%p, %%i, %d; @%%p bra fill;\n  bar.sync 0;\n",
      EXTENT, EXTENT / 2, EXTENT, EXTENT / 4);
  for (unsigned k = 0; k < 4; k++)
    put(&t,
        "  mad.lo.u32 %%v%u, %%t, 2654435761, %u; cvt.u64.u32 %%w%u, %%v%u; mul.lo.u64 %%w%u, %%w%u, 0x123456789;\n", k,
        77 * k, k, k, k, k);
  for (unsigned k = 0; k < n; k++) put(&t, "  setp.eq.u32 %%here, %%which, %u; @%%here bra C%u;\n", k, k);
  put(&t, "  bra done;\n");
  for (unsigned k = 0; k < n; k++) {
    put(&t, "C%u:\n", k);
    body(&t, &c[k], k);
    put(&t, "  bra done;\n");
  }
  put(&t,
      "done: bar.sync 0;\n  mov.u32 %%i, 0;\n"
      "sum: shl.b32 %%o, %%i, 2; ld.local.u32 %%q, [mine + %%o]; ld.shared.u32 %%r, [tile + %%o]; mul.lo.u64 %%s, %%s, "
      "31; cvt.u64.u32 %%y, %%q;\n"
      "  add.u64 %%s, %%s, %%y; cvt.u64.u32 %%y, %%r; add.u64 %%s, %%s, %%y; add.u32 %%i, %%i, 1; setp.lt.u32 %%p, "
      "%%i, %d; @%%p bra sum;\n"
      "  mad.wide.u32 %%a, %%t, 8, %%out; st.global.u64 [%%a], %%s;\n  exit;\n}\n",
      EXTENT / 4);
  return t.s;
}

/* ---- running them ---------------------------------------------------------------------------------------------*/
struct machine {
  mx_device *device;
  mx_module *module;
  mx_kernel *kernel;
  mx_addr out, buf;
};
struct outcome {
  mx_status status;
  uint64_t steps, out[THREADS];
  uint8_t buf[EXTENT];
  char *error;
};

static bool load(struct machine *m, const uint8_t *bytes, size_t size) {
  const bool good = mx_module_load_data(m->device, bytes, size, &m->module) == MX_OK &&
                    mx_module_kernel(m->module, "access", &m->kernel) == MX_OK &&
                    mx_alloc(m->device, EXTENT, &m->buf) == MX_OK && mx_alloc(m->device, 8 * THREADS, &m->out) == MX_OK;
  char *why = good ? NULL : mx_last_error_text(m->device);
  if (!good) fprintf(stderr, "access: %s\n", why ? why : "not loaded");
  free(why);
  return good;
}
static bool run(struct machine *m, const uint8_t *bytes, size_t size, bool compiled, uint32_t which, uint64_t at,
                struct outcome *o) {
  static uint8_t begin[EXTENT], more[EXTENT / 2];
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = 1, c.block[0] = THREADS, c.threads = 1, c.steps = 1000000;
  c.jit = compiled ? MX_JIT_ON : MX_JIT_OFF;
  for (unsigned k = 0; k < EXTENT; k++) begin[k] = (uint8_t)(k * 37 + (k >> 5)), more[k / 2] = (uint8_t)(k * 11);
  const void *args[] = {&m->out, &m->buf, &at, &which, more};
  free(o->error);
  memset(o, 0, sizeof *o);
  mx_copy_to_device(m->device, m->buf, begin, EXTENT);
  o->status = mx_launch_args(m->kernel, &c, args, 5);
  mx_launch_stats s = {.struct_size = sizeof s};
  mx_device_stats(m->device, &s);
  o->steps = s.steps;
  if (o->status == MX_OK)
    return mx_copy_from_device(m->device, o->out, m->out, sizeof o->out) == MX_OK &&
           mx_copy_from_device(m->device, o->buf, m->buf, EXTENT) == MX_OK;
  o->error = mx_last_error_text(m->device);
  return o->status == MX_TRAPPED && mx_device_reset(m->device) == MX_OK && load(m, bytes, size);
}
static bool same(const struct outcome *a, const struct outcome *b) {
  return a->status == b->status && a->steps == b->steps && !memcmp(a->out, b->out, sizeof a->out) &&
         !memcmp(a->buf, b->buf, sizeof a->buf) && !a->error == !b->error && (!a->error || !strcmp(a->error, b->error));
}
/* Where base and offset together are to come to, from the memory's beginning. */
static uint64_t target(const struct test *c, unsigned k) {
  const uint64_t size = accesses[c->access].bytes, extent = c->space == PARAM ? EXTENT / 2 : EXTENT,
                 reach = c->lie == 1 || c->form == ONE ? size : 32 * size;
  const uint64_t at[TARGETS] = {0,        extent - reach, extent - reach + size, -size,
                                size / 2, extent / 2,     (uint64_t)c->off,      4 * size};
  return at[k] - (uint64_t)c->off;
}
static bool batch(struct machine *m, const struct test *c, unsigned n, unsigned lanes, uint64_t *passed,
                  uint64_t *failed) {
  static struct outcome a, b;
  char *text = module(c, n, lanes);
  const mx_asm_options options = {.struct_size = sizeof(mx_asm_options), .file_name = "access.mxs"};
  mx_asm_result *assembled = mx_assemble(text, strlen(text), &options);
  size_t size = 0;
  const uint8_t *bytes = assembled ? mx_asm_bytes(assembled, &size) : NULL;
  if (!bytes) {
    for (size_t k = 0; k < mx_asm_diagnostic_count(assembled) && k < 5; k++) {
      char *why = mx_asm_format(mx_asm_diagnostic_at(assembled, k), false);
      fputs(why ? why : "", stderr);
      free(why);
    }
    mx_asm_free(assembled);
    free(text);
    return false;
  }
  bool good = load(m, bytes, size);
  for (unsigned k = 0; good && k < n; k++)
    for (unsigned t = 0; good && t < TARGETS; t++) {
      const uint64_t at = target(&c[k], t);
      good = run(m, bytes, size, false, k, at, &a) && run(m, bytes, size, true, k, at, &b);
      const bool equal = good && same(&a, &b);
      ++*(equal ? passed : failed);
      if (equal) continue;
      printf("form %d, space %d, %s, %s, offset %lld, base %llx: %s\n  compiled: %s\n", c[k].form, c[k].space,
             accesses[c[k].access].text, lanes_lie[c[k].lie], (long long)c[k].off, (unsigned long long)at,
             a.error ? a.error : "ended", b.error ? b.error : "ended");
    }
  mx_device_reset(m->device);
  mx_asm_free(assembled);
  free(text), free(a.error), free(b.error);
  a.error = b.error = NULL;
  return good;
}

static int discard(const char *path, const struct stat *s, int kind, struct FTW *f) {
  (void)s, (void)kind, (void)f;
  remove(path);
  return 0;
}
static void ignore(void *user, const char *text, size_t size) { (void)user, (void)text, (void)size; }
int main(int argc, char **argv) {
  unsigned long long seed = 1, part = 0, parts = 1;
  const char *jitc = NULL;
  static const struct option longs[] = {{"seed", 1, 0, 's'}, {"jitc", 1, 0, 'c'}, {"part", 1, 0, 'p'}, {0}};
  for (int o; (o = getopt_long(argc, argv, "", longs, NULL)) != -1;) switch (o) {
    case 's': seed = strtoull(optarg, NULL, 0); break;
    case 'c': jitc = optarg; break;
    case 'p':
      if (sscanf(optarg, "%llu/%llu", &part, &parts) == 2 && parts) break;
      return fprintf(stderr, "access: --part PART/PARTS\n"), 2;
    default: return 2;
    }
  char cache[] = "/tmp/mx-access-XXXXXX";
  if (!mkdtemp(cache)) return 4;
  struct machine m = {0};
  mx_device_options d = MX_DEVICE_OPTIONS_INIT;
  d.jit_compiler = jitc, d.cache_dir = cache;
  uint64_t passed = 0, failed = 0;
  bool good = mx_device_create(&d, &m.device) == MX_OK;
  if (good) mx_device_set_output(m.device, ignore, NULL);
  struct test c[CASES];
  unsigned n = 0, modules = 0;
  for (uint64_t k = part; good && k < FORMS * SPACES * CORNERS; k += parts) {
    n += pick(&c[n], k, seed);
    if (n == CASES || (n && k + parts >= FORMS * SPACES * CORNERS))
      good = batch(&m, c, n, modules++ & 1 ? 64 : 32, &passed, &failed), n = 0;
  }
  printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed + !good);
  if (m.device) mx_device_destroy(m.device);
  nftw(cache, discard, 8, FTW_DEPTH | FTW_PHYS);
  return good && !failed ? 0 : 1;
}
