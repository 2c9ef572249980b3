/* The checkers' state, shared by their files. check.c has the life of a device's checker and of a checked launch; the
 * tools are memory.c, uninit.c, race.c, copies.c, sync.c and lanes.c; they report to findings.c.
 *
 * A checked launch has one worker, so nothing here needs locks. Whether accesses are ordered is computed from
 * synchronisation (clocks.c), not from the order in which they happen to run. */
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
  ACCESS_ASYNC /* it lands later, ordered by the wait for it; races are not looked for */
};
/* What an address was made of, as far as that is certain. */
enum origin_kind { ORIGIN_UNKNOWN, ORIGIN_NONE, ORIGIN_VARIABLE, ORIGIN_PARAM, ORIGIN_FRAME, ORIGIN_TOP };
struct origin {
  uint8_t kind;    /* NONE: it contains no address */
  uint32_t index;  /* number of the module's variable, or of the kernel's parameter */
  uint64_t offset; /* FRAME: a constant offset from the frame's local memory */
};
/* A register operand: its slots in the frame's shadow (struct shadow); pair: two of them. */
struct reg {
  uint32_t slot;
  uint8_t pair, predicate, address; /* address: the operand is an address of memory */
  uint8_t element;                  /* of a vector load or store: which element it is */
};
#define NO_SLOT UINT32_MAX
enum logic { LOGIC_NONE, LOGIC_AND, LOGIC_OR };
enum { MOST_ELEMENTS = 8 }; /* of a vector load or store */
struct site {
  const struct mx_insn *insn;
  uint32_t func;
  uint8_t access, effect; /* enum access_kind, enum mx_effect */
  /* one operand selects between two others, so the result is defined if the selected one is */
  bool selects;
  uint8_t logic;                        /* enum logic: how an operand may decide the result alone */
  bool writes;                          /* it is a store or an atomic */
  bool narrow;                          /* a load or store with a 32-bit address */
  bool in_step;                         /* a volatile store, or load that may rely on lanes that keep step: polls.c */
  uint8_t space, bytes;                 /* bytes: of all elements that one lane accesses */
  bool object;                          /* it accesses an mbarrier, whose bytes are not ordinary data */
  bool waits;                           /* lanes wait there until an mbarrier lets them go on */
  bool acquires, releases, block_scope; /* of a fence, or a strong or atomic access */
  bool observes;                        /* it reads, and the code uses what it has read: polls.c */
  uint8_t first_value;                  /* of a store: the operand that is the first element */
  uint8_t elements;                     /* of a load or store */
  uint16_t nin, nout;
  uint32_t first_in, first_out; /* in check->regs */
  uint32_t guard;               /* the guard's slot; NO_SLOT: it is unguarded */
  struct origin origin;         /* of its address, or of the first of two */
  /* the range that this address may reach, generic, if it is the same during the whole launch */
  uint64_t lo, size;
  bool known_range, has_range; /* known_range: it has been looked for; has_range: and found */
  bool tracked;                /* it reads or writes a register that may be read before it is written: definite.c */
  bool unraced;                /* it reads a buffer that no instruction of the launch writes: race.c */
  uint32_t lane_rule;          /* lanes.c: the number of the suspicion about it, from 1; 0: none */
};

static inline bool mx__is_strong(const struct site *s) {
  return s->access == ACCESS_STRONG || s->access == ACCESS_ATOMIC;
}

/* What warps know about each other (clocks.c). Each warp has a time, which advances when the warp publishes something.
 * A set of times says for each warp of the grid up to which time its accesses are known. Sets are immutable and
 * shared. */
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
/* The union of both sets. Takes over both references (either may be NULL). NULL: both were NULL, or out of memory. */
struct clocks *mx__clocks_join(struct clocks *a, struct clocks *b);
struct clocks *mx__clocks_with(struct clocks *a, uint64_t warp, uint32_t time); /* takes over the reference to a */

