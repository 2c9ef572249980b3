/* Driver: makes random divergent programs, runs them through the machine, compares memory with the reference, and makes
 * failing programs small. Or writes programs with their expected memory as launch manifests. */
#include "machine.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct options {
  uint64_t seed, count;
  unsigned lanes;   /* 0: both in turn */
  unsigned percent; /* size of programs */
  const char *emit;
  bool text, no_shrink, tracked_masks;
  struct machine_options machine;
};

static int usage(const char *what) {
  fprintf(stderr, "oracle: %s\nTry 'oracle --help'\n", what);
  return 2;
}

static const char help[] =
    "oracle --count 1000                       programs 1 to 1000 on the interpreter, 32 and 64 lanes in turn\n"
    "oracle --seed 77 --lanes 64 --jit=on      one program on compiled code\n"
    "oracle --seed 77 --lanes 64 --text        its text\n"
    "oracle --count 20 --emit DIR              texts, memory and launch manifests\n"
    "\n"
    "  --seed N         first seed (1)\n"
    "  --count N        how many programs (1)\n"
    "  --lanes 32|64    lanes of a warp (both in turn)\n"
    "  --size PERCENT   of the usual length (100): a seed's program is another one at each size\n"
    "  --jit=on|off|all engine (off); all: interpreter, compiled code, stress mode, one after the other\n"
    "  --jit-stress=S   change engines at random safepoints; S (1) is mixed with each program's seed\n"
    "  --threads N      worker threads (1)\n"
    "  --jitc PATH      the compiler process (where the library looks)\n"
    "  --no-shrink      report failing programs as they are\n"
    "  --tracked-masks  record tracked masks in place of activemask (for hardware that promises no reconvergence)\n"
    "  --emit DIR       write instead of running\n"
    "  --text           print the text instead of running\n";

static char *text_of(const struct program *p, const struct result *r, const struct options *o, size_t *size) {
  struct emit_options e = {.observe_masks = !o->tracked_masks};
  return program_text(p, &r->at, &e, size);
}

struct walk {
  struct stmt **list;
  unsigned n, capacity;
};
static void collect(struct walk *w, struct list *l) {
  for (struct stmt *s = l->first; s; s = s->next) {
    if (w->n == w->capacity) {
      w->capacity = w->capacity ? 2 * w->capacity : 64;
      w->list = realloc(w->list, w->capacity * sizeof *w->list);
      if (!w->list) abort();
    }
    w->list[w->n++] = s;
    for (unsigned i = 0; i < s->nsub; i++) collect(w, &s->sub[i]);
    for (unsigned b = 0; s->graph && b < s->graph->nblocks; b++) collect(w, &s->graph->blocks[b].body);
  }
}

/* Takes away what holds only where lanes meet as structured code says and sides run in a fixed order. */
static void expect_less(struct program *p) {
  struct walk w = {0};
  for (unsigned f = 0; f < p->nfuncs; f++) collect(&w, &p->funcs[f].body);
  for (unsigned i = 0; i < w.n; i++) w.list[i]->dropped |= w.list[i]->kind == S_ORDER || w.list[i]->kind == S_ABALLOT;
  free(w.list);
  p->together = p->order = false;
}

/* A seed names one program: the first of its variants that the reference accepts. */
static struct program *program_of(uint64_t seed, unsigned lanes, const struct options *o, struct result *r) {
  for (uint64_t variant = 0;; variant++) {
    struct program *p = program_generate(seed + (variant << 40), lanes, o->percent);
    p->seed = seed;
    if (o->tracked_masks) expect_less(p);
    bool ok = reference_run(p, r);
    if (ok && p->together && r->edges > SLICE) {
      expect_less(p);
      result_free(r);
      ok = reference_run(p, r);
    }
    if (ok) return p;
    result_free(r);
    program_free(p);
  }
}

