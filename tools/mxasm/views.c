/* What mxasm shows of a module: resources, control-flow graph, listing. All of it starts from the image and the
 * disassembler's text, so that it holds for .mxb files too. */
#include "mxasm.h"

#include "asm/disassemble.h"
#include "core/module.h"
#include "tools/common/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- resources ----------------------------------------------------------------------------------------*/
/* How many of the 16 barriers the function names; one that a register names could be any. */
static unsigned barriers(const struct mx_func *fn) {
  uint32_t used = 0;
  for (uint32_t pc = 0; pc < fn->ncode; pc += mx_w_length(fn->code[pc])) {
    const struct mx_op_info *o = &mx__ops[mx_w_op(fn->code[pc])];
    if (mx__effect(mx_w_op(fn->code[pc])) != MX_DOES_ARRIVE || !o->nopnds) continue; /* those of clusters name none */
    unsigned k = 0;
    while (k < o->nopnds && o->opnd[k].role == MX_OUT) k++;
    unsigned field = mx_w_operand(&fn->code[pc], k);
    if (field < MX_LIT || field - MX_LIT >= fn->nlits || fn->lits[field - MX_LIT].kind != MX_LIT_VALUE) used = 0xFFFF;
    else if (fn->lits[field - MX_LIT].value < 16) used |= 1u << fn->lits[field - MX_LIT].value;
  }
  return (unsigned)__builtin_popcount(used);
}

static uint64_t shared_bytes(const struct mx_image *m, const struct mx_func *fn, bool *dynamic) {
  uint64_t at = 0;
  *dynamic = false;
  for (uint32_t k = 0; k < fn->nshared; k++) {
    const struct mx_var *v = &m->vars[fn->shared[k]];
    if (v->flags & MX_VAR_EXTERN_SHARED) *dynamic = true;
    else at = ((at + v->align - 1) & ~(uint64_t)(v->align - 1)) + v->size;
  }
  return at;
}

void print_resources(struct text *t, const struct mx_image *m, bool json) {
  if (json) text_printf(t, "[");
  for (uint32_t i = 0; i < m->nfuncs; i++) {
    const struct mx_func *fn = &m->funcs[i];
    bool kernel = fn->flags & MX_FUNC_KERNEL, dynamic;
    uint64_t shared = shared_bytes(m, fn, &dynamic);
    uint32_t spills = (uint32_t)fn->nspill32 + fn->nspill64 + fn->nspillpred;
    struct flow f;
    flow_build(&f, fn);
    uint32_t depth = flow_depth(&f, fn);
    flow_free(&f);
    if (json) {
      text_printf(t, "%s\n {\"%s\": ", i ? "," : "", kernel ? "kernel" : "function");
      text_json(t, fn->name);
      text_printf(t,
                  ", \"lanes\": %u, \"slots32\": %u, \"slots64\": %u, \"predicates\": %u, \"spills\": %u, "
                  "\"shared_bytes\": %llu, "
                  "\"dynamic_shared\": %s, \"local_bytes\": %u, \"param_bytes\": %u, \"code_bytes\": %llu, "
                  "\"divergence_depth\": %d, \"barriers\": %u, \"params\": [",
                  m->lanes, fn->n32, fn->n64, fn->npred, spills, (unsigned long long)shared, dynamic ? "true" : "false",
                  fn->local_bytes, fn->param_bytes, 8ull * fn->ncode, depth == UINT32_MAX ? -1 : (int)depth,
                  barriers(fn));
      for (uint32_t k = 0; k < fn->nparams; k++) {
        text_printf(t, k ? ", " : "");
        text_json(t, fn->params[k].name ? fn->params[k].name : "");
      }
      text_printf(t, "]}");
      continue;
    }
    text_printf(t,
                "%s %s: %u+%u+%u slots (32-bit, 64-bit, predicates), %u spills, %llu%s bytes shared, %u local, %u "
                "param, %llu code, depth ",
                kernel ? "kernel" : "function", fn->name, fn->n32, fn->n64, fn->npred, spills,
                (unsigned long long)shared, dynamic ? "+dynamic" : "", fn->local_bytes, fn->param_bytes,
                8ull * fn->ncode);
    text_printf(t, depth == UINT32_MAX ? "?" : "%u", depth);
    text_printf(t, ", %u barrier%s\n", barriers(fn), barriers(fn) == 1 ? "" : "s");
  }
  if (json) text_printf(t, "%s]\n", m->nfuncs ? "\n" : "");
}

