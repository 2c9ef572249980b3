/* What the host's side asks of an engine that compiles kernels. The engine (jit/runtime/tier.c) lies above the machine
 * and gives this table to each device that it makes; mx__interpreter is the table of a device without one. */
#ifndef MX_VM_ENGINE_H
#define MX_VM_ENGINE_H

#include "device.h"
#include "vm/exec/exec.h"

struct mx_engine {
  /* Before the workers of l start; d->run is held, the kernel is prepared. MX_JIT_ON: compiled code is there
   * afterwards, or MX_JIT_FAILURE, or MX_INTERRUPTED because its stop or deadline came first; MX_JIT_AUTO: it may come
   * while l runs. */
  mx_status (*begin)(mx_kernel *k, struct mx_launch *l);
  /* They have ended: what happened goes into l->stats. */
  void (*end)(mx_kernel *k, struct mx_launch *l);
  /* The module's kernels go away: nothing refers to them any more, their code is unloaded. No launch uses them. */
  void (*forget)(mx_module *m);
  /* The device goes away. */
  void (*done)(struct mx_device *d);

  /* Debugging sessions have code of their own, for code that they prepared. stops: where and when the code is left, as
   * vm/debug/compiled.c writes it. The code's entries get the body `enter` while a launch may use it, `leave` else.
   * NULL: there is no memory, or no engine. */
  struct mx_jit_kernel *(*session)(mx_kernel *k, struct mx_prepared *prep, const char *stops, mx_body leave,
                                   mx_body enter);
  /* Between begin and end the policy is that of launches. */
  mx_status (*session_begin)(struct mx_jit_kernel *jk, struct mx_launch *l);
  void (*session_end)(struct mx_jit_kernel *jk);
  bool (*session_ready)(struct mx_jit_kernel *jk);
  struct mx_jit_code *(*session_code)(struct mx_jit_kernel *jk, uint32_t func); /* NULL: there is none */
  void (*session_forget)(struct mx_jit_kernel *jk);
};
extern const struct mx_engine mx__interpreter;

/* mx_device_create, with an engine. */
mx_status mx__device_create(const mx_device_options *options, const struct mx_engine *engine, mx_device **device);

#endif
