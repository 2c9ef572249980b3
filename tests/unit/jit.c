/* Compiled code against the interpreter, and everything that can go wrong on the way to it: no compiler, one that
 * fails, dies or hangs, no cache, damaged or foreign entries. Results are right in every case. */
#include "jit/runtime/jit.h"
#include "mx/text.h"

#include <fcntl.h>
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* Divergent branches and loops, calls, shared memory, barriers, shuffles, atomics, guards, floats with NaNs. */
static const char body[] =
    ".shared .align 4 .b8 sh[256];\n"
    ".func (.param .b32 r) twist(.param .b32 a, .param .b32 n)\n{\n"
    "  .reg .b32 %a, %n, %t;\n  .reg .pred %p;\n"
    "  ld.param.b32 %a, [a];\n  ld.param.b32 %n, [n];\n"
    "L:\n  setp.eq.u32 %p, %n, 0;\n  @%p bra E;\n  shl.b32 %t, %a, 5;\n  xor.b32 %a, %a, %t;\n  shr.u32 %t, %a, 7;\n  "
    "add.u32 %a, %a, %t;\n"
    "  sub.u32 %n, %n, 1;\n  bra L;\n"
    "E:\n  st.param.b32 [r], %a;\n  ret;\n}\n"
    ".visible .entry work(.param .u64 out, .param .u32 n)\n{\n"
    "  .reg .b32 %i, %t, %v, %n, %k, %w, %s, %lo;\n  .reg .b64 %o, %a, %q;\n  .reg .pred %p<4>;\n  .reg .f32 %f, %g;\n"
    "  ld.param.u64 %o, [out];\n  ld.param.u32 %n, [n];\n"
    "  mov.u32 %t, %tid.x;\n  mov.u32 %k, %ctaid.x;\n  mov.u32 %w, %ntid.x;\n  mad.lo.u32 %i, %k, %w, %t;\n"
    "  setp.ge.u32 %p0, %i, %n;\n  @%p0 exit;\n"
    "  mul.lo.u32 %v, %i, 2654435761;\n  mov.u32 %s, 0;\n  mov.u32 %k, 0;\n"
    /* lanes leave at different steps, with an if inside */
    "LOOP:\n  and.b32 %lo, %v, 31;\n  setp.eq.u32 %p1, %lo, %k;\n  @%p1 bra OUT;\n"
    "  and.b32 %lo, %v, 3;\n  setp.eq.u32 %p2, %lo, 1;\n  @%p2 bra ODD;\n  add.u32 %s, %s, %k;\n  mad.lo.u32 %v, %v, "
    "3, 1;\n  bra MEET;\n"
    "ODD:\n  xor.b32 %s, %s, %v;\n  shr.u32 %v, %v, 1;\n"
    "MEET:\n  add.u32 %k, %k, 1;\n  setp.lt.u32 %p3, %k, 40;\n  @%p3 bra LOOP;\n"
    "OUT:\n"
    "  and.b32 %lo, %s, 7;\n  { .param .b32 x; .param .b32 y; .param .b32 r;\n  st.param.b32 [x], %s;\n  st.param.b32 "
    "[y], %lo;\n"
    "  call (r), twist, (x, y);\n  ld.param.b32 %s, [r]; }\n"
    "  cvt.rn.f32.u32 %f, %lo;\n  sub.f32 %g, %f, %f;\n  div.rn.f32 %f, %f, %g;\n  mul.f32 %f, %f, %g;\n  mov.b32 %lo, "
    "%f;\n  xor.b32 %s, %s, %lo;\n"
    "  mul.wide.u32 %a, %i, 4;\n  add.u64 %a, %o, %a;\n"
    "  @%p2 add.u32 %s, %s, %v;\n"
    "  st.global.u32 [%a], %s;\n"
    "  and.b32 %lo, %v, 63;\n  mul.wide.u32 %q, %lo, 4;\n  add.u64 %q, %q, %o;\n  mul.wide.u32 %a, %n, 4;\n  add.u64 "
    "%q, %q, %a;\n"
    "  red.global.add.u32 [%q], 1;\n  exit;\n}\n";

#define THREADS 1000u
static char *text_of(unsigned lanes) {
  char *t;
  assert_true(asprintf(&t, ".version 9.0\n.target %s\n.address_size 64\n%s", lanes == 32 ? "sm_90" : "mx64", body) > 0);
  return t;
}

static char folder[] = "/tmp/mx-jit-test-XXXXXX";
static char *in_folder(const char *name) {
  static char p[256];
  snprintf(p, sizeof p, "%s/%s", folder, name);
  return p;
}
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static mx_kernel *load(const mx_device_options *o, const char *text, const char *kernel, mx_device **d, mx_module **m) {
  mx_kernel *k;
  char *messages;
  assert_int_equal(mx_device_create(o, d), MX_OK);
  const mx_status s = mx_module_load_text(*d, text, strlen(text), NULL, m, &messages);
  if (messages) print_error("%s\n", messages);
  free(messages);
  assert_int_equal(s, MX_OK);
  assert_int_equal(mx_module_kernel(*m, kernel, &k), MX_OK);
  return k;
}

struct run {
  mx_device *d;
  mx_module *m;
  mx_kernel *k;
  mx_addr out;
  mx_launch_stats stats;
  uint32_t got[THREADS + 64];
};
static void start(struct run *r, unsigned lanes, const char *compiler, const char *cache) {
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  o.threads = 1;
  o.jit_compiler = compiler;
  o.cache_dir = cache;
  char *t = text_of(lanes);
  r->k = load(&o, t, "work", &r->d, &r->m);
  free(t);
  assert_int_equal(mx_alloc(r->d, sizeof r->got, &r->out), MX_OK);
}
static mx_status go_blocks(struct run *r, uint32_t blocks, mx_jit_mode mode, uint64_t stress) {
  assert_int_equal(mx_memset32(r->d, r->out, 0, THREADS + 64), MX_OK);
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = blocks;
  c.block[0] = 128;
  c.jit = mode;
  c.jit_stress = stress;
  const uint32_t n = THREADS;
  const void *args[] = {&r->out, &n};
  const mx_status s = mx_launch_args(r->k, &c, args, 2);
  r->stats.struct_size = sizeof r->stats;
  assert_int_equal(mx_device_stats(r->d, &r->stats), MX_OK);
  assert_int_equal(mx_copy_from_device(r->d, r->got, r->out, sizeof r->got), MX_OK);
  return s;
}
static mx_status go(struct run *r, mx_jit_mode mode, uint64_t stress) { return go_blocks(r, 8, mode, stress); }
static void end(struct run *r) { mx_device_destroy(r->d); }
#define NEEDS_CODE() \
  if (!mx__jit_level()) { \
    print_message("no code is compiled for this CPU\n"); \
    skip(); \
  }

