/* History of a debugging session: what a launch was like at some moments (checkpoints), from which it runs again to any
 * position. A position is the number of warp instructions before it. One worker runs the same launch the same way every
 * time, so nothing else has to be kept but what the host changed in between.
 *
 * A checkpoint is taken between two turns of blocks, where no engine is in the middle of anything. It holds copies of
 * the small things (schedule, worker, blocks in use, frames, the heap's lists) and, collected while the launch goes on,
 * the old contents of each piece of global and local memory that was written after it. */
#ifndef MX_VM_RECORD_H
#define MX_VM_RECORD_H

#include "vm/debug.h"

struct mx_record;
struct mx_checkpoint;

/* Pieces of host memory that make up a state. */
struct mx_keep { struct mx_piece { void *at; size_t bytes; } *list; size_t n, room; bool failed; };
void mx__keep(struct mx_keep *k, void *at, size_t bytes);

/* ---- for the launch: everything here does nothing while the session does not record ---------------------------------------*/
/* Block b is about to have a turn. */
void mx__record_turn(struct mx_debug *g, struct mx_exec *x, struct mx_block *b);
/* All workers' turns stopped: if the session goes back, makes everything as it was at the checkpoint chosen and returns
 * the block whose turn it is; else NULL. */
struct mx_block *mx__record_rewind(struct mx_debug *g, struct mx_exec *x, struct mx_block *current);
/* i is about to run: keeps what it will write. */
void mx__record_insn(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i);
/* Bytes that block b can reach are about to be written. */
void mx__record_bytes(struct mx_debug *g, const struct mx_block *b, void *host, uint64_t bytes);
/* Memory has been changed past the session: history begins at the next checkpoint. */
void mx__record_forget(struct mx_debug *g);
/* The heap's lists are about to change. */
void mx__record_heap(struct mx_debug *g);
/* Whether what the kernel does now was done before: prints were printed. */
bool mx__record_again(const struct mx_debug *g);

/* ---- for the session ------------------------------------------------------------------------------------*/
struct mx_record *mx__record_new(struct mx_debug *g); /* NULL: out of memory */
void mx__record_free(struct mx_record *r);
/* Whether one can go back, and how far. */
bool mx__record_reaches(const struct mx_debug *g, uint64_t *oldest);
/* The launch has come as far as this. */
void mx__record_mark(struct mx_debug *g);
struct mx_checkpoint *mx__checkpoint_first(struct mx_record *r);
/* The newest checkpoint at or before a position, or NULL; the one before another; the position of one. */
struct mx_checkpoint *mx__checkpoint_before(struct mx_record *r, uint64_t position);
struct mx_checkpoint *mx__checkpoint_older(const struct mx_checkpoint *c);
uint64_t mx__checkpoint_position(const struct mx_checkpoint *c);
/* The next stop of the launch's turns goes back to c. */
void mx__record_go_to(struct mx_debug *g, struct mx_checkpoint *c);
bool mx__record_going(const struct mx_debug *g);
/* A change by the host at the present position: what comes after it has not happened yet. */
struct mx_change {
  uint64_t position, block, lanes, low, high;
  uint32_t warp, split, frame, lane;
  char *name;              /* register; NULL: memory */
  mx_addr address;
  unsigned char *bytes;
  size_t size;
};
bool mx__record_change(struct mx_debug *g, const struct mx_change *change); /* copies; false: out of memory */
/* Makes the host's changes at the present position again, those that have not been made since the last rewinding. */
void mx__record_changes(struct mx_debug *g, struct mx_exec *x);

#endif
