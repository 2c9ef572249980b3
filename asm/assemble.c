/* mx_assemble: text to module bytes, and the printing of its diagnostics. Separate because it alone knows all stages,
 * and owns the memory of a run. */
#include "asm/lower/lower.h"
#include "container.h"
#include "disassemble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mx_asm_result {
  struct mx_arena arena;
  jmp_buf oom;
  mx_asm_diagnostic *list;
  size_t count;
  uint8_t *bytes;
  size_t size;
};

enum { ARENA_LIMIT_MIN = 256 << 20 }; /* what any text may claim */

static int by_place(const void *a, const void *b) {
  const struct mx_diag *x = *(const struct mx_diag *const *)a, *y = *(const struct mx_diag *const *)b;
  if (x->loc.file != y->loc.file) return x->loc.file < y->loc.file ? -1 : 1;
  if (x->loc.line != y->loc.line) return x->loc.line < y->loc.line ? -1 : 1;
  if (x->loc.col != y->loc.col) return x->loc.col < y->loc.col ? -1 : 1;
  return x < y ? -1 : x > y;
}

/* The source line that was found last: messages come sorted by place, and many may be about one long line. */
struct reader {
  uint32_t file, line;
  const char *at, *text;
};

static const char *source_line(struct front *f, struct reader *r, const struct ir_loc *loc) {
  if (!loc->line || loc->file >= f->ntexts) return NULL;
  const char *begin = f->texts[loc->file].bytes, *end = begin + f->texts[loc->file].size;
  if (r->at && r->file == loc->file && r->line == loc->line) return r->text;
  if (!r->at || r->file != loc->file || r->line > loc->line) *r = (struct reader){loc->file, 1, begin, NULL};
  for (; r->line < loc->line; r->line++) {
    const char *nl = memchr(r->at, '\n', (size_t)(end - r->at));
    if (!nl) return r->at = NULL;
    r->at = nl + 1;
  }
  const char *nl = memchr(r->at, '\n', (size_t)(end - r->at));
  size_t len = (size_t)((nl ? nl : end) - r->at);
  if (len && r->at[len - 1] == '\r') len--;
  return r->text = mx__arena_strndup(f->arena, r->at, len);
}

/* Notes stay behind the error that they explain. */
static void sort_diags(struct mx_diags *d, struct mx_arena *a, const struct mx_diag **order) {
  struct group {
    const struct mx_diag *head;
  } *heads = mx__arena_alloc(a, (d->count + 1) * sizeof *heads);
  size_t n = 0;
  for (size_t k = 0; k < d->count; k++)
    if (d->list[k].level != MX_DIAG_NOTE) heads[n++].head = &d->list[k];
  qsort(heads, n, sizeof *heads, by_place);
  size_t at = 0;
  for (size_t k = 0; k < n; k++) {
    const struct mx_diag *x = heads[k].head, *end = d->list + d->count;
    order[at++] = x++;
    while (x < end && x->level == MX_DIAG_NOTE) order[at++] = x++;
  }
}

static void publish(struct front *f, struct mx_asm_result *r, bool warnings_are_errors) {
  struct mx_diags *d = &f->diags;
  const struct mx_diag **order = mx__arena_alloc(f->arena, (d->count + 1) * sizeof *order);
  mx_asm_diagnostic *list = mx__arena_alloc(f->arena, (d->count + 1) * sizeof *list);
  size_t n = 0;
  struct reader reader = {0};
  sort_diags(d, f->arena, order);
  for (size_t k = 0; k < d->count && order[k]; k++) {
    const struct mx_diag *x = order[k];
    mx_asm_level level = x->level == MX_DIAG_ERROR     ? MX_ASM_ERROR
                         : x->level == MX_DIAG_WARNING ? MX_ASM_WARNING
                                                       : MX_ASM_NOTE;
    if (level == MX_ASM_WARNING && warnings_are_errors) level = MX_ASM_ERROR;
    const char *what, *hint = x->hint;
    struct ir_loc loc = x->loc;
    loc.file = mx__real_file(f, loc.file, &what);
    if (what) hint = hint ? mx__arena_printf(f->arena, "%s; %s", hint, what) : what;
    list[n++] = (mx_asm_diagnostic){.struct_size = sizeof *list,
                                    .level = level,
                                    .id = x->id,
                                    .file = f->texts[loc.file < f->ntexts ? loc.file : 0].name,
                                    .line = loc.line,
                                    .col = loc.col,
                                    .width = loc.width,
                                    .text = x->text,
                                    .hint = hint,
                                    .source_line = source_line(f, &reader, &loc)};
  }
  r->list = list;
  r->count = n;
}