static uint32_t expected[2][THREADS + 64];
static int reference(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return -1;
  for (int k = 0; k < 2; k++) {
    struct run r;
    start(&r, k ? 64 : 32, NULL, "");
    assert_int_equal(go(&r, MX_JIT_OFF, 0), MX_OK);
    memcpy(expected[k], r.got, sizeof r.got);
    end(&r);
  }
  return 0;
}
static int clean(void **state) {
  (void)state;
  char command[300];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

static void same_in_both_engines(void **state) {
  (void)state;
  NEEDS_CODE();
  for (int k = 0; k < 2; k++) {
    struct run r;
    start(&r, k ? 64 : 32, NULL, in_folder("cache"));
    assert_int_equal(go(&r, MX_JIT_OFF, 0), MX_OK);
    const uint64_t steps = r.stats.steps;
    assert_int_equal(go(&r, MX_JIT_ON, 0), MX_OK);
    assert_memory_equal(r.got, expected[k], sizeof r.got);
    assert_int_equal(r.stats.steps, steps);
    assert_int_equal(r.stats.warps_interpreted, 0);
    for (uint64_t seed = 1; seed <= 30; seed++) {
      assert_int_equal(go(&r, MX_JIT_ON, seed), MX_OK);
      assert_memory_equal(r.got, expected[k], sizeof r.got);
      assert_int_equal(r.stats.steps, steps);
    }
    assert_int_equal(go(&r, MX_JIT_OFF, 0), MX_OK);
    assert_int_equal(r.stats.warps_compiled, 0);
    end(&r);
  }
}

/* The entry of a cache folder that holds one. */
static char *only_entry(const char *dir) {
  static char path[600];
  int n = 0;
  DIR *d = opendir(dir);
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) {
    const size_t len = strlen(e->d_name);
    if (len > 3 && !strcmp(e->d_name + len - 3, ".so")) n++, snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    else assert_true((e->d_name[0] == '.' && len <= 2) || !strcmp(e->d_name, "costs")); /* nothing half-written stays */
  }
  closedir(d);
  assert_int_equal(n, 1);
  return path;
}
static void once(const char *cache, uint64_t hits) {
  struct run r;
  start(&r, 64, NULL, cache);
  assert_int_equal(go(&r, MX_JIT_ON, 0), MX_OK);
  assert_memory_equal(r.got, expected[1], sizeof r.got);
  assert_int_equal(r.stats.warps_interpreted, 0);
  assert_int_equal(r.stats.cache_hits, hits);
  end(&r);
}
static void cache_entries(void **state) {
  (void)state;
  NEEDS_CODE();
  char *dir = strdup(in_folder("entries"));
  once(dir, 0);
  once(dir, 1);
  struct stat s;
  char *entry = only_entry(dir);
  assert_int_equal(stat(entry, &s), 0);
  assert_int_equal(s.st_mode & 077, 0);
  assert_int_equal(truncate(entry, s.st_size / 2), 0); /* a truncated one is a miss, and made anew */
  once(dir, 0);
  once(dir, 1);
  int fd = open(entry, O_RDWR); /* damaged in the middle */
  assert_int_equal(pwrite(fd, "damage", 6, s.st_size / 3), 6);
  close(fd);
  once(dir, 0);
  assert_int_equal(chmod(entry, 0666), 0); /* others might have written it */
  once(dir, 0);
  char *aside = strdup(in_folder("aside.so")); /* a link */
  assert_int_equal(rename(entry, aside), 0);
  assert_int_equal(symlink(aside, entry), 0);
  once(dir, 0);
  assert_int_equal(chmod(dir, 0777), 0); /* others could write here: no cache at all */
  once(dir, 0);
  once(dir, 0);
  free(aside);
  free(dir);
}
/* Code of one CPU level is not taken for another's. */
static void levels(void **state) {
  (void)state;
  NEEDS_CODE();
  static const char *const names[] = {"v2", "v3", "v4"};
  char *dir = strdup(in_folder("levels")), *said = getenv("MX_LEVEL") ? strdup(getenv("MX_LEVEL")) : NULL;
  for (uint64_t turn = 0; turn < 2; turn++)
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
      setenv("MX_LEVEL", names[k], 1);
      if (mx__level(NULL)) once(dir, turn);
    }
  if (said) setenv("MX_LEVEL", said, 1);
  else unsetenv("MX_LEVEL");
  free(said);
  free(dir);
}
/* In the background the same failures are one note, however many launches follow. */
static char *note_of(const char *compiler, const char *cache, bool wants_code) {
  struct run r;
  start(&r, 64, compiler, cache);
  const double begin = now();
  char *note = NULL;
  do {
    assert_int_equal(go(&r, MX_JIT_AUTO, 0), MX_OK);
    assert_memory_equal(r.got, expected[1], sizeof r.got);
    if (!note) note = mx_device_note(r.d);
  } while ((wants_code ? !r.stats.warps_compiled : !note) && now() - begin < 60);
  assert_int_equal(go(&r, MX_JIT_AUTO, 0), MX_OK);
  assert_null(mx_device_note(r.d));
  end(&r);
  return note;
}
static void no_cache(void **state) {
  (void)state;
  NEEDS_CODE();
  once("", 0);
  once("/proc/no such folder", 0);
  int fd = open(in_folder("a file"), O_CREAT | O_WRONLY, 0600);
  close(fd);
  once(in_folder("a file"), 0);
  char *note = note_of(NULL, in_folder("a file"), true);
  assert_non_null(note);
  assert_non_null(strstr(note, "it is not a folder"));
  free(note);
}

