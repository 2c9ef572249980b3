/* Compiled code on disk. An entry is the shared object followed by the key's text and a trailer with lengths and the
 * digest of all before it. Folder and entry must be the user's own, not writable by others, and no links; what does not
 * pass every check is a miss. Entries are written aside and renamed, so that processes may share a folder. */
#include "jit.h"

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
#define MOST_MIB 256 /* of a folder, unless $MX_CACHE_MIB says otherwise; the least recently used entries make room */
struct trailer { uint64_t object, key; uint8_t digest[16]; char magic[8]; };

/* ---- the folder --------------------------------------------------------------------------------------------*/
static bool is_mine(const struct stat *s) { return s->st_uid == geteuid() && !(s->st_mode & (S_IWGRP | S_IWOTH)); }
static const char *folder_fault(const char *path) {
  struct stat s;
  if (lstat(path, &s)) return strerror(errno);
  if (!S_ISDIR(s.st_mode)) return "it is not a folder";
  if (!is_mine(&s)) return "others could write there";
  return NULL;
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
char *mx__jit_cache_dir(const char *named, char **why) {
  char *path = NULL;
  const char *env = getenv("MX_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (why) *why = NULL;
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
  const char *fault = folder_fault(path);
  if (!fault) return path;
  if (why && asprintf(why, "compiled code is not kept in %s: %s", path, fault) < 0) *why = NULL;
  free(path);
  return NULL;
}

/* ---- entries -------------------------------------------------------------------------------------------------*/
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
static bool write_all(int fd, const void *bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = write(fd, (const char *)bytes + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}
static void digest(uint8_t out[16], const uint8_t *p, size_t n) {
  XXH128_canonical_t c;
  XXH128_canonicalFromHash(&c, XXH3_128bits(p, n));
  memcpy(out, c.digest, 16);
}
/* The key's text of an entry that is whole, malloc'ed; else NULL, and what is wrong with it. */
static char *read_key(int fd, size_t *key_size, const char **fault) {
  struct stat s;
  *fault = "it cannot be read";
  if (fstat(fd, &s)) return NULL;
  *fault = "it is not a plain file";
  if (!S_ISREG(s.st_mode)) return NULL;
  *fault = "others could write it";
  if (!is_mine(&s)) return NULL;
  *fault = "it is damaged";
  if (s.st_size > MOST_ENTRY || (size_t)s.st_size < sizeof(struct trailer)) return NULL;
  const size_t size = (size_t)s.st_size, body = size - sizeof(struct trailer);
  uint8_t *p = read_all(fd, size), seen[16];
  if (!p) return NULL;
  struct trailer t;
  memcpy(&t, p + body, sizeof t);
  digest(seen, p, body);
  char *key = NULL;
  if (!memcmp(t.magic, MAGIC, 8) && !memcmp(t.digest, seen, 16) && t.key <= body && t.object == body - t.key && (key = malloc(t.key + 1))) {
    memcpy(key, p + t.object, t.key);
    key[*key_size = t.key] = 0;
    *fault = NULL;
  }
  free(p);
  return key;
}
static int open_entry(const char *dir, const char *name) {
  char *path;
  if (asprintf(&path, "%s/%s.so", dir, name) < 0) return -1;
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  free(path);
  return fd;
}
int mx__jit_cache_find(const struct mx_jit_job *job) {
  const int fd = job->cache ? open_entry(job->cache, job->key.name) : -1;
  if (fd < 0) return -1;
  const char *fault;
  size_t size = 0;
  char *key = read_key(fd, &size, &fault);
  const bool good = key && size == job->key.size && !memcmp(key, job->key.text, size);
  free(key);
  if (!good) return close(fd), -1;
  futimens(fd, NULL); /* the least recently used go first */
  return fd;
}

struct mx_jit_entry *mx__jit_cache_list(const char *dir, size_t *n) {
  struct mx_jit_entry *all = NULL;
  size_t room = 0;
  *n = 0;
  DIR *d = opendir(dir);
  if (!d) return NULL;
  for (struct dirent *e; (e = readdir(d));) {
    struct stat s;
    if (strlen(e->d_name) != 35 || strspn(e->d_name, "0123456789abcdef") != 32 || strcmp(e->d_name + 32, ".so") ||
        fstatat(dirfd(d), e->d_name, &s, AT_SYMLINK_NOFOLLOW)) continue;
    if (*n == room) {
      struct mx_jit_entry *more = realloc(all, (room = room ? 2 * room : 64) * sizeof *all);
      if (!more) break;
      all = more;
    }
    struct mx_jit_entry *x = &all[(*n)++];
    *x = (struct mx_jit_entry){.bytes = (uint64_t)s.st_size, .used = s.st_mtim, .fault = "it is a link"};
    memcpy(x->name, e->d_name, 32);
    const int fd = open_entry(dir, x->name);
    size_t size;
    if (fd >= 0) x->key = read_key(fd, &size, &x->fault), close(fd);
  }
  closedir(d);
  return all;
}
void mx__jit_cache_list_free(struct mx_jit_entry *list, size_t n) {
  for (size_t k = 0; k < n; k++) free(list[k].key);
  free(list);
}

/* Removes entries, the least recently used first, while more than `most` bytes remain; and what killed processes left. */
static size_t shrink(const char *dir, uint64_t most) {
  DIR *d = opendir(dir);
  if (!d) return 0;
  struct old { char name[36]; off_t size; struct timespec used; } *all = NULL;
  size_t n = 0, room = 0, gone = 0;
  uint64_t sum = 0;
  for (struct dirent *e; (e = readdir(d));) {
    struct stat s;
    if (fstatat(dirfd(d), e->d_name, &s, AT_SYMLINK_NOFOLLOW) || S_ISDIR(s.st_mode)) continue;
    if (*e->d_name == '.' && time(NULL) - s.st_mtim.tv_sec > 3600) unlinkat(dirfd(d), e->d_name, 0);
    if (strlen(e->d_name) != 35 || strcmp(e->d_name + 32, ".so")) continue;
    if (n == room) {
      struct old *more = realloc(all, (room = room ? 2 * room : 64) * sizeof *all);
      if (!more) break;
      all = more;
    }
    strcpy(all[n].name, e->d_name);
    all[n].size = s.st_size;
    all[n++].used = s.st_mtim;
    sum += (uint64_t)s.st_size;
  }
  while (sum > most && n) {
    size_t oldest = 0;
    for (size_t k = 1; k < n; k++) {
      const struct timespec *a = &all[k].used, *b = &all[oldest].used;
      if (a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec)) oldest = k;
    }
    gone += !unlinkat(dirfd(d), all[oldest].name, 0);
    sum -= (uint64_t)all[oldest].size;
    all[oldest] = all[--n];
  }
  free(all);
  closedir(d);
  return gone;
}
size_t mx__jit_cache_clear(const char *dir) { return shrink(dir, 0); }
static uint64_t most_bytes(void) {
  const char *said = getenv("MX_CACHE_MIB");
  char *end;
  const uint64_t mib = said && *said ? strtoull(said, &end, 10) : MOST_MIB;
  return (said && *said && *end ? MOST_MIB : mib) << 20;
}

/* Writes the entry aside. False: errno tells why. */
static bool write_entry(const struct mx_jit_job *job, int to, const uint8_t *object, size_t size) {
  const size_t body = size + job->key.size;
  struct trailer t = {.object = size, .key = job->key.size};
  memcpy(t.magic, MAGIC, 8);
  uint8_t *p = malloc(body + sizeof t);
  if (!p) return errno = ENOMEM, false;
  memcpy(p, object, size);
  memcpy(p + size, job->key.text, job->key.size);
  digest(t.digest, p, body);
  memcpy(p + body, &t, sizeof t);
  const bool good = write_all(to, p, body + sizeof t);
  free(p);
  return good;
}
int mx__jit_cache_keep(const struct mx_jit_job *job, int object, char **why) {
  struct stat s;
  *why = NULL;
  if (!job->cache || fstat(object, &s) || !S_ISREG(s.st_mode) || s.st_size > MOST_ENTRY) return object;
  uint8_t *bytes = read_all(object, (size_t)s.st_size);
  char *path = NULL, *aside = NULL;
  if (asprintf(&path, "%s/%s.so", job->cache, job->key.name) < 0) path = NULL;
  if (asprintf(&aside, "%s/.%s-XXXXXX", job->cache, job->key.name) < 0) aside = NULL;
  int entry = -1;
  if (bytes && path && aside) {
    const int to = mkostemp(aside, O_CLOEXEC);
    bool good = to >= 0 && write_entry(job, to, bytes, (size_t)s.st_size);
    if (to >= 0 && close(to)) good = false;
    good = good && !rename(aside, path);
    if (!good && asprintf(why, "compiled code is not kept in %s: %s", job->cache, strerror(errno)) < 0) *why = NULL;
    if (!good && to >= 0) unlink(aside);
    if (good) {
      shrink(job->cache, most_bytes());
      entry = open_entry(job->cache, job->key.name);
    }
  }
  free(bytes);
  free(path);
  free(aside);
  if (entry < 0) return object;
  close(object);
  return entry;
}
