/* Module text straight onto a device: mx/asm.h and mx/mx.h joined. A header alone, because neither half of the library
 * knows the other. */
#ifndef MX_TEXT_H
#define MX_TEXT_H

#include "mx/asm.h"
#include "mx/mx.h"

#include <stdlib.h>
#include <string.h>

/* Assembles `size` bytes of text and loads the result. *messages, where messages is not NULL, gets all diagnostics in
 * the usual form, malloc'ed, or NULL when there are none. MX_INVALID_MODULE: the text has errors (see *messages), or the
 * device refuses the module (see mx_last_error_text). */
static inline mx_status mx_module_load_text(mx_device *device, const char *text, size_t size, const mx_asm_options *options,
                                            mx_module **module, char **messages) {
  if (messages) *messages = NULL;
  if (!device || !text || !module) return MX_INVALID_VALUE;
  *module = NULL;
  mx_asm_result *r = mx_assemble(text, size, options);
  if (!r) return MX_OUT_OF_MEMORY;
  const mx_asm_diagnostic *list;
  size_t n = mx_asm_diagnostics(r, &list), bytes_size = 0, used = 0;
  for (size_t i = 0; messages && i < n; i++) {
    char *one = mx_asm_format(&list[i], false);
    size_t length = one ? strlen(one) : 0;
    char *all = one ? (char *)realloc(*messages, used + length + 1) : NULL;
    if (all) {
      memcpy(all + used, one, length + 1);
      used += length;
      *messages = all;
    }
    free(one);
  }
  const uint8_t *bytes = mx_asm_bytes(r, &bytes_size);
  mx_status s = bytes ? mx_module_load_data(device, bytes, bytes_size, module) : MX_INVALID_MODULE;
  mx_asm_free(r);
  return s;
}

#endif
