/* What writer (asm/container.c) and reader (vm/load/module.c) of the container share: sections, literal forms, limits,
 * zigzag, and how the places of names are guessed. Separate because neither folder includes the other.
 * docs/container.md explains the fields. */
#ifndef MX_CONTAINER_H
#define MX_CONTAINER_H

#include "core/module.h"

/* In the order of the file. X(id, name for messages) */
#define MX_SECTIONS(X) \
  X(TARGET, "target") \
  X(STRINGS, "strings") X(VARS, "variables") X(FUNCS, "functions") X(CODE, "code") X(LINES, "lines") X(NAMES, "names")
enum mx__section {
#define X(id_, name_) MX__SEC_##id_,
  MX_SECTIONS(X)
#undef X
      MX__SECTIONS
};

/* A value literal is one byte, kind | form << 2 | payload << 5, and a varint payload where the three bits say 7. */
enum mx__lit_form {
  MX__LIT_PLAIN,  /* the payload is the value */
  MX__LIT_NOT64,  /* its complement: small negative 64-bit numbers */
  MX__LIT_NOT32,  /* its complement within 32 bits */
  MX__LIT_SWAP32, /* its bytes in reverse order: round f32 values */
  MX__LIT_SWAP64, /* the same for f64 */
  MX__LIT_FORMS
};

/* Strings share at most this much with their predecessor, and only prefixes up to this length carry numbers, so that
 * a file cannot claim much more memory than it has bytes. */
#define MX__STR_SHARED 127u
#define MX__STR_NUMBER_MAX 1000000000u

/* How many kinds of names have numbers that take one byte. */
#define MX__KINDS_SHORT 32u

/* Where the dictionary of the code section names no opcode: one raw word of 64 bits follows. */
#define MX__DICTIONARY_RAW 2047u

/* Bits that tell n things apart. */
static inline unsigned mx__bits_of(uint32_t n) { return n > 1 ? 32u - (unsigned)__builtin_clz(n - 1) : 0; }
/* At least four for the dictionary, so that every instruction has some: else a file could claim words for nothing. */
static inline unsigned mx__dictionary_bits(uint32_t n) { return mx__bits_of(n) < 4 ? 4 : mx__bits_of(n); }
#define MX__WORDS_OF_BYTE (2u * (1u + (MX_MAX_OPNDS + 1u) / MX_EXT_FIELDS)) /* most words of two instructions */

/* Slots of a class that an operand field can name. */
static inline uint32_t mx__slots_of(const struct mx_func *f, unsigned cls) {
  uint32_t n = cls == MX_PRED ? f->npred : cls == MX_R32 ? f->n32 : cls == MX_R64 || cls == MX_R128 ? f->n64 : 0;
  return n < MX_LIT ? n : MX_LIT;
}
static inline uint32_t mx__lits_of(const struct mx_func *f) { return f->nlits < MX_MAX_LITS ? f->nlits : MX_MAX_LITS; }
static inline uint32_t mx__guards_of(const struct mx_func *f) {
  return f->npred < MX_GUARD_NONE ? f->npred : MX_GUARD_NONE;
}

/* What the code itself tells about the name map: result operands of general instructions, in the order of the code
 * (those of one instruction by class and slot). A name usually begins where an instruction has written its slot, lo,
 * and ends after the last reader, of which hi is a guess. A name that begins at one of these places is stored as its
 * distance from the one before, counting only those where no name lives in the slot already. */
struct mx__result {
  uint32_t lo, hi;
  uint8_t cls;
  uint16_t slot;
};
/* Number of results; into `out` unless it is NULL. Any words will do, also unverified ones. */
size_t mx__results(const struct mx_func *f, struct mx__result *out);

/* Until where a slot has a name, while names are written or read in ascending order. */
struct mx__covered {
  uint32_t until[3][MX_MAX_SLOTS];
};
static inline uint32_t *mx__covered_at(struct mx__covered *c, unsigned cls, unsigned slot) {
  return &c->until[cls == MX_R128 ? MX_R64 : cls % 3][slot % MX_MAX_SLOTS];
}
/* Results before pc lo, which no further name can begin at, are passed over. */
static inline size_t mx__pass_results(const struct mx__result *list, size_t n, size_t at, uint32_t lo) {
  while (at < n && list[at].lo < lo) at++;
  return at;
}
/* The first result from `at` on whose slot has no name there; n if there is none. */
static inline size_t mx__next_result(struct mx__covered *c, const struct mx__result *list, size_t n, size_t at) {
  while (at<n && * mx__covered_at(c, list[at].cls, list[at].slot)> list[at].lo) at++;
  return at;
}

static inline uint64_t mx__zigzag(int64_t v) { return (uint64_t)v << 1 ^ (uint64_t)(v >> 63); }
static inline int64_t mx__unzigzag(uint64_t v) { return (int64_t)(v >> 1 ^ (0 - (v & 1))); }

#endif
