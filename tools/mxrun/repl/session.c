/* A session from beginning to end: where lines come from, which command each is, what the program answers. */
#include "repl.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void folded(FILE *to, const char *fmt, va_list ap) {
  char *text = NULL;
  if (vasprintf(&text, fmt, ap) < 0) return;
  cli_fold(to, text);
  free(text);
}

bool complain(struct repl *r, const char *fmt, ...) {
  va_list ap;
  (void)r;
  fflush(stdout);
  va_start(ap, fmt);
  folded(stderr, fmt, ap);
  va_end(ap);
  fputc('\n', stderr);
  return false;
}

void say(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  folded(stdout, fmt, ap);
  va_end(ap);
}

bool complain_status(struct repl *r, mx_status s) {
  char *why = failure_text(r->d, s);
  complain(r, "%s", why);
  free(why);
  return false;
}

/* ---- words ------------------------------------------------------------------------------------------------*/
void skip_blanks(char **s) { *s += strspn(*s, " \t"); }

char *next_word(char **s) {
  skip_blanks(s);
  if (!**s) return NULL;
  char *word = *s;
  *s += strcspn(*s, " \t");
  if (**s) *(*s)++ = 0;
  return word;
}

bool number_word(const char *s, uint64_t *v) { return cli_number(s, UINT64_MAX, v); }

bool coordinates(struct repl *r, char **s, const uint32_t size[3], uint64_t *number) {
  skip_blanks(s);
  unsigned x, y = 0, z = 0;
  int end = 0;
  uint64_t all = (uint64_t)size[0] * size[1] * size[2];
  if (**s == '(') {
    bool good = (sscanf(*s, "(%9u,%9u,%9u)%n", &x, &y, &z, &end) == 3 && end) ||
                (sscanf(*s, "(%9u,%9u)%n", &x, &y, &end) == 2 && end);
    if (!good || x >= size[0] || y >= size[1] || z >= size[2])
      return complain(r, "expected (x,y,z) within %u,%u,%u", size[0], size[1], size[2]);
    *s += end;
    *number = x + size[0] * (y + (uint64_t)size[1] * z);
    return true;
  }
  char *word = next_word(s);
  if (!word || !number_word(word, number) || *number >= all)
    return complain(r, "expected a number below %llu, or (x,y,z)", (unsigned long long)all);
  return true;
}

/* ---- lines ------------------------------------------------------------------------------------------------*/
bool do_quit(struct repl *r, char *arguments) {
  (void)arguments;
  return r->quit = true;
}
bool do_echo(struct repl *r, char *arguments) {
  (void)r;
  printf("%s\n", arguments);
  return true;
}

static bool collect(struct repl *r, const char *line) {
  struct point *p = r->collecting;
  if (!strcmp(line, "end")) return r->collecting = NULL, true;
  p->command = cli_realloc(p->command, (p->ncommands + 1) * sizeof *p->command);
  p->command[p->ncommands++] = cli_strdup(line);
  return true;
}

/* "%name ... = EXPRESSION", which changes a register. */
static bool means_set(const char *line) {
  const char *equals = *line == '%' ? strchr(line, '=') : NULL;
  return equals && equals[1] != '=' && !strchr("<>!", equals[-1]);
}

/* What is no command may be something to print: it begins like a value, or with a name that has one. */
static bool means_value(struct repl *r, const char *line) {
  if (strchr("%$[(-!~", *line) || isdigit((unsigned char)*line)) return true;
  size_t n = 0;
  while (isalnum((unsigned char)line[n]) || (line[n] && strchr("_$.", line[n]))) n++;
  mx_debug_variable v;
  const char *next = line + n + strspn(line + n, " \t");
  return n &&
         (find_arg(&r->args, line, n) || find_variable(r, line, n, &v) || names_register(r, NULL, line) ||
          *next == '(' || (*next == '[' && elem_find(line, n)) || (elem_find(line, n) && next > line + n && *next));
}

static bool run_line(struct repl *r, char *line) {
  skip_blanks(&line);
  size_t n = strlen(line);
  while (n && isspace((unsigned char)line[n - 1])) line[--n] = 0;
  if (r->collecting) return collect(r, line);
  if (!*line || *line == '#') return true;
  if (r->calc && (calc_waits(r) || is_instruction(r, line))) return calc_line(r, line);
  size_t length = strcspn(line, " \t/");
  char *why;
  const struct command *c = find_command(line, length, &why);
  if (!c && means_set(line)) return free(why), do_set(r, line);
  if (!c && means_value(r, line)) return free(why), do_print(r, line);
  if (!c) {
    complain(r, "%s%s", why,
             is_instruction(r, line) ? "; instructions are for the calculator: 'clear' begins one" : "");
    free(why);
    return false;
  }
  char *arguments = line + length;
  skip_blanks(&arguments);
  const bool good = c->run(r, arguments);
  if (r->machine.check) findings_tell(r); /* what was printed may be what nobody has written */
  return good;
}

static bool run_pending(struct repl *r) {
  r->restarts = 0;
  for (unsigned n = 0; r->npending && !r->quit; n++) {
    char *line = r->pending[0];
    memmove(r->pending, r->pending + 1, --r->npending * sizeof *r->pending);
    bool good =
        n < 100000 ? run_line(r, line)
                   : complain(r, "commands of breakpoints follow one another without end: stopped after 100,000 lines");
    free(line);
    if (!good) {
      while (r->npending) free(r->pending[--r->npending]);
      return false;
    }
  }
  return true;
}

