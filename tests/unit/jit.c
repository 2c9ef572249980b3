/* Compiled code against the interpreter, and everything that can go wrong on the way to it: no compiler, one that
 * fails, dies or hangs, no cache, damaged or foreign entries. Results are right in every case. */
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "jit/runtime/jit.h"

#include "compiled.h"

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
/* A program that ends with exit() while a kernel is being compiled leaves no folder, and no compiler. */
static void exit_leaves_nothing(void **state) {
  (void)state;
  NEEDS_CODE();
  char *path = script("sleeps", "echo $$ > \"$0.new\"; mv \"$0.new\" \"${0%/*}/number\"; sleep 100"),
       *left = strdup(in_folder("left"));
  char *number = strdup(in_folder("number"));
  assert_int_equal(mkdir(left, 0700), 0);
  fflush(NULL);
  const pid_t child = fork();
  if (!child) {
    static struct run r; /* reached from here, so not leaked */
    setenv("TMPDIR", left, 1);
    start(&r, 64, path, "");
    const double begin = now();
    while (access(number, F_OK) && now() - begin < 60) go(&r, MX_JIT_AUTO, 0);
    exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(rmdir(left), 0); /* it is empty */
  FILE *f = fopen(number, "r");
  assert_non_null(f);
  int compiler = 0;
  assert_int_equal(fscanf(f, "%d", &compiler), 1);
  fclose(f);
  assert_int_equal(kill(compiler, 0), -1);
  free(number);
  free(left);
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
  assert_int_equal(load_text(r.d, t, NULL, &r.m), MX_OK);
  free(t);
  assert_int_equal(mx_module_kernel(r.m, "work", &r.k), MX_OK);
  assert_int_equal(go(&r, MX_JIT_ON, 0), MX_OK);
  assert_memory_equal(r.got, expected[0], sizeof r.got);
  end(&r);
}

/* The compiler's input and output become its descriptors 3 and 4. While several threads compile, any number may come
 * free between the making of one file and the next: the output's was 3 now and then, and the input took its place. */
static void numbers_of_the_compilers_files(void **state) {
  (void)state;
  const pid_t child = fork();
  if (!child) {
    close(MX_JIT_INPUT);
    close(MX_JIT_OUTPUT);
    const int fd = mx__jit_memory("mx-code", "x", 1);
    _exit(fd > MX_JIT_OUTPUT && fcntl(MX_JIT_INPUT, F_GETFD) < 0 && fcntl(MX_JIT_OUTPUT, F_GETFD) < 0 ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_in_both_engines),
      cmocka_unit_test(cache_entries),
      cmocka_unit_test(no_cache),
      cmocka_unit_test(levels),
      cmocka_unit_test(compilers_that_fail),
      cmocka_unit_test(compiler_that_hangs),
      cmocka_unit_test(exit_leaves_nothing),
      cmocka_unit_test(by_itself),
      cmocka_unit_test(short_launches),
      cmocka_unit_test(one_note),
      cmocka_unit_test(full_disk),
      cmocka_unit_test(no_assembler),
      cmocka_unit_test(no_linker),
      cmocka_unit_test(read_only),
      cmocka_unit_test(eviction),
      cmocka_unit_test(two_modules),
      cmocka_unit_test(spoiled_results),
      cmocka_unit_test(entries_cut_short_in_use),
      cmocka_unit_test(waiting_ends),
      cmocka_unit_test(slow_machine),
      cmocka_unit_test(numbers_of_the_compilers_files),
  };
  return cmocka_run_group_tests(tests, reference, clean);
}
