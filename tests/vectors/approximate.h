/* How near an approximate row must come. For tests only. */
#ifndef MX_TESTS_APPROXIMATE_H
#define MX_TESTS_APPROXIMATE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether `got` will do for the instruction `name` with these inputs, where a GPU gave `want`: infinities and NaN exactly
 * as there, everything else within PTX's documented error of the mathematical value. */
bool mx__close_enough(const char *name, const uint64_t *in, uint64_t want, uint64_t got);

#endif