/* A warp's lanes have read what a strong write stored: `lane`, at the given time of the warp, and others later. */
struct observer {
  uint64_t warp, lanes;
  uint32_t time;
  uint8_t lane;
};
/* What was published by a write to a place through which threads synchronise: to all, and to the writer's block
 * only. */
struct sync_cell {
  uint64_t address, block; /* the key; block: of shared memory, otherwise UINT64_MAX */
  struct clocks *all, *own;
  uint64_t own_block;
  struct observer *observers; /* of the last write, by ascending number of the warp */
  size_t nobservers, room;
  bool used;
};

/* ---- who has accessed four bytes (race.c) -------------------------------------------------------------------- */
/* An access by a warp at one site and time; all accesses with these three in common share one record. */
struct record {
  uint64_t warp;
  uint32_t time, site;
};
/* The records of consecutive warps that accessed memory by the same sites, each at the same time of its own: from
 * number `first` on those of `warp`, then those of the next warp, and so on. */
struct run {
  uint64_t warp;
  uint32_t time, first, sites; /* sites: the first one's index in the ledger's */
  uint32_t each;               /* how many records each warp has; OPEN_RUN: there is one warp, which still adds some */
};
#define OPEN_RUN UINT32_MAX
/* Four bytes of memory. By byte, the lane that accessed it + 1; LANE_MANY: several lanes; 0: none. readers: a record's
 * number or, with READER_LIST set, a list node's. writer BY_BYTE: the four bytes have cells of their own, from number
 * `readers` on. */
struct cell {
  uint32_t writer, readers;
  uint8_t wrote[4], read[4];
};
/* Lists of a cell's readers are immutable, and equal lists are shared. */
/* In `wrote` of cells: the byte has been written, in this launch or before (uninit.c). */
#define DEFINED_BYTE 0x80u
#define DEFINED (DEFINED_BYTE * 0x01010101u)
#define DEFINED_WORD (DEFINED * UINT64_C(0x100000001))
#define LANE_MANY 0x7F
#define LANE_ROW 0x7E
#define READER_LIST 0x80000000u
#define BY_BYTE UINT32_MAX
struct reader {
  uint32_t record, next;
  uint32_t origin; /* LANE_ROW: lane 0's cell, or where it would be: so all cells of a row have equal readers */
  uint8_t lane;    /* the lane + 1, or one of the values above */
  /* of it and all behind it: the accesses are strong; and of device scope */
  bool all_strong : 1, all_wide : 1;
  uint16_t length;
};
/* The records and list nodes to which cells of one memory refer; numbers begin at 1. The ledger of shared memory is
 * emptied when a block begins. */
struct ledger {
  size_t nrecords;
  struct run *runs; /* the records: ledger.c */
  uint32_t *sites;
  size_t nruns, runs_room, nsites, sites_room;
  size_t last_run;    /* the run in which a record was looked up last */
  uint64_t turn_warp; /* the warp of the last record, and its time: */
  /* all records and list nodes from these numbers on have that warp and time */
  uint32_t turn_time, turn_first, turn_lists;
  bool turn_strong;    /* one of these records is of a strong access */
  bool strong_writes;  /* there have been strong writes */
  uint32_t last_write; /* the last record of a write; 0: there is none */
  uint32_t *later;     /* reads that have been noted but not entered into cells: quick.c */
  size_t nlater, later_room;
  struct reader *readers;
  size_t n, room;
  uint32_t *hash;
  size_t hash_size;
};
/* The cells of contiguous memory, one array for each member, because a warp mostly accesses a row of cells. `read`
 * takes two bytes: the lane of the first byte that has been read; which bytes have been, in units of READ_BYTES; and
 * how the lanes of the others follow from it (enum read_step), in units of READ_STEP. A cell for which that does not
 * suffice has cells by byte. */
