/* What addresses of a warp look like, for compiled code that then uses them many times. */
#include "addresses.h"
#include "vm/exec/jitabi.h"

#define STRIDES 5
static const uint64_t kinds[STRIDES] = {MX_JIT_ROWS1, MX_JIT_ROWS2, MX_JIT_ROWS4, MX_JIT_ROWS8, MX_JIT_ROWS16};

/* What is known so far of the addresses in x->tmp. They are examined in vectors of 64-bit numbers whatever their width;
 * for 32-bit addresses the mask `width` makes sums wrap. */
struct look {
  mx__v64 min, max, low, same, rows[STRIDES];
};
MX__INL mx__v64 either(mx__v64 on, mx__v64 yes, mx__v64 no) { return (yes & on) | (no & ~on); }
MX__INL uint64_t number_of(const struct mx_exec *x, bool narrow, uint32_t l) {
  uint32_t word;
  uint64_t number;
  memcpy(&word, x->tmp + sizeof word * l, sizeof word); /* the result, of other types, is stored in their place */
  if (narrow) return word;
  memcpy(&number, x->tmp + sizeof number * l, sizeof number);
  return number;
}
/* no_rows: it is known already that the addresses have none of these patterns. */
MX__INL void look(struct mx_exec *x, bool narrow, uint32_t chunk, uint64_t mask, bool no_rows,
                  struct mx_jit_shape *to) {
  const unsigned n = mx__lanes(x);
  const uint64_t width = narrow ? UINT32_MAX : UINT64_MAX, none = (uint64_t)INT64_MIN;
  const mx__v64 numbers = *(const mx__v64 *)(const void *)lanes_numbers, sign = {0};
  mx__v64 bit = *(const mx__v64 *)(const void *)lanes_bits;
  const uint64_t one = mask ? number_of(x, narrow, (uint32_t)__builtin_ctzll(mask)) : 0;
  /* minimum and maximum are kept with the top bit flipped and compared as signed numbers, since not all processors
   * compare vectors of unsigned ones */
  struct look k = {.min = sign + INT64_MAX, .max = sign + none};
  for (uint32_t c = 0; c < n; c += chunk) {
    const uint64_t first =
        narrow ? ((const uint32_t *)(const void *)x->tmp)[c] : ((const uint64_t *)(const void *)x->tmp)[c];
    mx__v64 number = numbers;
    for (uint32_t l = c; l < c + chunk; l += LANES_A_VECTOR, bit <<= LANES_A_VECTOR, number += LANES_A_VECTOR) {
      const mx__v64 a =
          narrow ? __builtin_convertvector(*(const lanes_h *)(const void *)((const uint32_t *)(const void *)x->tmp + l),
                                           mx__v64)
                 : *(const mx__v64 *)(const void *)((const uint64_t *)(const void *)x->tmp + l);
      const mx__v64 on = (mx__v64)((bit & mask) == bit), order = a ^ none, least = either(on, order, k.min),
                    most = either(on, order, k.max), d = a - first;
      k.min = either((mx__v64)((lanes_s)least < (lanes_s)k.min), least, k.min);
      k.max = either((mx__v64)((lanes_s)most > (lanes_s)k.max), most, k.max);
      k.low |= (a ^ one) & on;
      if (no_rows) continue;
      k.same |= d & on & width;
      for (unsigned r = 0; r < STRIDES; r++) k.rows[r] |= (d - (number << r)) & on & width;
    }
  }
  *to = (struct mx_jit_shape){.min = UINT64_MAX, .low = lanes_any(k.low)};
  for (unsigned l = 0; l < LANES_A_VECTOR; l++) {
    const uint64_t least = k.min[l] ^ none, most = k.max[l] ^ none;
    to->min = least < to->min ? least : to->min;
    to->max = most > to->max ? most : to->max;
  }
  if (narrow && to->min > UINT32_MAX) to->min = UINT32_MAX; /* no lane runs */
  if (no_rows) return;
  to->kind = any_bit(k.same) ? 0 : MX_JIT_SAME;
  for (unsigned r = 0; r < STRIDES; r++) to->kind |= any_bit(k.rows[r]) ? 0 : kinds[r];
}
/* Tests one stride only: the difference between two neighbouring active lanes of a chunk, which all other lanes must
 * have if any stride fits. False: no two neighbours are active, or the addresses wrap. True: to->kind says how the
 * addresses of chunks lie; if it is not 0, min, max and low are set, too. */
