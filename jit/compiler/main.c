/* mx-jitc: compiles a kernel of a module and all that it can reach into a shared object.
 *
 * A process of its own, started by libmx (jit/runtime/spawn.c) or by hand: the compiler's limits, failures and licence
 * stay in here. Its processor time and memory are limited. */
#include "dump.h"
#include "link.h"
#include "lower.h"

#include "vm/exec/exec.h"
#include "vm/exec/jitabi.h"
#include "vm/load/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
/* libgccjit does not free all its memory, which does not matter in a process that compiles once. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return 1; }
#endif

static void limit(int what, rlim_t most) {
  struct rlimit r;
  if (getrlimit(what, &r)) return;
  if (r.rlim_max != RLIM_INFINITY && r.rlim_max < most) most = r.rlim_max;
  r.rlim_cur = most;
  setrlimit(what, &r);
}

static int said_on = STDERR_FILENO; /* unlike that, open while the compiler runs: compile() */
static int notes = -1;              /* what it writes there meanwhile */
static void end_with(const char *text) {
  (void)!write(said_on, text, strlen(text));
  _exit(4);
}
static const char died[] = "mx-jitc: out of memory, or a fault in the compiler\n";
/* Allocation failures: most of the code here, libgccjit above all, does not check for them, or ends the process. One
 * that compiles once may end anywhere, but says why: by what the compiler has written, without its notes. */
static void say_why_it_ended(void) {
  static char text[1 << 16];
  if (notes < 0) return;
  const ssize_t n = pread(notes, text, sizeof text - 1, 0);
  bool said = false;
  for (char *line = strtok(text, "\n"); n > 0 && line; line = strtok(NULL, "\n")) {
    if (strstr(line, ": note: ")) continue;
    said = true;
    dprintf(said_on, "mx-jitc: %s\n", line);
  }
  end_with(said ? "" : died);
}
#ifdef __SANITIZE_ADDRESS__ /* with the sanitizer, it reports failures itself */
static void catch_signals(void) {}
#else
static void has_died(int sig) { end_with(sig == SIGXCPU ? "mx-jitc: took too long\n" : died); }
static void catch_signals(void) {
  static unsigned char stack[1 << 16];
  static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGXCPU};
  struct sigaction a = {.sa_handler = has_died, .sa_flags = SA_ONSTACK};
  sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
  for (size_t k = 0; k < sizeof signals / sizeof *signals; k++) sigaction(signals[k], &a, NULL);
}
#endif
static void say_when_dying(void) {
  catch_signals();
  atexit(say_why_it_ended);
}

/* A compile touches twenty megabytes and more, each page once. Where the system has huge pages, using them saves most
 * page faults: of 2,400 for examples/saxpy.mxs they leave 1,400, of 5,400 for examples/scan.mxs 1,800, and up to a
 * tenth of the time. */
static void huge_heap(void) {
#ifndef __SANITIZE_ADDRESS__ /* the sanitizer has a heap of its own */
  enum { BYTES = 32 << 20, PAGE = 2 << 20, FIRST = 256 << 10 };
  mallopt(M_TOP_PAD, BYTES);
  mallopt(M_MMAP_THRESHOLD, BYTES);
  /* A huge page in which one byte has been touched before madvise() is none: what is allocated until then lies before
   * the first one. */
  const uintptr_t now = (uintptr_t)sbrk(0), huge = (now + FIRST + PAGE - 1) & -(uintptr_t)PAGE;
  if (sbrk((intptr_t)(huge - FIRST - now)) == (void *)-1) return;
  void *volatile more = malloc(FIRST - (FIRST >> 2)); /* more than is free, so that the heap grows */
  free(more);
  madvise((void *)huge, ((uintptr_t)sbrk(0) - huge) & -(uintptr_t)PAGE, MADV_HUGEPAGE);
#endif
}
#ifndef __SANITIZE_ADDRESS__
/* libgccjit's own allocator calls this for two megabytes at a time. */
void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
  void *const p = (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
  if (p != MAP_FAILED && file < 0 && bytes >= 2 << 20) madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}
#endif

