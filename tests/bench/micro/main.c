/* What one access to memory costs in compiled code, a lane of a warp, beside plain C at -O3 for the same CPU level: a
 * table on stdout.
 *   bench-micro [v3 | v4] [CASE]...      both levels, all cases, where nothing is said
 * Processor time of one thread, the least of several runs; both sides do the same address arithmetic. */
#include "tests/bench/cpu_time.h"
#include "tests/bench/micro/native.h"

#include "mx/asm.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 256, RUNS = 7, BYTES = CELLS * 16 };
static const struct {
  const char *name;
  native_fn *v3, *v4;
} natives[] = {
#define ROW(name_) {#name_, v3_##name_, v4_##name_},
    MICRO_CASES(ROW)
#undef ROW
};
enum { CASES = sizeof natives / sizeof *natives };

/* What a round of the loop does with the element that it comes to, by number %n or by place %p; `bytes` of an element.
 * A row's place moves by itself, as pointers in compilers' code do. */
static const struct {
  const char *name, *index, *round;
  unsigned bytes;
} kernels[] = {
    {"load_row_u8", "row", "ld.global.u8 %v, [%p]; add.u32 %s, %s, %v;", 1},
    {"load_row_u16", "row", "ld.global.u16 %v, [%p]; add.u32 %s, %s, %v;", 2},
    {"load_row_f32", "row", "ld.global.f32 %f, [%p]; add.f32 %g, %g, %f;", 4},
    {"load_row_f64", "row", "ld.global.f64 %d, [%p]; add.f64 %e, %e, %d;", 8},
    {"load_row_v4", "row",
     "ld.global.v4.f32 {%f, %f1, %f2, %f3}, [%p]; add.f32 %f, %f, %f1; add.f32 %f, %f, %f2; add.f32 %f, %f, %f3; "
     "add.f32 %g, %g, %f;",
     16},
    {"gather_u8", "any", "ld.global.u8 %v, [%p]; add.u32 %s, %s, %v;", 1},
    {"gather_u16", "any", "ld.global.u16 %v, [%p]; add.u32 %s, %s, %v;", 2},
    {"gather_f32", "any", "ld.global.f32 %f, [%p]; add.f32 %g, %g, %f;", 4},
    {"gather_f64", "any", "ld.global.f64 %d, [%p]; add.f64 %e, %e, %d;", 8},
    {"gather_v4", "any",
     "ld.global.v4.f32 {%f, %f1, %f2, %f3}, [%p]; add.f32 %f, %f, %f1; add.f32 %f, %f, %f2; add.f32 %f, %f, %f3; "
     "add.f32 %g, %g, %f;",
     16},
    {"store_row_u8", "row", "add.u32 %v, %t, %i; st.global.u8 [%p], %v;", 1},
    {"store_row_u16", "row", "add.u32 %v, %t, %i; st.global.u16 [%p], %v;", 2},
    {"store_row_f32", "row", "add.u32 %v, %t, %i; cvt.rn.f32.u32 %f, %v; st.global.f32 [%p], %f;", 4},
    {"store_row_f64", "row", "add.u32 %v, %t, %i; cvt.rn.f64.u32 %d, %v; st.global.f64 [%p], %d;", 8},
    {"scatter_u8", "any", "add.u32 %v, %t, %i; st.global.u8 [%p], %v;", 1},
    {"scatter_f32", "any", "add.u32 %v, %t, %i; cvt.rn.f32.u32 %f, %v; st.global.f32 [%p], %f;", 4},
    {"private_same", "private", "mul.lo.u32 %n, %i, 3;", 4},
    {"private_apart", "private", "and.b32 %n, %t, 1; add.u32 %n, %n, %i; mul.lo.u32 %n, %n, 3;", 4},
    {"shared_row_u8", "shared row", "ld.shared.u8 %v, [%q]; add.u32 %s, %s, %v;", 1},
    {"shared_any_u8", "shared any", "ld.shared.u8 %v, [%q]; add.u32 %s, %s, %v;", 1},
    {"atomic_shared", "shared any", "red.shared.add.u32 [%q], %t; ld.shared.u32 %v, [%own]; add.u32 %s, %s, %v;", 4},
    {"atomic_shared_old", "shared any", "atom.shared.add.u32 %v, [%q], %t; add.u32 %s, %s, %v;", 4},
    {"atomic_global", "any", "red.global.add.u32 [%p], %t;", 4},
    {"atomic_global_old", "any", "atom.global.add.u32 %v, [%p], %t; add.u32 %s, %s, %v;", 4},
    {"atomic_float", "any", "red.global.add.f32 [%p], 1.0;", 4}};

