/* Random programs over the whole table: each is a device function of a module whose kernel calls the one that a
 * parameter names, so that one compile serves many programs. */
#ifndef MX_TESTS_DIFFER_H
#define MX_TESTS_DIFFER_H
#include <stddef.h>
#include <stdint.h>

/* Memory of a thread: what registers begin with, a piece that programs work on, what registers end with. */
enum { DIFFER_IN = 0, DIFFER_AREA = 64, DIFFER_AREA_BYTES = 256, DIFFER_OUT = 320, DIFFER_SPAN = 512 };

/* A module of n programs as container bytes, malloc'ed, NULL: no memory. The kernel is "differ" (.u64 memory, .u32
 * which). */
uint8_t *differ_module(uint64_t seed, uint32_t lanes, unsigned programs, unsigned instructions, size_t *size);
/* A module whose kernel "differ" is a chain of instructions of one row and what it needs. Also NULL: such a row does
 * not occur. */
uint8_t *differ_chain(unsigned op, unsigned instructions, size_t *size);
uint64_t differ_random(uint64_t *state);
/* costs.c: what mx-jitc takes for an instruction of each row, dearest first, on stdout. Status for main(). */
int differ_costs(const char *jitc, const char *level, const char *row);
/* Whether instructions of all classes are told to gcc in no more statements than costs.c says. */
int differ_statements(const char *jitc);
#endif
