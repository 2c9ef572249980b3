/* One program on the machine under test, through its public interface. */
#ifndef MX_TESTS_ORACLE_MACHINE_H
#define MX_TESTS_ORACLE_MACHINE_H
#include "oracle.h"

struct machine;
struct machine_options {
  bool jit;
  bool all;        /* interpreted, compiled, and with engine changes, one after the other */
  uint64_t stress; /* not 0: seed of engine changes */
  unsigned threads;
  const char *jit_compiler; /* path of mx-jitc; NULL: where the library looks */
};
struct machine *machine_open(const struct machine_options *o);
void machine_close(struct machine *m);

/* True: memory is as the reference left it. Otherwise *why says the first difference or the failure (malloc'ed). */
bool machine_check(struct machine *m, const struct program *p, const struct result *want, const char *text, size_t size,
                   char **why);

/* Warps of runs of compiled code so far, and those of them that ran compiled code. */
void machine_warps(const struct machine *m, uint64_t *all, uint64_t *compiled);
#endif
