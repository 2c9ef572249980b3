/* What the body of a matrix instruction and the arithmetic of a CPU level share: a form with its fragments laid out. */
#ifndef MX_VM_TILE_H
#define MX_VM_TILE_H

#include "core/tile.h"

/* A and B as the arithmetic has them: `x` with `rows` rows and `y` with `cols` columns, so that result (i, j) is the
 * product of row i of x and column j of y. y is the larger one: where it is A, the product is computed transposed.
 * Sparse forms have A, and in it what is stored, as x, and k counts that. */
struct mx_tile_plan {
  struct mx_tile t;
  uint8_t x, y; /* enum mx_part */
  uint8_t rows, cols;
  bool across; /* rows of the products are what the fragments of C and D have as columns */
  bool paired; /* registers 2n and 2n + 1 of C and D, of 32 bits, hold neighbours, and lanes 4n to 4n + 3 eight of a row
                */
  uint8_t unique[MX_PARTS]; /* registers; those behind them are copies */
  uint16_t k, stored;       /* of y; of x */
  uint8_t width[MX_PARTS];  /* elements of a row of each part are 1 << that many */
  /* By register and lane: which element of its part, row after row, is the register's first. Lanes 4n to 4n + 3 follow
   * each other there (32 lanes); in `sums` (C and D), which are counted in elements of 32 bits, every register holds
   * every second one. */
  uint16_t at[MX_PARTS][MX_TILE_MAX_REGS][MX_MAX_LANES];
  /* Of 32 lanes: a piece is a register, eight rows (of B: columns) of 16 bytes. Piece [m * along + n] has rows from 8 m
   * on, and of these what lies from 16 n bytes on. Of sums of 32 bits it holds every second element of 32 bytes:
   * [2 * (m * along + n)] the even ones, the next one the odd ones. */
  uint8_t along[MX_PARTS];
  uint8_t piece[MX_PARTS][MX_TILE_MAX_REGS];
};

/* Registers of the parts: arrays of lanes. meta: one register that says where a sparse A's elements belong. */
struct mx_tile_regs {
  void *d[MX_TILE_MAX_REGS];
  const void *in[MX_PARTS][MX_TILE_MAX_REGS];
  const uint32_t *meta;
  unsigned selector;
};
typedef void mx__tile_mma(const struct mx_tile_plan *p, const struct mx_tile_regs *r);
/* The registers of a matrix in memory, whose rows, or columns if it lies across, are `pitch` bytes apart. Elements of 8
 * to 32 bits, or rows that lie in memory as they are (`along`). */
typedef void mx__tile_load(const struct mx_tile_plan *p, const unsigned char *host, uint64_t pitch, bool along,
                           void *const *d);

#endif
