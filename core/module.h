/* A module in memory ("image") and its container (.mxb): what assembler and machine agree on.
 *
 * asm/ builds an image and writes the container (asm/container.c); vm/ reads a container into an image
 * (vm/load/module.c), trusting nothing, and verifies it (vm/load/verify.c). The disassembler prints an image. Neither
 * of these folders needs the other's code. An image's memory belongs to one arena, freed whole. */
#ifndef MX_MODULE_H
#define MX_MODULE_H

#include "core/isa.h"

#define MX_MAX_CLUSTER 16u        /* blocks */
#define MX_MAX_PARAM_BYTES 32764u /* of a kernel, as PTX limits them */

/* ---- literals ---------------------------------------------------------------------------------------
 * Operand fields name them. All but VALUE are resolved when a kernel is prepared (addresses are known then). */
enum mx_lit_kind {
  MX_LIT_VALUE,   /* value: the bits, zero-extended from the type that uses them */
  MX_LIT_VAR,     /* address, in its own space, of variable `index`, plus value */
  MX_LIT_GENERIC, /* generic address of variable `index`, plus value */
  MX_LIT_FUNC,    /* address of function `index` (for indirect calls) */
  MX_LIT_KINDS
};
struct mx_lit {
  uint8_t kind;
  uint32_t index;
  uint64_t value;
};

/* ---- variables: global, const, shared. Local variables are laid out in their function's local bytes. -- */
enum { MX_VAR_EXTERN_SHARED = 1, MX_VAR_VISIBLE = 2, MX_VAR_MANAGED = 4, MX_VAR_EXTERN = 8 };
/* kind as in mx_lit. size 1: byte number `byte` of the address. */
struct mx_reloc {
  uint64_t offset;
  uint8_t size, kind;
  uint32_t index;
  uint64_t addend;
  uint8_t byte;
};
struct mx_var {
  const char *name;
  uint8_t space; /* enum mx_space: MX_GLOBAL, MX_CONST, MX_SHARED */
  uint8_t flags;
  uint32_t align;      /* power of two, at most 2^16 */
  uint64_t size;       /* 0 for extern shared: it begins where the kernel's static shared memory ends */
  const uint8_t *init; /* ninit bytes, the rest is zero */
  uint64_t ninit;
  const struct mx_reloc *relocs;
  uint32_t nrelocs;
};

/* ---- functions ---------------------------------------------------------------------------------------*/
enum {
  MX_FUNC_KERNEL = 1,
  MX_FUNC_VISIBLE = 2,
  MX_FUNC_COOPERATIVE = 4,
  MX_FUNC_EXPLICIT_CLUSTER = 8,    /* launches without cluster dimensions are of explicit clusters, too */
  MX_FUNC_BLOCKS_ARE_CLUSTERS = 16 /* a launch's grid counts clusters */
};

/* Parameter of a kernel: a range of the parameter space. Type: of the declaration; an array of bytes is b8 x size. */
struct mx_param {
  const char *name;
  uint32_t offset, size;
  uint16_t align;
  uint8_t type;
  bool is_pointer;
};

/* Argument or result of a device function that travels in a slot. Those that are arrays, or whose address is taken,
 * travel in memory: the caller writes (or reads, after the call) them at %local_top + offset, the callee finds them at
 * %local_base + offset; code does this explicitly, so that nothing here speaks of it but `arg_bytes`. */
struct mx_slot_ref {
  uint8_t cls;
  uint16_t slot;
};

/* A name of the author's: register `name` lives in `slot` of class `cls` for lo <= pc < hi. A name may have several
 * entries. spilled: `slot` is a spill cell; a .b128 then lies in two neighbouring 64-bit cells, low half first. */
struct mx_name {
  const char *name;
  uint8_t cls, type;
  bool spilled;
  uint16_t slot;
  uint32_t lo, hi;
};
struct mx_label {
  const char *name;
  uint32_t pc;
};
struct mx_local {
  const char *name;
  uint32_t offset, size;
}; /* a .local variable: where it lies in the frame's local bytes */
struct mx_line {
  uint32_t pc;
  uint32_t file, line;
}; /* from pc on; ascending */
struct mx_table {
  const uint32_t *targets;
  uint32_t ntargets;
}; /* of brx.idx */
/* Signature of an indirect call. */
struct mx_proto {
  const uint8_t *res, *arg;
  uint16_t nres, narg;
}; /* slot classes; arg[0] is the target, MX_R64 */

