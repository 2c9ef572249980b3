/* Preloaded into a program: of the calls that may fail, number $FAULT_AT fails, once, or with $FAULT_ON all from there
 * on. $FAULT_KINDS says which calls count: a allocations, m mappings, o opens, w writes, s spawns, d folders, f files
 * in memory, t threads. How many there were goes to the file $FAULT_COUNT. Processes that this one starts are spared,
 * unless $FAULT_CHILDREN is set. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);

static atomic_long count;
static long at;
static bool on_from_there, active;
static char kinds[16];

__attribute__((constructor)) static void begin(void) {
  const char *number = getenv("FAULT_AT"), *which = getenv("FAULT_KINDS");
  at = number ? atol(number) : 0;
  on_from_there = getenv("FAULT_ON") != NULL;
  snprintf(kinds, sizeof kinds, "%s", which ? which : "a");
  if (!getenv("FAULT_CHILDREN")) unsetenv("LD_PRELOAD");
  active = true;
}
__attribute__((destructor)) static void end(void) {
  const char *file = getenv("FAULT_COUNT");
  active = false;
  const int fd = file ? open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
  if (fd < 0) return;
  dprintf(fd, "%ld\n", count);
  close(fd);
}
static bool fails(char kind, int why) {
  if (!active || !strchr(kinds, kind)) return false;
  const long n = ++count;
  if (!at || (n != at && !(on_from_there && n > at))) return false;
  errno = why;
  return true;
}

void *malloc(size_t n) { return fails('a', ENOMEM) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails('a', ENOMEM) ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return fails('a', ENOMEM) ? NULL : __libc_realloc(p, n); }
void *aligned_alloc(size_t to, size_t n) { return fails('a', ENOMEM) ? NULL : __libc_memalign(to, n); }
int posix_memalign(void **p, size_t to, size_t n) {
  if (fails('a', ENOMEM)) return ENOMEM;
  *p = __libc_memalign(to, n);
  return *p ? 0 : ENOMEM;
}

#define REAL(name_) \
  static __typeof__(name_) *real; \
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name_)
void *mmap(void *p, size_t n, int prot, int flags, int fd, off_t from) {
  REAL(mmap);
  return fails('m', ENOMEM) ? MAP_FAILED : real(p, n, prot, flags, fd, from);
}
int mprotect(void *p, size_t n, int prot) {
  REAL(mprotect);
  return fails('m', ENOMEM) ? -1 : real(p, n, prot);
}
int open(const char *path, int flags, ...) {
  REAL(open);
  va_list more;
  va_start(more, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
  va_end(more);
  return fails('o', EMFILE) ? -1 : real(path, flags, mode);
}
FILE *fopen(const char *path, const char *mode) {
  REAL(fopen);
  return fails('o', EMFILE) ? NULL : real(path, mode);
}
ssize_t write(int fd, const void *bytes, size_t n) {
  REAL(write);
  return fails('w', ENOSPC) ? -1 : real(fd, bytes, n);
}
int posix_spawn(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const argv[], char *const env[]) {
  REAL(posix_spawn);
  return fails('s', EAGAIN) ? EAGAIN : real(pid, file, actions, attributes, argv, env);
}
char *mkdtemp(char *pattern) {
  REAL(mkdtemp);
  return fails('d', ENOSPC) ? NULL : real(pattern);
}
int memfd_create(const char *name, unsigned flags) {
  REAL(memfd_create);
  return fails('f', EMFILE) ? -1 : real(name, flags);
}
int pthread_create(pthread_t *t, const pthread_attr_t *attributes, void *(*run)(void *), void *arg) {
  REAL(pthread_create);
  return fails('t', EAGAIN) ? EAGAIN : real(t, attributes, run, arg);
}
