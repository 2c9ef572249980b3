/* Modules on a device: reading and checking their bytes, giving their variables memory, and what can be asked about
 * modules and kernels. The container's form is module.c's, what may run is verify.c's. */
#include "vm/exec/exec.h"
#include "vm/load/module.h"
#include "vm/load/prepare.h"
#include "vm/load/verify.h"
#include "vm/profile/profile.h"
#include "device.h"
#include "engine.h"
#include "checker.h"
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE (1ull << 30)

void mx__module_free(mx_module *m) {
  if (!m) return;
  if (m->device) m->device->engine->forget(m);
  for (size_t i = 0; i < m->nkernels; i++) {
    mx__prepared_free(m->kernels[i].prep);
    for (unsigned n = 1; n < MX_VARIANTS; n++) mx__prepared_free(m->kernels[i].variant[n]);
    for (unsigned n = 0; n < MX_COUNTS; n++) mx__profile_code_free(m->kernels[i].profiled[n]);
    if (m->kernels[i].checked) m->device->checker->forget(m->kernels[i].checked);
  }
  free(m->kernels);
  free(m->var_address);
  mx__image_free(m->image);
  free(m->bytes);
  free(m);
}

void mx__modules_drop(struct mx_device *d) {
  while (d->modules) {
    mx_module *m = d->modules;
    d->modules = m->next;
    m->next = d->gone;
    m->gone = true;
    d->gone = m;
  }
}

void mx__modules_free_gone(struct mx_device *d) {
  mx_module *list = NULL;
  mx__lock(&d->lock);
  for (mx_module **at = &d->gone; *at;) {
    mx_module *m = *at;
    if (m->users) {
      at = &m->next;
      continue;
    }
    *at = m->next;
    m->next = list;
    list = m;
  }
  mx__unlock(&d->lock);
  while (list) {
    mx_module *m = list;
    list = m->next;
    mx__module_free(m);
  }
}

void mx__kernel_use(mx_kernel *k, int by) {
  mx__lock(&k->module->device->lock);
  k->module->users += (uint32_t)by;
  mx__unlock(&k->module->device->lock);
}

/* ---- variables ------------------------------------------------------------------------------------------*/

static uint64_t in_own_space(const struct mx_var *v, uint64_t generic) { return generic - mx_space_window(v->space); }

/* What a relocation or address literal of `kind` stands for. Shared variables have no address before a launch. */
static bool resolve(const mx_module *m, unsigned kind, uint32_t index, uint64_t addend, uint64_t *value) {
  const struct mx_image *i = &m->image->image;
  *value = addend;
  if (kind == MX_LIT_VALUE) return true;
  if (kind == MX_LIT_FUNC) {
    *value += MX_WINDOW(MX_WINDOW_FUNC) + ((uint64_t)index + 1) * 16;
    return index < i->nfuncs;
  }
  if (index >= i->nvars || i->vars[index].space == MX_SHARED) return false;
  *value += m->var_address[index] + (kind == MX_LIT_GENERIC ? mx_space_window(i->vars[index].space) : 0);
  return true;
}

static mx_status initialise(mx_module *m, uint32_t number) {
  struct mx_device *d = m->device;
  const struct mx_var *v = &m->image->image.vars[number];
  uint64_t generic = m->var_address[number] + mx_space_window(v->space);
  uint8_t *host = mx__memory_host(&d->memory, generic, v->size);
  if (v->ninit) memcpy(host, v->init, v->ninit);
  for (uint32_t k = 0; k < v->nrelocs; k++) {
    const struct mx_reloc *r = &v->relocs[k];
    uint64_t value;
    if (!resolve(m, r->kind, r->index, r->addend, &value) || r->size > 8 || r->offset > v->size ||
        v->size - r->offset < r->size)
      return mx__fail(d, MX_INVALID_MODULE, "variable '%s': the address at byte %llu cannot be known before a launch",
                      v->name, (unsigned long long)r->offset);
    value >>= 8 * r->byte;
    memcpy(host + r->offset, &value, r->size); /* little-endian host and device alike */
  }
  return MX_OK;
}

static bool lives_on_device(const struct mx_var *v) { return v->space == MX_GLOBAL || v->space == MX_CONST; }

/* All variables get their addresses before the first is filled, since they may hold each other's. d->mem is held for
 * writing. MX_BUSY: only freed memory is left, which may be reused between mx__alone and mx__alone_done (`alone`). */