/* ---- the disassembler's lines by place -------------------------------------------------------------------*/
struct lines {
  char *text;
  const char ***at;
  uint32_t nfuncs;
}; /* at[function][pc]: a line, or NULL */

static bool is_instruction(const char *s, size_t n) {
  return n && ((s[0] >= 'a' && s[0] <= 'z') || s[0] == '@' || s[0] == '{') && s[n - 1] == ';';
}

/* Instructions are the lines of a body that begin with a mnemonic or a guard; they stand in order. */
static void lines_build(struct lines *l, const struct mx_image *m) {
  *l = (struct lines){mx__disassemble(m), cli_alloc((m->nfuncs + 1) * sizeof *l->at), m->nfuncs};
  uint32_t fn = UINT32_MAX, pc = 0;
  for (uint32_t k = 0; k < m->nfuncs; k++) l->at[k] = cli_alloc((m->funcs[k].ncode + 1) * sizeof **l->at);
  if (!l->text) cli_no_memory();
  bool body = false;
  for (char *s = l->text, *end; *s; s = end) {
    end = s + strcspn(s, "\n");
    if (*end) *end++ = 0;
    s += strspn(s, " \t");
    size_t n = strlen(s);
    if (!strcmp(s, "{")) body = true, fn++, pc = 0;
    else if (!strcmp(s, "}")) body = false;
    else if (body && fn < m->nfuncs && pc < m->funcs[fn].ncode && is_instruction(s, n)) {
      l->at[fn][pc] = s;
      pc += mx_w_length(m->funcs[fn].code[pc]);
    }
  }
}

static void lines_free(struct lines *l) {
  for (uint32_t k = 0; k < l->nfuncs; k++) free(l->at[k]);
  free(l->at);
  free(l->text);
}

static const char *label_at(const struct mx_func *fn, uint32_t pc) {
  for (uint32_t k = 0; k < fn->nlabels; k++)
    if (fn->labels[k].pc == pc) return fn->labels[k].name;
  return NULL;
}

/* ---- graph ----------------------------------------------------------------------------------------------*/
static void dot_escape(struct text *t, const char *s) {
  for (; *s; s++) {
    if (strchr("\\\"{}<>|", *s)) text_add(t, "\\", 1);
    text_add(t, s, 1);
  }
}

void print_cfg(struct text *t, const struct mx_image *m) {
  struct lines l;
  lines_build(&l, m);
  text_printf(t, "digraph mx {\n  node [shape=box, fontname=monospace, fontsize=10];\n");
  for (uint32_t i = 0; i < m->nfuncs; i++) {
    const struct mx_func *fn = &m->funcs[i];
    struct flow f;
    flow_build(&f, fn);
    text_printf(t, "  subgraph cluster_%u {\n    label=\"", i);
    dot_escape(t, fn->name);
    text_printf(t, "\";\n");
    for (uint32_t b = 0; b < f.nblocks; b++) {
      text_printf(t, "    f%ub%u [label=\"", i, b);
      const char *name = label_at(fn, f.blocks[b].lo);
      if (name) dot_escape(t, name), text_printf(t, ":\\l");
      for (uint32_t pc = f.blocks[b].lo; pc < f.blocks[b].hi; pc += mx_w_length(fn->code[pc])) {
        text_printf(t, "%4u  ", pc);
        if (l.at[i][pc]) dot_escape(t, l.at[i][pc]);
        text_printf(t, "\\l");
      }
      text_printf(t, "\"];\n");
    }
    for (uint32_t b = 0; b < f.nblocks; b++) {
      uint32_t last = f.blocks[b].lo, r;
      while (last + mx_w_length(fn->code[last]) < f.blocks[b].hi) last += mx_w_length(fn->code[last]);
      bool diverges = flow_reconv(fn, last, &r);
      for (uint32_t k = 0; k < f.blocks[b].nnext; k++)
        text_printf(t, "    f%ub%u -> f%ub%u%s;\n", i, b, i, f.blocks[b].next[k],
                    f.blocks[b].next[k] <= b ? " [style=bold]" : "");
      if (diverges && r < fn->ncode)
        text_printf(t, "    f%ub%u -> f%ub%u [style=dotted, constraint=false, label=\"meet\"];\n", i, b, i,
                    f.block_of[r]);
    }
    text_printf(t, "  }\n");
    flow_free(&f);
  }
  text_printf(t, "}\n");
  lines_free(&l);
}

