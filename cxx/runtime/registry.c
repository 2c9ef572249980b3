/* What the program's own initialisation registers: images, kernels and variables; modules are loaded when first used.
 */
#include "fatbin.h"
#include "rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096 };

static struct rt_image *images;
static struct rt_function *functions[BUCKETS];
static struct rt_variable *variables[BUCKETS];

static unsigned bucket(const void *p) { return (unsigned)(((uintptr_t)p * 0x9E3779B97F4A7C15u) >> 52) % BUCKETS; }

static void *need(void *p) {
  if (p) return p;
  rt_say("the host is out of memory");
  abort();
}

/* ---- registering ------------------------------------------------------------------------------------------------*/
void **__cudaRegisterFatBinary(void *wrapper) {
  const struct fatbin_wrapper *w = wrapper;
  struct rt_image *image = need(calloc(1, sizeof *image));
  image->data = w->magic == FATBIN_WRAPPER ? w->data : NULL;
  image->parts = image->data && w->version == 2 ? w->more : NULL;
  pthread_mutex_lock(&rt_lock);
  for (const struct rt_image *i = images; i; i = i->next) image->number += rt_image_is_part(i->data);
  image->next = images;
  images = image;
  pthread_mutex_unlock(&rt_lock);
  return (void **)image;
}

/* Programs unregister images when they end, where kernels may still print. The image's own memory may be unmapped
 * afterwards; its record stays. */
void __cudaUnregisterFatBinary(void **handle) {
  rt_flush();
  ((struct rt_image *)handle)->gone = true;
}

void __cudaRegisterFunction(void **handle, const char *host, char *deviceFunction, const char *name, int threadLimit,
                            void *tid, void *bid, void *blockDimension, void *gridDimension, int *warp) {
  (void)deviceFunction, (void)threadLimit, (void)tid, (void)bid, (void)blockDimension, (void)gridDimension, (void)warp;
  struct rt_function *f = need(calloc(1, sizeof *f));
  *f = (struct rt_function){.host = host, .image = (struct rt_image *)handle, .name = need(strdup(name))};
  pthread_mutex_lock(&rt_lock);
  f->next = functions[bucket(host)];
  functions[bucket(host)] = f;
  pthread_mutex_unlock(&rt_lock);
}

void rt_add_variable(void **handle, const void *host, void **managed, const char *name, size_t size) {
  struct rt_variable *v = need(calloc(1, sizeof *v));
  *v = (struct rt_variable){
      .host = host, .managed = managed, .image = (struct rt_image *)handle, .name = need(strdup(name)), .size = size};
  pthread_mutex_lock(&rt_lock);
  v->next = variables[bucket(host)];
  variables[bucket(host)] = v;
  pthread_mutex_unlock(&rt_lock);
}

/* ---- loading ----------------------------------------------------------------------------------------------------*/
/* Prints only the first lines of a long list of diagnostics. */
static void complain(const char *why) {
  const char *end = why;
  if (strstr(why, "'cnpLaunchDevice") || strstr(why, "'cudaLaunchDevice")) {
    rt_say("kernels of the program launch kernels, which mx does not do: the program has to launch them itself");
    return;
  }
  for (unsigned n = 0; *end && n < 12; n++) end += strcspn(end, "\n"), end += *end == '\n';
  rt_say("the program's device code cannot be loaded: %.*s%s", (int)(end - why), why, *end ? "..." : "");
}

static mx_status load_text(struct rt_device *d, const char *text, size_t size, mx_module **module, char **why) {
  mx_asm_options o = MX_ASM_OPTIONS_INIT;
  o.file_name = "<program>";
  o.source_lines = true;
  const mx_status s = mx_module_load_text(d->mx, text, size, &o, module, why);
  if (s == MX_OK) rt_watch_program(*module, text, size, false);
  return s;
}

mx_status rt_load_module(struct rt_device *d, const char *bytes, size_t size, mx_module **module) {
  const mx_status s = mx_module_load_data(d->mx, bytes, size, module);
  if (s == MX_OK) rt_watch_program(*module, bytes, size, true);
  return s;
}