static char *script(const char *name, const char *text) {
  char *path = strdup(in_folder(name));
  FILE *f = fopen(path, "w");
  fprintf(f, "#!/bin/sh\n%s\n", text);
  fclose(f);
  chmod(path, 0700);
  return path;
}
static void compilers_that_fail(void **state) {
  (void)state;
  NEEDS_CODE();
  char *bad[] = {strdup("/nonexistent/mx-jitc"), script("fails", "echo it does not work >&2; exit 1"),
                 script("dies", "kill -9 $$"), script("lies", "exit 0"),
                 script("garbage", "while [ \"$1\" != -o ]; do shift; done; head -c 5000 /dev/zero > \"$2\"")};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    struct run r;
    start(&r, 64, bad[k], in_folder("bad"));
    assert_int_equal(go(&r, MX_JIT_ON, 0), MX_JIT_FAILURE);
    char *why = mx_last_error_text(r.d);
    assert_non_null(why);
    if (k == 1) assert_non_null(strstr(why, "it does not work"));
    free(why);
    for (int again = 0; again < 2; again++) {
      assert_int_equal(go(&r, MX_JIT_AUTO, 0), MX_OK);
      assert_memory_equal(r.got, expected[1], sizeof r.got);
    }
    end(&r);
    free(bad[k]);
  }
}
static void one_note(void **state) {
  (void)state;
  NEEDS_CODE();
  setenv("MX_JIT_TIMEOUT", "0.2", 1);
  const struct {
    const char *compiler, *says;
  } bad[] = {{"/nonexistent/mx-jitc", "not found"},
             {script("n1", "echo it does not work >&2; exit 1"), "it does not work"},
             {script("n2", "kill -9 $$"), "was killed"},
             {script("n3", "sleep 100"), "took too long"},
             {script("n4", "while :; do :; done"), "took too long"},
             {script("n5", "exit 0"), "wrote nothing"},
             {script("n6", "while [ \"$1\" != -o ]; do shift; done; head -c 5000 /dev/zero > \"$2\""),
              "wrote a truncated or corrupt result"}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    char *note = note_of(bad[k].compiler, "", false);
    assert_non_null(note);
    assert_non_null(strstr(note, "'work' stays in the interpreter"));
    assert_non_null(strstr(note, bad[k].says));
    free(note);
    if (k) free((char *)bad[k].compiler);
  }
  unsetenv("MX_JIT_TIMEOUT");
}
/* The real compiler, and what happens to its result, "$2", before it is looked at. */
static char *real_compiler(void) {
  static char path[600];
  char *exe = realpath("/proc/self/exe", NULL), *cut = strstr(exe, "/tests/unit/");
  assert_non_null(cut);
  snprintf(path, sizeof path, "%.*s/mx-jitc", (int)(cut - exe), exe);
  free(exe);
  return path;
}
static char *spoiler(const char *name, const char *then) {
  char *line;
  assert_true(
      asprintf(&line, "'%s' \"$@\" || exit\nwhile [ \"$1\" != -o ]; do shift; done\n%s", real_compiler(), then) > 0);
  char *path = script(name, line);
  free(line);
  return path;
}
static void expect_nothing_kept(const char *dir) {
  DIR *d = opendir(dir);
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) assert_true(*e->d_name == '.' || !strcmp(e->d_name, "costs"));
  closedir(d);
}
/* What is not whole, or no code though it is signed, is neither loaded nor kept. */
static void spoiled_results(void **state) {
  (void)state;
  NEEDS_CODE();
  int fd = open(in_folder("signed"), O_RDWR | O_CREAT, 0600);
  const struct mx_jit_signature signature = mx__jit_sign("\177ELF and no more", 16);
  assert_int_equal(write(fd, "\177ELF and no more", 16), 16);
  assert_int_equal(write(fd, &signature, sizeof signature), sizeof signature);
  close(fd);
  char *swap;
  assert_true(asprintf(&swap, "cat '%s' > \"$2\"", in_folder("signed")) > 0);
  const struct {
    char *compiler;
    const char *says;
  } bad[] = {
      {spoiler("s1", "truncate -s -1 \"$2\""), "truncated or corrupt"},
      {spoiler("s2", "truncate -s -3000 \"$2\""), "truncated or corrupt"},
      {spoiler("s3", "truncate -s 40 \"$2\""), "truncated or corrupt"},
      {spoiler("s4", "tail -c 40 \"$2\" > \"${0%/*}/end\"; truncate -s -3000 \"$2\"; cat \"${0%/*}/end\" >> \"$2\""),
       "truncated or corrupt"},
      {spoiler("s5", "printf x | dd of=\"$2\" bs=1 seek=2000 conv=notrunc 2> /dev/null"), "truncated or corrupt"},
      {spoiler("s6", ": > \"$2\""), "wrote nothing"},
      {spoiler("s7", swap), "cannot be loaded"}};
  char *dir = strdup(in_folder("spoiled"));
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    struct run r;
    start(&r, 64, bad[k].compiler, dir);
    assert_int_equal(go(&r, MX_JIT_ON, 0), MX_JIT_FAILURE);
    char *why = mx_last_error_text(r.d);
    if (!strstr(why, bad[k].says)) fail_msg("%s", why);
    free(why);
    end(&r);
    expect_nothing_kept(dir);
    free(bad[k].compiler);
  }
  free(swap);
  free(dir);
}
/* What happens to an entry later is nothing to who has loaded it. */
static void entries_cut_short_in_use(void **state) {
  (void)state;
  NEEDS_CODE();
  char *dir = strdup(in_folder("in use"));
  once(dir, 0);
  for (int other = 0; other < 2; other++) { /* what was compiled, what came from the cache */
    struct run r;
    start(&r, 64, NULL, dir);
    assert_int_equal(go(&r, MX_JIT_ON, 0), MX_OK);
    assert_int_equal(truncate(only_entry(dir), 0), 0);
    assert_int_equal(go(&r, MX_JIT_ON, 0), MX_OK);
    assert_memory_equal(r.got, expected[1], sizeof r.got);
    end(&r);
  }
  free(dir);
}
static void *interrupt_soon(void *device) {
  nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
  mx_device_interrupt(device);
  return NULL;
}
/* A launch that waits for its code ends as any other. */
static void waiting_ends(void **state) {
  (void)state;
  NEEDS_CODE();
  char *again;
  assert_true(asprintf(&again, "[ -e \"${0%%/*}/ready\" ] && exec '%s' \"$@\"\nexec sleep 1000", real_compiler()) > 0);
  char *slow = script("slow", again);
  struct run r;
  start(&r, 64, slow, "");
  const uint32_t n = THREADS;
  const void *args[] = {&r.out, &n};
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = 8, c.block[0] = 128, c.jit = MX_JIT_ON, c.timeout = 0.1;
  const double begin = now();
  assert_int_equal(mx_launch_args(r.k, &c, args, 2), MX_TIME_LIMIT);
  char *why = mx_last_error_text(r.d);
  assert_non_null(strstr(why, "its code was being compiled"));
  free(why);
  c.timeout = 0;
  pthread_t t;
  assert_int_equal(pthread_create(&t, NULL, interrupt_soon, r.d), 0);
  assert_int_equal(mx_launch_args(r.k, &c, args, 2), MX_INTERRUPTED);
  pthread_join(t, NULL);
  assert_true(now() - begin < 30);
  int fd = open(in_folder("ready"), O_CREAT | O_WRONLY, 0600);
  close(fd);
  assert_int_equal(go(&r, MX_JIT_ON, 0), MX_OK); /* it has not been given up */
  assert_memory_equal(r.got, expected[1], sizeof r.got);
  end(&r);
  free(slow);
  free(again);
}
/* Waiting for a processor is no work. */
static void slow_machine(void **state) {
  (void)state;
  NEEDS_CODE();
  char *line;
  assert_true(asprintf(&line, "sleep 3.2\nexec '%s' \"$@\"", real_compiler()) > 0);
  char *slow = script("waits", line);
  setenv("MX_JIT_TIMEOUT", "3", 1);
  struct run r;
  start(&r, 64, slow, "");
  assert_int_equal(go(&r, MX_JIT_ON, 0), MX_OK);
  end(&r);
  unsetenv("MX_JIT_TIMEOUT");
  free(slow);
  free(line);
}
/* The compiler works, its result cannot be kept: code all the same, and a note. */
static void full_disk(void **state) {
  (void)state;
  NEEDS_CODE();
  /* this process may write files of 12 KiB, less than an entry needs; the compiler may write more */
  char *line;
  assert_true(asprintf(&line, "ulimit -S -f unlimited; exec '%s' \"$@\"", real_compiler()) > 0);
  char *compiler = script("roomy", line), *cache = strdup(in_folder("full"));
  struct rlimit was, small;
  getrlimit(RLIMIT_FSIZE, &was);
  small = was;
  small.rlim_cur = 12 << 10;
  setrlimit(RLIMIT_FSIZE, &small);
  char *note = note_of(compiler, cache, true);
  setrlimit(RLIMIT_FSIZE, &was);
  assert_non_null(note);
  assert_non_null(strstr(note, "is not kept in"));
  char command[700];
  snprintf(command, sizeof command, "test -z \"$(ls -A '%s' | grep -v '^costs$')\"",
           cache); /* nothing half-written stays */
  assert_int_equal(system(command), 0);
  free(note);
  free(cache);
  free(compiler);
  free(line);
}
/* A search path without one of the compiler's own helpers. */
static void without_tool(const char *there) {
  char *tools = strdup(in_folder(there ? there : "no tools")), *path = strdup(getenv("PATH"));
  assert_int_equal(mkdir(tools, 0700), 0);
  if (there) {
    char *link, *target;
    assert_true(asprintf(&link, "%s/%s", tools, there) > 0 && asprintf(&target, "/usr/bin/%s", there) > 0);
    assert_int_equal(access(target, X_OK), 0);
    assert_int_equal(symlink(target, link), 0);
    free(link);
    free(target);
  }
  setenv("PATH", tools, 1);
  char *note = note_of(NULL, "", false);
  setenv("PATH", path, 1);
  assert_non_null(note);
  assert_non_null(strstr(note, "stays in the interpreter"));
  free(note);
  free(path);
  free(tools);
}
static void no_assembler(void **state) {
  (void)state;
  NEEDS_CODE();
  without_tool(NULL);
}
static void no_linker(void **state) {
  (void)state;
  NEEDS_CODE();
  without_tool("as");
}
/* A folder in which nothing can be written. Modes do not stop root; the kernel's own file systems do, where they are
 * mounted, and else a file where a folder should be. */