struct cells {
  uint32_t *writer, *readers, *wrote;
  uint16_t *read;
  struct ledger *ledger;
};
enum { READ_LANE = 0x7F, READ_BYTES = 0x100, READ_WORD = 0xF00, READ_STEP = 0x1000 };
enum read_step { STEP_NONE, STEP_BYTE, STEP_HALF, STEP_BYTE_BACK, STEP_HALF_BACK, READ_STEPS };
/* All four bytes were read by one lane (+ 1), or by none: 0. */
static inline uint16_t mx__read_word(uint32_t lane) { return (uint16_t)(lane ? READ_WORD | lane : 0); }
void mx__read_unpack(uint16_t from, uint8_t lane[4]); /* ledger.c */
bool mx__read_pack(const uint8_t lane[4], uint16_t *to);

/* ---- blocks and warps of the launch --------------------------------------------------------------------------*/
struct memo {
  const struct ledger *of;
  uint32_t record, time; /* of the warp */
};
struct warp_state {
  uint64_t number; /* the warp's number in the grid */
  uint32_t time;
  uint32_t lane_floor; /* each lane knows the accesses of all others up to this time of the warp */
  uint32_t
      step_floor; /* up to this time there has been a fence, or lanes have waited for one another, if for no order */
  /* by lane and other lane: up to when it knows that one's accesses, if that is later; or NULL */
  uint32_t (*lane_time)[64];
  struct clocks *known; /* what it knows about other warps */
  /* what was known at the last fence, which relaxed writes publish; [1]: including fences of block scope */
  struct clocks *fence[2];
  /* what relaxed reads have read, to be known at the next fence; [1]: known within the block only */
  struct clocks *pending[2];
  struct memo *memo; /* by site: the site's last record */
  /* the lanes that wait at an mbarrier, and where; its completion publishes to them meanwhile */
  uint64_t waits, wait_address;
  uint64_t begun, ended; /* the lanes with which the warp began; those that have ended */
  bool tainted;          /* it has met an undefined value: uninit.c */
  uint32_t exit_site[MX_MAX_LANES];
  uint64_t together;                   /* the lanes that arrived there together last, by one instruction */
  uint32_t barrier_site[MX_MAX_LANES]; /* by lane: where it arrived last */
};
struct block_state {
  uint64_t number;
  struct warp_state *warps;
  uint32_t nwarps;
  struct clocks *arrived[MX_BARRIERS + 1]; /* by barrier: what the warps that have arrived know */
  struct clocks *passed;                   /* what was known when the cluster's barrier was last complete */
  struct cells cells;                      /* of shared memory */
  struct ledger ledger;                    /* of these cells */
  /* records and list nodes below these numbers are known to all warps of the block */
  uint32_t records_before, lists_before;
  unsigned char *local; /* for each byte of local memory, lane after lane, DEFINED_BYTE */
  size_t local_stride, local_top;
};

struct undefined { /* device memory that has bytes which nobody has written */
  uint64_t lo, size;
};
struct stored { /* a place where an undefined value was stored */
  uint64_t address, warp;
  uint32_t origin, site;
  uint8_t lane;
  bool used;
};
struct kept { /* a word that holds an undefined value, from a launch that has ended */
  uint64_t address;
  struct finding *finding; /* NULL: the host has read it, and it was reported */
};
struct moment { /* identifies a moment of a launch */
  uint32_t site;
  uint64_t warp;
  uint8_t lane;
  uint64_t launch;
};
struct piece { /* a piece of the device heap (malloc in kernels) */
  uint64_t address, bytes;
  struct moment made, freed;
  mx_check_place place; /* where it was allocated, if that launch has ended; it owns its strings */
  uint32_t func;
  /* gone: freed by the kernel; held: not yet returned to the machine; given_back: its memory is in use again */
  bool gone, held, given_back;
};
struct variable {
  uint64_t lo, size;
  const char *name;
};

struct finding {
  struct finding *next;
  mx_finding info;
  uint64_t key[4];
  bool hidden;   /* not reported yet, since it depends on what the host reads: uninit.c */
  uint64_t step; /* the value of check->steps when it was found first */
  char *strings[13];
};

