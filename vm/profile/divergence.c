/* At which branch the lanes diverged that wait while others execute an instruction: taken to be the innermost of those
 * branches around it inside of which not all lanes may run. It is found from the code alone, so it is the same
 * whichever engine ran. */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

/* Marks the instructions that can run between branch b and the place where its lanes meet again, and returns how many
 * they are. */
static uint32_t mark(const struct mx_profiled *k, uint32_t b, uint8_t *in, uint32_t *work) {
  const struct mx_profiled_insn *branch = &k->insns[b];
  uint32_t n = 0, all = 0;
  memset(in, 0, k->ninsns);
#define VISIT(r_) \
  do { \
    const uint32_t to = (r_); \
    if (to < k->ninsns && to != branch->reconv && !in[to] && k->insns[to].func == branch->func) \
      in[to] = 1, work[n++] = to; \
  } while (0)
  for (uint32_t t = 0; t < branch->ntargets; t++) VISIT(branch->targets[t]);
  if (!branch->ends) VISIT(b + 1);
  while (n) {
    const uint32_t at = work[--n];
    const struct mx_profiled_insn *r = &k->insns[at];
    all++;
    for (uint32_t t = 0; t < r->ntargets; t++) VISIT(r->targets[t]);
    if (!r->ends && !(r->ntargets && !r->branch)) VISIT(at + 1);
  }
#undef VISIT
  return all;
}

uint32_t *mx__profile_causes(const struct mx_profiled *k) {
  uint32_t *of = malloc((k->ninsns + 1) * sizeof *of), *size = malloc((k->ninsns + 1) * sizeof *size),
           *work = malloc((k->ninsns + 1) * sizeof *work);
  uint8_t *in = malloc(k->ninsns + 1);
  if (of) memset(of, 0xFF, (k->ninsns + 1) * sizeof *of);
  if (of && size && work && in)
    for (uint32_t b = 0; b < k->ninsns; b++) {
      if (!k->counts[b].splits || !k->insns[b].ntargets) continue;
      const uint32_t all = mark(k, b, in, work);
      for (uint32_t n = 0; n < k->ninsns; n++)
        if (in[n] && (of[n] == UINT32_MAX || all < size[n])) of[n] = b, size[n] = all;
    }
  free(size);
  free(work);
  free(in);
  return of;
}
