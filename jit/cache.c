/* Compiled code on disk. An entry is the shared object followed by the key's text and a trailer with lengths and the
 * digest of all before it. Folder and entry must be the user's own, not writable by others, and no links; what does not
 * pass every check is a miss. Entries are written aside and renamed, so that processes may share a folder. */
#include "jit.h"

#include "vm/module.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define MAGIC "mx code\n"
#define MOST_ENTRY (64u << 20)
#define MOST_CACHE (256ull << 20) /* older entries make room beyond this */
struct trailer { uint64_t object, key; uint8_t digest[16]; char magic[8]; };

/* ---- the folder --------------------------------------------------------------------------------------------*/
static bool is_mine(const struct stat *s) { return s->st_uid == geteuid() && !(s->st_mode & (S_IWGRP | S_IWOTH)); }
static bool good_folder(const char *path) {
  struct stat s;
  return !lstat(path, &s) && S_ISDIR(s.st_mode) && is_mine(&s);
}
static void make_folders(char *path) {
  for (char *p = path + 1; *p; p++)
    if (*p == '/') {
      *p = 0;
      mkdir(path, 0700);
      *p = '/';
    }
  mkdir(path, 0700);
}
char *mx__jit_cache_dir(const char *named) {
  char *path = NULL;
  const char *env = getenv("MX_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (named || env) {
    if (!*(named ? named : env)) return NULL;
    path = strdup(named ? named : env);
  } else if (xdg && *xdg == '/') {
    if (asprintf(&path, "%s/mx", xdg) < 0) return NULL;
  } else if (home && *home == '/') {
    if (asprintf(&path, "%s/.cache/mx", home) < 0) return NULL;
  }
  if (!path) return NULL;
  make_folders(path);
  if (good_folder(path)) return path;
  free(path);
  return NULL;
}

