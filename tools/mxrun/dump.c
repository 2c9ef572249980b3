/* --jit-dump: the assembly of a kernel's compiled code, with the lines of its source where their instructions begin. */
#include "mxrun.h"

#include "jit/runtime/jit.h"
#include "vm/load/module.h"
#include "vm/exec/trap.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const char *line_of_text(const char *text, size_t size, uint32_t number, int *length) {
  const char *p = text, *end = text + size;
  while (--number && p) p = memchr(p, '\n', (size_t)(end - p)), p = p ? p + 1 : NULL;
  *length = 0;
  if (!p || p >= end) return "";
  while (p < end && (*p == ' ' || *p == '\t')) p++;
  const char *stop = memchr(p, '\n', (size_t)(end - p));
  *length = (int)((stop ? stop : end) - p);
  return p;
}

static void annotate(FILE *to, char *assembly, const mx_module *m, const char *name, const char *text, size_t size) {
  for (char *line = assembly, *next; line && *line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = 0;
    unsigned f, pc;
    const struct mx_image *image = &m->image->image;
    if (sscanf(line, " # mx %u %u", &f, &pc) == 2 && f < image->nfuncs && pc < image->funcs[f].ncode) {
      const char *file;
      uint32_t number;
      int length = 0;
      mx__line_of(image, f, pc, &file, &number);
      const char *spelled = file && !strcmp(file, name) ? line_of_text(text, size, number, &length) : "";
      if (!length) spelled = mx__ops[mx_w_op(image->funcs[f].code[pc])].id, length = (int)strlen(spelled);
      if (file) fprintf(to, "# %s:%u: %.*s\n", file, number, length, spelled);
      else fprintf(to, "# %s+%u: %.*s\n", image->funcs[f].name, pc, length, spelled);
    } else if (strncmp(line, "#APP", 4) && strncmp(line, "#NO_APP", 7)) { /* around every asm statement: no news */
      fprintf(to, "%s\n", line);
    }
  }
}

/* Runs the compiler on the module; false: *why is malloc'ed. */
static bool assemble(const mx_kernel *k, int out, char **why) {
  char *compiler = mx__jit_find_compiler(NULL), number[16], to[32], from[32];
  const int in = memfd_create("module", 0);
  pid_t pid;
  int status = 1;
  bool good = false;
  snprintf(number, sizeof number, "%u", k->func);
  snprintf(to, sizeof to, "/dev/fd/%d", out); /* both are inherited */
  snprintf(from, sizeof from, "/dev/fd/%d", in);
  const char *level = mx__jit_level();
  char *argv[] = {compiler, (char *)"--asm", (char *)"--level", (char *)level, (char *)"-o", to, from, number, NULL};
  if (!level) *why = cli_strdup("no code is made for this CPU's level");
  else if (!compiler) *why = cli_strdup("mx-jitc was not found");
  else if (in < 0 || write(in, k->module->bytes, k->module->size) != (ssize_t)k->module->size)
    *why = cli_strdup(strerror(errno));
  else if (posix_spawn(&pid, compiler, NULL, NULL, argv, environ)) *why = format("%s: %s", compiler, strerror(errno));
  else if (waitpid(pid, &status, 0) != pid || status) *why = format("%s failed", compiler);
  else good = true;
  if (in >= 0) close(in);
  free(compiler);
  return good;
}

bool dump_code(const mx_kernel *k, const char *path, const char *name, const char *text, size_t size, char **why) {
  *why = NULL;
  const int out = memfd_create("assembly", 0);
  bool good = out >= 0 && assemble(k, out, why);
  const off_t length = good ? lseek(out, 0, SEEK_END) : 0;
  char *assembly = cli_alloc((size_t)length + 1);
  good = good && pread(out, assembly, (size_t)length, 0) == (ssize_t)length;
  FILE *to = !good ? NULL : strcmp(path, "-") ? fopen(path, "we") : stdout;
  if (to) annotate(to, assembly, k->module, name, text, size);
  if (good && (!to || (to == stdout ? fflush(to) : fclose(to))))
    *why = format("%s: %s", path, strerror(errno)), good = false;
  if (out >= 0) close(out);
  free(assembly);
  if (!good && !*why) *why = cli_strdup("the assembly cannot be read");
  return good;
}
