/* The calculator: a kernel that grows by what is typed, and one warp that runs each line as it comes.
 *
 * The text always ends with `exit`, before which the warp waits. A new line is put there, the whole is assembled anew
 * (with a slot for every name, so that registers stay where they are), and the warp's code is replaced under it. What
 * cannot be added so (a variable, a function, a line that trapped) begins a new launch that does everything again. */
#include "repl.h"

#include "mx/asm.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct entry {
  char *text;
  bool set;
}; /* set: a change by hand, no instruction */
struct calculator {
  unsigned lanes;
  struct text head, partial;
  struct entry *entry;
  size_t n;
  bool alive; /* the warp stands at the end of the text */
};

static const char name[] = "calculator";

/* Macros that were typed are words of the calculator's language. */
static bool names_macro(struct repl *r, const char *word, size_t n) {
  const char *s = r->calc && r->calc->head.n && n ? r->calc->head.s : NULL;
  while (s && (s = strstr(s, ".macro "))) {
    s += 7 + strspn(s + 7, " ");
    if (!strncmp(s, word, n) && strchr(" \t\n,", s[n])) return true;
  }
  return false;
}

bool is_instruction(struct repl *r, const char *line) {
  line += strspn(line, " \t");
  size_t n = strcspn(line, " \t"), end = strlen(line);
  if (strchr(".@{}", *line) && *line) return true;
  if (names_macro(r, line, n)) return true;
  if (end && line[end - 1] == ':') return true;
  if (!isalpha((unsigned char)*line) && *line != '_') return strchr(line, ';') != NULL;
  char *why;
  const struct command *c =
      n == strspn(line, "abcdefghijklmnopqrstuvwxyz") ? find_command(line, n, &why) : (why = NULL, NULL);
  free(why);
  if (c) return false;
  return strchr(line, ';') || memchr(line, '.', n);
}

/* ---- the text ---------------------------------------------------------------------------------------------*/
static void rebuild(struct repl *r) {
  struct calculator *c = r->calc;
  struct text t = {0};
  text_printf(&t, c->lanes == 32 ? ".target sm_90\n" : ".target mx64\n");
  text_printf(&t, "%s.entry %s()\n{\n", c->head.n ? c->head.s : "", name);
  for (size_t k = 0; k < c->n; k++)
    if (!c->entry[k].set) text_printf(&t, "  %s\n", c->entry[k].text);
  text_printf(&t, "  exit;\n}\n");
  struct listing *keep = r->listing;
  r->listing = NULL;
  if (keep) r->listing = keep, listing_free(r);
  free(r->bytes);
  free(r->file);
  r->bytes = t.s, r->size = t.n, r->file = cli_strdup(name);
}

static void pop(struct repl *r) {
  free(r->calc->entry[--r->calc->n].text);
  rebuild(r);
}

static void push(struct repl *r, const char *text, bool set) {
  struct calculator *c = r->calc;
  c->entry = cli_realloc(c->entry, (c->n + 1) * sizeof *c->entry);
  c->entry[c->n++] = (struct entry){cli_strdup(text), set};
  if (!set) rebuild(r);
}

/* ---- the warp ---------------------------------------------------------------------------------------------*/
static bool begin(struct repl *r) {
  struct repl was = *r;
  r->config = (mx_launch_config)MX_LAUNCH_CONFIG_INIT;
  r->config.block[0] = r->calc->lanes;
  r->words = NULL, r->nwords = 0;
  r->recording = false, r->seed = 0, r->hang_turns = 0;
  r->kernel_name = (char *)(uintptr_t)name;
  bool good = launch_begin(r);
  r->config = was.config;
  r->words = was.words, r->nwords = was.nwords;
  r->recording = was.recording, r->seed = was.seed, r->hang_turns = was.hang_turns;
  r->kernel_name = was.kernel_name;
  return good;
}

