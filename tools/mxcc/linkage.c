/* Changes the linkage of variables in LLVM code that clang has written, as text and before it is optimised.
 *
 * On the device: a variable in an unnamed namespace, or of an unnamed type, has internal linkage, so the optimiser
 * takes it to be used by kernels alone and may replace it by its initial value. But the host can change it by name,
 * with cudaMemcpyToSymbol. So it becomes a variable that may be initialised from outside.
 *
 * On the host: each variable of the device has a host variable, by whose address the program names it, and which is
 * internal to its file. With device code across files (-rdc=true) a file may name one that another file defines. So it
 * becomes visible to other files, weak because those of templates are in several.
 *
 * This file does not know how clang is run. */
#include "mxcc.h"

#include <stdlib.h>
#include <string.h>

static bool takes(const char **p, const char *word) {
  const size_t n = strlen(word);
  if (strncmp(*p, word, n)) return false;
  *p += n;
  return true;
}

/* What follows a name, which begins with @. */
static const char *behind_name(const char *name) {
  if (name[1] != '"') return name + 1 + strcspn(name + 1, " ,)\n");
  const char *end = strchr(name + 2, '"');
  return end ? end + 1 : name + strlen(name);
}

/* Rewrites a line that defines a device's variable; false: it is to stay. Variables of functions stay (_ZZ begins their
 * names): the host cannot name them. */
static bool on_device(const char *line, struct text *out) {
  const char *end = behind_name(line), *p = end, *space;
  if (!strncmp(line, "@_ZZ", 4) || !takes(&p, " = internal ")) return false;
  space = p;
  if (!takes(&p, "addrspace(1) ") && !takes(&p, "addrspace(4) ")) return false;
  const bool constant = takes(&p, "constant ");
  if (!constant && !takes(&p, "global ")) return false;
  text_printf(out, "%.*s = ", (int)(end - line), line);
  if (constant) text_add(out, space, (size_t)(p - space));
  else text_printf(out, "%.12s externally_initialized global ", space);
  text_add(out, p, strcspn(p, "\n"));
  return true;
}

/* Rewrites a line that defines a host variable which is registered for one of the device; false: it is to stay. Those
 * that the source itself declares static, or puts into an unnamed namespace, stay. */
static bool on_host(const char *line, const struct words *registered, struct text *out) {
  const char *end = behind_name(line), *p = end;
  const size_t n = (size_t)(end - line);
  if (!takes(&p, " = internal ") || !strncmp(line, "@_ZL", 4) || memmem(line, n, "_GLOBAL__N_", 11)) return false;
  for (size_t k = 0; k < registered->n; k++)
    if (strlen(registered->v[k]) == n && !memcmp(registered->v[k], line, n)) {
      text_printf(out, "%.*s = weak ", (int)n, line);
      text_add(out, p, strcspn(p, "\n"));
      return true;
    }
  return false;
}

/* `call void @__cudaRegisterVar(ptr %0, ptr @ext, ...`, with a cast around the name in older versions */
static void find_registered(const char *code, struct words *names) {
  static const char call[] = "call void @__cudaRegisterVar(";
  for (const char *p = code; (p = strstr(p, call));) {
    p += sizeof call - 1;
    const char *name = strchr(p, '@');
    if (!name) return;
    char *copy = strndup(name, (size_t)(behind_name(name) - name));
    if (!copy) cli_no_memory();
    words_add(names, copy);
    free(copy);
  }
}

char *with_linkage(const char *code, bool device, size_t *size) {
  struct text out = {0};
  struct words registered = {0};
  if (!device) find_registered(code, &registered);
  for (const char *line = code; *line;) {
    const size_t n = strcspn(line, "\n");
    if (*line != '@' || !(device ? on_device(line, &out) : on_host(line, &registered, &out))) text_add(&out, line, n);
    line += n;
    if (*line) text_add(&out, line++, 1);
  }
  words_free(&registered);
  if (!out.s) text_add(&out, "", 0);
  *size = out.n;
  return out.s;
}
