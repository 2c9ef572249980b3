/* Source lines, places in code, and the text of instructions. */
#include "repl.h"

#include "asm/disassemble.h"
#include "vm/load/module.h" /* reads an image for the disassembler: asm/ and vm/ do not know each other */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct lines {
  char *file, *text;
  char **at;
  uint32_t n;
  struct lines *next;
};
struct slot_name {
  char slot[16], name[64];
  uint32_t lo, hi;
};
struct body {
  char *function;
  char **line;
  size_t n;
  struct slot_name *name;
  size_t nnames;
};
struct listing {
  struct lines *files;
  struct body *body;
  size_t nbodies;
  bool disassembled;
};

void listing_free(struct repl *r) {
  struct listing *l = r->listing;
  if (!l) return;
  for (struct lines *f; (f = l->files); free(f)) {
    l->files = f->next;
    free(f->file);
    free(f->text);
    free(f->at);
  }
  for (size_t k = 0; k < l->nbodies; k++) {
    for (size_t n = 0; n < l->body[k].n; n++) free(l->body[k].line[n]);
    free(l->body[k].line);
    free(l->body[k].function);
    free(l->body[k].name);
  }
  free(l->body);
  free(l);
  r->listing = NULL;
}

static struct listing *listing(struct repl *r) {
  if (!r->listing) r->listing = cli_alloc(sizeof *r->listing), *r->listing = (struct listing){0};
  return r->listing;
}

/* ---- source -----------------------------------------------------------------------------------------------*/
static struct lines *lines_of(struct repl *r, const char *file) {
  struct listing *l = listing(r);
  for (struct lines *f = l->files; f; f = f->next)
    if (!strcmp(f->file, file)) return f;
  struct lines *f = cli_alloc(sizeof *f);
  *f = (struct lines){.file = cli_strdup(file), .next = l->files};
  l->files = f;
  const char *why;
  size_t size = r->size;
  if (r->file && !strcmp(file, r->file)) {
    if (size >= 4 && !memcmp(r->bytes, "MXB\n", 4)) return f;
    f->text = cli_alloc(size + 1);
    memcpy(f->text, r->bytes, size + 1);
  } else {
    f->text = cli_read_file(file, 1 << 26, &size, &why);
  }
  for (char *s = f->text, *line; s && (line = strsep(&s, "\n"));) {
    f->at = cli_realloc(f->at, (f->n + 1) * sizeof *f->at);
    f->at[f->n++] = line;
  }
  if (f->n && !*f->at[f->n - 1]) f->n--;
  return f;
}

const char *source_line(struct repl *r, const char *file, uint32_t line) {
  struct lines *f = lines_of(r, file);
  return line && line <= f->n ? f->at[line - 1] : NULL;
}

void show_line(struct repl *r, const char *file, uint32_t line) {
  const char *s = source_line(r, file, line);
  if (s) printf("%u\t%s\n", line, s);
}

static const char *main_source(struct repl *r) { return r->g && !r->over && r->stop.file ? r->stop.file : r->file; }

/* "-", "FROM,TO", a line, a place; nothing: on from where the last one ended. Up to 10 lines, or as many as were asked
 * for. */
bool do_list(struct repl *r, char *arguments) {
  uint64_t line = r->listed ? r->listed : 1, last = 0;
  char *function = NULL, *file = NULL, *comma = strchr(arguments, ','), *word = next_word(&arguments);
  uint32_t pc, at;
  if (!r->file && !r->bytes) return complain(r, "there is no program");
  if (word && !strcmp(word, "-")) {
    line = line > 20 ? line - 20 : 1;
  } else if (word && comma && comma >= word) {
    char *end = comma + 1 + strspn(comma + 1, " \t");
    *comma = 0;
    if (!number_word(word, &line) || !number_word(end, &last) || !line || last < line)
      return complain(r, "expected FROM,TO");
  } else if (word && !number_word(word, &line)) {
    if (!r->kernel && !target_bind(r)) return false;
    const bool probe = probe_begin(r), found = find_place(r, word, &function, &pc, &at, &file);
    mx_debug_instruction i = {.struct_size = sizeof i};
    line = found && r->g && mx_debug_code(r->g, function, pc, &i) == MX_OK ? i.line : at;
    probe_end(r, probe);
    if (!found) return false;
    line = line > 5 ? line - 5 : 1;
  } else if (word) {
    line = line > 5 ? line - 5 : 1;
  }
  const char *source = file ? file : main_source(r);
  struct lines *f = lines_of(r, source);
  if (!last) last = line + 9;
  bool good = f->n && line <= f->n;
  for (uint64_t k = line; k <= last && k <= f->n; k++) printf("%llu\t%s\n", (unsigned long long)k, f->at[k - 1]);
  if (good) r->listed = (uint32_t)(last + 1);
  else complain(r, f->n ? "%s has %u lines" : "%s: no text is known", source, f->n);
  free(function);
  free(file);
  return good;
}