/* ---- listing --------------------------------------------------------------------------------------------*/
struct source {
  const char **line;
  uint32_t n;
  char *owned;
};

static void split_source(struct source *s, const char *text, size_t size) {
  s->line = NULL, s->n = 0;
  for (const char *p = text, *end = text + size; p < end;) {
    if (!(s->n & (s->n + 1))) s->line = cli_realloc(s->line, (2 * (size_t)s->n + 2) * sizeof *s->line);
    s->line[s->n++] = p;
    const char *nl = memchr(p, '\n', (size_t)(end - p));
    p = nl ? nl + 1 : end;
  }
}

/* Source lines stand before the first word that came from them, each once in a row; words that no line made stand bare.
 */
void print_listing(struct text *t, const struct mx_image *m, const char *text, size_t size, const char *name) {
  struct lines l;
  lines_build(&l, m);
  struct source *files = cli_alloc((m->nfiles + 1) * sizeof *files);
  for (uint32_t k = 0; k < m->nfiles; k++) {
    const char *why;
    size_t n = size;
    bool given = text && name && !strcmp(m->files[k], name);
    struct stat st; /* a module from elsewhere may name anything: only plain files are opened */
    if (!given && !stat(m->files[k], &st) && S_ISREG(st.st_mode))
      files[k].owned = cli_read_file(m->files[k], 64 << 20, &n, &why);
    if (given || files[k].owned) split_source(&files[k], given ? text : files[k].owned, n);
  }
  for (uint32_t i = 0; i < m->nfuncs; i++) {
    const struct mx_func *fn = &m->funcs[i];
    text_printf(t, "%s%s %s: %u words\n", i ? "\n" : "", fn->flags & MX_FUNC_KERNEL ? "kernel" : "function", fn->name,
                fn->ncode);
    uint32_t line = 0;
    for (uint32_t pc = 0; pc < fn->ncode; pc += mx_w_length(fn->code[pc])) {
      while (line < fn->nlines && fn->lines[line].pc <= pc) {
        const struct mx_line *at = &fn->lines[line++];
        if ((line < fn->nlines && fn->lines[line].pc <= pc) || !at->line || at->file >= m->nfiles) continue;
        const struct source *s = &files[at->file];
        const char *base = strrchr(m->files[at->file], '/');
        text_printf(t, "%s:%u", base ? base + 1 : m->files[at->file], at->line);
        if (at->line <= s->n) {
          const char *from = s->line[at->line - 1];
          size_t n = strcspn(from, "\r\n");
          while (n && strchr(" \t", *from)) from++, n--;
          text_printf(t, "  %.*s", (int)(n > 400 ? 400 : n), from);
        }
        text_printf(t, "\n");
      }
      const char *label = label_at(fn, pc);
      if (label) text_printf(t, "                              %s:\n", label);
      uint32_t n = mx_w_length(fn->code[pc]);
      text_printf(t, "  %6u  %016llx      %s\n", pc, (unsigned long long)fn->code[pc], l.at[i][pc] ? l.at[i][pc] : "");
      for (uint32_t k = 1; k < n && pc + k < fn->ncode; k++)
        text_printf(t, "  %6u  %016llx\n", pc + k, (unsigned long long)fn->code[pc + k]);
    }
  }
  for (uint32_t k = 0; k < m->nfiles; k++) free(files[k].line), free(files[k].owned);
  free(files);
  lines_free(&l);
}
