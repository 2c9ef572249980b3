/* What a profile consists of: totals by kernel and instruction, the counts of a running launch, and the timeline.
 * "Probed" are things of a launch that a profile watches, by the table struct mx_probe of vm/exec/hooks.h: its workers,
 * blocks and warps. "Profiled" are kernels and instructions as the profile keeps them. */
#ifndef MX_VM_PROFILE_H
#define MX_VM_PROFILE_H

#include "mx/profile.h"
#include "vm/exec/attach.h"
#include "vm/exec/block.h"
#include "vm/exec/jitabi.h"
#include "vm/memory/lock.h"
#include "vm/exec/launch.h"

/* Counts of one instruction, as in mx_profile_instruction. All are sums, so that those of workers can be added up. */
struct mx_count {
  uint64_t histogram[MX_MAX_LANES + 1]; /* by active lanes */
  uint64_t on, live, compiled;
  uint64_t splits, waited, arrivals, exits[8];
  uint64_t bytes, sectors, sectors_least, passes_least, conflicts32, conflicts64, atomics, same_address;
};
#define MX_COUNT_WORDS (sizeof(struct mx_count) / 8)

/* An instruction as the profile keeps it, which may outlive the module. */
struct mx_profiled_insn {
  const char *function, *file, *name, *family; /* function, file: the kernel's strings */
  uint32_t func, line, pc;
  uint32_t *targets, ntargets, reconv; /* of branches, numbers of records: where they lead and where the lanes meet
                                          again; UINT32_MAX: none */
  bool guarded, branch, ends;          /* branch: conditional; ends: control never goes on to the instruction behind */
  uint16_t floating;                   /* floating-point operations of a lane, */
  uint32_t floating_warp;              /* and those of a warp as a whole (matrix instructions) */
};
struct mx_profiled {
  char *name;
  uint64_t digest;
  uint32_t lanes, nfuncs;
  struct mx_profiled_insn *insns;
  struct mx_count *counts;
  size_t ninsns;
  char **strings;
  size_t nstrings;
  mx_profile_kernel total; /* sums over its launches; what follows from counts is filled in when somebody asks */
  uint64_t *idle_lanes;    /* by instruction; NULL: to be computed */
};
struct mx_profile {
  struct mx_lock lock;
  mx_profile_options options;
  struct timespec made;
  struct mx_profiled **kernels;
  size_t nkernels;
  mx_profile_event *events;
  size_t nevents, room;
  uint32_t launches;
};

/* Prepared code of a kernel that counts, shared by all launches that count the same things. */
struct mx_profile_code {
  struct mx_level level;
  mx_body *bodies;
  struct mx_prepared *prep;
  uint64_t digest;
  uint32_t *first;  /* by function: the number of its first instruction; all instructions are numbered, from 0 */
  uint32_t *record; /* by that number: the number of the record in struct mx_profiled; UINT32_MAX: it has none */
  uint32_t *access; /* by that number: its number among instructions that access memory; UINT32_MAX: it does not */
  size_t ncounts, naccesses;
};
/* A launch that is profiled. */
struct mx_probed {
  mx_profile *profile;
  struct mx_profiled *kernel;
  const struct mx_profile_code *code;
  struct mx_probed_worker *ended; /* workers that have ended; their counts are added when the launch is over. This and
                                     the next are guarded by the profile's lock */
  uint64_t *waited;               /* by an instruction's number: as mx_profile_instruction.waited */
  mx_profile_kernel total;
  uint32_t number;
  uint64_t stream, timeline;
  atomic_uint workers;
};
struct mx_fact;
struct mx_counted { /* a mask and the number of its bits, remembered since masks seldom change: mx__profile_lanes */
  uint64_t mask;
  uint32_t n;
};
/* What compiled code of a function has counted, in the form of struct mx_jit_counted (vm/exec/jitabi.h). */
struct mx_compiled_counts {
  const struct mx_jit_code *code;      /* NULL: none has run */
  uint64_t *by_live[MX_MAX_LANES + 1]; /* its counters, by how many lanes of the warp had not ended; NULL: none yet */
  uint64_t *sums;                      /* its counters that do not depend on that */
  struct mx_compiled_access *accesses; /* by instruction, where accesses are counted */
};
struct mx_compiled_access {
  const struct mx_insn *insn;
  const struct mx_fact *fact;
  struct mx_count *counts;
  struct mx_access_pattern *last;
};
struct mx_probed_worker {
  struct mx_probed *of;
  struct mx_probed_worker *next;       /* of those that have ended */
  struct mx_compiled_counts *compiled; /* by function */
  uint64_t reported_splits;            /* splits that compiled code reported to the machine when it was left */
  const struct mx_fact *facts;         /* by opcode */
  struct mx_counted active, live;
  struct mx_count *counts;
  struct mx_access_pattern *patterns; /* by number among accesses, where these are counted */
  mx_profile_kernel total;
  uint32_t number;
};
/* A warp's clock, and whether its lanes are diverged. */
struct mx_probed_warp {
  uint64_t clock, diverged_since;
  uint32_t diverged_at; /* number of the instruction at which its lanes diverged */
  bool diverged;
};
struct mx_probed_arrival {
  uint64_t clock;
  uint32_t at; /* number of the instruction */
  bool there, waits;
};
struct mx_probed_block {
  struct timespec begun;
  bool shown; /* in the timeline */
  struct mx_probed_warp *warps;
  struct mx_probed_arrival *arrivals; /* by barrier and warp */
  struct mx_probed_arrival memory[];
};

