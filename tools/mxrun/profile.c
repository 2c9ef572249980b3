/* mxrun profile on a terminal: a summary of each kernel, and the source with columns, hottest lines first. */
#include "profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the terminal ---------------------------------------------------------------------------------------------*/
static double percent(uint64_t part, uint64_t of) { return of ? 100.0 * (double)part / (double)of : 0; }

/* 1234567 as 1,234,567. */
static const char *grouped(uint64_t n, char *s) {
  char digits[32];
  const int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
  char *to = s;
  for (int k = 0; k < length; k++) {
    if (k && (length - k) % 3 == 0) *to++ = ',';
    *to++ = digits[k];
  }
  *to = 0;
  return s;
}
/* In at most six columns. */
static const char *brief(uint64_t n, char *s) {
  static const char units[] = "kMGTPE";
  double v = (double)n;
  int unit = -1;
  if (n < 100000) return snprintf(s, 32, "%" PRIu64, n), s;
  while (v >= 1000 && unit < 5) v /= 1000, unit++;
  snprintf(s, 32, v < 10 ? "%.2f%c" : v < 100 ? "%.1f%c" : "%.0f%c", v, units[unit]);
  return s;
}
static const char *brief_or_none(uint64_t n, char *s) { return n ? brief(n, s) : (strcpy(s, ""), s); }

/* Eight columns from few lanes to all: how often so many were active. */
static void occupancy(struct text *t, const mx_profile_instruction *i, uint32_t lanes) {
  static const char levels[] = " .:-=+*#";
  uint64_t part[8] = {0}, most = 0;
  for (uint32_t k = 1; k <= lanes; k++) part[(k - 1) * 8 / lanes] += i->histogram[k];
  for (unsigned k = 0; k < 8; k++) most = part[k] > most ? part[k] : most;
  for (unsigned k = 0; k < 8; k++)
    text_printf(t, "%c", !part[k] ? levels[0] : levels[1 + (unsigned)(6.0 * (double)part[k] / (double)most)]);
}

static void mix(struct text *t, const struct profile_kernel *k) {
  struct {
    const char *family;
    uint64_t n;
  } of[32];
  size_t n = 0;
  for (size_t i = 0; i < k->k.instructions; i++) {
    size_t f = 0;
    while (f < n && strcmp(of[f].family, k->insns[i].family)) f++;
    if (f == n && n < sizeof of / sizeof *of) of[n].family = k->insns[i].family, of[n++].n = 0;
    if (f < n) of[f].n += k->insns[i].executed;
  }
  for (bool first = true;; first = false) {
    size_t best = n;
    for (size_t f = 0; f < n; f++)
      if (of[f].n && (best == n || of[f].n > of[best].n)) best = f;
    if (best == n) break;
    text_printf(t, "%s%s %.1f %%", first ? "" : ", ", of[best].family, percent(of[best].n, k->k.executed));
    of[best].n = 0;
  }
}

static const char *plural(uint64_t n, const char *end) { return n == 1 ? "" : end; }
static void summary(struct text *t, const struct profile_kernel *p) {
  const mx_profile_kernel *k = &p->k;
  const mx_profile_instruction *s = &p->sum;
  char a[32], b[32], c[32], d[32], e[32], f[32];
  text_printf(t, "kernel %s: %" PRIu64 " launch%s, %s block%s, %s warp%s of %u lanes\n", k->name, k->launches,
              plural(k->launches, "es"), grouped(k->blocks, a), plural(k->blocks, "s"), grouped(k->warps, b),
              plural(k->warps, "s"), k->lanes);
  text_printf(t, "  executed     %s warp instructions, %.1f %% of them compiled; %.1f of %u lanes active\n",
              grouped(k->executed, a), percent(k->executed_compiled, k->executed), mean_lanes(s), k->lanes);
  text_printf(t, "  divergence   %s branch%s diverged; %.1f %% of lanes waited elsewhere\n", grouped(k->splits, a),
              plural(k->splits, "es"), percent(s->live - s->active, s->live));
  if (s->arrivals)
    text_printf(t, "  barriers     %s arrivals, which waited %.1f %% of the warps' time\n", grouped(s->arrivals, a),
                percent(k->waited, k->warp_sum));
  if (k->blocks)
    text_printf(t, "  imbalance    blocks took %s to %s instructions, mean %s; warps %s to %s, mean %s\n",
                grouped(k->block_least, a), grouped(k->block_most, b),
                grouped((k->block_sum + k->blocks / 2) / k->blocks, c), grouped(k->warp_least, d),
                grouped(k->warp_most, e), grouped((k->warp_sum + k->warps / 2) / k->warps, f));
  if (s->sectors)
    text_printf(t, "  memory       %s bytes moved in %s sectors of 32 bytes; the fewest possible: %s\n",
                grouped(k->bytes, a), grouped(s->sectors, b), grouped(s->sectors_least, c));
  if (s->passes_least)
    text_printf(t, "  shared       %s passes without conflicts; conflicts: %s with 32 banks, %s with 64\n",
                grouped(s->passes_least, a), grouped(s->conflicts32, b), grouped(s->conflicts64, c));
  if (s->atomics)
    text_printf(t, "  atomics      %s of lanes, %.1f %% at an address of a lane before it\n", grouped(s->atomics, a),
                percent(s->same_address, s->atomics));
  text_printf(t, "  arithmetic   %s floating-point operations", grouped(k->floating, a));
  if (k->bytes) text_printf(t, ", %.3g for each byte", (double)k->floating / (double)k->bytes);
  text_printf(t, "\n  mix          ");
  mix(t, p);
  text_printf(t, "\n");
  const char *comma = "  left code    ";
  for (unsigned n = 1; n < 8; n++)
    if (k->exits[n]) text_printf(t, "%s%s %s", comma, grouped(k->exits[n], a), exit_names[n]), comma = ", ";
  if (*comma == ',') text_printf(t, "\n");
}

