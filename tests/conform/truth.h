/* True values of mathematical functions; see truth.c. */
#ifndef MX_TESTS_TRUTH_H
#define MX_TESTS_TRUTH_H

#include <stdbool.h>

#include <mpfr.h>

/* The value of function `name` (as for f64: "sin", "norm3d"), or its second value if `which` is 1, at the precision
 * that `out` has; false if there is no such function of `nin` inputs. Inputs are exact. */
bool mx__truth(const char *name, unsigned nin, const mpfr_t *in, unsigned which, mpfr_t out);

#endif
