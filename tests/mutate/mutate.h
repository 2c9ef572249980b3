/* Between the files of tests/mutate: numbers from a seed, and changes of an image's fields. */
#ifndef MX_TEST_MUTATE_H
#define MX_TEST_MUTATE_H

#include "core/module.h"

void seed_set(uint64_t seed);
uint64_t rnd(void);
uint64_t below(uint64_t n); /* n 0: 0 */
uint64_t interesting(void); /* ends of ranges, addresses, and what lies beside */

extern const unsigned nmutations, ngentle; /* the first ones mostly leave a module that verifies */
const char *mutation_name(unsigned number);
void mutation_apply(unsigned number, struct mx_image *image);

#endif
