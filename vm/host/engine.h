/* What a launch asks of jit/: when kernels get compiled code. Declared here because vm/ may not include jit/. */
#ifndef MX_VM_TIER_H
#define MX_VM_TIER_H

#include "device.h"
#include "vm/exec/exec.h"

/* Before the workers of l start; d->run is held, the kernel is prepared. MX_JIT_ON: compiled code is there afterwards, or
 * MX_JIT_FAILURE; MX_JIT_AUTO: it may come while l runs. */
mx_status mx__tier_begin(mx_kernel *k, struct mx_launch *l);
/* They have ended: what happened goes into l->stats. */
void mx__tier_end(mx_kernel *k, struct mx_launch *l);
/* The module's kernels go away: nothing refers to them any more, their code is unloaded. No launch uses them. */
void mx__tier_forget(mx_module *m);
void mx__tier_done(struct mx_device *d);

/* ---- debugging sessions: code of their own, for code that they prepared -----------------------------------
 * stops: where and when the code is left, as vm/debug/compiled.c writes it. The code's entries get the body `enter` while a launch may use
 * it, `leave` else. Between begin and end the policy is that of launches. */
struct mx_jit_kernel *mx__tier_session(mx_kernel *k, struct mx_prepared *prep, const char *stops, mx_body leave, mx_body enter); /* NULL: no memory */
mx_status mx__tier_session_begin(struct mx_jit_kernel *jk, struct mx_launch *l);
void mx__tier_session_end(struct mx_jit_kernel *jk);
bool mx__tier_session_ready(struct mx_jit_kernel *jk);
struct mx_jit_code *mx__tier_session_code(struct mx_jit_kernel *jk, uint32_t func); /* NULL: there is none */
void mx__tier_session_forget(struct mx_jit_kernel *jk);

#endif
