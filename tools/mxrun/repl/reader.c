/* Lines from people or from files. On a terminal libedit edits, remembers and completes; elsewhere there is no prompt.
 */
#include "repl.h"

#include <histedit.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct reader {
  struct repl *repl;
  FILE *from;
  EditLine *edit;
  History *history;
  const char *prompt;
};

static char *prompt_of(EditLine *edit) {
  struct reader *e;
  el_get(edit, EL_CLIENTDATA, &e);
  return (char *)(uintptr_t)e->prompt;
}

static unsigned char on_tab(EditLine *edit, int key) {
  (void)key;
  struct reader *e;
  el_get(edit, EL_CLIENTDATA, &e);
  const LineInfo *info = el_line(edit);
  char *line = format("%.*s", (int)(info->cursor - info->buffer), info->buffer);
  size_t start, common = 0, n = 0;
  char **words = complete(e->repl, line, &start);
  size_t typed = strlen(line) - start;
  for (; words && words[n]; n++) {
    size_t k = 0;
    while (words[0][k] && words[0][k] == words[n][k]) k++;
    if (!n || k < common) common = k;
  }
  unsigned char answer = CC_ERROR;
  if (n && common > typed) {
    char *more = format("%.*s%s", (int)(common - typed), words[0] + typed, n == 1 ? " " : "");
    el_insertstr(edit, more);
    free(more);
    answer = CC_REFRESH;
  } else if (n > 1) {
    printf("\n");
    for (size_t k = 0; k < n; k++) printf("%s%s", words[k], k + 1 < n ? "  " : "\n");
    fflush(stdout);
    answer = CC_REDISPLAY;
  }
  for (size_t k = 0; k < n; k++) free(words[k]);
  free(words);
  free(line);
  return answer;
}

static unsigned char on_clear(EditLine *edit, int key) {
  (void)key;
  struct reader *e;
  el_get(edit, EL_CLIENTDATA, &e);
  screen_clear(e->repl);
  return CC_REDISPLAY;
}

struct reader *reader_new(struct repl *r, FILE *f, bool terminal) {
  struct reader *e = cli_alloc(sizeof *e);
  *e = (struct reader){.repl = r, .from = f};
  if (!terminal) return e;
  HistEvent event;
  e->edit = el_init("mxrun", f, stdout, stderr);
  e->history = history_init();
  if (!e->edit) return e;
  el_set(e->edit, EL_CLIENTDATA, e);
  el_set(e->edit, EL_PROMPT, prompt_of);
  el_set(e->edit, EL_EDITOR, "emacs");
  el_set(e->edit, EL_SIGNAL, 1);
  if (e->history) {
    history(e->history, &event, H_SETSIZE, 1000);
    history(e->history, &event, H_SETUNIQUE, 1);
    el_set(e->edit, EL_HIST, history, e->history);
  }
  el_set(e->edit, EL_ADDFN, "mx-complete", "complete the word", on_tab);
  el_set(e->edit, EL_BIND, "^I", "mx-complete", NULL);
  el_set(e->edit, EL_ADDFN, "mx-clear", "clear the screen", on_clear);
  el_set(e->edit, EL_BIND, "^L", "mx-clear", NULL);
  el_set(e->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
  return e;
}

char *reader_line(struct reader *e, const char *prompt) {
  if (e->edit) {
    int n;
    e->prompt = prompt;
    const char *line = el_gets(e->edit, &n);
    if (!line || n <= 0) return NULL;
    HistEvent event;
    if (e->history && line[strspn(line, " \t\r\n")]) history(e->history, &event, H_ENTER, line);
    return format("%.*s", (int)strcspn(line, "\r\n"), line);
  }
  char *line = NULL;
  size_t room = 0;
  ssize_t n = getline(&line, &room, e->from);
  if (n < 0) return free(line), NULL;
  while (n && (line[n - 1] == '\n' || line[n - 1] == '\r')) line[--n] = 0;
  for (ssize_t k = 0; k < n; k++)
    if (!line[k]) line[k] = ' '; /* NUL bytes are no text */
  return line;
}

void reader_free(struct reader *e) {
  if (!e) return;
  if (e->history) history_end(e->history);
  if (e->edit) el_end(e->edit);
  free(e);
}
