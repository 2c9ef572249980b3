/* The public functions that need both halves of the library, assembler and machine, which do not know each other:
 * loading text onto a device, and disassembling the bytes of a module, which vm/load reads and verifies. */
#include "mx/text.h"

#include "asm/disassemble.h"
#include "vm/load/module.h"
#include "vm/load/verify.h"

#include <stdlib.h>
#include <string.h>

/* All diagnostics as one text; NULL: there are none, or no memory for them. */
static char *all_messages(const mx_asm_result *r) {
  char *all = NULL;
  size_t used = 0;
  for (size_t k = 0; k < mx_asm_diagnostic_count(r); k++) {
    char *one = mx_asm_format(mx_asm_diagnostic_at(r, k), false);
    const size_t length = one ? strlen(one) : 0;
    char *longer = one ? realloc(all, used + length + 1) : NULL;
    if (longer) {
      memcpy(longer + used, one, length + 1);
      used += length;
      all = longer;
    }
    free(one);
  }
  return all;
}

mx_status mx_module_load_text(mx_device *device, const char *text, size_t size, const mx_asm_options *options,
                              mx_module **module, char **messages) {
  if (messages) *messages = NULL;
  if (!device || !text || !module || (options && !mx__asm_options_known(options))) return MX_INVALID_VALUE;
  *module = NULL;
  mx_asm_result *r = mx_assemble(text, size, options);
  if (!r) return MX_OUT_OF_MEMORY;
  if (messages) *messages = all_messages(r);
  size_t bytes_size = 0;
  const uint8_t *bytes = mx_asm_bytes(r, &bytes_size);
  const mx_status s = bytes ? mx_module_load_data(device, bytes, bytes_size, module) : MX_INVALID_MODULE;
  mx_asm_free(r);
  return s;
}

char *mx_disassemble(const void *bytes, size_t size, char **why) {
  struct mx__image *image = NULL;
  char *wrong = NULL, *text = NULL;
  enum mx__load loaded = bytes ? mx__image_read(bytes, size, &image, &wrong) : MX__LOAD_REFUSED;
  if (loaded == MX__LOAD_OK) loaded = mx__verify(&image->image, &wrong);
  if (loaded == MX__LOAD_OK) text = mx__disassemble(&image->image);
  mx__image_free(image);
  if (why) *why = wrong;
  else free(wrong);
  return text;
}
