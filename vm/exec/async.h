/* Asynchronous copies under way, and mbarriers. A copy is kept from the instruction that issues it until it lands: when
 * a lane waits for its group, or, if the copy signals an mbarrier, when lanes wait there and no others in the unit can
 * go on. So code that reads a copy's target without having waited finds the old bytes, in every run. */
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
/* The operation with which a copy changes a memory cell: one of reductions.h. */
struct mx_reduction {
  void (*cell)(void *at, const void *with, bool shared);
  uint32_t bytes;
};
extern const struct mx_reduction mx__reductions[];
struct mx_copy {
  uint8_t kind;
  bool whole;  /* MX_COPY_LANES: all bytes of all lanes are copied */
  uint8_t row; /* not 0: it was a mx_row_copy; to[] and from[] are those of its pieces, and read[] is unused */
  /* for each lane. MX_COPY_ARRIVE: what the phase's count is reduced by meanwhile, or 0 for an arrival that is
   * expected */
  uint8_t bytes;
  uint32_t func, pc;               /* the instruction that issued it */
  uint32_t group;                  /* the number of its lanes' group */
  uint64_t lanes;                  /* for which it has not landed yet */
  uint64_t due;                    /* MX_ASYNC_RANDOM: at which event it lands, unless it has been waited for */
  unsigned char *to[MX_MAX_LANES]; /* host addresses; of ARRIVE: of the mbarriers */
  const unsigned char *from[MX_MAX_LANES];
  uint8_t read[MX_MAX_LANES]; /* how many bytes are read; the rest is filled with zeros */
  /* MX_COPY_BULK: to[0] and from[0]; if from[0] is NULL, the value to be stored is in value[] */
  struct mx_block *of;        /* whose shared memory it goes to; NULL: global memory */
  uint64_t address, value[4]; /* address: of the target */
  uint32_t size;
  unsigned char *signal; /* the mbarrier of that block which expects these bytes; NULL: the copy is in a bulk group */
  const struct mx_reduction *reduce; /* NULL: none */
};
#define MX_COPY_ROW 8u
/* A cp.async by all lanes of a warp, of all bytes, in pieces of `row` lanes with adjacent elements; it lands when its
 * warp waits for it and not before. Compiled code issues such copies by itself. In tiles, a piece's address is the
 * first one's plus a step for each bit of its number: then at[0] is the first address, and at[1] onwards are the steps.
 * Otherwise there are at most as many pieces as addresses.
 *
 * row 0: no copy, but the arrival of all lanes at the mbarrier at at[0].to when the copies before it have landed; bytes
 * is as in struct mx_copy. */
