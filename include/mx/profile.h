/* Profiles: what launches did, instruction by instruction. A launch whose configuration names a profile adds its counts
 * to it when it ends; several launches may share one, also from several threads and devices. Launches without a profile
 * are not slowed down. Any thread may make any call at any time, but mx_profile_destroy.
 *
 * Structs for answers: the caller sets struct_size. Strings in answers are valid until mx_profile_clear or
 * mx_profile_destroy. MX_NOT_FOUND: there are not so many kernels, instructions or events.
 *
 * Time in a profile is counted in warp instructions, as if all warps of a block ran at once and waited for one another
 * at barriers: a warp's clock moves by one with each of its instructions, and behind a barrier all who waited there
 * have the clock of the last one. So everything but wall time is the same in every run, on both engines, whatever the
 * number of threads, as long as the program itself does not depend on the order of its blocks. */
#ifndef MX_PROFILE_H
#define MX_PROFILE_H

#include "mx/mx.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mx_profile_options {
  size_t struct_size;
  bool no_memory;           /* leave out what needs the addresses of accesses: sectors, banks, atomics on one address */
  uint64_t timeline_blocks; /* how many blocks of each launch, the first ones, have events in the timeline; 0: none */
} mx_profile_options;
#define MX_PROFILE_OPTIONS_INIT \
  { sizeof(mx_profile_options), false, 0 }

MX_API mx_status mx_profile_create(const mx_profile_options *options, mx_profile **profile); /* options may be NULL */
/* No launch that names the profile may be queued or running. NULL: nothing happens. */
MX_API void mx_profile_destroy(mx_profile *profile);
/* Forgets what has been counted. */
MX_API void mx_profile_clear(mx_profile *profile);

/* ---- kernels --------------------------------------------------------------------------------------------
 * One record for each kernel that has been launched, in the order of the first launches. */
typedef struct mx_profile_kernel {
  size_t struct_size;
  const char *name;
  uint32_t lanes; /* of a warp */
  uint32_t functions;
  size_t instructions; /* records of mx_profile_get_instruction: the kernel's, then those of functions it can call */
  uint64_t launches, blocks, warps;
  uint64_t executed;          /* warp instructions */
  uint64_t executed_compiled; /* of these, by compiled code */
  uint64_t splits, rejoins;   /* times that a warp's lanes diverged, and that diverged lanes came together again */
  uint64_t enters, exits[8];  /* times that a warp entered compiled code, and left it by enum mx_exit_reason */
  /* clocks of blocks and of warps when they ended: the least, the greatest, the sum */
  uint64_t block_least, block_most, block_sum, warp_least, warp_most, warp_sum;
  uint64_t waited;          /* at barriers, all warps together */
  double seconds;           /* wall time of the launches */
  uint64_t floating, bytes; /* floating-point operations of all lanes; bytes that loads, stores and atomics moved to
                               and from memory other than shared */
} mx_profile_kernel;
MX_API size_t mx_profile_kernel_count(mx_profile *profile);
MX_API mx_status mx_profile_get_kernel(mx_profile *profile, size_t kernel, mx_profile_kernel *out);

/* ---- instructions --------------------------------------------------------------------------------------*/
typedef struct mx_profile_instruction {
  size_t struct_size;
  const char *function, *file; /* file NULL: no line table */
  uint32_t line, pc;
  const char *instruction; /* spelling of the opcode */
  const char *family;      /* "int", "float", "memory", "control" ...: the part of the table that has it */
  bool guarded, branch;    /* branch: conditional; `on` is then how many lanes it took */
  uint64_t executed;       /* warp instructions */
  uint64_t executed_compiled;
  uint64_t active;        /* active lanes, summed over all executions */
  uint64_t on;            /* of these, those whose guard held */
  uint64_t live;          /* lanes of the warp that had not ended, summed likewise: live - active of them waited for the
                             others at another instruction */
  uint64_t histogram[65]; /* executions by the number of active lanes */
  uint64_t splits;        /* of a branch: executions in which its lanes went both ways */
  uint64_t idle_lanes;    /* of a branch: lanes that waited while others ran one of its sides, summed over the warp
                             instructions there; an instruction counts for the innermost branch around it */
  uint64_t waited;        /* of a barrier: clock of the last warp to arrive less the warp's own, summed over arrivals */
  uint64_t arrivals;      /* of warps */
  uint64_t exits[8];      /* times that compiled code was left here, by enum mx_exit_reason */
  uint64_t floating;      /* floating-point operations */
  /* of instructions that access memory: */
  uint64_t bytes; /* that lanes moved */
  uint64_t sectors,
      sectors_least; /* sectors (aligned pieces of 32 bytes) touched; how many the bytes would have fit in */
  /* Shared memory: passes that would be needed without bank conflicts (with 32 banks), and passes beyond the least,
   * with 32 and with 64 banks of 4 bytes. */
  uint64_t passes_least, conflicts32, conflicts64;
  uint64_t atomics, same_address; /* lanes of atomics; of these, lanes at an address of another lane before them */
} mx_profile_instruction;
MX_API mx_status mx_profile_get_instruction(mx_profile *profile, size_t kernel, size_t instruction,
                                            mx_profile_instruction *out);

/* ---- the timeline ---------------------------------------------------------------------------------------*/
typedef enum mx_profile_event_kind {
  MX_PROFILE_LAUNCH,   /* begin, end: nanoseconds since the profile was created */
  MX_PROFILE_BLOCK,    /* clocks; begin_ns, end_ns: such nanoseconds; worker: the one that ran it when it ended */
  MX_PROFILE_WARP,     /* clocks, from its begin to its end */
  MX_PROFILE_WAIT,     /* clocks, at a barrier */
  MX_PROFILE_DIVERGED, /* clocks, while its lanes were diverged */
} mx_profile_event_kind;
typedef struct mx_profile_event {
  size_t struct_size;
  mx_profile_event_kind kind;
  uint32_t launch, warp, worker;
  uint64_t block, stream; /* stream, of a launch: streams are numbered from 1 by their first launch; 0: no stream */
  uint64_t begin, end, begin_ns, end_ns;
  const char *kernel, *file; /* of waits and divergences: where */
  uint32_t line;
} mx_profile_event;
MX_API size_t mx_profile_event_count(mx_profile *profile);
MX_API mx_status mx_profile_get_event(mx_profile *profile, size_t event, mx_profile_event *out);

#ifdef __cplusplus
}
#endif
#endif