static char *text_of(unsigned k) {
  const char *index = kernels[k].index;
  const unsigned bytes = kernels[k].bytes;
  const bool shared = !strncmp(index, "shared", 6), any = strstr(index, "any"), private = !strcmp(index, "private");
  char *s = malloc(8192);
  if (!s) exit(4);
  int n = sprintf(s,
                  ".target sm_90\n.entry k(.param .u64 a, .param .u64 out) {\n"
                  "  .reg .u32 %%t, %%i, %%n, %%v, %%s, %%q, %%own; .reg .f32 %%f, %%f1, %%f2, %%f3, %%g; .reg .f64 "
                  "%%d, %%e; .reg .u64 %%p, %%x; .reg .pred %%more;\n"
                  "  .local .align 16 .b8 mine[64];\n"
                  "  mov.u32 %%t, %%tid.x; mov.u32 %%s, 0; mov.f32 %%g, 0.0; mov.f64 %%e, 0.0; mov.u32 %%i, 0; shl.b32 "
                  "%%own, %%t, 2; mov.u32 %%q, %%t;\n"
                  "  mul.wide.u32 %%p, %%t, %u; add.u64 %%p, %%p, %%a;\n",
                  bytes);
  if (shared)
    n += sprintf(
        s + n,
        "fill: mul.wide.u32 %%x, %%q, 16; add.u64 %%x, %%x, %%a; ld.global.v4.u32 {%%n, %%v, %%n, %%v}, [%%x]; shl.b32 "
        "%%n, %%q, 4; st.shared.v4.u32 [%%n], {%%v, %%v, %%v, %%v};\n"
        "  add.u32 %%q, %%q, 256; setp.lt.u32 %%more, %%q, %u; @%%more bra fill; bar.sync 0; mov.u32 %%q, %%t;\n",
        CELLS * bytes / 16);
  if (private)
    n += sprintf(
        s + n,
        "write: mul.lo.u32 %%n, %%i, 3; and.b32 %%n, %%n, 15; shl.b32 %%n, %%n, 2; add.u32 %%v, %%t, %%i; st.local.u32 "
        "[mine + %%n], %%v;\n"
        "  add.u32 %%i, %%i, 1; setp.lt.u32 %%more, %%i, %d; @%%more bra write; mov.u32 %%i, 0;\n"
        "again: %s and.b32 %%n, %%n, 15; shl.b32 %%n, %%n, 2; ld.local.u32 %%v, [mine + %%n]; add.u32 %%s, %%s, %%v;\n",
        ROUNDS / 2, kernels[k].round);
  else {
    n += sprintf(s + n, "again:\n");
    if (any)
      n += sprintf(s + n,
                   "  mul.lo.u32 %%n, %%t, 1664525; mad.lo.u32 %%n, %%i, 1013904223, %%n; shr.u32 %%n, %%n, 20;\n");
    if (any)
      n += sprintf(s + n,
                   shared ? "  mul.lo.u32 %%q, %%n, %u;\n" : "  mul.wide.u32 %%p, %%n, %u; add.u64 %%p, %%p, %%a;\n",
                   bytes);
    n += sprintf(s + n, "  %s\n", kernels[k].round);
    if (!any) n += sprintf(s + n, shared ? "  add.u32 %%q, %%q, %u;\n" : "  add.s64 %%p, %%p, %u;\n", BLOCK * bytes);
  }
  sprintf(s + n,
          "  add.u32 %%i, %%i, 1; setp.lt.u32 %%more, %%i, %d; @%%more bra again;\n"
          "  cvt.rzi.u32.f32 %%v, %%g; add.u32 %%s, %%s, %%v; cvt.rzi.u32.f64 %%v, %%e; add.u32 %%s, %%s, %%v;\n"
          "  mul.wide.u32 %%x, %%t, 4; add.u64 %%x, %%x, %%out; st.global.u32 [%%x], %%s; exit;\n}\n",
          private ? ROUNDS / 2 : ROUNDS);
  return s;
}

