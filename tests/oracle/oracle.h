/* Random divergent programs and what they must leave in memory.
 *
 *   generator.c  seed -> program tree        emit.c       program tree -> PTX / MX text
 *   reference.c  program tree -> memory      main.c       driver; runs texts through the library; shrinks
 *
 * The tree is the only thing that the four share. The reference never sees the text and knows nothing of the machine
 * or of the opcode table; the emitter never computes a value. So an error must be made twice to be missed.
 *
 * Whole-program rules that make every recorded value predictable:
 *  - a value leaves a thread only by memory that no other thread touches in that phase, by commutative atomics, by
 *    barriers between phases, or by warp operations with a membermask that the program tracks itself with ballots;
 *  - `activemask` is recorded only where all branches around it are structured (program->together), and only in
 *    programs too short for a warp to use up a slice, after which lanes that wait at a meeting point may be sent on;
 *  - the order of two sides of a branch shows only in per-warp order cells (program->order). */
#ifndef MX_TESTS_ORACLE_H
#define MX_TESTS_ORACLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  NV = 8,
  NW = 4,
  NQ = 4,
  NLOC = 8, /* 32-bit, 64-bit, predicate variables and local words of a frame */
  NPRIV = 16,
  NACC = 8,
  NSHACC = 8,
  NORD = 4, /* words of private memory a thread, accumulators, order cells a warp */
  MAX_THREADS = 768,
  MAX_FUNCS = 5,
  MAX_SUB = 8,
};

enum stmt_kind {
  S_ALU,
  S_ALU64,
  S_SETP,
  S_PLOG,
  S_FOP,
  S_LD,
  S_ST,
  S_ATOM,
  S_ACC,
  S_LDLOC,
  S_STLOC,
  S_SHACC,
  S_REC,
  S_REC64,
  S_RECQ,
  S_MASK,
  S_BALLOT,
  S_VOTE,
  S_SHFL,
  S_WARPX,   /* with the tracked membermask */
  S_ABALLOT, /* the active-mask form, 64 lanes only */
  S_BLOCKX,
  S_BARRED,
  S_SHREAD,
  S_HANDOVER, /* all threads of the block are here */
  S_ORDER,
  S_IF,
  S_MEET,
  S_LOOP,
  S_BREAK,
  S_CONTINUE,
  S_SWITCH,
  S_CALL,
  S_RET,
  S_EXIT,
  S_GRAPH,
};

enum alu { A_ADD, A_SUB, A_MUL, A_MAD, A_AND, A_OR, A_XOR, A_NOT, A_SHL, A_SHRU, A_SHRS, A_SELP, A_MOV, A_OPS };
enum alu64 {
  W_ADD,
  W_SUB,
  W_MUL,
  W_AND,
  W_OR,
  W_XOR,
  W_SHL,
  W_SHRU,
  W_SHRS,
  W_MULU,
  W_MULS,
  W_MADU,
  W_CVTU,
  W_CVTS,
  W_LOW,
  W_PACK,
  W_UNPACK,
  W_SELP,
  W_OPS
};
enum cmp { C_EQ, C_NE, C_LT, C_LE, C_GT, C_GE };
enum cmp_type { CT_U32, CT_S32, CT_U64, CT_S64 };
enum mem_form { M_B32, M_U8, M_S8, M_U16, M_S16, M_V2, M_V4, M_B64, M_FORMS };
enum atom { AT_ADD, AT_EXCH, AT_CAS, AT_OPS };
enum order { O_STORE, O_ADD, O_EXCH, O_LOAD, O_OPS };
enum shfl { SH_UP, SH_DOWN, SH_BFLY, SH_IDX };
enum meet { MEET_BAR, MEET_POPC, MEET_AND, MEET_OR, MEET_BALLOT, MEET_SHFL, MEET_WARP };