bool session_line(struct repl *r, char *line) {
  r->restarts = 0;
  return run_line(r, line) && run_pending(r);
}

static bool from_file(struct repl *r, FILE *f, const char *name) {
  struct reader *e = reader_new(r, f, false);
  bool good = true;
  unsigned number = 0;
  for (char *line; good && !r->quit && (line = reader_line(e, "")); free(line)) {
    number++;
    good = session_line(r, line) || r->keep_going;
    if (!good && name) complain(r, "%s:%u: the commands end here", name, number);
  }
  reader_free(e);
  return good;
}

bool session_file(struct repl *r, const char *path) {
  if (r->depth >= 16) return complain(r, "%s: sources are nested too deeply", path);
  FILE *f = fopen(path, "re");
  if (!f) return complain(r, "%s cannot be read", path);
  r->depth++;
  bool good = from_file(r, f, path);
  r->depth--;
  fclose(f);
  return good;
}

bool do_source(struct repl *r, char *arguments) {
  char *path = next_word(&arguments);
  if (!path) return complain(r, "which file?");
  char *copy = cli_strdup(path);
  bool good = session_file(r, copy);
  free(copy);
  return good;
}

bool do_set(struct repl *r, char *arguments) {
  static const char *const settings[] = {"schedule", "hang", "limit"};
  for (size_t k = 0; k < 3; k++) {
    size_t n = strlen(settings[k]);
    uint64_t v;
    if (strncmp(arguments, settings[k], n) || !strchr(" \t", arguments[n]) || !arguments[n]) continue;
    char *rest = arguments + n, *word = next_word(&rest);
    if (!word || !number_word(word, &v)) return complain(r, "set %s to what number?", settings[k]);
    if (k == 0) r->seed = v;
    else if (k == 1) r->hang_turns = v;
    else r->steps_limit = v;
    if (k == 1 && r->g && !r->over) mx_debug_suspect_hang(r->g, v);
    return true;
  }
  if (!set_value(r, arguments)) return false;
  calc_changed(r, arguments);
  return true;
}

/* ---- the program ------------------------------------------------------------------------------------------*/
static void interactive(struct repl *r) {
  char *previous = NULL, *line;
  r->reader = reader_new(r, stdin, true);
  printf("mxrun %s. 'help' lists commands; Ctrl-D ends.\n", mx_version_string());
  while (!r->quit && (screen_draw(r), line = reader_line(r->reader, r->collecting ? "> " : "(mx) "))) {
    if (!line[strspn(line, " \t")] && previous && !r->collecting) { /* an empty line repeats */
      free(line);
      line = cli_strdup(previous);
    } else if (line[strspn(line, " \t")]) {
      free(previous);
      previous = cli_strdup(line);
    }
    session_line(r, line);
    fflush(stdout);
    free(line);
  }
  if (!r->quit) printf("\n");
  free(previous);
  reader_free(r->reader);
}

int repl_main(struct repl_start *s) {
  struct repl r = {.machine = *s->machine,
                   .config = *s->config,
                   .next_point = 1,
                   .next_display = 1,
                   .keep_going = s->keep_going,
                   .seed = s->seed,
                   .recording = s->record,
                   .suppressed = s->suppressed,
                   .hang_turns = 1024,
                   .steps_limit = 10000000,
                   .terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO),
                   .color = cli_color(stdout)};
  bool good = true;
  r.d = open_device(s->machine);
  if (!r.d) return CLI_HOST;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (s->kernel) r.kernel_name = cli_strdup(s->kernel);
  for (size_t k = 0; k < s->nwords; k++) {
    r.words = cli_realloc(r.words, (k + 1) * sizeof *r.words);
    r.words[r.nwords++] = cli_strdup(s->words[k]);
  }
  const bool watched = r.machine.check;
  if (!s->file) r.machine.check = 0; /* the calculator's code is replaced under it */
  if (s->file) good = target_load(&r, s->file) && target_bind(&r);
  else good = calc_begin(&r, REPL_LANES);
  bool interact = r.terminal && !s->batch;
  if (good && s->screen) good = do_layout(&r, (char[]){"on"});
  for (size_t k = 0; k < s->nsources && (good || interact || s->keep_going) && !r.quit; k++) {
    char *line = cli_strdup(s->sources[k].text);
    good = s->sources[k].file ? session_file(&r, line) : session_line(&r, line);
    free(line);
  }
  if (interact && !r.quit) interactive(&r), good = true;
  else if ((good || s->keep_going) && !s->batch && !r.quit) good = from_file(&r, stdin, NULL);
  calc_free(&r);
  values_free(&r);
  screen_free(&r);
  while (r.npoints) point_delete(&r, r.points[0]);
  target_free(&r);
  while (r.npending) free(r.pending[--r.npending]);
  for (size_t k = 0; k < r.ndisplays; k++) free(r.displays[k].text);
  free(r.displays);
  free(r.points);
  free(r.pending);
  free(r.file);
  free(r.kernel_name);
  mx_device_destroy(r.d);
  return !good ? CLI_REFUSED : watched && r.found ? CLI_TRAPPED : CLI_DONE;
}
