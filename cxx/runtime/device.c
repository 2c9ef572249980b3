/* Devices: how many, making them, which one a thread uses; what kernels print. What programs ask of one is in
 * properties.c. */
#include "rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t rt_lock = PTHREAD_MUTEX_INITIALIZER;

struct rt_settings rt_settings;
static struct rt_device devices[RT_MOST_DEVICES];
static _Thread_local int current;

/* ---- what kernels print: kept until the program synchronises, as there ------------------------------------------*/
static struct {
  char *text;
  size_t n, room;
} printed;
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

static void keep(void *user, const char *text, size_t size) {
  (void)user;
  pthread_mutex_lock(&printing);
  if (printed.n + size > printed.room) {
    size_t room = 2 * (printed.n + size);
    char *more = realloc(printed.text, room);
    if (more) printed.text = more, printed.room = room;
  }
  if (printed.n + size <= printed.room) memcpy(printed.text + printed.n, text, size), printed.n += size;
  pthread_mutex_unlock(&printing);
}

size_t rt_printed(size_t from, char **text) {
  pthread_mutex_lock(&printing);
  const size_t n = printed.n - from;
  if (text && n && (*text = malloc(n))) memcpy(*text, printed.text + from, n);
  pthread_mutex_unlock(&printing);
  return n;
}

static void message(void *user, const char *text, size_t size) {
  (void)user;
  fflush(stdout);
  fwrite(text, 1, size, stderr);
}

void rt_flush(void) {
  pthread_mutex_lock(&printing);
  if (printed.n) fwrite(printed.text, 1, printed.n, stdout);
  printed.n = 0;
  pthread_mutex_unlock(&printing);
}

__attribute__((destructor)) static void end(void) { rt_flush(); }

/* ---- making them ------------------------------------------------------------------------------------------------*/
static const char *setting(const char *name) {
  const char *v = getenv(name);
  return v && *v ? v : NULL;
}

/* Every copy asks whose memory it is, so the environment is read once. */
int rt_device_count(void) {
  static _Atomic int known = -1;
  if (known >= 0) return known;
  const char *v = setting("MX_DEVICES");
  long n = v ? strtol(v, NULL, 10) : 1;
  return known = n < 0 ? 0 : n > RT_MOST_DEVICES ? RT_MOST_DEVICES : (int)n;
}

/* Programs pass pointers between host and device inside of data structures, so device memory has to have the same
 * addresses in the host's address space. */
static bool same_addresses(mx_device *d, mx_addr *first) {
  void *host = NULL;
  if (mx_alloc_managed(d, 1, first, &host) != MX_OK) return false;
  const bool same = (uintptr_t)host == *first;
  mx_device_reset(d); /* the program's first allocation is the first */
  return same;
}

static bool make(struct rt_device *d, int number) {
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  const char *jit = setting("MX_JIT"), *threads = setting("MX_THREADS"), *timeout = setting("MX_TIMEOUT");
  if (timeout) rt_settings.timeout = strtod(timeout, NULL);
  rt_settings.stats = setting("MX_STATS");
  rt_settings.slack = setting("MX_LENIENT") ? 4096 : 0;
  if (jit) o.jit = !strcmp(jit, "on") ? MX_JIT_ON : !strcmp(jit, "off") ? MX_JIT_OFF : MX_JIT_AUTO;
  if (threads) o.threads = (uint32_t)strtoul(threads, NULL, 10);
  if (number) o.beside = devices[0].mx;
  mx_device *mx;
  mx_status s = mx_device_create(&o, &mx);
  if (s != MX_OK) {
    rt_say("device %d: %s", number, mx_status_text(s));
    return false;
  }
  if (!same_addresses(mx, &d->first)) {
    rt_say("the memory of device %d cannot lie at its own addresses in this process: something else does", number);
    mx_device_destroy(mx);
    return false;
  }
  mx_device_set_output(mx, keep, NULL);
  mx_device_set_messages(mx, message, NULL);
  d->number = number;
  d->mx = mx;
  return true;
}

struct rt_device *rt_device(int number) {
  if (number < 0 || number >= rt_device_count()) return NULL;
  struct rt_device *d = &devices[number];
  pthread_mutex_lock(&rt_lock);
  const bool fine = d->mx || ((!number || devices[0].mx || make(&devices[0], 0)) && make(d, number));
  pthread_mutex_unlock(&rt_lock);
  return fine ? d : NULL;
}

struct rt_device *rt_current(void) {
  return rt_device(current);
}

struct rt_device *rt_owner(const void *address) {
  mx_addr base;
  uint64_t bytes;
  for (int k = 0; k < rt_device_count(); k++)
    if (devices[k].mx && mx_allocation_range(devices[k].mx, (uintptr_t)address, &base, &bytes) == MX_OK)
      return &devices[k];
  return NULL;
}

bool rt_is_device_address(uint64_t address) {
  uint64_t bytes_free, bytes;
  for (int k = 0; k < rt_device_count(); k++)
    if (devices[k].mx && mx_memory_info(devices[k].mx, &bytes_free, &bytes) == MX_OK &&
        address - devices[k].first < bytes)
      return true;
  return false;
}

/* ---- which one a thread uses --------------------------------------------------------------------------------------*/
cudaError_t cudaGetDeviceCount(int *count) {
  if (!count) return rt_error(cudaErrorInvalidValue);
  *count = rt_device_count();
  return *count ? cudaSuccess : rt_error(cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= rt_device_count()) return rt_error(cudaErrorInvalidDevice);
  current = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
  if (!device) return rt_error(cudaErrorInvalidValue);
  *device = current;
  return cudaSuccess;
}
