/* Compiled code on disk. An entry is the shared object followed by the key's text and a trailer with lengths and the
 * digest of all before it. Folder and entry must be the user's own, not writable by others, and no links; what does not
 * pass every check is a miss. Entries are written aside and renamed, so that processes may share a folder. */
#include "jit.h"

#include "vm/memory/lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "mx code\n"
#define MOST_MIB 256 /* of a folder, unless $MX_CACHE_MIB says otherwise; the least recently used entries make room */
struct trailer {
  uint64_t object, key;
  uint8_t digest[16];
  char magic[8];
};

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
  for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
    path[n - 1] = 0; /* with it a link would be followed */
  make_folders(path);
  const char *fault = folder_fault(path);
  if (!fault) return path;
  if (why && asprintf(why, "compiled code is not kept in %s: %s", path, fault) < 0) *why = NULL;
  free(path);
  return NULL;
}

/* ---- entries -------------------------------------------------------------------------------------------------*/
/* The bytes of an entry that is whole, malloc'ed; the key's text begins behind t->object of them. Else NULL, and what
 * is wrong with it. */
static uint8_t *read_entry(int fd, struct trailer *t, const char **fault) {
  struct stat s;
  *fault = "it cannot be read";
  if (fstat(fd, &s)) return NULL;
  *fault = "it is not a plain file";
  if (!S_ISREG(s.st_mode)) return NULL;
  *fault = "others could write it";
  if (!is_mine(&s)) return NULL;
  *fault = "it is damaged";
  size_t size;
  uint8_t *p = mx__jit_read(fd, &size), seen[16];
  if (p && size >= sizeof *t) {
    const size_t body = size - sizeof *t;
    memcpy(t, p + body, sizeof *t);
    mx__jit_digest(seen, p, body);
    if (!memcmp(t->magic, MAGIC, 8) && !memcmp(t->digest, seen, 16) && t->key <= body && t->object == body - t->key)
      return *fault = NULL, p;
  }
  free(p);
  return NULL;
}
static int open_entry(const char *dir, const char *name) {
  char *path;
  if (asprintf(&path, "%s/%s.so", dir, name) < 0) return -1;
  const int fd = mx__jit_move_descriptor(open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  free(path);
  return fd;
}
int mx__jit_cache_find(const struct mx_jit_job *job) {
  const int fd = job->cache ? open_entry(job->cache, job->key.name) : -1;
  if (fd < 0) return -1;
  const char *fault;
  struct trailer t;
  uint8_t *p = read_entry(fd, &t, &fault);
  const bool good = p && t.key == job->key.size && !memcmp(p + t.object, job->key.text, t.key);
  const int code = good && mx__jit_signed(p, t.object) ? mx__jit_memory("mx-code", p, t.object) : -1;
  free(p);
  if (code >= 0) futimens(fd, NULL); /* the least recently used go first */
  close(fd);
  if (code < 0 || mx__jit_seal(code)) return code;
  return close(code), -1;
}

struct mx_jit_cache_entry *mx__jit_cache_list(const char *dir, size_t *n) {
  struct mx_jit_cache_entry *all = NULL;
  size_t room = 0;
  *n = 0;
  DIR *d = opendir(dir);
  if (!d) return NULL;
  for (struct dirent *e; (e = readdir(d));) {
    struct stat s;
    if (strlen(e->d_name) != 35 || strspn(e->d_name, "0123456789abcdef") != 32 || strcmp(e->d_name + 32, ".so") ||
        fstatat(dirfd(d), e->d_name, &s, AT_SYMLINK_NOFOLLOW))
      continue;
    if (*n == room) {
      struct mx_jit_cache_entry *more = realloc(all, (room = room ? 2 * room : 64) * sizeof *all);
      if (!more) break;
      all = more;
    }
    struct mx_jit_cache_entry *x = &all[(*n)++];
    *x = (struct mx_jit_cache_entry){.bytes = (uint64_t)s.st_size, .used = s.st_mtim, .fault = "it is a link"};
    memcpy(x->name, e->d_name, 32);
    const int fd = open_entry(dir, x->name);
    struct trailer t;
    uint8_t *p = fd >= 0 ? read_entry(fd, &t, &x->fault) : NULL;
    if (p) x->key = strndup((const char *)p + t.object, t.key);
    free(p);
    if (fd >= 0) close(fd);
  }
  closedir(d);
  return all;
}
void mx__jit_cache_list_free(struct mx_jit_cache_entry *list, size_t n) {
  for (size_t k = 0; k < n; k++) free(list[k].key);
  free(list);
}

/* Whether a file has a name that entries have: those of compiled code, and the two files of a header that mxcc has
 * precompiled. */
static bool is_entry(const char *name) {
  static const char *const suffixes[] = {".so", ".pch", ".headers"};
  bool is = false;
  if (strspn(name, "0123456789abcdef") == 32)
    for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++) is |= !strcmp(name + 32, suffixes[k]);
  return is;
}

