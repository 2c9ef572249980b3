/* Launches that options of `mxrun exec` single out; it passes the options on in the environment. --record-launch writes
 * the n-th launch of a kernel as a manifest, with the memory of its device, for `mxrun test` to repeat; --break does
 * the same and runs a debugging session on that copy before the launch; --trap-info prints all that is known of a trap.
 * Without these options nothing in this file is called but rt_watches. */
#include "rt.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* KERNEL:N */
struct wish {
  char *kernel;
  uint64_t number;
  bool done;
};
static struct {
  bool any, trap_info;
  struct wish stop, record;
  const char *folder;   /* of the recording */
  const char *debugger; /* mxrun */
} wishes;

/* ---- what is wished ---------------------------------------------------------------------------------------------*/
static bool wish_of(const char *name, struct wish *w) {
  const char *text = getenv(name), *colon = text ? strrchr(text, ':') : NULL;
  if (!text || !*text) return false;
  char *end = NULL;
  const bool numbered = colon && colon[1] >= '0' && colon[1] <= '9';
  w->number = numbered ? strtoull(colon + 1, &end, 10) : 1;
  const bool whole = numbered && !*end;
  w->kernel = strndup(text, whole ? (size_t)(colon - text) : strlen(text));
  if (!whole) w->number = 1;
  return w->kernel;
}

static void not_seen(const struct wish *w) {
  if (w->kernel && !w->done) rt_say("no launch number %" PRIu64 " of a kernel '%s' has come", w->number, w->kernel);
}
static void ended(void) {
  not_seen(&wishes.stop);
  not_seen(&wishes.record);
}

static void read_wishes(void) {
  wishes.trap_info = getenv("MX_TRAP_INFO") && *getenv("MX_TRAP_INFO");
  wishes.debugger = getenv("MX_DEBUGGER");
  wishes.folder = getenv("MX_RECORD_FOLDER");
  const bool stop = wishes.debugger && wish_of("MX_BREAK", &wishes.stop),
             record = wishes.folder && wish_of("MX_RECORD_LAUNCH", &wishes.record);
  wishes.any = wishes.trap_info || stop || record;
  if (stop || record) atexit(ended);
}

bool rt_watches(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_wishes);
  return wishes.any;
}

/* The last name in a kernel's, as a programmer would write it: "scale" of "_ZN5image5scaleIfEEvPT_". *n: its length. */
static const char *plain_name(const char *name, size_t *n) {
  const char *s = name, *found = name;
  *n = strlen(name);
  if (strncmp(s, "_Z", 2)) return name;
  s += 2;
  const bool nested = *s == 'N';
  for (s += nested; *s == 'L' || (*s >= '0' && *s <= '9');) {
    char *end;
    s += *s == 'L';
    const size_t length = strtoul(s, &end, 10);
    if (!length || length > strlen(end)) break;
    found = end, *n = length;
    s = end + length;
    if (!nested) break;
  }
  return found;
}

static bool is_meant(struct wish *w, const char *name, uint64_t number) {
  size_t n;
  const char *plain = plain_name(name, &n);
  if (!w->kernel || w->done || number != w->number) return false;
  return w->done = !strcmp(w->kernel, name) || (strlen(w->kernel) == n && !memcmp(w->kernel, plain, n));
}

/* Counts a launch, and returns its number among those of kernels with the same plain name, from 1. */
static uint64_t count(const char *name) {
  static struct counter {
    struct counter *next;
    const char *name;
    size_t n;
    uint64_t launches;
  } * counters;
  size_t n;
  const char *plain = plain_name(name, &n);
  pthread_mutex_lock(&rt_lock);
  struct counter *c = counters;
  while (c && (c->n != n || memcmp(c->name, plain, n))) c = c->next;
  if (!c && (c = calloc(1, sizeof *c))) {
    *c = (struct counter){.next = counters, .name = strndup(plain, n), .n = n};
    counters = c;
  }
  const uint64_t number = c ? ++c->launches : 0;
  pthread_mutex_unlock(&rt_lock);
  return number;
}