MX__INL bool look_at_rows(struct mx_exec *x, bool narrow, uint32_t chunk, uint64_t mask, struct mx_jit_shape *to) {
  const unsigned n = mx__lanes(x), step = narrow ? 2 * LANES_A_VECTOR : LANES_A_VECTOR;
  const uint64_t width = narrow ? UINT32_MAX : UINT64_MAX;
  uint64_t last = 0; /* the last lane of each chunk */
  for (uint32_t c = chunk; c <= n; c += chunk) last |= 1ull << (c - 1);
  const uint64_t pairs = mask & mask >> 1 & ~last;
  if (!pairs || chunk % step) return false;
  const uint32_t one = (uint32_t)__builtin_ctzll(pairs);
  const uint64_t own = number_of(x, narrow, one), by = (number_of(x, narrow, one + 1) - own) & width;
  to->kind = 0;
  if (by >= 1u << STRIDES || (by & (by - 1))) return true;
  const mx__v64 row = *(const mx__v64 *)(const void *)lanes_numbers * by;
  const mx__v32 row_words = *(const mx__v32 *)(const void *)words_numbers * (uint32_t)by;
  mx__v64 differs = {0}, all = {0};
  mx__v32 differ = {0}, every = {0};
  for (uint32_t c = 0; c < n; c += chunk) {
    const uint64_t first = number_of(x, narrow, c);
    for (uint32_t l = c; l < c + chunk; l += step)
      if (narrow) {
        const mx__v32 bit = *(const mx__v32 *)(const void *)(mx__bit + l),
                      on = (mx__v32)((bit & (uint32_t)(mask >> (l & 32))) == bit),
                      a = *(const mx__v32 *)(const void *)((const uint32_t *)(const void *)x->tmp + l);
        differ |= ((a - (uint32_t)first) ^ (row_words + (l - c) * (uint32_t)by)) & on;
        every |= (a ^ (uint32_t)own) & on;
      } else {
        const mx__v64 bit = *(const mx__v64 *)(const void *)lanes_bits << l, on = (mx__v64)((bit & mask) == bit),
                      a = *(const mx__v64 *)(const void *)((const uint64_t *)(const void *)x->tmp + l);
        differs |= ((a - first) ^ (row + (l - c) * by)) & on;
        all |= (a ^ own) & on;
      }
  }
  if (any_bit(narrow ? (mx__v64)differ : differs)) return true;
  *to = (struct mx_jit_shape){.min = UINT64_MAX, .low = narrow ? words_any(every) : lanes_any(all)};
  for (uint32_t c = 0; c < n; c += chunk) {
    const uint64_t some = mask >> c & (chunk < 64 ? (1ull << chunk) - 1 : UINT64_MAX);
    if (!some) continue;
    const uint64_t first = number_of(x, narrow, c), least = first + by * (uint64_t)__builtin_ctzll(some),
                   most = first + by * (63u - (uint64_t)__builtin_clzll(some));
    if (most < least || most > width || least < first) return false; /* where they wrap, the order is another one */
    to->min = least < to->min ? least : to->min;
    to->max = most > to->max ? most : to->max;
  }
  to->kind = by ? kinds[__builtin_ctzll(by)] : MX_JIT_SAME;
  return true;
}
/* The sums, for each lane's number in a vector, of the steps of those of its low bits that are set. */
MX__INL mx__v32 low_words(const uint32_t *step) {
  const mx__v32 lane = *(const mx__v32 *)(const void *)words_numbers;
  mx__v32 sum = {0};
#pragma GCC unroll 4
  for (unsigned b = 0; 1u << b < 2 * LANES_A_VECTOR; b++) sum += (mx__v32)((lane & 1u << b) != 0) & step[b];
  return sum;
}
MX__INL mx__v64 low_numbers(const uint32_t *step) {
  const mx__v64 lane = *(const mx__v64 *)(const void *)lanes_numbers;
  mx__v64 sum = {0};
#pragma GCC unroll 4
  for (unsigned b = 0; 1u << b < LANES_A_VECTOR; b++) sum += (mx__v64)((lane & 1u << b) != 0) & (uint64_t)step[b];
  return sum;
}
/* The number of vector k's first lane, of `width` lanes a vector. */
MX__INL uint64_t first_of(const uint32_t *step, unsigned k, unsigned width, uint64_t first) {
#pragma GCC unroll 6
  for (unsigned b = 0; b < MX_JIT_STEPS; b++) first += k * width >> b & 1 ? step[b] : 0;
  return first;
}
/* Where all lanes are active: whether a lane's address is that of lane 0 and a step for each bit that is set in the
 * lane's number. That says all that a shape has. The low bits are those of the steps: what these have not set below
 * their lowest bit, no two addresses differ in, and the other way round.
 *
 * n is a constant, and all loops are unrolled, so that steps and vectors stay in registers. In memory they would be
 * written in words and read as vectors, for which a processor waits until the words have left for the cache. */
