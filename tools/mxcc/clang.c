/* Finds clang, its OpenMP and the folders of our headers and library, runs clang, and keeps the folder for temporary
 * files. */
#include "mxcc.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void words_add(struct words *w, const char *word) {
  if (w->n + 2 > w->capacity) {
    w->capacity = 2 * (w->n + 2);
    w->v = cli_realloc(w->v, w->capacity * sizeof *w->v);
  }
  w->v[w->n++] = cli_strdup(word);
  w->v[w->n] = NULL;
}
void words_all(struct words *w, const struct words *more) {
  for (size_t k = 0; k < more->n; k++) words_add(w, more->v[k]);
}
void words_free(struct words *w) {
  for (size_t k = 0; k < w->n; k++) free(w->v[k]);
  free(w->v);
  *w = (struct words){0};
}

/* Finds a program in PATH, as a shell would; file gets its path. */
static bool in_path(const char *name, char file[PATH_MAX]) {
  const char *path = getenv("PATH");
  snprintf(file, PATH_MAX, "%s", name);
  if (strchr(name, '/')) return !access(name, X_OK);
  for (const char *p = path ? path : "/usr/bin"; *p;) {
    size_t n = strcspn(p, ":");
    snprintf(file, PATH_MAX, "%.*s/%s", (int)n, p, name);
    if (n && !access(file, X_OK)) return true;
    p += n + (p[n] == ':');
  }
  return false;
}

bool has_program(const char *name) {
  char file[PATH_MAX];
  return in_path(name, file);
}

/* One option that compile.c needs has another name in clang 14 than in later versions. Most program names contain the
 * version; only where one does not is clang asked, since starting it takes as long as all else that mxcc does itself.
 */
static bool is_clang_14(const char *file) {
  char command[PATH_MAX + 32], version[16] = "";
  const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
  if (!strncmp(name, "clang-", 6)) return !strcmp(name + 6, "14");
  if (strchr(file, '\'')) return false;
  snprintf(command, sizeof command, "'%s' -dumpversion", file);
  FILE *f = popen(command, "r");
  if (!f) return false;
  const bool is = fgets(version, sizeof version, f) && !strncmp(version, "14.", 3);
  pclose(f);
  return is;
}

bool find_clang(struct job *j) {
  static const char *const names[] = {"clang-16", "clang-17", "clang-18", "clang-19", "clang-15", "clang-14", "clang"};
  const char *asked = getenv("MXCC_CLANG");
  char file[PATH_MAX];
  if (asked && *asked) {
    j->clang = asked;
    if (in_path(asked, file)) return j->is_14 = is_clang_14(file), true;
    fprintf(stderr, "mxcc: MXCC_CLANG: there is no program '%s'\n", asked);
    return false;
  }
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (in_path(names[k], file)) {
      j->clang = names[k];
      return j->is_14 = is_clang_14(file), true;
    }
  fprintf(stderr, "mxcc: there is no clang (14 or later); as root: apt-get install clang-16 g++\n");
  return false;
}

bool stat_clang(const struct job *j, struct stat *s) {
  char file[PATH_MAX];
  return in_path(j->clang, file) && !stat(file, s);
}

/* Whether there is an OpenMP library for clang: its own, or that of another version, since all have the same interface.
 * For another version's, the options for the linker are added, and its folder of headers, which comes last in the
 * search so that only omp.h is found there. */
