/* What a profile holds, read for all who print it: kernels, their lines with sums, and the text of source files. */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

/* The numbers of an instruction, which are added up. */
static void add(mx_profile_instruction *to, const mx_profile_instruction *i) {
#define SUM(field_) to->field_ += i->field_
  SUM(executed), SUM(executed_compiled), SUM(active), SUM(on), SUM(live), SUM(splits), SUM(idle_lanes), SUM(waited);
  SUM(arrivals), SUM(floating), SUM(bytes), SUM(sectors), SUM(sectors_least), SUM(passes_least), SUM(conflicts32);
  SUM(conflicts64), SUM(atomics), SUM(same_address);
  for (unsigned k = 0; k <= 64; k++) SUM(histogram[k]);
  for (unsigned k = 0; k < 8; k++) SUM(exits[k]);
#undef SUM
}

int compare_files(const char *file, const char *other) {
  return !file || !other ? !!other - !!file : strcmp(file, other);
}
int compare_places(const char *file, uint32_t line, const char *other, uint32_t number) {
  const int files = compare_files(file, other);
  return files ? files : line < number ? -1 : line > number;
}
static int by_place(const void *a, const void *b) {
  const mx_profile_instruction *const *x = a, *const *y = b;
  const int places = compare_places((*x)->file, (*x)->line, (*y)->file, (*y)->line);
  return places ? places : *x < *y ? -1 : *x > *y;
}

static void read_kernel(mx_profile *profile, size_t number, struct profile_kernel *k) {
  memset(k, 0, sizeof *k);
  k->k.struct_size = sizeof k->k;
  if (mx_profile_get_kernel(profile, number, &k->k) != MX_OK) return;
  const size_t n = k->k.instructions;
  k->insns = cli_alloc((n + 1) * sizeof *k->insns);
  k->lines = cli_alloc((n + 1) * sizeof *k->lines);
  const mx_profile_instruction **order = cli_alloc((n + 1) * sizeof *order);
  for (size_t i = 0; i < n; i++) {
    k->insns[i].struct_size = sizeof *k->insns;
    mx_profile_get_instruction(profile, number, i, &k->insns[i]);
    add(&k->sum, &k->insns[i]);
    order[i] = &k->insns[i];
  }
  qsort(order, n, sizeof *order, by_place);
  for (size_t i = 0; i < n; i++) {
    struct profile_line *l = k->nlines ? &k->lines[k->nlines - 1] : NULL;
    if (!l || compare_places(l->file, l->line, order[i]->file, order[i]->line)) {
      l = &k->lines[k->nlines++];
      *l = (struct profile_line){.file = order[i]->file, .line = order[i]->line};
    }
    add(&l->sum, order[i]);
    l->instructions++;
    if (order[i]->executed > l->executions) l->executions = order[i]->executed;
  }
  free(order);
}
void profile_read(struct profiled *p, mx_profile *profile) {
  p->profile = profile;
  p->nkernels = mx_profile_kernel_count(profile);
  p->kernels = cli_alloc((p->nkernels + 1) * sizeof *p->kernels);
  for (size_t k = 0; k < p->nkernels; k++) read_kernel(profile, k, &p->kernels[k]);
}
void profile_done(struct profiled *p) {
  for (size_t k = 0; k < p->nkernels; k++) free(p->kernels[k].insns), free(p->kernels[k].lines);
  free(p->kernels);
}

const char *source_of(const struct profile_source *own, const char *file, size_t *size) {
  static struct profile_source read[64];
  static size_t nread;
  if (!file) return NULL;
  if (own && own->text && !strcmp(file, own->name)) return *size = own->size, own->text;
  for (size_t k = 0; k < nread; k++)
    if (!strcmp(read[k].name, file)) return *size = read[k].size, read[k].text;
  if (nread == sizeof read / sizeof *read) return NULL;
  const char *why;
  struct profile_source s = {.name = cli_strdup(file)};
  s.text = strcmp(file, "<stdin>") != 0 ? cli_read_file(file, (size_t)1 << 26, &s.size, &why) : NULL;
  read[nread++] = s;
  return *size = s.size, s.text;
}

const char *const exit_names[8] = {"warp ended",       "slice used up",           "trap",      "call",
                                   "waits for others", "left to the interpreter", "diverging", "stress"};