/* ---- programs of modules ----------------------------------------------------------------------------------------*/
static struct program {
  struct program *next;
  mx_module *module;
  char *bytes;
  size_t size;
  bool is_module;
} * programs;

void rt_watch_program(mx_module *module, const char *bytes, size_t size, bool is_module) {
  if (!rt_watches()) return;
  struct program *p = malloc(sizeof *p);
  char *copy = malloc(size + 1);
  if (!p || !copy) return free(p), free(copy);
  memcpy(copy, bytes, size);
  *p = (struct program){.module = module, .bytes = copy, .size = size, .is_module = is_module};
  pthread_mutex_lock(&rt_lock);
  p->next = programs;
  programs = p;
  pthread_mutex_unlock(&rt_lock);
}

/* module NULL: all, after a reset. */
void rt_watch_forget(const mx_module *module) {
  pthread_mutex_lock(&rt_lock);
  for (struct program **at = &programs; *at;) {
    struct program *p = *at;
    if (module && p->module != module) {
      at = &p->next;
      continue;
    }
    *at = p->next;
    free(p->bytes);
    free(p);
  }
  pthread_mutex_unlock(&rt_lock);
}

static const struct program *program_of(const mx_kernel *k, const char *name) {
  mx_kernel *same;
  pthread_mutex_lock(&rt_lock);
  const struct program *p = programs;
  while (p && (mx_module_kernel(p->module, name, &same) != MX_OK || same != k)) p = p->next;
  pthread_mutex_unlock(&rt_lock);
  return p;
}

static atomic_int objects;
void rt_watch_objects(int more) { atomic_fetch_add(&objects, more); }

/* ---- writing a launch -------------------------------------------------------------------------------------------*/
struct piece { /* of memory */
  struct piece *next;
  mx_allocation_info info;
  bool constant, zeros;
  unsigned char *bytes;
};
struct recording {
  struct rt_device *d;
  const mx_kernel_info *info;
  const mx_launch_config *config;
  const struct program *program;
  mx_kernel *kernel;
  void **args;
  char stem[128]; /* of the files' names */
  const char *folder;
  struct piece *pieces;
  char *why;
};

static bool fail(struct recording *r, const char *what, const char *why) {
  if (!r->why && asprintf(&r->why, "%s: %s", what, why) < 0) r->why = NULL;
  return false;
}

static FILE *create(struct recording *r, const char *suffix) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s%s", r->folder, r->stem, suffix);
  FILE *f = fopen(path, "we");
  if (!f) fail(r, path, strerror(errno));
  return f;
}

static bool write_file(struct recording *r, const char *suffix, const void *bytes, size_t size) {
  FILE *f = create(r, suffix);
  if (!f) return false;
  const bool good = fwrite(bytes, 1, size, f) == size;
  return (fclose(f) || !good) ? fail(r, suffix, "it cannot be written") : true;
}

static bool are_zeros(const unsigned char *p, size_t n) { return !n || (!*p && !memcmp(p, p + 1, n - 1)); }

/* What the device's memory holds now. */
static bool take_memory(struct recording *r) {
  mx_allocation_info info = {.struct_size = sizeof info};
  struct piece **end = &r->pieces;
  for (mx_addr at = 0; mx_allocation_next(r->d->mx, at, &info) == MX_OK; at = info.address + info.bytes) {
    mx_addr symbol = 0;
    const bool own = info.variable && info.name &&
                     mx_module_symbol(r->program->module, info.name, &symbol, NULL) == MX_OK && symbol == info.address;
    const bool constant = info.address >> 40; /* beyond global memory */
    if (info.internal || !info.bytes || (constant && !own)) continue;
    struct piece *p = calloc(1, sizeof *p);
    if (!p || !(p->bytes = malloc(info.bytes))) return free(p), fail(r, "recording", "the host is out of memory");
    *end = p;
    end = &p->next;
    p->info = info;
    p->constant = constant;
    if (!own) p->info.name = NULL;
    if (mx_copy_from_device(r->d->mx, p->bytes, info.address, info.bytes) != MX_OK)
      return fail(r, "recording", "the device's memory cannot be read");
    p->zeros = are_zeros(p->bytes, info.bytes);
    char suffix[64];
    snprintf(suffix, sizeof suffix, ".%" PRIx64 ".before", info.address);
    if (!p->zeros && !write_file(r, suffix, p->bytes, info.bytes)) return false;
  }
  return true;
}

