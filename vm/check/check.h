/* The checkers' state, for each other. check.c has the life of a device's checker and of a checked launch; the tools
 * are memory.c, uninit.c, race.c, copies.c, sync.c and lanes.c; they tell what they find to findings.c.
 *
 * A checked launch has one worker, so that nothing here needs locks; what orders accesses is reckoned (clocks.c), not
 * taken from the order in which they happen. */
#ifndef MX_CHECK_CHECK_H
#define MX_CHECK_CHECK_H

#include "mx/check.h"

#include "vm/exec/block.h"
#include "vm/exec/async.h"
#include "vm/exec/interp.h"
#include "vm/exec/launch.h"
#include "vm/exec/hooks.h"
#include "vm/exec/warp.h"
#include "vm/host/checker.h"
#include "vm/host/device.h"
#include "vm/memory/heap.h"

/* ---- an instruction of the launch, as far as the table and its operands tell ---------------------------------*/
enum access_kind {
  ACCESS_NONE,
  ACCESS_WEAK,
  ACCESS_STRONG, /* relaxed and stronger loads and stores, volatile ones */
  ACCESS_ATOMIC,
  ACCESS_ASYNC /* lands later, ordered by what waits for it: no races are looked for */
};
/* Where an address was made, as far as that is certain. */
enum origin_kind { ORIGIN_UNKNOWN, ORIGIN_NONE, ORIGIN_VARIABLE, ORIGIN_PARAM, ORIGIN_FRAME, ORIGIN_TOP };
struct origin {
  uint8_t kind;    /* NONE: no address went into it */
  uint32_t index;  /* of the module's variable; of the kernel's parameter */
  uint64_t offset; /* FRAME: constant bytes from the frame's local memory on */
};
/* A register operand: places in the frame's shadow (struct shadow); pair: two of them. */
struct reg {
  uint32_t slot;
  uint8_t pair, predicate, address; /* address: of memory */
};
#define NO_SLOT UINT32_MAX
struct site {
  const struct mx_insn *insn;
  uint32_t func;
  uint8_t access, effect;               /* enum access_kind, enum mx_effect */
  bool selects;                         /* an operand picks one of two others: so does whether the result is defined */
  bool writes;                          /* a store or an atomic */
  bool narrow;                          /* of a load or store: its address has 32 bits; */
  uint8_t space, bytes;                 /* of all elements of a lane */
  bool object;                          /* it is an mbarrier, whose state is its own */
  bool waits;                           /* lanes stand there until an mbarrier lets them go on */
  bool acquires, releases, block_scope; /* of a fence, or a strong or atomic access */
  uint8_t first_value;                  /* of a store: operand with the first element */
  uint8_t elements;
  uint16_t nin, nout;
  uint32_t first_in, first_out; /* in check->regs */
  uint32_t guard;               /* slot; NO_SLOT: none */
  struct origin origin;         /* of its (first) address */
  uint64_t lo, size;            /* what that may reach, generic, where it is the same in the whole launch: */
  bool known_range, has_range;  /* it has been looked for; and is known */
  bool tracked;                 /* it has to do with a register that may be read before it is written: definite.c */
  bool unraced;                 /* a read of a buffer that nobody in the launch writes: race.c */
  uint32_t lane_rule;           /* lanes.c: number of what was found in the text, from 1 */
};

/* ---- knowledge of what has happened (clocks.c) ----------------------------------------------------------------
 * Each warp has a time, which moves on when it publishes something. A set says for warps of the grid up to when their
 * accesses are known. Sets do not change once they are made, and are shared. */
struct clock {
  uint64_t warp; /* number in the grid */
  uint32_t time;
};
struct clocks {
  uint32_t users, n;
  struct clock at[];
};
struct clocks *mx__clocks_keep(struct clocks *c);
void mx__clocks_drop(struct clocks *c);
uint32_t mx__clocks_time(const struct clocks *c, uint64_t warp);
/* Takes over both (either may be NULL). NULL: both were, or there is no memory. */
struct clocks *mx__clocks_join(struct clocks *a, struct clocks *b);
struct clocks *mx__clocks_with(struct clocks *a, uint64_t warp, uint32_t time); /* takes over a */

