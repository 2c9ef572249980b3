/* Traps: the record that an engine writes, and the text that people read. One trap ends a launch: the first to be
 * raised wins, which with one worker is always the same one. */
#ifndef MX_VM_TRAP_H
#define MX_VM_TRAP_H

#include "mx/mx.h"

struct mx_launch;
struct mx_image;
struct mx_device;

/* What an engine knows. */
struct mx_trap {
  mx_trap_kind kind;
  uint32_t func, pc; /* number of the function in the image; word in it */
  uint32_t block[3], warp;
  uint64_t lanes;
  bool has_address, is_write;
  uint64_t address; /* generic, of the lowest trapping lane */
  uint32_t bytes;
  uint8_t space; /* MX_SHARED, MX_LOCAL: the address is `offset` there, and the frame's local memory begins at */
  uint64_t offset, local_base;
  char *detail; /* malloc'ed or NULL; may have several lines */
};

/* Gives the launch its trap, if it has none yet, and tells all workers to stop. Takes t->detail over in any case. */
void mx__trap_raise(struct mx_launch *l, const struct mx_trap *t);

/* The device's sticky record, with strings of its own (the module may be unloaded before it is read). */
struct mx_trap_record {
  mx_trap_info info; /* kind NONE: empty */
  char *strings[7];  /* kernel, function, file, instruction, nearest, detail, text */
};
/* Builds the record out of what the launch raised. MX_OUT_OF_MEMORY: the record has the kind and a fixed text only. */
mx_status mx__trap_record_make(struct mx_trap_record *r, const struct mx_launch *l);
void mx__trap_record_clear(struct mx_trap_record *r);

/* "lane 3", "lanes 0-3, 7, 9-10", "lanes 1, 3 ... 63", "no lanes"; malloc'ed, NULL: out of memory. */
char *mx__lanes_text(uint64_t lanes);
/* nearest.c: where the address lies, seen from the variable of shared or local memory that was meant; malloc'ed, NULL:
 * out of memory. */
char *mx__nearest_variable(const struct mx_launch *l, const struct mx_trap *t);
/* The same of an address in other memory: the nearest allocation and the argument that has its address, or the argument
 * that is the number of an object and was used as an address. */
char *mx__nearest_allocation(const struct mx_launch *l, uint64_t address, uint64_t bytes);
/* The one or the other, by the space of the trap's access. */
char *mx__nearest_of_trap(const struct mx_launch *l, const struct mx_trap *t);

/* Source line of a pc: file NULL and line 0 where the module has none. */
void mx__line_of(const struct mx_image *image, uint32_t func, uint32_t pc, const char **file, uint32_t *line);

#endif
