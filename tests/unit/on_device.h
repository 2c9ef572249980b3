/* What tests of the API on a device have in common: a text becomes a module, and failures say why. */
#ifndef MX_TESTS_ON_DEVICE_H
#define MX_TESTS_ON_DEVICE_H

#include "mx/asm.h"
#include "mx/mx.h"
#include "mx/text.h"

#include <string.h>

/* options: NULL, or how the text is assembled. What the assembler or the device says against it is printed. */
static inline mx_status load_text(mx_device *d, const char *text, const mx_asm_options *options, mx_module **m) {
  char *messages = NULL;
  const mx_status s = mx_module_load_text(d, text, strlen(text), options, m, &messages);
  if (messages) print_error("%s\n", messages);
  mx_text_free(messages);
  char *why = s == MX_OK ? NULL : mx_last_error_text(d);
  if (why) print_error("%s\n", why);
  mx_text_free(why);
  return s;
}

/* The device's last failure is told with these words. */
static inline void expect_error_text(mx_device *d, const char *part) {
  char *s = mx_last_error_text(d);
  assert_non_null(s);
  if (!strstr(s, part)) fail_msg("expected '%s' in '%s'", part, s);
  mx_text_free(s);
}

#endif
