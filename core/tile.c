/* Forms of matrix instructions, read from the table's spellings, and their fragments: see tile.h. The maps of mma.sync
 * and ldmatrix are PTX's; those of wmma are what the hardware was seen to do, though PTX leaves them open. */
#include "core/tile.h"

#include <stdlib.h>
#include <string.h>

const struct mx_element_info mx__elements[MX_E_COUNT] = {
#define X(n_, b_, k_) [MX_E_##n_] = {#n_, b_, MX_ELEMENT_##k_},
    MX_ELEMENTS(X)
#undef X
};

static bool is_word(const char *s, size_t n, const char *word) { return strlen(word) == n && !memcmp(s, word, n); }

/* ".m16n8k16" */
static bool read_shape(struct mx_tile *t, const char *s, size_t n) {
  char *at;
  if (*s != 'm' || n < 6 || s[1] < '0' || s[1] > '9') return false;
  t->m = (uint8_t)strtoul(s + 1, &at, 10);
  if (*at != 'n') return false;
  t->n = (uint8_t)strtoul(at + 1, &at, 10);
  if (*at != 'k') return false;
  t->k = (uint16_t)strtoul(at + 1, &at, 10);
  return at == s + n;
}

void mx__tile_read(struct mx_tile *t, unsigned op, unsigned mod) {
  const struct mx_op_info *o = &mx__ops[op];
  char spelling[128];
  mx__spell(o, mod, spelling, sizeof spelling);
  *t = (struct mx_tile){.part = MX_PARTS, .lanes = o->flags & MX_F_W64 ? 64 : 32};
  uint8_t types[MX_PARTS];
  bool cols[2] = {false, false};
  unsigned ntypes = 0, nlayouts = 0, word = 0;
  for (const char *s = spelling; *s; word++) {
    const size_t n = strcspn(s, ".");
    static const char *const parts = "dabc";
    if (!word) t->wmma = is_word(s, n, "wmma");
    else if (t->wmma && word == 2 && n == 1) t->part = (uint8_t)(strchr(parts, *s) - parts);
    else if (is_word(s, n, "row") || is_word(s, n, "col")) {
      if (nlayouts < 2) cols[nlayouts++] = *s == 'c';
    } else if (is_word(s, n, "sp")) t->sparse = true;
    else if (is_word(s, n, "satfinite")) t->saturates = true;
    else if (is_word(s, n, "and")) t->is_and = true;
    else if (is_word(s, n, "rz")) t->rounding = MX_ROUND_ZERO;
    else if (is_word(s, n, "rm")) t->rounding = MX_ROUND_DOWN;
    else if (is_word(s, n, "rp")) t->rounding = MX_ROUND_UP;
    else if (is_word(s, n, "global")) t->space = MX_GLOBAL;
    else if (is_word(s, n, "shared")) t->space = MX_SHARED;
    else if (!read_shape(t, s, n))
      for (unsigned e = 0; e < MX_E_COUNT && ntypes < MX_PARTS; e++)
        if (is_word(s, n, mx__elements[e].name)) types[ntypes++] = (uint8_t)e;
    s += n;
    s += *s == '.';
  }
  /* where the registers of each part are */
  unsigned part = t->part < MX_PARTS ? t->part : MX_PART_D;
  for (unsigned k = 0, vector = 1; k < o->nopnds; k++) {
    if (!o->opnd[k].vector) continue;
    if (o->opnd[k].vector != vector) vector = o->opnd[k].vector, part++;
    if (!t->nregs[part]) t->first[part] = (uint8_t)k;
    t->nregs[part]++;
  }
  if (t->part < MX_PARTS) {
    t->type[t->part] = types[0];
    t->is_col[t->part] = cols[0];
    return;
  }
  t->quads = t->k == 4 && !t->wmma && types[1] == MX_E_f16;
  t->is_col[MX_PART_A] = cols[0];
  t->is_col[MX_PART_B] = cols[1];
  if (ntypes == 2) { /* wmma with f16: D and C */
    t->type[MX_PART_D] = types[0];
    t->type[MX_PART_A] = t->type[MX_PART_B] = MX_E_f16;
    t->type[MX_PART_C] = types[1];
  } else {
    memcpy(t->type, types, sizeof types);
  }
}