static uint8_t *read_file(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  size_t n = 0, room = 1 << 16;
  uint8_t *p = malloc(room);
  for (size_t got; p && (got = fread(p + n, 1, room - n, f)) > 0;) {
    n += got;
    if (n == room) {
      uint8_t *bigger = realloc(p, room *= 2);
      if (!bigger) free(p);
      p = bigger;
    }
  }
  fclose(f);
  *size = n;
  return p;
}

#ifdef __SANITIZE_ADDRESS__
/* Memory is freed by the end of the process. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }
#endif

static int usage(FILE *to, int status) {
  fputs(
      "mx-jitc -o kernel.so module.mxb KERNEL\n"
      "Compiles kernel KERNEL (a name or a function number) of a module for libmx, which runs this by itself.\n"
      "  -o FILE        the shared object to write\n"
      "  --level LEVEL  code for CPUs of level v2, v3 or v4 (default: that of this one, or $MX_LEVEL)\n"
      "  -O N           optimisation level, 0 to 3 (default: 1 and some more)\n"
      "  --large N      slots of functions with more instructions live in memory, not in registers (default: by "
      "level)\n"
      "  --inline N     build calls of functions of up to N words in their place (default: 48; 0: no calls)\n"
      "  -f OPTION      one more option of the compiler, such as -f-fno-ivopts\n"
      "  --stops TEXT   code for a debugging session: where it is left\n"
      "  --lanes N      code for blocks of up to N threads: only the first N lanes of a warp (default: all)\n"
      "  --tid-rows[=N] code for blocks in which, in each of N rows of lanes in a warp (1, 2 or 4; default 1), %tid.x\n"
      "                 increases by one from lane to lane, and %tid.y and %tid.z stay the same\n"
      "  --counts N     code that counts for a profile: 1: executions and lanes, 2: and pieces of memory; 3: code "
      "that\n"
      "                 a checker watches\n"
      "  --check-list TEXT   which instructions it wants to see besides\n"
      "  --asm          write assembly instead\n"
      "  --dump         show what gccjit is told, on standard error\n"
      "  --dump-cfg     write the graph of blocks for dot, and nothing else\n"
      "  --dump-plan    write in which order blocks run, and where lanes may be diverged, and nothing else\n"
      "  --time         show where the time went\n"
      "  --cpu SECONDS, --memory MIB   limits (default 60, 4096)\n"
      "  --parent PID   end when the process PID ends, at once if it has ended\n",
      to);
  return status;
}

/* Passes of the compiler that have no option of their own, and do nothing for such code that others, which stay, do not
 * do too: three kernels were compiled without each of them. Together they are a tenth of the work. */
static const char left_out[] =
    "tree-walloca1 tree-waccess1 tree-early_objsz tree-forwprop1 tree-esra tree-mergephi1 tree-cddce1 "
    "tree-phiopt1 tree-iftoswitch tree-local-pure-const1 tree-modref1 tree-einline tree-local-fnsummary2 "
    "tree-nothrow ipa-targetclone ipa-modref ipa-pure-const ipa-fnsummary ipa-inline ipa-comdats ipa-simdclone "
    "ipa-single-use ipa-static-var ipa-profile_estimate ipa-whole-program ipa-ipa_oacc_kernels "
    "tree-objsz1 tree-waccess2 tree-backprop tree-phiprop tree-forwprop2 tree-mergephi2 tree-dce2 tree-stdarg "
    "tree-cdce tree-cselim tree-copyprop1 tree-ifcombine tree-mergephi3 tree-phiopt2 tree-sra "
    "tree-copyprop2 tree-dce3 tree-forwprop3 tree-phiopt3 tree-sincos tree-bswap tree-laddress tree-lim2 "
    "tree-walloca2 tree-dce4 tree-sccp tree-cddce2 tree-ivcanon tree-copyprop3 tree-lim3 tree-copyprop4 "
    "tree-dce5 tree-dce6 tree-cunroll tree-ivopts tree-lim4 tree-strlen1 tree-wrestrict tree-cddce3 tree-phiopt4 "
    "tree-fab1 tree-widening_mul tree-local-pure-const2 tree-modref2 tree-waccess3 tree-objsz2 "
    "tree-strlen2 tree-copyprop5 tree-fab2";
