/* Devices as programs make them: with the engine that compiles kernels, and with the checkers. */
#include "jit.h"
#include "vm/host/checker.h"

mx_status mx_device_create(const mx_device_options *options, mx_device **device) {
  const mx_status s = mx__device_create(options, &mx__compiling, device);
  if (s == MX_OK) (*device)->checker = &mx__checker;
  return s;
}
