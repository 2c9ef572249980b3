/* Running mx-jitc: finding it, giving it its input and taking its result through files in memory, with a folder of its
 * own for what it leaves besides, waiting no longer than sensible. */
#include "jit.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
#define MOST_SECONDS 60.0 /* of a processor, for one compile; $MX_JIT_TIMEOUT says otherwise */
#define IDLE 10           /* times as long, whatever it has done meanwhile */
#define FOLDER "mx-"      /* and six characters */
#define ABANDONED 60      /* seconds */

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
  for (char *all = path ? strdup(path) : NULL, *save, *dir = all ? strtok_r(all, ":", &save) : NULL; all;
       dir = strtok_r(NULL, ":", &save)) {
    if (!dir || (p = usable(text("%s%s", dir, "/mx-jitc")))) {
      free(all);
      break;
    }
  }
  return p;
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
/* The processor time that the process has taken. */
static double time_of(pid_t pid) {
  clockid_t clock;
  struct timespec t;
  return clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t) ? 0 : (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Waits for the child, of which `ended` is a descriptor, or -1; its whole process group goes when it takes too long or
 * is not wanted any more. What counts is its own time: on a busy machine a sound compile may take many times as long.
 * One that does nothing ends, too. */
static bool await(pid_t pid, int ended, bool (*unwanted)(void *user), void *user, const char **why) {
  const double begin = now(), most = most_seconds();
  for (int status;;) {
    const pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) {
      if (WIFEXITED(status) && !WEXITSTATUS(status)) return true;
      *why = !WIFSIGNALED(status) ? "failed" : WTERMSIG(status) == SIGXCPU ? "took too long" : "was killed";
      return false;
    }
    if (got < 0 && errno == ECHILD) return true; /* someone else reaped it: what it wrote is checked anyway */
    const double took = now() - begin;
    const bool over = took > most && (took > most * IDLE || time_of(pid) > most);
    if (over || unwanted(user)) {
      kill(-pid, SIGKILL);
      kill(pid, SIGKILL);
      while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
      *why = over ? "took too long" : "was stopped";
      return false;
    }
    poll(&(struct pollfd){.fd = ended, .events = POLLIN}, 1, ended < 0 && took < 0.2 ? 1 : 5);
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

/* ---- what is being compiled -------------------------------------------------------------------------------------*/
static int discard(const char *path, const struct stat *s, int kind, struct FTW *f) {
  (void)s, (void)kind, (void)f;
  remove(path);
  return 0;
}
static void remove_folder(const char *path) { nftw(path, discard, 8, FTW_DEPTH | FTW_PHYS); }

/* A program may end while its kernels are being compiled in the background, also by exit(), which waits for no thread.
 * Then the compilers are killed and their folders removed, so that nothing is left behind. */
struct compile {
  struct compile *next;
  const char *folder;
  pid_t owner, compiler; /* compiler: 0 before it is started */
};
static pthread_mutex_t compiles_lock = PTHREAD_MUTEX_INITIALIZER;
static struct compile *compiles;
static _Atomic pid_t compiling; /* the process that has had something compiled */
static bool ending;

static void enlist(struct compile *c) {
  pthread_mutex_lock(&compiles_lock);
  c->next = compiles;
  compiles = c;
  compiling = c->owner;
  pthread_mutex_unlock(&compiles_lock);
}
static void delist(struct compile *c) {
  pthread_mutex_lock(&compiles_lock);
  struct compile **p = &compiles;
  while (*p != c) p = &(*p)->next;
  *p = c->next;
  pthread_mutex_unlock(&compiles_lock);
}
__attribute__((destructor)) static void end_compiles(void) {
  if (compiling != getpid()) return; /* a fork, in which the lock may be held by a thread that it does not have */
  pthread_mutex_lock(&compiles_lock);
  ending = true;
  for (const struct compile *c = compiles; c; c = c->next) {
    if (c->owner != getpid()) continue; /* a fork that compiles, too, has the entries of its parent */
    if (c->compiler && !kill(-c->compiler, SIGKILL)) waitpid(c->compiler, NULL, 0);
    remove_folder(c->folder);
  }
  pthread_mutex_unlock(&compiles_lock);
}

/* Starts the compiler and waits. It writes into `out`, and what it leaves besides into the folder. False: *how and
 * errno say why. */
static bool run(const struct mx_jit_job *job, int in, int out, int err, char *tmpdir, struct compile *entry,
                bool (*unwanted)(void *user), void *user, const char **how) {
  char number[16], seconds[32], parent[32], counts[16], lanes[16], rows[32];
  snprintf(number, sizeof number, "%u", job->kernel);
  snprintf(seconds, sizeof seconds, "%.0f", ceil(fmin(most_seconds(), 1e6)));
  snprintf(counts, sizeof counts, "%u", job->counts);
  snprintf(lanes, sizeof lanes, "%u", job->lanes);
  snprintf(rows, sizeof rows, "--tid-rows=%u", job->rows);
  snprintf(parent, sizeof parent, "%ld", (long)getpid());
  char *argv[] = {(char *)job->compiler,
                  (char *)"-o",
                  (char *)"/dev/fd/4",
                  (char *)"--level",
                  (char *)job->level,
                  (char *)"--cpu",
                  seconds,
                  (char *)"--parent",
                  parent,
                  (char *)"--lanes",
                  lanes,
                  (char *)"--counts",
                  counts,
                  (char *)"/dev/fd/3",
                  number,
                  (char *)(job->stops        ? "--stops"
                           : job->check_list ? "--check-list"
                           : job->rows       ? rows
                                             : NULL), /* sessions are not checked; neither has such code */
                  (char *)(job->stops ? job->stops : job->check_list),
                  NULL};
  char **env = environment(tmpdir);
  if (!env) return errno = ENOMEM, false;
  posix_spawn_file_actions_t act;
  posix_spawnattr_t attr;
  posix_spawn_file_actions_init(&act);
  posix_spawnattr_init(&attr);
  posix_spawn_file_actions_addopen(&act, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&act, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&act, err, 2);
  posix_spawn_file_actions_adddup2(&act, in, MX_JIT_INPUT);
  posix_spawn_file_actions_adddup2(&act, out, MX_JIT_OUTPUT);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setpgroup(&attr, 0);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  pthread_mutex_lock(&compiles_lock);
  const int error = ending ? ECANCELED : posix_spawn(&pid, job->compiler, &act, &attr, argv, env);
  if (!error) entry->compiler = pid;
  pthread_mutex_unlock(&compiles_lock);
  /* Linux 5.3 has them: without one, a compile is found to have ended a little later. */
  const int ended = error ? -1 : mx__jit_move_descriptor((int)syscall(SYS_pidfd_open, pid, 0));
  const bool good = !error && await(pid, ended, unwanted, user, how);
  if (ended >= 0) close(ended);
  pthread_mutex_lock(&compiles_lock);
  entry->compiler = 0; /* another process may get its number */
  pthread_mutex_unlock(&compiles_lock);
  posix_spawn_file_actions_destroy(&act);
  posix_spawnattr_destroy(&attr);
  free(env);
  errno = error;
  return good;
}

/* ---- the folder -------------------------------------------------------------------------------------------------*/
/* Processes that were killed have left theirs: those of this user that nobody has locked. The youngest may be about to
 * be. */
static void remove_abandoned(const char *tmp) {
  DIR *d = opendir(tmp);
  for (struct dirent *e; d && (e = readdir(d));) {
    struct stat s;
    if (strncmp(e->d_name, FOLDER, sizeof FOLDER - 1) || strlen(e->d_name) != sizeof FOLDER - 1 + 6) continue;
    const int fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) continue;
    const bool old = !fstat(fd, &s) && s.st_uid == geteuid() && time(NULL) - s.st_mtim.tv_sec > ABANDONED;
    if (old && !flock(fd, LOCK_EX | LOCK_NB)) {
      char *path = text("%s/%s", tmp, e->d_name);
      if (path) remove_folder(path);
      free(path);
    }
    close(fd);
  }
  if (d) closedir(d);
}

/* "TMPDIR=" and a new folder, locked by *lock as long as this process lives. NULL: errno tells why. */
static char *folder_new(const char *tmp, int *lock) {
  static atomic_bool looked;
  if (!atomic_exchange(&looked, true)) remove_abandoned(tmp);
  char *said = text("TMPDIR=%s/%s", tmp, FOLDER "XXXXXX");
  if (!said) return errno = ENOMEM, NULL;
  if (!mkdtemp(said + 7)) {
    const int why = errno;
    free(said);
    return errno = why, NULL;
  }
  *lock = mx__jit_move_descriptor(open(said + 7, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (*lock >= 0) flock(*lock, LOCK_EX | LOCK_NB);
  return said;
}

/* ---- a compile --------------------------------------------------------------------------------------------------*/
/* Whether the compiler has signed what it wrote, for the loader. False: *how and errno say what is wrong. */
static bool is_sound(int out, const char **how) {
  size_t size = 0;
  *how = "wrote a result that cannot be read";
  uint8_t *bytes = mx__jit_seal(out) ? mx__jit_read(out, &size) : NULL;
  if (!bytes) return false;
  const bool good = mx__jit_signed(bytes, size);
  *how = size ? "wrote a truncated or corrupt result" : "wrote nothing";
  free(bytes);
  errno = 0;
  return good;
}

int mx__jit_compile(const struct mx_jit_job *job, bool (*unwanted)(void *user), void *user, char **why) {
  *why = NULL;
  const char *named = getenv("TMPDIR"), *tmp = named && *named ? named : "/tmp", *how = "cannot be started";
  int lock = -1;
  char *tmpdir = folder_new(tmp, &lock);
  if (!tmpdir) {
    if (asprintf(why, "no folder for the compiler can be made in %s: %s", tmp, strerror(errno)) < 0) *why = NULL;
    return -1;
  }
  struct compile entry = {.folder = tmpdir + 7, .owner = getpid()};
  enlist(&entry);
  const int in = mx__jit_memory("mx-module", job->module, job->module_size);
  int out = in < 0 ? -1 : mx__jit_memory("mx-code", NULL, 0);
  const int err = out < 0 ? -1 : mx__jit_memory("mx-errors", NULL, 0);
  if (err < 0 || !run(job, in, out, err, tmpdir, &entry, unwanted, user, &how) || !is_sound(out, &how)) {
    char said[512] = "";
    const int error = errno;
    const ssize_t n = err >= 0 ? pread(err, said, sizeof said - 1, 0) : 0;
    said[n > 0 ? n : 0] = 0;
    char *line = said + strspn(said, "\n");
    line[strcspn(line, "\n")] = 0;
    const char *more = *line ? line : error ? strerror(error) : "";
    if (asprintf(why, "%s %s%s%s", job->compiler, how, *more ? ": " : "", more) < 0) *why = NULL;
    if (out >= 0) close(out);
    out = -1;
  }
  delist(&entry);
  remove_folder(tmpdir + 7);
  if (in >= 0) close(in);
  if (err >= 0) close(err);
  if (lock >= 0) close(lock);
  free(tmpdir);
  return out;
}