/* What is needed of a kernel to profile a launch of it. */
struct mx_profile_launch {
  const struct mx_image *image;
  uint32_t func;
  const uint64_t *var_address;
  uint64_t stream;
  struct mx_profile_code **code; /* the kernel's code that counts, by what it counts; NULL: to be made */
};
/* Before launch l runs: gives it code that counts, and a struct mx_probed. False: out of memory. */
bool mx__profile_begin(mx_profile *p, const struct mx_profile_launch *what, struct mx_launch *l);
void mx__profile_code_free(struct mx_profile_code *code);
/* After the launch, which took so many seconds: adds its counts to the profile. */
void mx__profile_end(struct mx_launch *l, double seconds);
/* events.c: an event for the timeline. */
void mx__profile_event(mx_profile *p, const mx_profile_event *e);
/* How the addresses of an instruction's lanes lay relative to the first one at its last execution, and the counts that
 * follow. Most instructions have the same pattern each time, only at other addresses. */
struct mx_access_pattern {
  uint64_t mask;  /* lanes that accessed memory; 0: it has not been executed yet */
  uint64_t first; /* address of the lowest of them */
  uint8_t space;
  uint8_t addresses;    /* how many different ones */
  uint8_t least;        /* passes over shared memory without conflicts, */
  uint8_t conflicts[2]; /* and beyond them, with 32 and with 64 banks */
  bool one;             /* all lanes had the same address, given as one number */
  uint8_t sectors[32];  /* sectors touched, by the position of the first address in its sector; 0: not computed */
  /* Two arrays by lane, with elements as wide as addresses: the distance from the first address; all ones where the
   * lane is in the mask, else 0. */
  _Alignas(64) union {
    uint32_t narrow[2][MX_MAX_LANES];
    uint64_t wide[2][MX_MAX_LANES];
  } lanes;
};
/* accesses.c: counts an access of lanes m by instruction i. p points to the lanes' address registers (the offset is not
 * yet added), or, if `one`, to the single value that all lanes have. */
void mx__profile_access(const struct mx_exec *x, const struct mx_insn *i, const struct mx_fact *f, uint64_t m,
                        const void *p, bool one, struct mx_access_pattern *last, struct mx_count *c);
/* count.c: functions for struct mx_probe; besides, mx__profile_note_divergence says whether a warp's lanes are diverged
 * from instruction `at` on, and mx__profile_lanes counts the bits of a mask. */
const struct mx_insn *mx__profile_count(struct mx_exec *x, const struct mx_insn *i);
void mx__profile_note_divergence(const struct mx_block *b, uint32_t warp, uint32_t at, bool diverged);
bool mx__profile_block_new(struct mx_block *b);
void mx__profile_block_free(struct mx_block *b);
void mx__profile_block_starts(struct mx_block *b);
void mx__profile_block_ended(struct mx_exec *x, struct mx_block *b);
void mx__profile_released(struct mx_block *b, uint32_t number);
void mx__profile_arrives(struct mx_exec *x, const struct mx_insn *i, uint32_t number, bool waits);
uint32_t mx__profile_lanes(struct mx_counted *was, uint64_t mask);
/* compiled.c: functions for struct mx_probe that compiled code causes; the last two make counts of instructions from
 * what compiled code has counted. */
bool mx__profile_enters(struct mx_exec *x, struct mx_jit_state *s, const struct mx_insn *i);
void mx__profile_ran(struct mx_exec *x, uint32_t kind, const struct mx_jit_state *s);
void mx__profile_diverged(struct mx_exec *x, const struct mx_jit_state *s, uint64_t mask, uint64_t steps,
                          uint32_t block);
uint32_t mx__profile_accessed(struct mx_exec *x, const struct mx_jit_state *s, uint32_t ins, uint64_t mask,
                              uint64_t number, uint32_t one);
void mx__profile_left(struct mx_exec *x, enum mx_exit_reason why, const struct mx_insn *i);
uint64_t mx__profile_compiled_splits(const struct mx_probed_worker *worker); /* which the machine has not counted */
void mx__profile_take_compiled(const struct mx_probed_worker *worker, struct mx_count *records);
/* divergence.c: an array, which the caller frees, with a record's number for each record: the branch at which those
 * lanes diverged that wait while this instruction runs; UINT32_MAX: none. */
uint32_t *mx__profile_causes(const struct mx_profiled *k);

static inline void mx__least(uint64_t *to, uint64_t v) { *to = v < *to ? v : *to; }
static inline void mx__most(uint64_t *to, uint64_t v) { *to = v > *to ? v : *to; }
static inline uint32_t mx__profile_number(const struct mx_probed *of, const struct mx_pfunc *fn,
                                          const struct mx_insn *i) {
  return of->code->first[fn->number] + (uint32_t)(i - fn->insns);
}
static inline uint64_t mx__profile_ns(const mx_profile *p, const struct timespec *t) {
  return (uint64_t)((t->tv_sec - p->made.tv_sec) * 1000000000ll + (t->tv_nsec - p->made.tv_nsec));
}

#endif
