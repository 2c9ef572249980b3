/* mxrun check: what tools have found in a run, for people and as JSON, without what a file suppresses. */
#include "mxrun.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool parse_tools(const char *text, uint32_t *tools) {
  *tools = 0;
  for (const char *s = text; *s;) {
    const size_t n = strcspn(s, ",");
    uint32_t found = 0;
#define X(name_, bit_, text_) \
  if (n == strlen(text_) && !memcmp(s, text_, n)) found = bit_;
    MX_CHECK_LIST(X)
#undef X
    if (!found) return false;
    *tools |= found;
    s += n + (s[n] == ',');
  }
  return *tools != 0;
}

/* ---- suppressions ---------------------------------------------------------------------------------------------*/
void read_suppressions(struct suppressions *s, const char *path) {
  const char *why;
  size_t size;
  char *text = cli_read_file(path, (size_t)1 << 24, &size, &why);
  if (!text) cli_usage("mxrun", "--suppress %s: %s", path, why);
  char *save = NULL;
  for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    line += strspn(line, " \t");
    line[strcspn(line, "#\r")] = 0;
    for (size_t n = strlen(line); n && strchr(" \t", line[n - 1]); n--) line[n - 1] = 0;
    if (!*line) continue;
    s->at = cli_realloc(s->at, (s->n + 1) * sizeof *s->at);
    s->at[s->n++] = cli_strdup(line);
  }
  free(text);
}
void free_suppressions(struct suppressions *s) {
  for (size_t k = 0; k < s->n; k++) free(s->at[k]);
  free(s->at);
}
char *finding_name(const mx_finding *f) {
  const char *file = f->place.file ? f->place.file : "", *slash = strrchr(file, '/');
  return format("%s:%s:%s:%s:%u", mx_check_tool_name(f->tool), f->kind, f->place.kernel, slash ? slash + 1 : file,
                f->place.line);
}
/* A finding has two halves: either may be the one that was found first. */
static bool place_matches(const char *pattern, const mx_finding *f, const mx_check_place *p) {
  mx_finding here = *f;
  here.place = *p;
  char *name = finding_name(&here), *open = format("%s:*", pattern); /* a pattern may end before the line */
  const bool yes = !fnmatch(pattern, name, 0) || !fnmatch(open, name, 0);
  free(name);
  free(open);
  return yes;
}
ptrdiff_t finding_matches(char *const *patterns, size_t n, const mx_finding *f) {
  for (size_t k = 0; k < n; k++)
    if (place_matches(patterns[k], f, &f->place) || (f->other.kernel && place_matches(patterns[k], f, &f->other)))
      return (ptrdiff_t)k;
  return -1;
}

/* ---- telling --------------------------------------------------------------------------------------------------*/
static void member(struct text *j, const char *name, const char *value) {
  if (!value) return;
  text_printf(j, ", \"%s\": ", name);
  text_json(j, value);
}
static void place_json(struct text *j, const mx_check_place *p) {
  text_printf(j, "{\"pc\": %u, \"block\": [%u, %u, %u], \"warp\": %u", p->pc, p->block[0], p->block[1], p->block[2],
              p->warp);
  if (p->lanes) text_printf(j, ", \"lanes\": \"0x%" PRIx64 "\"", p->lanes);
  member(j, "kernel", p->kernel);
  member(j, "function", p->function);
  member(j, "file", p->file);
  if (p->file) text_printf(j, ", \"line\": %u", p->line);
  member(j, "instruction", p->instruction);
  text_printf(j, "}");
}
static void finding_json(struct text *j, const mx_finding *f) {
  text_printf(j, "{\"tool\": \"%s\", \"count\": %" PRIu64 ", \"confirmed\": %s", mx_check_tool_name(f->tool), f->count,
              f->count ? "true" : "false");
  member(j, "kind", f->kind);
  member(j, "message", f->message);
  text_printf(j, ", \"place\": ");
  place_json(j, &f->place);
  if (f->has_address) text_printf(j, ", \"address\": \"0x%" PRIx64 "\", \"bytes\": %u", f->address, f->bytes);
  member(j, "where", f->where);
  member(j, "story", f->story);
  if (f->other.kernel) text_printf(j, ", \"other\": "), place_json(j, &f->other);
  text_printf(j, "}");
}

size_t tell_findings(mx_device *d, const struct suppressions *s, struct text *j) {
  size_t told = 0, confirmed = 0, silent = 0;
  mx_device_check_end(d);
  if (j) text_printf(j, "[");
  else fflush(stdout);
  for (size_t k = 0; k < mx_device_findings(d); k++) {
    mx_finding f = {.struct_size = sizeof f};
    if (mx_device_finding(d, k, &f) != MX_OK) break;
    if (finding_matches(s->at, s->n, &f) >= 0) {
      silent++;
      continue;
    }
    if (j) text_printf(j, "%s", told ? ", " : ""), finding_json(j, &f);
    else {
      fprintf(stderr, "%s%s\n", told ? "\n" : "", f.text);
      if (f.count > 1) fprintf(stderr, "  %" PRIu64 " times\n", f.count);
    }
    told++;
    confirmed += f.count != 0;
  }
  if (j) text_printf(j, "]");
  else if (told || silent) fprintf(stderr, "\n%zu finding%s%s", told, told == 1 ? "" : "s", silent ? "" : "\n");
  else fprintf(stderr, "nothing found\n");
  if (!j && silent) fprintf(stderr, ", %zu suppressed\n", silent);
  return confirmed;
}
