/* mxrun cache: what is in the cache of compiled code, and why a program's kernels are found there or not. */
#include "mxrun.h"

#include "jit/runtime/jit.h"
#include "vm/load/module.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct cli_option options[] = {COMMON_OPTIONS, {0}};

static int newest_first(const void *a, const void *b) {
  const struct timespec *x = &((const struct mx_jit_cache_entry *)a)->used,
                        *y = &((const struct mx_jit_cache_entry *)b)->used;
  if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? 1 : -1;
  return x->tv_nsec < y->tv_nsec ? 1 : x->tv_nsec > y->tv_nsec ? -1 : 0;
}

/* The rest of the key's line that begins with the word. */
static const char *part(const char *key, const char *word, int *length) {
  for (const char *p = key; *p; p += strcspn(p, "\n"), p += *p == '\n')
    if (!strncmp(p, word, strlen(word)) && p[strlen(word)] == ' ') {
      p += strlen(word) + 1;
      *length = (int)strcspn(p, "\n");
      return p;
    }
  *length = 1;
  return "?";
}

static int list(const char *dir) {
  size_t n;
  struct mx_jit_cache_entry *e = mx__jit_cache_list(dir, &n);
  uint64_t sum = 0;
  if (n) qsort(e, n, sizeof *e, newest_first);
  for (size_t k = 0; k < n; k++) {
    char when[32] = "?";
    struct tm t;
    if (localtime_r(&e[k].used.tv_sec, &t)) strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &t);
    printf("%.12s %8llu bytes  used %s  ", e[k].name, (unsigned long long)e[k].bytes, when);
    if (e[k].key) {
      int kernel, module;
      const char *name = part(e[k].key, "kernel", &kernel), *of = part(e[k].key, "module", &module);
      printf("kernel %.*s of module %.12s\n", kernel, name, of);
    } else {
      printf("not usable: %s\n", e[k].fault);
    }
    sum += e[k].bytes;
  }
  printf("%zu entr%s, %llu bytes in %s\n", n, n == 1 ? "y" : "ies", (unsigned long long)sum, dir);
  mx__jit_cache_list_free(e, n);
  return CLI_DONE;
}

static void say(void *user, const char *name, const char *was, const char *is) {
  (void)user;
  printf("  %-9s was %s\n            is  %s\n", name, *was ? was : "nothing", *is ? is : "nothing");
}

static bool same_kernel(const struct mx_jit_cache_entry *e, const char *key) {
  int a, b;
  const char *x = part(e->key, "kernel", &a), *y = part(key, "kernel", &b);
  return a == b && !memcmp(x, y, (size_t)a);
}

static void explain(const struct mx_jit_job *job, const struct mx_jit_cache_entry *all, size_t n) {
  const int fd = mx__jit_cache_find(job);
  if (fd >= 0) {
    printf("%s: in the cache, entry %.12s\n", job->kernel_name, job->key.name);
    close(fd);
    return;
  }
  const struct mx_jit_cache_entry *near = NULL;
  unsigned least = 0;
  for (size_t k = 0; k < n; k++) {
    if (!all[k].key) {
      if (!strcmp(all[k].name, job->key.name)) {
        printf("%s: not in the cache: entry %.12s is not usable: %s\n", job->kernel_name, all[k].name, all[k].fault);
        return;
      }
      continue;
    }
    /* another kernel is further away than the same one of an older program or compiler */
    const unsigned d =
        mx__jit_key_compare(all[k].key, job->key.text, NULL, NULL) + (same_kernel(&all[k], job->key.text) ? 0 : 100);
    if (!near || d < least) near = &all[k], least = d;
  }
  if (!near || least > 100) {
    printf("%s: not in the cache, nor an older form of it\n", job->kernel_name);
    return;
  }
  printf("%s: not in the cache; entry %.12s differs:\n", job->kernel_name, near->name);
  mx__jit_key_compare(near->key, job->key.text, say, NULL);
}

static int why(const char *dir, const char *file, const struct machine *m) {
  const char *reason, *name = cli_file_name(file);
  size_t size, n;
  char *text = NULL, *bytes = cli_read_file(file, (size_t)1 << 30, &size, &reason);
  if (!bytes) {
    fprintf(stderr, "mxrun: %s: %s\n", name, reason);
    return CLI_REFUSED;
  }
  mx_device *d = open_device(m);
  if (!d) exit(CLI_HOST);
  mx_module *module;
  const bool good = load_module(d, name, bytes, size, cli_color(stderr), &module, &text);
  if (text) fputs(text, stderr);
  free(text);
  free(bytes);
  if (good) {
    struct mx_jit_cache_entry *all = mx__jit_cache_list(dir, &n);
    char *compiler = mx__jit_find_compiler(NULL);
    if (!compiler) printf("mx-jitc was not found: nothing will be compiled\n");
    for (size_t k = 0; k < mx_module_kernel_count(module); k++) {
      const mx_kernel *kernel = mx_module_kernel_at(module, k);
      struct mx_jit_job job = {.module = module->bytes,
                               .module_size = module->size,
                               .kernel = kernel->func,
                               .kernel_name = module->image->image.funcs[kernel->func].name,
                               .rows = 1, /* as of most launches */
                               .level = mx__jit_level(),
                               .compiler = compiler,
                               .cache = dir};
      if (!mx__jit_key_make(&job)) continue;
      explain(&job, all, n);
      free(job.key.text);
    }
    free(compiler);
    mx__jit_cache_list_free(all, n);
  }
  mx_device_destroy(d);
  return good ? CLI_DONE : CLI_REFUSED;
}

int command_cache(int argc, char **argv, int next) {
  struct machine m = {0};
  const char *value, *word[2] = {0};
  size_t words = 0;
  struct cli c = {.tool = "mxrun", .options = options, .argc = argc, .argv = argv, .next = next};
  for (int id; (id = cli_next(&c, &value)) != CLI_END;) {
    if (id != CLI_WORD) common_option(id, value, &m);
    else if (words < 2) word[words++] = value;
    else cli_usage("mxrun", "cache: '%s' is too much", value);
  }
  if (!words) cli_usage("mxrun", "cache: list, why FILE or clear?");
  const bool asks = !strcmp(word[0], "why");
  if (!asks && strcmp(word[0], "list") && strcmp(word[0], "clear"))
    cli_usage("mxrun", "cache: '%s' is not list, why or clear", word[0]);
  if (asks != (words == 2))
    cli_usage("mxrun", asks ? "cache why: no file given" : "cache %s takes no argument", word[0]);
  char *reason, *dir = mx__jit_cache_dir(NULL, &reason);
  if (!dir) {
    fprintf(stderr, "mxrun: there is no cache%s%s\n", reason ? ": " : ", by $MX_CACHE_DIR", reason ? reason : "");
    free(reason);
    return CLI_REFUSED;
  }
  int status = CLI_DONE;
  if (asks) status = why(dir, word[1], &m);
  else if (*word[0] == 'l') status = list(dir);
  else printf("%zu removed from %s\n", mx__jit_cache_clear(dir), dir);
  free(dir);
  return status;
}