/* What a cell that threads synchronise by has published: to all, and to its own block only. */
struct sync_cell {
  uint64_t address, block; /* key; block: of shared memory, else UINT64_MAX */
  struct clocks *all, *own;
  uint64_t own_block;
  bool used;
};

/* ---- who has accessed four bytes (race.c) --------------------------------------------------------------------*/
/* An access of a warp at one time and site: all such are one. */
struct record {
  uint64_t warp;
  uint32_t time, site;
};
/* By byte the lane + 1, LANE_MANY: several lanes; 0: none. readers: a record, or with READER_LIST a node's number.
 * writer BY_BYTE: the four bytes have cells of their own from number `readers` on. */
struct cell {
  uint32_t writer, readers;
  uint8_t wrote[4], read[4];
};
/* Several readers of a cell are a list, and lists that are equal are one. */
/* In `wrote` of cells also: somebody has written the byte (uninit.c), in this launch or before. */
#define DEFINED_BYTE 0x80u
#define DEFINED (DEFINED_BYTE * 0x01010101u)
#define DEFINED_WORD (DEFINED * UINT64_C(0x100000001))
#define LANE_MANY 0x7F
#define LANE_ROW 0x7E
#define READER_LIST 0x80000000u
#define BY_BYTE UINT32_MAX
struct reader {
  uint32_t record, next;
  uint32_t origin; /* LANE_ROW: of the cell that would be lane 0's; so cells of a row have the same readers */
  uint8_t lane;    /* + 1, or one of the above */
  uint16_t length;
};
/* The accesses and lists that cells of one memory name; numbers begin at 1. That of shared memory begins anew with each
 * block. */
struct ledger {
  struct record *records;
  size_t nrecords, records_room;
  uint64_t turn_warp;                         /* the warp of the last record, its time: */
  uint32_t turn_time, turn_first, turn_lists; /* all records and lists from these on have these */
  bool turn_strong;                           /* some of them are of strong accesses */
  bool strong_writes;                         /* there have been strong writes */
  uint32_t last_write;                        /* the last record of a write; 0: none */
  uint32_t *later;                            /* reads that cells do not know of yet: quick.c */
  size_t nlater, later_room;
  struct reader *readers;
  size_t n, room;
  uint32_t *hash;
  size_t hash_size;
};
/* Cells of memory that lies together, by member: an access by a warp is mostly to a row of them. */
struct cells {
  uint32_t *writer, *readers, *wrote, *read;
  struct ledger *ledger;
};

/* ---- blocks and warps of the launch --------------------------------------------------------------------------*/
struct memo {
  const struct ledger *of;
  uint32_t record;
};
struct warp_state {
  uint64_t number; /* in the grid */
  uint32_t time;
  uint32_t lane_floor;       /* every lane knows what every other did up to this time of the warp */
  uint32_t (*lane_time)[64]; /* NULL, or by lane and other lane what it knows beyond */
  struct clocks *known;      /* other warps, of this block and others */
  struct clocks *fence[2];   /* what the last fence published, [1]: of block scope too; relaxed writes carry it */
  struct clocks *pending[2]; /* read by relaxed reads, to be known at the next fence; [1]: not known beyond the block */
  struct memo *memo;         /* by site: its last record */
  uint64_t waits, wait_address; /* lanes at an mbarrier, which publishes while they wait */
  uint64_t begun, ended;        /* lanes that the warp had at first; those that have ended */
  bool tainted;                 /* it has met an undefined value: uninit.c */
  uint32_t exit_site[MX_MAX_LANES];
  uint64_t together;                   /* lanes that have arrived there at once, by one instruction, last */
  uint32_t barrier_site[MX_MAX_LANES]; /* where each lane arrived last */
};
struct block_state {
  uint64_t number;
  struct warp_state *warps;
  uint32_t nwarps;
  struct clocks *arrived[MX_BARRIERS + 1]; /* what those know who have arrived at a barrier */
  struct clocks *passed;                   /* at the cluster's barrier when it was last complete */
  struct cells cells;                      /* of shared memory */
  struct ledger ledger;                    /* of these */
  uint32_t records_before, lists_before;   /* accesses, lists of readers below these numbers are known to all warps */
  unsigned char *local;                    /* of each byte of local memory DEFINED_BYTE, lane after lane */
  size_t local_stride, local_top;
};