/* Up to the `exit` at the end. */
static bool run_to_end(struct repl *r) {
  mx_debug_instruction i = {.struct_size = sizeof i};
  uint32_t end = 0;
  int number;
  for (uint32_t pc = 0; mx_debug_code(r->g, name, pc, &i) == MX_OK; pc += i.words) end = pc;
  if (r->stop.pc == end && r->stop.reason == MX_DEBUG_AT_BEGIN && !end) return true;
  mx_debug_split s = {.struct_size = sizeof s};
  if (mx_debug_get_split(r->g, 0, 0, 0, &s) == MX_OK && s.pc == end) return true;
  mx_status st = mx_debug_break(r->g, name, end, &number);
  if (st != MX_OK) return complain_status(r, st);
  interrupted = r->g;
  do st = mx_debug_go(r->g, MX_DEBUG_STEP, 0, 0, r->steps_limit, &r->stop);
  while (st == MX_OK && r->stop.reason == MX_DEBUG_AT_BRKPT);
  interrupted = NULL;
  if (st != MX_OK) return complain_status(r, st);
  if (r->stop.reason == MX_DEBUG_AT_BREAKPOINT) {
    mx_debug_break_delete(r->g, number);
    take_focus(r);
    return true;
  }
  r->calc->alive = false;
  if (r->stop.reason == MX_DEBUG_AT_TRAP) {
    take_focus(r);
    show_stop(r);
    return complain(r, "The line was undone; its trap can still be inspected.");
  }
  if (r->stop.reason == MX_DEBUG_AT_END)
    return launch_end(r), complain(r, "All lanes would have ended: that line is taken back.");
  return complain(r, "After %llu instructions the line has not come to its end, and is taken back.",
                  (unsigned long long)r->steps_limit);
}

/* The text, which has grown, takes the place of the code that runs. *assembled: whether it is one. */
static mx_status put_in_place(struct repl *r, bool *assembled) {
  mx_asm_options o = {.struct_size = sizeof(mx_asm_options), .file_name = name, .one_slot_per_name = true};
  mx_asm_result *made = mx_assemble(r->bytes, r->size, &o);
  size_t size;
  fflush(stdout);
  for (size_t k = 0; k < mx_asm_diagnostic_count(made); k++) {
    char *s = mx_asm_format(mx_asm_diagnostic_at(made, k), r->color);
    if (s) fputs(s, stderr);
    free(s);
  }
  const void *bytes = made ? mx_asm_bytes(made, &size) : NULL;
  *assembled = bytes != NULL;
  mx_status s = bytes ? mx_debug_replace(r->g, bytes, size) : MX_INVALID_MODULE;
  if (made) mx_asm_free(made);
  if (s == MX_OK) mx_debug_where(r->g, &r->stop);
  return s;
}

/* Lines up to the next change by hand, the change, and so on. *refused: a later line needs what the first ones had not.
 */
static bool replay(struct repl *r, bool *refused) {
  struct calculator *c = r->calc;
  size_t n = c->n;
  bool good = true, assembled;
  *refused = false;
  for (size_t k = 0; k <= n && good; k++) {
    if (k < n && !c->entry[k].set) continue;
    c->n = k;
    rebuild(r);
    c->n = n;
    if (!r->g || !c->alive) good = begin(r);
    else if (put_in_place(r, &assembled) != MX_OK) *refused = true, good = false;
    good = good && run_to_end(r);
    c->alive = good;
    if (good && k < n) good = set_value(r, c->entry[k].text);
  }
  rebuild(r);
  return good;
}

/* Everything again, in a new launch. */
static bool again(struct repl *r) {
  struct calculator *c = r->calc;
  bool refused;
  c->alive = false;
  if (replay(r, &refused)) return true;
  if (!refused) return false;
  size_t kept = 0;
  for (size_t k = 0; k < c->n; k++) {
    if (c->entry[k].set) free(c->entry[k].text);
    else c->entry[kept++] = c->entry[k];
  }
  c->n = kept;
  c->alive = false;
  printf("The warp begins again; what was changed by 'set' is forgotten.\n");
  return replay(r, &refused);
}

