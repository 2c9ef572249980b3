/* mxrun test: runs launch manifests and compares what they leave with what they say. One device for each test. */
#include "manifest.h"
#include "mxrun.h"
#include "profile.h"

#include "asm/disassemble.h"
#include "vm/load/module.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { T_VERBOSE = O_COMMON, T_JOBS, T_FILTER, T_LIST, T_ROUND, T_STATS, T_JSON, T_COVERAGE, T_CHECK, T_SUPPRESS };
static const struct cli_option options[] = {COMMON_OPTIONS,
                                            {"verbose", 'v', CLI_NONE, T_VERBOSE},
                                            {"jobs", 'j', CLI_REQUIRED, T_JOBS},
                                            {"filter", 0, CLI_REQUIRED, T_FILTER},
                                            {"list", 0, CLI_NONE, T_LIST},
                                            {"round-trip", 0, CLI_NONE, T_ROUND},
                                            {"stats", 0, CLI_NONE, T_STATS},
                                            {"json", 0, CLI_NONE, T_JSON},
                                            {"coverage", 0, CLI_REQUIRED, T_COVERAGE},
                                            {"check", 0, CLI_OPTIONAL, T_CHECK},
                                            {"suppress", 0, CLI_REQUIRED, T_SUPPRESS},
                                            {0}};

enum result { PASSED, FAILED, REFUSED };
struct test {
  char *path;   /* of the manifest */
  char *folder; /* paths in it start here; ends with '/', or is "" */
  char *name;
  struct manifest m;
  enum result result;
  char *reason;
  struct text findings; /* for JSON: all of them, those that the manifest lists, too */
  double seconds;
  uint64_t warps_compiled, warps_interpreted, steps, steps_compiled;
};
struct suite {
  struct test **test; /* each on its own: 64 KB, which a longer list would have to move */
  size_t n, next, done, failed;
  struct machine machine;
  bool verbose, round_trip, json, terminal;
  struct suppressions suppressed;
  pthread_mutex_t lock;
  char **files;
  size_t nfiles; /* texts of manifests: strings of tests point into them */
};