/* What is known about a kernel's code, for all its launches. */
struct mx_check_code {
  struct mx_prepared *prep;
  struct site *sites;
  uint32_t nsites, *first_site; /* by function */
  struct reg *regs;
  size_t nregs;
  uint32_t *shadow_at, *nslots; /* by function: where the shadow begins in a frame, and how many slots it covers */
  uint64_t **tracked;           /* by function: the registers that may be read before they are written */
  char *check_list;             /* for compiled code: as in struct mx_launch */
  bool borrowed;                /* prep belongs to a session */
};

struct mx_check {
  struct mx_device *device;
  uint32_t tools;        /* of the current launch, or the device's */
  uint32_t device_tools; /* of launches that name none */
  struct finding *first, **last;
  size_t nfindings;

  struct source *sources; /* source.c */

  /* of the current launch */
  uint64_t launches;
  struct mx_launch *launch;
  struct mx_check_code own, *code; /* own: for one launch only */
  const struct mx_level *level;    /* whose bodies execute the instructions */
  const struct mx_insn *insn;      /* the current one; possibly a copy whose operands are in compiled code's cells */
  struct mx_bounds *bounds;        /* bounds of nothing: with these, bodies report every access */
  struct mx_bounds *real_bounds;   /* the bounds that compiled code uses */
  bool failed;                     /* out of memory: the rest of the launch is not checked */
  struct variable *shared;         /* shared variables by ascending address */
  uint32_t nshared;

  /* race.c */
  struct cells cells[2]; /* of global memory, and of the heap */
  uint64_t cells_lo[2], cells_bytes[2];
  uint32_t *wrote[2]; /* shadow.c: their member `wrote`, which is kept between launches */
  uint64_t wrote_bytes[2];
  bool unraced;         /* some sites are unraced */
  bool in_step;         /* some loads may rely on lanes that keep step */
  struct ledger ledger; /* of these cells */
  struct cell *byte_cells;
  size_t nbyte_cells, byte_cells_room;
  struct sync_cell *syncs;
  size_t nsyncs, syncs_size;
  bool observed; /* some have observers */
  /* the range of all places through which warps synchronise: in shared memory; elsewhere */
  uint64_t syncs_lo[2], syncs_hi[2];

  /* uninit.c */
  struct undefined *undefined;
  size_t nundefined, recent;
  uint64_t heap_bytes;
  struct stored *stored;
  size_t nstored, stored_size;
  size_t undefined_room, nkept, kept_room;
  struct kept *kept;
  bool light; /* the current warp is not tainted: registers that are not tracked are defined */
  /* of the current instruction: lanes whose loaded bytes are all defined; lanes whose operands all are */
  uint64_t loaded, result;
  uint64_t element[MOST_ELEMENTS];   /* of a load or store of several: lanes in which the element is defined */
  uint32_t loaded_from, result_from; /* the notes that say where the other lanes' undefined values came from */
  /* origins of undefined values; their numbers are kept with registers and words of memory */
  struct origin_note *notes;
  struct finding *again; /* set by found_at: the earlier finding with the same key */

  /* memory.c */
  struct piece *pieces;
  size_t npieces, pieces_room;
  uint64_t quarantine;

  /* lanes.c */
  unsigned char *confirmed; /* by site: its suspicion has been confirmed and reported */
  /* accesses and instructions so far, by which findings of several lanes at one of them are combined */
  uint64_t steps;
};

/* Where an undefined value came from. */
struct origin_note {
  uint64_t address; /* of a mask: the lanes whose bits are undefined */
  uint32_t site;
  uint8_t what; /* enum undefined_what */
  bool known;
  bool hole;     /* an element of a vector of which others are defined: perhaps a hole of a structure */
  uint32_t from; /* of a mask: the note that says where the lanes' values came from */
};
enum undefined_what { NOTE_REGISTER, NOTE_SHARED, NOTE_LOCAL, NOTE_GLOBAL, NOTE_HEAP, NOTE_MASK, NOTE_KINDS };