/* ---- instructions: the disassembler's lines, in the order of the code -------------------------------------------*/
static void add_name(struct body *b, const char *line) { /* .name .TYPE "NAME", SLOT, LO, HI; */
  struct slot_name n = {0};
  const char *quote = strchr(line, '"');
  if (quote && sscanf(quote, "\"%63[^\"]\", %15[^,], %u, %u", n.name, n.slot, &n.lo, &n.hi) == 4) {
    b->name = cli_realloc(b->name, (b->nnames + 1) * sizeof *b->name);
    b->name[b->nnames++] = n;
  }
}

static void disassemble(struct repl *r) {
  struct listing *l = listing(r);
  struct mx__image *image = NULL;
  mx_asm_result *made = NULL;
  const void *bytes = r->bytes;
  size_t size = r->size;
  if (l->disassembled) return;
  l->disassembled = true;
  if (!bytes) return;
  if (size < 4 || memcmp(bytes, "MXB\n", 4)) {
    mx_asm_options o = {
        .struct_size = sizeof(mx_asm_options), .file_name = r->file, .allow_include = true, .one_slot_per_name = true};
    made = mx_assemble(r->bytes, r->size, &o);
    bytes = made ? mx_asm_bytes(made, &size) : NULL;
  }
  char *text =
      bytes && mx__image_read(bytes, size, &image, NULL) == MX__LOAD_OK ? mx__disassemble(&image->image) : NULL;
  struct body *b = NULL;
  for (char *s = text, *line; s && (line = strsep(&s, "\n"));) {
    if (!strncmp(line, ".entry ", 7) || !strncmp(line, ".func", 5) || !strncmp(line, ".visible ", 9)) {
      const char *name = strstr(line, ".entry ") ? strstr(line, ".entry ") + 7 : strstr(line, ".func") + 5;
      name += strspn(name, " ");
      if (*name == '(') name = strchr(name, ')') ? strchr(name, ')') + 1 : name + strlen(name);
      name += strspn(name, " ");
      l->body = cli_realloc(l->body, (l->nbodies + 1) * sizeof *l->body);
      b = &l->body[l->nbodies++];
      *b = (struct body){.function = format("%.*s", (int)strcspn(name, "( ;"), name)};
    } else if (b && line[0] == '\t' && !strncmp(line, "\t.name ", 7)) {
      add_name(b, line);
    } else if (b && line[0] == '\t' && line[1] != '.') {
      b->line = cli_realloc(b->line, (b->n + 1) * sizeof *b->line);
      b->line[b->n++] = cli_strdup(line + 1);
    }
  }
  free(text);
  mx__image_free(image);
  if (made) mx_asm_free(made);
}

static void named_slots(struct text *t, const struct body *b, const char *s, uint32_t pc) {
  while (*s) {
    size_t n = *s == '%' && s[1] == '.' ? 2 + strspn(s + 2, "abcdefghijklmnopqrstuvwxyz0123456789") : 0, k = 0;
    while (n && k < b->nnames &&
           !(strlen(b->name[k].slot) == n && !memcmp(b->name[k].slot, s, n) && b->name[k].lo <= pc + 1 &&
             pc < b->name[k].hi))
      k++;
    if (n && k < b->nnames) text_printf(t, "%s", b->name[k].name), s += n;
    else text_add(t, s++, 1);
  }
}

char *instruction_text(struct repl *r, const char *function, uint32_t pc) {
  disassemble(r);
  mx_debug_instruction i = {.struct_size = sizeof i};
  for (size_t k = 0; k < r->listing->nbodies; k++) {
    const struct body *b = &r->listing->body[k];
    if (strcmp(b->function, function)) continue;
    size_t n = 0;
    for (uint32_t at = 0; at < pc && mx_debug_code(r->g, function, at, &i) == MX_OK; at += i.words) n++;
    struct text t = {0};
    if (n < b->n) named_slots(&t, b, b->line[n], pc);
    if (t.s) return t.s;
  }
  return cli_strdup(mx_debug_code(r->g, function, pc, &i) == MX_OK && i.instruction ? i.instruction : "?");
}

