/* Orders, such as step and continue: the session's thread runs until its next stop while the caller waits. */
#include "session.h"

mx_status mx__debug_resume(struct mx_debug *g, mx_debug_stop *stop) {
  g->plain = g->order == MX_DEBUG_CONTINUE && g->begun && g->stop_at == UINT64_MAX && !g->moved_code && !g->search.on &&
             !g->rewinding && !g->record && !g->watch && !g->step && !g->trace && !g->seed && !g->divergences &&
             !g->writes;
  atomic_store(&g->pause, false);
  mx_status s = g->plain ? mx__compiled_begin(g) : MX_OK;
  if (s != MX_OK) return s;
  mx__debug_order_begins(g);
  g->stop.text = NULL;
  g->stop.address = 0;
  g->stop.watch = 0;
  g->pending = 0;
  g->found_pending = false;
  mx__lock(&g->lock);
  g->standing = false;
  pthread_cond_broadcast(&g->moved);
  while (!g->standing) mx__wait(&g->moved, &g->lock);
  mx__unlock(&g->lock);
  mx__compiled_end(g);
  return stop ? mx_debug_where(g, stop) : MX_OK;
}
