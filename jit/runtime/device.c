/* Devices as programs make them: with the engine that compiles kernels. */
#include "jit.h"

mx_status mx_device_create(const mx_device_options *options, mx_device **device) {
  return mx__device_create(options, &mx__compiling, device);
}
