/* Devices and modules for the commands: text is assembled in memory, bytes are loaded as they are. */
#include "mxrun.h"

#include "mx/asm.h"

#include <stdlib.h>
#include <string.h>

char *failure_text(mx_device *d, mx_status s) {
  char *text = d ? mx_last_error_text(d) : NULL;
  return text ? text : cli_strdup(mx_status_text(s));
}

const char *const limit_names[MX_LIMIT_COUNT] = {
    [MX_LIMIT_STACK] = "stack_bytes",     [MX_LIMIT_PRINTF_FIFO] = "printf_fifo_bytes",
    [MX_LIMIT_HEAP] = "heap_bytes",       [MX_LIMIT_RESIDENT_BLOCKS] = "resident_blocks",
    [MX_LIMIT_CALL_DEPTH] = "call_depth", [MX_LIMIT_CONSTANT] = "constant_bytes"};

bool parse_limit(const char *text, mx_limit *limit, uint64_t *value, char **why) {
  const size_t n = strcspn(text, "=");
  unsigned k = 0;
  while (k < MX_LIMIT_COUNT && (strlen(limit_names[k]) != n || memcmp(limit_names[k], text, n))) k++;
  *limit = (mx_limit)k;
  if (k < MX_LIMIT_COUNT && text[n] && cli_number(text + n + 1, UINT64_MAX, value)) return true;
  struct text names = {0};
  for (k = 0; k < MX_LIMIT_COUNT; k++) text_printf(&names, "%s%s", k ? ", " : "", limit_names[k]);
  *why = format("'%s' is not NAME=NUMBER with one of these names: %s", text, names.s);
  text_free(&names);
  return false;
}

mx_device *open_device(const struct machine *m) {
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  o.threads = m->threads;
  o.jit = m->jit;
  o.beside = m->beside;
  if (m->no_cache) o.cache_dir = "";
  mx_device *d = NULL;
  mx_status s = mx_device_create(&o, &d);
  for (unsigned k = 0; k < MX_LIMIT_COUNT && s == MX_OK; k++)
    if (m->limits >> k & 1) s = mx_limit_set(d, (mx_limit)k, m->limit[k]);
  if (s == MX_OK && m->check) s = mx_device_check(d, m->check);
  if (s == MX_OK) return d;
  const char *level = getenv("MX_LEVEL");
  char *why = d || s != MX_UNSUPPORTED ? failure_text(d, s)
              : level                  ? format("MX_LEVEL=%s is no level of this processor and this build", level)
                                       : cli_strdup("this build has no code for this processor, which lacks SSE4.2 and "
                                                                     "POPCNT; 'make LEVELS=plain' builds for any");
  fprintf(stderr, "mxrun: no device: %s\n", why);
  free(why);
  if (d) mx_device_destroy(d);
  return NULL;
}

int exit_status_of(mx_device *d, mx_status s) {
  mx_trap_info trap = {.struct_size = sizeof trap};
  switch (s) {
  case MX_OK: return CLI_DONE;
  case MX_TRAPPED:
    if (mx_device_trap(d, &trap) == MX_OK && trap.kind == MX_TRAP_HOST_MEMORY) return CLI_HOST;
    return CLI_TRAPPED;
  case MX_STEP_LIMIT:
  case MX_TIME_LIMIT:
  case MX_INTERRUPTED: return CLI_TRAPPED;
  case MX_OUT_OF_MEMORY:
  case MX_HOST_FAILURE:
  case MX_JIT_FAILURE: return CLI_HOST;
  default: return CLI_REFUSED;
  }
}

/* Whether the bytes are a module, by its first four bytes and not by the file's suffix; all else is text to assemble.
 */
static bool is_container(const char *bytes, size_t size) { return size >= 4 && !memcmp(bytes, "MXB\n", 4); }

bool load_module(mx_device *d, const char *name, const char *bytes, size_t size, bool color, mx_module **module,
                 char **text) {
  struct text t = {0};
  mx_asm_result *r = NULL;
  const void *container = bytes;
  size_t ncontainer = size;
  *module = NULL;
  if (!is_container(bytes, size)) {
    mx_asm_options o = {.struct_size = sizeof(mx_asm_options), .file_name = name, .allow_include = true};
    r = mx_assemble(bytes, size, &o);
    if (!r) cli_no_memory();
    size_t errors = 0;
    for (size_t k = 0; k < mx_asm_diagnostic_count(r); k++) {
      const mx_asm_diagnostic *x = mx_asm_diagnostic_at(r, k);
      char *s = mx_asm_format(x, color);
      errors += x->level == MX_ASM_ERROR;
      if (!s || errors > 20) {
        free(s);
        continue;
      }
      text_add(&t, s, strlen(s));
      if (t.n && t.s[t.n - 1] != '\n') text_add(&t, "\n", 1);
      free(s);
    }
    if (errors > 1) text_printf(&t, "%zu errors\n", errors);
    container = mx_asm_bytes(r, &ncontainer);
  }
  if (container) {
    mx_status s = mx_module_load_data(d, container, ncontainer, module);
    if (s == MX_OUT_OF_MEMORY) cli_no_memory();
    if (s != MX_OK) {
      char *why = failure_text(d, s);
      text_printf(&t, "%s: %s\n", name, why);
      free(why);
    }
  }
  if (r) mx_asm_free(r);
  *text = t.s;
  return *module != NULL;
}

mx_kernel *kernel_of(mx_module *module, const char *name, const char *file, int *status) {
  mx_kernel *k = NULL;
  size_t n = mx_module_kernel_count(module);
  *status = CLI_REFUSED;
  if (name && mx_module_kernel(module, name, &k) == MX_OK) return k;
  if (!name && n == 1) return mx_module_kernel_at(module, 0);
  fprintf(stderr, "mxrun: %s: ", file);
  if (!n) {
    fprintf(stderr, "there is no kernel in it\n");
    return NULL;
  }
  if (name) fprintf(stderr, "no kernel '%s'; there %s", name, n == 1 ? "is" : "are");
  else fprintf(stderr, "say which kernel with -k; there are"), *status = CLI_USAGE;
  for (size_t i = 0; i < n && i < 40; i++) {
    mx_kernel_info info = {.struct_size = sizeof info};
    mx_kernel_get_info(mx_module_kernel_at(module, i), &info);
    fprintf(stderr, "%s %s", i ? "," : "", info.name);
  }
  fprintf(stderr, "%s\n", n > 40 ? ", ..." : "");
  return NULL;
}

mx_module *load_program(mx_device *d, const char *name, const char *bytes, size_t size, int *status) {
  mx_module *module;
  char *text;
  load_module(d, name, bytes, size, cli_color(stderr), &module, &text);
  if (text) fputs(text, stderr);
  free(text);
  *status = CLI_REFUSED;
  return module;
}

void kernel_shape(mx_kernel *kernel, mx_launch_config *config, bool block_given) {
  mx_kernel_info info = {.struct_size = sizeof info};
  mx_kernel_get_info(kernel, &info);
  if (!block_given && info.reqntid[0])
    for (int k = 0; k < 3; k++) config->block[k] = info.reqntid[k] ? info.reqntid[k] : 1;
  else if (!block_given && grid_is_auto(config)) {
    uint32_t grid; /* is not used: an automatic grid follows the array's size */
    mx_occupancy_block_size(kernel, config->shared_bytes, &grid, &config->block[0]);
  }
  if (info.cooperative) config->cooperative = true;
  if (!config->cluster[0]) memcpy(config->cluster, info.cluster, sizeof config->cluster);
}
