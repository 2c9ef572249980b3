/* The engine of a device that has none: every kernel is interpreted. See engine.h. */
#include "engine.h"

static mx_status begin(mx_kernel *k, struct mx_launch *l) {
  if (l->jit != MX_JIT_ON || l->debug) return MX_OK;
  return mx__fail(l->device, MX_JIT_FAILURE, "kernel '%s': no compiled code: the device has no engine that compiles",
                  l->image->funcs[k->func].name);
}
static void end(mx_kernel *k, struct mx_launch *l) { (void)k, (void)l; }
static void forget(mx_module *m) { (void)m; }
static void done(struct mx_device *d) { (void)d; }

/* No session gets code, so nothing else is asked. */
static struct mx_jit_kernel *session(mx_kernel *k, struct mx_prepared *prep, const char *stops, mx_body leave,
                                     mx_body enter) {
  (void)k, (void)prep, (void)stops, (void)leave, (void)enter;
  return NULL;
}

const struct mx_engine mx__interpreter = {
    .begin = begin, .end = end, .forget = forget, .done = done, .session = session};