bool do_disassemble(struct repl *r, char *arguments) {
  char *name = next_word(&arguments);
  mx_debug_frame f = {.struct_size = sizeof f};
  if (!running(r)) return false;
  if (!name && mx_debug_get_frame(r->g, r->block, r->warp, r->split, r->frame, &f) != MX_OK)
    f.function = r->stop.function;
  const char *function = name ? name : f.function;
  mx_debug_instruction i = {.struct_size = sizeof i};
  if (mx_debug_code(r->g, function, 0, &i) != MX_OK)
    return complain(r, "the kernel does not use a function '%s'", function);
  uint32_t line = 0;
  for (uint32_t pc = 0; mx_debug_code(r->g, function, pc, &i) == MX_OK; pc += i.words) {
    if (i.file && i.line != line) show_line(r, i.file, line = i.line);
    char mark[8] = "", *text = instruction_text(r, function, pc);
    mx_debug_split s = {.struct_size = sizeof s};
    size_t n = 0;
    for (uint32_t k = 0; mx_debug_get_split(r->g, r->block, r->warp, k, &s) == MX_OK; k++)
      if (s.pc == pc && !strcmp(s.function, function) && n < 6) mark[n++] = k < 10 ? (char)('0' + k) : '+';
    mark[n] = 0;
    if (i.label) printf("%s:\n", i.label);
    printf("%3s%s%5u  %s\n", mark, n ? ">" : " ", pc, text);
    free(text);
  }
  return true;
}

/* ---- places: LINE, FILE:LINE, *PC, FUNCTION, FUNCTION+PC, LABEL -------------------------------------------------*/
static bool label_in(struct repl *r, const char *name, char **function, uint32_t *pc) {
  mx_debug_function f = {.struct_size = sizeof f};
  mx_debug_instruction i = {.struct_size = sizeof i};
  for (size_t k = 0; mx_debug_function_at(r->g, k, &f) == MX_OK; k++)
    for (*pc = 0; mx_debug_code(r->g, f.name, *pc, &i) == MX_OK; *pc += i.words)
      if (i.label && !strcmp(i.label, name)) return *function = cli_strdup(f.name), true;
  return false;
}

/* Lines are answered as such: one may have code in several functions. Without a launch names are taken on trust. */
bool find_place(struct repl *r, const char *text, char **function, uint32_t *pc, uint32_t *line, char **file) {
  uint64_t n;
  *function = *file = NULL;
  *line = *pc = 0;
  const char *colon = strrchr(text, ':');
  if (number_word(text, &n) && n && n <= UINT32_MAX) *line = (uint32_t)n;
  else if (colon && colon != text && number_word(colon + 1, &n) && n && n <= UINT32_MAX)
    *line = (uint32_t)n, *file = format("%.*s", (int)(colon - text), text);
  if (*line) {
    int number;
    if (!r->g) return true;
    mx_debug_breakpoint b = {.struct_size = sizeof b};
    mx_status s = mx_debug_break_line(r->g, *file, *line, &number); /* the machine knows where a line begins */
    if (s == MX_OK) {
      mx_debug_break_at(r->g, mx_debug_break_count(r->g) - 1, &b);
      *function = cli_strdup(b.function ? b.function : "");
      *pc = b.pc;
      mx_debug_break_delete(r->g, number);
      return true;
    }
    free(*file);
    *file = NULL;
    return complain_status(r, s);
  }
  const char *plus = strchr(text, '+');
  if (*text == '*' && number_word(text + 1, &n) && n < UINT32_MAX) {
    mx_kernel_info info = {.struct_size = sizeof info};
    mx_debug_frame f = {.struct_size = sizeof f};
    if (r->g && !r->over && mx_debug_get_frame(r->g, r->block, r->warp, r->split, r->frame, &f) == MX_OK)
      *function = cli_strdup(f.function);
    else if (r->kernel && mx_kernel_get_info(r->kernel, &info) == MX_OK) *function = cli_strdup(info.name);
    else return complain(r, "no program is loaded");
    *pc = (uint32_t)n;
  } else if (plus && number_word(plus + 1, &n) && n < UINT32_MAX) {
    *function = format("%.*s", (int)(plus - text), text);
    *pc = (uint32_t)n;
  } else if (!r->g) {
    *function = cli_strdup(text);
    return true;
  } else {
    mx_debug_instruction at = {.struct_size = sizeof at};
    if (mx_debug_code(r->g, text, 0, &at) == MX_OK) return *function = cli_strdup(text), true;
    return label_in(r, text, function, pc) || complain(r, "no line, function or label '%s'", text);
  }
  mx_debug_instruction i = {.struct_size = sizeof i};
  if (!r->g || mx_debug_code(r->g, *function, *pc, &i) == MX_OK) return true;
  complain(r, "no instruction of '%s' begins at %u", *function, *pc);
  free(*function);
  *function = NULL;
  return false;
}
