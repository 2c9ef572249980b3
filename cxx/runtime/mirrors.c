/* Memory of the host that kernels use, too: __managed__ variables of programs that mxcc has built, and memory given to
 * cudaHostRegister. Each piece exists twice, in the host's memory and on the device, and only one of the two is current
 * at a time, as on machines without shared page tables: the host's bytes are copied to the device when a kernel is
 * launched, and back when the program synchronises. A host address among a kernel's parameters is replaced by the
 * device's address of the same piece. */
#include "rt.h"

#include <stdlib.h>
#include <string.h>

struct mirror {
  struct mirror *next;
  char *host;
  size_t size;
  bool variable; /* otherwise registered */
  mx_addr twin;  /* of registered memory: managed memory of mx, which all devices see; 0: not yet needed */
  struct rt_device *owner;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mirror *mirrors;
static _Atomic bool any;
static struct rt_device *holder; /* the device whose copies are current; NULL: the host's are */

static struct { /* where the linker has put a program's managed variables; each library has its own */
  const char *from, *to;
} ranges[64];
static unsigned range_count;

/* Called by code that mxcc puts into each object, before the object registers anything. */
void __mx_managed_variables(const char *from, const char *to) {
  for (unsigned k = 0; k < range_count; k++)
    if (ranges[k].from == from) return;
  if (from != to && range_count < sizeof ranges / sizeof *ranges) {
    ranges[range_count].from = from;
    ranges[range_count++].to = to;
  }
}

bool rt_is_managed_variable(const void *host) {
  for (unsigned k = 0; k < range_count; k++)
    if ((const char *)host >= ranges[k].from && (const char *)host < ranges[k].to) return true;
  return false;
}

cudaError_t rt_mirror_add(void *host, size_t size, bool variable) {
  struct mirror *m = malloc(sizeof *m);
  if (!m) return rt_error(cudaErrorMemoryAllocation);
  pthread_mutex_lock(&lock);
  *m = (struct mirror){.next = mirrors, .host = host, .size = size, .variable = variable};
  mirrors = m;
  atomic_store(&any, true);
  pthread_mutex_unlock(&lock);
  return cudaSuccess;
}

static struct mirror *find(const void *p) {
  struct mirror *m = mirrors;
  while (m && (size_t)((const char *)p - m->host) >= m->size) m = m->next;
  return m;
}

bool rt_is_mirrored(const void *p) {
  if (!atomic_load(&any)) return false;
  pthread_mutex_lock(&lock);
  const bool found = find(p);
  pthread_mutex_unlock(&lock);
  return found;
}

/* The piece's address on the device; 0: it has none yet, or its module cannot be loaded. */
static mx_addr place(struct mirror *m, struct rt_device *d) {
  mx_addr a = 0;
  uint64_t bytes;
  if (!m->variable) return m->twin;
  return rt_symbol(d, m->host, &a, &bytes) == cudaSuccess ? a : 0;
}

static void bring_home(void) {
  if (!holder) return;
  struct rt_device *d = holder;
  holder = NULL;
  if (mx_device_synchronize(d->mx) != MX_OK) return; /* the call that synchronises reports the failure */
  for (struct mirror *m = mirrors; m; m = m->next) {
    const mx_addr a = place(m, d);
    if (a) mx_copy_from_device(d->mx, m->host, a, m->size);
  }
}

void rt_mirrors_home(void) {
  if (!atomic_load(&any)) return;
  pthread_mutex_lock(&lock);
  bring_home();
  pthread_mutex_unlock(&lock);
}

/* The host's copies of variables get their initial values, which only the module contains. */
void rt_mirrors_begin(struct rt_device *d) {
  if (!atomic_load(&any)) return;
  pthread_mutex_lock(&lock);
  if (!holder) holder = d;
  bring_home();
  pthread_mutex_unlock(&lock);
}

cudaError_t rt_mirror_remove(void *host) {
  pthread_mutex_lock(&lock);
  bring_home();
  struct mirror **at = &mirrors;
  while (*at && (*at)->host != host) at = &(*at)->next;
  struct mirror *m = *at;
  if (m) {
    *at = m->next;
    if (m->twin) mx_free(m->owner->mx, m->twin);
    free(m);
  }
  pthread_mutex_unlock(&lock);
  return m ? cudaSuccess : rt_error(cudaErrorHostMemoryNotRegistered);
}

/* Devices' memory is gone: a reset. */
void rt_mirrors_forget(struct rt_device *d) {
  pthread_mutex_lock(&lock);
  for (struct mirror *m = mirrors; m; m = m->next)
    if (m->owner == d) m->twin = 0;
  pthread_mutex_unlock(&lock);
}

static mx_addr twin_of(struct mirror *m, struct rt_device *d) {
  void *same;
  if (m->variable || m->twin) return place(m, d);
  if (mx_alloc_managed(d->mx, m->size, &m->twin, &same) != MX_OK) return m->twin = 0;
  m->owner = d;
  mx_copy_to_device(d->mx, m->twin, m->host, m->size);
  return m->twin;
}

/* The device's address for the host's address p; 0: the device has no copy of that. */
mx_addr rt_mirrored(struct rt_device *d, const void *p) {
  mx_addr a = 0;
  if (!atomic_load(&any)) return 0;
  pthread_mutex_lock(&lock);
  struct mirror *m = find(p);
  if (m && (a = twin_of(m, d))) a += (mx_addr)((const char *)p - m->host);
  pthread_mutex_unlock(&lock);
  return a;
}

static void send(struct rt_device *d) {
  if (holder == d) return;
  bring_home();
  for (struct mirror *m = mirrors; m; m = m->next) {
    const mx_addr a = place(m, d);
    if (a) mx_copy_to_device(d->mx, a, m->host, m->size);
  }
  holder = d;
}

/* Before a launch: copies the pieces to the device. Returns arguments in which host addresses are replaced, which the
 * caller frees; NULL: the given ones will do. */
void **rt_mirrors_leave(struct rt_device *d, mx_kernel *k, uint32_t params, void *const *args) {
  if (!atomic_load(&any)) return NULL;
  pthread_mutex_lock(&lock);
  send(d);
  size_t room = params * sizeof(void *);
  mx_param_info p = {.struct_size = sizeof p};
  for (uint32_t i = 0; i < params; i++)
    if (mx_kernel_get_param(k, i, &p) == MX_OK) room += (p.size + 7) & ~(size_t)7;
  void **list = malloc(room + 1);
  char *copy = (char *)(list + params);
  for (uint32_t i = 0; list && i < params; i++) {
    mx_kernel_get_param(k, i, &p);
    memcpy(copy, args[i], p.size);
    list[i] = copy;
    for (size_t at = 0; p.align >= sizeof(void *) && at + sizeof(void *) <= p.size; at += sizeof(void *)) {
      void *value;
      memcpy(&value, copy + at, sizeof value);
      struct mirror *m = find(value);
      const mx_addr a = m ? twin_of(m, d) : 0;
      if (a) {
        value = (void *)(uintptr_t)(a + (mx_addr)((char *)value - m->host));
        memcpy(copy + at, &value, sizeof value);
      }
    }
    copy += (p.size + 7) & ~(size_t)7;
  }
  pthread_mutex_unlock(&lock);
  return list;
}
