/* A person at a terminal: types a script's lines one by one, each when the prompt has come, and reads what is answered.
 * Without the prompts and the echo of what was typed that must be the text of the same script on a pipe. Then
 * completion and history. */
#include "repl.h"

#include <dirent.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROMPT "(mx) "

struct screen {
  int fd;
  pid_t pid;
  char *text;
  size_t n, room, read;
  bool typed_line; /* what was typed last ends a line, whose echo comes before the prompt */
};

static void start_sized(struct screen *s, char **argv, unsigned short rows, unsigned short columns) {
  struct winsize size = {.ws_row = rows, .ws_col = columns};
  *s = (struct screen){0};
  s->pid = forkpty(&s->fd, NULL, NULL, &size);
  if (s->pid < 0) { /* a number that must never be killed: it means everybody */
    perror("no terminal to be had (in a bare root: mount -t devpts devpts /dev/pts)");
    exit(1);
  }
  if (s->pid) return;
  setenv("TERM", "vt100", 1);
  setenv("NO_COLOR", "1", 1);
  execvp(argv[0], argv);
  _exit(127);
}

static void start(struct screen *s, char **argv) { start_sized(s, argv, 50, 500); }

static void add(struct screen *s, const char *p, size_t n) {
  if (s->n + n + 1 > s->room) s->text = realloc(s->text, s->room = (s->n + n + 1) * 2);
  for (size_t k = 0; k < n; k++)
    if (p[k]) s->text[s->n++] = p[k]; /* terminals are given time by zero bytes */
  s->text[s->n] = 0;
}

/* Escape sequences draw the line anew; a carriage return alone does, too. */
static void plain(char *s) {
  char *to = s, *line = s;
  while (*s) {
    if (*s == 27 && s[1] == '[') {
      for (s += 2; *s && !(*s >= '@' && *s <= '~'); s++) {}
      if (*s) s++;
    } else if (*s == 27) {
      s += s[1] ? 2 : 1;
    } else if (*s == '\r') {
      if (s[1] != '\n' && s[1] != '\r') to = line;
      s++;
    } else if (*s == 8) {
      if (to > line) to--;
      s++;
    } else if (*s == 7) {
      s++;
    } else {
      *to++ = *s++;
      if (to[-1] == '\n') line = to;
    }
  }
  *to = 0;
}

/* Whether one of the program's threads runs or wants to: on a busy machine it may take long to go on. */
static bool is_busy(pid_t pid) {
  char path[300], line[512];
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *tasks = opendir(path);
  bool busy = false;
  for (struct dirent *e; tasks && (e = readdir(tasks));) {
    snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)pid, e->d_name);
    FILE *f = fopen(path, "r");
    const char *state = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    busy |= state && (state[2] == 'R' || state[2] == 'D');
    if (f) fclose(f);
  }
  if (tasks) closedir(tasks);
  return busy;
}

/* Reads until the prompt stands at the end, behind the echo of what was typed, or nothing more comes from a program
 * that does nothing. What came, malloc'ed. */
static char *until_prompt(struct screen *s, bool *prompted) {
  unsigned waits = 0;
  s->n = 0;
  *prompted = false;
  for (;;) {
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    char buffer[4096];
    int came = poll(&p, 1, *prompted ? 50 : 20000); /* a prompt that is drawn anew has more behind it */
    if (!came && is_busy(s->pid) && ++waits < 60) continue;
    if (!came && *prompted) {
      char *copy = strdup(s->text);
      plain(copy);
      copy[strlen(copy) - strlen(PROMPT)] = 0;
      return copy;
    }
    if (came <= 0) break;
    ssize_t n = read(s->fd, buffer, sizeof buffer);
    if (n <= 0) break;
    add(s, buffer, (size_t)n);
    char *copy = strdup(s->text);
    plain(copy);
    size_t length = strlen(copy), m = strlen(PROMPT);
    *prompted = length >= m && !strcmp(copy + length - m, PROMPT) && (!s->typed_line || strchr(copy, '\n'));
    free(copy);
  }
  char *rest = strdup(s->n ? s->text : "");
  plain(rest);
  return rest;
}