static bool replaced(struct repl *r) {
  bool assembled;
  mx_status s = put_in_place(r, &assembled);
  if (!assembled) return pop(r), false;
  if (s != MX_OK) return again(r) || (pop(r), false);
  return run_to_end(r) || (pop(r), false);
}

/* The register that the line writes, in one line. */
static void show_result(struct repl *r, const char *line) {
  const char *s = strrchr(line, '\n') ? strrchr(line, '\n') + 1 : line;
  s += strspn(s, " \t");
  if (*s == '@') s += strcspn(s, " \t");
  s += strspn(s, " \t");
  s += strcspn(s, " \t");
  s += strspn(s, " \t");
  if (*s != '%') return;
  size_t n = 1;
  while (isalnum((unsigned char)s[n]) || s[n] == '_') n++;
  char *reg = format("%.*s", (int)n, s);
  mx_debug_register g = {.struct_size = sizeof g};
  if (mx_debug_get_register(r->g, r->block, r->warp, r->split, r->frame, reg, &g) == MX_OK) {
    struct value v;
    value_of_register(&g, &v);
    char *text = summary(&v, focus_lanes(r), g.lanes, 0);
    printf("%s = %s\n", reg, text);
    free(text);
  }
  free(reg);
}

/* ---- lines ------------------------------------------------------------------------------------------------*/
static bool starts(const char *s, const char *word) {
  return !strncmp(s, word, strlen(word)) && !isalnum((unsigned char)s[strlen(word)]);
}

/* Declarations that stand outside of the kernel. */
static bool outside(const char *s) {
  static const char *const words[] = {".shared",  ".global", ".const", ".func", ".entry",
                                      ".visible", ".extern", ".macro", ".equ",  ".weak"};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++)
    if (starts(s, words[k])) return true;
  return false;
}

/* Braces are open, or a macro is. */
static bool incomplete(const char *s) {
  int depth = 0, macros = 0;
  for (const char *p = s; *p; p++) {
    depth += *p == '{';
    depth -= *p == '}';
    if (*p == '.' && starts(p, ".macro")) macros++;
    if (*p == '.' && starts(p, ".endm")) macros--;
  }
  return depth > 0 || macros > 0 || (starts(s, ".func") && !strchr(s, '}')) || (starts(s, ".entry") && !strchr(s, '}'));
}

static bool add_outside(struct repl *r, const char *text) {
  struct calculator *c = r->calc;
  size_t was = c->head.n;
  text_printf(&c->head, "%s\n", text);
  rebuild(r);
  if (again(r)) return true;
  c->head.n = was;
  c->head.s[was] = 0;
  rebuild(r);
  again(r);
  return false;
}

bool calc_line(struct repl *r, const char *line) {
  struct calculator *c = r->calc;
  if (c->partial.n > 1 << 20) return c->partial.n = 0, complain(r, "that is too long");
  text_printf(&c->partial, "%s%s", c->partial.n ? "\n" : "", line);
  if (incomplete(c->partial.s)) return true;
  char *text = cli_strdup(c->partial.s);
  c->partial.n = 0;
  bool good;
  if (outside(text)) {
    good = add_outside(r, text);
  } else {
    size_t end = strlen(text);
    bool closed = strchr(";}:", text[end - 1]) || *text == '.' || strstr(text, "//");
    char *whole = format("%s%s", text, closed ? "" : ";");
    if (!c->alive || !r->g) again(r);
    push(r, whole, false);
    good = c->alive && r->g ? replaced(r) : (pop(r), false);
    if (good) show_result(r, whole);
    free(whole);
  }
  free(text);
  return good;
}

bool calc_waits(struct repl *r) { return r->calc->partial.n != 0; }

