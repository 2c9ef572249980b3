/* Prepared code: a kernel and all that it can reach, decoded for the interpreter, with literals resolved and broadcast.
 */
#ifndef MX_VM_PREPARE_H
#define MX_VM_PREPARE_H

#include "vm/exec/exec.h"

/* By function: whether code of the kernel may come to it, called by name or through an address. malloc'ed; NULL: out of
 * memory. What the machine prepares and what the compiler compiles. The image must be verified. */
bool *mx__reachable(const struct mx_image *image, uint32_t kernel);

/* By function that `reachable` names: the number of its first bounds cache; returned: how many there are of all. */
uint32_t mx__first_bounds(const struct mx_image *image, const bool *reachable, uint32_t *first);

/* The image must be verified. var_address[]: by variable number, addresses of global and const variables in their own
 * spaces. NULL: out of memory. The result refers to the image and to var_address. */
/* gap: bytes between shared variables that belong to none of them. */
struct mx_prepared *mx__prepare_with_gaps(const struct mx_image *image, uint32_t kernel, const uint64_t *var_address,
                                          const struct mx_level *level, uint32_t gap);
struct mx_prepared *mx__prepare(const struct mx_image *image, uint32_t kernel, const uint64_t *var_address,
                                const struct mx_level *level);
void mx__prepared_free(struct mx_prepared *p);

#endif