static char *unwritable(void) {
  static const char *const kernels[] = {"/sys/kernel", "/proc/self"};
  char *dir = strdup(in_folder("read only"));
  if (geteuid()) {
    assert_int_equal(mkdir(dir, 0500), 0);
    return dir;
  }
  for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
    if (!access(kernels[k], F_OK)) return free(dir), strdup(kernels[k]);
  close(open(dir, O_CREAT | O_WRONLY, 0600));
  return dir;
}
/* A folder that can be read but not written: code all the same, and a note. */
static void read_only(void **state) {
  (void)state;
  NEEDS_CODE();
  char *dir = unwritable();
  once(dir, 0);
  char *note = note_of(NULL, dir, true);
  assert_non_null(note);
  assert_non_null(strstr(note, "is not kept in"));
  free(note);
  free(dir);
}
/* Beyond the folder's size the entries that were not used for the longest time go. */
static void eviction(void **state) {
  (void)state;
  NEEDS_CODE();
  char *dir = strdup(in_folder("small"));
  setenv("MX_CACHE_MIB", "1", 1);
  once(dir, 0);
  char *entry = strdup(only_entry(dir)), *old;
  assert_true(asprintf(&old, "%s/%032d.so", dir, 7) > 0);
  int fd = open(old, O_CREAT | O_WRONLY, 0600);
  assert_int_equal(ftruncate(fd, 1 << 20), 0);
  assert_int_equal(futimens(fd, (struct timespec[2]){{.tv_sec = 1000}, {.tv_sec = 1000}}), 0);
  close(fd);
  assert_int_equal(truncate(entry, 100), 0); /* so that it is made anew */
  once(dir, 0);
  assert_int_equal(access(old, F_OK), -1);
  once(dir, 1);
  unsetenv("MX_CACHE_MIB");
  free(old);
  free(entry);
  free(dir);
}
/* A compiler that never ends does not keep the device from going. */
static void compiler_that_hangs(void **state) {
  (void)state;
  NEEDS_CODE();
  char *path = script("hangs", "sleep 100");
  struct run r;
  start(&r, 64, path, "");
  const double begin = now();
  while (now() - begin < 1) { /* long enough for it to be started */
    assert_int_equal(go(&r, MX_JIT_AUTO, 0), MX_OK);
    assert_memory_equal(r.got, expected[1], sizeof r.got);
  }
  end(&r);
  assert_true(now() - begin < 20);
  free(path);
}
/* Without being asked to, a kernel that costs much gets compiled code in the background. */
static void until_compiled(uint32_t blocks, size_t cells) {
  struct run r;
  start(&r, 64, NULL, "");
  const double begin = now();
  do {
    assert_int_equal(go_blocks(&r, blocks, MX_JIT_AUTO, 0), MX_OK);
    assert_memory_equal(r.got, expected[1], cells * sizeof *r.got);
  } while (!r.stats.warps_compiled && now() - begin < 60);
  assert_true(r.stats.warps_compiled > 0);
  end(&r);
}
static void by_itself(void **state) {
  (void)state;
  NEEDS_CODE();
  until_compiled(8, THREADS + 64);
}
/* Also if no launch is long enough to be looked at. */
static void short_launches(void **state) {
  (void)state;
  NEEDS_CODE();
  until_compiled(1, 128);
}

/* Code of the second must not be taken for that of the first, which lay at the same place. */
static void two_modules(void **state) {
  (void)state;
  NEEDS_CODE();
  struct run r;
  start(&r, 64, NULL, "");
  assert_int_equal(go(&r, MX_JIT_ON, 0), MX_OK);
  assert_memory_equal(r.got, expected[1], sizeof r.got);
  assert_int_equal(mx_module_unload(r.m), MX_OK);
  char *t = text_of(32);
  assert_int_equal(mx_module_load_text(r.d, t, strlen(t), NULL, &r.m, NULL), MX_OK);
  free(t);
  assert_int_equal(mx_module_kernel(r.m, "work", &r.k), MX_OK);
  assert_int_equal(go(&r, MX_JIT_ON, 0), MX_OK);
  assert_memory_equal(r.got, expected[0], sizeof r.got);
  end(&r);
}