static void build_module(struct front *f, struct ir_module *m, const mx_asm_options *options) {
  struct select *select = mx__select_new(f->arena, f->lanes);
  f->parse_errors = (uint32_t)f->diags.errors;
  /* Strings become variables while functions are lowered: last_named_by must have room for them. */
  m->funcs = mx__arena_alloc(f->arena, (f->nfuncs + 1) * sizeof *m->funcs);
  bool physical = false;
  uint64_t strings = 0;
  for (uint32_t k = 0; k < f->nfuncs; k++)
    for (uint32_t s = 0; s < f->funcs[k]->nstmts; s++)
      for (uint32_t o = 0; o < f->funcs[k]->stmts[s].nopnds; o++)
        strings += f->funcs[k]->stmts[s].opnds[o].e.kind == EX_STRING;
  uint32_t *last_named_by = mx__arena_alloc(f->arena, (f->nvars + strings + 1) * sizeof *last_named_by);
  for (uint32_t k = 0; k < f->nfuncs; k++) {
    struct func *fn = f->funcs[k];
    if (!fn->alias) mx__lower_func(f, select, last_named_by, fn, &m->funcs[fn->index]);
    physical |= fn->physical;
  }
  mx__resolve_fixups(f);
  m->nfuncs = f->nfuncs;
  m->vars = f->vars;
  m->nvars = f->nvars;
  m->lanes = f->lanes;
  m->sm = f->sm;
  m->ptx_version = f->ptx_version;
  m->address_size = f->address_size;
  m->one_slot_per_name = options->one_slot_per_name;
  /* Files of the text come first; disassembly's .file list follows, and its lines count from there. */
  uint32_t extra = physical || f->source_lines ? f->nfiles : 0;
  m->nfiles = f->ntexts + extra;
  m->files = mx__arena_alloc(f->arena, (m->nfiles + 1) * sizeof *m->files);
  for (uint32_t k = 0; k < f->ntexts; k++) m->files[k] = f->texts[k].name;
  for (uint32_t k = 0; k < extra; k++) m->files[f->ntexts + k] = f->files[k]->text;
  for (uint32_t k = 0; k < m->nfuncs; k++) {
    struct ir_func *o = &m->funcs[k];
    for (uint32_t i = 0; i < o->nregs && f->nexpanded_from; i++)
      o->regs[i].loc.file = mx__real_file(f, o->regs[i].loc.file, NULL);
    for (uint32_t i = 0; i < o->nlabels && f->nexpanded_from; i++)
      o->labels[i].loc.file = mx__real_file(f, o->labels[i].loc.file, NULL);
    o->loc.file = mx__real_file(f, o->loc.file, NULL);
    for (uint32_t i = 0; i < o->ninsns; i++) {
      struct ir_loc *loc = &o->insns[i].loc;
      if (!o->physical && !(loc->file & FROM_LOC && !(loc->file & IN_MACRO))) {
        loc->file = mx__real_file(f, loc->file, NULL);
        continue;
      }
      loc->file &= ~FROM_LOC;
      if (loc->line && loc->file && loc->file <= extra) loc->file += f->ntexts - 1;
      else *loc = (struct ir_loc){0};
    }
  }
}

static void run(mx_asm_result *r, const char *text, size_t size, const mx_asm_options *options) {
  struct front *f = mx__arena_alloc(&r->arena, sizeof *f);
  f->arena = f->diags.arena = f->names.arena = &r->arena;
  f->allow_include = options->allow_include;
  f->source_lines = options->source_lines;
  f->lanes = 64;
  f->address_size = 64;
  f->scope = mx__scope_new(&f->names, NULL);
  f->var_names = mx__scope_new(&f->names, NULL);
  f->strings = mx__scope_new(&f->names, NULL);
  mx__push_file(f, mx__add_text(f, options->file_name ? options->file_name : "<text>", text, size));
  mx__parse_module(f);
  struct ir_module m = {0};
  build_module(f, &m, options);
  struct mx_image *image = mx__arena_alloc(&r->arena, sizeof *image);
  bool fine = !f->diags.errors && mx__asm_back(&r->arena, &f->diags, &m, image) && !f->diags.errors;
  bool strict = options->warnings_are_errors;
  publish(f, r, strict);
  if (!fine || (strict && f->diags.count)) return;
  r->bytes = mx__image_write(image, &r->size);
  if (!r->bytes) longjmp(r->oom, 1);
}

