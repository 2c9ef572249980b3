/* The heap of device malloc: pieces of one range of global memory. What it knows about them lies in host memory, where
 * no kernel can write. Kernels allocate and free while others look up, so everything is under one lock; with one worker
 * the same calls give the same addresses. */
#ifndef MX_VM_HEAP_H
#define MX_VM_HEAP_H

#include "memory.h"

struct mx_heap;

/* Puts a heap of `bytes` into m's heap region, where none is now; exclusive (memory.h). */
mx_status mx__heap_new(struct mx_memory *m, uint64_t bytes, struct mx_heap **heap);
void mx__heap_free(struct mx_heap *h); /* NULL: nothing */
uint64_t mx__heap_size(const struct mx_heap *h);
bool mx__heap_in_use(struct mx_heap *h);
/* An address that is a multiple of 16 and of `align`, a power of two, or 0: no room, or align is none. bytes 0: 0. */
uint64_t mx__heap_alloc(struct mx_heap *h, uint64_t bytes, uint64_t align);
/* Frees a piece. False: the address is not the start of a live piece. Address 0 is accepted and does nothing. */
bool mx__heap_release(struct mx_heap *h, uint64_t address);
/* The live piece around an address. */
bool mx__heap_find(struct mx_heap *h, uint64_t address, uint64_t *lo, uint64_t *bytes);

/* Where its state lies, for debuggers that go back: the object itself and its tables. */
void mx__heap_parts(struct mx_heap *h, unsigned char *part[2], size_t bytes[2]);

#endif
