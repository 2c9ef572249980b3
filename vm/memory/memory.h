/* Memory of one device: where global, constant and heap addresses lie, which of them are allocated, and how far an
 * access may reach. Knows nothing of warps, launches or modules; shared, local and parameter memory belong to blocks.
 *
 * Each region is one reserved range of host addresses, so host = device address + a constant of the region. Records of
 * allocations are kept sorted by address.
 *
 * 1. Looking up takes no lock: workers do it while the host allocates. So records only ever get appended while a
 *    launch may run; whatever changes or moves existing ones needs `exclusive` from the caller: no launch is running.
 * 2. A freed range is not used again before its region has no fresh addresses left, so that traps can name it.
 * 3. Memory nobody has allocated is not accessible to the host either. */
#ifndef MX_VM_MEMORY_H
#define MX_VM_MEMORY_H

#include "core/module.h"
#include "mx/mx.h"

#include <stdatomic.h>

#define MX_GLOBAL_START 0x100000000ull /* of the first allocation: above what a truncated pointer can be */
#define MX_HEAP_START 0x8000000000ull  /* of the heap of device malloc; in the global window too */
#define MX_CONST_START (MX_WINDOW(MX_WINDOW_CONST) + 0x1000)
#define MX_CONST_BYTES (64ull << 20)
#define MX_ALLOC_ALIGN 256u
#define MX_ALLOC_GUARD 256u /* at least so many bytes between allocations */

enum mx_alloc_flag {
  MX_ALLOC_FREED = 1,
  MX_ALLOC_MANAGED = 2,  /* the host holds a pointer */
  MX_ALLOC_VARIABLE = 4, /* of a module; mx_free refuses it */
  MX_ALLOC_INTERNAL = 8, /* of the machine itself */
  MX_ALLOC_TEXELS = 16,  /* an array's: no address leads there */
};

struct mx_alloc {
  uint64_t lo, size;
  uint64_t number; /* counts mx_alloc calls from 1; 0 for others */
  uint64_t room;   /* bytes up to the next record's earliest place: what freeing gives back */
  uint32_t flags;
  char *name; /* owned; may be NULL */
};

struct mx_alloc_table {
  struct mx_alloc_table *older; /* smaller ones that a lookup may still be reading */
  size_t capacity;
  struct mx_alloc at[];
};

struct mx_region {
  uint8_t *map; /* host address of `start`; NULL: not reserved */
  uint64_t start, capacity;
  uint64_t committed; /* bytes from start that may be touched */
  uint64_t top;       /* bytes from start that were ever given out */
  uint64_t in_use;
  bool device_writable;
  _Atomic(struct mx_alloc_table *) table;
  atomic_size_t count; /* records; published after the record is written */
};

struct mx_memory {
  struct mx_region global, constant, heap; /* heap: no records; see heap.h */
  uint64_t next_number;
};

/* memory_bytes 0: 64 GiB or the machine's memory, whichever is less. */
mx_status mx__memory_init(struct mx_memory *m, uint64_t memory_bytes);
/* Another first address, before anything is allocated; the memory lies there in the process, too, where nothing else
 * does. */
void mx__memory_place(struct mx_region *r, uint64_t start);
void mx__memory_done(struct mx_memory *m);
/* As after init; the heap is gone: mx__heap_free first; exclusive. */
mx_status mx__memory_reset(struct mx_memory *m);

/* Zeroed memory. *address is generic. NOT exclusive: fails with MX_BUSY when only a freed range would do; exclusive:
 * freed ranges count. align: power of two, at least MX_ALLOC_ALIGN is used. */
mx_status mx__memory_alloc(struct mx_memory *m, struct mx_region *r, uint64_t bytes, uint64_t align, uint32_t flags,
                           const char *name, bool exclusive, uint64_t *address);
/* The next allocation of global memory lies at `address` or above; MX_INVALID_ADDRESS: something has been below the top
 * there. Callers hold the device's lock. */
mx_status mx__memory_skip(struct mx_memory *m, uint64_t address);
/* The first live record of global or constant memory, in order of addresses, that ends above `address`; NULL: none. */
const struct mx_alloc *mx__memory_next(struct mx_memory *m, uint64_t address);
/* Frees the allocation that begins at `address`; exclusive. */
mx_status mx__memory_free(struct mx_memory *m, uint64_t address);

/* Makes `bytes` from MX_HEAP_START accessible and zero, for heap.c, which knows what is allocated there; exclusive. */
mx_status mx__memory_heap_range(struct mx_memory *m, uint64_t bytes);

/* The live record around a generic address, or NULL. */
const struct mx_alloc *mx__memory_record(struct mx_memory *m, uint64_t address, struct mx_region **region);
/* Host pointer for the host's own access to [address, address + bytes): inside one live allocation, or NULL. */
void *mx__memory_host(struct mx_memory *m, uint64_t address, uint64_t bytes);
/* Gives the record a name (copied) or takes it away; exclusive. */
mx_status mx__memory_name(struct mx_memory *m, uint64_t address, const char *name);

/* What lies near [address, address + bytes), malloc'ed: "64 bytes past the end of buffer #3 (4096 bytes at
 * 0x100002000)". *base: where that allocation begins, 0 if none. NULL: out of memory. */
char *mx__memory_nearest(struct mx_memory *m, uint64_t address, uint64_t bytes, uint64_t *base);

#endif
