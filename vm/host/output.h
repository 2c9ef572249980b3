/* What kernels print, and what is said about assertions that failed, until the program's callbacks get it. Printed text
 * waits in the device's ring (fifo.h), messages in a text of their own: none may be lost. */
#ifndef MX_VM_OUTPUT_H
#define MX_VM_OUTPUT_H

#include "vm/exec/launch.h"

struct mx_device;
/* What vm/exec calls of this folder: output and failed assertions. */
extern const struct mx_services mx__services;

/* Hands over all that waits, once. Threads that come at the same time wait for one another. */
void mx__output_flush(struct mx_device *d);
/* Throws printed text away: it has been shown before. */
void mx__output_discard(struct mx_device *d);

/* An instruction of the block with that number has found that an assertion fails: *t, whose detail it takes over, and a
 * message of `size` bytes for its lanes. The launch goes on, to come to all others, and fails when it has ended. */
void mx__assert_failed(struct mx_launch *l, uint64_t block, const struct mx_trap *t, const char *message, size_t size);
/* The launch has ended: what failed in the lowest block is its trap, whatever else has trapped since, and the messages
 * wait in the order of blocks, however many threads there were. */
void mx__asserts_end(struct mx_launch *l);

#endif