static mx_status place_variables(mx_module *m, bool alone) {
  struct mx_device *d = m->device;
  const struct mx_image *i = &m->image->image;
  const uint64_t most = atomic_load(&d->limits[MX_LIMIT_CONSTANT]);
  uint64_t left = most;
  for (uint32_t k = 0; k < i->nvars; k++) {
    const struct mx_var *v = &i->vars[k];
    if (v->space != MX_CONST) continue;
    if (v->size > left)
      return mx__fail(
          d, MX_OUT_OF_DEVICE_MEMORY,
          "variable '%s' of %llu bytes: the module's .const variables may take %llu bytes, of which %llu are left",
          v->name, (unsigned long long)v->size, (unsigned long long)most, (unsigned long long)left);
    left -= v->size;
  }
  m->var_address = calloc(i->nvars + 1u, sizeof *m->var_address);
  if (!m->var_address) return mx__fail_plain(d, MX_OUT_OF_MEMORY);
  for (uint32_t k = 0; k < i->nvars; k++) {
    const struct mx_var *v = &i->vars[k];
    if (!lives_on_device(v)) continue;
    if (v->flags & MX_VAR_EXTERN)
      return mx__fail(d, MX_INVALID_MODULE, "variable '%s' is .extern: no other module can define it here", v->name);
    struct mx_region *r = v->space == MX_CONST ? &d->memory.constant : &d->memory.global;
    uint64_t generic;
    mx__lock(&d->lock);
    mx_status s = mx__memory_alloc(&d->memory, r, v->size, v->align,
                                   MX_ALLOC_VARIABLE | (v->flags & MX_VAR_MANAGED ? MX_ALLOC_MANAGED : 0u), v->name,
                                   alone, &generic);
    mx__unlock(&d->lock);
    if (s == MX_BUSY) return s;
    if (s != MX_OK)
      return mx__fail(d, s, "variable '%s' of %llu bytes: %s", v->name, (unsigned long long)v->size, mx_status_text(s));
    m->var_address[k] = in_own_space(v, generic);
  }
  for (uint32_t k = 0; k < i->nvars; k++) {
    if (!lives_on_device(&i->vars[k])) continue;
    mx_status s = initialise(m, k);
    if (s != MX_OK) return s;
  }
  return MX_OK;
}

/* Called between mx__alone and mx__alone_done. If the device has been reset meanwhile, its memory is gone already. */
static void remove_variables(mx_module *m) {
  struct mx_device *d = m->device;
  const struct mx_image *i = &m->image->image;
  mx__lock(&d->lock);
  for (uint32_t k = 0; m->var_address && m->placed == d->resets && k < i->nvars; k++) {
    if (!m->var_address[k]) continue;
    const uint64_t address = m->var_address[k] + mx_space_window(i->vars[k].space);
    mx__memory_free(&d->memory, address);
    mx__objects_lose(&d->objects, NULL, address, i->vars[k].size,
                     "its memory was a variable of a module, which has been unloaded");
  }
  mx__unlock(&d->lock);
  free(m->var_address);
  m->var_address = NULL;
}

/* Gives the variables of a module their addresses and adds it to the device's modules. It waits for launches of other
 * devices only if no fresh addresses are left. */
static mx_status place(mx_module *m) {
  struct mx_device *d = m->device;
  mx_status s = MX_BUSY;
  for (int alone = 0; s == MX_BUSY && alone < 2; alone++) {
    if (alone) {
      mx__alone(d);
      remove_variables(m); /* those that got an address in the first round */
    } else mx__lock_write(&d->mem);
    m->placed = d->resets;
    s = place_variables(m, alone);
    mx__lock(&d->lock);
    if (s == MX_OK) m->next = d->modules, d->modules = m;
    mx__unlock(&d->lock);
    if (alone) mx__alone_done(d);
    else mx__rwunlock(&d->mem);
  }
  if (s == MX_OK) return s;
  mx__alone(d);
  remove_variables(m);
  mx__alone_done(d);
  return s;
}

/* ---- loading --------------------------------------------------------------------------------------------*/

static mx_status list_kernels(mx_module *m) {
  const struct mx_image *i = &m->image->image;
  size_t n = 0;
  for (uint32_t k = 0; k < i->nfuncs; k++) n += i->funcs[k].flags & MX_FUNC_KERNEL ? 1 : 0;
  m->kernels = calloc(n + 1, sizeof *m->kernels);
  if (!m->kernels) return mx__fail_plain(m->device, MX_OUT_OF_MEMORY);
  for (uint32_t k = 0; k < i->nfuncs; k++)
    if (i->funcs[k].flags & MX_FUNC_KERNEL) m->kernels[m->nkernels++] = (mx_kernel){.module = m, .func = k};
  return MX_OK;
}