static inline struct mx_check *check_of(const struct mx_exec *x) { return x->launch->observed; }
static inline uint32_t site_at(const struct mx_check *c, const struct mx_pfunc *fn, uint32_t pc) {
  const uint32_t k = fn->index_of_pc[pc];
  return c->code->first_site[fn->number] + k + (fn->insns[k].kind == MX_INSN_JOIN);
}
static inline uint32_t site_number(const struct mx_check *c, const struct mx_exec *x, const struct mx_insn *i) {
  return site_at(c, x->fn, i->pc); /* bodies may come with a copy of the instruction */
}
static inline struct block_state *block_state(const struct mx_block *b) { return b->observed; }
/* The block whose shared memory a generic address of the shared window belongs to, the own one or another one of the
 * cluster, and where that memory begins; NULL: none. */
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

/* Makes room for one more element in an array that grows by doubling. False: out of memory, and checking stops. */
bool mx__check_grow(struct mx_check *c, void **at, size_t n, size_t *room, size_t size);

/* ---- sites.c ------------------------------------------------------------------------------------------------*/
bool mx__sites_make(struct mx_check *c);
void mx__code_drop(struct mx_check_code *code); /* frees the contents */
/* definite.c: computes c->code->tracked, and `tracked` of sites. */
bool mx__tracked_find(struct mx_check *c);
static inline bool mx__is_tracked(const struct mx_check *c, uint32_t func, uint32_t slot) {
  return c->code->tracked[func][slot / 64] >> (slot % 64) & 1;
}
bool mx__polls_find(struct mx_check *c); /* polls.c: computes `observes` and `in_step` of sites */
/* origin.c: what the address of the memory instruction at a site was made of. */
struct origin mx__origin_of_address(const struct mx_check *c, const struct mx_pfunc *fn, const struct mx_insn *i);
struct origin mx__origin_of_operand(const struct mx_check *c, const struct mx_pfunc *fn, const struct mx_insn *i,
                                    unsigned k);

/* source.c: sets order and scope of a fence, an atomic or a strong access. */
void mx__order_of(const struct mx_check *c, struct site *s);
void mx__sources_free(struct mx_check *c);

/* ---- findings.c ---------------------------------------------------------------------------------------------*/
/* A new finding at the place where the lanes of i are. NULL: the tool is off, or the same key has been found before,
 * which is counted. The strings are passed to found_end, which takes them over. */
struct finding *mx__finding(struct mx_exec *x, mx_check_tool tool, const char *kind, uint32_t site, uint64_t lanes,
                            uint64_t key1, uint64_t key2);
void mx__found_address(struct finding *f, const struct mx_check *c, uint64_t address, uint64_t bytes, char *where);
void mx__found_other(struct finding *f, const struct mx_check *c, char *story, uint32_t site, uint64_t warp,
                     uint64_t lanes);
/* Builds info.text. */
void mx__finding_text(struct finding *f);
void mx__found_end(struct finding *f, char *message);
#define FOUND_PAIR UINT64_MAX
struct finding *mx__found_at(struct mx_check *c, mx_check_tool tool, const char *kind, uint32_t site, uint64_t warp,
                             uint64_t lanes, uint64_t key1, uint64_t key2);
void mx__found_story(struct finding *f, char *story);
/* At the end of the program: a leak whose place is in a launch that has ended. */
void mx__found_leak(struct mx_check *c, const mx_check_place *place, uint64_t address, uint64_t bytes, char *where);
char *mx__where_from(uint64_t at, uint64_t lo, uint64_t size, const char *what);
void mx__place_of(const struct mx_check *c, mx_check_place *p, uint32_t site, uint64_t warp, uint64_t lanes);
void mx__findings_free(struct mx_check *c);
/* Describes where an address lies: variable, buffer or piece of the heap. The caller frees the string. */
char *mx__where_of(const struct mx_check *c, uint64_t address, uint64_t bytes);

