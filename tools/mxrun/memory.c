/* Memory of a manifest that is no argument: allocations and variables at the addresses which they had in the run that
 * was recorded, since memory may hold pointers to memory. */
#include "manifest.h"
#include "mxrun.h"

#include "core/module.h"

#include <stdlib.h>

char *beside(const char *folder, const char *file) {
  return *file == '/' ? cli_strdup(file) : format("%s%s", folder, file);
}

bool data_beside(struct data *d, const char *folder, const char *text, char **why) {
  enum data_result made = data_generate(d, text, why);
  if (made != DATA_OTHER) return made == DATA_MADE;
  char *path = beside(folder, text);
  bool good = data_read(d, path, why);
  free(path);
  return good;
}

static char *failed(mx_device *d, const struct mmemory *a, mx_status s) {
  char *reason = failure_text(d, s), *why = format("line %u: %s", a->line, reason);
  free(reason);
  return why;
}

static bool is_constant(const struct mmemory *a) { return a->address >> MX_WINDOW_SHIFT == MX_WINDOW_CONST; }

/* The first variable of the program: where its module was loaded. Constant ones come behind all others. */
static unsigned first_variable(const struct manifest *m) {
  unsigned k = 0;
  while (k < m->nmemory && !m->memory[k].variable) k++;
  return k;
}

/* at: of a variable; 0: memory of its own. */
static char *fill(mx_device *d, const struct mmemory *a, const char *folder, mx_addr at) {
  struct data data = {0};
  char *why = NULL;
  mx_addr got = at;
  if (!data_beside(&data, folder, a->before, &why)) {
    char *all = format("line %u: %s", a->line, why);
    free(why);
    return all;
  }
  mx_status s = at ? MX_OK : mx_alloc_from(d, a->address);
  if (s == MX_OK && !at) s = mx_alloc(d, data.size, &got);
  if (s == MX_OK && got != a->address && !is_constant(a))
    why = a->variable
              ? format("line %u: the variable '%s' lies at 0x%llx", a->line, a->variable, (unsigned long long)at)
              : format("line %u: no memory can begin at 0x%llx", a->line, (unsigned long long)a->address);
  if (s == MX_OK && !why && data.size) s = mx_copy_to_device(d, got, data.bytes, data.size);
  data_free(&data);
  return s == MX_OK ? why : failed(d, a, s);
}

char *memory_before_program(mx_device *d, const struct manifest *m, const char *folder) {
  const unsigned first = first_variable(m);
  char *why = NULL;
  for (unsigned k = 0; k < first && !why; k++) why = fill(d, &m->memory[k], folder, 0);
  const mx_status s = !why && first < m->nmemory && !is_constant(&m->memory[first])
                          ? mx_alloc_from(d, m->memory[first].address)
                          : MX_OK;
  return s == MX_OK ? why : failed(d, &m->memory[first], s);
}

char *memory_behind_program(mx_device *d, mx_module *module, const struct manifest *m, const char *folder) {
  char *why = NULL;
  for (unsigned k = first_variable(m); k < m->nmemory && !why; k++) {
    const struct mmemory *a = &m->memory[k];
    mx_addr at = 0;
    if (a->variable && mx_module_symbol(module, a->variable, &at, NULL) != MX_OK)
      return format("line %u: the program has no variable '%s'", a->line, a->variable);
    why = fill(d, a, folder, at);
  }
  return why;
}

char *memory_compare(mx_device *d, const struct manifest *m, const char *folder) {
  char *why = NULL;
  for (unsigned k = 0; k < m->nmemory && !why; k++) {
    const struct mmemory *a = &m->memory[k];
    struct data want = {0}, got;
    char *difference = NULL;
    if (!a->after || !data_beside(&want, folder, a->after, &why)) continue;
    got = want;
    got.bytes = cli_alloc(want.size + 1);
    const mx_status s = want.size ? mx_copy_from_device(d, got.bytes, a->address, want.size) : MX_OK;
    if (s != MX_OK) why = failed(d, a, s);
    else if (!data_equal(&got, &want, -1, &difference))
      why = format("memory at 0x%llx (%s): %s", (unsigned long long)a->address, a->after, difference);
    free(difference);
    data_free(&got);
    data_free(&want);
  }
  return why;
}
