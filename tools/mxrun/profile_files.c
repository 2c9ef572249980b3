/* mxrun profile --coverage and --trace-events: two formats of other programs. */
#include "profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- coverage: lcov's tracefile ---------------------------------------------------------------------------------
 * A record for each source file. DA counts executions by warps; the two ways of a branch count lanes. */
static int by_file(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Names of files, each once; returned: how many. */
static size_t files_of(const struct profiled *p, const char ***files) {
  size_t n = 0, all = 0, kept = 0;
  for (size_t k = 0; k < p->nkernels; k++) n += p->kernels[k].nlines;
  *files = cli_alloc((n + 1) * sizeof **files);
  for (size_t k = 0; k < p->nkernels; k++)
    for (size_t l = 0; l < p->kernels[k].nlines; l++)
      if (p->kernels[k].lines[l].file && p->kernels[k].lines[l].line) (*files)[all++] = p->kernels[k].lines[l].file;
  qsort(*files, all, sizeof **files, by_file);
  for (size_t f = 0; f < all; f++)
    if (!kept || strcmp((*files)[kept - 1], (*files)[f])) (*files)[kept++] = (*files)[f];
  return kept;
}

struct covered {
  uint32_t line, number; /* number: of a branch in its line */
  uint64_t taken, not_taken;
  const char *function;
};
static int by_line(const void *a, const void *b) {
  const struct covered *x = a, *y = b;
  if (x->line != y->line) return x->line < y->line ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}
/* Entries of the same line and number become one; returned: how many there are then. */
static size_t merge(struct covered *c, size_t n) {
  size_t kept = 0;
  qsort(c, n, sizeof *c, by_line);
  for (size_t k = 0; k < n; k++)
    if (kept && !by_line(&c[kept - 1], &c[k])) {
      c[kept - 1].taken += c[k].taken;
      c[kept - 1].not_taken += c[k].not_taken;
    } else c[kept++] = c[k];
  return kept;
}

static void cover_functions(struct text *t, const struct profiled *p, const char *file) {
  size_t found = 0, hit = 0;
  for (size_t k = 0; k < p->nkernels; k++) {
    const struct profile_kernel *kernel = &p->kernels[k];
    for (size_t n = 0; n < kernel->k.instructions; n++) {
      const mx_profile_instruction *i = &kernel->insns[n];
      if ((n && !strcmp(kernel->insns[n - 1].function, i->function)) || !i->file || strcmp(i->file, file)) continue;
      text_printf(t, "FN:%u,%s\nFNDA:%" PRIu64 ",%s\n", i->line, i->function, i->executed, i->function);
      found++, hit += i->executed != 0;
    }
  }
  text_printf(t, "FNF:%zu\nFNH:%zu\n", found, hit);
}
static void cover_branches(struct text *t, const struct profiled *p, const char *file) {
  size_t n = 0, found = 0, hit = 0;
  for (size_t k = 0; k < p->nkernels; k++) found += p->kernels[k].k.instructions;
  struct covered *c = cli_alloc((found + 1) * sizeof *c);
  for (size_t k = 0; k < p->nkernels; k++)
    for (size_t i = 0, number = 0; i < p->kernels[k].k.instructions; i++) {
      const mx_profile_instruction *of = &p->kernels[k].insns[i];
      if (i && of[-1].line != of->line) number = 0;
      if (!of->branch || !of->file || strcmp(of->file, file)) continue;
      c[n++] = (struct covered){of->line, (uint32_t)number++, of->on, of->active - of->on, NULL};
    }
  n = merge(c, n);
  found = 2 * n;
  for (size_t k = 0; k < n; k++) {
    hit += !!c[k].taken + !!c[k].not_taken;
    for (unsigned way = 0; way < 2; way++)
      if (!(c[k].taken | c[k].not_taken)) text_printf(t, "BRDA:%u,%u,%u,-\n", c[k].line, c[k].number, way);
      else
        text_printf(t, "BRDA:%u,%u,%u,%" PRIu64 "\n", c[k].line, c[k].number, way, way ? c[k].not_taken : c[k].taken);
  }
  text_printf(t, "BRF:%zu\nBRH:%zu\n", found, hit);
  free(c);
}
static void cover_lines(struct text *t, const struct profiled *p, const char *file) {
  size_t n = 0, hit = 0;
  for (size_t k = 0; k < p->nkernels; k++) n += p->kernels[k].nlines;
  struct covered *c = cli_alloc((n + 1) * sizeof *c);
  n = 0;
  for (size_t k = 0; k < p->nkernels; k++)
    for (size_t l = 0; l < p->kernels[k].nlines; l++) {
      const struct profile_line *line = &p->kernels[k].lines[l];
      if (line->file && line->line && !strcmp(line->file, file))
        c[n++] = (struct covered){line->line, 0, line->executions, 0, NULL};
    }
  n = merge(c, n);
  for (size_t k = 0; k < n; k++) {
    text_printf(t, "DA:%u,%" PRIu64 "\n", c[k].line, c[k].taken);
    hit += c[k].taken != 0;
  }
  text_printf(t, "LF:%zu\nLH:%zu\n", n, hit);
  free(c);
}

void profile_coverage(struct text *t, const struct profiled *p) {
  const char **files;
  const size_t n = files_of(p, &files);
  for (size_t f = 0; f < n; f++) {
    char *path = realpath(files[f], NULL);
    text_printf(t, "TN:mx\nSF:%s\n", path ? path : files[f]);
    free(path);
    cover_functions(t, p, files[f]);
    cover_branches(t, p, files[f]);
    cover_lines(t, p, files[f]);
    text_printf(t, "end_of_record\n");
  }
  free(files);
}

/* ---- trace events: what Perfetto and chrome://tracing open --------------------------------------------------------
 * Process 1 is the host, in wall time: a thread for each stream, and for each worker. Process 2 + n is launch n, in
 * which a microsecond is one warp instruction: a thread for each warp. */
static void event(struct text *t, bool *first, const char *name, uint64_t pid, uint64_t tid, double begin,
                  double took) {
  text_printf(t, "%s\n{\"ph\": \"X\", \"name\": ", *first ? "" : ",");
  text_json(t, name);
  text_printf(t, ", \"pid\": %" PRIu64 ", \"tid\": %" PRIu64 ", \"ts\": %.3f, \"dur\": %.3f", pid, tid, begin, took);
  *first = false;
}
static void name(struct text *t, bool *first, const char *what, uint64_t pid, uint64_t tid, const char *text) {
  text_printf(t,
              "%s\n{\"ph\": \"M\", \"name\": \"%s\", \"pid\": %" PRIu64 ", \"tid\": %" PRIu64 ", \"args\": {\"name\": ",
              *first ? "" : ",", what, pid, tid);
  text_json(t, text);
  text_printf(t, "}}");
  *first = false;
}
static void named(struct text *t, bool *first, const char *what, uint64_t pid, uint64_t tid, char *text) {
  name(t, first, what, pid, tid, text);
  free(text);
}

enum { HOST = 1, LAUNCHES = 2, WORKERS = 1000000, WARPS = 64 };
void profile_events(struct text *t, const struct profiled *p) {
  bool first = true;
  const size_t n = mx_profile_event_count(p->profile);
  text_printf(t, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
  name(t, &first, "process_name", HOST, 0, "host: streams and workers");
  for (size_t k = 0; k < n; k++) {
    mx_profile_event e = {.struct_size = sizeof e};
    if (mx_profile_get_event(p->profile, k, &e) != MX_OK) break;
    const uint64_t launch = LAUNCHES + (uint64_t)e.launch, warp = e.block * WARPS + e.warp;
    char *text = NULL;
    switch (e.kind) {
    case MX_PROFILE_LAUNCH:
      named(t, &first, "process_name", launch, 0,
            format("launch %u: %s, 1 us is a warp instruction", e.launch, e.kernel));
      named(t, &first, "thread_name", HOST, e.stream,
            e.stream ? format("stream %" PRIu64, e.stream) : format("default stream"));
      event(t, &first, e.kernel, HOST, e.stream, (double)e.begin / 1e3, (double)(e.end - e.begin) / 1e3);
      text_printf(t, ", \"args\": {\"launch\": %u}}", e.launch);
      break;
    case MX_PROFILE_BLOCK:
      named(t, &first, "thread_name", HOST, WORKERS + e.worker, format("worker %u", e.worker));
      text = format("block %" PRIu64, e.block);
      event(t, &first, text, HOST, WORKERS + e.worker, (double)e.begin_ns / 1e3, (double)(e.end_ns - e.begin_ns) / 1e3);
      text_printf(t, ", \"args\": {\"launch\": %u, \"instructions\": %" PRIu64 "}}", e.launch, e.end);
      break;
    case MX_PROFILE_WARP:
      named(t, &first, "thread_name", launch, warp, format("block %" PRIu64 " warp %u", e.block, e.warp));
      event(t, &first, "runs", launch, warp, (double)e.begin, (double)(e.end - e.begin));
      text_printf(t, "}");
      break;
    default:
      event(t, &first, e.kind == MX_PROFILE_WAIT ? "waits at barrier" : "lanes diverged", launch, warp, (double)e.begin,
            (double)(e.end - e.begin));
      text_printf(t, ", \"args\": {\"line\": %u, \"file\": ", e.line);
      text_json(t, e.file ? e.file : "");
      text_printf(t, "}}");
    }
    free(text);
  }
  text_printf(t, "\n]}\n");
}
