/* Asynchronous copies under way, and mbarriers. A copy is kept from the instruction that issues it until it lands: when
 * a lane waits for its group, or, where an mbarrier is to be told, when lanes wait there and nobody else in the unit
 * can go on. So what reads a copy's target without having waited finds the old bytes, in every run. */
#ifndef MX_VM_ASYNC_H
#define MX_VM_ASYNC_H

#include "block.h"
#include "launch.h"

struct mx_exec;

enum mx_copy_kind {
  MX_COPY_LANES,  /* cp.async: 4, 8 or 16 bytes of each lane */
  MX_COPY_ARRIVE, /* cp.async.mbarrier.arrive: when the lane's copies before it have landed */
  MX_COPY_BULK,   /* one lane's piece of any size: cp.async.bulk, st.async and their reductions */
};
/* What becomes of a cell in memory: one of reductions.h. */
struct mx_reduction {
  void (*cell)(void *at, const void *with, bool shared);
  uint32_t bytes;
};
extern const struct mx_reduction mx__reductions[];
struct mx_copy {
  uint8_t kind;
  bool whole;    /* LANES: all bytes of all lanes are copied */
  uint8_t row;   /* not 0: this was a mx_row_copy, and to[], from[] are its pieces', and read[] is not there */
  uint8_t bytes; /* of a lane; of ARRIVE: by which the phase is short until then, or 0 for an arrival that it expects */
  uint32_t func, pc;               /* the instruction that issued it */
  uint32_t group;                  /* the number of its lanes' group */
  uint64_t lanes;                  /* for which it has not landed */
  uint64_t due;                    /* MX_ASYNC_RANDOM: the event at which it lands, if nobody has waited before */
  unsigned char *to[MX_MAX_LANES]; /* host addresses; of ARRIVE: of the mbarriers */
  const unsigned char *from[MX_MAX_LANES];
  uint8_t read[MX_MAX_LANES]; /* so many bytes are copied, the others are zeros */
  /* BULK: to[0], from[0]; from[0] NULL: what is to be stored stands here */
  struct mx_block *of;        /* whose shared memory it goes to; NULL: global memory */
  uint64_t address, value[4]; /* the target's */
  uint32_t size;
  unsigned char *signal; /* an mbarrier of that block that lacks these bytes until then; NULL: it is in a bulk group */
  const struct mx_reduction *reduce; /* NULL: none */
};
#define MX_COPY_ROW 8u
/* A cp.async of all lanes of a warp, of all bytes, in pieces of `row` lanes that lie side by side: all that is kept of
 * it, where nobody but waits of its warp decides when it lands. Compiled code issues such copies by itself. Where the
 * places of pieces are sums of a step for each bit of their numbers, as those of tiles are, at[0] is the place of the
 * first, and at[1] and what follows are the steps; otherwise there are no more pieces than places. */
#define MX_COPY_PIECES 8u
struct mx_row_copy {
  _Alignas(64) uint32_t func;
  uint32_t pc, group;
  uint8_t row;
  bool steps;
  uint16_t bytes; /* of a lane */
  union {
    struct {
      unsigned char *to;
      const unsigned char *from;
    };
    struct {
      uint64_t to, from;
    } by;
  } at[MX_COPY_PIECES];
};
/* Where its pieces are; how many. */
static inline unsigned mx__row_places(const struct mx_row_copy *c, unsigned lanes, unsigned char **to,
                                      const unsigned char **from) {
  const unsigned n = lanes / c->row;
  to[0] = c->at[0].to, from[0] = c->at[0].from;
  for (unsigned k = 1; k < n && !c->steps; k++) to[k] = c->at[k].to, from[k] = c->at[k].from;
  for (unsigned bit = 1, b = 1; bit < n && c->steps; bit *= 2, b++)
    for (unsigned k = 0; k < bit; k++) to[bit + k] = to[k] + c->at[b].by.to, from[bit + k] = from[k] + c->at[b].by.from;
  return n;
}
/* Those of a warp, in the order in which they were issued: the list, then the ring of rows. What can not wait in the
 * ring is preceded in the list by all that waits there: mx__async_issue(). */
