/* A profile inside: totals by kernel and instruction, what a running launch counts, and the timeline. */
#ifndef MX_VM_PROFILE_H
#define MX_VM_PROFILE_H

#include "mx/profile.h"
#include "vm/exec/attach.h"
#include "vm/exec/block.h"
#include "vm/exec/jitabi.h"
#include "vm/memory/lock.h"
#include "vm/exec/launch.h"

/* Of one instruction. All numbers are sums, so that counts can be added up. */
struct mx_count {
  uint64_t histogram[MX_MAX_LANES + 1]; /* by active lanes */
  uint64_t on, live, compiled;
  uint64_t splits, waited, arrivals, exits[8];
  uint64_t bytes, sectors, sectors_least, passes_least, conflicts32, conflicts64, atomics, same_address;
};
#define MX_COUNT_WORDS (sizeof(struct mx_count) / 8)

/* What stays of an instruction when its module is gone. */
struct mx_profiled_insn {
  const char *function, *file, *name, *family; /* function, file: the kernel's strings */
  uint32_t func, line, pc;
  uint32_t *targets, ntargets, reconv; /* of branches: numbers of records; UINT32_MAX: none */
  bool guarded, branch, ends;
  uint16_t floating; /* of a lane */
  uint32_t floating_warp;
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
  mx_profile_kernel total; /* its numbers */
  uint64_t *idle_lanes;    /* by instruction; NULL: not found yet */
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

/* Code of a kernel that counts, for all launches that count the same. */
struct mx_profile_code {
  struct mx_level level;
  mx_body *bodies;
  struct mx_prepared *prep;
  uint64_t digest;
  uint32_t *first;  /* by function: its first instruction's number among all that is counted */
  uint32_t *record; /* by that number: of the kernel's record; UINT32_MAX: none */
  uint32_t *access; /* by that number: a number among those that access memory; UINT32_MAX: none */
  size_t ncounts, naccesses;
};
/* A launch that is profiled. */
struct mx_probed {
  mx_profile *profile;
  struct mx_profiled *kernel;
  const struct mx_profile_code *code;
  struct mx_probed_worker *ended; /* what they have counted is summed up when the launch is over; profile's lock */
  uint64_t *waited;               /* by number; profile's lock */
  mx_profile_kernel total;
  uint32_t number;
  uint64_t stream, timeline;
  atomic_uint workers;
};
struct mx_fact;
struct mx_counted { /* a mask, and how many bits of it are set */
  uint64_t mask;
  uint32_t n;
};
/* What compiled code of a function has counted: see mx_jit_counted. */
struct mx_compiled_counts {
  const struct mx_jit_code *code;             /* NULL: none has run */
  uint64_t *by_live[MX_MAX_LANES + 1], *sums; /* its rows, by how many lanes of the warp lived */
  struct mx_compiled_access *accesses;        /* by instruction, where accesses are counted */
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
  uint64_t reported_splits;            /* splits that compiled code had hidden, and that the machine was told of */
  const struct mx_fact *facts;         /* by opcode */
  struct mx_counted active, live;
  struct mx_count *counts;
  struct mx_access_pattern *patterns; /* by number among accesses, where these are counted */
  mx_profile_kernel total;
  uint32_t number;
};
/* A warp's clock, and where it waits. */
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

/* What a launch needs of a kernel. */
struct mx_profile_launch {
  const struct mx_image *image;
  uint32_t func;
  const uint64_t *var_address;
  uint64_t stream;
  struct mx_profile_code **code; /* the kernel's, by what it counts; NULL: to be made */
};
/* Before l runs: gives it code, and what its workers report to. False: out of memory. */
bool mx__profile_begin(mx_profile *p, const struct mx_profile_launch *what, struct mx_launch *l);
void mx__profile_code_free(struct mx_profile_code *code);
/* It has ended, and taken so many seconds. */
void mx__profile_end(struct mx_launch *l, double seconds);
/* events.c: an event for the timeline. */
void mx__profile_event(mx_profile *p, const mx_profile_event *e);
/* How an instruction's addresses lay the last time: what follows from that, wherever they lie. */
struct mx_access_pattern {
  uint64_t mask, first;                          /* lanes; 0: there has been no time. The first one's address */
  uint8_t space, addresses, least, conflicts[2]; /* addresses: different ones; least, conflicts: passes over banks */
  bool one;
  uint8_t sectors[32]; /* by where the first address lies in its own; 0: not known */
  /* by lane, of as many bits as addresses have: how far it lies behind the first one; all bits where the lane is on */
  _Alignas(64) union {
    uint32_t narrow[2][MX_MAX_LANES];
    uint64_t wide[2][MX_MAX_LANES];
  } lanes;
};
/* accesses.c: lanes m of instruction i are about to access memory, at addresses made of the numbers at p; one: of the
 * number that all of them have. */
void mx__profile_access(const struct mx_exec *x, const struct mx_insn *i, const struct mx_fact *f, uint64_t m,
                        const void *p, bool one, struct mx_access_pattern *last, struct mx_count *c);
/* count.c: as in struct mx_probe; the current warp's lanes are diverged from here on, or together again; how many bits
 * of a mask are set. */
const struct mx_insn *mx__profile_count(struct mx_exec *x, const struct mx_insn *i);
void mx__profile_note_divergence(const struct mx_block *b, uint32_t warp, uint32_t at, bool diverged);
bool mx__profile_block_new(struct mx_block *b);
void mx__profile_block_free(struct mx_block *b);
void mx__profile_block_starts(struct mx_block *b);
void mx__profile_block_ended(struct mx_exec *x, struct mx_block *b);
void mx__profile_released(struct mx_block *b, uint32_t number);
void mx__profile_arrives(struct mx_exec *x, const struct mx_insn *i, uint32_t number, bool waits);
uint32_t mx__profile_lanes(struct mx_counted *was, uint64_t mask);
/* compiled.c: as in struct mx_probe; what the worker's compiled code has counted goes to its counts. */
bool mx__profile_enters(struct mx_exec *x, struct mx_jit_state *s, const struct mx_insn *i);
void mx__profile_ran(struct mx_exec *x, uint32_t kind, const struct mx_jit_state *s);
void mx__profile_diverged(struct mx_exec *x, const struct mx_jit_state *s, uint64_t mask, uint64_t steps,
                          uint32_t block);
uint32_t mx__profile_accessed(struct mx_exec *x, const struct mx_jit_state *s, uint32_t ins, uint64_t mask,
                              uint64_t number, uint32_t one);
void mx__profile_left(struct mx_exec *x, enum mx_exit_reason why, const struct mx_insn *i);
uint64_t mx__profile_compiled_splits(const struct mx_probed_worker *worker); /* which the machine has not counted */
void mx__profile_take_compiled(const struct mx_probed_worker *worker, struct mx_count *records);
/* divergence.c: by instruction: the branch at which the lanes diverged that wait while it runs; UINT32_MAX:
 * none. malloc'ed. */
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
