/* What the host's side asks of a device's checker (vm/check/), which lies above it and gives it this table when tools
 * are turned on (mx_device_check). Called where the device has one only. */
#ifndef MX_VM_CHECKER_H
#define MX_VM_CHECKER_H

#include "device.h"

struct mx_check;
struct mx_checker {
  /* A launch begins: it gets code of its own, one worker and an observer. Out of memory: it runs unchecked. d->run is
   * held, here and at the end. */
  void (*begin)(struct mx_check *c, mx_kernel *k, struct mx_launch *l);
  void (*end)(struct mx_check *c, struct mx_launch *l);
  /* What it has made for a kernel goes with that. */
  void (*forget)(struct mx_check_code *code);
  /* Memory of the device has been allocated, written or read by the host, or freed. */
  void (*allocated)(struct mx_check *c, uint64_t address, uint64_t bytes);
  void (*written)(struct mx_check *c, uint64_t address, uint64_t bytes);
  void (*copied)(struct mx_check *c, uint64_t to, uint64_t from, uint64_t bytes);
  void (*read)(struct mx_check *c, uint64_t address, uint64_t bytes);
  void (*freed)(struct mx_check *c, uint64_t address);
  /* All memory goes away; the device does. */
  void (*reset)(struct mx_check *c);
  void (*done)(struct mx_check *c);
};

#endif