static void leave_out_passes(gcc_jit_context *c) {
  for (const char *p = left_out; *p; p += strspn(p, " ")) {
    char option[64];
    const size_t n = strcspn(p, " ");
    snprintf(option, sizeof option, "-fdisable-%.*s", (int)n, p);
    gcc_jit_context_add_command_line_option(c, option);
    p += n;
  }
}
/* The compiler notes on standard error each pass that is left out, and keeps its errors for whoever asks, save those
 * that end the process: say_why_it_ended(). `shows`: it writes there what somebody wants to see. */
static void compile(gcc_jit_context *c, const char *path, bool shows) {
  const int kept = shows ? -1 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  if (kept >= 0 && (notes = memfd_create("notes", MFD_CLOEXEC)) >= 0) said_on = kept, dup2(notes, STDERR_FILENO);
  gcc_jit_context_compile_to_file(c, GCC_JIT_OUTPUT_KIND_ASSEMBLER, path);
  if (notes >= 0) dup2(kept, STDERR_FILENO), said_on = STDERR_FILENO, notes = -1;
}

/* An object without a signature is not loaded, so one that was not finished, for whatever reason, is not used. */
static bool add_signature(const char *path) {
  size_t size;
  uint8_t *bytes = read_file(path, &size);
  FILE *f = bytes ? fopen(path, "ab") : NULL;
  const struct mx_jit_signature s = f ? mx__jit_sign(bytes, size) : (struct mx_jit_signature){0};
  if (f && fwrite(&s, sizeof s, 1, f) == 1 && !fclose(f)) return free(bytes), true;
  return fprintf(stderr, "mx-jitc: %s: %s\n", path, strerror(errno)), false;
}