static mx_status refused(struct mx_device *d, enum mx__load l, char *why) {
  mx_status s = l == MX__LOAD_OOM ? mx__fail_plain(d, MX_OUT_OF_MEMORY)
                                  : mx__fail(d, MX_INVALID_MODULE, "%s", why ? why : mx_status_text(MX_INVALID_MODULE));
  free(why);
  return s;
}

mx_status mx_module_load_data(mx_device *d, const void *bytes, size_t size, mx_module **module) {
  if (!d) return MX_INVALID_VALUE;
  if (!module || (!bytes && size)) return mx__fail(d, MX_INVALID_VALUE, "mx_module_load_data: an argument is missing");
  *module = NULL;
  mx__output_flush(d);
  mx_status s = mx__device_usable(d);
  if (s != MX_OK) return s;
  mx__modules_free_gone(d);
  mx_module *m = calloc(1, sizeof *m);
  if (!m) return mx__fail_plain(d, MX_OUT_OF_MEMORY);
  m->device = d;
  char *why = NULL;
  enum mx__load l = mx__image_read(bytes, size, &m->image, &why);
  if (l == MX__LOAD_OK) l = mx__verify(&m->image->image, &why);
  if (l != MX__LOAD_OK) {
    mx__module_free(m);
    return refused(d, l, why);
  }
  m->bytes = malloc(size ? size : 1);
  m->size = size;
  if (m->bytes) memcpy(m->bytes, bytes, size);
  s = m->bytes ? list_kernels(m) : mx__fail_plain(d, MX_OUT_OF_MEMORY);
  if (s == MX_OK) s = place(m);
  if (s == MX_OK) *module = m;
  else mx__module_free(m);
  return s;
}

mx_status mx_module_load_file(mx_device *d, const char *path, mx_module **module) {
  if (!d) return MX_INVALID_VALUE;
  if (!module || !path) return mx__fail(d, MX_INVALID_VALUE, "mx_module_load_file: an argument is missing");
  *module = NULL;
  FILE *f = fopen(path, "rb");
  if (!f) return mx__fail(d, MX_FILE_ERROR, "%s: %s", path, strerror(errno));
  /* read until the end rather than asked for a size: pipes have none */
  uint8_t *bytes = NULL;
  size_t size = 0, room = 0;
  mx_status s = MX_OK;
  do {
    if (size == room) {
      room = room ? room * 2 : 1 << 16;
      uint8_t *more = room > MAX_FILE ? NULL : realloc(bytes, room);
      if (!more) {
        s = room > MAX_FILE ? mx__fail(d, MX_FILE_ERROR, "%s: too large", path) : mx__fail_plain(d, MX_OUT_OF_MEMORY);
        break;
      }
      bytes = more;
    }
    size += fread(bytes + size, 1, room - size, f);
  } while (!feof(f) && !ferror(f));
  if (s == MX_OK && ferror(f)) s = mx__fail(d, MX_FILE_ERROR, "%s: %s", path, strerror(errno));
  fclose(f);
  if (s == MX_OK) s = mx_module_load_data(d, bytes, size, module);
  free(bytes);
  return s;
}

mx_status mx_module_unload(mx_module *m) {
  if (!m) return MX_INVALID_VALUE;
  struct mx_device *d = m->device;
  mx__output_flush(d);
  mx__lock(&d->lock);
  bool used = m->users != 0; /* then the call fails at once: mx__alone would wait for a launch that runs */
  mx__unlock(&d->lock);
  if (!used) {
    mx__alone(d);
    mx__lock(&d->lock);
    used = m->users != 0;
    for (mx_module **at = &d->modules; !used && *at; at = &(*at)->next)
      if (*at == m) {
        *at = m->next;
        break;
      }
    mx__unlock(&d->lock);
    if (!used) remove_variables(m);
    mx__alone_done(d);
  }
  if (used) return mx__fail(d, MX_BUSY, "mx_module_unload: launches of the module are queued or running");
  mx__module_free(m);
  return MX_OK;
}

/* ---- questions ------------------------------------------------------------------------------------------*/

mx_status mx_module_symbol(mx_module *m, const char *name, mx_addr *address, uint64_t *bytes) {
  if (!m) return MX_INVALID_VALUE;
  if (!name) return mx__fail(m->device, MX_INVALID_VALUE, "mx_module_symbol: no name");
  const struct mx_image *i = &m->image->image;
  for (uint32_t k = 0; k < i->nvars; k++) {
    const struct mx_var *v = &i->vars[k];
    if (!lives_on_device(v) || strcmp(v->name, name)) continue;
    if (address) *address = m->var_address[k] + mx_space_window(v->space);
    if (bytes) *bytes = v->size;
    return MX_OK;
  }
  return mx__fail(m->device, MX_NOT_FOUND, "the module has no .global or .const variable '%s'", name);
}

