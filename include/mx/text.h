/* Module text straight onto a device: mx/asm.h and mx/mx.h joined. */
#ifndef MX_TEXT_H
#define MX_TEXT_H

#include "mx/asm.h"
#include "mx/mx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Assembles `size` bytes of text and loads the result. *messages, where messages is not NULL, gets all diagnostics in
 * the usual form, or NULL when there are none; mx_text_free frees it. MX_INVALID_MODULE: the text has errors (see
 * *messages), or the device refuses the module (see mx_last_error_text). */
MX_API mx_status mx_module_load_text(mx_device *device, const char *text, size_t size, const mx_asm_options *options,
                                     mx_module **module, char **messages);

#ifdef __cplusplus
}
#endif
#endif