/* ---- shrinking: drop statements, then blocks and warps, while it still fails ------------------------------*/
static bool still_fails(struct machine *m, struct program *p, const struct options *o, char **why) {
  struct result r = {0};
  bool fails = false;
  char *now = NULL;
  if (reference_run(p, &r)) {
    size_t size;
    char *text = text_of(p, &r, o, &size);
    fails = !machine_check(m, p, &r, text, size, &now);
    free(text);
  }
  result_free(&r);
  if (fails) {
    free(*why);
    *why = now;
  } else free(now);
  return fails;
}

static void shrink(struct machine *m, struct program *p, const struct options *o, char **why) {
  struct walk w = {0};
  for (unsigned f = 0; f < p->nfuncs; f++) collect(&w, &p->funcs[f].body);
  struct program was = *p;
  p->blocks = 1;
  if (!still_fails(m, p, o, why)) p->blocks = was.blocks;
  p->threads = p->threads > p->lanes ? p->lanes : p->threads;
  p->full = p->threads % p->lanes == 0;
  if (!still_fails(m, p, o, why)) p->threads = was.threads, p->full = was.full;
  for (unsigned chunk = w.n / 2 ? w.n / 2 : 1, changed = 1; changed || chunk > 1; chunk = chunk > 1 ? chunk / 2 : 1) {
    changed = 0;
    for (unsigned i = 0; i < w.n; i += chunk) {
      unsigned tried = 0;
      bool *had = calloc(chunk, 1);
      if (!had) abort();
      for (unsigned k = 0; k < chunk && i + k < w.n; k++)
        if (!w.list[i + k]->dropped) w.list[i + k]->dropped = had[k] = true, tried++;
      if (tried && still_fails(m, p, o, why)) changed = 1;
      else
        for (unsigned k = 0; k < chunk; k++)
          if (had[k]) w.list[i + k]->dropped = false;
      free(had);
    }
  }
  free(w.list);
}

/* ---- writing -----------------------------------------------------------------------------------------------*/
static bool write_file(const char *dir, const char *name, const char *tail, const void *bytes, size_t size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s%s", dir, name, tail);
  FILE *f = fopen(path, "wb");
  bool ok = f && fwrite(bytes, 1, size, f) == size;
  if (f && fclose(f)) ok = false;
  if (!ok) fprintf(stderr, "oracle: %s: %s\n", path, strerror(errno));
  return ok;
}

static bool emit(const struct program *p, const struct result *r, const struct options *o) {
  char name[64], manifest[1024];
  const char *ext = p->lanes == 64 ? ".mxs" : ".ptx";
  size_t size;
  char *text = text_of(p, r, o, &size);
  snprintf(name, sizeof name, "oracle%u_%llu", p->lanes, (unsigned long long)p->seed);
  int n = snprintf(manifest, sizeof manifest,
                   "name %s\nptx %s%s\nkernel oracle\ngrid %u 1 1\nblock %u 1 1\nshared 0\npoison 165\nstack 4096\n"
                   "arg inout %s.in0.bin\narg out %u\nexpect %s.out0.bin exact\nexpect %s.out1.bin exact\n",
                   name, name, ext, p->blocks, p->threads, name, r->at.trace_bytes, name, name);
  bool ok = write_file(o->emit, name, ext, text, size) && write_file(o->emit, name, ".launch", manifest, (size_t)n) &&
            write_file(o->emit, name, ".in0.bin", r->mem_in, r->at.mem_bytes) &&
            write_file(o->emit, name, ".out0.bin", r->mem, r->at.mem_bytes) &&
            write_file(o->emit, name, ".out1.bin", r->trace, r->at.trace_bytes);
  free(text);
  return ok;
}

/* ---- main ----------------------------------------------------------------------------------------------------*/
static bool number(const char *s, uint64_t *v) {
  char *end;
  errno = 0;
  *v = strtoull(s, &end, 0);
  return *s && !*end && !errno;
}

