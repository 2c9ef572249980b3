/* Checkers of kernels: what is wrong in a launch though nothing traps. Part of libmx; docs/check.md says what each tool
 * finds. While tools are on, launches of the device run in one thread, checked; so does a launch whose configuration
 * names tools. What they find is kept with the device until somebody asks. A launch that finds something ends as it
 * would have without tools. */
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

/* Tools (a set of bits) that launches of the device have from now on; 0: none any more. Memory that was allocated
 * before counts as written. The device keeps what was found before. MX_BUSY while a debugging session is open. */
MX_API mx_status mx_device_check(mx_device *device, uint32_t tools);

MX_API uint32_t mx_device_checks(mx_device *device); /* the tools that it has */

/* The text that modules of that file name (as their line tables have it) were made of: order and scope of atomics and
 * fences are read there. Without it they count as acquire and release of the whole device, which hides races and
 * invents none. */
MX_API mx_status mx_device_check_source(mx_device *device, const char *file, const char *text, size_t size);

/* Where an access was: one half of a finding. */
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
  const char *story;    /* the other half in words: "written by", "freed at"; NULL: there is none */
  mx_check_place other; /* where that was, if other.kernel is not NULL */
  bool trap;            /* the machine has trapped there: mx_device_trap says more */
  uint64_t count;       /* lanes that it was found for, at this place and with that other half; 0: in the text only, the
                           run did not confirm it */
  const char *text;     /* all of it, for people */
} mx_finding;
/* Findings in the order in which they were found first. Strings live until mx_findings_clear, mx_device_reset or
 * mx_device_destroy. MX_NOT_FOUND: there are not so many. */
MX_API mx_status mx_device_finding(mx_device *device, size_t number, mx_finding *out); /* set struct_size first */
MX_API size_t mx_device_findings(mx_device *device);
/* The program has ended: device memory that kernels allocated and nobody has freed is found now. */
MX_API mx_status mx_device_check_end(mx_device *device);
MX_API mx_status mx_findings_clear(mx_device *device);

#ifdef __cplusplus
}
#endif
#endif
