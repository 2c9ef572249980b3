/* Checkers of kernels ("tools"): they find what is wrong in a launch though nothing traps. docs/check.md says what each
 * one finds. While tools are on, all launches of the device run in one thread, checked; so does a single launch whose
 * configuration names tools. What they find is kept with the device until mx_findings_clear. A launch in which
 * something is found ends as it would have without tools. The calls that read or clear findings must not be made while
 * a launch of the device runs. */
#ifndef MX_CHECK_H
#define MX_CHECK_H

#include "mx/mx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, bit, text). */
#define MX_CHECK_LIST(X) \
  X(MEMORY, 1, "memory") X(UNINIT, 2, "uninit") X(RACE, 4, "race") X(SYNC, 8, "sync") X(LANES, 16, "lanes")
typedef enum mx_check_tool {
#define X(name_, bit_, text_) MX_CHECK_##name_ = bit_,
  MX_CHECK_LIST(X)
#undef X
      MX_CHECK_ALL = 31
} mx_check_tool;

MX_API const char *mx_check_tool_name(mx_check_tool tool); /* "race" */

/* Sets the tools (a set of mx_check_tool bits) that later launches of the device have; 0: none. Waits for the work in
 * streams. Memory that was allocated before counts as written. What was found before is kept. MX_BUSY: a debugging
 * session is open. */
MX_API mx_status mx_device_check(mx_device *device, uint32_t tools);

MX_API uint32_t mx_device_checks(mx_device *device); /* the tools that are on, as mx_device_check set them */

/* Gives the tools the source text of modules whose line tables name `file`; it is copied. Order and scope of atomics
 * and fences are read there, since modules do not contain them. Without the text all of them count as acquire and
 * release at the scope of the device: races may stay hidden then, but none is reported that is not there. */
MX_API mx_status mx_device_check_source(mx_device *device, const char *file, const char *text, size_t size);

/* Where an access happened. A finding about two accesses has two places. */
typedef struct mx_check_place {
  size_t struct_size;
  const char *kernel, *function, *file, *instruction; /* file NULL: no line table; instruction as mx_trap_info's */
  uint32_t line, pc;
  uint32_t block[3], warp;
  uint64_t lanes; /* 0: none is meant */
} mx_check_place;
typedef struct mx_finding {
  size_t struct_size;
  mx_check_tool tool;
  const char *kind;    /* a word, such as "write-read" or "outside-variable" */
  const char *message; /* what is wrong, one line */
  mx_check_place place;
  bool has_address;
  mx_addr address; /* generic, of the lowest lane */
  uint32_t bytes;
  const char *where;    /* variable or buffer: "8 bytes into variable 'tile' (256 bytes of shared memory)"; or NULL */
  const char *story;    /* what happened at the other place: "written by", "freed at"; NULL: there is no other place */
  mx_check_place other; /* the other place, if other.kernel is not NULL */
  bool trap;            /* the kernel has trapped there, too: mx_device_trap says more */
  uint64_t count;       /* lanes for which this was found, at this place and that other one; 0: it was found by reading
                           the code, and this run has not confirmed it */
  const char *text;     /* all of it, for people */
} mx_finding;
/* Finding number `number`, from 0, in the order in which they were first found. Strings are valid until
 * mx_findings_clear, mx_device_reset or mx_device_destroy. MX_NOT_FOUND: there are not so many. */
MX_API mx_status mx_device_finding(mx_device *device, size_t number, mx_finding *out); /* set struct_size first */
MX_API size_t mx_device_findings(mx_device *device);                                   /* how many there are */
/* Says that the program has ended: waits for the work in streams, and reports memory that kernels have allocated by
 * malloc and not freed. */
MX_API mx_status mx_device_check_end(mx_device *device);
MX_API mx_status mx_findings_clear(mx_device *device); /* forgets all findings */

#ifdef __cplusplus
}
#endif
#endif