struct mx_warp_copies {
  uint32_t n;               /* in the list */
  uint32_t issued, landed;  /* of the ring, since the block began */
  uint32_t room;            /* so many may be put into the ring; 0: async.c has to look */
  uint32_t mask;            /* of the ring's numbers, which has mask + 1 cells: most programs need few, which stay in
                               the nearest cache */
  uint32_t committed;       /* groups that all lanes have; groups: besides, each lane */
  struct mx_row_copy *rows; /* the ring; NULL: there is none, since others look at copies or decide when they land */
  bool groups_differ;       /* lanes may have committed different numbers of groups */
  uint32_t list_room;
  struct mx_copy **list; /* behind the n copies, up to `list_room`, memory for more, or NULL */
  uint32_t groups[MX_MAX_LANES], bulk_groups[MX_MAX_LANES];
};
#define MX_WANTED 8
struct mx_async {
  uint32_t n; /* copies in all */
  /* the leader's, for the unit: */
  uint32_t nwanted; /* mbarriers that lanes have asked and found incomplete since copies last landed; more than
                       MX_WANTED: any */
  unsigned char *wanted[MX_WANTED];
  uint32_t passes; /* passes over the warps in which something went on while lanes wait */
  uint64_t events, random;
  struct mx_warp_copies warp[];
};

/* ---- turns.c asks, of all blocks of a unit ----------------------------------------------------------------*/
/* Nobody can go on but by copies: those land that lanes wait for at mbarriers. True: somebody can go on. */
bool mx__async_land_wanted(struct mx_exec *x, struct mx_block *leader);
/* A round has ended in which something went on: lanes at mbarriers are not to wait forever for copies that wait for
 * that to end. */
void mx__async_round(struct mx_exec *x, struct mx_block *leader);
/* Whether lanes wait at mbarriers with a limit; then they are told in the unit's next turn that it is reached. */
bool mx__mbarrier_time_over(struct mx_block *leader);
void mx__mbarrier_time_out(struct mx_block *leader);
/* So many times in vain, for all of a launch's blocks: then it is a deadlock. */
#define MX_MOST_TIMEOUTS 1024u
/* Block b has ended: a bulk copy that has not read its shared memory is a trap; what is under way otherwise, nobody
 * can see. False: trapped. */
bool mx__async_end(struct mx_block *b);
/* Before the block's first instruction, and when it goes. */
void mx__async_clear(struct mx_block *b);
void mx__async_free(struct mx_block *b);
/* For debuggers that go back: a copy as it was, at the end of a warp's list. False: out of memory. */
bool mx__async_put(struct mx_block *b, uint32_t warp, const struct mx_copy *c);
/* rings.c. The ring gets twice as many cells; false: it has them all, or there is no memory. How many copies more may
 * stand in it, as w->room. */
bool mx__copies_lengthen(struct mx_warp_copies *w);
void mx__copies_room(struct mx_warp_copies *w);
#define MX_MOST_COPIES 1024u /* of a warp: then the oldest land */
/* NULL: out of memory. */
struct mx_async *mx__async_new(struct mx_block *b);
static inline struct mx_async *mx__async_of(struct mx_block *b) { return b->async ? b->async : mx__async_new(b); }

/* ---- compiled code asks: see struct mx_jit_help ------------------------------------------------------------*/
uint32_t mx__async_wait_of_all(struct mx_exec *x, uint32_t n);

/* ---- async.c and bulk.c ---------------------------------------------------------------------------------*/
/* A copy by the lanes of m that have committed as many groups as the first; these in *taken. NULL: out of memory. */
struct mx_copy *mx__async_issue(struct mx_exec *x, const struct mx_insn *i, enum mx_copy_kind kind, uint64_t m,
                                uint64_t *taken);
/* What instruction i has issued lands now, where that is the order, or there is no end to it. The next instruction, or
 * NULL: trapped. */
