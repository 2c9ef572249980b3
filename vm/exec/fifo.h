/* Text that kernels have printed and the host has not read: whole records in a ring of limited size. New records
 * overwrite the oldest ones, which are counted as lost. Knows no formats (printf.c does) and no device. */
#ifndef MX_VM_FIFO_H
#define MX_VM_FIFO_H

#include "mx/mx.h"

struct mx_fifo;

struct mx_fifo *mx__fifo_new(size_t bytes); /* NULL: out of memory */
void mx__fifo_free(struct mx_fifo *f);      /* NULL: nothing */
size_t mx__fifo_size(const struct mx_fifo *f);
/* Adds a record. False: it is larger than the ring, and lost. Any thread. */
bool mx__fifo_put(struct mx_fifo *f, const char *text, size_t size);
/* Hands all records to fn, oldest first, and empties the ring. fn NULL: only empties it. Any thread, one at a time. */
void mx__fifo_drain(struct mx_fifo *f, mx_output_fn fn, void *user);
/* The bytes that were lost since the last call. */
uint64_t mx__fifo_lost(struct mx_fifo *f);

#endif
