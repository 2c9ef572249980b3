/* What the tests of textures and of surfaces against models have in common: a device, random numbers, kinds of images,
 * and the rows of the guides' list (docs/guide.tsv) that they run, so that none is left out. Knows the public interface
 * only. */
#ifndef MX_TESTS_MODELS_H
#define MX_TESTS_MODELS_H

#include "mx/text.h"
#include "mx/texture.h"
#include "on_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 7;
static inline uint32_t draw(uint32_t n) {
  state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
  return (uint32_t)(state >> 33) % n;
}

/* ---- kinds of images ----------------------------------------------------------------------------------------------*/
static inline bool is_cube(mx_array_kind k) { return k == MX_ARRAY_CUBE || k == MX_ARRAY_CUBE_LAYERED; }
static inline bool is_layered(mx_array_kind k) {
  return k == MX_ARRAY_1D_LAYERED || k == MX_ARRAY_2D_LAYERED || k == MX_ARRAY_CUBE_LAYERED;
}
static const char *const geometries[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};

struct format {
  mx_texel_type type;
  uint32_t bits;
};

/* ---- the guides' rows ---------------------------------------------------------------------------------------------*/
/* A row is one of the guides' declarations: its name, and what stands in the brackets behind it. */
struct guide_row {
  char text[400], name[48];
  bool reference; /* not an object's number: a variable's name */
};
enum { MOST_ROWS = 64 };
static inline size_t guide_rows(const char *group, struct guide_row *rows) {
  size_t n = 0;
  char line[1000];
  FILE *f = fopen("docs/guide.tsv", "r");
  if (!f) fail_msg("no docs/guide.tsv: this test runs in the project's folder");
  while (fgets(line, sizeof line, f)) {
    char *declaration = strchr(line, '\t'), *spelling = declaration ? strchr(declaration + 1, '\t') : NULL;
    if (!spelling) continue;
    *declaration = *spelling = 0;
    if (strcmp(line, group)) continue;
    assert_true(n < MOST_ROWS);
    struct guide_row *r = &rows[n++];
    snprintf(r->text, sizeof r->text, "%s", declaration + 1);
    snprintf(r->name, sizeof r->name, "%.*s", (int)strcspn(spelling + 1, "."), spelling + 1);
    r->reference = strstr(r->text, "Ref") != NULL;
  }
  fclose(f);
  return n;
}
/* The kind that a function's name says: "tex2DLayeredLod" with the names "tex1D", "tex2D" ... */
static inline mx_array_kind kind_of_row(const struct guide_row *r, const char *const names[7]) {
  unsigned best = 7;
  for (unsigned k = 0; k < 7; k++)
    if (!strncmp(r->name, names[k], strlen(names[k])) && (best == 7 || strlen(names[k]) > strlen(names[best])))
      best = k;
  if (best == 7) fail_msg("the guides' %s is of no kind that this test knows", r->text);
  return (mx_array_kind)best;
}

/* ---- runs ---------------------------------------------------------------------------------------------------------*/
static inline mx_device *model_device(void) {
  mx_device *d;
  mx_device_options o = MX_DEVICE_OPTIONS_INIT;
  o.cache_dir = "";
  o.jit_compiler = getenv("MX_JITC") ? getenv("MX_JITC") : "tests/jitc-quick";
  setenv("LARGE", "1", 0); /* hundreds of accesses compile in half the time with the kernel's slots in memory */
  assert_int_equal(mx_device_create(&o, &d), MX_OK);
  return d;
}
static inline mx_addr model_memory(mx_device *d, size_t bytes) {
  mx_addr at;
  assert_int_equal(mx_alloc(d, bytes, &at), MX_OK);
  return at;
}
static inline mx_module *model_module(mx_device *d, const char *text, mx_kernel **kernel) {
  mx_module *module;
  if (load_text(d, text, NULL, &module) != MX_OK) fail_msg("%s", text);
  assert_int_equal(mx_module_kernel(module, "k", kernel), MX_OK);
  return module;
}
/* ---- programs -----------------------------------------------------------------------------------------------------*/
/* One kernel holds all accesses of a row: its last argument, `which`, says which of them is executed. They share what
 * loads their operands and stores their results, so that little is to be compiled for each, and all of them can be. */
enum { MOST_ACCESSES = 200, PROGRAM_ROOM = 1 << 17 };
struct program {
  mx_module *module;
  mx_kernel *kernel;
  unsigned n;
  size_t at;
  char *access[MOST_ACCESSES];
  char text[PROGRAM_ROOM];
};
#define PUT(p_, ...) \
  ((p_)->at += (size_t)snprintf((p_)->text + (p_)->at, sizeof(p_)->text - (p_)->at, __VA_ARGS__), \
   assert_true((p_)->at < sizeof(p_)->text))
/* The number of an access: equal texts have one. */
static inline unsigned program_access(struct program *p, const char *text) {
  unsigned k = 0;
  while (k < p->n && strcmp(p->access[k], text)) k++;
  if (k < p->n) return k;
  assert_true(p->n < MOST_ACCESSES);
  p->access[p->n++] = strdup(text);
  PUT(p, "  setp.ne.u32 %%other, %%which, %u;\n  @%%other bra next%u;\n%s  bra done;\nnext%u:\n", k, k, text, k);
  return k;
}
static inline void program_build(mx_device *d, struct program *p, const char *stores) {
  PUT(p, "done:\n%s  exit;\n}\n", stores);
  p->module = model_module(d, p->text, &p->kernel);
}
static inline void program_end(struct program *p) {
  mx_module_unload(p->module);
  while (p->n) free(p->access[--p->n]);
  p->at = 0;
}
/* What a reference of the module, `picture`, stands for. */
static inline void model_refers(mx_device *d, mx_module *module, uint64_t object) {
  mx_addr variable;
  uint64_t bytes;
  assert_int_equal(mx_module_symbol(module, "picture", &variable, &bytes), MX_OK);
  assert_int_equal(mx_copy_to_device(d, variable, &object, sizeof object), MX_OK);
}
/* Whether a program is to run compiled, too: in short forms of the tests, one of several. */
static inline bool model_compiles(void) {
  const char *quick = getenv("MX_QUICK");
  return !quick || !*quick || draw(16) == 0;
}
static inline void model_run(mx_device *d, mx_kernel *kernel, unsigned threads, bool jit, const void *const *args,
                             size_t n, const char *text) {
  mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
  config.grid[0] = 1, config.block[0] = threads;
  config.jit = jit ? MX_JIT_ON : MX_JIT_OFF;
  if (mx_launch_args(kernel, &config, args, n) != MX_OK) fail_msg("%s\n%s", mx_last_error_text(d), text);
}

#endif
