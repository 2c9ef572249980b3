/* Plain launches that make no progress: who spins where, on what. */
#ifndef MX_VM_STUCK_H
#define MX_VM_STUCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct mx_block;
struct mx_launch;
struct mx_split;

/* The device's, which outlives the launch: other threads ask. */
struct mx_stuck {
  atomic_bool look;   /* blocks whose turns come to nothing are looked at */
  char *_Atomic text; /* what has been found out, for who takes it */
  /* under the schedule's lock: */
  uint64_t quiet;    /* turns in a row that have left everything in the block's registers as it was; a block that ends
                        makes it 0 */
  double since;      /* when the first of them was */
  uint64_t settling; /* turns that are not compared: the interpreter has just taken over, and sets registers anew */
  bool found;        /* nothing has gone on since it was said */
};

/* What all registers and places of the block's lanes come to; not 0. */
uint64_t mx__block_digest(const struct mx_block *b);
/* A block has had its turn, in which all of its warps only spun or waited. True: so has everybody, for long enough to
 * say so. */
bool mx__stuck_turn(struct mx_stuck *k, struct mx_block *b, uint64_t digest, uint32_t resident);
/* Where the lanes of these blocks, which stand still, are; stuck: nothing goes on, so those that run spin, on the word
 * that they read. Lines, each with a newline before it; malloc'ed, NULL: out of memory. */
char *mx__stuck_text(const struct mx_launch *l, struct mx_block *const *blocks, uint32_t n, bool stuck);
/* The mbarrier that a split's lanes wait at, or test again and again, and what it lacks; the same. */
char *mx__stuck_mbarrier(const struct mx_launch *l, const struct mx_block *b, const struct mx_split *s);

#endif
