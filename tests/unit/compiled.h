/* What tests of compiled code have in common. */
#ifndef MX_TESTS_COMPILED_H
#define MX_TESTS_COMPILED_H

#include "jit/runtime/jit.h"
#include "on_device.h"

/* A device with the module of a text on it, and the kernel to launch. */
static inline mx_kernel *load(const mx_device_options *o, const char *text, const char *kernel, mx_device **d,
                              mx_module **m) {
  mx_kernel *k;
  assert_int_equal(mx_device_create(o, d), MX_OK);
  assert_int_equal(load_text(*d, text, NULL, m), MX_OK);
  assert_int_equal(mx_module_kernel(*m, kernel, &k), MX_OK);
  return k;
}

#define NEEDS_CODE() \
  if (!mx__jit_level()) { \
    print_message("no code is compiled for this CPU\n"); \
    skip(); \
  }

#endif
