/* The program of a session: reading, assembling with a slot for every name, arguments on a fresh device. */
#include "repl.h"

#include "mx/asm.h"

#include <stdlib.h>
#include <string.h>

void print_out(struct repl *r, const char *text, size_t size) {
  (void)r;
  fwrite(text, 1, size, stdout);
}
static void on_output(void *user, const char *text, size_t size) { print_out(user, text, size); }

static bool is_module(const char *bytes, size_t size) { return size >= 4 && !memcmp(bytes, "MXB\n", 4); }

/* Text becomes a module; *made: to be freed with mx_asm_free, or NULL. */
static const void *assembled(struct repl *r, size_t *size, mx_asm_result **made) {
  *made = NULL;
  *size = r->size;
  if (is_module(r->bytes, r->size)) return r->bytes;
  mx_asm_options o = {
      .struct_size = sizeof(mx_asm_options), .file_name = r->file, .allow_include = true, .one_slot_per_name = true};
  *made = mx_assemble(r->bytes, r->size, &o);
  fflush(stdout);
  for (size_t k = 0; k < mx_asm_diagnostic_count(*made) && k < 20; k++) {
    char *s = mx_asm_format(mx_asm_diagnostic_at(*made, k), r->color);
    if (s) fprintf(stderr, "%s%s", s, *s && s[strlen(s) - 1] != '\n' ? "\n" : "");
    free(s);
  }
  const void *bytes = *made ? mx_asm_bytes(*made, size) : NULL;
  if (!bytes) complain(r, "%s was not assembled", r->file);
  return bytes;
}

static bool pick_kernel(struct repl *r) {
  size_t n = mx_module_kernel_count(r->module);
  r->kernel = NULL;
  if (r->kernel_name && mx_module_kernel(r->module, r->kernel_name, &r->kernel) == MX_OK) return true;
  if (r->kernel_name) return complain(r, "no kernel '%s' in %s", r->kernel_name, r->file);
  if (n == 1) return r->kernel = mx_module_kernel_at(r->module, 0), true;
  return complain(r, n ? "%s has %zu kernels: say which with 'kernel NAME'" : "there is no kernel in %s", r->file, n);
}

bool target_bind(struct repl *r) {
  mx_asm_result *made = NULL;
  size_t size;
  launch_end(r);
  if (!r->bytes) return complain(r, "no program: 'load FILE', or type instructions");
  free_args(&r->args);
  r->args = (struct args){0};
  r->kernel = NULL;
  r->module = NULL;
  mx_status s = mx_device_reset(r->d);
  if (s != MX_OK) return complain_status(r, s);
  s = mx_device_check(r->d, r->machine.check);
  if (s != MX_OK) return complain_status(r, s);
  if (r->machine.check && !is_module(r->bytes, r->size)) mx_device_check_source(r->d, r->file, r->bytes, r->size);
  r->seen = 0;
  mx_device_set_output(r->d, on_output, r);
  const void *bytes = assembled(r, &size, &made);
  const bool placed = bytes && manifest_memory(r, NULL);
  if (placed) s = mx_module_load_data(r->d, bytes, size, &r->module);
  if (made) mx_asm_free(made);
  if (!placed) return false;
  if (s != MX_OK) return complain_status(r, s);
  if (!manifest_memory(r, r->module) || !pick_kernel(r)) return false;
  char *why = try_args(&r->args, r->d, r->kernel, r->words, r->nwords);
  if (!why) {
    kernel_shape(r->kernel, &r->config, !grid_is_auto(&r->config) || r->config.block[0] > 1);
    auto_grid(&r->args, &r->config);
    r->unused = true;
    for (size_t k = 0; k < r->nwords; k++) r->unused &= !strchr(r->words[k], '@'); /* a file may change before 'run' */
    return true;
  }
  complain(r, "%s", why);
  free(why);
  return false;
}

bool target_fresh(struct repl *r) {
  bool good = r->unused || target_bind(r);
  r->unused = false;
  return good;
}

void target_free(struct repl *r) {
  launch_end(r);
  listing_free(r);
  manifest_forget(r);
  free_args(&r->args);
  r->args = (struct args){0};
  free(r->bytes);
  r->bytes = NULL;
  for (size_t k = 0; k < r->nwords; k++) free(r->words[k]);
  free(r->words);
  r->words = NULL;
  r->nwords = 0;
}