/* What is typed comes back up to the end of its line. */
static const char *behind_echo(const char *text) {
  const char *end = strchr(text, '\n');
  return end ? end + 1 : text;
}

static char *read_file(const char *name, const char *suffix) {
  char path[300];
  snprintf(path, sizeof path, "%s%s", name, suffix);
  FILE *f = fopen(path, "r");
  if (!f) return NULL;
  char *text = calloc(1, 1 << 20);
  size_t n = fread(text, 1, (1 << 20) - 1, f);
  text[n] = 0;
  fclose(f);
  return text;
}

static void type(struct screen *s, const char *text) {
  s->typed_line = strchr(text, '\n') != NULL;
  if (write(s->fd, text, strlen(text)) < 0) perror("typing");
}

static void finish(struct screen *s) {
  type(s, "\004");
  bool prompted;
  free(until_prompt(s, &prompted));
  kill(s->pid, SIGKILL);
  waitpid(s->pid, NULL, 0);
  close(s->fd);
  free(s->text);
}

static bool play(const char *name) {
  char *script = read_file(name, ".mxr"), *expected = read_file(name, ".out"), *got = calloc(1, 1 << 20),
       *argv[64] = {"mxrun"};
  if (!script || !expected) return printf("%s: no such script\n", name), false;
  char *rest = script, *line = strsep(&rest, "\n"), *words = line + strlen("# mxrun ");
  for (int n = 1; n < 63 && (argv[n] = strsep(&words, " ")); n++) {}
  struct screen s;
  bool prompted;
  start(&s, argv);
  free(until_prompt(&s, &prompted));
  while (prompted && (line = strsep(&rest, "\n"))) {
    if (!*line) continue;
    char *typed = malloc(strlen(line) + 2);
    sprintf(typed, "%s\n", line);
    type(&s, typed);
    free(typed);
    char *answer = until_prompt(&s, &prompted);
    strcat(got, behind_echo(answer));
    free(answer);
  }
  finish(&s);
  char *end = strstr(expected, "exit status");
  if (end) *end = 0;
  bool same = !strcmp(got, expected);
  if (!same) printf("%s on a terminal:\n%s\n--- expected:\n%s\n", name, got, expected);
  free(script);
  free(expected);
  free(got);
  return same;
}

/* Types keys and looks for a text in the answer. */
static bool keys(struct screen *s, const char *what, const char *typed, const char *expected) {
  bool prompted;
  type(s, typed);
  char *answer = until_prompt(s, &prompted);
  bool good = prompted && strstr(answer, expected);
  if (!good) printf("%s: '%s' expected, got:\n%s\n", what, expected, answer);
  free(answer);
  return good;
}

/* A launch that hangs says so by itself, and Ctrl-C says where everybody was. */
static bool hang(void) {
  char *argv[] = {"mxrun", "stuck.mxs", "-k", "livelock", "--block", "128", "flag=zeros:u32[1]", NULL};
  struct screen s;
  start_sized(&s, argv, 24, 120);
  bool told = false, interrupted = false;
  for (int n = 0; n < 600 && !interrupted; n++) {
    struct pollfd p = {.fd = s.fd, .events = POLLIN};
    char buffer[4096];
    if (poll(&p, 1, 100) <= 0) continue;
    ssize_t got = read(s.fd, buffer, sizeof buffer);
    if (got <= 0) break;
    add(&s, buffer, (size_t)got);
    const char *where =
        "block (0,0,0) warp 0 lanes 0-63 spin at stuck.mxs:5 in 'livelock', and so do lanes of 1 more warp\r\n"
        "    the word at 0x100000000 is 0";
    const char *first = strstr(s.text, where), *ended = strstr(s.text, "was interrupted");
    if (!told && first && strstr(s.text, "livelock makes no progress")) told = true, type(&s, "\003");
    interrupted = told && ended && strstr(ended, where);
  }
  if (!interrupted)
    printf("a launch that hangs: %s, got:\n%s\n", told ? "Ctrl-C tells nothing" : "nothing is said", s.n ? s.text : "");
  kill(s.pid, SIGKILL);
  waitpid(s.pid, NULL, 0);
  close(s.fd);
  free(s.text);
  return interrupted;
}

