/* Wrong programs and what the assembler says of them: tests/golden/errors/ *.mxs. Separate from the unit tests because
 * each program counts as a test. Also holds asm/common/diagnostics.def and docs/diagnostics.md to one another.
 *
 * A file holds programs, each begun by a line `//// name [options]`; options: strict (warnings are errors), include
 * (.include is allowed). Lines are counted from there. What is expected stands on the line itself:
 *   ... // error: id            an error of that id, and no other there
 *   ... // error: id "text"     whose message or hint contains the text; several are separated by further `//`
 *   // warning: id, // note: id  likewise
 * A program without any expectation must assemble. `//+ N line` as a line: N copies of the line, on one line, with
 * blanks between them; `//= N text`: without. `//@ error: id` speaks of no particular line.
 *
 *   main           runs all, prints failures, ends `N passed, N failed`
 *   main --docs    prints docs/diagnostics.md */
#include "mx/asm.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/golden/errors"
enum { MOST = 64 };

static const struct {
  const char *id, *text;
} documented[] = {
#define DIAG(id_, text_) {id_, text_},
#include "asm/common/diagnostics.def"
};
enum { DOCUMENTED = sizeof documented / sizeof *documented };
static bool covered[DOCUMENTED];
/* Limits of code and slots take programs of megabytes: the back's unit tests show them. */
static const char *const elsewhere[] = {"function-too-long", "too-many-arguments", "too-many-literals",
                                        "too-many-tables", "too-many-values"};

struct expectation {
  mx_asm_level level;
  unsigned line;
  char id[40], text[160];
  bool met;
};
struct buffer {
  char *p;
  size_t n, cap;
};

static unsigned passed, failed;

static void put(struct buffer *b, const char *s, size_t n) {
  if (b->n + n + 1 > b->cap) {
    b->cap = (b->n + n + 1) * 2;
    b->p = realloc(b->p, b->cap);
    if (!b->p) exit(4);
  }
  memcpy(b->p + b->n, s, n);
  b->n += n;
  b->p[b->n] = 0;
}

static char *read_file(const char *path) {
  FILE *in = fopen(path, "rb");
  if (!in) return NULL;
  struct buffer b = {0};
  char chunk[4096];
  size_t n;
  put(&b, "", 0);
  while ((n = fread(chunk, 1, sizeof chunk, in))) put(&b, chunk, n);
  fclose(in);
  return b.p;
}

static void fail(const char *where, const char *what, const char *detail) {
  printf("not ok %s: %s%s%s\n", where, what, detail ? ": " : "", detail ? detail : "");
}

static unsigned read_expectations(const char *line, size_t len, unsigned number, struct expectation *x, unsigned n) {
  static const char *const levels[] = {"error: ", "warning: ", "note: "};
  char copy[600];
  snprintf(copy, sizeof copy, "%.*s", (int)(len < sizeof copy - 1 ? len : sizeof copy - 1), line);
  bool anywhere = !strncmp(copy, "//@ ", 4);
  if (anywhere) copy[2] = ' ';
  for (char *p = anywhere ? copy : strstr(copy, "// "); p; p = strstr(p + 2, "// ")) {
    for (unsigned k = 0; k < 3; k++) {
      if (strncmp(p + 3 + anywhere, levels[k], strlen(levels[k])) || n == MOST) continue;
      x[n] = (struct expectation){.level = (mx_asm_level)k, .line = anywhere ? 0 : number};
      const char *id = p + 3 + anywhere + strlen(levels[k]),
                 *end = id + strspn(id, "abcdefghijklmnopqrstuvwxyz-0123456789");
      snprintf(x[n].id, sizeof x[n].id, "%.*s", (int)(end - id), id);
      if (end[0] == ' ' && end[1] == '"') {
        const char *close = strstr(end + 2, "\" // ");
        if (!close) close = strrchr(end + 2, '"');
        if (close) snprintf(x[n].text, sizeof x[n].text, "%.*s", (int)(close - end - 2), end + 2);
      }
      n++;
    }
  }
  return n;
}