bool calc_begin(struct repl *r, unsigned lanes) {
  calc_free(r);
  launch_end(r);
  r->calc = cli_alloc(sizeof *r->calc);
  *r->calc = (struct calculator){.lanes = lanes};
  rebuild(r);
  return again(r);
}

void calc_free(struct repl *r) {
  struct calculator *c = r->calc;
  if (!c) return;
  launch_end(r);
  text_free(&c->head);
  text_free(&c->partial);
  for (size_t k = 0; k < c->n; k++) free(c->entry[k].text);
  free(c->entry);
  free(c);
  r->calc = NULL;
}

/* ---- commands ---------------------------------------------------------------------------------------------*/
void calc_changed(struct repl *r, const char *arguments) {
  if (r->calc && r->calc->alive) push(r, arguments, true);
}

bool calc_undo(struct repl *r) {
  struct calculator *c = r->calc;
  if (!c->n) return complain(r, "there is nothing to undo");
  printf("taken back: %s\n", c->entry[c->n - 1].text);
  pop(r);
  return again(r);
}

bool do_clear(struct repl *r, char *arguments) {
  char *word = next_word(&arguments);
  uint64_t lanes = r->calc ? r->calc->lanes : REPL_LANES;
  if (word && (!number_word(word, &lanes) || (lanes != 32 && lanes != 64)))
    return complain(r, "warps have 32 or 64 lanes");
  free(r->kernel_name);
  r->kernel_name = NULL;
  return calc_begin(r, (unsigned)lanes);
}

bool do_save(struct repl *r, char *arguments) {
  char *path = next_word(&arguments);
  const char *why;
  if (!path) return complain(r, "save into what file?");
  if (!r->bytes) return complain(r, "there is nothing to save");
  struct text t = {0};
  if (r->calc) text_printf(&t, "// A calculator session: mxrun -k %s --block %u\n", name, r->calc->lanes);
  text_add(&t, r->bytes, r->size);
  bool good = cli_write_file(path, t.s, t.n, &why);
  text_free(&t);
  return good || complain(r, "%s: %s", path, why);
}

bool do_buffer(struct repl *r, char *arguments) {
  char *word = next_word(&arguments), *array = next_word(&arguments), *why = NULL;
  struct data d = {0};
  if (!r->calc) return complain(r, "buffers are the calculator's: 'clear' begins one");
  if (!word || !array || !(isalpha((unsigned char)*word) || *word == '_'))
    return complain(r, "expected NAME ARRAY, as in 'buffer v iota:u32[64]'");
  for (const char *s = word; *s; s++)
    if (!isalnum((unsigned char)*s) && *s != '_') return complain(r, "'%s' is not a name", word);
  /* small ones: they become text */
  const char *open = strchr(array, '[');
  uint64_t elements = 0;
  if (open && (sscanf(open, "[%20lu", &elements) != 1 || elements > 1 << 18))
    return complain(r, "at most %u elements", 1 << 18);
  bool made = *array == '@' ? data_read(&d, array + 1, &why) : data_generate(&d, array, &why) == DATA_MADE;
  if (!made || d.size > 1 << 21 || !d.size) {
    complain(r, "%s", why ? why : "expected an array of at most 2 MB, as zeros:f32[64], iota:u32[8] or @file.npy");
    free(why);
    data_free(&d);
    return false;
  }
  unsigned size = d.type ? d.type->size : 1;
  struct text t = {0};
  text_printf(&t, ".global .align 16 .b%u %s[%llu] = {", 8 * size, word, (unsigned long long)(d.size / size));
  for (uint64_t k = 0; k < d.size / size; k++) {
    uint64_t bits = 0;
    memcpy(&bits, d.bytes + k * size, size);
    text_printf(&t, "%s0x%llx", k ? "," : "", (unsigned long long)bits);
  }
  text_printf(&t, "};");
  data_free(&d);
  bool good = add_outside(r, t.s);
  text_free(&t);
  return good;
}
