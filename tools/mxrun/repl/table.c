/* What derives from commands.def: finding commands, help, completion. */
#include "repl.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum group {
#define X(id_, name_, title_) G_##id_,
  GROUPS(X)
#undef X
};

const struct command commands[] = {
#define C(id_, name_, brief_, args_, completes_, group_, help_, example_) \
  {name_, brief_, args_, COMPLETE_##completes_, G_##group_, help_, example_, do_##id_},
#include "commands.def"
};
const size_t ncommands = sizeof commands / sizeof *commands;

static const char *const group_names[] = {
#define X(id_, name_, title_) name_,
    GROUPS(X)
#undef X
};
static const char *const group_titles[] = {
#define X(id_, name_, title_) title_,
    GROUPS(X)
#undef X
};
enum { NGROUPS = sizeof group_names / sizeof *group_names };

const struct command *find_command(const char *name, size_t n, char **why) {
  const struct command *found = NULL;
  size_t fits = 0;
  *why = NULL;
  for (size_t k = 0; k < ncommands; k++) {
    const struct command *c = &commands[k];
    if ((strlen(c->name) == n && !memcmp(c->name, name, n)) ||
        (*c->brief && strlen(c->brief) == n && !memcmp(c->brief, name, n)))
      return c;
    if (strlen(c->name) > n && !memcmp(c->name, name, n)) found = c, fits++;
  }
  if (fits == 1) return found;
  struct text t = {0};
  text_printf(&t, fits ? "'%.*s' may be" : "no command '%.*s'; try 'help'", (int)(n < 60 ? n : 60), name);
  for (size_t k = 0, first = 1; fits && k < ncommands; k++)
    if (!strncmp(commands[k].name, name, n)) text_printf(&t, "%s %s", first ? "" : ",", commands[k].name), first = 0;
  *why = t.s;
  return NULL;
}

static void help_line(const struct command *c) {
  char head[128];
  snprintf(head, sizeof head, "%s%s%s%s %s", c->name, *c->brief ? " (" : "", c->brief, *c->brief ? ")" : "",
           c->arguments);
  say("  %-34s %s\n", head, c->help);
}

static void help_command(const struct command *c) {
  printf("%s%s%s\n", c->name, *c->arguments ? " " : "", c->arguments);
  if (*c->brief) printf("  short: %s\n", c->brief);
  say("  %s\n", c->help);
  if (c->run == do_info)
    for (const struct info *i = infos; i->name; i++) printf("    info %-12s %s\n", i->name, i->help);
  printf("  example: %s\n", c->example);
}

static const char expressions[] =
    "Expressions have C's operators, over all lanes of the focus warp at once:\n"
    "  %name                    a register, special register or parameter's value\n"
    "  name                     a parameter's value, a variable's address\n"
    "  name[3]  name[%i]        an element of a buffer or variable; f32 name[3]: as another type; name[3:9] (print): "
    "several\n"
    "  [ADDRESS]  f32[ADDRESS]  memory      f32(x): the bits of x read as another type\n"
    "  x @ 5  x @ 3..10         the value in a lane, in some lanes\n"
    "  any(x) all(x) count(x) sum(x) min(x) max(x)   over the active lanes\n"
    "  isnan(x) abs(x) differs(x)   in each lane; differs: from the first active lane\n"
    "  wmma(%c0..%c3, c, 16x16x16)   (print) a fragment as the matrix that it is: registers, part (a b c d), shape, "
    "perhaps a type; mma(...)\n"
    "  $ $$ $7                  the last value printed, the one before, number 7 of `info values`\n"
    "  $pc $block $warp $lane $split $frame $position   of the focus\n"
    "  5 0x10 1.5 0f3F800000    numbers; integers have 64 bits\n";

/* All commands as a document, build/docs/commands.md. */
static void help_reference(void) {
  printf("# Commands of interactive sessions\n\nMade from `tools/mxrun/repl/commands.def`. A tutorial: `debugging.md`. "
         "Any unambiguous beginning of a name will do.\n");
  printf("\n## Expressions\n\n");
  for (const char *s = expressions; *s; s = strchr(s, '\n') + 1)
    printf("%s%.*s\n", *s == ' ' ? "  " : "", (int)strcspn(s, "\n"), s);
  for (int g = 0; g < NGROUPS; g++) {
    printf("\n## %s\n", group_titles[g]);
    for (size_t k = 0; k < ncommands; k++) {
      const struct command *c = &commands[k];
      if (c->group != g) continue;
      printf("\n### %s%s%s\n\n", c->name, *c->arguments ? " " : "", c->arguments);
      if (*c->brief) printf("Short form: `%s`. ", c->brief);
      printf("%c%s.\n\n    %s\n", toupper((unsigned char)*c->help), c->help + 1, c->example);
      for (const struct info *i = c->run == do_info ? infos : NULL; i && i->name; i++)
        printf("%s- `info %s`: %s\n", i == infos ? "\n" : "", i->name, i->help);
    }
  }
}

bool do_help(struct repl *r, char *arguments) {
  char *word = next_word(&arguments), *why;
  if (word && !strcmp(word, "reference")) return help_reference(), true;
  if (word && !strcmp(word, "expressions")) return printf("%s", expressions), true;
  for (int g = 0; g < NGROUPS && word; g++)
    if (!strcmp(group_names[g], word)) {
      for (size_t k = 0; k < ncommands; k++)
        if (commands[k].group == g) help_line(&commands[k]);
      return true;
    }
  if (word) {
    const struct command *c = find_command(word, strlen(word), &why);
    if (c) return help_command(c), true;
    complain(r, "%s", why);
    free(why);
    return false;
  }
  for (int g = 0; g < NGROUPS; g++) {
    printf("%-10s", group_titles[g]);
    for (size_t k = 0; k < ncommands; k++)
      if (commands[k].group == g) printf(" %s", commands[k].name);
    printf("\n");
  }
  printf(
      "'help COMMAND' says more, 'help GROUP' (%s ...) lists, 'help expressions'. Any unambiguous beginning will do.\n",
      group_names[0]);
  printf("Without a program, type instructions: add.s32 %%a, %%laneid, 5;\n");
  return true;
}

/* ---- completion -------------------------------------------------------------------------------------------*/
struct words {
  char **at;
  size_t n;
  const char *prefix;
};

static void offer(struct words *w, const char *word) {
  if (strncmp(word, w->prefix, strlen(w->prefix))) return;
  for (size_t k = 0; k < w->n; k++)
    if (!strcmp(w->at[k], word)) return;
  w->at = cli_realloc(w->at, (w->n + 2) * sizeof *w->at);
  w->at[w->n++] = cli_strdup(word);
  w->at[w->n] = NULL;
}

static void offer_files(struct words *w) {
  const char *slash = strrchr(w->prefix, '/');
  char *folder = slash ? format("%.*s", (int)(slash - w->prefix + 1), w->prefix) : cli_strdup("");
  DIR *dir = opendir(*folder ? folder : ".");
  for (struct dirent *e; dir && (e = readdir(dir));) {
    if (e->d_name[0] == '.') continue;
    char *path = format("%s%s", folder, e->d_name);
    offer(w, path);
    free(path);
  }
  if (dir) closedir(dir);
  free(folder);
}

static void offer_names(struct repl *r, struct words *w, enum completion what) {
  mx_debug_function f = {.struct_size = sizeof f};
  for (size_t k = 0; r->g && mx_debug_function_at(r->g, k, &f) == MX_OK; k++) {
    if (what == COMPLETE_PLACE) offer(w, f.name);
    mx_debug_instruction i = {.struct_size = sizeof i};
    for (uint32_t pc = 0; what == COMPLETE_PLACE && mx_debug_code(r->g, f.name, pc, &i) == MX_OK; pc += i.words)
      if (i.label) offer(w, i.label);
    const char *name;
    for (size_t n = 0; what == COMPLETE_VALUE && (name = mx_debug_name_at(r->g, f.name, n)); n++) offer(w, name);
  }
  for (size_t k = 0; what == COMPLETE_VALUE && k < r->args.n; k++)
    if (r->args.arg[k].name) offer(w, r->args.arg[k].name);
}

char **complete(struct repl *r, const char *line, size_t *start) {
  size_t n = strlen(line), at = n;
  while (at && !strchr(" \t([@=+-*/", line[at - 1])) at--;
  size_t first = strspn(line, " \t");
  struct words w = {.prefix = line + at};
  *start = at;
  const char *rest = line + first;
  size_t length = strcspn(rest, " \t");
  if (first + length >= n) {
    for (size_t k = 0; k < ncommands; k++) offer(&w, commands[k].name);
    return w.at;
  }
  char *why;
  const struct command *c = find_command(rest, strcspn(rest, " \t/"), &why);
  free(why);
  if (!c) return NULL;
  switch (c->completes) {
  case COMPLETE_COMMAND:
    for (size_t k = 0; k < ncommands; k++) offer(&w, commands[k].name);
    break;
  case COMPLETE_INFO:
    for (const struct info *i = infos; i->name; i++) offer(&w, i->name);
    break;
  case COMPLETE_KIND:
    for (const char *const *k = kinds; *k; k++) offer(&w, *k);
    break;
  case COMPLETE_FILE:
    at = n;
    while (at && !strchr(" \t", line[at - 1])) at--;
    *start = at;
    w.prefix = line + at;
    offer_files(&w);
    break;
  case COMPLETE_NONE: break;
  default: offer_names(r, &w, c->completes);
  }
  return w.at;
}