/* A condition: made of instructions, ends in a predicate. */
enum cond_kind {
  K_BIT /* bit k of v[a] */,
  K_CMP /* v[a] cmp v[b] or k */,
  K_Q /* q[a] */,
  K_LANE /* lane cmp k */,
  K_DEPTH /* depth parameter > 0 */,
  K_BLOCK /* bit k of the block number */,
  K_WARP /* bit k of the warp's */
};
struct cond {
  uint8_t kind, cmp, type, a, b;
  bool neg, imm;
  uint32_t k;
};

struct stmt;
struct list {
  struct stmt *first, *last;
};

/* S_GRAPH: basic blocks with two-way ends. Blocks of a stage jump among themselves, or leave (target < 0) through
 * door -target-1. With `meet` each door holds the same warp operation, so lanes meet there at different pcs. */
struct gblock {
  struct list body;
  struct cond cond;
  int yes, no;
};
struct gstage {
  unsigned first, n;
  struct cond entry;
  unsigned enter_yes, enter_no;
  struct cond pred;
  uint8_t d;
};
struct graph {
  struct gblock *blocks;
  unsigned nblocks;
  struct gstage stages[2];
  unsigned nstages;
  unsigned fuel;
  bool meet;
};

struct stmt {
  uint8_t kind, op, d, a, b, c;
  uint8_t guard; /* 0 none, 1 + q: @q, 1 + NQ + q: @!q */
  uint8_t form;  /* layout or spelling, without influence on results except S_IF (which side is taken) */
  bool imm, flag, dropped;
  bool apart; /* lanes of a warp may come here one after another */
  uint32_t id, k;
  uint64_t wide;
  struct cond cond;
  int func;
  struct list sub[MAX_SUB];
  unsigned nsub;
  uint8_t table[8];
  unsigned ntable; /* S_SWITCH */
  struct graph *graph;
  struct stmt *next;
};

/* PLAIN: callable anywhere. MASKED: takes the tracked mask. UNIFORM: called by whole blocks, may hold barriers. */
enum func_class { F_PLAIN, F_MASKED, F_UNIFORM };
struct func {
  enum func_class cls;
  bool recursive;
  struct list body;
};

struct program {
  uint64_t seed;
  unsigned lanes, blocks, threads; /* threads of a block */
  bool together;                   /* activemask is predictable in structured code */
  bool order;                      /* order cells are used */
  bool exits;                      /* some threads may end early */
  bool full;                       /* the block is whole warps */
  struct func funcs[MAX_FUNCS];
  unsigned nfuncs; /* funcs[0] is the kernel */
  uint32_t nstmts;
  uint32_t v0[NV][2]; /* initial values: thread number times [0] plus [1] */
  void *chunks;
};

/* Memory: argument 0 "mem" (inout), argument 1 "trace" (out). */
struct layout {
  uint32_t acc, ord, priv, mem_bytes, trace_stride, trace_bytes;
};
struct result {
  struct layout at;
  uint8_t *mem_in, *mem, *trace; /* mem_in: before the launch; trace starts as bytes 0xA5 */
  uint64_t steps;
  uint32_t edges; /* at most so many backward branches and calls in one warp */
};

struct program *program_generate(uint64_t seed, unsigned lanes, unsigned percent); /* of the usual size, at most 100 */
void program_free(struct program *p);

/* False: the program runs too long or records too much for its size; such a seed is skipped by trying the next variant.
 */
bool reference_run(const struct program *p, struct result *r);
void result_free(struct result *r);
enum { SLICE = 1000 }; /* more edges than this may part lanes that wait: a little below what the machine takes */

struct emit_options {
  bool observe_masks; /* off: record tracked masks instead of activemask (real 32-lane hardware) */
};
char *program_text(const struct program *p, const struct layout *at, const struct emit_options *o, size_t *size);

/* splitmix64 */
static inline uint64_t rng_next(uint64_t *s) {
  uint64_t z = (*s += 0x9E3779B97F4A7C15u);
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
#endif
