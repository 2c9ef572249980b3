/* What a launch asks of jit/: when kernels get compiled code. Declared here because vm/ may not include jit/. */
#ifndef MX_VM_TIER_H
#define MX_VM_TIER_H

#include "vm/device.h"

/* Before the workers of l start; d->run is held, the kernel is prepared. MX_JIT_ON: compiled code is there afterwards, or
 * MX_JIT_FAILURE; MX_JIT_AUTO: it may come while l runs. */
mx_status mx__tier_begin(mx_kernel *k, struct mx_launch *l);
/* They have ended: what happened goes into l->stats. */
void mx__tier_end(mx_kernel *k, struct mx_launch *l);
/* The module's kernels go away: nothing refers to them any more, their code is unloaded. No launch uses them. */
void mx__tier_forget(mx_module *m);
void mx__tier_done(struct mx_device *d);

#endif