#define MX_COPY_PIECES 8u
struct mx_row_copy {
  _Alignas(64) uint32_t func;
  uint32_t pc, group;
  uint8_t row;
  bool steps;
  uint16_t bytes; /* of one lane */
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
/* Computes the addresses of all pieces; returns how many there are. */
static inline unsigned mx__row_places(const struct mx_row_copy *c, unsigned lanes, unsigned char **to,
                                      const unsigned char **from) {
  const unsigned n = lanes / c->row;
  to[0] = c->at[0].to, from[0] = c->at[0].from;
  for (unsigned k = 1; k < n && !c->steps; k++) to[k] = c->at[k].to, from[k] = c->at[k].from;
  for (unsigned bit = 1, b = 1; bit < n && c->steps; bit *= 2, b++)
    for (unsigned k = 0; k < bit; k++) to[bit + k] = to[k] + c->at[b].by.to, from[bit + k] = from[k] + c->at[b].by.from;
  return n;
}
/* A warp's copies in the order in which they were issued: first the list, then the ring of row copies. If a copy cannot
 * be in the ring, everything in the ring is moved to the list before it is added there: mx__async_issue(). What
 * compiled code uses of it is one cache line: where it was two, some processes took a tenth longer for a product. */
struct mx_warp_copies {
  _Alignas(64) uint32_t n; /* in the list */
  uint32_t issued, landed; /* in the ring, since the block began */
  uint32_t capacity;       /* how many may be in the ring at once; no more fit: async.c has to make room */
  uint32_t mask;           /* the ring has mask + 1 cells, as few as suffice, which stay in the first-level cache */
  uint32_t committed;      /* groups that all lanes have committed; groups[]: how many more each lane has */
  /* the ring; NULL: there is none, since a tool looks at copies, or they do not land in order */
  struct mx_row_copy *rows;
  bool groups_differ;   /* lanes may have committed different numbers of groups: groups[] is not all zeros */
  bool has_bulk_groups; /* nor is bulk_groups[] */
  uint32_t list_room;
  struct mx_copy **list; /* behind the n copies, up to `list_room`, there are unused ones, or NULL */
  uint32_t groups[MX_MAX_LANES], bulk_groups[MX_MAX_LANES];
};
#define MX_WANTED 8
struct mx_async {
  uint32_t n;        /* copies in all, in the lists */
  uint32_t arrivals; /* in the rings: how many of the cells are arrivals */
  /* Used in the leader only, for the unit: */
  /* mbarriers that lanes have tested and found incomplete since copies last landed; more than MX_WANTED: any
   * mbarrier */
  uint32_t nwanted;
  unsigned char *wanted[MX_WANTED];
  uint32_t passes; /* passes over the warps in which something made progress while lanes wait */
  uint64_t events, random;
  struct mx_warp_copies warp[];
};

/* ---- turns.c calls these for all blocks of a unit ---------------------------------------------------------------- */
/* Nothing can go on without copies: those land for whose mbarriers lanes wait. True: something can go on now. */
bool mx__async_land_wanted(struct mx_exec *x, struct mx_block *leader);
/* A pass has ended in which something made progress: lanes at mbarriers must not wait forever for copies that land only
 * when nothing else makes progress. */
void mx__async_round(struct mx_exec *x, struct mx_block *leader);
/* Whether lanes wait at mbarriers with a time limit; in the unit's next turn they are told that it is over. */
bool mx__mbarrier_time_over(struct mx_block *leader);
void mx__mbarrier_time_out(struct mx_exec *x, struct mx_block *leader);
/* When time limits have run out so often in a row, in all blocks of a launch and with nobody spinning, it is a
 * deadlock. */
#define MX_MOST_TIMEOUTS 1024u
/* Block b has ended: it is a trap if a bulk copy has not yet read its shared memory; other pending copies have no
 * effect. False: trapped. */
bool mx__async_end(struct mx_block *b);
/* Before the block's first instruction, and when it is freed. */
void mx__async_clear(struct mx_block *b);
void mx__async_free(struct mx_block *b);
/* For debuggers that go back: appends a copy to a warp's list. False: out of memory. */
bool mx__async_put(struct mx_block *b, uint32_t warp, const struct mx_copy *c);
/* rings.c. mx__copies_lengthen: doubles the ring; false: it has its greatest size, or out of memory. The other: how
 * many copies may be in the ring, as for w->capacity. */
bool mx__copies_lengthen(struct mx_warp_copies *w);
void mx__copies_capacity(struct mx_warp_copies *w);
static inline bool mx__copies_fit(const struct mx_warp_copies *w) { return w->issued - w->landed < w->capacity; }
#define MX_MOST_COPIES 1024u /* of one warp: beyond that the oldest ones land */
/* NULL: out of memory. */
struct mx_async *mx__async_new(struct mx_block *b);
static inline struct mx_async *mx__async_of(struct mx_block *b) { return b->async ? b->async : mx__async_new(b); }

/* ---- called by compiled code: see struct mx_jit_help ------------------------------------------------------------ */
uint32_t mx__async_wait_of_all(struct mx_exec *x, uint32_t n);

/* ---- async.c and bulk.c ---------------------------------------------------------------------------------*/
/* A copy by those lanes of m that have committed as many groups as the first lane; they are returned in *taken. NULL:
 * out of memory. */
struct mx_copy *mx__async_issue(struct mx_exec *x, const struct mx_insn *i, enum mx_copy_kind kind, uint64_t m,
                                uint64_t *taken);
/* To be called after instruction i has issued copies: these land now if that is the order in use, or if there are too
 * many. Returns the next instruction, or NULL: trapped. */
const struct mx_insn *mx__async_issued(struct mx_exec *x, const struct mx_insn *i);
/* The current warp's copies for which lanes m wait land: all but those of their last n groups. Returns the same. */
const struct mx_insn *mx__async_wait(struct mx_exec *x, const struct mx_insn *i, uint64_t m, bool bulk, uint32_t n);
const struct mx_insn *mx__async_no_memory(struct mx_exec *x, const struct mx_insn *i);
struct mx_trap mx__async_blame(const struct mx_block *b, uint32_t warp, const struct mx_copy *c, uint64_t lanes);

/* ---- mbarrier.c, for copies that land --------------------------------------------------------------------*/
/* `count` arrivals at the object at `at`: if that completes the phase, lanes that wait for it go on. False: trapped as
 * `t`, which names the instruction to blame. */
bool mx__mbarrier_arrive(struct mx_exec *x, struct mx_block *b, unsigned char *at, uint32_t count,
                         const struct mx_trap *t);
/* Adds to the bytes that the object's phase expects; landed: some have arrived, which may complete it. False:
 * trapped. */
bool mx__mbarrier_bytes(struct mx_exec *x, struct mx_block *b, unsigned char *at, int64_t bytes, bool landed,
                        const struct mx_trap *t);
/* So many arrivals, and `bytes` as above, all at once. False: nothing was done, since somebody watches each of them,
 * the phase ends in between, or one of them traps. */
bool mx__mbarrier_at_once(struct mx_exec *x, struct mx_block *b, unsigned char *at, uint32_t arrivals, int64_t bytes,
                          bool landed);
/* Tells a session that `bytes` at `host`, in shared memory, are about to be written. */
void mx__shared_write(struct mx_exec *x, struct mx_block *b, unsigned char *host, uint64_t bytes);
/* "the mbarrier at 0x40 in shared memory, phase 1: 3 of 64 arrivals and 128 bytes are missing"; malloc'ed. */
char *mx__mbarrier_text(const struct mx_block *b, const unsigned char *at);

/* The block of b's cluster whose shared memory contains a host address; NULL: none. */
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

/* The bounds of the shared memory of the block that an address names by its rank, in the window that begins at `base`;
 * false: it names none. */
bool mx__cluster_bounds(struct mx_exec *x, uint64_t address, uint64_t base, struct mx_bounds *b);
/* Explains an address that is in no block's shared memory; NULL: nothing to say. The caller frees it. */
char *mx__cluster_wrong(const struct mx_exec *x, uint64_t offset);

/* The addresses of lanes m of instruction i, operand k plus the offset behind it, in `space`; see access.h. */
bool mx__async_places(struct mx_exec *x, const struct mx_insn *i, uint64_t m, unsigned k, unsigned bytes,
                      unsigned space, bool write, unsigned bounds, unsigned char **host);
/* Whether the last {} group of the spelling names shared memory; otherwise addresses are generic, and must lie
 * there. */
static inline unsigned mx__async_space(const struct mx_insn *i) {
  return i->mod >= mx__ops[i->op].mods / 2 ? MX_SHARED : MX_GENERIC;
}
/* The mbarriers of lanes m, which must be in shared memory; own: of their own block. False: trapped. */
bool mx__mbarrier_places(struct mx_exec *x, const struct mx_insn *i, uint64_t m, unsigned k, bool write, bool own,
                         unsigned char **host);
/* The one mbarrier that all lanes of m name, if it is in the block's own shared memory, within the instruction's cached
 * bounds; otherwise NULL. Whether there is an mbarrier is not asked. */
unsigned char *mx__mbarrier_of_all(const struct mx_exec *x, const struct mx_insn *i, uint64_t m, unsigned k,
                                   bool write);
struct mx_trap mx__trap_of(const struct mx_exec *x, const struct mx_insn *i, mx_trap_kind kind, uint64_t lanes);

#endif
