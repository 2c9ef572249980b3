/* What compiled code asks for whose lanes run a loop one by one (jit/compiler/scalar_loops.c): their stores, which
 * nobody may see before all of them have run, are kept in the order in which the lanes ran, and made as if that had
 * been the machine's; and which form of a loop takes less time is measured. */
#ifndef MX_LANE_LOOPS_H
#define MX_LANE_LOOPS_H

#include <stdint.h>

struct mx_exec;

struct mx_kept_store {
  uint64_t host, key, value[2]; /* value: so many bytes as the key says */
};
enum {
  MX_KEPT_STORES = 4096,
  MX_KEPT_LEFT = 32 /* the bit of a key from which on it has how many rounds were left */
};
/* Keys say when it would have been, and how much: rounds left, the number of the store in its round, bytes, lane. */
static inline uint64_t mx__kept_key(uint64_t left, unsigned number, unsigned bytes, unsigned lane) {
  return left << MX_KEPT_LEFT | number << 16 | bytes << 8 | lane;
}

/* This worker's place for them; NULL: out of memory. */
unsigned char *mx__kept_stores(struct mx_exec *x);
/* Makes those up to `end`. */
void mx__kept_stores_make(struct mx_exec *x, void *end);

/* A loop of which bounds cache `number` knows (struct mx_bounds, lanes_off) has gone round so many times since the
 * clock said `since`: together, or lane by lane. */
enum { MX_LOOP_BY_LANES, MX_LOOP_TOGETHER };
void mx__loop_took(struct mx_exec *x, uint32_t number, uint32_t form, uint64_t since, uint64_t rounds);

#endif
