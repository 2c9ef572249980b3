/* Forms of matrix instructions: what a row's spelling says about shape, types and layouts, and which elements of the
 * matrices the registers of each lane hold. Separate from isa.h because only the machine, its debugger and tests of
 * matrix instructions need it; knows neither values nor memory. */
#ifndef MX_TILE_H
#define MX_TILE_H

#include "core/isa.h"

/* Types of elements: X(name, bits, kind). Nothing depends on their order. */
enum mx_element_kind { MX_ELEMENT_FLOAT, MX_ELEMENT_SIGNED, MX_ELEMENT_UNSIGNED, MX_ELEMENT_BIT };
#define MX_ELEMENTS(X) \
  X(f16, 16, FLOAT) \
  X(bf16, 16, FLOAT) \
  X(tf32, 32, FLOAT) \
  X(e4m3, 8, FLOAT) \
  X(e5m2, 8, FLOAT) \
  X(f32, 32, FLOAT) \
  X(f64, 64, FLOAT) \
  X(s8, 8, SIGNED) \
  X(u8, 8, UNSIGNED) X(s4, 4, SIGNED) X(u4, 4, UNSIGNED) X(b1, 1, BIT) X(s32, 32, SIGNED) X(b16, 16, UNSIGNED)
enum mx_element {
#define X(n_, b_, k_) MX_E_##n_,
  MX_ELEMENTS(X)
#undef X
      MX_E_COUNT
};
struct mx_element_info {
  const char *name;
  uint8_t bits, kind;
};
extern const struct mx_element_info mx__elements[MX_E_COUNT];

enum mx_part { MX_PART_D, MX_PART_A, MX_PART_B, MX_PART_C, MX_PARTS };
enum mx_rounding { MX_ROUND_NEAREST, MX_ROUND_ZERO, MX_ROUND_DOWN, MX_ROUND_UP };

#define MX_TILE_MAX_K 256
/* Elements of the largest A or B: m16n8k256 of bits, and 32 x 16; of the largest C or D: 16 x 16. */
#define MX_TILE_MAX_ELEMENTS 4096
#define MX_TILE_MAX_SUMS 256
#define MX_TILE_MAX_REGS 8

struct mx_tile {
  uint8_t m, n;
  uint16_t k;
  uint8_t type[MX_PARTS];  /* enum mx_element; loads and stores have one part only */
  uint8_t nregs[MX_PARTS]; /* registers of a lane */
  uint8_t first[MX_PARTS]; /* the operand that is the first of them */
  uint8_t part;            /* of loads and stores; else MX_PARTS */
  bool is_col[MX_PARTS];   /* layout: of loads and stores, in memory; of m8n8k4 with f16, in the registers */
  bool wmma, quads, sparse, saturates, is_and;
  uint8_t rounding, space; /* enum mx_rounding, enum mx_space */
  uint8_t lanes;           /* 32 or 64 */
};

/* The form of opcode `op` (a row of mma, wmma.load, wmma.store) with modifier `mod`. */
void mx__tile_read(struct mx_tile *t, unsigned op, unsigned mod);

/* Elements of a part that one register holds (b64 for f64, else 32 bits). Of A (m x k) and B (k x n) they follow each
 * other along k; of C and D along the row. */
static inline unsigned mx__tile_per_reg(const struct mx_tile *t, unsigned part) {
  unsigned bits = mx__elements[t->type[part]].bits;
  return bits >= 32 ? 1 : 32 / bits;
}
/* Rows and columns of a part; of a sparse A those that are stored: half of its columns. */
void mx__tile_size(const struct mx_tile *t, unsigned part, unsigned *rows, unsigned *cols);
struct mx_cell {
  uint8_t row, col;
};
/* Which element is number `e` in register `reg` of `lane`. */
struct mx_cell mx__tile_cell(const struct mx_tile *t, unsigned part, unsigned reg, unsigned lane, unsigned e);

#endif
