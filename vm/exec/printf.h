/* Formats of device printf: the specifiers of the CUDA and MACA programming guides, read out of device memory. Knows
 * neither lanes nor where the text goes. */
#ifndef MX_VM_PRINTF_H
#define MX_VM_PRINTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MX_PRINTF_ARGS 32 /* specifiers beyond are printed as they stand */

/* Device memory: where the bytes at address are, and how many follow there; NULL: not readable. */
struct mx_reader {
  const uint8_t *(*at)(void *context, uint64_t address, uint64_t *follow);
  void *context;
};
struct mx_text {
  char *s;
  size_t size, room;
};
/* Appends n bytes, and a 0 behind them that does not count. False: out of memory; nothing has changed. */
bool mx__text_append(struct mx_text *t, const char *s, size_t n);

enum mx_formatted { MX_FORMATTED, MX_FORMAT_FAULT, MX_FORMAT_MEMORY };

/* Appends the formatted text. Arguments lie behind one another at `args`, each at a multiple of its size (4 or 8).
 * *result: what device printf returns: the number of arguments, or -1 for a null format. FAULT: *fault is an address
 * that cannot be read. MEMORY: the host has none. */
enum mx_formatted mx__printf(struct mx_text *out, const struct mx_reader *r, uint64_t format, uint64_t args,
                             int32_t *result, uint64_t *fault);

#endif