/* Data that both sides begin with: small numbers, whatever their type. */
static void fill(unsigned char *data, unsigned bytes) {
  for (unsigned k = 0; k < CELLS; k++) {
    if (bytes == 8) ((double *)data)[k] = k % 7;
    else if (bytes >= 4)
      for (unsigned e = 0; e < bytes / 4; e++) ((float *)data)[k * bytes / 4 + e] = (float)(k % 7);
    else
      for (unsigned e = 0; e < bytes; e++) data[k * bytes + e] = (unsigned char)(k % 7);
  }
}

static void measure(const char *level, char **only, int nonly) {
  static _Alignas(64) unsigned char data[BYTES];
  static uint32_t out[BLOCK];
  mx_device_options options = MX_DEVICE_OPTIONS_INIT;
  mx_device *d = NULL;
  options.cache_dir = "";
  options.jit_compiler = getenv("MX_JITC");
  need(d, mx_device_create(&options, &d) == MX_OK, "no device");
  printf("CPU level %s\n%-18s %8s %8s %7s %8s\n", level, "ns a lane", "mx", "C", "mx/C", "compile");
  for (unsigned k = 0; k < CASES; k++) {
    bool wanted = !nonly;
    for (int n = 0; n < nonly; n++) wanted |= !strcmp(only[n], kernels[k].name);
    if (!wanted) continue;
    char *text = text_of(k);
    mx_asm_options assembler = MX_ASM_OPTIONS_INIT;
    assembler.file_name = kernels[k].name;
    mx_asm_result *r = mx_assemble(text, strlen(text), &assembler);
    size_t size = 0;
    const uint8_t *bytes = r ? mx_asm_bytes(r, &size) : NULL;
    if (!bytes && mx_asm_diagnostic_count(r)) fputs(mx_asm_format(mx_asm_diagnostic_at(r, 0), false), stderr);
    need(d, bytes, kernels[k].name);
    mx_module *m;
    mx_kernel *kernel;
    mx_addr a, o;
    need(d,
         mx_module_load_data(d, bytes, size, &m) == MX_OK && mx_module_kernel(m, "k", &kernel) == MX_OK &&
             mx_alloc(d, BYTES, &a) == MX_OK && mx_alloc(d, sizeof out, &o) == MX_OK,
         kernels[k].name);
    mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
    c.grid[0] = BLOCKS, c.block[0] = BLOCK, c.threads = 1, c.jit = MX_JIT_ON, c.shared_bytes = CELLS * 4;
    const void *args[] = {&a, &o};
    fill(data, kernels[k].bytes);
    mx_copy_to_device(d, a, data, BYTES);
    double best[2] = {1e9, 1e9}, compile = 0;
    for (unsigned run = 0; run < RUNS; run++) {
      double begin = now();
      need(d, mx_launch_args(kernel, &c, args, 2) == MX_OK, kernels[k].name);
      double t = now() - begin;
      if (run && t < best[0]) best[0] = t; /* the first one compiles */
      if (!run) {
        mx_launch_stats s = {.struct_size = sizeof s};
        mx_device_stats(d, &s);
        compile = s.compile_ms;
      }
      begin = now();
      need(d, !strcmp(natives[k].name, kernels[k].name), "both lists have one order");
      (level[1] == '3' ? natives[k].v3 : natives[k].v4)(data, out, BLOCKS);
      t = now() - begin;
      if (t < best[1]) best[1] = t;
    }
    const double lanes = (double)BLOCKS * BLOCK * ROUNDS * 1e-9;
    printf("%-18s %8.2f %8.2f %7.1f %8.0f\n", kernels[k].name, best[0] / lanes, best[1] / lanes, best[0] / best[1],
           compile);
    fflush(stdout);
    mx_free(d, a), mx_free(d, o);
    mx_asm_free(r);
    free(text);
  }
  mx_device_destroy(d);
}

int main(int argc, char **argv) {
  static const char *const both[] = {"v3", "v4"};
  const bool one = argc > 1 && (!strcmp(argv[1], "v3") || !strcmp(argv[1], "v4"));
  for (int k = 0; k < (one ? 1 : 2); k++) {
    const char *level = one ? argv[1] : both[k];
    if (level[1] == '4' && !__builtin_cpu_supports("avx512bw")) continue;
    const pid_t child = fork(); /* the level is chosen once in a process */
    int status = 0;
    if (!child) {
      setenv("MX_LEVEL", level, 1);
      measure(level, argv + 1 + one, argc - 1 - one);
      return 0;
    }
    if (child < 0 || waitpid(child, &status, 0) < 0 || status) return 1;
  }
  return 0;
}
