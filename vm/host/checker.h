/* What the host's side asks of a device's checker (vm/check/), which lies above it and gives it this table when tools
 * are turned on (mx_device_check), or with the device (jit/runtime/device.c), for launches that name tools themselves.
 * But for `make`, called where the device has one only. */
#ifndef MX_VM_CHECKER_H
#define MX_VM_CHECKER_H

#include "device.h"

struct mx_block;
struct mx_check;
struct mx_exec;
struct mx_frame;
struct mx_insn;
struct mx_level;
struct mx_prepared;
struct mx_checker {
  /* Whether tools are on. */
  bool (*is_on)(const struct mx_check *c);
  /* For a device that has none. NULL: out of memory. */
  struct mx_check *(*make)(struct mx_device *d);
  /* A launch begins, with tools of its own or, if there are none, with the device's: it gets code of its own, one
   * worker and an observer. Out of memory: it runs unchecked. d->run is held, here and at the end. */
  void (*begin)(struct mx_check *c, mx_kernel *k, struct mx_launch *l, uint32_t tools);
  void (*end)(struct mx_check *c, struct mx_launch *l);
  /* For a session: the kernel's code in the level's bodies, with room for what the tools keep. NULL: out of memory. Its
   * launch begins and ends as above, and its instructions are executed by `step`, while launch->observed is set. */
  struct mx_prepared *(*prepare)(mx_kernel *k, const struct mx_level *level, uint32_t shared_dynamic);
  const struct mx_insn *(*step)(struct mx_exec *x, const struct mx_insn *i);
  /* How many findings there are so far. */
  size_t (*found)(const struct mx_check *c);
  /* A debugger has changed a register (its class and its slot in the frame), or memory. */
  void (*set_register)(struct mx_check *c, struct mx_frame *f, unsigned cls, uint32_t slot, bool spilled,
                       uint64_t lanes);
  void (*set_memory)(struct mx_check *c, const struct mx_block *b, uint32_t warp, uint32_t lane, uint64_t address,
                     uint64_t bytes);
  /* Frees the code that the checker made for a kernel: the kernel's module ends. */
  void (*forget)(struct mx_check_code *code);
  /* Memory of the device has been allocated, written or read by the host, or freed. */
  void (*allocated)(struct mx_check *c, uint64_t address, uint64_t bytes);
  void (*written)(struct mx_check *c, uint64_t address, uint64_t bytes);
  void (*copied)(struct mx_check *c, uint64_t to, uint64_t from, uint64_t bytes);
  void (*read)(struct mx_check *c, uint64_t address, uint64_t bytes);
  void (*freed)(struct mx_check *c, uint64_t address);
  /* The device is reset, so that all its memory is gone; the device is destroyed. */
  void (*reset)(struct mx_check *c);
  void (*done)(struct mx_check *c);
};
extern const struct mx_checker mx__checker;

#endif