static const struct profile_kernel *sorting;
static int hotter(const void *a, const void *b) {
  const size_t *x = a, *y = b;
  const uint64_t m = sorting->lines[*x].sum.executed, n = sorting->lines[*y].sum.executed;
  return m > n ? -1 : m < n ? 1 : *x < *y ? -1 : *x > *y;
}

/* From the colour of nothing much to that of what takes most. */
static void heat(struct text *t, double share, bool color) {
  static const unsigned char scale[] = {245, 229, 221, 214, 208, 202, 196};
  const unsigned at = share <= 0.5 ? 0
                      : share < 2  ? 1
                      : share < 5  ? 2
                      : share < 10 ? 3
                      : share < 20 ? 4
                      : share < 40 ? 5
                                   : 6;
  if (color) text_printf(t, "\033[38;5;%um", scale[at]);
}

/* Columns that some line of the kernel has. */
enum { C_DIVERGENCE = 1, C_WAITS = 2, C_SECTORS = 4, C_BANKS = 8, C_ATOMICS = 16 };
static unsigned columns_of(const struct profile_kernel *k) {
  const mx_profile_instruction *s = &k->sum;
  return (s->splits ? C_DIVERGENCE : 0) | (s->arrivals ? C_WAITS : 0) | (s->sectors ? C_SECTORS : 0) |
         (s->conflicts32 + s->conflicts64 ? C_BANKS : 0) | (s->atomics ? C_ATOMICS : 0);
}
static void columns(struct text *t, unsigned which) {
  text_printf(t, " share executed  lanes few..all");
  if (which & C_DIVERGENCE) text_printf(t, " splits   idle");
  if (which & C_WAITS) text_printf(t, "  waits");
  if (which & C_SECTORS) text_printf(t, " sectors  fewest");
  if (which & C_BANKS) text_printf(t, " bank32 bank64");
  if (which & C_ATOMICS) text_printf(t, "  same@");
  text_printf(t, " line\n");
}
static void column(struct text *t, int width, uint64_t n) {
  char s[32];
  text_printf(t, " %*s", width, brief_or_none(n, s));
}
static void line(struct text *t, const struct profile_kernel *k, const struct profile_line *l, uint32_t number,
                 const char *text, int length, bool color) {
  static const mx_profile_instruction none;
  const mx_profile_instruction *s = l ? &l->sum : &none;
  const unsigned which = columns_of(k);
  const double share = percent(s->executed, k->k.executed);
  char a[32];
  if (s->executed) heat(t, share, color);
  if (s->executed) text_printf(t, "%5.1f%% %8s %6.1f ", share, brief(s->executed, a), mean_lanes(s));
  else text_printf(t, "%6s %8s %6s ", "", l ? "0" : "", "");
  occupancy(t, s, k->k.lanes);
  if (which & C_DIVERGENCE) column(t, 6, s->splits), column(t, 6, s->idle_lanes);
  if (which & C_WAITS) column(t, 6, s->waited);
  if (which & C_SECTORS) column(t, 7, s->sectors), column(t, 7, s->sectors_least);
  if (which & C_BANKS) column(t, 6, s->conflicts32), column(t, 6, s->conflicts64);
  if (which & C_ATOMICS) column(t, 6, s->same_address);
  text_printf(t, " %4u  %.*s%s\n", number, length, text, s->executed && color ? "\033[0m" : "");
}