/* A function whose address lies in memory only, and one whose address another kernel has put there. */
static const char through_memory[] =
    ".target mx64\n"
    ".func (.param .b32 r) slow (.param .b32 n)\n{\n"
    "  .reg .b32 %n, %h;\n  .reg .pred %p;\n  ld.param.b32 %n, [n];\n  mov.u32 %h, 1;\n"
    "L:\n  mad.lo.u32 %h, %h, 31, %n;\n  sub.u32 %n, %n, 1;\n  setp.ne.u32 %p, %n, 0;\n  @%p bra L;\n  st.param.b32 "
    "[r], %h;\n  ret;\n}\n"
    ".func (.param .b32 r) twin (.param .b32 n)\n{\n"
    "  .reg .b32 %n, %h;\n  .reg .pred %p;\n  ld.param.b32 %n, [n];\n  mov.u32 %h, 1;\n"
    "L:\n  mad.lo.u32 %h, %h, 31, %n;\n  sub.u32 %n, %n, 1;\n  setp.ne.u32 %p, %n, 0;\n  @%p bra L;\n  st.param.b32 "
    "[r], %h;\n  ret;\n}\n"
    ".global .u64 table[2] = {slow};\n"
    ".entry put ()\n{\n  .reg .b64 %f;\n  mov.u64 %f, twin;\n  st.global.u64 [table + 8], %f;\n  exit;\n}\n"
    ".entry work (.param .u64 out, .param .u32 which)\n{\n"
    "  .reg .b64 %f, %a;\n  .reg .u32 %v, %t, %w;\n  mov.u32 %t, %tid.x;\n  add.u32 %v, %t, 500;\n"
    "  ld.param.u32 %w, [which];\n  mul.wide.u32 %a, %w, 8;\n  ld.global.u64 %f, [table + %a];\n"
    "  { .param .b32 a; .param .b32 r;\n  st.param.b32 [a], %v;\n  prototype: .callprototype (.param .b32 _) _ (.param "
    ".b32 _);\n"
    "  call (r), %f, (a), prototype;\n  ld.param.b32 %v, [r]; }\n  ld.param.u64 %a, [out];\n  st.global.u32 [%a + "
    "%t*4], %v;\n  exit;\n}\n";
static void called_through_memory(void **state) {
  (void)state;
  NEEDS_CODE();
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  o.threads = 1, o.cache_dir = "";
  mx_device *d;
  mx_module *m;
  mx_kernel *k = load(&o, through_memory, "work", &d, &m), *put;
  mx_addr out;
  assert_int_equal(mx_module_kernel(m, "put", &put), MX_OK);
  assert_int_equal(mx_alloc(d, 256, &out), MX_OK);
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = 1, c.block[0] = 1, c.jit = MX_JIT_OFF;
  assert_int_equal(mx_launch(put, &c, NULL, 0), MX_OK);
  c.block[0] = 64, c.jit = MX_JIT_ON;
  for (uint32_t which = 0; which < 2; which++) {
    uint32_t got[64];
    const void *args[] = {&out, &which};
    assert_int_equal(mx_launch_args(k, &c, args, 2), MX_OK);
    mx_launch_stats s = {.struct_size = sizeof s};
    assert_int_equal(mx_device_stats(d, &s), MX_OK);
    assert_true(s.steps_compiled * 10 > s.steps * 9);
    assert_int_equal(mx_copy_from_device(d, got, out, sizeof got), MX_OK);
    for (uint32_t t = 0; t < 64; t++) {
      uint32_t h = 1;
      for (uint32_t n = t + 500; n; n--) h = h * 31 + n;
      assert_int_equal(got[t], h);
    }
  }
  mx_device_destroy(d);
}

/* Addresses of all shapes: rows that begin in front of the first lane that runs, one address a chunk, columns, numbers
 * and pointers that a loop moves up and down, with barriers in between. Blocks of 16 x 16. */
static const char shapes[] =
    ".shared .align 16 .b8 tile[4352];\n"
    ".entry shapes(.param .u64 out, .param .u32 n)\n{\n"
    "  mov.u32 %x, %tid.x;\n  mov.u32 %y, %tid.y;\n  mad.lo.u32 %t, %y, 16, %x;\n"
    "  mad.lo.u32 %i, %ctaid.x, 256, %t;\n"
    "  mul.lo.u32 %v, %i, 2654435761;\n  mul.lo.u32 %at, %x, 68;\n  shl.b32 %down, %y, 2;\n  add.u32 %at, %at, %down;\n"
    "  st.shared.u32 [%at + tile], %v;\n  bar.sync 0;\n" /* a column each row */
    "  shl.b32 %row, %y, 6;\n  shl.b32 %column, %x, 2;\n  mov.u32 %k, 0;\n  mov.u32 %s, 0;\n"
    "steps:\n  ld.shared.u32 %a, [%row + tile + 4];\n  ld.shared.u32 %b, [%column + tile + 128];\n"
    "  mad.lo.u32 %s, %a, %b, %s;\n  setp.ge.u32 %in, %t, %k;\n  sub.u32 %from, %t, %k;\n  mov.u32 %c, 7;\n"
    "  @%in ld.shared.u32 %c, [tile + %from*4];\n  xor.b32 %s, %s, %c;\n  bar.sync 0;\n"
    "  st.shared.u32 [%at + tile], %s;\n  bar.sync 0;\n"
    "  add.u32 %k, %k, 3;\n  setp.lt.u32 %more, %k, 40;\n  @%more bra steps;\n"
    "  mov.u32 %j, %i;\n  mul.wide.u32 %p, %i, 4;\n  add.u64 %p, %out, %p;\n"
    "up:\n  setp.ge.u32 %end, %j, %n;\n  @%end bra turn;\n  ld.global.u32 %c, [%out + %j*4];\n  add.u32 %s, %s, %c;\n"
    "  add.u32 %j, %j, 64;\n  bra up;\n"
    "turn:\n  mov.u32 %k, 0;\n  and.b32 %few, %t, 3;\n"
    "back:\n  st.global.u32 [%p], %s;\n  add.s64 %p, %p, 4096;\n  add.u32 %k, %k, 1;\n  setp.le.u32 %more, %k, %few;\n "
    " @%more bra back;\n"
    "  exit;\n}\n";
static void addresses(void **state) {
  (void)state;
  NEEDS_CODE();
  enum { BLOCKS = 4, WORDS = 256 * BLOCKS + 4 * 1024 };
  static uint32_t got[2][WORDS];
  for (int on = 0; on < 2; on++) {
    mx_device *d;
    mx_module *m;
    mx_addr out;
    mx_device_options o = MX_DEVICE_OPTIONS_INIT;
    o.threads = 1;
    o.cache_dir = "";
    mx_kernel *k = load(&o, shapes, "shapes", &d, &m);
    assert_int_equal(mx_alloc(d, sizeof got[0], &out), MX_OK);
    for (uint32_t w = 0; w < WORDS; w++) got[on][w] = w * 40503u;
    assert_int_equal(mx_copy_to_device(d, out, got[on], sizeof got[on]), MX_OK);
    mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
    c.grid[0] = BLOCKS;
    c.block[0] = c.block[1] = 16;
    c.jit = on ? MX_JIT_ON : MX_JIT_OFF;
    const uint32_t n = 256 * BLOCKS - 5;
    const void *args[] = {&out, &n};
    assert_int_equal(mx_launch_args(k, &c, args, 2), MX_OK);
    assert_int_equal(mx_copy_from_device(d, got[on], out, sizeof got[on]), MX_OK);
    mx_device_destroy(d);
  }
  assert_memory_equal(got[0], got[1], sizeof got[0]);
}

/* Warps that end in compiled code begin the next ones there, until one needs a split of its own: here each odd one asks
 * for its number and clock, the third may call, the last has not all its lanes, and some loop for longer than a slice
 * or leave it apart. */
