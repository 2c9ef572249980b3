/* Bytes in files and in memory: what compiled code is on its way from the compiler to the loader.
 *
 * 1. The loader gets a file in memory that is sealed before it is checked: nobody can change it or cut it short any
 *    more, neither who wrote it nor another process. So no folder has to allow programs, either.
 * 2. No descriptor made here is 0, 1 or 2, which somebody who has closed these may write to or give to another program,
 *    nor 3 or 4, which are the compiler's input and output: where another thread has just closed its 3, the output
 *    would get that number, and the input would take its place in the compiler's process (spawn.c).
 * 3. Where the system limits the sizes of files, writing fails; it does not end the process. */
#include "jit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u /* Linux 6.3: said where the system wants to hear it */
#endif

int mx__jit_move_descriptor(int fd) {
  if (fd < 0 || fd > MX_JIT_OUTPUT) return fd;
  const int other = fcntl(fd, F_DUPFD_CLOEXEC, MX_JIT_OUTPUT + 1), why = errno;
  close(fd);
  return errno = why == EINVAL ? EMFILE : why, other; /* EINVAL: no process may have a number as high as this */
}

bool mx__jit_write(int fd, const void *bytes, size_t size) {
  sigset_t limit, before, pending;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  sigpending(&pending);
  const bool came_before = sigismember(&pending, SIGXFSZ) == 1;
  pthread_sigmask(SIG_BLOCK, &limit, &before);
  size_t done = 0;
  int why = 0;
  while (done < size && !why) {
    const ssize_t n = write(fd, (const char *)bytes + done, size - done);
    if (n > 0) done += (size_t)n;
    else if (n == 0) why = ENOSPC;
    else if (errno != EINTR) why = errno;
  }
  if (why == EFBIG && !came_before) sigtimedwait(&limit, NULL, &(struct timespec){0});
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (why) errno = why;
  return !why;
}

uint8_t *mx__jit_read(int fd, size_t *size) {
  struct stat s;
  if (fstat(fd, &s)) return NULL;
  if (!S_ISREG(s.st_mode) || s.st_size > MX_JIT_MOST_BYTES) return errno = S_ISREG(s.st_mode) ? EFBIG : EINVAL, NULL;
  const size_t all = (size_t)s.st_size;
  uint8_t *p = malloc(all + 1);
  for (size_t done = 0; p && done < all;) {
    const ssize_t n = pread(fd, p + done, all - done, (off_t)done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int why = n ? errno : EIO; /* it has become shorter */
      free(p);
      return errno = why, NULL;
    }
    done += (size_t)n;
  }
  *size = all;
  return p;
}

int mx__jit_memory(const char *name, const void *bytes, size_t size) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int fd = memfd_create(name, flags | MFD_EXEC);
  if (fd < 0 && errno == EINVAL) fd = memfd_create(name, flags);
  fd = mx__jit_move_descriptor(fd);
  if (fd < 0 || mx__jit_write(fd, bytes, size)) return fd;
  const int why = errno;
  close(fd);
  return errno = why, -1;
}
bool mx__jit_seal(int fd) { return !fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE); }