cudaError_t rt_load(struct rt_device *d, const void *data, mx_module **module, char **why) {
  size_t size = 0;
  bool owned = false, is_module = false;
  const char *reason = NULL, *code = data ? rt_code(data, &size, &owned, &is_module, &reason) : NULL;
  *why = NULL;
  if (!code) {
    *why = strdup(reason ? reason : "it is no fat binary");
    return rt_error(cudaErrorNoKernelImageForDevice);
  }
  char *messages = NULL;
  mx_status s = is_module ? rt_load_module(d, code, size, module) : load_text(d, code, size, module, &messages);
  if (s != MX_OK) {
    char *text = mx_last_error_text(d->mx);
    *why = strdup(messages ? messages : text ? text : mx_status_text(s));
    mx_text_free(text);
  }
  mx_text_free(messages);
  if (owned) free((void *)(uintptr_t)code);
  return s == MX_OK        ? cudaSuccess
         : s == MX_TRAPPED ? rt_status(d, s)
                           : rt_error(is_module ? cudaErrorInvalidKernelImage : cudaErrorInvalidPtx);
}

/* Device code across files: all of it becomes one module. */
static cudaError_t load_joined(struct rt_device *d, const struct rt_image *image, mx_module **module, char **why) {
  enum { MOST = 4096 };
  const char **text = calloc(MOST, sizeof *text), *reason = NULL;
  size_t *size = calloc(MOST, sizeof *size), n = 0;
  bool *owned = calloc(MOST, sizeof *owned), is_module;
  mx_status s = MX_OUT_OF_MEMORY;
  if (text && size && owned) {
    if (image->parts) {
      for (const void *const *p = image->parts; *p && n < MOST; p++)
        if ((text[n] = rt_code(*p, &size[n], &owned[n], &is_module, &reason)) && !is_module) n++;
    } else /* the last one registered is the first of the list, and has the greatest number */
      for (const struct rt_image *i = images; i; i = i->next)
        if (rt_image_is_part(i->data) && i->number < MOST) {
          text[i->number] = rt_code(i->data, &size[i->number], &owned[i->number], &is_module, &reason);
          if (i->number >= n) n = i->number + 1;
        }
    char *all = n ? rt_join(text, size, n) : NULL;
    if (all) s = load_text(d, all, strlen(all), module, why);
    else if (!n) *why = strdup(reason ? reason : "it has no PTX"), s = MX_INVALID_MODULE;
    free(all);
  }
  for (size_t k = 0; owned && k < n; k++)
    if (owned[k]) free((void *)(uintptr_t)text[k]);
  free(text), free(size), free(owned);
  return s == MX_OK ? cudaSuccess : s == MX_INVALID_MODULE ? rt_error(cudaErrorInvalidPtx) : rt_status(d, s);
}

/* The image's module on the device. It is loaded without rt_lock, under a lock of its own: loading takes long, and
 * makes the library hand over what kernels have printed. */
mx_module *rt_image_module(struct rt_device *d, struct rt_image *image, cudaError_t *e) {
  static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&loading);
  *e = cudaSuccess;
  if (!image->module[d->number]) {
    char *why = NULL;
    const bool part = rt_image_is_part(image->data);
    if (part || image->parts) *e = load_joined(d, image, &image->module[d->number], &why);
    else *e = rt_load(d, image->data, &image->module[d->number], &why);
    for (struct rt_image *i = images; part && i; i = i->next)
      if (rt_image_is_part(i->data)) i->module[d->number] = image->module[d->number];
    if (*e != cudaSuccess && !image->gone && why) complain(why);
    if (*e != cudaSuccess && *e != cudaErrorIllegalAddress) image->gone = true; /* says it once */
    free(why);
  }
  mx_module *m = image->module[d->number];
  pthread_mutex_unlock(&loading);
  return m;
}

/* A name of the part's own, or one of the whole program. */
static const char *own_name(const struct rt_image *image, const char *name, char *text, size_t size) {
  if (!rt_image_is_part(image->data) || !image->number) return NULL;
  const int n = snprintf(text, size, "%s", name);
  if (n < 0 || (size_t)n + 32 > size) return NULL;
  snprintf(text + n, size - (size_t)n, RT_OF_PART, image->number);
  return text;
}

void rt_forget_modules(int device) {
  pthread_mutex_lock(&rt_lock);
  for (struct rt_image *i = images; i; i = i->next) i->module[device] = NULL;
  for (unsigned b = 0; b < BUCKETS; b++)
    for (struct rt_function *f = functions[b]; f; f = f->next) f->kernel[device] = NULL;
  pthread_mutex_unlock(&rt_lock);
}

void rt_forget_function(const void *host) {
  pthread_mutex_lock(&rt_lock);
  for (struct rt_function **at = &functions[bucket(host)]; *at; at = &(*at)->next)
    if ((*at)->host == host) {
      struct rt_function *f = *at;
      *at = f->next;
      free(f->name), free(f);
      break;
    }
  pthread_mutex_unlock(&rt_lock);
}
void rt_image_unload(struct rt_image *image) {
  for (int k = 0; k < RT_MOST_DEVICES; k++) {
    if (!image->module[k]) continue;
    rt_watch_forget(image->module[k]);
    mx_module_unload(image->module[k]);
    image->module[k] = NULL;
  }
  image->data = NULL;
}