struct undefined { /* memory of the device that has bytes nobody has written */
  uint64_t lo, size;
};
struct stored { /* where an undefined value was stored */
  uint64_t address, warp;
  uint32_t origin, site;
  uint8_t lane;
  bool used;
};
struct kept { /* a word that holds an undefined value, from launches that have ended */
  uint64_t address;
  struct finding *finding; /* NULL: the host has read it */
};
struct moment { /* of a launch */
  uint32_t site;
  uint64_t warp;
  uint8_t lane;
  uint64_t launch;
};
struct piece { /* of the heap of device malloc */
  uint64_t address, bytes;
  struct moment made, freed;
  mx_check_place place; /* made there, of a launch that has ended; its strings are its own */
  uint32_t func;
  bool gone, held, given_back; /* freed; the machine still has it; its place is taken again */
};
struct variable {
  uint64_t lo, size;
  const char *name;
};

struct finding {
  struct finding *next;
  mx_finding info;
  uint64_t key[4];
  bool hidden;   /* not true yet: uninit.c */
  uint64_t step; /* in which it was found first: of check->steps */
  char *strings[13];
};

/* What a kernel's text tells, for all its launches. */
struct mx_check_code {
  struct mx_prepared *prep;
  struct site *sites;
  uint32_t nsites, *first_site; /* by function */
  struct reg *regs;
  size_t nregs;
  uint32_t *shadow_at, *nslots; /* by function: where the shadow begins in a frame, and how many slots it has */
  uint64_t **tracked;           /* by function: registers that may be read before they are written */
  char *check_list;             /* of compiled code: as in struct mx_launch */
  bool borrowed;                /* prep is a session's */
};

struct mx_check {
  struct mx_device *device;
  uint32_t tools;
  struct finding *first, **last;
  size_t nfindings;

  struct source *sources; /* source.c */

  /* of the launch that runs */
  uint64_t launches;
  struct mx_launch *launch;
  struct mx_check_code own, *code; /* own: of this launch only */
  const struct mx_level *level;    /* whose bodies do what instructions do */
  const struct mx_insn *insn;      /* which runs; perhaps a copy, whose operands compiled code has */
  struct mx_bounds *bounds;        /* none is known: for bodies, which so tell of all accesses */
  struct mx_bounds *real_bounds;   /* what compiled code knows */
  bool failed;                     /* out of memory: what follows is not looked at */
  struct variable *shared;         /* variables of shared memory, ascending */
  uint32_t nshared;

  /* race.c */
  struct cells cells[2]; /* of global memory, of the heap */
  uint64_t cells_lo[2], cells_bytes[2];
  uint32_t *wrote[2]; /* shadow.c: their member of that name, which stays when the launch has ended */
  uint64_t wrote_bytes[2];
  bool unraced;         /* there are sites that are */
  struct ledger ledger; /* of these */
  struct cell *byte_cells;
  size_t nbyte_cells, byte_cells_room;
  struct sync_cell *syncs;
  size_t nsyncs, syncs_size;
  uint64_t syncs_lo[2], syncs_hi[2]; /* where all of them lie: in shared memory, elsewhere */

  /* uninit.c */
  struct undefined *undefined;
  size_t nundefined, recent;
  uint64_t heap_bytes;
  struct stored *stored;
  size_t nstored, stored_size;
  size_t undefined_room, nkept, kept_room;
  struct kept *kept;
  bool light;              /* the warp that runs has not met an undefined value: others are defined */
  uint64_t loaded, result; /* of the instruction that runs: lanes whose loaded bytes, whose operands are all defined */
  uint32_t loaded_from, result_from; /* where the others came from */
  struct origin_note *notes;         /* of undefined values: number is what registers and cells remember */
  struct finding *again;             /* found_at: what had been found before */

  /* memory.c */
  struct piece *pieces;
  size_t npieces, pieces_room;
  uint64_t quarantine;

  /* lanes.c */
  unsigned char *confirmed; /* by site: its rule has been told */
  uint64_t steps;           /* accesses and instructions looked at, so that lanes of one are told together */
};

