/* Four lanes' quads of words, each as it lies in memory, turned into a vector of each element, or back. */
#ifndef MX_LANES_QUADS_H
#define MX_LANES_QUADS_H

#include "body.h"

#if defined __SSE2__ && !defined __clang__ /* whose vectors have no __builtin_shuffle */
#define MX__TURNS 1
typedef uint32_t mx__words __attribute__((vector_size(16), may_alias, aligned(4)));
typedef uint64_t mx__longs __attribute__((vector_size(16), may_alias, aligned(8)));
#define PAIR(x_, y_) ((mx__words)(mx__longs){*(const uint64_t *)(x_), *(const uint64_t *)(y_)})
MX__INL void turn_quads(mx__words *v) {
  const mx__words a = __builtin_shuffle(v[0], v[1], (mx__words){0, 4, 1, 5}),
                  b = __builtin_shuffle(v[2], v[3], (mx__words){0, 4, 1, 5});
  const mx__words c = __builtin_shuffle(v[0], v[1], (mx__words){2, 6, 3, 7}),
                  d = __builtin_shuffle(v[2], v[3], (mx__words){2, 6, 3, 7});
  v[0] = __builtin_shuffle(a, b, (mx__words){0, 1, 4, 5}), v[1] = __builtin_shuffle(a, b, (mx__words){2, 3, 6, 7});
  v[2] = __builtin_shuffle(c, d, (mx__words){0, 1, 4, 5}), v[3] = __builtin_shuffle(c, d, (mx__words){2, 3, 6, 7});
}
#endif

#endif
