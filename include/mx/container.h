/* Small facts that writer (asm/container.c) and reader (vm/module.c) of the container share: section tags, literal
 * forms, limits, zigzag. Separate because neither floor includes the other. docs/container.md explains the fields. */
#ifndef MX_CONTAINER_H
#define MX_CONTAINER_H

#include <stdint.h>

/* In the order of the file. X(id, tag, name for messages) */
#define MX_SECTIONS(X) \
  X(FUNCS, 'F', "functions") X(LINES, 'L', "lines") X(TARGET, 'M', "target") X(NAMES, 'N', "names") \
  X(STRINGS, 'S', "strings") X(VARS, 'V', "variables") X(CODE, 'X', "code")
enum mx__section {
#define X(id_, tag_, name_) MX__SEC_##id_,
  MX_SECTIONS(X)
#undef X
  MX__SECTIONS
};

/* A value literal is one byte, kind | form << 2 | payload << 5, and a varint payload where the three bits say 7. */
enum mx__lit_form {
  MX__LIT_PLAIN, /* the payload is the value */
  MX__LIT_NOT64, /* its complement: small negative 64-bit numbers */
  MX__LIT_NOT32, /* its complement within 32 bits */
  MX__LIT_SWAP32, /* its bytes in reverse order: round f32 values */
  MX__LIT_SWAP64, /* the same for f64 */
  MX__LIT_FORMS
};

/* Strings share at most this much with their predecessor, and only prefixes up to this length carry numbers, so that
 * a file cannot claim much more memory than it has bytes. */
#define MX__STR_SHARED 127u
#define MX__STR_NUMBER_MAX 1000000000u

/* Where the palette of the code section names no opcode: one raw word of eight bytes follows. */
#define MX__PALETTE_RAW 2047u

static inline uint64_t mx__zigzag(int64_t v) { return (uint64_t)v << 1 ^ (uint64_t)(v >> 63); }
static inline int64_t mx__unzigzag(uint64_t v) { return (int64_t)(v >> 1 ^ (0 - (v & 1))); }

#endif