/* Where an undefined value came from. */
struct origin_note {
  uint64_t address;
  uint32_t site;
  uint8_t what; /* enum undefined_what */
  bool known;
};
enum undefined_what { NOTE_REGISTER, NOTE_SHARED, NOTE_LOCAL, NOTE_GLOBAL, NOTE_HEAP };

static inline struct mx_check *check_of(const struct mx_exec *x) { return x->launch->observed; }
static inline uint32_t site_number(const struct mx_check *c, const struct mx_exec *x, const struct mx_insn *i) {
  const uint32_t k = x->fn->index_of_pc[i->pc]; /* bodies may come with a copy of the instruction */
  return c->code->first_site[x->fn->number] + k + (x->fn->insns[k].kind == MX_INSN_JOIN);
}
static inline struct block_state *block_state(const struct mx_block *b) { return b->observed; }
/* The block whose shared memory a generic address of the shared window names, its own or one of its cluster, and where
 * that begins; NULL: there is none. */
static inline struct block_state *mx__shared_of(const struct mx_exec *x, uint64_t address, uint64_t *lo) {
  const uint64_t in = address & (MX_WINDOW(1) - 1), rank = in >> MX_RANK_SHIFT;
  const struct mx_block *leader = x->block->leader;
  *lo = MX_WINDOW(MX_WINDOW_SHARED) + (rank << MX_RANK_SHIFT);
  if (!rank) return block_state(x->block);
  return rank <= leader->nmembers ? block_state(leader->members[rank - 1]) : NULL;
}
static inline struct warp_state *warp_state(const struct mx_exec *x) {
  return &block_state(x->block)->warps[x->warp->number];
}

/* Memory that grows by doubling: room for one more element. False: there is none, and the check gives up. */
bool mx__check_grow(struct mx_check *c, void **at, size_t n, size_t *room, size_t size);

/* ---- sites.c ------------------------------------------------------------------------------------------------*/
bool mx__sites_make(struct mx_check *c);
void mx__code_drop(struct mx_check_code *code); /* what is in it */
/* definite.c: c->code->tracked, and sites' own. */
bool mx__tracked_find(struct mx_check *c);
static inline bool mx__is_tracked(const struct mx_check *c, uint32_t func, uint32_t slot) {
  return c->code->tracked[func][slot / 64] >> (slot % 64) & 1;
}
/* origin.c: where the address of the memory instruction at a site was made. */
struct origin mx__origin_of_address(const struct mx_check *c, const struct mx_pfunc *fn, const struct mx_insn *i);
struct origin mx__origin_of_operand(const struct mx_check *c, const struct mx_pfunc *fn, const struct mx_insn *i,
                                    unsigned k);

/* source.c: order and scope of a fence, an atomic or a strong access. */
void mx__order_of(const struct mx_check *c, struct site *s);
void mx__sources_free(struct mx_check *c);

/* ---- findings.c ---------------------------------------------------------------------------------------------*/
/* A new finding, or NULL: the same key has been found before, which counts, or the tool is off. Its place is where
 * lanes of i are. The strings are given to found_end, which takes them over. */
struct finding *mx__finding(struct mx_exec *x, mx_check_tool tool, const char *kind, uint32_t site, uint64_t lanes,
                            uint64_t key1, uint64_t key2);
void mx__found_address(struct finding *f, const struct mx_check *c, uint64_t address, uint64_t bytes, char *where);
void mx__found_other(struct finding *f, const struct mx_check *c, char *story, uint32_t site, uint64_t warp,
                     uint64_t lanes);
/* Makes info.text. */
void mx__finding_text(struct finding *f);
void mx__found_end(struct finding *f, char *message);
#define FOUND_PAIR UINT64_MAX
struct finding *mx__found_at(struct mx_check *c, mx_check_tool tool, const char *kind, uint32_t site, uint64_t warp,
                             uint64_t lanes, uint64_t key1, uint64_t key2);
