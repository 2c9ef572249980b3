/* Modules as text: for the disassembler's callers, which have the image already. */
#ifndef MX_ASM_DISASSEMBLE_H
#define MX_ASM_DISASSEMBLE_H

#include "mx/asm.h"

struct mx_image;

/* Text that assembles to the same bytes, malloc'ed. `image` comes from mx__image_read (vm) or an assembly; it may be
 * one that is refused. NULL: out of memory. */
char *mx__disassemble(const struct mx_image *image);

/* Whether this library knows options of that size. */
static inline bool mx__asm_options_known(const mx_asm_options *o) {
  return o->struct_size >= sizeof o->struct_size && o->struct_size <= sizeof *o;
}

#endif
