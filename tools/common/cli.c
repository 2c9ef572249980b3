/* Command lines, files and text of the tools. Separate from the main programs so that all tools behave alike. */
#include "cli.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

_Noreturn void cli_usage(const char *tool, const char *fmt, ...) {
  fflush(stdout);
  fprintf(stderr, "%s: ", tool);
  va_list ap;
  va_start(ap, fmt);
  vfprintf(stderr, fmt, ap);
  va_end(ap);
  fprintf(stderr, "\nTry '%s --help'\n", tool);
  exit(CLI_USAGE);
}

/* The option whose name is nearest, for the message; NULL: none is near. */
static const char *nearest(const struct cli *c, const char *name, size_t n) {
  const char *best = NULL;
  size_t best_common = 2;
  for (const struct cli_option *o = c->options; o->id; o++) {
    if (!o->name) continue;
    size_t common = 0;
    while (common < n && o->name[common] == name[common]) common++;
    if (common > best_common) best_common = common, best = o->name;
  }
  return best;
}

/* --list-options, for completion and tests: the table as it is, a line for each option. --help does not mention it. */
static _Noreturn void list_options(const struct cli *c) {
  static const char *const args[] = {[CLI_NONE] = "none", [CLI_REQUIRED] = "required", [CLI_OPTIONAL] = "optional"};
  for (const struct cli_option *o = c->options; o->id; o++)
    printf("%s%s %c %s\n", o->name ? "--" : "", o->name ? o->name : "-", o->letter ? o->letter : '-', args[o->arg]);
  exit(cli_finish(c->tool, CLI_DONE));
}

/* What getopt_long answers for an option: its letter, or, where it has none, LONG + its place in the table. */
enum { LONG = 256 };
static const struct cli_option *option_of(const struct cli *c, int answer) {
  if (answer >= LONG) return &c->options[answer - LONG];
  const struct cli_option *o = c->options;
  while (o->id && o->letter != answer) o++;
  return answer && o->id ? o : NULL;
}

/* The table as getopt_long wants it. A leading '-' in letters: words come in their place; ':': we say what is wrong. */
static void prepare(struct cli *c) {
  size_t n = 0;
  while (c->options[n].id) n++;
  assert(n <= CLI_OPTIONS);
  char *letter = c->letters;
  *letter++ = '-', *letter++ = ':';
  size_t longs = 0;
  for (size_t k = 0; k < n; k++) {
    static const int arg[] = {
        [CLI_NONE] = no_argument, [CLI_REQUIRED] = required_argument, [CLI_OPTIONAL] = optional_argument};
    const struct cli_option *o = &c->options[k];
    if (o->name) c->longs[longs++] = (struct option){o->name, arg[o->arg], NULL, LONG + (int)k};
    if (o->letter) *letter++ = o->letter;
    if (o->letter && o->arg == CLI_REQUIRED) *letter++ = ':';
  }
  c->longs[longs] = (struct option){0};
  *letter = 0;
  c->begun = true;
  optind = 0; /* begins anew */
  opterr = 0;
  (void)getopt_long(1, c->argv, c->letters, c->longs, NULL); /* takes the letters' first signs in */
  optind = c->next;
}

static int word_or_end(struct cli *c, const char **value) {
  if (optind >= c->argc) {
    c->begun = false;
    return CLI_END;
  }
  return *value = c->argv[optind++], CLI_WORD;
}

int cli_next(struct cli *c, const char **value) {
  *value = NULL;
  if (!c->begun && !c->ended) prepare(c);
  if (c->ended || optind >= c->argc) return word_or_end(c, value);
  const char *word = c->argv[optind], *name = word + 2, *eq = strchr(word, '=');
  const int n = (int)(eq ? eq - name : (long)strlen(word) - 2);
  const bool is_long = !strncmp(word, "--", 2) && n > 0;
  if (c->numbers_are_words && word[0] == '-' &&
      ((word[1] >= '0' && word[1] <= '9') || word[1] == '.' || !strcmp(word + 1, "inf") || !strcmp(word + 1, "nan")))
    return word_or_end(c, value);
  if (!strcmp(word, "--list-options")) list_options(c);
  const int answer = getopt_long(c->argc, c->argv, c->letters, c->longs, NULL);
  if (answer == -1) return c->ended = true, word_or_end(c, value); /* behind -- */
  if (answer == 1) return *value = optarg, CLI_WORD;
  const struct cli_option *o = option_of(c, answer == '?' || answer == ':' ? optopt : answer);
  const bool whole = !is_long || (o && o->name && (int)strlen(o->name) == n &&
                                  !strncmp(o->name, name, (size_t)n)); /* no short forms of names */
  if (!o && !is_long) cli_usage(c->tool, "unknown option '-%c'", optopt);
  if (!o || !whole) {
    const char *near = nearest(c, name, (size_t)n);
    if (near) cli_usage(c->tool, "unknown option '--%.*s'; did you mean '--%s'?", n, name, near);
    cli_usage(c->tool, "unknown option '--%.*s'", n, name);
  }
  if (answer == ':' && is_long) cli_usage(c->tool, "option '--%s' needs a value", o->name);
  if (answer == ':') cli_usage(c->tool, "option '-%c' needs a value", o->letter);
  if (answer == '?') cli_usage(c->tool, "option '--%s' takes no value", o->name);
  *value = optarg;
  return o->id;
}