/* Writes a manifest's line for each piece of memory; after: with what the launch has left there. */
static bool tell_memory(struct recording *r, FILE *f, bool after) {
  for (const struct piece *p = r->pieces; p; p = p->next) {
    const mx_addr a = p->info.address;
    const size_t n = p->info.bytes;
    char before[64], behind[64];
    if (p->zeros) snprintf(before, sizeof before, "zeros:u8[%zu]", n);
    else snprintf(before, sizeof before, ".%" PRIx64 ".before", a);
    fprintf(f, "memory 0x%" PRIx64 " %s%s", a, p->zeros ? "" : r->stem, before);
    if (after && !p->constant) {
      unsigned char *now = malloc(n);
      if (!now || mx_copy_from_device(r->d->mx, now, a, n) != MX_OK)
        return free(now), fail(r, "recording", "the device's memory cannot be read");
      const bool same = !memcmp(now, p->bytes, n);
      snprintf(behind, sizeof behind, ".%" PRIx64 ".after", a);
      const bool good = same || write_file(r, behind, now, n);
      free(now);
      if (!good) return false;
      fprintf(f, " becomes %s%s", same && p->zeros ? "" : r->stem, same ? before : behind);
    }
    if (p->info.name) fprintf(f, " of %s", p->info.name);
    fputc('\n', f);
  }
  return true;
}

static void tell_argument(FILE *f, const mx_param_info *p, const unsigned char *value) {
  static const char *const integers[] = {[4] = "u32", [8] = "u64"};
  uint64_t bits = 0;
  if (p->size == 4 || p->size == 8) {
    memcpy(&bits, value, p->size);
    const bool real = *p->type == 'f';
    fprintf(f, real ? "arg %s %" PRIx64 : "arg %s 0x%" PRIx64, real ? p->type : integers[p->size], bits);
  } else {
    fprintf(f, "arg bytes ");
    for (uint32_t k = 0; k < p->size; k++) fprintf(f, "%02x", value[k]);
  }
  fprintf(f, p->name && *p->name ? "  # %s\n" : "\n", p->name);
}

static bool tell_launch(struct recording *r, const char *end, bool printed) {
  const mx_launch_config *c = r->config;
  FILE *f = create(r, ".launch");
  if (!f) return false;
  fprintf(f, "# recorded from a program\nptx %s.%s\nkernel %s\n", r->stem, r->program->is_module ? "mxb" : "ptx",
          r->info->name);
  fprintf(f, "grid %u %u %u\nblock %u %u %u\nthreads 1\n", c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
          c->block[2]);
  if (c->shared_bytes) fprintf(f, "shared %u\n", c->shared_bytes);
  if (c->cooperative) fprintf(f, "cooperative\n");
  if (c->timeout > 0) fprintf(f, "timeout %g\n", c->timeout);
  static const struct {
    mx_limit limit;
    const char *name;
  } limits[] = {
      {MX_LIMIT_STACK, "stack_bytes"}, {MX_LIMIT_HEAP, "heap_bytes"}, {MX_LIMIT_PRINTF_FIFO, "printf_fifo_bytes"}};
  for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
    uint64_t value;
    if (mx_limit_get(r->d->mx, limits[k].limit, &value) == MX_OK)
      fprintf(f, "limit %s=%" PRIu64 "\n", limits[k].name, value);
  }
  for (uint32_t k = 0; k < r->info->params; k++) {
    mx_param_info p = {.struct_size = sizeof p};
    mx_kernel_get_param(r->kernel, k, &p);
    tell_argument(f, &p, r->args[k]);
  }
  if (end) fprintf(f, "trap %s\n", end);
  if (printed) fprintf(f, "stdout %s.stdout\n", r->stem);
  const bool good = tell_memory(r, f, !end);
  return (fclose(f) || !good) ? fail(r, r->stem, "it cannot be written") : true;
}

