/* What a compile will cost: a straight line over the number of instructions, fitted to earlier compiles. They are
 * remembered in the cache folder, so that a new process on the same machine knows; older ones fade. */
#include "jit.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FADE 0.9
#define FIRST "mx costs 1\n"

/* Before any compile was measured: two assumed ones, each with the weight of one measurement. */
static double guess(double words) { return 0.03 + 0.001 * words; }
static void add(struct mx_jit_costs *c, double words, double seconds) {
  c->n += 1;
  c->words += words;
  c->words2 += words * words;
  c->seconds += seconds;
  c->both += words * seconds;
}
static void begin(struct mx_jit_costs *c) {
  *c = (struct mx_jit_costs){0};
  add(c, 20, guess(20));
  add(c, 500, guess(500));
}

void mx__jit_costs_read(struct mx_jit_costs *c, const char *dir) {
  begin(c);
  char *path = NULL;
  if (!dir || asprintf(&path, "%s/costs", dir) < 0) return;
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  free(path);
  char text[512] = "";
  if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) *text = 0;
  if (fd >= 0) close(fd);
  struct mx_jit_costs r;
  if (sscanf(text, FIRST "%lf %lf %lf %lf %lf", &r.n, &r.words, &r.words2, &r.seconds, &r.both) != 5) return;
  const double all[] = {r.n, r.words, r.words2, r.seconds, r.both};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    if (!isfinite(all[k]) || all[k] < 0 || all[k] > 1e15) return; /* the file is damaged */
  *c = r;
}

double mx__jit_costs_predict(const struct mx_jit_costs *c, double words) {
  const double d = c->n * c->words2 - c->words * c->words;
  double slope = d > 1 ? (c->n * c->both - c->words * c->seconds) / d : 0;
  if (!(slope > 0)) slope = 0;
  double rest = c->n > 0 ? (c->seconds - slope * c->words) / c->n : 0;
  if (!(rest > 0)) { /* a line with a negative cost for no instructions is replaced by one through zero */
    rest = 0;
    slope = c->words > 0 ? c->seconds / c->words : 0;
  }
  const double least = 0.02; /* a process, its libraries, an assembler and a linker */
  return fmax(least, rest + slope * words);
}

void mx__jit_costs_learn(struct mx_jit_costs *c, const char *dir, double words, double seconds) {
  c->n *= FADE;
  c->words *= FADE;
  c->words2 *= FADE;
  c->seconds *= FADE;
  c->both *= FADE;
  add(c, words, seconds);
  char *path = NULL, *aside = NULL;
  if (!dir) return;
  if (asprintf(&path, "%s/costs", dir) >= 0 && asprintf(&aside, "%s/.costs-XXXXXX", dir) >= 0) {
    const int fd = mx__jit_move_descriptor(mkostemp(aside, O_CLOEXEC));
    if (fd >= 0) {
      char line[200];
      const int n = snprintf(line, sizeof line, FIRST "%.17g %.17g %.17g %.17g %.17g\n", c->n, c->words, c->words2,
                             c->seconds, c->both);
      const bool good = mx__jit_write(fd, line, (size_t)n);
      if (close(fd) || !good || rename(aside, path)) unlink(aside);
    }
  }
  free(path);
  free(aside);
}