void mx__found_story(struct finding *f, char *story);
/* At the end of the program: a place of a launch that has ended. */
void mx__found_leak(struct mx_check *c, const mx_check_place *place, uint64_t address, uint64_t bytes, char *where);
char *mx__where_from(uint64_t at, uint64_t lo, uint64_t size, const char *what);
void mx__place_of(const struct mx_check *c, mx_check_place *p, uint32_t site, uint64_t warp, uint64_t lanes);
void mx__findings_free(struct mx_check *c);
/* Where an address lies: variable, buffer or heap piece; malloc'ed. */
char *mx__where_of(const struct mx_check *c, uint64_t address, uint64_t bytes);

/* ---- shadow.c -----------------------------------------------------------------------------------------------*/
bool mx__shadow_begin(struct mx_check *c); /* of a launch; false: out of memory */
void mx__shadow_end(struct mx_check *c);
bool mx__shadow_block(const struct mx_check *c, struct block_state *b); /* a block begins: its cells are as new */
void mx__shadow_block_end(struct block_state *b);
void mx__shadow_forget(struct mx_check *c);
/* Of global memory and the heap: where it stands who has written a byte; NULL: it is not known. */
unsigned char *mx__shadow_wrote(struct mx_check *c, uint64_t address, uint64_t bytes);
/* Whether n bytes are defined, all of them or none; to make them so. */
bool mx__defined_all(const unsigned char *wrote, uint64_t n);
bool mx__defined_none(const unsigned char *wrote, uint64_t n);
void mx__defined_set(unsigned char *wrote, uint64_t n, bool to);

/* ---- tools ----------------------------------------------------------------------------------------------------*/
void mx__race_begin(struct mx_check *c);
void mx__race_end(struct mx_check *c);
/* A list with one more reader in front of list r.next; r.length is not looked at. 0: there is no memory. */
uint32_t mx__race_list(struct mx_check *c, struct ledger *l, struct reader r);
enum { MX_LONGEST_LIST = 256 };
/* Whether warps have synchronised by some place between two addresses. */
bool mx__race_syncs_between(const struct mx_check *c, uint64_t lo, uint64_t hi);
void mx__race_touch(struct mx_exec *x, uint32_t site, const struct mx_access *a);
/* A lane of the warp has read a cell, at the record's time; all that was written there is known. */
void mx__race_read(struct mx_check *c, struct warp_state *w, const struct cells *cells, uint64_t cell, unsigned lane,
                   uint32_t record);
/* The number of the record for an access at the site now; 0: out of memory. Whether a record is known to all lanes of
 * the warp. */
uint32_t mx__race_record(struct mx_check *c, struct ledger *l, struct warp_state *w, uint32_t site);
bool mx__race_knows(const struct ledger *l, const struct warp_state *w, uint32_t record);
void mx__copies_touch(struct mx_exec *x, uint32_t site, const struct mx_access *a); /* copies.c */
void mx__race_fence(struct mx_exec *x, const struct site *s);
void mx__race_woken(struct mx_exec *x);
void mx__race_arrive(struct mx_exec *x, uint32_t number);
/* A barrier is complete: lanes that wait there, by warp; whether these are all of the block's, and nobody else reaches
 * its shared memory. */
bool mx__race_waits(const struct mx_check *c, const struct mx_block *b, uint32_t number, uint64_t *waited);
void mx__race_barrier(struct mx_check *c, struct mx_block *b, uint32_t number, const uint64_t *waited, bool all);
void mx__race_await(struct mx_exec *x); /* at the cluster's barrier */
void mx__race_meet(struct mx_exec *x, uint64_t group);
void mx__race_block(struct mx_check *c, struct block_state *s);
void mx__race_block_end(struct block_state *s);