/* Writes what has to be recorded before the launch; fails where a repetition would lack something. */
static bool begin(struct recording *r, uint64_t number) {
  size_t n;
  const char *plain = plain_name(r->info->name, &n);
  snprintf(r->stem, sizeof r->stem, "%.*s-%" PRIu64, n > 64 ? 64 : (int)n, plain, number);
  r->program = program_of(r->kernel, r->info->name);
  if (!r->program) return fail(r, r->stem, "its program is not known");
  if (rt_device_count() > 1) return fail(r, r->stem, "launches are recorded where there is one device (MX_DEVICES)");
  if (atomic_load(&objects) > 0)
    return fail(r, r->stem, "textures and surfaces, which the program has, are not recorded");
  if (mkdir(r->folder, 0777) && errno != EEXIST) return fail(r, r->folder, strerror(errno));
  return write_file(r, r->program->is_module ? ".mxb" : ".ptx", r->program->bytes, r->program->size) && take_memory(r);
}

static void release(struct recording *r) {
  for (struct piece *p; (p = r->pieces);) {
    r->pieces = p->next;
    free(p->bytes);
    free(p);
  }
  free(r->why);
}

/* ---- the wishes themselves --------------------------------------------------------------------------------------*/
static mx_status run(struct recording *r) {
  return mx_launch_args(r->kernel, r->config, (const void *const *)r->args, r->info->params);
}

static mx_status record(struct recording *r, uint64_t number) {
  mx_launch_config c = *r->config;
  c.threads = 1; /* sums of floats in one order */
  r->config = &c;
  r->folder = wishes.folder;
  bool good = begin(r, number);
  const size_t before = rt_printed(0, NULL);
  const mx_status s = run(r);
  char *text = NULL;
  const size_t n = rt_printed(before, &text);
  mx_trap_info trap = {.struct_size = sizeof trap};
  const bool trapped = s == MX_TRAPPED && mx_device_trap(r->d->mx, &trap) == MX_OK;
  const char *name = trapped ? mx_trap_kind_name(trap.kind) : s != MX_OK ? mx_status_name(s) : NULL;
  if (good && n) good = write_file(r, ".stdout", text, n);
  if (good) good = tell_launch(r, name, n);
  free(text);
  if (good) rt_say("launch %" PRIu64 " of %s is recorded: %s/%s.launch", number, r->info->name, r->folder, r->stem);
  else rt_say("launch %" PRIu64 " of %s is not recorded: %s", number, r->info->name, r->why ? r->why : "no memory");
  release(r);
  return s;
}

static void remove_files(const struct recording *r) {
  static const char *const suffixes[] = {".launch", ".ptx", ".mxb"};
  char path[4096];
  for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++) {
    snprintf(path, sizeof path, "%s/%s%s", r->folder, r->stem, suffixes[k]);
    unlink(path);
  }
  for (const struct piece *p = r->pieces; p; p = p->next) {
    snprintf(path, sizeof path, "%s/%s.%" PRIx64 ".before", r->folder, r->stem, p->info.address);
    unlink(path);
  }
  rmdir(r->folder);
}

/* Runs mxrun -i in a process of its own, on the launch that has been written to r->folder. */
static void debug(struct recording *r) {
  char path[4096], commands[4096];
  const char *given = getenv("MX_BREAK_COMMANDS");
  snprintf(path, sizeof path, "%s/%s.launch", r->folder, r->stem);
  snprintf(commands, sizeof commands, "%s", given ? given : "");
  char *words[64] = {(char *)(uintptr_t)wishes.debugger, "-i", path, "--ex", "start"};
  const size_t own = 5;
  size_t n = own;
  for (char *line = strtok(commands, "\n"); line && n < 60; line = strtok(NULL, "\n")) {
    words[n++] = "--ex";
    words[n++] = line;
  }
  if (n > own && !isatty(STDIN_FILENO)) words[n++] = "--batch"; /* the input is the program's */
  fflush(stdout);
  void (*interrupt)(int) = signal(SIGINT, SIG_IGN);
  const pid_t child = fork();
  if (!child) {
    signal(SIGINT, SIG_DFL);
    execv(wishes.debugger, words);
    _exit(127);
  }
  int status = 127 << 8;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  signal(SIGINT, interrupt);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) rt_say("%s cannot be started", wishes.debugger);
}

