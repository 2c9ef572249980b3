/* Questions that every part of a session asks about its state: whether calls may inspect it now, and who has done
 * something at which place. */
#include "session.h"

#include "vm/exec/trap.h"

_Thread_local struct mx_debug *mx__debug_asking;

mx_status mx__debug_ready(struct mx_debug *g, const char *call) {
  if (!g) return MX_INVALID_VALUE;
  if (mx__debug_asking == g) return MX_OK;
  mx__lock(&g->lock);
  bool standing = g->standing, ended = g->ended || g->over;
  mx__unlock(&g->lock);
  if (!standing) return mx__fail(g->device, MX_BUSY, "%s: the session is running", call);
  if (ended) return mx__fail(g->device, MX_NOT_FOUND, "%s: the launch has ended", call);
  return MX_OK;
}

mx_status mx_debug_where(mx_debug *g, mx_debug_stop *stop) {
  if (!g) return MX_INVALID_VALUE;
  mx__lock(&g->lock);
  mx_debug_stop s = g->stop;
  bool standing = g->standing || mx__debug_asking == g;
  mx__unlock(&g->lock);
  if (!standing) return mx__fail(g->device, MX_BUSY, "mx_debug_where: the session is running");
  return mx__fail_plain(g->device, mx__struct_out(stop, &s, sizeof s));
}

uint32_t mx__debug_line(const struct mx_debug *g, uint32_t func, uint32_t pc) {
  const char *file;
  uint32_t line;
  mx__line_of(g->prep->image, func, pc, &file, &line);
  return line;
}

void mx__debug_culprit(struct mx_debug *g, struct mx_exec *x, const struct mx_insn *i, uint64_t lanes,
                       mx_debug_culprit *out) {
  *out = (mx_debug_culprit){.struct_size = sizeof *out,
                            .block = x->block->index,
                            .lanes = lanes,
                            .position = g->executed,
                            .warp = x->warp->number,
                            .pc = i->pc,
                            .function = x->fn->func->name};
  mx__line_of(g->prep->image, x->fn->number, i->pc, &out->file, &out->line);
}