void mx__uninit_begin(struct mx_check *c);
void mx__uninit_end(struct mx_check *c);
void mx__uninit_block(struct mx_check *c, struct block_state *b);
void mx__uninit_block_end(struct mx_check *c, struct block_state *b);
void mx__uninit_forget(struct mx_check *c);
void mx__uninit_before(struct mx_exec *x, uint32_t site, uint64_t m);
void mx__uninit_after(struct mx_exec *x, uint32_t site, uint64_t m, struct mx_frame *f);
void mx__uninit_call(struct mx_exec *x, uint32_t site, struct mx_frame *caller, struct mx_frame *callee);
void mx__uninit_return(struct mx_exec *x);
/* The warp meets an undefined value in compiled code: the machine is to execute the instruction. Always NULL. */
const struct mx_insn *mx__uninit_leave(struct mx_exec *x, const struct mx_insn *i);
/* True: that is so here. */
bool mx__uninit_touch(struct mx_exec *x, uint32_t site, const struct mx_access *a);
/* Where it stands whether the bytes at a lane's generic address are defined; NULL: all are. */
unsigned char *mx__uninit_bytes(struct mx_check *c, const struct mx_exec *x, uint64_t lane, uint64_t address,
                                uint64_t bytes, enum undefined_what *what);
void mx__uninit_copy(struct mx_exec *x, const struct mx_insn *i, uint64_t m);
/* A debugger has written it: it is defined. */
void mx__uninit_set_register(struct mx_check *c, struct mx_frame *f, unsigned cls, uint32_t slot, bool spilled,
                             uint64_t lanes);
void mx__uninit_set_memory(struct mx_check *c, const struct mx_block *b, uint32_t warp, uint32_t lane, uint64_t address,
                           uint64_t bytes);
void mx__uninit_heap(struct mx_check *c, uint64_t address, uint64_t bytes);
/* Memory of the device in which bytes are undefined: allocated, written or copied by the host, read by it, freed. */
void mx__undefined_add(struct mx_check *c, uint64_t lo, uint64_t size, bool defined);
void mx__undefined_written(struct mx_check *c, uint64_t address, uint64_t bytes);
void mx__undefined_copied(struct mx_check *c, uint64_t to, uint64_t from, uint64_t bytes);
void mx__undefined_read(struct mx_check *c, uint64_t address, uint64_t bytes);
void mx__undefined_freed(struct mx_check *c, uint64_t address);

void mx__memory_touch(struct mx_exec *x, uint32_t site, const struct mx_access *a);
/* What a site's address may reach, if that is the same in the whole launch, goes to the site; false: it is not known.
 */
bool mx__memory_range(struct mx_check *c, struct site *s);
/* Whether all addresses from lo to hi, generic, are inside of what the site's was made of; false: that is to be asked
 * lane by lane. */
bool mx__memory_inside(struct mx_exec *x, uint32_t site, uint64_t lo, uint64_t hi);
void mx__memory_malloc(struct mx_exec *x, uint32_t site, uint64_t m);
/* Lanes of m that the machine is to do itself: what they free is no live piece. */
uint64_t mx__heap_freed(struct mx_exec *x, uint32_t site, uint64_t m);
void mx__memory_end(struct mx_check *c);
void mx__memory_leaks(struct mx_check *c);
void mx__memory_forget(struct mx_check *c);
void mx__memory_trap(struct mx_check *c, const struct mx_trap *t);
char *mx__where_of_piece(const struct mx_check *c, const struct piece *p, uint64_t address);

/* quick.c: as accessed() in struct mx_probe. The tools that have to look lane by lane at an access by lanes m at
 * generic addresses, all of which may be touched so; for the others there is nothing to be told, and it has been
 * recorded. */
uint32_t mx__quick_compiled(struct mx_exec *x, const struct mx_jit_state *s, uint32_t pc, uint64_t m, uint64_t number,
                            uint32_t one);
uint32_t mx__quick(struct mx_exec *x, uint32_t site, uint64_t m, const uint64_t *address, uint64_t base, uint64_t bytes,
                   bool write);
/* Cells of a block's shared memory get to know of the reads so far. Before race.c looks at an access to it, and before
 * a warp of the block learns of others. */
void mx__quick_settle(struct mx_check *c, struct block_state *b);

void mx__sync_before(struct mx_exec *x, uint32_t site, uint64_t m);
void mx__sync_barrier(struct mx_check *c, struct mx_block *b, uint32_t number);
void mx__sync_exit(struct mx_exec *x, uint32_t site, uint64_t m);

void mx__lanes_find(struct mx_check *c); /* sites' rules */
void mx__lanes_end(struct mx_check *c);
void mx__lanes_before(struct mx_exec *x, uint32_t site, uint64_t m);

#endif
