/* mxrun exec: a program that another compiler has built for a GPU, with the runtime in the place of the one that it
 * asks for. The loader finds that in a folder which only this command names; the program itself is not touched. */
#include "mxrun.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { E_STATS = 1, E_LENIENT, E_THREADS, E_JIT, E_TIMEOUT, E_TRAP_INFO, E_BREAK, E_COMMAND, E_RECORD, E_HELP };
static const struct cli_option options[] = {{"threads", 0, CLI_REQUIRED, E_THREADS},
                                            {"jit", 0, CLI_REQUIRED, E_JIT},
                                            {"timeout", 0, CLI_REQUIRED, E_TIMEOUT},
                                            {"stats", 0, CLI_NONE, E_STATS},
                                            {"lenient", 0, CLI_NONE, E_LENIENT},
                                            {"trap-info", 0, CLI_NONE, E_TRAP_INFO},
                                            {"break", 0, CLI_REQUIRED, E_BREAK},
                                            {"ex", 0, CLI_REQUIRED, E_COMMAND},
                                            {"record-launch", 0, CLI_REQUIRED, E_RECORD},
                                            {"help", 'h', CLI_NONE, E_HELP},
                                            {0}};

/* ---- what the program asks for ----------------------------------------------------------------------------------*/
struct elf {
  const char *bytes;
  size_t size;
};

static const void *part(const struct elf *e, uint64_t at, uint64_t bytes) {
  return at <= e->size && bytes <= e->size - at ? e->bytes + at : NULL;
}

/* Where an address of the program lies in its file; the file's end: nowhere. */
static uint64_t in_file(const struct elf *e, const Elf64_Phdr *p, unsigned n, uint64_t address) {
  for (unsigned k = 0; k < n; k++)
    if (p[k].p_type == PT_LOAD && address - p[k].p_vaddr < p[k].p_filesz) return address - p[k].p_vaddr + p[k].p_offset;
  return e->size;
}

/* Calls `see` with each library that the program names; false: it is no program for this kind of machine. */
static bool libraries(const struct elf *e, void (*see)(const char *name, void *user), void *user) {
  const Elf64_Ehdr *h = part(e, 0, sizeof *h);
  if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64) return false;
  const Elf64_Phdr *p = part(e, h->e_phoff, (uint64_t)h->e_phnum * sizeof *p);
  for (unsigned k = 0; p && k < h->e_phnum; k++) {
    const Elf64_Dyn *d = p[k].p_type == PT_DYNAMIC ? part(e, p[k].p_offset, p[k].p_filesz) : NULL;
    uint64_t names = e->size;
    for (size_t i = 0; d && i < p[k].p_filesz / sizeof *d; i++)
      if (d[i].d_tag == DT_STRTAB) names = in_file(e, p, h->e_phnum, d[i].d_un.d_ptr);
    for (size_t i = 0; d && i < p[k].p_filesz / sizeof *d; i++) {
      const char *name = d[i].d_tag == DT_NEEDED ? part(e, names + d[i].d_un.d_val, 1) : NULL;
      if (name && memchr(name, 0, e->size - (size_t)(name - e->bytes))) see(name, user);
    }
  }
  return p != NULL;
}

struct needs {
  bool runtime;
  char missing[64];
};

static void see(const char *name, void *user) {
  struct needs *n = user;
  static const char *const beyond[] = {"libcublas", "libcufft", "libcurand", "libcusparse",  "libcusolver", "libcudnn",
                                       "libnpp",    "libnccl",  "libnvrtc",  "libnvJitLink", "libnvjpeg"};
  if (!strncmp(name, "libcudart.so.", 13) || !strcmp(name, "libcuda.so.1") || !strncmp(name, "libmxrt.so", 10))
    n->runtime = true;
  for (size_t k = 0; k < sizeof beyond / sizeof *beyond; k++)
    if (!strncmp(name, beyond[k], strlen(beyond[k])) && !*n->missing)
      snprintf(n->missing, sizeof n->missing, "%s", name);
}

static char *find_program(const char *name) {
  if (strchr(name, '/')) return cli_strdup(name);
  const char *path = getenv("PATH");
  for (const char *p = path ? path : ""; *p;) {
    const size_t n = strcspn(p, ":");
    struct text t = {0};
    text_printf(&t, "%.*s/%s", (int)n, p, name);
    if (!access(t.s, X_OK)) return t.s;
    text_free(&t);
    p += n + (p[n] == ':');
  }
  return cli_strdup(name);
}

/* An exit status, or 0: nothing speaks against it. */
static int look(const char *file) {
  size_t size;
  const char *why;
  char *bytes = cli_read_file(file, (size_t)1 << 31, &size, &why);
  if (!bytes) {
    fprintf(stderr, "mxrun: %s: %s\n", file, why);
    return CLI_REFUSED;
  }
  struct needs n = {0};
  const struct elf e = {bytes, size};
  const bool program = libraries(&e, see, &n);
  int status = CLI_DONE;
  if (program && *n.missing) {
    fprintf(stderr, "mxrun: %s: it needs %s, which mx does not have\n", file, n.missing);
    status = CLI_REFUSED;
  } else if (program && !n.runtime && memmem(bytes, size, ".nv_fatbin", 10)) {
    fprintf(stderr, "mxrun: %s: its runtime is linked into it: link it with nvcc -cudart shared\n", file);
    status = CLI_REFUSED;
  }
  free(bytes);
  return status;
}