/* Removes entries, the least recently used first, while more than `most` bytes remain; and what killed processes left.
 */
static size_t shrink(const char *dir, uint64_t most) {
  DIR *d = opendir(dir);
  if (!d) return 0;
  struct old {
    char name[32 + sizeof ".headers"];
    off_t size;
    struct timespec used;
  } *all = NULL;
  size_t n = 0, room = 0, gone = 0;
  uint64_t sum = 0;
  for (struct dirent *e; (e = readdir(d));) {
    struct stat s;
    if (fstatat(dirfd(d), e->d_name, &s, AT_SYMLINK_NOFOLLOW) || S_ISDIR(s.st_mode)) continue;
    if (*e->d_name == '.' && time(NULL) - s.st_mtim.tv_sec > 3600) unlinkat(dirfd(d), e->d_name, 0);
    if (!is_entry(e->d_name)) continue;
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
    for (size_t k = 1; k < n; k++)
      if (mx__time_before(&all[k].used, &all[oldest].used)) oldest = k;
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

void mx__jit_cache_trim(const char *entry) {
  const char *slash = strrchr(entry, '/');
  char *dir = slash ? strndup(entry, (size_t)(slash - entry)) : NULL;
  if (dir) shrink(dir, most_bytes());
  free(dir);
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
  mx__jit_digest(t.digest, p, body);
  memcpy(p + body, &t, sizeof t);
  const bool good =
      body + sizeof t <= MX_JIT_MOST_BYTES ? mx__jit_write(to, p, body + sizeof t) : (errno = EFBIG, false);
  free(p);
  return good;
}
char *mx__jit_cache_keep(const struct mx_jit_job *job, const struct mx_jit_object *object) {
  if (!job->cache) return NULL;
  size_t size = 0;
  uint8_t *bytes = mx__jit_read(mx__jit_bytes(object), &size);
  char *path = NULL, *aside = NULL, *why = NULL;
  if (asprintf(&path, "%s/%s.so", job->cache, job->key.name) < 0) path = NULL;
  if (asprintf(&aside, "%s/.%s-XXXXXX", job->cache, job->key.name) < 0) aside = NULL;
  if (bytes && path && aside) {
    const int to = mx__jit_move_descriptor(mkostemp(aside, O_CLOEXEC));
    bool good = to >= 0 && write_entry(job, to, bytes, size);
    int fault = errno;
    if (to >= 0 && close(to)) good = false, fault = errno;
    if (good && rename(aside, path)) good = false, fault = errno;
    if (!good && asprintf(&why, "compiled code is not kept in %s: %s", job->cache, strerror(fault)) < 0) why = NULL;
    if (!good && to >= 0) unlink(aside);
    if (good) shrink(job->cache, most_bytes());
  }
  free(bytes);
  free(path);
  free(aside);
  return why;
}
