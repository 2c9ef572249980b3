/* Writes a module image as a container (.mxb); docs/container.md describes it. Reading is vm/load/module.c's. */
#ifndef MX_ASM_CONTAINER_H
#define MX_ASM_CONTAINER_H
#include "core/module.h"

/* malloc'ed bytes; NULL: out of memory. Any image can be written, also one that no verifier would pass. Names, labels
 * and lines are put into canonical order, and files that no line speaks of are left out. */
uint8_t *mx__image_write(const struct mx_image *image, size_t *size);
#endif