/* ---- running it -------------------------------------------------------------------------------------------------*/
/* Beside a build's programs, or where `make install` puts it. */
static char *find_folder(void) {
  static const char *const places[] = {"exec", "../lib/mx/exec"};
  char here[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
  if (n <= 0) return NULL;
  here[n] = 0;
  *strrchr(here, '/') = 0;
  for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
    struct text t = {0};
    text_printf(&t, "%s/%s/libcudart.so.12", here, places[k]);
    const bool there = !access(t.s, R_OK);
    if (there) return *strrchr(t.s, '/') = 0, t.s;
    text_free(&t);
  }
  return NULL;
}

/* KERNEL[:N], which the runtime reads; kernels' names may have colons, too. */
static void check_launch(const char *option, const char *text) {
  const char *colon = strrchr(text, ':');
  uint64_t n;
  const bool numbered = colon && (!colon[1] || (colon[1] >= '0' && colon[1] <= '9'));
  if (!*text || colon == text || (numbered && (!cli_number(colon + 1, UINT64_MAX, &n) || !n)))
    cli_usage("mxrun", "%s: '%s' is not the name of a kernel, or KERNEL:N with a number from 1", option, text);
}

int command_exec(int argc, char **argv, int next) {
  const char *value, *kernel;
  uint64_t number;
  double seconds;
  bool breaks = false;
  struct text commands = {0};
  struct cli c = {.tool = "mxrun", .options = options, .argc = argc, .argv = argv, .next = next};
  int id;
  while ((id = cli_next(&c, &value)) > 0) switch (id) {
    case E_THREADS:
      if (!cli_number(value, 1024, &number) || !number)
        cli_usage("mxrun", "--threads: '%s' is not a number from 1 to 1024", value);
      setenv("MX_THREADS", value, 1);
      break;
    case E_JIT:
      if (strcmp(value, "auto") && strcmp(value, "on") && strcmp(value, "off"))
        cli_usage("mxrun", "--jit: '%s' is not auto, on or off", value);
      setenv("MX_JIT", value, 1);
      break;
    case E_TIMEOUT:
      if (!cli_real(value, &seconds) || !(seconds > 0) || seconds > 1e9)
        cli_usage("mxrun", "--timeout: '%s' is not a number of seconds", value);
      setenv("MX_TIMEOUT", value, 1);
      break;
    case E_STATS: setenv("MX_STATS", "1", 1); break;
    case E_LENIENT: setenv("MX_LENIENT", "1", 1); break;
    case E_TRAP_INFO: setenv("MX_TRAP_INFO", "1", 1); break;
    case E_BREAK:
      check_launch("--break", value);
      setenv("MX_BREAK", value, 1);
      breaks = true;
      break;
    case E_COMMAND: text_printf(&commands, "%s\n", value); break;
    case E_RECORD:
      kernel = value;
      check_launch("--record-launch", kernel);
      cli_take(&c, &value);
      if (value == kernel || *value == '-')
        cli_usage("mxrun", "--record-launch: a folder is missing behind '%s'", kernel);
      setenv("MX_RECORD_LAUNCH", kernel, 1);
      setenv("MX_RECORD_FOLDER", value, 1);
      break;
    default: common_option(O_HELP, NULL, NULL);
    }
  if (commands.n && !breaks) cli_usage("mxrun", "--ex belongs to --break");
  if (commands.n) setenv("MX_BREAK_COMMANDS", commands.s, 1);
  text_free(&commands);
  if (id == CLI_END) cli_usage("mxrun", "exec: no program given");
  char **words = argv;
  while (*words != value) words++; /* the program's name, and its own words behind it */
  char *file = find_program(value), *folder = find_folder();
  if (!folder) {
    fprintf(stderr, "mxrun: the runtime's folder is neither beside this program nor in ../lib/mx/exec\n");
    return CLI_HOST;
  }
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length > 0) {
    self[length] = 0;
    setenv("MX_DEBUGGER", self, 1);
  }
  int status = look(file);
  if (status == CLI_DONE) {
    const char *before = getenv("LD_LIBRARY_PATH");
    struct text path = {0};
    text_printf(&path, "%s%s%s", folder, before && *before ? ":" : "", before ? before : "");
    setenv("LD_LIBRARY_PATH", path.s, 1);
    text_free(&path);
    fflush(stdout);
    execv(file, words);
    fprintf(stderr, "mxrun: %s: %s\n", file, strerror(errno));
    status = CLI_HOST;
  }
  free(file);
  free(folder);
  return status;
}