/* ---- shadow.c -----------------------------------------------------------------------------------------------*/
bool mx__shadow_begin(struct mx_check *c); /* at the beginning of a launch; false: out of memory */
void mx__shadow_end(struct mx_check *c);
/* at the beginning of a block: resets its cells */
bool mx__shadow_block(const struct mx_check *c, struct block_state *b);
void mx__shadow_block_end(struct block_state *b);
void mx__shadow_forget(struct mx_check *c);
/* Of global memory and the heap: the bytes that say who has written the bytes from address on; NULL: that is not
 * recorded. */
unsigned char *mx__shadow_wrote(struct mx_check *c, uint64_t address, uint64_t bytes);
/* Whether n bytes are all defined; whether none is; marks them as defined. */
bool mx__defined_all(const unsigned char *wrote, uint64_t n);
bool mx__defined_none(const unsigned char *wrote, uint64_t n);
void mx__defined_set(unsigned char *wrote, uint64_t n, bool to);

/* ---- ledger.c ---------------------------------------------------------------------------------------------------*/
void mx__ledger_begin(struct ledger *l);
void mx__ledger_free(struct ledger *l);
/* The number of the record for an access at the site now; 0: out of memory. */
uint32_t mx__race_record(struct mx_check *c, struct ledger *l, struct warp_state *w, uint32_t site);
struct record mx__record(struct ledger *l, uint32_t number);
/* The list r.next with one more reader in front; what r says of all of them is ignored. 0: out of memory. */
uint32_t mx__race_list(struct mx_check *c, struct ledger *l, struct reader r);
enum { MX_LONGEST_LIST = 256 };

/* ---- tools ----------------------------------------------------------------------------------------------------*/
void mx__race_begin(struct mx_check *c);
void mx__race_end(struct mx_check *c);
/* Whether warps have synchronised through a place between two addresses. */
bool mx__race_syncs_between(const struct mx_check *c, uint64_t lo, uint64_t hi);
void mx__race_touch(struct mx_exec *x, uint32_t site, const struct mx_access *a);
/* The lane's atomic access to a cell that its warp has written last, by the same record. */
void mx__race_atomic_again(const struct site *s, uint32_t *wrote, unsigned lane);
/* A lane of the warp reads a cell: it learns what strong writes there have published, up to the record's time. */
void mx__race_read(struct mx_check *c, struct warp_state *w, const struct cells *cells, uint64_t cell, unsigned lane,
                   uint32_t record);
/* Whether a record's access is known to all lanes of the warp. */
bool mx__race_knows(struct ledger *l, const struct warp_state *w, uint32_t record);
void mx__copies_touch(struct mx_exec *x, uint32_t site, const struct mx_access *a); /* copies.c */
void mx__race_fence(struct mx_exec *x, const struct site *s);
void mx__race_woken(struct mx_exec *x);
void mx__race_arrive(struct mx_exec *x, uint32_t number);
/* A barrier is complete. waits: the lanes that wait there, by warp. Returned: whether these are all lanes of the block,
 * and no other block can access its shared memory. */
bool mx__race_waits(const struct mx_check *c, const struct mx_block *b, uint32_t number, uint64_t *waited);
void mx__race_barrier(struct mx_check *c, struct mx_block *b, uint32_t number, const uint64_t *waited, bool all);
void mx__race_await(struct mx_exec *x); /* waits at the cluster's barrier */
void mx__race_meet(struct mx_exec *x, uint64_t group);
void mx__race_step(struct mx_exec *x); /* lanes wait for others at an operation that orders no memory */
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
/* An undefined value appears in compiled code: the machine has to execute the instruction. Always returns NULL. */
const struct mx_insn *mx__uninit_leave(struct mx_exec *x, const struct mx_insn *i);
/* Checks and records an access. True: some lane reads an undefined value. */
bool mx__uninit_touch(struct mx_exec *x, uint32_t site, const struct mx_access *a);
/* The bytes that say whether the bytes at a lane's generic address are defined; NULL: all are. */
unsigned char *mx__uninit_bytes(struct mx_check *c, const struct mx_exec *x, uint64_t lane, uint64_t address,
                                uint64_t bytes, enum undefined_what *what);
