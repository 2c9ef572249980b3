/* A profile inside: totals by kernel and instruction, what a running launch counts, and the timeline. */
#ifndef MX_VM_PROFILE_H
#define MX_VM_PROFILE_H

#include "mx/profile.h"
#include "vm/exec/block.h"
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
  uint64_t *parted;        /* by instruction; NULL: not found yet */
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

/* A launch that is profiled. */
struct mx_probed {
  mx_profile *profile;
  struct mx_profiled *kernel;
  struct mx_level level;
  mx_body *bodies;
  struct mx_prepared *prep;
  uint32_t *first;  /* by function: its first instruction's number among all that is counted */
  uint32_t *record; /* by that number: of the kernel's record; UINT32_MAX: none */
  size_t ncounts;
  struct mx_count *counts; /* by number; sums of the workers that have ended; profile's lock */
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
struct mx_probed_worker {
  struct mx_probed *of;
  const struct mx_fact *facts; /* by opcode */
  struct mx_counted active, live;
  struct mx_count *counts;
  mx_profile_kernel total;
  uint32_t number;
};
/* A warp's clock, and where it waits. */
struct mx_probed_warp {
  uint64_t clock, apart_since;
  uint32_t apart_at; /* number of the instruction that parted its lanes */
  bool apart;
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
};
/* Before l runs: gives it code, and what its workers report to. False: out of memory. */
bool mx__profile_begin(mx_profile *p, const struct mx_profile_launch *what, struct mx_launch *l);
/* It has ended, and taken so many seconds. Its code goes away. */
void mx__profile_end(struct mx_launch *l, double seconds);
/* events.c: an event for the timeline. */
void mx__profile_event(mx_profile *p, const mx_profile_event *e);
/* count.c */
extern const struct mx_probe mx__profile_probe;
const struct mx_insn *mx__profile_count(struct mx_exec *x, const struct mx_insn *i);
/* apart.c: by instruction: the branch whose parting the lanes wait for that stand elsewhere while it runs; UINT32_MAX:
 * none. malloc'ed. */
uint32_t *mx__profile_partings(const struct mx_profiled *k);

static inline uint64_t mx__profile_ns(const mx_profile *p, const struct timespec *t) {
  return (uint64_t)((t->tv_sec - p->made.tv_sec) * 1000000000ll + (t->tv_nsec - p->made.tv_nsec));
}

#endif