const struct mx_insn *mx__async_issued(struct mx_exec *x, const struct mx_insn *i);
/* Copies of the current warp land that lanes m wait for, all but those of their last n groups. The same. */
const struct mx_insn *mx__async_wait(struct mx_exec *x, const struct mx_insn *i, uint64_t m, bool bulk, uint32_t n);
const struct mx_insn *mx__async_no_memory(struct mx_exec *x, const struct mx_insn *i);
struct mx_trap mx__async_blame(const struct mx_block *b, uint32_t warp, const struct mx_copy *c, uint64_t lanes);

/* ---- mbarrier.c, for copies that land --------------------------------------------------------------------*/
/* `count` arrivals at the object at `at`, and what follows: lanes that wait for the phase go on. False: trapped as `t`,
 * whose instruction is to blame. */
bool mx__mbarrier_arrive(struct mx_exec *x, struct mx_block *b, unsigned char *at, uint32_t count,
                         const struct mx_trap *t);
/* Its phase lacks so many bytes more; landed: which may be the end of it. False: trapped. */
bool mx__mbarrier_bytes(struct mx_exec *x, struct mx_block *b, unsigned char *at, int64_t bytes, bool landed,
                        const struct mx_trap *t);
/* Tells a session that `bytes` at `host`, in shared memory, are about to be written. */
void mx__shared_write(struct mx_exec *x, struct mx_block *b, unsigned char *host, uint64_t bytes);
/* "the mbarrier at 0x40 in shared memory, phase 1: 3 of 64 arrivals and 128 bytes are missing"; malloc'ed. */
char *mx__mbarrier_text(const struct mx_block *b, const unsigned char *at);

/* The block of b's cluster whose shared memory a host address lies in; NULL: none. */
static inline struct mx_block *mx__shared_owner(struct mx_block *b, const unsigned char *at) {
  if (at >= b->shared && at < b->shared + b->launch->shared_bytes) return b;
  for (uint32_t k = 0; b->nmembers > 1 && k < b->nmembers; k++) {
    struct mx_block *m = b->leader->members[k];
    if (at >= m->shared && at < m->shared + m->launch->shared_bytes) return m;
  }
  return NULL;
}
/* Bits 24 to 31 of a shared address are the rank of a block in the cluster and one, or 0: the own block. */
#define MX_RANK_SHIFT 24
static inline uint64_t mx__shared_at_rank(uint64_t address, unsigned rank) {
  return (address & ~((uint64_t)255 << MX_RANK_SHIFT)) | (uint64_t)(rank + 1) << MX_RANK_SHIFT;
}

/* Bounds of the shared memory of the block that an address in the window from `base` on names by its rank; false: it
 * names none. */
bool mx__cluster_bounds(struct mx_exec *x, uint64_t address, uint64_t base, struct mx_bounds *b);
/* What to say of an address that does not lie in any; NULL: nothing. malloc'ed. */
char *mx__cluster_wrong(const struct mx_exec *x, uint64_t offset);

/* Addresses of lanes m of instruction i, operand k and the offset behind it, in `space`; see access.h. */
bool mx__async_places(struct mx_exec *x, const struct mx_insn *i, uint64_t m, unsigned k, unsigned bytes,
                      unsigned space, bool write, unsigned bounds, unsigned char **host);
/* Whether the last {} group of the spelling says shared memory; otherwise addresses are generic ones that must lie
 * there. */
static inline unsigned mx__async_space(const struct mx_insn *i) {
  return i->mod >= mx__ops[i->op].mods / 2 ? MX_SHARED : MX_GENERIC;
}
/* The mbarriers of lanes m: in shared memory; own: of their block. False: trapped. */
bool mx__mbarrier_places(struct mx_exec *x, const struct mx_insn *i, uint64_t m, unsigned k, bool write, bool own,
                         unsigned char **host);
struct mx_trap mx__trap_of(const struct mx_exec *x, const struct mx_insn *i, mx_trap_kind kind, uint64_t lanes);

#endif
