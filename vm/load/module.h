/* Reads a container (.mxb) into an image, trusting nothing but its digest's arithmetic. The image then has the right
 * form; whether it may run, vm/load/verify.c decides. */
#ifndef MX_VM_MODULE_H
#define MX_VM_MODULE_H
#include "core/module.h"

enum mx__load { MX__LOAD_OK, MX__LOAD_REFUSED, MX__LOAD_OOM };

/* Owns all memory of `image`. */
struct mx__image {
  struct mx_image image;
  struct mx__image_chunk *chunks;
};

/* REFUSED: *why is a malloc'ed text naming section and byte (NULL if memory ran out for it); `why` may be NULL.
 * *out and *why are NULL whenever they are not the result. */
enum mx__load mx__image_read(const uint8_t *bytes, size_t size, struct mx__image **out, char **why);
void mx__image_free(struct mx__image *image); /* NULL: nothing */
#endif