void cli_take(struct cli *c, const char **value) {
  if (optind < c->argc) *value = c->argv[optind++];
}

bool cli_number(const char *text, uint64_t max, uint64_t *value) {
  bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const char *s = hex ? text + 2 : text;
  if (!*s) return false;
  uint64_t v = 0, base = hex ? 16 : 10;
  for (; *s; s++) {
    unsigned d = *s >= '0' && *s <= '9'          ? (unsigned)(*s - '0')
                 : hex && *s >= 'a' && *s <= 'f' ? (unsigned)(*s - 'a') + 10
                 : hex && *s >= 'A' && *s <= 'F' ? (unsigned)(*s - 'A') + 10
                                                 : 99;
    if (d > 15 || v > (max - d) / base || d > max) return false;
    v = v * base + d;
  }
  return *value = v, true;
}

bool cli_real(const char *text, double *value) {
  char *end;
  if (!*text || strchr(" \t\n\v\f\r", *text)) return false;
  errno = 0;
  *value = strtod(text, &end);
  return !*end;
}

static enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color_mode;

bool cli_color_mode(const char *when) {
  if (!strcmp(when, "auto")) color_mode = COLOR_AUTO;
  else if (!strcmp(when, "always")) color_mode = COLOR_ALWAYS;
  else if (!strcmp(when, "never")) color_mode = COLOR_NEVER;
  else return false;
  return true;
}

bool cli_color(FILE *stream) {
  if (color_mode != COLOR_AUTO) return color_mode == COLOR_ALWAYS;
  const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
  if ((no && *no) || (term && !strcmp(term, "dumb"))) return false;
  return isatty(fileno(stream));
}

void cli_begin(void) {
  static const int other_way[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      (void)!open("/dev/null", other_way[fd]); /* the lowest that is free: this one */
  signal(SIGXFSZ, SIG_IGN);
}

int cli_finish(const char *tool, int status) {
  if ((fflush(stdout) || ferror(stdout)) && errno != EPIPE) {
    fprintf(stderr, "%s: cannot write the output: %s\n", tool, strerror(errno));
    if (status == CLI_DONE) status = CLI_HOST;
  } else if (ferror(stdout) && status == CLI_DONE) {
    status = CLI_HOST;
  }
  return status;
}

const char *cli_file_name(const char *path) { return strcmp(path, "-") ? path : "<stdin>"; }

char *cli_read_file(const char *path, size_t limit, size_t *size, const char **why) {
  bool standard = !strcmp(path, "-");
  int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return *why = strerror(errno), NULL;
  struct stat st;
  size_t capacity = 1 << 16, n = 0;
  char *bytes = NULL;
  *why = NULL;
  if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) *why = "it is a folder";
  else if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > limit) *why = "it is too large";
  else if (S_ISREG(st.st_mode) && (size_t)st.st_size + 1 > capacity) capacity = (size_t)st.st_size + 1;
  if (!*why) bytes = cli_realloc(NULL, capacity + 1);
  while (!*why) {
    ssize_t got = read(fd, bytes + n, capacity - n);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) *why = strerror(errno);
    if (got <= 0) break;
    n += (size_t)got;
    if (n > limit) *why = "it is too large";
    if (n == capacity) bytes = cli_realloc(bytes, (capacity *= 2) + 1);
  }
  if (!standard) close(fd);
  if (*why) return free(bytes), NULL;
  bytes[n] = 0;
  *size = n;
  return bytes;
}

