/* For compiled code that runs the lanes of a loop one by one (jit/compiler/scalar_loops.c). Its stores must not be
 * visible before all lanes have run: they are recorded in the order in which lanes run, and then made in the machine's
 * order. Which form of a loop takes less time is measured. */
#ifndef MX_LANE_LOOPS_H
#define MX_LANE_LOOPS_H

#include <stdint.h>

struct mx_exec;

struct mx_kept_store {
  uint64_t host, key, value[2]; /* key: see mx__kept_key(); it says how many bytes of value are used */
};
enum {
  MX_KEPT_STORES = 4096,
  MX_KEPT_LEFT = 32 /* the bit of a key at which the number of rounds that were left begins */
};
/* A key orders stores as the machine would: rounds left, number of the store in its round, bytes, lane. */
static inline uint64_t mx__kept_key(uint64_t left, unsigned number, unsigned bytes, unsigned lane) {
  return left << MX_KEPT_LEFT | number << 16 | bytes << 8 | lane;
}

/* This worker's memory for them; NULL: out of memory. */
unsigned char *mx__kept_stores(struct mx_exec *x);
/* Makes those up to `end`. */
void mx__kept_stores_make(struct mx_exec *x, void *end);

/* Copies the local memory of the warp, which turns store to, in case that they have to be undone; NULL: there is too
 * much of it, or none. mx__local_restore: puts that back. */
unsigned char *mx__local_keep(struct mx_exec *x);
void mx__local_restore(struct mx_exec *x, void *copy);

/* A loop of which bounds cache `number` knows (struct mx_bounds, lanes_off) has gone round so many times since the
 * clock said `since`: together, or lane by lane. Or it bailed out, and the time was lost: that counts as one round lane
 * by lane, so that a loop which often bails out late runs together as a rule. While no turns have come to their end,
 * lanes_left says how many times it has bailed out. */
enum { MX_LOOP_BY_LANES, MX_LOOP_TOGETHER, MX_LOOP_BAILED_OUT };
/* lanes_left of a loop whose lanes run together as a rule; else it counts down to the next trial of that. */
#define MX_LANES_TOGETHER UINT32_MAX
void mx__loop_took(struct mx_exec *x, uint32_t number, uint32_t form, uint64_t since, uint64_t rounds);

/* A worker begins and ends: it takes over what earlier launches of the module measured, and leaves what it knows. */
void mx__loops_begin(struct mx_exec *x);
void mx__loops_end(struct mx_exec *x);

#endif