/* ---- the key -----------------------------------------------------------------------------------------------*/
static void hex(char *out, XXH128_hash_t h) {
  XXH128_canonical_t c;
  XXH128_canonicalFromHash(&c, h);
  for (int k = 0; k < 16; k++) snprintf(out + 2 * k, 3, "%02x", c.digest[k]);
}
bool mx__jit_key_make(struct mx_jit_job *job) {
  struct stat s = {0};
  if (stat(job->compiler, &s)) return false;
  char module[33];
  hex(module, XXH3_128bits(job->module, job->module_size));
  const int n = asprintf(&job->key.text, "mx %s\nmodule %s %zu\nkernel %u\ntable %016llx\nlayout %016llx\ncpu v4\ncompiler %lld %lld.%09ld\noptions\n",
                         mx_version_string(), module, job->module_size, job->kernel, (unsigned long long)mx__table_digest(),
                         (unsigned long long)mx__jit_layout(), (long long)s.st_size, (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
  if (n < 0) return job->key.text = NULL, false;
  job->key.size = (size_t)n;
  hex(job->key.name, XXH3_128bits(job->key.text, job->key.size));
  return true;
}

/* ---- entries -------------------------------------------------------------------------------------------------*/
static char *entry_path(const struct mx_jit_job *job) {
  char *p;
  return asprintf(&p, "%s/%s.so", job->cache, job->key.name) < 0 ? NULL : p;
}
static uint8_t *read_all(int fd, size_t size) {
  uint8_t *p = malloc(size ? size : 1);
  for (size_t done = 0; p && done < size;) {
    const ssize_t n = pread(fd, p + done, size - done, (off_t)done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return free(p), NULL;
    done += (size_t)n;
  }
  return p;
}
static void digest(uint8_t out[16], const uint8_t *p, size_t n) {
  XXH128_canonical_t c;
  XXH128_canonicalFromHash(&c, XXH3_128bits(p, n));
  memcpy(out, c.digest, 16);
}
static bool is_entry(const struct mx_jit_job *job, int fd) {
  struct stat s;
  if (fstat(fd, &s) || !S_ISREG(s.st_mode) || !is_mine(&s) || s.st_size > MOST_ENTRY || (size_t)s.st_size < sizeof(struct trailer)) return false;
  const size_t size = (size_t)s.st_size, body = size - sizeof(struct trailer);
  uint8_t *p = read_all(fd, size), seen[16];
  if (!p) return false;
  struct trailer t;
  memcpy(&t, p + body, sizeof t);
  digest(seen, p, body);
  const bool good = !memcmp(t.magic, MAGIC, 8) && !memcmp(t.digest, seen, 16) && t.key == job->key.size && t.object == body - t.key &&
                    t.key <= body && !memcmp(p + t.object, job->key.text, t.key);
  free(p);
  return good;
}
int mx__jit_cache_find(const struct mx_jit_job *job) {
  char *path = job->cache ? entry_path(job) : NULL;
  const int fd = path ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
  free(path);
  if (fd < 0) return -1;
  if (is_entry(job, fd)) {
    futimens(fd, NULL); /* the least recently used go first */
    return fd;
  }
  close(fd);
  return -1;
}

char *mx__jit_cache_place(const struct mx_jit_job *job, char **folder) {
  char *path = NULL;
  *folder = NULL;
  static atomic_uint count;
  const unsigned n = atomic_fetch_add(&count, 1);
  if (job->cache && !access(job->cache, W_OK))
    return asprintf(&path, "%s/.%s.%d.%u", job->cache, job->key.name, (int)getpid(), n) < 0 ? NULL : path;
  const char *tmp = getenv("TMPDIR");
  if (asprintf(folder, "%s/mx-XXXXXX", tmp && *tmp ? tmp : "/tmp") < 0) return *folder = NULL, NULL;
  if (!mkdtemp(*folder)) return free(*folder), *folder = NULL, NULL;
  return asprintf(&path, "%s/code.so", *folder) < 0 ? NULL : path;
}

/* Removes the least recently used entries until there is room, and what killed processes left. */
static void make_room(const char *dir) {
  DIR *d = opendir(dir);
  if (!d) return;
  struct old { char name[64]; off_t size; struct timespec used; } *all = NULL;
  size_t n = 0, room = 0;
  unsigned long long sum = 0;
  for (struct dirent *e; (e = readdir(d));) {
    const size_t len = strlen(e->d_name);
    struct stat s;
    if (len < 33 || len >= sizeof all->name || fstatat(dirfd(d), e->d_name, &s, AT_SYMLINK_NOFOLLOW) || !S_ISREG(s.st_mode)) continue;
    if (*e->d_name == '.' && time(NULL) - s.st_mtim.tv_sec > 3600) {
      unlinkat(dirfd(d), e->d_name, 0);
      continue;
    }
    if (len != 35 || strcmp(e->d_name + 32, ".so")) continue;
    if (n == room) {
      struct old *more = realloc(all, (room = room ? 2 * room : 64) * sizeof *all);
      if (!more) break;
      all = more;
    }
    strcpy(all[n].name, e->d_name);
    all[n].size = s.st_size;
    all[n++].used = s.st_mtim;
    sum += (unsigned long long)s.st_size;
  }
  while (sum > MOST_CACHE && n) {
    size_t oldest = 0;
    for (size_t k = 1; k < n; k++)
      if (all[k].used.tv_sec < all[oldest].used.tv_sec) oldest = k;
    unlinkat(dirfd(d), all[oldest].name, 0);
    sum -= (unsigned long long)all[oldest].size;
    all[oldest] = all[--n];
  }
  free(all);
  closedir(d);
}

int mx__jit_cache_keep(const struct mx_jit_job *job, const char *object) {
  const int fd = open(object, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  struct stat s;
  if (fd < 0) return -1;
  if (fstat(fd, &s) || !S_ISREG(s.st_mode) || s.st_size > MOST_ENTRY || s.st_size < 64) return close(fd), -1;
  const size_t size = (size_t)s.st_size, body = size + job->key.size;
  struct trailer t = {.object = size, .key = job->key.size};
  memcpy(t.magic, MAGIC, 8);
  uint8_t *p = malloc(body + sizeof t), *so = read_all(fd, size);
  bool good = p && so;
  if (good) {
    memcpy(p, so, size);
    memcpy(p + size, job->key.text, job->key.size);
    digest(t.digest, p, body);
    memcpy(p + body, &t, sizeof t);
    fchmod(fd, 0600);
    good = pwrite(fd, p + size, body + sizeof t - size, (off_t)size) == (ssize_t)(body + sizeof t - size);
  }
  free(p);
  free(so);
  char *path = job->cache && good ? entry_path(job) : NULL;
  if (path && !strncmp(object, job->cache, strlen(job->cache)) && rename(object, path)) unlink(object);
  if (path) make_room(job->cache);
  free(path);
  if (!good) return close(fd), -1;
  return fd;
}