bool cli_write_file(const char *path, const void *bytes, size_t size, const char **why) {
  bool standard = !strcmp(path, "-");
  if (standard) {
    fwrite(bytes, 1, size, stdout);
    return true; /* cli_finish reports a failure */
  }
  FILE *f = fopen(path, "wbe");
  if (!f) return *why = strerror(errno), false;
  bool good = fwrite(bytes, 1, size, f) == size;
  int saved = errno;
  if (fclose(f)) good ? (void)(saved = errno) : (void)0, good = false;
  if (!good) *why = strerror(saved);
  return good;
}

void text_add(struct text *t, const char *s, size_t n) {
  if (t->n + n + 1 > t->capacity) {
    t->capacity = (t->n + n + 1) * 2;
    t->s = cli_realloc(t->s, t->capacity);
  }
  memcpy(t->s + t->n, s, n);
  t->s[t->n += n] = 0;
}

void text_printf(struct text *t, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  if (n > 0) {
    if (t->n + (size_t)n + 1 > t->capacity) {
      t->capacity = (t->n + (size_t)n + 1) * 2;
      t->s = cli_realloc(t->s, t->capacity);
    }
    vsnprintf(t->s + t->n, (size_t)n + 1, fmt, again);
    t->n += (size_t)n;
  }
  va_end(again);
}

/* Bytes of the UTF-8 character at s; 0: it is not one. */
static size_t utf8_length(const unsigned char *s) {
  if (s[0] < 0x80) return 1;
  size_t n = s[0] >= 0xC2 && s[0] <= 0xDF ? 2 : s[0] >= 0xE0 && s[0] <= 0xEF ? 3 : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4 : 0;
  for (size_t k = 1; k < n; k++)
    if ((s[k] & 0xC0) != 0x80) return 0;
  if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF0 && s[1] < 0x90) ||
      (s[0] == 0xF4 && s[1] > 0x8F))
    return 0;
  return n;
}

void text_json(struct text *t, const char *s) {
  text_add(t, "\"", 1);
  while (*s) {
    unsigned char ch = (unsigned char)*s;
    size_t n = utf8_length((const unsigned char *)s);
    if (ch == '"' || ch == '\\') text_printf(t, "\\%c", ch);
    else if (ch == '\n') text_add(t, "\\n", 2);
    else if (ch == '\t') text_add(t, "\\t", 2);
    else if (ch < 32 || ch == 127) text_printf(t, "\\u%04x", ch);
    else if (n) text_add(t, s, n);
    else text_add(t, "\\ufffd", 6);
    s += n ? n : 1;
  }
  text_add(t, "\"", 1);
}

void text_free(struct text *t) {
  free(t->s);
  *t = (struct text){0};
}

void cli_no_memory(void) {
  fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
  exit(CLI_HOST);
}

void *cli_realloc(void *old, size_t size) {
  void *p = realloc(old, size ? size : 1);
  if (!p) cli_no_memory();
  return p;
}

void *cli_alloc(size_t size) {
  void *p = calloc(1, size ? size : 1);
  if (!p) cli_no_memory();
  return p;
}

char *cli_strdup(const char *s) {
  size_t n = strlen(s) + 1;
  return memcpy(cli_realloc(NULL, n), s, n);
}

/* ---- lines --------------------------------------------------------------------------------------------------*/
unsigned cli_width(FILE *stream) {
  struct winsize size = {0};
  return isatty(fileno(stream)) && !ioctl(fileno(stream), TIOCGWINSZ, &size) ? size.ws_col : 0;
}

/* How many bytes of a line fit, up to a blank if there is one; all of it: the line ends before. */
static size_t that_fits(const char *s, size_t n, unsigned width) {
  size_t blank = 0, columns = 0;
  for (size_t k = 0; k < n; k++) {
    if (((unsigned char)s[k] & 0xC0) == 0x80) continue; /* the rest of a character */
    if (columns++ == width) return blank ? blank : k;
    if (s[k] == ' ' && k && s[k - 1] != ' ') blank = k;
  }
  return n;
}

void cli_fold(FILE *stream, const char *text) {
  const unsigned width = cli_width(stream);
  while (*text) {
    size_t n = strcspn(text, "\n");
    const size_t indent = strspn(text, " ") < width / 2 ? strspn(text, " ") : width / 2;
    for (size_t part, room = width; n && width >= 20; room = width - indent - 4) {
      part = that_fits(text, n, (unsigned)room);
      if (part == n) break;
      fprintf(stream, "%.*s\n%*s", (int)part, text, (int)indent + 4, "");
      text += part, n -= part;
      while (n && *text == ' ') text++, n--;
    }
    fprintf(stream, "%.*s", (int)n, text);
    text += n;
    if (*text == '\n') fputc(*text++, stream);
  }
}
