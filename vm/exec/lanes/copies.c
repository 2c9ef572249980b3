/* The fast path of cp.async: lanes whose bytes lie side by side are copied together, as rows of MX_COPY_ROW lanes.
 * Vectors of addresses are tested for that first; then only the rows are compared with the instruction's cached bounds.
 * All other copies are made lane by lane in vm/exec/async.c. */
#include "addresses.h"
#include "vm/exec/async.h"

typedef uint64_t piece_v __attribute__((vector_size(MX__VECTOR), may_alias, aligned(4)));
MX__INL void move(unsigned char *to, const unsigned char *from, size_t bytes) {
  size_t at = 0;
  for (; at + MX__VECTOR <= bytes; at += MX__VECTOR) *(piece_v *)(void *)(to + at) = *(const piece_v *)(from + at);
  if (at < bytes) memcpy(to + at, from + at, bytes - at);
}
void MX_LV(mx__land_rows)(const struct mx_row_copy *ring, uint32_t mask, uint32_t first, uint32_t end, unsigned lanes);
void MX_LV(mx__land_rows)(const struct mx_row_copy *ring, uint32_t mask, uint32_t first, uint32_t end, unsigned lanes) {
  unsigned char *to[MX_MAX_LANES];
  const unsigned char *from[MX_MAX_LANES];
  for (; first != end; first++) {
    const struct mx_row_copy *c = &ring[first & mask];
    const unsigned n = mx__row_places(c, lanes, to, from);
#define PIECES(bytes_) \
  case bytes_: \
    for (unsigned k = 0; k < n; k++) move(to[k], from[k], bytes_); \
    break;
    switch (c->row * c->bytes) { PIECES(16) PIECES(32) PIECES(64) PIECES(128) }
#undef PIECES
  }
}

/* Whether each MX_COPY_ROW lanes' addresses are `size` bytes apart. */
MX__INL bool in_rows(const uint64_t *a, unsigned n, unsigned size) {
  const mx__v64 ramp = *(const mx__v64 *)(const void *)lanes_numbers * size;
  mx__v64 bent = {0};
  for (unsigned l = 0; l < n; l += LANES_A_VECTOR)
    bent |= (*(const mx__v64 *)(const void *)(a + l) - a[l & ~(MX_COPY_ROW - 1)]) ^
            (ramp + (uint64_t)(l & (MX_COPY_ROW - 1)) * size);
  return !any_bit(bent);
}
MX__INL bool in_rows_of_words(const uint32_t *a, unsigned n, unsigned size) {
  enum { WORDS = 2 * LANES_A_VECTOR };
  mx__v32 ramp = *(const mx__v32 *)(const void *)words_numbers, bent = {0}, first;
  ramp = (ramp & (MX_COPY_ROW - 1)) * size;
  for (unsigned l = 0; l < n; l += WORDS) {
    first = (mx__v32){0} + a[l & ~(MX_COPY_ROW - 1)];
    for (unsigned k = MX_COPY_ROW; k < WORDS; k++) first[k] = a[l + MX_COPY_ROW]; /* vectors of two rows */
    bent |= (*(const mx__v32 *)(const void *)(a + l) - first) ^ (ramp + (l & (MX_COPY_ROW - 1)) * size);
  }
  return !any_bit((mx__v64)bent);
}
/* Finds the host address of each row, from the addresses in operand k and the offset in operand k + 1. False: lanes do
 * not form rows, or a row is not within b or not aligned. */
MX__INL bool find_rows(const struct mx_exec *x, const struct mx_insn *i, unsigned k, bool narrow, bool write,
                       const struct mx_bounds *b, unsigned size, struct mx_row_copy *c) {
  const unsigned n = mx__lanes(x);
  const void *a = mx__ref(x, i->o[k]);
  const uint64_t off = *(const uint64_t *)mx__ref(x, i->o[k + 1]), bytes = (uint64_t)MX_COPY_ROW * size;
  if (b->span < bytes || b->span > INT64_MAX || (write && !b->writable)) return false;
  if (!(narrow ? in_rows_of_words(a, n, size) : in_rows(a, n, size))) return false;
  unsigned char *const first = x->window[b->kind] + b->off;
  const uint64_t limit = b->span - bytes;
  uint64_t bad = 0, odd = 0;
  for (unsigned l = 0; l < n; l += MX_COPY_ROW) {
    /* 32-bit addresses wrap, as addresses of that width do: then the row does not end behind its beginning */
    const uint64_t at = narrow ? ((const uint32_t *)a)[l] + (uint32_t)off : ((const uint64_t *)a)[l] + off,
                   far = at - b->lo;
    bad |= far | (limit - far);
    odd |= far;
    if (write) c->at[l / MX_COPY_ROW].to = first + far;
    else c->at[l / MX_COPY_ROW].from = first + far;
  }
  return !(bad >> 63) && !(odd & (size - 1)) && (!narrow || b->lo + b->span <= UINT32_MAX);
}
bool MX_LV(mx__copy_rows)(const struct mx_exec *x, const struct mx_insn *i, struct mx_row_copy *c);
bool MX_LV(mx__copy_rows)(const struct mx_exec *x, const struct mx_insn *i, struct mx_row_copy *c) {
  const struct mx_bounds *b = &x->bounds[i->index];
  const unsigned size = (unsigned)i->o[4];
  const bool narrow = mx__types[mx__ops[i->op].opnd[0].type].bits == 32;
  if (b->kind != MX_SHARED || b[1].kind == MX_LOCAL) return false;
  if (!find_rows(x, i, 2, false, false, &b[1], size, c)) return false;
  return narrow ? find_rows(x, i, 0, true, true, b, size, c) : find_rows(x, i, 0, false, true, b, size, c);
}
