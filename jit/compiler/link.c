/* From assembly to a shared object. The assembler and the linker are started directly: gcc's driver and collect2 would
 * add half of their time again. The files that pass between them are in memory. */
#include "link.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

bool jl_file(struct jl_file *f, const char *name) {
  const int fd = memfd_create(name, 0); /* without close-on-exec, since the tools open it by its path */
  if (fd < 0) return perror("mx-jitc: a file in memory"), false;
  snprintf(f->path, sizeof f->path, "/dev/fd/%d", fd);
  return true;
}

static bool run(const char *const *argv) {
  pid_t pid;
  int status;
  const int error = posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ);
  if (error) return fprintf(stderr, "mx-jitc: %s: %s\n", argv[0], strerror(error)), false;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return false;
  if (WIFEXITED(status) && !WEXITSTATUS(status)) return true;
  return fprintf(stderr, "mx-jitc: %s failed\n", argv[0]), false;
}

bool jl_link(const struct jl_file *assembly, const char *out) {
  struct jl_file object;
  if (!jl_file(&object, "object")) return false;
  return run((const char *const[]){"as", "--64", "-o", object.path, assembly->path, NULL}) &&
         run((const char *const[]){"ld", "-shared", "-m", "elf_x86_64", "-o", out, object.path, NULL});
}