MX__INL bool find_steps(const struct mx_exec *x, bool narrow, unsigned n, uint32_t chunk, struct mx_jit_shape *to) {
  enum { WORDS = 2 * LANES_A_VECTOR };
  const uint64_t first = number_of(x, narrow, 0), one = number_of(x, narrow, 1) - first;
  uint64_t all = 0, low = 0, most = 0;
  if (!one || one > 1u << (STRIDES - 1) || one & (one - 1)) return false;
  const unsigned stride = (unsigned)__builtin_ctzll(one);
  uint32_t steps[MX_JIT_STEPS] = {0};
  uint64_t doubled = 0; /* bits whose step is that of a row */
#pragma GCC unroll 6
  for (unsigned b = 0; 1u << b < n; b++) {
    const uint64_t step = number_of(x, narrow, 1u << b) - first;
    most |= step;
    steps[b] = (uint32_t)step;
    all += step;
    low |= step;
    doubled |= (uint64_t)(step == one << b) << b;
  }
  if (most > INT32_MAX || first + all < first || (narrow && first + all > UINT32_MAX)) return false;
  if (narrow) {
    const mx__v32 lanes = low_words(steps);
    mx__v32 differ = {0};
#pragma GCC unroll 32
    for (unsigned k = 0; k < n / WORDS; k++)
      differ |= (lanes + (uint32_t)first_of(steps, k, WORDS, first)) ^ ((const mx__v32 *)(const void *)x->tmp)[k];
    if (any_bit((mx__v64)differ)) return false;
  } else {
    const mx__v64 lanes = low_numbers(steps);
    mx__v64 differ = {0};
#pragma GCC unroll 32
    for (unsigned k = 0; k < n / LANES_A_VECTOR; k++)
      differ |= (lanes + first_of(steps, k, LANES_A_VECTOR, first)) ^ ((const mx__v64 *)(const void *)x->tmp)[k];
    if (any_bit(differ)) return false;
  }
  /* the lowest bits, up to the first that is 0; and how many lanes these are */
  const uint64_t row = doubled & ~(doubled + 1), lanes_in_row = row + 1;
  to->min = first, to->max = first + all, to->low = low;
  to->kind = (uint64_t)MX_JIT_STEP1 << stride | MX_JIT_RUN * (row & ~1ull) | (lanes_in_row < chunk ? 0 : kinds[stride]);
#pragma GCC unroll 6
  for (unsigned b = 0; b < MX_JIT_STEPS; b++) to->step[b] = steps[b];
  return true;
}
/* Addresses without such steps. A function of its own, since its many registers cost the others' calls a frame. */
static __attribute__((noinline)) void without_steps(struct mx_exec *x, bool wide, uint32_t chunk, uint64_t mask) {
  struct mx_jit_shape found = {0};
  const bool asked = wide ? look_at_rows(x, false, chunk, mask, &found) : look_at_rows(x, true, chunk, mask, &found);
  if (wide && !asked) look(x, false, chunk, mask, false, &found);
  else if (!asked) look(x, true, chunk, mask, false, &found);
  else if (wide && !found.kind) look(x, false, chunk, mask, true, &found);
  else if (!found.kind) look(x, true, chunk, mask, true, &found);
  *(struct mx_jit_shape *)(void *)x->tmp = found;
}
MX__INL bool with_steps(struct mx_exec *x, bool narrow, uint32_t chunk) {
  struct mx_jit_shape *to = (struct mx_jit_shape *)(void *)x->tmp;
  return mx__lanes(x) == 64 ? find_steps(x, narrow, 64, chunk, to) : find_steps(x, narrow, 32, chunk, to);
}
uint32_t MX_LV(mx__jit_shape)(struct mx_exec *x, uint32_t form, uint64_t mask);
uint32_t MX_LV(mx__jit_shape)(struct mx_exec *x, uint32_t form, uint64_t mask) {
  const uint32_t chunk = (form & (MX_JIT_WANTS_STEPS - 1)) >> 1;
  const bool wide = form & 1;
  if (form & MX_JIT_WANTS_STEPS && mask == x->full && (wide ? with_steps(x, false, chunk) : with_steps(x, true, chunk)))
    return 0;
  without_steps(x, wide, chunk, mask);
  return 0;
}