static void check_program(const char *where, const char *file, const char *options, const char *text, size_t size) {
  static struct expectation x[MOST];
  struct buffer program = {0};
  unsigned n = 0, line = 1;
  put(&program, "", 0);
  for (const char *p = text, *end = text + size; p < end;) {
    const char *nl = memchr(p, '\n', (size_t)(end - p));
    size_t len = (size_t)((nl ? nl : end) - p);
    unsigned count;
    int skip = 0;
    if ((sscanf(p, "//+ %u %n", &count, &skip) == 1 || sscanf(p, "//= %u %n", &count, &skip) == 1) && skip) {
      /* the copies stand on one line, so that lines stay */
      for (unsigned k = 0; k < count; k++) put(&program, p + skip, len - (size_t)skip), put(&program, " ", p[2] == '+');
    } else {
      put(&program, p, len);
      n = read_expectations(p, len, line, x, n);
    }
    put(&program, "\n", 1);
    line++;
    p += len + (nl != NULL);
  }
  mx_asm_options o = {.struct_size = sizeof(mx_asm_options),
                      .file_name = file,
                      .allow_include = strstr(options, "include") != NULL,
                      .warnings_are_errors = strstr(options, "strict") != NULL};
  mx_asm_result *r = mx_assemble(program.p, program.n, &o);
  bool good = r != NULL, errors = false;
  if (!r) fail(where, "out of memory", NULL);
  for (size_t k = 0; k < mx_asm_diagnostic_count(r); k++) {
    const mx_asm_diagnostic *d = mx_asm_diagnostic_at(r, k);
    char *shown = mx_asm_format(d, false), *coloured = mx_asm_format(d, true);
    bool expected = false;
    errors |= d->level == MX_ASM_ERROR;
    for (unsigned e = 0; e < n && !expected; e++) {
      if (x[e].met || x[e].level != d->level || (x[e].line && x[e].line != d->line) || strcmp(x[e].id, d->id)) continue;
      if (x[e].text[0] && !strstr(d->text, x[e].text) && !(d->hint && strstr(d->hint, x[e].text))) continue;
      x[e].met = expected = true;
    }
    unsigned row = 0;
    while (row < DOCUMENTED && strcmp(documented[row].id, d->id)) row++;
    if (row == DOCUMENTED) fail(where, "no row in diagnostics.def", d->id), good = false;
    else covered[row] = true;
    if (!expected) fail(where, "unexpected", shown), good = false;
    if (!shown || !coloured || (d->line && (!d->col || !d->width || !d->source_line)))
      fail(where, "has no place", shown), good = false;
    free(shown);
    free(coloured);
  }
  for (unsigned e = 0; e < n; e++) {
    if (x[e].met) continue;
    char lost[256];
    snprintf(lost, sizeof lost, "line %u: %s %s", x[e].line, x[e].id, x[e].text);
    fail(where, "missing", lost);
    good = false;
  }
  size_t bytes;
  if (r && (mx_asm_bytes(r, &bytes) != NULL) == errors)
    fail(where, errors ? "bytes in spite of errors" : "no bytes", NULL), good = false;
  mx_asm_free(r);
  free(program.p);
  if (good) passed++;
  else failed++;
}

static void check_file(const char *name) {
  char path[512], where[640], title[80], options[80];
  snprintf(path, sizeof path, FOLDER "/%s", name);
  char *text = read_file(path);
  if (!text) {
    fail(path, "cannot be read", NULL);
    failed++;
    return;
  }
  for (char *p = strstr(text, "////"); p;) {
    char *start = strchr(p, '\n');
    if (!start++) break;
    char head[160];
    options[0] = 0;
    snprintf(head, sizeof head, "%.*s", (int)(start - p - 1), p);
    sscanf(head, "//// %79s %79[^\n]", title, options);
    char *next = strstr(start, "////");
    snprintf(where, sizeof where, "%s:%s", name, title);
    check_program(where, path, options, start, next ? (size_t)(next - start) : strlen(start));
    p = next;
  }
  free(text);
}

static char *documentation(void) {
  struct buffer b = {0};
  static const char head[] = "# Diagnostics of the assembler\n\nEvery message ends with its id in brackets. This page "
                             "is made from `asm/common/diagnostics.def`.\n\n| id | what it means |\n| --- | --- |\n";
  put(&b, head, strlen(head));
  for (unsigned k = 0; k < DOCUMENTED; k++) {
    put(&b, "| `", 3);
    put(&b, documented[k].id, strlen(documented[k].id));
    put(&b, "` | ", 4);
    for (const char *p = documented[k].text; *p; p++) put(&b, *p == '|' ? "\\|" : p, *p == '|' ? 2 : 1);
    put(&b, " |\n", 3);
  }
  return b.p;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int main(int argc, char **argv) {
  char *docs = documentation();
  if (argc > 1 && !strcmp(argv[1], "--docs")) {
    fputs(docs, stdout);
    free(docs);
    return 0;
  }
  char *kept = read_file("docs/diagnostics.md"), *names[200];
  bool same = kept && !strcmp(kept, docs);
  if (!same)
    fail("docs/diagnostics.md", "differs from asm/common/diagnostics.def: build/tests/errors --docs makes it", NULL);
  passed += same;
  failed += !same;
  free(kept);
  free(docs);
  unsigned n = 0;
  DIR *d = opendir(FOLDER);
  for (struct dirent *e; d && n < 200 && (e = readdir(d));) {
    size_t len = strlen(e->d_name);
    if (len > 4 && !strcmp(e->d_name + len - 4, ".mxs")) names[n++] = strdup(e->d_name);
  }
  if (d) closedir(d);
  qsort(names, n, sizeof *names, by_name);
  for (unsigned k = 0; k < n; k++) {
    check_file(names[k]);
    free(names[k]);
  }
  for (unsigned k = 0; k < DOCUMENTED; k++) {
    for (size_t e = 0; e < sizeof elsewhere / sizeof *elsewhere; e++)
      covered[k] |= !strcmp(elsewhere[e], documented[k].id);
    if (covered[k]) continue;
    fail(documented[k].id, "no program shows it", NULL);
    failed++;
  }
  printf("%u passed, %u failed\n", passed, failed);
  return failed != 0;
}