struct repl *repl_copy(const struct repl *r) {
  struct repl *o = cli_alloc(sizeof *o);
  *o = (struct repl){.machine = r->machine,
                     .config = r->config,
                     .file = r->file,
                     .bytes = r->bytes,
                     .size = r->size,
                     .kernel_name = r->kernel_name,
                     .words = r->words,
                     .nwords = r->nwords,
                     .from = r->from,
                     .seed = r->seed,
                     .hang_turns = r->hang_turns};
  o->machine.check = 0;
  o->d = open_device(&o->machine);
  return o;
}

void repl_copy_free(struct repl *o) {
  o->file = o->bytes = o->kernel_name = NULL; /* those of the session */
  o->words = NULL, o->nwords = 0, o->from = NULL;
  target_free(o);
  if (o->d) mx_device_destroy(o->d);
  free(o);
}

bool target_text(struct repl *r, const char *name, const char *text, size_t size) {
  char *copy = cli_alloc(size + 1), *file = cli_strdup(name);
  memcpy(copy, text, size);
  copy[size] = 0;
  launch_end(r);
  listing_free(r);
  free(r->bytes);
  free(r->file);
  r->bytes = copy, r->size = size, r->file = file;
  return true;
}

bool target_load(struct repl *r, const char *path) {
  const char *why, *dot = strrchr(path, '.');
  size_t size;
  if (dot && !strcmp(dot, ".launch")) return manifest_load(r, path);
  char *bytes = cli_read_file(path, (size_t)1 << 30, &size, &why);
  if (!bytes) return complain(r, "%s: %s", path, why);
  calc_free(r);
  target_text(r, cli_file_name(path), bytes, size);
  free(bytes);
  return true;
}

static void set_words(struct repl *r, char *arguments) {
  for (size_t k = 0; k < r->nwords; k++) free(r->words[k]);
  r->nwords = 0;
  for (char *w; (w = next_word(&arguments));) {
    r->words = cli_realloc(r->words, (r->nwords + 1) * sizeof *r->words);
    r->words[r->nwords++] = cli_strdup(w);
  }
}

bool do_load(struct repl *r, char *arguments) {
  char *path = next_word(&arguments);
  if (!path) return complain(r, "load what file?");
  char *same = cli_strdup(path);
  bool other = !r->file || strcmp(r->file, same);
  if (other) manifest_forget(r);
  bool good = target_load(r, same);
  free(same);
  if (good && other && !r->from) {
    free(r->kernel_name);
    r->kernel_name = NULL;
    set_words(r, (char[]){""});
  }
  return good;
}

bool do_reload(struct repl *r, char *arguments) {
  (void)arguments;
  if (r->calc || !r->file) return complain(r, "no file is loaded");
  char *path = cli_strdup(r->file);
  bool good = target_load(r, path);
  free(path);
  return good;
}

bool do_kernel(struct repl *r, char *arguments) {
  char *name = next_word(&arguments);
  if (!name) return complain(r, "which kernel?");
  launch_end(r);
  free(r->kernel_name);
  r->kernel_name = cli_strdup(name);
  return true;
}

bool do_args(struct repl *r, char *arguments) {
  if (*arguments) {
    launch_end(r);
    set_words(r, arguments);
  }
  for (size_t k = 0; k < r->nwords; k++) printf("%s%s", r->words[k], k + 1 < r->nwords ? " " : "\n");
  return true;
}

static bool shape(const char *s, uint32_t v[3]) {
  char *copy = cli_strdup(s), *at = copy, *one;
  unsigned k = 0;
  uint64_t x = 0;
  bool good = true;
  v[0] = v[1] = v[2] = 1;
  for (; good && (one = strsep(&at, ",")); k++) {
    good = k < 3 && cli_number(one, UINT32_MAX, &x) && x;
    if (good) v[k] = (uint32_t)x;
  }
  free(copy);
  return good;
}

bool do_launch(struct repl *r, char *arguments) {
  char *grid = next_word(&arguments), *block = next_word(&arguments), *shared = next_word(&arguments);
  mx_launch_config c = r->config;
  uint64_t bytes = c.shared_bytes;
  if (!grid || !block || !shape(grid, c.grid) || !shape(block, c.block) ||
      (shared && !cli_number(shared, UINT32_MAX, &bytes)))
    return complain(r, "expected GRID BLOCK [SHARED], as in 'launch 4,4 256'");
  launch_end(r);
  c.shared_bytes = (uint32_t)bytes;
  r->config = c;
  return true;
}