struct mx_func {
  const char *name;
  uint32_t flags;
  uint16_t n32, n64, npred;                /* slots of a frame */
  uint16_t nspill32, nspill64, nspillpred; /* spill cells of a frame */
  uint32_t
      local_bytes; /* local memory of a frame, multiple of 16; of a device function, arg_bytes included at its start */
  uint32_t arg_bytes;
  const mx_word *code;
  uint32_t ncode;
  const struct mx_lit *lits;
  uint32_t nlits;
  const struct mx_param *params;
  uint32_t nparams;
  uint32_t param_bytes; /* kernels */
  const struct mx_slot_ref *args, *results;
  uint32_t nargs, nresults; /* device functions */
  const struct mx_table *tables;
  uint32_t ntables;
  const struct mx_proto *protos;
  uint32_t nprotos;
  const uint32_t *shared;
  uint32_t nshared;                /* kernels: shared variables that it and its callees use */
  uint32_t maxntid[3], reqntid[3]; /* 0: not given */
  uint32_t minnctapersm;
  uint32_t reqncta[3], maxclusterrank; /* blocks of a cluster, and the most there may be; 0: not given */
  const struct mx_name *names;
  uint32_t nnames;
  const struct mx_label *labels;
  uint32_t nlabels;
  const struct mx_local *locals;
  uint32_t nlocals;
  const struct mx_line *lines;
  uint32_t nlines;
};

struct mx_image {
  uint32_t lanes;        /* 32 or 64 */
  uint32_t sm;           /* 90 for sm_90; 0 for mx64 */
  uint32_t ptx_version;  /* 90 for 9.0; 0: not given */
  uint32_t address_size; /* 64 or 32 */
  const struct mx_func *funcs;
  uint32_t nfuncs;
  const struct mx_var *vars;
  uint32_t nvars;
  const char *const *files;
  uint32_t nfiles;
};

/* ---- the container -----------------------------------------------------------------------------------
 *   0  "MXB\n"   4 u16 format version   6 u16 header bytes (32)   8 u64 digest of the opcode table
 *  16 16 bytes XXH3-128 (canonical form) of the body
 *  32 body: seven sections, each a varint length and its content: target, strings, variables, functions, code, lines
 *     and files, names and labels
 * Numbers are LEB128 varints, signed ones zigzag; strings are varint numbers into the strings; code is packed, two to
 * three bytes an instruction. Reader: vm/load/module.c; writer: asm/container.c; the field-by-field description stands
 * in docs/container.md. */
#define MX_CONTAINER_MAGIC "MXB\n"
#define MX_CONTAINER_VERSION 1
#define MX_CONTAINER_HEADER 32

/* ---- the generic address space: where the windows lie -------------------------------------------------
 * Bits 40.. of a generic address are its window. Addresses below 64 KiB of the global window are never valid. */
#define MX_WINDOW_SHIFT 40
#define MX_WINDOW_GLOBAL 0u /* global addresses are their own generic addresses */
#define MX_WINDOW_SHARED 1u
#define MX_WINDOW_LOCAL 2u
#define MX_WINDOW_CONST 3u
#define MX_WINDOW_PARAM 4u
#define MX_WINDOW_FUNC 5u /* function addresses: number + 1, times 16, in this window */
#define MX_WINDOW(w_) ((uint64_t)(w_) << MX_WINDOW_SHIFT)
static inline uint64_t mx_space_window(unsigned space) { return space <= MX_GLOBAL ? 0 : MX_WINDOW(space - MX_GLOBAL); }

/* Whether an instruction reads a clock. */
static inline bool mx_reads_clock(const mx_word *w) {
  return mx__effect(mx_w_op(*w)) == MX_DOES_SREG && mx__sregs[mx_w_operand(w, 1)].varies == MX_PER_READ;
}
/* Whether some instruction of a module reads a clock: then its warps keep theirs. */
static inline bool mx_keeps_clocks(const struct mx_image *image) {
  for (uint32_t f = 0; f < image->nfuncs; f++)
    for (uint32_t pc = 0; pc < image->funcs[f].ncode; pc += mx_w_length(image->funcs[f].code[pc]))
      if (mx_reads_clock(&image->funcs[f].code[pc])) return true;
  return false;
}

#endif