static void stop(struct recording *r, uint64_t number) {
  const char *where = getenv("TMPDIR");
  char folder[4096];
  snprintf(folder, sizeof folder, "%s/mx-XXXXXX", where && *where ? where : "/tmp");
  r->folder = mkdtemp(folder);
  const bool good = (r->folder || fail(r, folder, strerror(errno))) && begin(r, number) && tell_launch(r, NULL, false);
  rt_flush();
  if (good) {
    rt_say("before launch %" PRIu64 " of %s: a session on a copy of it; when that ends, the program goes on", number,
           r->info->name);
    debug(r);
  } else {
    rt_say("no session before launch %" PRIu64 " of %s: %s", number, r->info->name, r->why ? r->why : "no memory");
  }
  if (r->folder) remove_files(r);
  release(r);
}

static void tell_trap(const struct recording *r, uint64_t number) {
  mx_trap_info t = {.struct_size = sizeof t};
  const mx_launch_config *c = r->config;
  if (mx_device_trap(r->d->mx, &t) != MX_OK || t.kind == MX_TRAP_NONE) return;
  rt_say("trap: %s, %s", mx_trap_kind_name(t.kind), mx_trap_kind_text(t.kind));
  rt_say("  launch: number %" PRIu64 " of %s, grid (%u,%u,%u), block (%u,%u,%u), %u bytes of dynamic shared memory",
         number, r->info->name, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2],
         c->shared_bytes);
  for (uint32_t k = 0; k < r->info->params; k++) {
    mx_param_info p = {.struct_size = sizeof p};
    uint64_t bits = 0;
    mx_kernel_get_param(r->kernel, k, &p);
    memcpy(&bits, r->args[k], p.size < sizeof bits ? p.size : sizeof bits);
    if (p.size <= sizeof bits) rt_say("  argument %u: .%s 0x%" PRIx64, k, p.type, bits);
    else rt_say("  argument %u: %u bytes", k, p.size);
  }
  if (t.file) rt_say("  line: %s:%u", t.file, t.line);
  rt_say("  instruction: %s, word %u of %s", t.instruction ? t.instruction : "?", t.pc, t.function);
  rt_say("  who: block (%u,%u,%u), warp %u, lanes 0x%" PRIx64, t.block[0], t.block[1], t.block[2], t.warp, t.lanes);
  if (t.has_address)
    rt_say("  address: 0x%" PRIx64 ", %s of %u bytes", t.address, t.is_write ? "write" : "read", t.access_bytes);
  if (t.nearest) rt_say("  near: %s", t.nearest);
  if (t.detail) rt_say("  more: %s", t.detail);
}

mx_status rt_watch_launch(struct rt_device *d, mx_kernel *k, const mx_kernel_info *info, const mx_launch_config *c,
                          void **args) {
  const uint64_t number = count(info->name);
  struct recording r = {.d = d, .kernel = k, .info = info, .config = c, .args = args};
  mx_trap_info trap = {.struct_size = sizeof trap};
  mx_device_synchronize(d->mx); /* work of other streams must not change memory while it is recorded */
  const bool before = mx_device_trap(d->mx, &trap) == MX_OK && trap.kind != MX_TRAP_NONE;
  if (!before && is_meant(&wishes.stop, info->name, number)) stop(&r, number);
  const mx_status s = !before && is_meant(&wishes.record, info->name, number) ? record(&r, number) : run(&r);
  if (wishes.trap_info && s == MX_TRAPPED && !before) tell_trap(&r, number);
  return s;
}