/* ---- finding --------------------------------------------------------------------------------------------*/
static void add_manifests(struct suite *s, const char *path) {
  size_t size;
  const char *why = NULL;
  char *bytes = cli_read_file(path, 64 << 20, &size, &why);
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  char *at = bytes, *end = bytes ? bytes + size : NULL;
  unsigned line = 0, number = 0;
  if (bytes) {
    s->files = cli_realloc(s->files, (s->nfiles + 1) * sizeof *s->files);
    s->files[s->nfiles++] = bytes;
  }
  do {
    s->test = cli_realloc(s->test, (s->n + 1) * sizeof *s->test);
    struct test *t = s->test[s->n++] = cli_alloc(sizeof *t);
    t->path = cli_strdup(cli_file_name(path));
    t->folder = slash ? format("%.*s/", (int)(slash - path), path) : cli_strdup("");
    char *stem = cli_strdup(base), *dot = strrchr(stem, '.');
    if (dot && dot > stem) *dot = 0;
    if (!bytes) {
      t->reason = cli_strdup(why);
    } else {
      manifest_parse(&t->m, &at, end, &line, &t->reason);
    }
    if (t->reason) t->result = FAILED;
    t->name = t->m.name ? cli_strdup(t->m.name) : number ? format("%s#%u", stem, number + 1) : cli_strdup(stem);
    free(stem);
    number++;
    while (at < end && strchr(" \t\r\n", *at)) {
      if (*at == '\n') line++;
      at++;
    }
  } while (at < end);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void add_path(struct suite *s, const char *path, unsigned depth) {
  struct stat st;
  if (!strcmp(path, "-") || stat(path, &st) || !S_ISDIR(st.st_mode)) return add_manifests(s, path);
  DIR *dir = opendir(path);
  char **names = NULL;
  size_t n = 0;
  for (struct dirent *e; dir && (e = readdir(dir));) {
    if (e->d_name[0] == '.') continue;
    names = cli_realloc(names, (n + 1) * sizeof *names);
    names[n++] = format("%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", e->d_name);
  }
  if (dir) closedir(dir);
  if (n) qsort(names, n, sizeof *names, by_name);
  for (size_t k = 0; k < n; k++) {
    size_t len = strlen(names[k]);
    bool folder = !lstat(names[k], &st) && S_ISDIR(st.st_mode);
    if (folder ? depth < 32 : len > 7 && !strcmp(names[k] + len - 7, ".launch")) add_path(s, names[k], depth + 1);
    free(names[k]);
  }
  free(names);
}

/* ---- one test -------------------------------------------------------------------------------------------*/
static void on_output(void *user, const char *text, size_t size) { text_add(user, text, size); }
/* Failed assertions: no output of the program, and the trap tells of them. */
static void on_message(void *user, const char *text, size_t size) { (void)user, (void)text, (void)size; }

/* A file beside the manifest, or a made array. */
static bool get_data(const struct test *t, struct data *d, const char *text, char **why) {
  return data_beside(d, t->folder, text, why);
}

/* The program's text, its name for messages, and its size; malloc'ed. */
static char *get_program(const struct test *t, char **name, size_t *size, char **why) {
  const char *reason;
  if (t->m.inline_text) {
    char *copy = cli_alloc(t->m.inline_size + 1);
    memcpy(copy, t->m.inline_text, *size = t->m.inline_size);
    *name = cli_strdup(t->path);
    return copy;
  }
  *name = beside(t->folder, t->m.file);
  char *bytes = cli_read_file(*name, (size_t)1 << 30, size, &reason);
  if (!bytes) *why = format("%s: %s", *name, reason);
  return bytes;
}

/* The diagnostics of the program are the ones that the manifest lists, no more and no fewer. */
static char *check_diagnostics(struct test *t, const char *name, const char *text, size_t size) {
  mx_asm_options o = {.struct_size = sizeof(mx_asm_options), .file_name = name, .allow_include = true};
  mx_asm_result *r = mx_assemble(text, size, &o);
  if (!r) cli_no_memory();
  size_t nbytes;
  char *wrong = NULL;
  bool errors = false;
  for (size_t k = 0; k < mx_asm_diagnostic_count(r) && !wrong; k++) {
    const mx_asm_diagnostic *x = mx_asm_diagnostic_at(r, k);
    errors |= x->level == MX_ASM_ERROR;
    bool expected = x->level == MX_ASM_NOTE;
    for (unsigned j = 0; j < t->m.ndiags; j++) {
      struct mdiag *d = &t->m.diags[j];
      if (strcmp(d->id, x->id) || (d->at_line && d->at_line != x->line) || (d->at_col && d->at_col != x->col)) continue;
      d->found = expected = true;
    }
    if (!expected) wrong = format("unexpected diagnostic: %u:%u: %s [%s]", x->line, x->col, x->text, x->id);
  }
  for (unsigned j = 0; j < t->m.ndiags && !wrong; j++)
    if (!t->m.diags[j].found)
      wrong = format("line %u: the diagnostic '%s' did not come", t->m.diags[j].line, t->m.diags[j].id);
  if (!wrong && errors && mx_asm_bytes(r, &nbytes)) wrong = cli_strdup("bytes in spite of errors");
  mx_asm_free(r);
  return wrong;
}

/* assemble(disassemble(x)) == x */
static char *check_round_trip(const char *name, const char *text, size_t size) {
  mx_asm_options o = {.struct_size = sizeof(mx_asm_options), .file_name = name, .allow_include = true};
  mx_asm_result *r = mx_assemble(text, size, &o), *again = NULL;
  size_t n = 0, m = 0;
  const uint8_t *first = r ? mx_asm_bytes(r, &n) : NULL, *second = NULL;
  struct mx__image *image = NULL;
  char *why = NULL, *back = NULL;
  if (!first) {
    why = cli_strdup("round trip: it does not assemble");
  } else if (mx__image_read(first, n, &image, &why) == MX__LOAD_OK) {
    back = mx__disassemble(&image->image);
    again = back ? mx_assemble(back, strlen(back),
                               &(mx_asm_options){.struct_size = sizeof(mx_asm_options), .file_name = "<disassembly>"})
                 : NULL;
    second = again ? mx_asm_bytes(again, &m) : NULL;
    const mx_asm_diagnostic *first_error = mx_asm_diagnostic_at(again, 0);
    if (again && !second && first_error)
      why = format("round trip: the disassembly's line %u: %s: %s", first_error->line, first_error->text,
                   first_error->source_line ? first_error->source_line : "");
    else if (!second) cli_no_memory();
    else if (n != m || memcmp(first, second, n)) why = format("round trip: %zu bytes became %zu other ones", n, m);
  } else if (!why) {
    why = cli_strdup("round trip: the module cannot be read");
  }
  mx__image_free(image);
  free(back);
  if (again) mx_asm_free(again);
  if (r) mx_asm_free(r);
  return why;
}

static int by_line(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Lines of different warps may come in any order: equal as they are, or equal sorted. */
static bool same_lines(char *a, size_t na, char *b, size_t nb) {
  if (na == nb && !memcmp(a, b, na)) return true;
  char **lines[2] = {NULL, NULL}, *texts[2] = {a, b};
  size_t count[2] = {0, 0};
  for (int k = 0; k < 2; k++) {
    for (char *s = texts[k]; s && *s;) {
      lines[k] = cli_realloc(lines[k], (count[k] + 1) * sizeof **lines);
      lines[k][count[k]++] = s;
      s = strchr(s, '\n');
      if (s) *s++ = 0;
    }
    if (count[k]) qsort(lines[k], count[k], sizeof **lines, by_line);
  }
  bool same = count[0] == count[1];
  for (size_t k = 0; same && k < count[0]; k++) same = !strcmp(lines[0][k], lines[1][k]);
  free(lines[0]);
  free(lines[1]);
  return same;
}

/* "MX_TIME_LIMIT" and "TIME_LIMIT" */
static bool status_named(mx_status s, const char *name) {
  const char *full = mx_status_name(s);
  return !strcmp(full, name) || (!strncmp(full, "MX_", 3) && !strcmp(full + 3, name));
}

static char *check_end(struct test *t, mx_device *d, mx_status s) {
  char *text = s == MX_OK ? NULL : failure_text(d, s), *why = NULL;
  const struct manifest *m = &t->m;
  if (m->trap) {
    mx_trap_info trap = {.struct_size = sizeof trap};
    mx_device_trap(d, &trap);
    bool right = s == MX_TRAPPED ? !strcmp(mx_trap_kind_name(trap.kind), m->trap) || !strcmp(m->trap, "TRAPPED")
                                 : status_named(s, m->trap);
    if (!right)
      why = format("expected %s, the launch ended with %s", m->trap,
                   s == MX_TRAPPED ? mx_trap_kind_name(trap.kind) : mx_status_name(s));
    else if (m->trap_text && (!text || !strstr(text, m->trap_text)))
      why = format("expected '%s' in: %s", m->trap_text, text ? text : "");
  } else if (s != MX_OK) {
    why = text;
    text = NULL;
  }
  free(text);
  return why;
}

struct buffers {
  struct data data[MANIFEST_ARGS];
  mx_addr address[MANIFEST_ARGS], argument[MANIFEST_ARGS];
  struct image images[MANIFEST_IMAGES];
};

static char *make_images(struct test *t, mx_device *d, struct buffers *b) {
  for (unsigned k = 0; k < t->m.nimages; k++) {
    struct data texels = {0};
    char *why = NULL;
    if (!get_data(t, &texels, t->m.images[k].file, &why)) return why;
    why = image_create(d, &t->m.images[k], &texels, &b->images[k]);
    data_free(&texels);
    if (why) return why;
  }
  return NULL;
}
/* The number of a texture, surface or sampler argument. */
static char *make_object(struct test *t, mx_device *d, struct buffers *b, const struct marg *a, uint64_t *number) {
  struct image *i = &b->images[a->image];
  mx_status s = MX_OK;
  if (a->kind == MARG_SAMPLER) s = mx_sampler_create(d, &a->texture, number);
  else if (a->kind == MARG_SURF) {
    if (!i->surface) s = mx_surface_create(i->array, 0, &i->surface);
    *number = i->surface;
  } else {
    mx_texture_desc desc = a->texture;
    image_show(&t->m.images[a->image], i, &desc);
    s = mx_texture_create(d, &desc, number);
  }
  return s == MX_OK ? NULL : failure_text(d, s);
}

/* Buffers and the parameter block of one of the launches. */
static char *set_up(struct test *t, const struct mstage *stage, mx_device *d, mx_kernel *k, struct buffers *b,
                    unsigned char *params, uint32_t check) {
  struct manifest *m = &t->m;
  char *why = NULL;
  for (unsigned i = stage->first; i < stage->first + stage->nargs; i++) {
    struct marg *a = &m->args[i];
    mx_param_info p = {.struct_size = sizeof p};
    mx_kernel_get_param(k, i - stage->first, &p);
    bool buffer = a->kind <= MARG_SAME;
    const bool object = a->kind >= MARG_TEX;
    uint64_t size = buffer || object ? 8 : a->kind == MARG_SCALAR ? a->type->size : a->bytes;
    const struct marg *made = a->kind == MARG_SAME ? &m->args[a->same] : a;
    if (made->kind == MARG_CONST && p.size == 4) size = 4; /* offsets in the constant window fit */
    if (p.size != size)
      return format("line %u: the argument has %llu bytes, parameter %u has %u", a->line, (unsigned long long)size,
                    i - stage->first, p.size);
    if (a->kind == MARG_SCALAR) memcpy(params + p.offset, &a->bytes, p.size);
    if (a->kind == MARG_BYTES) memcpy(params + p.offset, a->raw, p.size);
    if (object) {
      uint64_t number;
      if ((why = make_object(t, d, b, a, &number))) return why;
      memcpy(params + p.offset, &number, sizeof number);
    }
    if (a->kind == MARG_SAME) memcpy(params + p.offset, &b->argument[a->same], p.size);
    if (!buffer || a->kind == MARG_SAME) continue;
    struct data *data = &b->data[i];
    if (a->text) {
      if (!get_data(t, data, a->text, &why)) return why;
    } else {
      data->size = a->bytes;
      data->bytes = malloc(a->bytes ? a->bytes : 1);
      if (!data->bytes) cli_no_memory();
      memset(data->bytes, m->poison, a->bytes);
    }
    mx_addr argument;
    mx_status s = a->kind == MARG_CONST ? mx_alloc_constant(d, data->size ? data->size : 1, &b->address[i], &argument)
                                        : mx_alloc(d, data->size ? data->size : 1, &b->address[i]);
    if (a->kind != MARG_CONST) argument = b->address[i];
    if (s == MX_OK && p.name) s = mx_allocation_set_name(d, b->address[i], p.name);
    const bool unset = !a->text || data->unset;
    if (check && unset) mx_device_check(d, 0); /* what is there from before is nothing that anybody wrote */
    if (s == MX_OK && data->size) s = mx_copy_to_device(d, b->address[i], data->bytes, data->size);
    if (check && unset) mx_device_check(d, check);
    if (s != MX_OK) return failure_text(d, s);
    b->argument[i] = argument;
    memcpy(params + p.offset, &argument, p.size);
  }
  return NULL;
}

static bool is_result(const struct marg *a) {
  return a->kind == MARG_OUT || a->kind == MARG_INOUT || (a->kind == MARG_SURF && a->is_result);
}
static char *compare_memory(struct test *t, mx_device *d, struct buffers *b) {
  struct manifest *m = &t->m;
  unsigned e = 0, outs = 0;
  for (unsigned i = 0; i < m->nargs; i++) outs += is_result(&m->args[i]);
  if (m->nexpects && m->nexpects != outs)
    return format("%u expectations for %u out and inout arguments and surfaces", m->nexpects, outs);
  for (unsigned i = 0; i < m->nargs && m->nexpects; i++) {
    const struct marg *a = &m->args[i];
    if (!is_result(a)) continue;
    struct mexpect *x = &m->expects[e++];
    struct data want = {0};
    char *why = NULL, *difference = NULL;
    if (a->kind == MARG_SURF) {
      b->data[i].size = image_bytes(&m->images[a->image]);
      b->data[i].bytes = cli_alloc(b->data[i].size + 1);
      if ((why = image_read_back(d, &m->images[a->image], &b->images[a->image], b->data[i].bytes))) return why;
    }
    mx_status s = a->kind == MARG_SURF ? MX_OK
                  : b->data[i].size    ? mx_copy_from_device(d, b->data[i].bytes, b->address[i], b->data[i].size)
                                       : MX_OK;
    if (s != MX_OK) return failure_text(d, s);
    if (!get_data(t, &want, x->text, &why)) return why;
    if (x->type) want.type = x->type;
    if (!data_equal(&b->data[i], &want, x->ulp, &difference))
      why = format("argument %u (%s): %s", i, x->text, difference);
    free(difference);
    data_free(&want);
    if (why) return why;
  }
  return NULL;
}

/* What the tools have found is what the manifest lists; a trap that it expects is no surprise. */
static char *compare_findings(struct test *t, mx_device *d, const struct suppressions *known) {
  const struct manifest *m = &t->m;
  bool seen[sizeof m->findings / sizeof *m->findings] = {false};
  char *why = NULL;
  mx_device_check_end(d);
  for (size_t k = 0; k < mx_device_findings(d) && !why; k++) {
    mx_finding f = {.struct_size = sizeof f};
    if (mx_device_finding(d, k, &f) != MX_OK) break;
    bool expected = finding_matches(known->at, known->n, &f) >= 0 || (m->trap && f.trap) || !f.count;
    for (unsigned n = 0; n < m->nfindings; n++)
      if (finding_matches((char *const *)&m->findings[n], 1, &f) >= 0) seen[n] = expected = true;
    if (expected) continue;
    char *name = finding_name(&f);
    why = format("check: %s: %s", name, f.text);
    free(name);
  }
  for (unsigned n = 0; n < m->nfindings && !why; n++)
    if (!seen[n]) why = format("check: not found: %s", m->findings[n]);
  return why;
}

/* One launch of the manifest; *status is how it ended. */
static char *run_stage(struct test *t, const struct suite *suite, const struct mstage *stage, mx_device *d,
                       mx_module *module, struct buffers *b, mx_status *status) {
  const struct manifest *m = &t->m;
  mx_kernel *k = NULL;
  if (!stage->kernel && mx_module_kernel_count(module) == 1) k = mx_module_kernel_at(module, 0);
  else if (!stage->kernel) return cli_strdup("no 'kernel' line, and not exactly one kernel in the program");
  else if (mx_module_kernel(module, stage->kernel, &k) != MX_OK)
    return format("there is no kernel '%s'", stage->kernel);
  mx_kernel_info info = {.struct_size = sizeof info};
  mx_kernel_get_info(k, &info);
  if (stage->nargs != info.params) return format("%u arguments, the kernel takes %u", stage->nargs, info.params);
  unsigned char *params = cli_alloc(info.param_bytes + 8);
  char *why = set_up(t, stage, d, k, b, params, suite->machine.check);
  if (!why) {
    mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
    machine_config(&c, &suite->machine);
    memcpy(c.grid, stage->grid, sizeof c.grid);
    memcpy(c.block, stage->block, sizeof c.block);
    memcpy(c.cluster, stage->cluster, sizeof c.cluster);
    c.shared_bytes = stage->shared;
    c.cooperative = stage->cooperative;
    if (m->threads) c.threads = m->threads;
    if (m->steps) c.steps = m->steps;
    if (m->timeout > 0) c.timeout = m->timeout;
    *status = mx_launch(k, &c, params, info.param_bytes);
    mx_launch_stats st = {.struct_size = sizeof st};
    if (mx_device_stats(d, &st) == MX_OK)
      t->warps_compiled += st.warps_compiled, t->warps_interpreted += st.warps_interpreted, t->steps += st.steps,
          t->steps_compiled += st.steps_compiled;
  }
  free(params);
  return why;
}

static char *run_on(struct test *t, const struct suite *suite, mx_device *d, const char *name, const char *text,
                    size_t size) {
  struct manifest *m = &t->m;
  mx_module *module = NULL;
  char *why = NULL, *said = NULL;
  if (m->stack) {
    uint64_t now = 0;
    mx_limit_get(d, MX_LIMIT_STACK, &now);
    if (m->stack > now) mx_limit_set(d, MX_LIMIT_STACK, m->stack);
  }
  for (unsigned k = 0; k < m->nlimits; k++) {
    mx_limit limit;
    uint64_t value;
    if (!parse_limit(m->limits[k], &limit, &value, &why)) return why;
    mx_status s = mx_limit_set(d, limit, value);
    if (s != MX_OK) return failure_text(d, s);
  }
  if (suite->machine.check) mx_device_check_source(d, name, text, size);
  if ((why = memory_before_program(d, m, t->folder))) return why;
  bool loaded = load_module(d, name, text, size, false, &module, &said);
  if (!loaded) {
    size_t n = said ? strlen(said) : 0;
    while (n && said[n - 1] == '\n') said[--n] = 0;
    if (m->refused && said && strstr(said, m->refused)) return free(said), NULL;
    if (m->refused) why = format("expected '%s' in: %s", m->refused, said ? said : "");
    return why ? (free(said), why) : said ? said : cli_strdup("it cannot be loaded");
  }
  free(said);
  struct buffers *b = cli_alloc(sizeof *b);
  struct text printed = {0};
  mx_device_set_output(d, on_output, &printed);
  mx_device_set_messages(d, on_message, NULL);
  mx_status s = MX_OK;
  why = memory_behind_program(d, module, m, t->folder);
  if (!why) why = make_images(t, d, b);
  for (unsigned n = 0; n < m->nstages && !why && s == MX_OK; n++)
    why = run_stage(t, suite, &m->stages[n], d, module, b, &s);
  if (!why && m->refused) {
    said = s == MX_OK ? NULL : failure_text(d, s);
    if (!said) why = format("expected a refusal with '%s', but it ran", m->refused);
    else if (!strstr(said, m->refused)) why = format("expected '%s' in: %s", m->refused, said);
    free(said);
  } else if (!why) {
    why = check_end(t, d, s);
    if (!why && s == MX_OK) why = compare_memory(t, d, b);
    if (!why && s == MX_OK) why = memory_compare(d, m, t->folder);
  }
  if (suite->machine.check && suite->json) tell_findings(d, &suite->suppressed, &t->findings);
  if (!why && suite->machine.check && !m->refused) why = compare_findings(t, d, &suite->suppressed);
  if (!why && m->stdout_file) {
    struct data want;
    if (get_data(t, &want, m->stdout_file, &why)) {
      want.bytes = cli_realloc(want.bytes, want.size + 1);
      want.bytes[want.size] = 0;
      if (!same_lines(printed.s, printed.n, (char *)want.bytes, want.size))
        why = format("stdout differs from %s", m->stdout_file);
      data_free(&want);
    }
  }
  text_free(&printed);
  for (unsigned i = 0; i < m->nargs; i++) data_free(&b->data[i]);
  free(b);
  return why;
}

/* Whether the manifest says that its program needs more than plain instructions, and the assembler knows one of these
 * and refuses it. Such a program says nothing about mx. */
static bool has_refused_instruction(const struct test *t, const char *name, const char *text, size_t size) {
  if (!t->m.nneeds) return false;
  mx_asm_options o = {.struct_size = sizeof(mx_asm_options), .file_name = name, .allow_include = true};
  mx_asm_result *r = mx_assemble(text, size, &o);
  if (!r) cli_no_memory();
  bool refused = false;
  for (size_t k = 0; k < mx_asm_diagnostic_count(r); k++)
    refused |= !strcmp(mx_asm_diagnostic_at(r, k)->id, "unsupported");
  mx_asm_free(r);
  return refused;
}

static void run_test(struct test *t, const struct suite *suite) {
  if (t->reason) return; /* a manifest that could not be read */
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  char *name = NULL, *why = NULL;
  size_t size = 0;
  char *text = get_program(t, &name, &size, &why);
  if (t->m.unknown) {
    free(why);
    why = cli_strdup(t->m.unknown);
  } else if (text && t->m.ndiags) {
    why = check_diagnostics(t, name, text, size);
  } else if (text) {
    if (suite->round_trip && !t->m.refused) why = check_round_trip(name, text, size);
    mx_device *d = why ? NULL : open_device(&suite->machine);
    if (!why && !d) why = cli_strdup("no device");
    if (d) why = run_on(t, suite, d, name, text, size);
    if (d) mx_device_destroy(d);
  }
  t->result = why ? FAILED : PASSED;
  if (why && text && has_refused_instruction(t, name, text, size)) {
    free(why);
    why = format("needs %s", t->m.needs[0]);
    t->result = REFUSED;
  }
  free(text);
  free(name);
  clock_gettime(CLOCK_MONOTONIC, &to);
  t->seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
  t->reason = why;
}

/* ---- all tests --------------------------------------------------------------------------------------------*/
/* What is shown of a reason without -v: a trap's text as a whole, but not so many errors of a program that the other
 * tests are out of sight. */
static size_t beginning(const char *reason) {
  size_t n = strcspn(reason, "\n");
  for (int lines = 1; lines < 12 && reason[n]; lines++) n += 1 + strcspn(reason + n + 1, "\n");
  return n;
}
static void report(const struct suite *s, const struct test *t) {
  if (s->json || (t->result == PASSED && !s->verbose)) return;
  bool color = cli_color(stdout);
  static const char *const words[] = {"ok", "FAILED", "refused"}, *const colors[] = {"\033[32m", "\033[31m",
                                                                                     "\033[33m"};
  struct text line = {0};
  text_printf(&line, "%s%s%s %s", color ? colors[t->result] : "", words[t->result], color ? "\033[0m" : "", t->name);
  if (t->result == FAILED) text_printf(&line, " (%s)", t->path);
  if (t->reason) {
    const size_t n = s->verbose ? strlen(t->reason) : beginning(t->reason);
    text_printf(&line, ": %.*s%s", (int)n, t->reason, t->reason[n] ? "\n  ... (all of it with -v)" : "");
  }
  while (line.n && line.s[line.n - 1] == '\n') line.s[--line.n] = 0;
  text_printf(&line, "\n");
  cli_fold(stdout, line.s);
  free(line.s);
}

static void *worker(void *user) {
  struct suite *s = user;
  pthread_mutex_lock(&s->lock);
  while (s->next < s->n) {
    struct test *t = s->test[s->next++];
    pthread_mutex_unlock(&s->lock);
    run_test(t, s);
    pthread_mutex_lock(&s->lock);
    s->done++;
    s->failed += t->result == FAILED;
    if (s->terminal) fputs("\r\033[K", stderr);
    report(s, t);
    fflush(stdout);
    if (s->terminal) fprintf(stderr, "%zu/%zu%s %.60s", s->done, s->n, s->failed ? ", some failed" : "", t->name);
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

static void print_json(const struct suite *s, size_t passed, size_t refused) {
  static const char *const words[] = {"passed", "failed", "refused"};
  struct text t = {0};
  text_printf(&t, "{\"passed\": %zu, \"failed\": %zu, \"refused\": %zu, \"tests\": [", passed, s->failed, refused);
  for (size_t k = 0; k < s->n; k++) {
    text_printf(&t, "%s\n {\"name\": ", k ? "," : "");
    text_json(&t, s->test[k]->name);
    text_printf(&t, ", \"manifest\": ");
    text_json(&t, s->test[k]->path);
    text_printf(&t, ", \"result\": \"%s\", \"seconds\": %.6f", words[s->test[k]->result], s->test[k]->seconds);
    if (s->test[k]->reason) text_printf(&t, ", \"reason\": "), text_json(&t, s->test[k]->reason);
    if (s->test[k]->findings.s) text_printf(&t, ", \"findings\": %s", s->test[k]->findings.s);
    text_printf(&t, "}");
  }
  text_printf(&t, "\n]}\n");
  fwrite(t.s, 1, t.n, stdout);
  text_free(&t);
}

int command_test(int argc, char **argv, int next) {
  struct suite s = {.machine = {.timeout = 60}, .lock = PTHREAD_MUTEX_INITIALIZER};
  const char *value, *filter = NULL, *coverage = NULL;
  bool list = false, stats = false;
  uint64_t jobs = 1;
  size_t paths = 0;
  struct cli c = {.tool = "mxrun", .options = options, .argc = argc, .argv = argv, .next = next};
  for (int id; (id = cli_next(&c, &value)) != CLI_END;) switch (id) {
    case CLI_WORD: add_path(&s, value, 0), paths++; break;
    case T_VERBOSE: s.verbose = true; break;
    case T_JOBS:
      if (!cli_number(value, 256, &jobs) || !jobs)
        cli_usage("mxrun", "--jobs: '%s' is not a number from 1 to 256", value);
      break;
    case T_FILTER: filter = value; break;
    case T_LIST: list = true; break;
    case T_ROUND: s.round_trip = true; break;
    case T_STATS: stats = true; break;
    case T_JSON: s.json = true; break;
    case T_COVERAGE: coverage = value; break;
    case T_CHECK:
      s.machine.check = MX_CHECK_ALL;
      if (value && !parse_tools(value, &s.machine.check))
        cli_usage("mxrun", "--check: '%s' is not memory, uninit, race, sync or lanes", value);
      break;
    case T_SUPPRESS: read_suppressions(&s.suppressed, value); break;
    default: common_option(id, value, &s.machine);
    }
  if (!paths) cli_usage("mxrun", "test: no manifest or folder given");
  const struct profile_wish wanted = {.quiet = true, .no_memory = true, .coverage = coverage};
  size_t kept = 0;
  for (size_t k = 0; k < s.n; k++) {
    if (!filter || strstr(s.test[k]->name, filter)) {
      struct test *t = s.test[kept];
      s.test[kept++] = s.test[k];
      s.test[k] = t;
    }
  }
  size_t all = s.n;
  s.n = kept;
  int status = CLI_DONE;
  if (list) {
    for (size_t k = 0; k < s.n; k++) printf("%s\n", s.test[k]->name);
  } else if (!s.n) {
    fprintf(stderr, "mxrun: no tests there\n");
    status = CLI_REFUSED;
  } else {
    s.terminal = isatty(STDERR_FILENO);
    if (coverage) s.machine.profile = profile_new(&wanted);
    pthread_t thread[256];
    size_t started = 0;
    while (started + 1 < jobs && started + 1 < s.n && !pthread_create(&thread[started], NULL, worker, &s)) started++;
    worker(&s);
    for (size_t k = 0; k < started; k++) pthread_join(thread[k], NULL);
    if (s.terminal) fputs("\r\033[K", stderr);
    size_t refused = 0;
    uint64_t compiled = 0, interpreted = 0, steps = 0, in_code = 0;
    for (size_t k = 0; k < s.n; k++) {
      refused += s.test[k]->result == REFUSED;
      compiled += s.test[k]->warps_compiled, interpreted += s.test[k]->warps_interpreted;
      steps += s.test[k]->steps, in_code += s.test[k]->steps_compiled;
    }
    size_t passed = s.n - s.failed - refused;
    fflush(stdout);
    if (stats)
      fprintf(stderr, "%llu warps ran compiled code, %llu never did; %llu steps, %llu of them compiled\n",
              (unsigned long long)compiled, (unsigned long long)interpreted, (unsigned long long)steps,
              (unsigned long long)in_code);
    if (s.json) print_json(&s, passed, refused);
    else {
      if (refused) printf("%zu refused\n", refused);
      printf("%zu passed, %zu failed\n", passed, s.failed);
    }
    if (s.failed) status = CLI_REFUSED;
    const int written = coverage ? profile_show(&wanted, s.machine.profile, NULL) : CLI_DONE;
    if (status == CLI_DONE) status = written;
  }
  mx_profile_destroy(s.machine.profile);
  for (size_t k = 0; k < all; k++) {
    manifest_free(&s.test[k]->m);
    free(s.test[k]->path), free(s.test[k]->folder), free(s.test[k]->name), free(s.test[k]->reason);
    text_free(&s.test[k]->findings);
    free(s.test[k]);
  }
  for (size_t k = 0; k < s.nfiles; k++) free(s.files[k]);
  free_suppressions(&s.suppressed);
  free(s.files);
  free(s.test);
  return status;
}