mx_status mx_module_kernel(mx_module *m, const char *name, mx_kernel **kernel) {
  if (!m) return MX_INVALID_VALUE;
  if (!name || !kernel) return mx__fail(m->device, MX_INVALID_VALUE, "mx_module_kernel: an argument is missing");
  *kernel = NULL;
  const struct mx_image *i = &m->image->image;
  for (size_t k = 0; k < m->nkernels && !*kernel; k++)
    if (!strcmp(i->funcs[m->kernels[k].func].name, name)) *kernel = &m->kernels[k];
  if (*kernel) return MX_OK;
  if (!m->nkernels) return mx__fail(m->device, MX_NOT_FOUND, "the module has no kernel");
  return mx__fail(m->device, MX_NOT_FOUND, "the module has no kernel '%s'; its first is '%s', of %zu", name,
                  i->funcs[m->kernels[0].func].name, m->nkernels);
}

size_t mx_module_kernel_count(const mx_module *m) { return m ? m->nkernels : 0; }

mx_kernel *mx_module_kernel_at(mx_module *m, size_t number) {
  return m && number < m->nkernels ? &m->kernels[number] : NULL;
}

static struct mx_prepared *prepared(const mx_kernel *k, struct mx_prepared **at) {
  mx_module *m = k->module;
  mx__lock(&m->device->lock);
  if (!*at) *at = mx__prepare(&m->image->image, k->func, m->var_address, mx__level(NULL));
  struct mx_prepared *p = *at;
  mx__unlock(&m->device->lock);
  return p;
}
mx_status mx__kernel_prepare(mx_kernel *k) {
  return prepared(k, &k->prep) ? MX_OK : mx__fail_plain(k->module->device, MX_OUT_OF_MEMORY);
}
struct mx_prepared *mx__kernel_variant(mx_kernel *k, unsigned n) {
  return n ? prepared(k, &k->variant[n]) : k->prep;
}

uint32_t mx__kernel_max_threads(const struct mx_func *f) {
  uint64_t most = MX_MAX_BLOCK_THREADS;
  const uint32_t *const bound[2] = {f->maxntid, f->reqntid};
  for (int b = 0; b < 2; b++) {
    uint64_t n = 1;
    for (int k = 0; k < 3; k++) n *= bound[b][k] ? bound[b][k] : 1;
    if (bound[b][0] && n < most) most = n;
  }
  return (uint32_t)most;
}

mx_status mx_kernel_get_info(const mx_kernel *kernel, mx_kernel_info *out) {
  mx_kernel *k = (mx_kernel *)(uintptr_t)kernel; /* preparing is not seen from outside */
  if (!k) return MX_INVALID_VALUE;
  mx_status s = mx__kernel_prepare(k);
  if (s != MX_OK) return s;
  const struct mx_image *i = &k->module->image->image;
  const struct mx_func *f = &i->funcs[k->func];
  mx_kernel_info o = {
      .name = f->name,
      .lanes = i->lanes,
      .params = f->nparams,
      .param_bytes = f->param_bytes,
      .static_shared_bytes = k->prep->shared_static,
      .local_bytes = f->local_bytes,
      .slots32 = f->n32,
      .slots64 = f->n64,
      .predicates = f->npred,
      .spills = (uint32_t)f->nspill32 + f->nspill64 + f->nspillpred,
      .code_words = f->ncode,
      .reqntid = {f->reqntid[0], f->reqntid[1], f->reqntid[2]},
      .maxntid = {f->maxntid[0], f->maxntid[1], f->maxntid[2]},
      .max_threads_per_block = mx__kernel_max_threads(f),
      .cooperative = (f->flags & MX_FUNC_COOPERATIVE) != 0,
      .cluster = {f->reqncta[0], f->reqncta[1], f->reqncta[2]},
  };
  return mx__fail_plain(k->module->device, mx__struct_out(out, &o, sizeof o));
}

mx_status mx_kernel_get_param(const mx_kernel *k, size_t number, mx_param_info *out) {
  if (!k) return MX_INVALID_VALUE;
  const struct mx_func *f = &k->module->image->image.funcs[k->func];
  if (number >= f->nparams)
    return mx__fail(k->module->device, MX_INVALID_VALUE, "kernel '%s' has %u parameters; there is no number %zu",
                    f->name, f->nparams, number);
  const struct mx_param *p = &f->params[number];
  mx_param_info o = {
      .name = p->name,
      .type = mx__types[p->type].name,
      .offset = p->offset,
      .size = p->size,
      .align = p->align,
      .is_pointer = p->is_pointer,
  };
  return mx__fail_plain(k->module->device, mx__struct_out(out, &o, sizeof o));
}