static const char warps[] =
    ".func (.reg .u32 %r) twice(.reg .u32 %v)\n{\n  add.u32 %r, %v, %v;\n  ret;\n}\n"
    ".entry warps(.param .u64 out, .param .u32 bad, .param .u32 turns, .param .u32 calls)\n{\n"
    "  mad.lo.u32 %i, %ctaid.x, %ntid.x, %tid.x;\n  shr.u32 %w, %tid.x, 6;\n  mov.u32 %s, %i;\n"
    "  and.b32 %k, %w, 1;\n  setp.eq.u32 %p, %k, 0;\n  @%p bra even;\n"
    "  mov.u32 %k, %warpid;\n  mov.u32 %l, %clock;\n  mad.lo.u32 %s, %k, 977, %l;\n"
    "even:\n  setp.ne.u32 %p, %w, %calls;\n  @%p bra loop;\n  call (%s), twice, (%s);\n"
    "loop:\n  mov.u32 %k, 0;\n  and.b32 %few, %tid.x, 3;\n  mad.lo.u32 %few, %few, %turns, %w;\n"
    "again:\n  add.u32 %s, %s, %k;\n  add.u32 %k, %k, 1;\n  setp.le.u32 %p, %k, %few;\n  @%p bra again;\n"
    "  setp.eq.u32 %p, %i, %bad;\n  mov.u32 %at, %i;\n  @%p mov.u32 %at, 10000000;\n"
    "  st.global.u32 [%out + %at*4], %s;\n  exit;\n}\n";
static void warp_after_warp(void **state) {
  (void)state;
  NEEDS_CODE();
  enum { BLOCKS = 3, THREADS_OF_BLOCK = 300, WORDS = BLOCKS * THREADS_OF_BLOCK };
  for (uint32_t way = 0; way < 4; way++)
    for (uint32_t bad = 0; bad <= WORDS; bad += 75) { /* the last: none is */
      const uint32_t turns = way & 1 ? 600 : 1, calls = way & 2 ? 2 : 100;
      uint32_t got[2][WORDS] = {{0}};
      mx_launch_stats stats[2] = {{.struct_size = sizeof *stats}, {.struct_size = sizeof *stats}};
      mx_trap_info trap[2] = {{.struct_size = sizeof *trap}, {.struct_size = sizeof *trap}};
      for (int on = 0; on < 2; on++) {
        mx_device *d;
        mx_module *m;
        mx_addr out;
        mx_device_options o = MX_DEVICE_OPTIONS_INIT;
        o.threads = 1;
        o.cache_dir = in_folder("warps");
        mx_kernel *k = load(&o, warps, "warps", &d, &m);
        assert_int_equal(mx_alloc(d, sizeof got[0], &out), MX_OK);
        mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
        c.grid[0] = BLOCKS;
        c.block[0] = THREADS_OF_BLOCK;
        c.jit = on ? MX_JIT_ON : MX_JIT_OFF;
        const void *args[] = {&out, &bad, &turns, &calls};
        assert_int_equal(mx_launch_args(k, &c, args, 4), bad < WORDS ? MX_TRAPPED : MX_OK);
        assert_int_equal(mx_device_stats(d, &stats[on]), MX_OK);
        if (bad < WORDS) assert_int_equal(mx_device_trap(d, &trap[on]), MX_OK);
        else assert_int_equal(mx_copy_from_device(d, got[on], out, sizeof got[on]), MX_OK);
        mx_device_destroy(d);
      }
      assert_memory_equal(got[0], got[1], sizeof got[0]);
      assert_int_equal(stats[0].steps, stats[1].steps);
      assert_int_equal(trap[0].warp, trap[1].warp);
      assert_int_equal(trap[0].lanes, trap[1].lanes);
      assert_int_equal(trap[0].pc, trap[1].pc);
      assert_memory_equal(trap[0].block, trap[1].block, sizeof trap[0].block);
      if (bad < WORDS) {
        assert_int_equal(trap[1].block[0], bad / THREADS_OF_BLOCK);
        assert_int_equal(trap[1].warp, bad % THREADS_OF_BLOCK / 64);
        continue;
      }
      assert_int_equal(stats[0].warps, stats[1].warps);
      assert_int_equal(stats[1].warps_compiled, 5 * BLOCKS);
      assert_int_equal(stats[1].exits[MX_EXIT_DONE], 5 * BLOCKS);
    }
}

/* Small functions and those that are called once are built where they are called, whatever is in them: early returns,
 * loops, memory of all kinds, calls; under masks too. No call leaves compiled code, but where the slice ends there, or
 * no frame is left. */
static const char calling[] =
    ".version 9.0\n.target mx64\n.address_size 64\n"
    ".func (.param .b32 r) mix(.param .b32 a, .param .b32 b)\n{\n"
    "  .reg .b32 %a, %b, %t;\n  .reg .pred %p;\n  ld.param.b32 %a, [a];\n  ld.param.b32 %b, [b];\n"
    "  xor.b32 %t, %a, %b;\n  setp.gt.u32 %p, %t, 1000;\n  @%p add.u32 %t, %t, %a;\n  st.param.b32 [r], %t;\n  "
    "ret;\n}\n"
    /* returns early, or goes round a loop of its lane's length, reading memory */
    ".func (.param .b32 r) sum(.param .b64 at, .param .b32 n)\n{\n"
    "  .reg .b32 %n, %s, %v;\n  .reg .b64 %a;\n  .reg .pred %p;\n  ld.param.b64 %a, [at];\n  ld.param.b32 %n, [n];\n  "
    "mov.u32 %s, 0;\n"
    "  setp.ne.u32 %p, %n, 0;\n  @%p bra L;\n  mov.u32 %s, 77;\n  st.param.b32 [r], %s;\n  ret;\n"
    "L:\n  ld.global.u32 %v, [%a];\n  add.u32 %s, %s, %v;\n  add.u64 %a, %a, 4;\n  sub.u32 %n, %n, 1;\n  setp.ne.u32 "
    "%p, %n, 0;\n  @%p bra L;\n"
    "  { .param .b32 x; .param .b32 y; .param .b32 q;\n  st.param.b32 [x], %s;\n  st.param.b32 [y], %v;\n"
    "  call (q), mix, (x, y);\n  ld.param.b32 %s, [q]; }\n  st.param.b32 [r], %s;\n  ret;\n}\n"
    /* has local memory of its own */
    ".func (.param .b32 r) pick(.param .b32 v, .param .b32 n)\n{\n"
    "  .local .align 4 .b8 t[32];\n  .reg .b32 %v, %n, %a;\n  ld.param.b32 %v, [v];\n  ld.param.b32 %n, [n];\n"
    "  .reg .b64 %t, %d;\n  mov.u64 %t, t;\n  st.local.u32 [%t], %v;\n  not.b32 %v, %v;\n  st.local.u32 [%t+4], %v;\n  "
    "st.local.u32 [%t+8], %n;\n"
    "  rem.u32 %n, %n, 3;\n  mul.wide.u32 %d, %n, 4;\n  add.u64 %t, %t, %d;\n  ld.local.u32 %a, [%t];\n  st.param.b32 "
    "[r], %a;\n  ret;\n}\n"
    ".visible .entry work(.param .u64 out, .param .u32 n)\n{\n"
    "  .local .align 4 .b8 own[16];\n  .reg .b32 %i, %t, %k, %s, %n, %c;\n  .reg .b64 %o, %a, %l;\n  .reg .pred %p, "
    "%q;\n"
    "  ld.param.u64 %o, [out];\n  ld.param.u32 %n, [n];\n  mov.u32 %i, %tid.x;\n  mov.u32 %k, 0;\n  mov.u32 %s, %i;\n"
    "  mov.u64 %l, own;\n  st.local.u32 [%l+4], %i;\n"
    "L:\n  and.b32 %t, %s, 3;\n  setp.eq.u32 %p, %t, 1;\n  @%p bra ODD;\n"
    "  { .param .b32 x; .param .b32 y; .param .b32 r;\n  st.param.b32 [x], %s;\n  st.param.b32 [y], %k;\n"
    "  call (r), pick, (x, y);\n  ld.param.b32 %s, [r]; }\n"
    "  setp.eq.u32 %q, %t, 2;\n  @%q bra ODD;\n"
    "  and.b32 %c, %s, 7;\n  add.u32 %c, %c, %n;\n"
    "  { .param .b64 x; .param .b32 y; .param .b32 r;\n  st.param.b64 [x], %o;\n  st.param.b32 [y], %c;\n"
    "  call (r), sum, (x, y);\n  ld.param.b32 %s, [r]; }\n"
    "ODD:\n  ld.local.u32 %t, [%l+4];\n  add.u32 %s, %s, %t;\n  mad.lo.u32 %s, %s, 5, %k;\n  add.u32 %k, %k, 1;\n  "
    "setp.lt.u32 %p, %k, 3000;\n  @%p bra L;\n"
    "  mul.wide.u32 %a, %i, 4;\n  add.u64 %a, %o, %a;\n  add.u64 %a, %a, 256;\n  st.global.u32 [%a], %s;\n  exit;\n}\n";
