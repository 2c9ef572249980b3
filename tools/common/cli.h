/* Command lines: options in any order (getopt_long, with messages of our own), exit codes, and the way both tools speak
 * about wrong usage. Shared by the tools; knows nothing of modules or machines. */
#ifndef MX_TOOLS_CLI_H
#define MX_TOOLS_CLI_H
#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit statuses of every tool. */
enum { CLI_DONE = 0, CLI_REFUSED = 1, CLI_USAGE = 2, CLI_TRAPPED = 3, CLI_HOST = 4 };

enum cli_arg { CLI_NONE, CLI_REQUIRED, CLI_OPTIONAL }; /* optional values only as --name=value */
struct cli_option {
  const char *name; /* without the dashes; NULL: short form only */
  char letter;      /* 0: long form only */
  enum cli_arg arg;
  int id; /* at least 1 */
};

enum { CLI_END = 0, CLI_WORD = -1 }; /* what cli_next answers besides ids */

enum { CLI_OPTIONS = 96 }; /* a tool has at most so many */
struct cli {
  const char *tool;
  const struct cli_option *options; /* ends with id 0 */
  int argc, next;                   /* next: where to begin */
  char **argv;
  bool numbers_are_words; /* -5 is a word, not options */
  bool ended;             /* after -- */
  bool begun;
  struct option longs[CLI_OPTIONS + 1]; /* the table for getopt_long, and its letters */
  char letters[2 * CLI_OPTIONS + 3];
};

/* The next option's id, CLI_WORD or CLI_END. *value: the option's value (NULL: none given) or the word. Wrong usage
 * ends the program with its message. */
int cli_next(struct cli *c, const char **value);
/* Takes the next word of the command line as a value, even if it looks like an option; none is left: no change. */
void cli_take(struct cli *c, const char **value);

/* Message on stderr, "Try 'tool --help'", exit status 2. */
_Noreturn void cli_usage(const char *tool, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Whole text as an unsigned number, decimal or 0x; false: it is not one, or above max. */
bool cli_number(const char *text, uint64_t max, uint64_t *value);
bool cli_real(const char *text, double *value);

/* Colour of a stream, from --color=WHEN (NULL: auto), NO_COLOR and isatty. */
bool cli_color_mode(const char *when); /* false: not a mode */
bool cli_color(FILE *stream);

/* Called first in main. A file that is opened never gets the number of a standard stream that is closed, so that
 * writing to that stream fails as it should; and at the system's limit for the sizes of files a write fails, instead of
 * a signal ending the program. */
void cli_begin(void);
/* Flushes stdout; a failure there (full disk, closed pipe) turns status 0 into CLI_HOST with a message. */
int cli_finish(const char *tool, int status);

/* How the name is spelt in messages: "-" is <stdin>. */
const char *cli_file_name(const char *path);

/* A whole file, or stdin for "-"; a NUL byte follows its bytes. NULL: *why says why (a static string or strerror's). */
char *cli_read_file(const char *path, size_t limit, size_t *size, const char **why);
/* Writes a whole file, or stdout for "-". False: *why. */
bool cli_write_file(const char *path, const void *bytes, size_t size, const char **why);

/* Columns of the terminal that a stream goes to; 0: to none. */
unsigned cli_width(FILE *stream);
/* Writes text; on a terminal, lines that are longer than it is wide go on, between words, in the next one, indented. */
void cli_fold(FILE *stream, const char *text);

/* Growable text. */
struct text {
  char *s;
  size_t n, capacity;
};
void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_add(struct text *t, const char *s, size_t n);
/* s as a JSON string, quotes included; bytes that are not UTF-8 become U+FFFD. */
void text_json(struct text *t, const char *s);
void text_free(struct text *t);

/* Memory of a tool: never NULL. Who finds that there is none ends the program with status 4. */
_Noreturn void cli_no_memory(void);
void *cli_alloc(size_t size);
void *cli_realloc(void *old, size_t size);
char *cli_strdup(const char *s);

#endif
