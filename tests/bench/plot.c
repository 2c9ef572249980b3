/* The bench's ratios as bars on a logarithmic scale: how many times as fast as PoCL each contestant is (without PoCL:
 * as the C by hand). gnuplot draws; here are the numbers. */
#include "bench.h"

#include <math.h>

enum { WIDTH_OF_GROUP = 130, MARGIN = 200, HEIGHT = 728 };

/* As short as will do: "1/40", "0.7", "12". */
static void short_number(char out[16], double v) {
  if (v < 0.095) snprintf(out, 16, "1/%.0f", 1 / v);
  else snprintf(out, 16, v < 9.95 ? "%.1f" : "%.0f", v);
}

/* The value of each group for one contestant: the kernels', then their geometric mean; 0: not measured. */
static void ratios(const struct bench_figures *f, enum bench_who who, enum bench_who base, double *value) {
  double sum = 0;
  int n = 0;
  for (int k = 0; k < f->kernels; k++) {
    value[k] = f->ms[who][k] > 0 && f->ms[base][k] > 0 ? f->ms[base][k] / f->ms[who][k] : 0;
    if (value[k] > 0) sum += log(value[k]), n++;
  }
  value[f->kernels] = n ? exp(sum / n) : 0;
}

bool bench_plot(const char *path, const struct bench_figures *f) {
  static const uint32_t colors[BENCH_CONTESTANTS] = {0x1f4fa8, 0x86b1e8, 0x8a8a8a, 0x404040, 0xd08a2e, 0xc9564b};
  const enum bench_who base = f->open[BENCH_POCL] ? BENCH_POCL : BENCH_BEST;
  enum bench_who who[BENCH_CONTESTANTS];
  int bars = 0;
  for (int e = 0; e < BENCH_CONTESTANTS; e++)
    if (f->open[e] && e != (int)base) who[bars++] = (enum bench_who)e;
  FILE *g = popen("gnuplot", "w");
  if (!g || !bars) return false;
  fprintf(g,
          "set terminal png size %d,%d\nset output '%s'\nset logscale y\nset grid ytics mytics\nset key above left\n",
          MARGIN + (f->kernels + 1) * WIDTH_OF_GROUP, HEIGHT, path);
  fprintf(g, "set title 'how many times as fast as %s, all processors, median of %d runs' noenhanced\n",
          base == BENCH_POCL ? "PoCL 3.1" : "C by hand", f->rounds);
  fprintf(g, "set style fill solid\nset xrange [-0.5:%d.5]\nset xtics (", f->kernels);
  for (int k = 0; k <= f->kernels; k++)
    fprintf(g, "%s'%s' %d", k ? ", " : "", k < f->kernels ? f->kernel[k] : "mean", k);
  /* a bar reaches from 1 to its value; the labels are a plot of their own */
  fprintf(g, ")\nplot 1 lc rgb '#%06x' title '%s'", colors[base], bench_who_name[base]);
  for (int b = 0; b < bars; b++)
    fprintf(g,
            ", '-' using 1:4:2:3:(1):4 with boxxyerror lc rgb '#%06x' title '%s', '-' with labels offset 0,0.6 font "
            "',8' notitle",
            colors[who[b]], bench_who_name[who[b]]);
  fputc('\n', g);
  for (int b = 0; b < bars; b++) {
    double value[BENCH_KERNELS + 1];
    ratios(f, who[b], base, value);
    const double width = 0.8 / bars;
    for (int labels = 0; labels < 2; labels++) {
      for (int k = 0; k <= f->kernels; k++) {
        const double left = k - 0.4 + b * width;
        char text[16];
        short_number(text, value[k]);
        if (!(value[k] > 0)) continue;
        if (labels) fprintf(g, "%f %g %s\n", left + width / 2, value[k] > 1 ? value[k] : value[k] * 0.7, text);
        else fprintf(g, "%f %f %f %g\n", left + width / 2, left, left + width * 0.95, value[k]);
      }
      fputs("e\n", g);
    }
  }
  return !pclose(g);
}
