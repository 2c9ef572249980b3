/* Running mx-jitc: finding it, giving it its input through a memory file and a folder of its own for all that it writes,
 * waiting no longer than sensible. */
#include "jit.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
#define MOST_SECONDS 60.0 /* of one compile; $MX_JIT_TIMEOUT says otherwise */

static char *text(const char *fmt, const char *a, const char *b) {
  char *s;
  return asprintf(&s, fmt, a, b) < 0 ? NULL : s;
}
static char *usable(char *path) {
  if (path && !access(path, X_OK)) return path;
  free(path);
  return NULL;
}
static char *beside(const char *file) { /* in the folder of a file, or where `make install` puts it */
  const char *slash = file ? strrchr(file, '/') : NULL;
  if (!slash) return NULL;
  char *dir = strndup(file, (size_t)(slash - file));
  if (!dir) return NULL;
  char *p = usable(text("%s%s", dir, "/mx-jitc"));
  if (!p) p = usable(text("%s%s", dir, "/mx/mx-jitc"));
  if (!p) p = usable(text("%s%s", dir, "/../lib/mx/mx-jitc"));
  if (!p) p = usable(text("%s%s", dir, "/../mx-jitc")); /* programs of a build folder's sub-folders */
  if (!p) p = usable(text("%s%s", dir, "/../../mx-jitc"));
  free(dir);
  return p;
}
char *mx__jit_find_compiler(const char *named) {
  if (named) return usable(strdup(named));
  const char *env = getenv("MX_JITC");
  if (env && *env) return usable(strdup(env));
  Dl_info me;
  char *p = dladdr((void *)mx__jit_find_compiler, &me) ? beside(me.dli_fname) : NULL;
  if (p) return p;
  char exe[4096];
  const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n > 0) {
    exe[n] = 0;
    if ((p = beside(exe))) return p;
  }
  const char *path = getenv("PATH");
  for (char *all = path ? strdup(path) : NULL, *save, *dir = all ? strtok_r(all, ":", &save) : NULL; all; dir = strtok_r(NULL, ":", &save)) {
    if (!dir || (p = usable(text("%s%s", dir, "/mx-jitc")))) {
      free(all);
      break;
    }
  }
  return p;
}

static int memory_file(const char *name, const void *bytes, size_t size) {
  const int fd = memfd_create(name, 0);
  for (size_t done = 0; fd >= 0 && done < size;) {
    const ssize_t n = write(fd, (const char *)bytes + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return close(fd), -1;
    done += (size_t)n;
  }
  return fd;
}
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double most_seconds(void) {
  const char *said = getenv("MX_JIT_TIMEOUT");
  const double s = said ? strtod(said, NULL) : 0;
  return s > 0 ? s : MOST_SECONDS;
}

/* Waits for the child; its whole process group goes when it takes too long or is not wanted any more. */
static bool await(pid_t pid, const atomic_int *stop, const char **why) {
  const double begin = now(), most = most_seconds();
  for (int status;;) {
    const pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) {
      if (WIFEXITED(status) && !WEXITSTATUS(status)) return true;
      *why = WIFSIGNALED(status) ? "was killed" : "failed";
      return false;
    }
    if (got < 0 && errno == ECHILD) return true; /* someone else reaped it: what it wrote is checked anyway */
    const bool over = now() - begin > most;
    if (over || (stop && atomic_load(stop))) {
      kill(-pid, SIGKILL);
      kill(pid, SIGKILL);
      while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
      *why = over ? "took too long" : "was stopped";
      return false;
    }
    nanosleep(&(struct timespec){.tv_nsec = now() - begin < 0.2 ? 500000 : 5000000}, NULL);
  }
}

/* The environment, with another folder for temporary files: what a killed compiler leaves goes with it. */
static char **environment(char *tmpdir) {
  size_t n = 0, kept = 0;
  while (environ[n]) n++;
  char **e = malloc((n + 2) * sizeof *e);
  for (size_t k = 0; e && k < n; k++)
    if (strncmp(environ[k], "TMPDIR=", 7)) e[kept++] = environ[k];
  if (e) e[kept++] = tmpdir, e[kept] = NULL;
  return e;
}
static int discard(const char *path, const struct stat *s, int kind, struct FTW *f) {
  (void)s, (void)kind, (void)f;
  remove(path);
  return 0;
}

/* Starts the compiler and waits. All that it is to write goes into the folder. */
static bool run(const struct mx_jit_job *job, int in, int err, char *object, char *tmpdir, const atomic_int *stop, const char **how) {
  char number[16];
  snprintf(number, sizeof number, "%u", job->kernel);
  char *argv[] = {(char *)job->compiler, (char *)"-o", object, (char *)"--level", (char *)job->level, (char *)"/dev/fd/3", number,
                  (char *)(job->stops ? "--stops" : NULL), (char *)job->stops, NULL};
  char **env = environment(tmpdir);
  if (!env) return false;
  posix_spawn_file_actions_t act;
  posix_spawnattr_t attr;
  posix_spawn_file_actions_init(&act);
  posix_spawnattr_init(&attr);
  posix_spawn_file_actions_addopen(&act, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&act, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&act, err, 2);
  posix_spawn_file_actions_adddup2(&act, in, 3);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setpgroup(&attr, 0);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const bool good = !posix_spawn(&pid, job->compiler, &act, &attr, argv, env) && await(pid, stop, how);
  posix_spawn_file_actions_destroy(&act);
  posix_spawnattr_destroy(&attr);
  free(env);
  return good;
}

int mx__jit_compile(const struct mx_jit_job *job, const atomic_int *stop, char **why) {
  *why = NULL;
  const char *tmp = getenv("TMPDIR"), *how = "cannot be started";
  char *tmpdir = text("TMPDIR=%s%s", tmp && *tmp ? tmp : "/tmp", "/mx-XXXXXX"), *folder = tmpdir ? tmpdir + 7 : NULL;
  if (!folder) return -1;
  if (!mkdtemp(folder)) {
    if (asprintf(why, "no folder for the compiler can be made in %s: %s", tmp && *tmp ? tmp : "/tmp", strerror(errno)) < 0) *why = NULL;
    free(tmpdir);
    return -1;
  }
  char *object = text("%s%s", folder, "/code.so");
  const int in = memory_file("module", job->module, job->module_size), err = memfd_create("errors", 0);
  const bool good = object && in >= 0 && err >= 0 && run(job, in, err, object, tmpdir, stop, &how);
  const int fd = good ? open(object, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (good && fd < 0) how = "wrote nothing";
  if (fd < 0) {
    char said[512] = "";
    const ssize_t n = err >= 0 ? pread(err, said, sizeof said - 1, 0) : 0;
    said[n > 0 ? n : 0] = 0;
    said[strcspn(said, "\n")] = 0;
    if (asprintf(why, "%s %s%s%s", job->compiler, how, *said ? ": " : "", said) < 0) *why = NULL;
  }
  if (in >= 0) close(in);
  if (err >= 0) close(err);
  nftw(folder, discard, 8, FTW_DEPTH | FTW_PHYS);
  free(object);
  free(tmpdir);
  return fd;
}
