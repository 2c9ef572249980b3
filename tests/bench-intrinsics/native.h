/* Plain loops over arrays, compiled for this kind of processor: what operations of the table are measured against. */
#ifndef MX_BENCH_NATIVE_H
#define MX_BENCH_NATIVE_H

enum { LANES = 64 };

/* An operation by its instruction, and a loop that does the same to arrays of the operands' own widths. */
struct native {
  const char *instruction;
  unsigned in, out; /* bits of an input and of a result */
  void (*run)(void *r, const void *a, const void *b, const void *c);
};
extern const struct native natives[];
extern const unsigned native_count;

#endif