static int run(const struct options *o) {
  struct machine *m = NULL;
  uint64_t passed = 0, failed = 0;
  bool ok = true;
  if (!o->emit && !o->text && !(m = machine_open(&o->machine))) {
    fprintf(stderr, "oracle: no machine\n");
    return 4;
  }
  if (o->emit && mkdir(o->emit, 0777) && errno != EEXIST) return usage("cannot make the folder");
  for (uint64_t i = 0; i < o->count && ok; i++) {
    uint64_t seed = o->seed + i;
    struct result r = {0};
    struct program *p = program_of(seed, o->lanes ? o->lanes : seed & 1 ? 32 : 64, o, &r);
    size_t size;
    char *why = NULL;
    if (o->emit) {
      ok = emit(p, &r, o);
      passed++;
    } else {
      char *text = text_of(p, &r, o, &size);
      if (o->text) {
        fwrite(text, 1, size, stdout);
      } else if (machine_check(m, p, &r, text, size, &why)) {
        passed++;
      } else {
        failed++;
        printf("seed %llu, %u lanes: %s\n", (unsigned long long)seed, p->lanes, why);
        if (!o->no_shrink) {
          free(text);
          shrink(m, p, o, &why);
          result_free(&r);
          reference_run(p, &r);
          text = text_of(p, &r, o, &size);
          printf("made small: %s\n", why);
          fwrite(text, 1, size, stdout);
        }
        fflush(stdout);
      }
      free(text);
    }
    free(why);
    result_free(&r);
    program_free(p);
  }
  if (o->text) return 0;
  if (m) {
    uint64_t all, compiled;
    machine_warps(m, &all, &compiled);
    if (all) printf("%llu of %llu warps ran compiled code\n", (unsigned long long)compiled, (unsigned long long)all);
    if (compiled * 100 < all * 99) {
      printf("that is less than 99 %%\n");
      failed++;
    }
  }
  machine_close(m);
  printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
  return ok && !failed ? 0 : 1;
}

int main(int argc, char **argv) {
  struct options o = {.seed = 1, .count = 1, .percent = 100, .machine = {.threads = 1}};
  enum { NO_SHRINK = 1, TRACKED_MASKS, TEXT, JIT, STRESS, EMIT, JITC, SEED, COUNT, THREADS, LANES, SIZE };
  static const struct option longs[] = {{"help", 0, 0, 'h'},
                                        {"no-shrink", 0, 0, NO_SHRINK},
                                        {"tracked-masks", 0, 0, TRACKED_MASKS},
                                        {"text", 0, 0, TEXT},
                                        {"jit", 1, 0, JIT},
                                        {"jit-stress", 1, 0, STRESS},
                                        {"emit", 1, 0, EMIT},
                                        {"jitc", 1, 0, JITC},
                                        {"seed", 1, 0, SEED},
                                        {"count", 1, 0, COUNT},
                                        {"threads", 1, 0, THREADS},
                                        {"lanes", 1, 0, LANES},
                                        {"size", 1, 0, SIZE},
                                        {0}};
  bool good = true;
  for (int c; good && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1;) {
    uint64_t n = 0;
    if (c == STRESS || c >= SEED) good = c == 'h' || c == '?' || number(optarg, &n);
    if (good) switch (c) {
      case 'h': fputs(help, stdout); return 0;
      case NO_SHRINK: o.no_shrink = true; break;
      case TRACKED_MASKS: o.tracked_masks = true; break;
      case TEXT: o.text = true; break;
      case JIT:
        if (!strcmp(optarg, "all")) o.machine.all = true;
        else if ((good = !strcmp(optarg, "on") || !strcmp(optarg, "off"))) o.machine.jit = optarg[1] == 'n';
        break;
      case STRESS: o.machine.stress = n, o.machine.jit = true; break;
      case EMIT: o.emit = optarg; break;
      case JITC: o.machine.jit_compiler = optarg; break;
      case SEED: o.seed = n; break;
      case COUNT: o.count = n; break;
      case THREADS: o.machine.threads = (unsigned)n; break;
      case LANES: good = n == 32 || n == 64, o.lanes = (unsigned)n; break;
      case SIZE: good = n >= 1 && n <= 100, o.percent = (unsigned)n; break;
      default: good = false;
      }
  }
  if (!good || optind != argc) return usage("unknown option or bad value");
  if (o.machine.all && !o.machine.stress) o.machine.stress = 1;
  return run(&o);
}