/* A function of its own for setjmp, so that no variable of the caller is lost. False: out of memory. */
static bool attempt(mx_asm_result *r, const char *text, size_t size, const mx_asm_options *options) {
  if (setjmp(r->oom)) return false;
  run(r, text, size, options);
  return true;
}

mx_asm_result *mx_assemble(const char *text, size_t size, const mx_asm_options *options) {
  mx_asm_options known = MX_ASM_OPTIONS_INIT;
  if ((!text && size) || (options && !mx__asm_options_known(options))) return NULL;
  if (options) memcpy(&known, options, options->struct_size);
  mx_asm_result *r = calloc(1, sizeof *r);
  if (!r) return NULL;
  r->arena.oom = &r->oom;
  r->arena.limit = ARENA_LIMIT_MIN + (size > ((size_t)1 << 36) ? (size_t)1 << 36 : size) * ARENA_PER_BYTE;
  if (attempt(r, text, size, &known)) return r;
  mx_asm_free(r);
  return NULL;
}

const uint8_t *mx_asm_bytes(const mx_asm_result *r, size_t *size) {
  if (size) *size = r ? r->size : 0;
  return r ? r->bytes : NULL;
}

size_t mx_asm_diagnostic_count(const mx_asm_result *r) { return r ? r->count : 0; }

const mx_asm_diagnostic *mx_asm_diagnostic_at(const mx_asm_result *r, size_t number) {
  return r && number < r->count ? &r->list[number] : NULL;
}

void mx_asm_free(mx_asm_result *r) {
  if (!r) return;
  mx__arena_free(&r->arena);
  free(r->bytes);
  free(r);
}

/* ---- printing -------------------------------------------------------------------------------------------*/
struct out {
  char *p;
  size_t n, cap;
  bool failed;
};

static void put(struct out *o, const char *s, size_t n) {
  if (o->n + n + 1 > o->cap) {
    size_t cap = (o->cap + n + 1) * 2;
    char *p = realloc(o->p, cap);
    if (!p) {
      o->failed = true;
      return;
    }
    o->p = p;
    o->cap = cap;
  }
  memcpy(o->p + o->n, s, n);
  o->n += n;
  o->p[o->n] = 0;
}
static void puts_to(struct out *o, const char *s) { put(o, s, strlen(s)); }

char *mx_asm_format(const mx_asm_diagnostic *d, bool colour) {
  static const char *const levels[] = {"error", "warning", "note"}, *const colours[] = {"\033[1;31m", "\033[1;35m",
                                                                                        "\033[1;36m"};
  struct out o = {0};
  char place[64];
  puts_to(&o, colour ? "\033[1m" : "");
  puts_to(&o, d->file ? d->file : "<text>");
  if (d->line) {
    snprintf(place, sizeof place, ":%u:%u", d->line, d->col);
    puts_to(&o, place);
  }
  puts_to(&o, ": ");
  if (colour) puts_to(&o, colours[d->level]);
  puts_to(&o, levels[d->level]);
  puts_to(&o, colour ? ":\033[0m " : ": ");
  puts_to(&o, d->text);
  puts_to(&o, " [");
  puts_to(&o, d->id);
  puts_to(&o, "]\n");
  if (d->source_line && d->col) {
    /* long lines are shown around the place */
    size_t len = strlen(d->source_line), from = d->col > 121 ? d->col - 61 : 0;
    size_t n = from < len ? len - from : 0;
    if (n > 160) n = 160;
    puts_to(&o, "  ");
    put(&o, d->source_line + (from < len ? from : len), n);
    puts_to(&o, "\n  ");
    for (size_t k = from; k + 1 < d->col && k < len; k++) put(&o, d->source_line[k] == '\t' ? "\t" : " ", 1);
    if (colour) puts_to(&o, "\033[1;32m");
    puts_to(&o, "^");
    for (uint32_t k = 1; k < d->width && d->col - 1 + k < from + n; k++) puts_to(&o, "~");
    puts_to(&o, colour ? "\033[0m\n" : "\n");
  }
  if (d->hint) {
    puts_to(&o, "  hint: ");
    puts_to(&o, d->hint);
    puts_to(&o, "\n");
  }
  if (o.failed) {
    free(o.p);
    return NULL;
  }
  return o.p;
}