static void calls_in_line(void **state) {
  (void)state;
  NEEDS_CODE();
  enum { LANES = 64 };
  const struct {
    uint64_t depth;
    uint32_t n;
    mx_status status;
  } runs[] = {{1, 0, MX_TRAPPED}, {2, 0, MX_TRAPPED}, {3, 0, MX_OK}, {512, 0, MX_OK}, {512, 2 * LANES, MX_TRAPPED}};
  for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
    static uint32_t out[2][2 * LANES];
    mx_launch_stats stats[2];
    char *text[2] = {NULL, NULL};
    for (int e = 0; e < 2; e++) {
      mx_device_options o = MX_DEVICE_OPTIONS_INIT;
      o.cache_dir = "";
      o.threads = 1;
      mx_device *d;
      mx_module *m;
      mx_kernel *k = load(&o, calling, "work", &d, &m);
      assert_int_equal(mx_limit_set(d, MX_LIMIT_CALL_DEPTH, runs[r].depth), MX_OK);
      mx_addr memory;
      assert_int_equal(mx_alloc(d, sizeof out[e], &memory), MX_OK);
      for (uint32_t i = 0; i < 2 * LANES; i++) out[e][i] = i * 0x9E3779B9u;
      assert_int_equal(mx_copy_to_device(d, memory, out[e], sizeof out[e]), MX_OK);
      const void *args[] = {&memory, &runs[r].n};
      mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
      c.block[0] = LANES;
      c.jit = e ? MX_JIT_ON : MX_JIT_OFF;
      assert_int_equal(mx_launch_args(k, &c, args, 2), runs[r].status);
      stats[e] = (mx_launch_stats){.struct_size = sizeof stats[e]};
      mx_device_stats(d, &stats[e]);
      if (runs[r].status == MX_OK) mx_copy_from_device(d, out[e], memory, sizeof out[e]);
      else text[e] = mx_last_error_text(d);
      mx_device_destroy(d);
    }
    assert_int_equal(stats[1].steps, stats[0].steps);
    if (runs[r].status != MX_OK) assert_string_equal(text[1], text[0]);
    else {
      assert_memory_equal(out[0], out[1], sizeof *out);
      assert_true(stats[1].exits[MX_EXIT_CALL] <=
                  (runs[r].depth == 3 ? 3000 : 12)); /* at the end of a slice; without room for all of them */
    }
    free(text[0]), free(text[1]);
  }
}

/* A block that needs the machine once, here for a call through an address and for lanes that end one by one, goes on in
 * compiled code from the next barrier on at which all its warps have arrived: the machine executes few instructions,
 * and no barrier behind that. */
static void blocks_come_back(void **state) {
  (void)state;
  NEEDS_CODE();
  static const char text[] =
      ".version 9.0\n.target mx64\n.address_size 64\n"
      ".func (.param .b32 r) one(.param .b32 a)\n{\n  .reg .b32 %a;\n  ld.param.b32 %a, [a];\n  add.u32 %a, %a, 3;\n  "
      "st.param.b32 [r], %a;\n  ret;\n}\n"
      ".visible .entry work(.param .u64 out, .param .u32 n)\n{\n"
      "  .shared .align 4 .b8 s[1024];\n  .reg .b32 %i, %t, %k, %s, %n, %x;\n  .reg .b64 %o, %a, %f, %m, %d;\n  .reg "
      ".pred %p;\n"
      "  ld.param.u64 %o, [out];\n  ld.param.u32 %n, [n];\n  mov.u32 %i, %tid.x;\n  mov.u64 %f, one;\n  mov.u64 %m, "
      "s;\n"
      "  mul.wide.u32 %a, %i, 4;\n  add.u64 %m, %m, %a;\n  add.u64 %o, %o, %a;\n  mov.u32 %k, 0;\n  mov.u32 %s, %i;\n"
      "L:\n  st.shared.u32 [%m], %s;\n  bar.sync 0;\n"
      "  xor.b32 %x, %i, 1;\n  mul.wide.u32 %d, %x, 4;\n  mov.u64 %a, s;\n  add.u64 %a, %a, %d;\n  ld.shared.u32 %t, "
      "[%a];\n  mad.lo.u32 %s, %s, 5, %t;\n"
      "  setp.ne.u32 %p, %k, 5;\n  @%p bra ON;\n"
      "  { .param .b32 x; .param .b32 r;\n  st.param.b32 [x], %s;\n  prot: .callprototype (.param .b32 _) _ (.param "
      ".b32 _);\n"
      "  call (r), %f, (x), prot;\n  ld.param.b32 %s, [r]; }\n"
      "  rem.u32 %t, %i, %n;\n  setp.eq.u32 %p, %t, 7;\n  @%p exit;\n"
      "ON:\n  bar.sync 0;\n  add.u32 %k, %k, 1;\n  setp.lt.u32 %p, %k, 400;\n  @%p bra L;\n  st.global.u32 [%o], %s;\n "
      " exit;\n}\n";
  static const struct { uint32_t block, n; } runs[] = {{64, 1000}, {256, 1000}, {200, 1000}, {256, 100}};
  for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
    uint32_t out[2][256] = {{0}};
    mx_launch_stats stats[2];
    for (int e = 0; e < 2; e++) {
      mx_device_options o = MX_DEVICE_OPTIONS_INIT;
      o.cache_dir = "";
      mx_device *d;
      mx_module *m;
      mx_addr memory;
      mx_kernel *k = load(&o, text, "work", &d, &m);
      assert_int_equal(mx_alloc(d, sizeof *out, &memory), MX_OK);
      const void *args[] = {&memory, &runs[r].n};
      mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
      c.block[0] = runs[r].block;
      c.jit = e ? MX_JIT_ON : MX_JIT_OFF;
      assert_int_equal(mx_launch_args(k, &c, args, 2), MX_OK);
      stats[e] = (mx_launch_stats){.struct_size = sizeof stats[e]};
      mx_device_stats(d, &stats[e]);
      mx_copy_from_device(d, out[e], memory, sizeof *out);
      mx_device_destroy(d);
    }
    assert_memory_equal(out[0], out[1], sizeof *out);
    assert_int_equal(stats[1].steps, stats[0].steps);
    assert_true(stats[1].steps - stats[1].steps_compiled < 100); /* of 4 warps; 800 barriers each */
  }
}