int terminal(char **scripts) {
  int passed = 0, failed = 0;
  for (; *scripts; scripts++) play(*scripts) ? passed++ : failed++;
  char *argv[] = {"mxrun", "-i", "branches.mxs", "--grid", "2", "--block", "128", "out=zeros:u32[256]", NULL};
  struct screen s;
  bool prompted;
  start(&s, argv);
  free(until_prompt(&s, &prompted));
  keys(&s, "a command", "tbreak twice\n", "Breakpoint 1") ? passed++ : failed++;
  keys(&s, "a stop", "run\n", "twice at branches.mxs:5") ? passed++ : failed++;
  keys(&s, "completion of a command's word", "info focu\t\n", "block 0, warp 0, lane 1, split 0, frame 0") ? passed++
                                                                                                           : failed++;
  keys(&s, "completion of a register", "print %fro\t@ 5\n", "= 5") ? passed++ : failed++;
  keys(&s, "completion offers choices", "info b\tx\n", "barriers  blocks  breakpoints") ? passed++ : failed++;
  keys(&s, "history", "echo first\n", "first") ? passed++ : failed++;
  keys(&s, "the line before", "echo second\n", "second") ? passed++ : failed++;
  keys(&s, "two lines up", "\033[A\033[A\n", "first") ? passed++ : failed++;
  keys(&s, "an empty line repeats", "\n", "first") ? passed++ : failed++;
  keys(&s, "an error does not end it", "frobnicate\n", "no command 'frobnicate'") ? passed++ : failed++;
  keys(&s, "Ctrl-A and Ctrl-K", "rubbish\001\013info focus\n", "block 0") ? passed++ : failed++;
  finish(&s);

  char *narrow[] = {"mxrun", "-i", "stuck.mxs", "-k", "outside", "--block", "64", "flag=zeros:u32[1]", NULL};
  start_sized(&s, narrow, 24, 70);
  free(until_prompt(&s, &prompted));
  keys(&s, "lines fold at the terminal's width", "run\n", "write of 4 bytes at 0x40,\n    null pointer plus 64\n")
      ? passed++
      : failed++;
  finish(&s);

  char *view[] = {"mxrun", "-i", "--tui", "branches.mxs", "--grid", "2", "--block", "128", "out=zeros:u32[256]", NULL};
  start_sized(&s, view, 40, 150);
  char *first = until_prompt(&s, &prompted);
  strstr(first, "nothing runs: 'start' or 'run'") ? passed++
                                                  : (failed++, printf("the view before a launch:\n%s\n", first));
  free(first);
  keys(&s, "the view's source", "break 19\n", "b    19   add.u32 %v, %v, 3;") ? passed++ : failed++;
  keys(&s, "the view's place", "run\n", "b0>  19   add.u32 %v, %v, 3;") ? passed++ : failed++;
  keys(&s, "the view's lanes", "continue\n", "* 0 0-0-0-0- 0-0-0-0- 0-0-0-0-") ? passed++ : failed++;
  keys(&s, "the view's registers", "stepi\n", "%v       u32  6           6 ... 68 (+1 a lane)") ? passed++ : failed++;
  keys(&s, "the view's bar", "lane 2\n",
       " branches at branches.mxs:20   block 0 warp 0 lane 2 split 0 frame 0   position 19")
      ? passed++
      : failed++;
  keys(&s, "the view drawn anew", "\014\n", "registers, and in lane 2") ? passed++ : failed++;
  finish(&s);
  hang() ? passed++ : failed++;
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
