/* Taking in a shared object that the compiler made and the cache checked. */
#include "jit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The descriptor stays open: the loader knows objects by name, and one of the same number would be taken for this one.
 */
struct mx_jit_object {
  void *handle;
  int fd;
  uint32_t nfuncs;
  struct mx_jit_code *code;
};

struct mx_jit_object *mx__jit_load(int fd, uint32_t nfuncs, char **why) {
  struct mx_jit_object *o = calloc(1, sizeof *o);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  *why = NULL;
  if (!o) return close(fd), NULL;
  o->fd = fd;
  o->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const char *fault = o->handle ? NULL : dlerror();
  if (!o->handle && asprintf(why, "the compiler's result cannot be loaded: %s", fault ? fault : "unknown reason") < 0)
    *why = NULL;
  if (!o->handle || !(o->code = calloc(nfuncs ? nfuncs : 1, sizeof *o->code))) return mx__jit_unload(o), NULL;
  o->nfuncs = nfuncs;
  const uint64_t *layout = dlsym(o->handle, "mx_jit_layout");
  if (!layout || *layout != mx__jit_layout()) {
    *why = strdup("the compiler's result does not fit this library");
    return mx__jit_unload(o), NULL;
  }
  for (uint32_t f = 0; f < nfuncs; f++) {
    char name[48];
    snprintf(name, sizeof name, "mx_jit_F%u", f);
    void *run = dlsym(o->handle, name);
    snprintf(name, sizeof name, "mx_jit_table_F%u", f);
    const struct mx_jit_table *t = dlsym(o->handle, name);
    char live[48];
    snprintf(live, sizeof live, "mx_jit_live_F%u", f);
    char counted_name[48];
    snprintf(counted_name, sizeof counted_name, "mx_jit_counted_F%u", f);
    if (!run || !t) continue;
    const struct mx_jit_entry *entries = (const void *)(t + 1);
    const struct mx_jit_site *sites = (const void *)(entries + t->nentries);
    const struct mx_jit_location *locations = (const void *)(sites + t->nsites);
    const struct mx_jit_hidden *hidden = (const void *)(locations + t->nlocations);
    const struct mx_jit_fallback *fallbacks = (const void *)(hidden + t->nhidden);
    const struct mx_jit_counted *counted = dlsym(o->handle, counted_name);
    const struct mx_jit_counted_block *blocks = counted ? (const void *)(counted + 1) : NULL;
    const struct mx_jit_counted_ins *insns = counted ? (const void *)(blocks + counted->nblocks) : NULL;
    o->code[f] = (struct mx_jit_code){.spill_bytes = t->spill_bytes,
                                      .run = (mx_jit_fn)run,
                                      .table = t,
                                      .entries = entries,
                                      .sites = sites,
                                      .locations = locations,
                                      .hidden = hidden,
                                      .fallbacks = fallbacks,
                                      .frames = (const void *)(fallbacks + t->nfallbacks),
                                      .counted = counted,
                                      .counted_blocks = blocks,
                                      .counted_insns = insns,
                                      .counted_sites = counted ? (const void *)(insns + counted->nins) : NULL,
                                      .live = dlsym(o->handle, live)};
  }
  return o;
}
int mx__jit_bytes(const struct mx_jit_object *o) { return o->fd; }
struct mx_jit_code *mx__jit_code(struct mx_jit_object *o, uint32_t f) {
  return f < o->nfuncs && o->code[f].run ? &o->code[f] : NULL;
}
void mx__jit_unload(struct mx_jit_object *o) {
  if (!o) return;
  for (uint32_t f = 0; o->code && f < o->nfuncs; f++) mx__jit_inplace_free(&o->code[f]);
  if (o->handle) dlclose(o->handle);
  close(o->fd);
  free(o->code);
  free(o);
}