void mx__tile_size(const struct mx_tile *t, unsigned part, unsigned *rows, unsigned *cols) {
  *rows = part == MX_PART_B ? t->k : t->m;
  *cols = part == MX_PART_A ? (t->sparse ? t->k / 2u : t->k) : t->n;
}

/* m8n8k4 with f16: four products at once, each by eight lanes that are two groups of four, 16 lanes apart. Rows of the
 * four A and C lie one behind the other, as if m were 32. */
static struct mx_cell quad_cell(const struct mx_tile *t, unsigned part, unsigned reg, unsigned lane, unsigned e) {
  const unsigned quad = lane >> 2 & 3, high = lane >> 4 << 2, at = reg * mx__tile_per_reg(t, part) + e;
  unsigned row, col;
  if (part == MX_PART_A) {
    row = t->is_col[part] ? at + high : (lane & 3) + high;
    col = t->is_col[part] ? lane & 3 : at;
  } else if (part == MX_PART_B) {
    row = t->is_col[part] ? at : lane & 3;
    col = t->is_col[part] ? (lane & 3) + high : at + high;
    return (struct mx_cell){(uint8_t)(row + 4 * quad), (uint8_t)col};
  } else if (t->type[part] == MX_E_f16) {
    row = (lane & 3) + high;
    col = at;
  } else {
    row = (lane & 1) + (at & 2) + high;
    col = (at & 4) + (lane & 2) + (at & 1);
  }
  return (struct mx_cell){(uint8_t)(row + 8 * quad), (uint8_t)col};
}

/* Fragments of 64 lanes: registers, one behind the other, are the matrix row after row. Of B they are what lies
 * together along k in a register, column after column, then what follows along k. The last ones are copies where lanes
 * are more than the matrix needs. */
static struct mx_cell plain_cell(unsigned part, unsigned rows, unsigned cols, unsigned per, unsigned at, unsigned e) {
  at %= rows * cols / per;
  if (part == MX_PART_B) return (struct mx_cell){(uint8_t)(at / cols * per + e), (uint8_t)(at % cols)};
  return (struct mx_cell){(uint8_t)(at / (cols / per)), (uint8_t)(at % (cols / per) * per + e)};
}

struct mx_cell mx__tile_cell(const struct mx_tile *t, unsigned part, unsigned reg, unsigned lane, unsigned e) {
  if (t->quads) return quad_cell(t, part, reg, lane, e);
  const unsigned per = mx__tile_per_reg(t, part), bits = mx__elements[t->type[part]].bits;
  unsigned rows, cols;
  mx__tile_size(t, part, &rows, &cols);
  if (t->lanes == 64) return plain_cell(part, rows, cols, per, reg * 64 + lane, e);
  /* registers that the fragment needs; wmma with f16 has copies behind them */
  const unsigned own = rows * cols * (bits > 32 ? 32 : bits) / 1024;
  reg %= own ? own : 1;
  const unsigned group = lane >> 2, in_group = lane & 3;
  const bool turned = t->m == 8 && t->n == 32; /* computed as the transposed product: A and B change places */
  unsigned outer, inner;
  if (part == MX_PART_A || part == MX_PART_B) {
    const unsigned along = part == MX_PART_A ? cols : rows, across = (part == MX_PART_A ? rows : cols) / 8;
    unsigned blocks = along / (4 * per), block;
    if (!blocks) blocks = 1;
    if ((part == MX_PART_A) != turned) { /* pairs of row blocks, then along k, then the next pair */
      outer = across == 1 ? 0 : (reg & 1) + 2 * (reg / (2 * blocks));
      block = across == 1 ? reg : (reg >> 1) % blocks;
    } else {
      outer = reg / blocks;
      block = reg % blocks;
    }
    outer = outer * 8 + group;
    inner = (block * 4 + in_group) * per + e;
    return part == MX_PART_A ? (struct mx_cell){(uint8_t)outer, (uint8_t)inner}
                             : (struct mx_cell){(uint8_t)inner, (uint8_t)outer};
  }
  const unsigned at = reg * per + e, blocks = (turned ? cols : rows) / 8, pair = at >> 1;
  outer = pair % blocks * 8 + group;
  inner = pair / blocks * 8 + 2 * in_group + (at & 1);
  return turned ? (struct mx_cell){(uint8_t)inner, (uint8_t)outer} : (struct mx_cell){(uint8_t)outer, (uint8_t)inner};
}