int rt_lanes(void) { return images && images->data ? rt_image_lanes(images->data) : 32; }

/* ---- finding ----------------------------------------------------------------------------------------------------*/
struct rt_function *rt_find_function(const void *host) {
  pthread_mutex_lock(&rt_lock);
  struct rt_function *f = functions[bucket(host)];
  while (f && f->host != host) f = f->next;
  pthread_mutex_unlock(&rt_lock);
  return f;
}

mx_kernel *rt_kernel(struct rt_device *d, const void *host, cudaError_t *e) {
  struct rt_function *f = rt_find_function(host);
  *e = cudaSuccess;
  if (!f) {
    *e = rt_error(cudaErrorInvalidDeviceFunction);
    return NULL;
  }
  if (f->kernel[d->number]) return f->kernel[d->number];
  mx_module *m = rt_image_module(d, f->image, e);
  char text[4096];
  const char *own = own_name(f->image, f->name, text, sizeof text);
  if (m && own && mx_module_kernel(m, own, &f->kernel[d->number]) == MX_OK) return f->kernel[d->number];
  if (m && mx_module_kernel(m, f->name, &f->kernel[d->number]) != MX_OK) *e = rt_error(cudaErrorInvalidDeviceFunction);
  return f->kernel[d->number];
}

cudaError_t rt_symbol(struct rt_device *d, const void *host, mx_addr *address, uint64_t *bytes) {
  pthread_mutex_lock(&rt_lock);
  struct rt_variable *v = variables[bucket(host)];
  while (v && v->host != host) v = v->next;
  for (unsigned b = 0; !v && b < BUCKETS; b++) /* a managed one is named by what it is, not by what stands for it */
    for (v = variables[b]; v && (!v->managed || *v->managed != host);) v = v->next;
  pthread_mutex_unlock(&rt_lock);
  if (!v) return rt_error(cudaErrorInvalidSymbol);
  cudaError_t e;
  mx_module *m = rt_image_module(d, v->image, &e);
  if (!m) return e;
  char text[4096];
  const char *own = own_name(v->image, v->name, text, sizeof text);
  if (own && mx_module_symbol(m, own, address, bytes) == MX_OK) return cudaSuccess;
  if (mx_module_symbol(m, v->name, address, bytes) == MX_OK) return cudaSuccess;
  if (!v->said) rt_say("the host uses the variable '%s', which the program's device code does not have", v->name);
  v->said = true;
  return rt_error(cudaErrorInvalidSymbol);
}

/* The variable for which the host has this address; NULL: there is none. */
const char *rt_variable_at(const void *host) {
  const char *name = NULL;
  pthread_mutex_lock(&rt_lock);
  for (unsigned b = 0; b < BUCKETS && !name; b++)
    for (struct rt_variable *v = variables[b]; v && !name; v = v->next)
      if (!v->managed && (uintptr_t)host - (uintptr_t)v->host < v->size) name = v->name;
  pthread_mutex_unlock(&rt_lock);
  return name;
}

/* Managed variables have their addresses before the program touches them. */
char __cudaInitModule(void **handle) {
  struct rt_device *d = rt_current();
  if (!d) return 0;
  for (unsigned b = 0; b < BUCKETS; b++)
    for (struct rt_variable *v = variables[b]; v; v = v->next) {
      mx_addr address;
      uint64_t bytes;
      void *host;
      cudaError_t e;
      if (v->image != (struct rt_image *)handle || !v->managed) continue;
      mx_module *m = rt_image_module(d, v->image, &e);
      if (m && mx_module_symbol(m, v->name, &address, &bytes) == MX_OK &&
          mx_managed_pointer(d->mx, address, &host) == MX_OK)
        *v->managed = host;
    }
  return 1;
}

/* ---- symbols ----------------------------------------------------------------------------------------------------*/
cudaError_t cudaGetSymbolAddress(void **p, const void *symbol) {
  struct rt_device *d = rt_current();
  mx_addr address;
  uint64_t bytes;
  if (!p || !d) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = rt_symbol(d, symbol, &address, &bytes);
  if (e == cudaSuccess) *p = (void *)(uintptr_t)address;
  return e;
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol) {
  struct rt_device *d = rt_current();
  mx_addr address;
  uint64_t bytes;
  if (!size || !d) return rt_error(cudaErrorInvalidValue);
  cudaError_t e = rt_symbol(d, symbol, &address, &bytes);
  if (e == cudaSuccess) *size = bytes;
  return e;
}