int main(int argc, char **argv) {
  enum {
    ASM = 256,
    DUMP,
    DUMP_CFG,
    DUMP_PLAN,
    TIME,
    CPU,
    MEMORY,
    LEVEL,
    STOPS,
    MANY,
    INLINE,
    PARENT,
    COUNTS,
    LANES,
    TID_ROWS,
    CHECK_LIST
  };
  static const struct option longs[] = {{"asm", no_argument, 0, ASM},
                                        {"dump", no_argument, 0, DUMP},
                                        {"dump-cfg", no_argument, 0, DUMP_CFG},
                                        {"dump-plan", no_argument, 0, DUMP_PLAN},
                                        {"time", no_argument, 0, TIME},
                                        {"cpu", required_argument, 0, CPU},
                                        {"memory", required_argument, 0, MEMORY},
                                        {"parent", required_argument, 0, PARENT},
                                        {"stops", required_argument, 0, STOPS},
                                        {"counts", required_argument, 0, COUNTS},
                                        {"check-list", required_argument, 0, CHECK_LIST},
                                        {"level", required_argument, 0, LEVEL},
                                        {"lanes", required_argument, 0, LANES},
                                        {"tid-rows", optional_argument, 0, TID_ROWS},
                                        {"large", required_argument, 0, MANY},
                                        {"inline", required_argument, 0, INLINE},
                                        {"help", no_argument, 0, 'h'},
                                        {0}};
  const char *out = NULL, *stops = NULL, *check_list = NULL, *cpu_level = mx__level(NULL) ? mx__level(NULL)->name : "";
  int level = -1;
  bool as_asm = false, dump = false, times = false;
  long large = -1, in_line = -1, parent = 0;
  unsigned long cpu = 60, memory = 4096, counts = 0, lanes = 0, rows = 0;
  void (*show)(const struct ja *a, FILE *to) = NULL;
  say_when_dying();
  huge_heap();
  gcc_jit_context *c = gcc_jit_context_acquire();
  if (!c) return fputs("mx-jitc: out of memory\n", stderr), 4;
  for (int o; (o = getopt_long(argc, argv, "ho:O:f:", longs, NULL)) != -1;) switch (o) {
    case 'h': return usage(stdout, 0);
    case 'o': out = optarg; break;
    case 'O': level = atoi(optarg); break;
    case 'f': gcc_jit_context_add_command_line_option(c, optarg); break;
    case STOPS: stops = optarg; break;
    case CHECK_LIST: check_list = optarg; break;
    case ASM: as_asm = true; break;
    case DUMP: dump = true; break;
    case DUMP_CFG: show = ja_dump_cfg; break;
    case DUMP_PLAN: show = ja_dump_plan; break;
    case TIME: times = true; break;
    case CPU: cpu = strtoul(optarg, NULL, 10); break;
    case LEVEL: cpu_level = optarg; break;
    case TID_ROWS:
      rows = optarg ? strtoul(optarg, NULL, 10) : 1;
      if (!rows) return usage(stderr, 2);
      break;
    case LANES: lanes = strtoul(optarg, NULL, 10); break;
    case INLINE: in_line = strtol(optarg, NULL, 10); break;
    case COUNTS: counts = strtoul(optarg, NULL, 10); break;
    case MANY: large = strtol(optarg, NULL, 10); break;
    case MEMORY: memory = strtoul(optarg, NULL, 10); break;
    case PARENT: parent = atol(optarg); break;
    default: return usage(stderr, 2);
    }
  if (!out || argc - optind != 2) return usage(stderr, 2);
  const struct jx_isa *isa = jx_isa_named(cpu_level);
  if (!isa) return fprintf(stderr, "mx-jitc: no code for CPU level '%s'\n", cpu_level), 2;
  if (parent) prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (parent && kill((pid_t)parent, 0) && errno == ESRCH) return 4; /* the parent has ended already */
  limit(RLIMIT_CPU, cpu);
#ifdef __SANITIZE_ADDRESS__
  (void)memory; /* the sanitizer's shadow memory exceeds any such limit */
#else
  limit(RLIMIT_AS, (rlim_t)memory << 20);
#endif
  limit(RLIMIT_CORE, 0);

  size_t size;
  uint8_t *bytes = read_file(argv[optind], &size);
  if (!bytes) return fprintf(stderr, "mx-jitc: cannot read %s\n", argv[optind]), 1;
  struct mx__image *image;
  char *why = NULL;
  if (mx__image_read(bytes, size, &image, &why) != MX__LOAD_OK || mx__verify(&image->image, &why) != MX__LOAD_OK)
    return fprintf(stderr, "mx-jitc: %s: %s\n", argv[optind], why ? why : "refused"), 1;
  const struct mx_image *im = &image->image;
  char *end;
  uint32_t kernel = (uint32_t)strtoul(argv[optind + 1], &end, 10);
  if (*end || end == argv[optind + 1])
    for (kernel = 0; kernel < im->nfuncs && strcmp(im->funcs[kernel].name, argv[optind + 1]); kernel++) {}
  if (kernel >= im->nfuncs) return fprintf(stderr, "mx-jitc: no kernel '%s'\n", argv[optind + 1]), 1;

  static const char *const options[] = {
      "-ffp-contract=off", "-fno-strict-aliasing", "-fno-tree-vectorize", "-fno-tree-slp-vectorize", "-fno-math-errno",
      "-fno-trapping-math", "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-g0",
      /* passes that find nothing in such code, or move what was better where it was: they take a third of the time */
      "-fno-tree-fre", "-fno-tree-ccp", "-fno-tree-dominator-opts", "-fno-tree-pta", "-fno-tree-dse", "-fno-dse",
      "-fno-forward-propagate", "-fno-tree-sink", "-fno-tree-reassoc", "-fno-tree-loop-optimize", "-fno-thread-jumps",
      "-fno-cprop-registers", "-fipa-ra", "-fno-if-conversion", "-fno-if-conversion2", "-fira-region=one",
      /* how far passes search: less changes the code hardly at all and saves a tenth of the time */
      "--param=max-combine-insns=2", "--param=max-cselib-memory-locations=16",
      "--param=lra-max-considered-reload-pseudos=100"};
  for (size_t k = 0; k < sizeof options / sizeof *options; k++) gcc_jit_context_add_command_line_option(c, options[k]);
  leave_out_passes(c);
  for (const char *const *o = isa->options; *o; o++) gcc_jit_context_add_command_line_option(c, *o);
  gcc_jit_context_set_bool_option(c, GCC_JIT_BOOL_OPTION_DUMP_INITIAL_GIMPLE, dump);
  gcc_jit_timer *timer = times ? gcc_jit_timer_new() : NULL;
  if (timer) gcc_jit_context_set_timer(c, timer);

  if (!lanes) lanes = im->lanes;
  if ((lanes & (lanes - 1)) || lanes < MX_JIT_LEAST_LANES || lanes > im->lanes)
    return fprintf(stderr, "mx-jitc: --lanes: a power of two from %d to %u\n", MX_JIT_LEAST_LANES, im->lanes), 2;
  _Static_assert(JA_MOST_ROWS == 1 << (MX_ROWS - 1), "both say how many rows a warp may have");
  if ((rows & (rows - 1)) || rows > JA_MOST_ROWS || rows * MX_JIT_LEAST_LANES > lanes)
    return fprintf(stderr, "mx-jitc: --tid-rows: 1, 2 or 4, for rows of at least %d lanes\n", MX_JIT_LEAST_LANES), 2;
  struct ja_unit unit;
  if (!ja_unit_make(&unit, im, kernel, stops, (unsigned)counts, (uint32_t)lanes))
    return fputs("mx-jitc: out of memory\n", stderr), 4;
  unit.check_list = check_list, unit.rows = (uint32_t)rows;
  if (in_line >= 0) unit.in_line = (uint32_t)in_line;
  /* Level 2 costs 1.6 times as much as 1, and nearly all that it gains (loops up to twice as fast) comes from these
   * two. Without the first one, gcc emits no vzeroupper before calls of code that uses SSE, such as the machine's,
   * which then takes a multiple of its time (tests/uppers). */
  gcc_jit_context_set_int_option(c, GCC_JIT_INT_OPTION_OPTIMIZATION_LEVEL, level >= 0 ? level : 1);
  if (level < 0) {
    gcc_jit_context_add_command_line_option(c, "-fexpensive-optimizations");
    gcc_jit_context_add_command_line_option(c, "-fcaller-saves");
  }
  FILE *dumped = show ? fopen(out, "w") : NULL;
  if (show && !dumped) return fprintf(stderr, "mx-jitc: cannot write %s\n", out), 1;
  bool good = true;
  bool *done = calloc(im->nfuncs + 1u, sizeof *done);
  for (uint32_t f = 0; good && done && f < im->nfuncs; f++) {
    if (!unit.wanted[f] || done[f]) continue;
    struct ja *a = ja_analyse(&unit, f);
    done[f] = true;
    if (a) a->slots_in_memory = large >= 0 ? a->nins > large : lw_slots_in_memory(a, isa);
    if (a && show) show(a, dumped);
    else good = a && lw_function(c, isa, a, f, as_asm);
    f = UINT32_MAX; /* so that functions before it, which its code leaves to, are compiled too */
  }
  if (show) return fclose(dumped) || !good;
  const uint64_t layout = mx__jit_layout();
  gcc_jit_type *u32 =
      gcc_jit_context_get_type(c, GCC_JIT_TYPE_UNSIGNED_INT); /* gccjit 12 has a wrong size for long here */
  gcc_jit_lvalue *exported = gcc_jit_context_new_global(
      c, NULL, GCC_JIT_GLOBAL_EXPORTED, gcc_jit_context_new_array_type(c, NULL, u32, 2), "mx_jit_layout");
  gcc_jit_global_set_initializer(exported, &layout, sizeof layout);
  struct jl_file assembly;
  if (good && !as_asm && !jl_file(&assembly, "assembly")) return 4;
  if (good) compile(c, as_asm ? out : assembly.path, dump);
  if (timer) gcc_jit_timer_print(timer, stderr);
  const char *error = gcc_jit_context_get_first_error(c);
  if (error || !good) return fprintf(stderr, "mx-jitc: %s\n", error ? error : "failed"), 1;
  if (!as_asm && (!jl_link(&assembly, out) || !add_signature(out))) return 1;
  return 0; /* the process ends here, which frees everything at once */
}
