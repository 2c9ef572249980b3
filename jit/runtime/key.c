/* The name of compiled code: everything that changes it. A line for each part, so that a miss can be explained. */
#include "jit.h"

#include "vm/load/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

static void hex(char *out, XXH128_hash_t h) {
  XXH128_canonical_t c;
  XXH128_canonicalFromHash(&c, h);
  for (int k = 0; k < 16; k++) snprintf(out + 2 * k, 3, "%02x", c.digest[k]);
}

/* The level of the bodies: engines agree in every bit. Beside plain ones, where nobody has asked for these, what the
 * CPU has: a build for the sanitizers holds no others. */
const char *mx__jit_level(void) {
  const struct mx_level *level = mx__level(NULL);
  if (!level || strcmp(level->name, "plain")) return level ? level->name : NULL;
  const char *asked = getenv("MX_LEVEL");
  return asked && *asked ? NULL : mx__level_of_cpu();
}

bool mx__jit_key_make(struct mx_jit_job *job) {
  struct stat s = {0};
  if (job->compiler && stat(job->compiler, &s)) return false;
  char module[33], stops[48] = "", counts[24] = "", lanes[24] = "", checks[48] = "", rows[40] = "";
  hex(module, XXH3_128bits(job->module, job->module_size));
  if (job->stops) {
    memcpy(stops, "stops ", 6);
    hex(stops + 6, XXH3_128bits(job->stops, strlen(job->stops)));
    strcat(stops, "\n");
  }
  if (job->check_list) {
    memcpy(checks, "checks ", 7);
    hex(checks + 7, XXH3_128bits(job->check_list, strlen(job->check_list)));
    strcat(checks, "\n");
  }
  if (job->counts) snprintf(counts, sizeof counts, "counts %u\n", job->counts);
  if (job->rows) snprintf(rows, sizeof rows, "rows %u in a warp\n", job->rows);
  if (job->lanes) snprintf(lanes, sizeof lanes, "lanes %u\n", job->lanes);
  const int n = asprintf(&job->key.text,
                         "mx %s\nkernel %u %s\nmodule %s, %zu bytes\ntable %016llx\nlayout %016llx\ncpu %s\ncompiler "
                         "%lld bytes of %lld.%09ld\n%s%s%s%s%s",
                         mx_version_string(), job->kernel, job->kernel_name, module, job->module_size,
                         (unsigned long long)mx__table_digest(), (unsigned long long)mx__jit_layout(),
                         job->level ? job->level : "none", (long long)s.st_size, (long long)s.st_mtim.tv_sec,
                         s.st_mtim.tv_nsec, stops, counts, lanes, checks, rows);
  if (n < 0) return job->key.text = NULL, false;
  job->key.size = (size_t)n;
  hex(job->key.name, XXH3_128bits(job->key.text, job->key.size));
  return true;
}

/* The rest of the line that begins with the word, or "". */
static void part(char *out, size_t room, const char *text, const char *word, size_t n) {
  *out = 0;
  for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
    if (!strncmp(p, word, n) && p[n] == ' ') {
      const size_t length = strcspn(p + n + 1, "\n");
      snprintf(out, room, "%.*s", (int)(length < room ? length : room - 1), p + n + 1);
      return;
    }
}
/* Parts of `lines` in which the two differ; `missing`: only those that `is` does not have. */
static unsigned compare(const char *lines, bool missing, const char *was, const char *is,
                        void (*differs)(void *user, const char *part, const char *was, const char *is), void *user) {
  unsigned n = 0;
  for (const char *p = lines; *p; p += strcspn(p, "\n"), p += *p == '\n') {
    char name[32], before[256], after[256];
    const size_t word = strcspn(p, " \n");
    if (word >= sizeof name) continue;
    snprintf(name, sizeof name, "%.*s", (int)word, p);
    part(before, sizeof before, was, p, word);
    part(after, sizeof after, is, p, word);
    if (!strcmp(before, after) || (missing && *after)) continue;
    n++;
    if (differs) differs(user, name, before, after);
  }
  return n;
}
unsigned mx__jit_key_compare(const char *was, const char *is,
                             void (*differs)(void *user, const char *part, const char *was, const char *is),
                             void *user) {
  return compare(is, false, was, is, differs, user) + compare(was, true, was, is, differs, user);
}