enum { HOTTEST = 15 };
static void hottest(struct text *t, const struct profile_kernel *k, const struct profile_source *own, bool color) {
  size_t *order = cli_alloc((k->nlines + 1) * sizeof *order);
  for (size_t n = 0; n < k->nlines; n++) order[n] = n;
  sorting = k;
  qsort(order, k->nlines, sizeof *order, hotter);
  size_t shown = 0;
  const char *file = k->nlines ? k->lines[order[0]].file : NULL;
  text_printf(t, "\nhottest lines%s%s\n", file ? " of " : "", file ? file : "");
  columns(t, columns_of(k));
  for (; shown < k->nlines && shown < HOTTEST && k->lines[order[shown]].sum.executed; shown++) {
    const struct profile_line *l = &k->lines[order[shown]];
    size_t size = 0;
    int length = 0;
    const char *text = source_of(own, l->file, &size);
    text = text ? line_of_text(text, size, l->line, &length) : "";
    line(t, k, l, l->line, text, length, color);
  }
  free(order);
}
/* All lines of the files that have some of the kernel's; of files that are not there, those with instructions. */
static void listing(struct text *t, const struct profile_kernel *k, const struct profile_source *own, bool color) {
  for (size_t n = 0; n < k->nlines;) {
    const char *file = k->lines[n].file;
    size_t size = 0;
    const char *text = source_of(own, file, &size);
    text_printf(t, "\n%s\n", file ? file : "(no lines known)");
    columns(t, columns_of(k));
    const char *at = text, *end = text + size;
    for (uint32_t number = 1; at && at < end; number++) {
      const char *stop = memchr(at, '\n', (size_t)(end - at));
      const bool here = n < k->nlines && !compare_places(k->lines[n].file, k->lines[n].line, file, number);
      line(t, k, here ? &k->lines[n] : NULL, number, at, (int)((stop ? stop : end) - at), color);
      n += here;
      at = stop ? stop + 1 : NULL;
    }
    for (; n < k->nlines && compare_files(k->lines[n].file, file) == 0; n++)
      line(t, k, &k->lines[n], k->lines[n].line, "", 0, color);
  }
}

void profile_text(struct text *t, const struct profiled *p, const struct profile_source *own, bool all, bool color) {
  for (size_t k = 0; k < p->nkernels; k++) {
    if (k) text_printf(t, "\n");
    summary(t, &p->kernels[k]);
    if (all) listing(t, &p->kernels[k], own, color);
    else hottest(t, &p->kernels[k], own, color);
  }
}

/* ---- the command ----------------------------------------------------------------------------------------------*/
mx_profile *profile_new(const struct profile_wish *w) {
  mx_profile_options o = MX_PROFILE_OPTIONS_INIT;
  mx_profile *p;
  o.no_memory = w->no_memory;
  o.timeline_blocks = w->events || w->json || w->html ? 256 : 0;
  if (mx_profile_create(&o, &p) != MX_OK) cli_no_memory();
  return p;
}

static int write_text(const char *path, struct text *t) {
  const char *why;
  const bool good = cli_write_file(path, t->s ? t->s : "", t->n, &why);
  if (!good) fprintf(stderr, "mxrun: %s: %s\n", path, why);
  text_free(t);
  return good ? CLI_DONE : CLI_HOST;
}

int profile_show(const struct profile_wish *w, mx_profile *profile, const struct profile_source *own) {
  struct profiled p;
  struct text t = {0};
  int status = CLI_DONE, s;
  profile_read(&p, profile);
  if (w->json) profile_json(&t, &p);
  else if (!w->quiet) profile_text(&t, &p, own, w->all, cli_color(stdout));
  fwrite(t.s ? t.s : "", 1, t.n, stdout);
  text_free(&t);
  const struct {
    const char *path;
    int form;
  } files[] = {{w->coverage, 0}, {w->events, 1}, {w->html, 2}};
  for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
    if (!files[k].path) continue;
    t = (struct text){0};
    if (files[k].form == 0) profile_coverage(&t, &p);
    else if (files[k].form == 1) profile_events(&t, &p);
    else profile_html(&t, &p, own);
    s = write_text(files[k].path, &t);
    if (s != CLI_DONE) status = s;
  }
  profile_done(&p);
  return status;
}