/* An indirect call leaves compiled code in each turn of a loop, with much that lives across it: the interpreter is
 * faster, gets the kernel back in the launch in which that shows, and keeps it, unless compiled code is demanded. */
static void slower_code(void **state) {
  (void)state;
  NEEDS_CODE();
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
  print_message("a sanitizer's checks slow the interpreter down, and not compiled code\n");
  skip();
#endif
  enum { KEPT = 40, THREADS_OF_BLOCK = 256, BLOCKS = 64 };
  char *text, *before = NULL, *behind = NULL;
  for (int r = 0; r < KEPT; r++) {
    char *more;
    assert_true(asprintf(&more, "%s  mad.lo.u32 %%v%d, %%i, %d, %d;\n", before ? before : "", r, 2 * r + 3, r) > 0);
    free(before), before = more;
    assert_true(asprintf(&more, "%s  xor.b32 %%s, %%s, %%v%d;\n", behind ? behind : "", r) > 0);
    free(behind), behind = more;
  }
  assert_true(
      asprintf(&text,
               ".version 9.0\n.target mx64\n.address_size 64\n"
               ".func (.param .b32 r) one(.param .b32 a)\n{\n  .reg .b32 %%a;\n  ld.param.b32 %%a, [a];\n  add.u32 "
               "%%a, %%a, 3;\n  st.param.b32 [r], %%a;\n  ret;\n}\n"
               ".visible .entry work(.param .u64 out, .param .u32 n)\n{\n"
               "  .reg .b32 %%i, %%t, %%k, %%s, %%n, %%v<%d>;\n  .reg .b64 %%o, %%a, %%f;\n  .reg .pred %%p;\n"
               "  ld.param.u64 %%o, [out];\n  ld.param.u32 %%n, [n];\n  mov.u32 %%k, %%ctaid.x;\n  mov.u32 %%t, "
               "%%ntid.x;\n  mov.u32 %%i, %%tid.x;\n"
               "  mad.lo.u32 %%i, %%k, %%t, %%i;\n  mov.u64 %%f, one;\n  mov.u32 %%k, 0;\n  mov.u32 %%s, %%i;\n%s"
               "L:\n  { .param .b32 x; .param .b32 r;\n  st.param.b32 [x], %%s;\n  prot: .callprototype (.param .b32 "
               "_) _ (.param .b32 _);\n"
               "  call (r), %%f, (x), prot;\n  ld.param.b32 %%s, [r]; }\n"
               "  add.u32 %%k, %%k, 1;\n  setp.lt.u32 %%p, %%k, %%n;\n  @%%p bra L;\n%s"
               "  mul.wide.u32 %%a, %%i, 4;\n  add.u64 %%a, %%o, %%a;\n  st.global.u32 [%%a], %%s;\n  exit;\n}\n",
               KEPT, before, behind) > 0);
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  o.cache_dir = "";
  mx_device *d;
  mx_module *m;
  mx_addr out;
  static uint32_t got[2][BLOCKS * THREADS_OF_BLOCK];
  mx_kernel *k = load(&o, text, "work", &d, &m);
  assert_int_equal(mx_alloc(d, sizeof *got, &out), MX_OK);
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.grid[0] = BLOCKS;
  c.block[0] = THREADS_OF_BLOCK;
  mx_launch_stats s = {.struct_size = sizeof s};
  for (int way = 0; way < 4; way++) { /* until it is known; what follows; a demand; the interpreter alone */
    const uint32_t turns = way ? 100 : 1000;
    const void *args[] = {&out, &turns};
    c.jit = way == 2 ? MX_JIT_ON : way == 3 ? MX_JIT_OFF : MX_JIT_AUTO;
    int launches = 0;
    do {
      assert_int_equal(mx_launch_args(k, &c, args, 2), MX_OK);
      assert_int_equal(mx_device_stats(d, &s), MX_OK);
    } while (!way && s.tier != MX_TIER_SLOWER && ++launches < 40);
    if (way < 2) assert_int_equal(s.tier, MX_TIER_SLOWER), assert_true(s.compiled_ns > s.interpreted_ns);
    if (way == 1) assert_int_equal(s.steps_compiled, 0);
    if (way == 2) assert_true(s.steps_compiled > 0);
    if (way > 1) assert_int_equal(mx_copy_from_device(d, got[way - 2], out, sizeof *got), MX_OK);
  }
  assert_memory_equal(got[0], got[1], sizeof *got);
  mx_device_destroy(d);
  free(text), free(before), free(behind);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_in_both_engines),
      cmocka_unit_test(cache_entries),
      cmocka_unit_test(no_cache),
      cmocka_unit_test(levels),
      cmocka_unit_test(compilers_that_fail),
      cmocka_unit_test(compiler_that_hangs),
      cmocka_unit_test(by_itself),
      cmocka_unit_test(short_launches),
      cmocka_unit_test(one_note),
      cmocka_unit_test(full_disk),
      cmocka_unit_test(no_assembler),
      cmocka_unit_test(no_linker),
      cmocka_unit_test(read_only),
      cmocka_unit_test(eviction),
      cmocka_unit_test(two_modules),
      cmocka_unit_test(addresses),
      cmocka_unit_test(warp_after_warp),
      cmocka_unit_test(spoiled_results),
      cmocka_unit_test(entries_cut_short_in_use),
      cmocka_unit_test(waiting_ends),
      cmocka_unit_test(slow_machine),
      cmocka_unit_test(called_through_memory),
      cmocka_unit_test(slower_code),
      cmocka_unit_test(calls_in_line),
      cmocka_unit_test(blocks_come_back),
  };
  return cmocka_run_group_tests(tests, reference, clean);
}
