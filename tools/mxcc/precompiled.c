/* What stands before every source (mx/prelude.h, with the C++ library's headers that it includes) in clang's own form,
 * as a precompiled header. Each source is compiled twice; a small program takes 600 ms of a processor to build where
 * clang reads the text, and 300 ms with this. The header is made when it is first wanted with some options, and kept in
 * the cache of compiled code: NAME.pch, where NAME is the digest of the options, and NAME.headers, a text that says of
 * which files it was made.
 *
 * This is done only with options of which it is certain that they leave the header the same for all sources; with
 * others clang reads the text. Clang refuses a precompiled header whose files have changed, so that is found out before
 * it is started. */
#include "jit/runtime/jit.h"
#include "mxcc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_LIMIT ((size_t)1 << 24)

/* Whether the header may be precompiled with these options of the user's. Others may name files (-include, -MD), or
 * have clang do something else besides. */
static bool are_plain(const struct words *w) {
  static const char *const plain[] = {"-D", "-U", "-I", "-W", "-f", "-m", "-O", "-g", "-w", "-std="};
  for (size_t k = 0; k < w->n; k++) {
    bool is = false;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) is |= !strncmp(w->v[k], plain[i], strlen(plain[i]));
    if (!is || !strncmp(w->v[k], "-Wp,", 4)) return false;
  }
  return true;
}
/* Whether the environment names no further folders of headers. */
static bool is_plain_environment(void) {
  static const char *const names[] = {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (getenv(names[k])) return false;
  return true;
}

/* Folders of the user's own are not searched: the header includes nothing from there. */
static struct words options_of(const struct words *w) {
  struct words o = {0};
  for (size_t k = 0; k < w->n; k++)
    if (strncmp(w->v[k], "-I", 2)) words_add(&o, w->v[k]);
  return o;
}

/* The path of the entry for these options and this clang, without its suffix; NULL: there is no cache. */
static char *entry_of(const struct job *j, const struct words *options) {
  struct stat s;
  char *dir = stat_clang(j, &s) ? mx__jit_cache_dir(NULL, NULL) : NULL;
  if (!dir) return NULL;
  struct text key = {0}, path = {0};
  text_printf(&key, "%s\n%lld %lld.%09ld\n", mx_version_string(), (long long)s.st_size, (long long)s.st_mtim.tv_sec,
              s.st_mtim.tv_nsec);
  for (size_t k = 0; k < options->n; k++) text_printf(&key, "%s\n", options->v[k]);
  uint8_t digest[16];
  mx__jit_digest(digest, key.s, key.n);
  text_printf(&path, "%s/", dir);
  for (size_t k = 0; k < sizeof digest; k++) text_printf(&path, "%02x", digest[k]);
  text_free(&key), free(dir);
  return path.s;
}
static char *with_suffix(const char *path, const char *suffix) {
  struct text t = {0};
  text_printf(&t, "%s%s", path, suffix);
  return t.s;
}

/* Adds a line: what tells one state of a file from another. */
static bool add_file(struct text *list, const char *path) {
  struct stat s;
  if (strchr(path, '\n') || stat(path, &s)) return false;
  text_printf(list, "%lld %lld.%09ld %s\n", (long long)s.st_size, (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec, path);
  return true;
}
/* Adds the first line: the digest of the precompiled header. */
static bool add_digest(struct text *list, const char *pch) {
  struct stat s;
  const int fd = open(pch, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  const bool mine = fd >= 0 && !fstat(fd, &s) && S_ISREG(s.st_mode) && s.st_size && s.st_uid == geteuid() &&
                    !(s.st_mode & (S_IWGRP | S_IWOTH));
  void *bytes = mine ? mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0) : MAP_FAILED;
  if (fd >= 0) close(fd);
  if (bytes == MAP_FAILED) return false;
  uint8_t digest[16];
  mx__jit_digest(digest, bytes, (size_t)s.st_size);
  munmap(bytes, (size_t)s.st_size);
  for (size_t k = 0; k < sizeof digest; k++) text_printf(list, "%02x", digest[k]);
  text_add(list, "\n", 1);
  return true;
}

/* Whether the list says what it would say now. */
static bool is_current(const char *pch, const char *list) {
  const char *why;
  size_t size;
  struct text now = {0};
  if (!add_digest(&now, pch)) return text_free(&now), false;
  char *then = cli_read_file(list, TEXT_LIMIT, &size, &why);
  bool good = then != NULL;
  for (char *line = then ? strchr(then, '\n') : NULL, *next; good && line && line[1]; line = next) {
    if (!(next = strchr(++line, '\n'))) good = false;
    else {
      *next = 0;
      char *path = strchr(line, ' ');
      path = path ? strchr(path + 1, ' ') : NULL;
      good = path && add_file(&now, path + 1);
      *next = '\n';
    }
  }
  good = good && now.n == size && !memcmp(now.s, then, size);
  free(then), text_free(&now);
  return good;
}

/* Adds the files of a rule for make, as clang writes it: their names stand behind the colon. */
static bool add_prerequisites(struct text *list, const char *rule) {
  const char *p = strstr(rule, ": ");
  bool good = p != NULL;
  for (p = good ? p + 1 : ""; good && *p;) {
    struct text name = {0};
    for (; *p && !strchr(" \n", *p); p++) {
      if (*p == '\\' && p[1] == '\n') break;
      if ((*p == '\\' && strchr(" #", p[1])) || (*p == '$' && p[1] == '$')) p++;
      text_add(&name, p, 1);
    }
    if (name.n) good = add_file(list, name.s);
    text_free(&name);
    p += *p == '\\' ? 2 : *p != 0;
  }
  return good;
}

/* A file of the cache appears whole, or not at all. */
static bool keep(const char *path, const char *bytes, size_t size) {
  const char *slash = strrchr(path, '/'), *why;
  struct text aside = {0};
  text_printf(&aside, "%.*s/.%s-XXXXXX", (int)(slash - path), path, slash + 1);
  const int fd = mkostemp(aside.s, O_CLOEXEC);
  bool good = fd >= 0 && !close(fd) && cli_write_file(aside.s, bytes, size, &why) && !rename(aside.s, path);
  if (fd >= 0 && !good) unlink(aside.s);
  text_free(&aside);
  return good;
}

static bool make(struct job *j, const struct words *options, bool device, const char *pch, const char *list) {
  char *made = scratch_file(j, ".pch"), *rule = scratch_file(j, ".d"), *messages = scratch_file(j, ".messages");
  struct words w = {0};
  static const char *const kinds[][4] = {{"-c", NULL}, {"-S", "-emit-llvm", NULL}};
  words_all(&w, options);
  for (const char *const *k = kinds[device]; *k; k++) words_add(&w, *k);
  /* What the header's functions use of templates is instantiated here, once, and not by each source that starts from
   * the header: that took a third of the time of a compile of nothing. */
  const char *const more[] = {"-Xclang",   "-emit-pch", "-Xclang", "-fpch-instantiate-templates", "-MD", "-MF", rule,
                              "/dev/null", "-o",        made};
  for (size_t k = 0; k < sizeof more / sizeof *more; k++) words_add(&w, more[k]);
  const char *why;
  size_t size;
  bool good = !run_clang(j, &w, messages);
  char *bytes = good ? cli_read_file(made, (size_t)1 << 28, &size, &why) : NULL;
  good = bytes && keep(pch, bytes, size);
  free(bytes);
  struct text files = {0};
  char *text = good ? cli_read_file(rule, TEXT_LIMIT, &size, &why) : NULL;
  good = text && add_digest(&files, pch) && add_prerequisites(&files, text) && keep(list, files.s, files.n);
  if (good) mx__jit_cache_trim(pch);
  text_free(&files), words_free(&w);
  free(text), free(made), free(rule), free(messages);
  return good;
}

void use_precompiled(struct job *j, struct words *w, size_t at, bool device) {
  if (!are_plain(&j->both) || !are_plain(device ? &j->device : &j->host) || !is_plain_environment()) return;
  struct words options = options_of(w);
  char *entry = entry_of(j, &options);
  char *pch = entry ? with_suffix(entry, ".pch") : NULL, *list = entry ? with_suffix(entry, ".headers") : NULL;
  if (entry && (is_current(pch, list) || make(j, &options, device, pch, list))) {
    utimensat(AT_FDCWD, pch, NULL, 0), utimensat(AT_FDCWD, list, NULL, 0); /* the least recently used go first */
    free(w->v[at]), free(w->v[at + 1]);
    w->v[at] = cli_strdup("-include-pch");
    w->v[at + 1] = cli_strdup(pch);
  }
  free(entry), free(pch), free(list);
  words_free(&options);
}