void mx__uninit_copy(struct mx_exec *x, const struct mx_insn *i, uint64_t m);
/* A debugger has written the register, which makes it defined. */
void mx__uninit_set_register(struct mx_check *c, struct mx_frame *f, unsigned cls, uint32_t slot, bool spilled,
                             uint64_t lanes);
void mx__uninit_set_memory(struct mx_check *c, const struct mx_block *b, uint32_t warp, uint32_t lane, uint64_t address,
                           uint64_t bytes);
void mx__uninit_heap(struct mx_check *c, uint64_t address, uint64_t bytes);
/* Device memory is allocated, written by the host, copied, read by the host, or freed: keeps track of undefined
 * bytes. */
void mx__undefined_add(struct mx_check *c, uint64_t lo, uint64_t size, bool defined);
void mx__undefined_written(struct mx_check *c, uint64_t address, uint64_t bytes);
void mx__undefined_copied(struct mx_check *c, uint64_t to, uint64_t from, uint64_t bytes);
void mx__undefined_read(struct mx_check *c, uint64_t address, uint64_t bytes);
void mx__undefined_freed(struct mx_check *c, uint64_t address);

void mx__memory_touch(struct mx_exec *x, uint32_t site, const struct mx_access *a);
/* Computes the range that a site's address may reach, if it is the same during the whole launch; false: it is not. */
bool mx__memory_range(struct mx_check *c, struct site *s);
/* Whether all generic addresses from lo to hi are within what the site's address was made of; false: the lanes must be
 * checked one by one. */
bool mx__memory_inside(struct mx_exec *x, uint32_t site, uint64_t lo, uint64_t hi);
void mx__memory_malloc(struct mx_exec *x, uint32_t site, uint64_t m);
/* The lanes of m whose call of free() the machine is to do itself, since they free no live piece. */
uint64_t mx__heap_freed(struct mx_exec *x, uint32_t site, uint64_t m);
void mx__memory_end(struct mx_check *c);
void mx__memory_leaks(struct mx_check *c);
void mx__memory_forget(struct mx_check *c);
void mx__memory_trap(struct mx_check *c, const struct mx_trap *t);
char *mx__where_of_piece(const struct mx_check *c, const struct piece *p, uint64_t address);

/* quick.c: as accessed() in struct mx_probe. An access by lanes m at generic addresses, all within bounds. Returned:
 * the tools that still have to look at it lane by lane; for all others it has been recorded, and there is nothing to
 * report. */
uint32_t mx__quick_compiled(struct mx_exec *x, const struct mx_jit_state *s, uint32_t pc, uint64_t m, uint64_t number,
                            uint32_t one);
uint32_t mx__quick(struct mx_exec *x, uint32_t site, uint64_t m, const uint64_t *address, uint64_t base, uint64_t bytes,
                   bool write);
/* Enters the reads that were only noted into the cells of a block's shared memory: before race.c looks at an access to
 * it, and before a warp of the block learns about others. */
void mx__quick_settle(struct mx_check *c, struct block_state *b);

void mx__sync_before(struct mx_exec *x, uint32_t site, uint64_t m);
void mx__sync_barrier(struct mx_check *c, struct mx_block *b, uint32_t number);
void mx__sync_exit(struct mx_exec *x, uint32_t site, uint64_t m);

void mx__lanes_find(struct mx_check *c); /* finds the sites' suspicions */
void mx__lanes_end(struct mx_check *c);
void mx__lanes_before(struct mx_exec *x, uint32_t site, uint64_t m);

#endif