bool find_openmp(struct job *j, struct words *linker) {
  char command[PATH_MAX + 64], own[PATH_MAX] = "";
  snprintf(command, sizeof command, "'%s' -print-file-name=libomp.so", j->clang);
  FILE *f = strchr(j->clang, '\'') ? NULL : popen(command, "r");
  if (f) {
    if (!fgets(own, sizeof own, f)) *own = 0;
    pclose(f);
  }
  if (*own == '/') return true;
  glob_t found, header;
  bool fine = false;
  if (!glob("/usr/lib/llvm-*/lib/libomp.so", 0, NULL, &found)) {
    char *file = found.gl_pathv[found.gl_pathc - 1], pattern[PATH_MAX];
    *strrchr(file, '/') = 0;
    snprintf(pattern, sizeof pattern, "%s/clang/*/include/omp.h", file);
    fine = !glob(pattern, 0, NULL, &header);
    if (fine) {
      struct text library = {0}, run = {0};
      text_printf(&library, "-L%s", file);
      text_printf(&run, "-Wl,-rpath,%s", file);
      words_add(linker, library.s), words_add(linker, run.s);
      text_free(&library), text_free(&run);
      *strrchr(header.gl_pathv[0], '/') = 0;
      words_add(&j->both, "-idirafter"), words_add(&j->both, header.gl_pathv[0]);
    }
    globfree(&header);
  }
  globfree(&found);
  if (!fine) fprintf(stderr, "mxcc: -fopenmp: clang has no OpenMP; as root: apt-get install libomp-dev\n");
  return fine;
}

/* Finds our headers and library: in the source tree, when mxcc lies in its build folder, or where `make install` puts
 * them. */
bool find_folders(struct job *j, const char *argv0) {
  char here[PATH_MAX], file[PATH_MAX + 64];
  ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
  if (n < 0) {
    fprintf(stderr, "mxcc: %s: %s\n", argv0, strerror(errno));
    return false;
  }
  here[n] = 0;
  *strrchr(here, '/') = 0;
  static const char *const places[][3] = {{"../cxx/include", "cxx/include", "."}, {"../lib/mx/cxx", NULL, "../lib"}};
  for (size_t k = 0; k < 2; k++) {
    snprintf(file, sizeof file, "%s/%s/mx/prelude.h", here, places[k][0]);
    if (access(file, R_OK)) continue;
    for (unsigned i = 0; i < 2 && places[k][i]; i++) {
      snprintf(file, sizeof file, "%s/%s", here, places[k][i]);
      words_add(&j->include, file);
    }
    snprintf(file, sizeof file, "%s/%s", here, places[k][2]);
    char *real = realpath(file, NULL);
    j->library = real ? real : cli_strdup(file);
    return true;
  }
  fprintf(stderr, "mxcc: the headers are neither in %s/../cxx/include nor in %s/../lib/mx/cxx\n", here, here);
  return false;
}

int run_clang(struct job *j, const struct words *words, const char *messages) {
  pid_t child;
  int status;
  posix_spawn_file_actions_t actions;
  if (j->verbose) {
    for (size_t k = 0; k < words->n; k++) fprintf(stderr, "%s%s", k ? " " : "", words->v[k]);
    fputc('\n', stderr);
  }
  int error = posix_spawn_file_actions_init(&actions);
  if (error) cli_no_memory();
  if (messages)
    error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!error) error = posix_spawnp(&child, j->clang, &actions, NULL, words->v, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error) {
    fprintf(stderr, "mxcc: %s: %s\n", j->clang, strerror(error));
    return 127;
  }
  while (waitpid(child, &status, 0) != child)
    if (errno != EINTR) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- files in between -------------------------------------------------------------------------------------------*/
static struct words scratch_files;

char *scratch_file(struct job *j, const char *suffix) {
  if (!j->scratch) {
    const char *tmp = getenv("TMPDIR");
    struct text t = {0};
    text_printf(&t, "%s/mxcc.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    j->scratch = t.s;
    if (!mkdtemp(j->scratch)) {
      fprintf(stderr, "mxcc: %s: %s\n", j->scratch, strerror(errno));
      exit(CLI_HOST);
    }
  }
  struct text t = {0};
  text_printf(&t, "%s/%zu%s", j->scratch, scratch_files.n, suffix);
  words_add(&scratch_files, t.s);
  return t.s;
}

void end_scratch(struct job *j) {
  for (size_t k = 0; k < scratch_files.n; k++) unlink(scratch_files.v[k]);
  words_free(&scratch_files);
  if (j->scratch) rmdir(j->scratch);
  free(j->scratch);
  j->scratch = NULL;
}
