/* mxrun info: what runs here, and within which limits. */
#include "mxrun.h"

#include "jit/runtime/jit.h"

#include <stdlib.h>

enum { I_JSON = O_COMMON };
static const struct cli_option options[] = {COMMON_OPTIONS, {"json", 0, CLI_NONE, I_JSON}, {0}};

static void line(struct text *t, bool json, const char *key, const char *fmt, const char *value, uint64_t number) {
  if (json) {
    text_printf(t, "%s\"%s\": ", t->n > 1 ? ", " : "", key);
    if (value) text_json(t, value);
    else text_printf(t, "%llu", (unsigned long long)number);
  } else {
    text_printf(t, "%-22s ", key);
    if (value) text_printf(t, "%s\n", value);
    else text_printf(t, fmt, (unsigned long long)number), text_printf(t, "\n");
  }
}

int command_info(int argc, char **argv, int next) {
  struct machine m = {0};
  bool json = false;
  const char *value;
  struct cli c = {.tool = "mxrun", .options = options, .argc = argc, .argv = argv, .next = next};
  for (int id; (id = cli_next(&c, &value)) != CLI_END;) {
    if (id == CLI_WORD) cli_usage("mxrun", "info takes no argument: '%s'", value);
    if (!common_option(id, value, &m)) json = true;
  }
  mx_device *d = open_device(&m);
  if (!d) return CLI_HOST;
  mx_device_properties p = {.struct_size = sizeof p};
  mx_device_get_properties(d, &p);
  struct text t = {0};
  char *compiler = mx__jit_find_compiler(NULL), *cache = mx__jit_cache_dir(NULL, NULL);
  if (json) text_printf(&t, "{");
  line(&t, json, "version", "", mx_version_string(), 0);
  line(&t, json, "cpu_level", "", p.cpu_level ? p.cpu_level : "?", 0);
  line(&t, json, "threads", "%llu", NULL, p.threads);
  line(&t, json, "compiler", "",
       !mx__jit_level() ? "none for this CPU level: kernels are interpreted"
       : compiler       ? compiler
                        : "not found: kernels are interpreted",
       0);
  line(&t, json, "cache", "", cache ? cache : "none", 0);
  line(&t, json, "memory_bytes", "%llu (address range; only touched pages cost memory)", NULL, p.memory_bytes);
  line(&t, json, "max_threads_per_block", "%llu", NULL, p.max_threads_per_block);
  line(&t, json, "max_shared_bytes", "%llu", NULL, p.max_shared_bytes);
  line(&t, json, "max_param_bytes", "%llu", NULL, p.max_param_bytes);
  line(&t, json, "max_resident_blocks", "%llu", NULL, p.max_resident_blocks);
  for (unsigned k = 0; k < MX_LIMIT_COUNT; k++) {
    uint64_t v = 0;
    if (mx_limit_get(d, (mx_limit)k, &v) == MX_OK) line(&t, json, limit_names[k], "%llu", NULL, v);
  }
  if (json) text_printf(&t, "}\n");
  fwrite(t.s, 1, t.n, stdout);
  text_free(&t);
  free(compiler);
  free(cache);
  mx_device_destroy(d);
  return CLI_DONE;
}
