/* Syntax files for editors, from the tables of instructions and of vendor device functions. What is not in the table
 * has a shape: directives and suffixes begin with a dot, registers with %, labels end with a colon. */
#include "mxasm.h"

#include "core/intrinsics.h"
#include "tools/common/cli.h"

#include <stdlib.h>
#include <string.h>

/* First words of instructions: "ld" of "ld.global.u32", both of "<ld|ldu>{...}". */
struct words {
  char **word;
  size_t n;
};

static void add_word(struct words *w, const char *s, size_t n) {
  if (!(w->n & (w->n - 1))) w->word = cli_realloc(w->word, (2 * w->n + 1) * sizeof *w->word);
  w->word[w->n] = cli_alloc(n + 1);
  memcpy(w->word[w->n++], s, n);
}

/* All ways to go on from the pattern p (isa.h, struct mx_op_info) until a word ends. */
static void expand(struct words *w, const char *p, struct text *so_far) {
  size_t at = so_far->n, n = strcspn(p, ".{<[");
  text_add(so_far, p, n);
  p += n;
  if (!*p || *p == '.') {
    if (so_far->n) add_word(w, so_far->s, so_far->n);
  } else {
    const char *end = p + strcspn(p, *p == '{' ? "}" : *p == '<' ? ">" : "]");
    if (*p == '[') expand(w, end + 1, so_far);
    for (const char *alternative = p + 1; alternative <= end;) {
      size_t length = strcspn(alternative, *p == '{' ? "|=}" : *p == '<' ? "|>" : "|]"), before = so_far->n;
      const char *dot = memchr(alternative, '.', length);
      text_add(so_far, alternative, dot ? (size_t)(dot - alternative) : length);
      if (!dot) expand(w, end + 1, so_far);
      else if (so_far->n) add_word(w, so_far->s, so_far->n);
      so_far->s[so_far->n = before] = 0;
      alternative += length + 1;
    }
  }
  so_far->s[so_far->n = at] = 0;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static struct words mnemonics(void) {
  struct words w = {0};
  struct text so_far = {0};
  for (int i = 0; i < MX_OP_COUNT; i++)
    if (!(mx__ops[i].flags & MX_F_HIDDEN)) expand(&w, mx__ops[i].spelling, &so_far);
  for (unsigned i = 0; i < mx__intrinsic_count; i++) expand(&w, mx__intrinsics[i].row.spelling, &so_far);
  text_free(&so_far);
  qsort(w.word, w.n, sizeof *w.word, by_text);
  size_t kept = 0;
  for (size_t k = 0; k < w.n; k++) {
    if (kept && !strcmp(w.word[kept - 1], w.word[k])) free(w.word[k]);
    else w.word[kept++] = w.word[k];
  }
  w.n = kept;
  return w;
}

/* Names with `between` between them; dot: how a pattern spells a dot. */
static void join(struct text *t, const char *between, const char *dot, const char *(*name)(size_t k, const void *of),
                 const void *of, size_t n) {
  const char *separator = "";
  for (size_t k = 0; k < n; k++) {
    const char *s = name(k, of);
    if (!s) continue;
    text_printf(t, "%s", separator);
    for (; *s; s++) *s == '.' ? text_printf(t, "%s", dot) : text_add(t, s, 1);
    separator = between;
  }
}
static const char *word_name(size_t k, const void *of) { return ((const struct words *)of)->word[k]; }
static const char *type_name(size_t k, const void *of) {
  return (void)of, mx__types[k].slot_class != MX_NOCLASS ? mx__types[k].name : NULL;
}
static const char *sreg_name(size_t k, const void *of) { return (void)of, mx__sregs[k].name; }

static void vim(struct text *t, const struct words *w) {
  text_printf(t, "\" MX assembly and PTX; made from mxasm's instruction table.\n"
                 "if exists('b:current_syntax')\n  finish\nendif\n"
                 "syntax case match\n"
                 "syntax iskeyword @,48-57,_,$\n"
                 "syntax keyword mxInstruction ");
  join(t, " ", ".", word_name, w, w->n);
  text_printf(t, "\nsyntax match mxDirective /\\%%(^\\|[^A-Za-z0-9_]\\)\\@1<=\\.[a-zA-Z_]\\w*/\n"
                 "syntax match mxSuffix /[A-Za-z0-9_]\\@1<=\\.[a-zA-Z]\\w*\\%%(::\\w\\+\\)\\?/\n"
                 "syntax match mxType /\\.\\%%(");
  join(t, "\\|", "\\.", type_name, NULL, MX_T_COUNT);
  text_printf(t, "\\)\\>/\n"
                 "syntax match mxRegister /%%[A-Za-z_$][A-Za-z0-9_$]*/\n"
                 "syntax match mxSpecial /%%\\%%(");
  join(t, "\\|", "\\.", sreg_name, NULL, MX_SR_COUNT);
  text_printf(t, "\\)\\>/\n"
                 "syntax match mxGuard /@!\\?%%[A-Za-z_$][A-Za-z0-9_$]*/\n"
                 "syntax match mxLabel /^\\s*[A-Za-z_$][A-Za-z0-9_$]*:/\n"
                 "syntax match mxNumber "
                 "/\\<\\%%(0[xX]\\x\\+\\|0[fF]\\x\\{8}\\|0[dD]\\x\\{16}\\|\\d\\+\\%%(\\.\\d*\\)\\?\\%%([eE][-+]\\?"
                 "\\d\\+\\)\\?\\)U\\?\\>/\n"
                 "syntax region mxString start=/\"/ skip=/\\\\./ end=/\"/ oneline\n"
                 "syntax match mxComment /\\/\\/.*/ contains=@Spell\n"
                 "syntax region mxComment start=/\\/\\*/ end=/\\*\\// contains=@Spell\n"
                 "highlight default link mxInstruction Statement\n"
                 "highlight default link mxDirective PreProc\n"
                 "highlight default link mxSuffix Special\n"
                 "highlight default link mxType Type\n"
                 "highlight default link mxRegister Identifier\n"
                 "highlight default link mxSpecial Constant\n"
                 "highlight default link mxGuard Conditional\n"
                 "highlight default link mxLabel Label\n"
                 "highlight default link mxNumber Number\n"
                 "highlight default link mxString String\n"
                 "highlight default link mxComment Comment\n"
                 "let b:current_syntax = 'mx'\n");
}

/* A TextMate grammar, as VS Code reads it. */
static void textmate(struct text *t, const struct words *w) {
  text_printf(t, "{\n"
                 "  \"name\": \"MX assembly\", \"scopeName\": \"source.mx\", \"fileTypes\": [\"mxs\", \"ptx\"],\n"
                 "  \"patterns\": [\n"
                 "    {\"name\": \"comment.line.double-slash.mx\", \"match\": \"//.*$\"},\n"
                 "    {\"name\": \"comment.block.mx\", \"begin\": \"/\\\\*\", \"end\": \"\\\\*/\"},\n"
                 "    {\"name\": \"string.quoted.double.mx\", \"begin\": \"\\\"\", \"end\": \"\\\"\", \"patterns\": "
                 "[{\"match\": \"\\\\\\\\.\"}]},\n"
                 "    {\"name\": \"entity.name.label.mx\", \"match\": \"^\\\\s*[A-Za-z_$][\\\\w$]*:\"},\n"
                 "    {\"name\": \"keyword.control.guard.mx\", \"match\": \"@!?%%[A-Za-z_$][\\\\w$]*\"},\n"
                 "    {\"name\": \"variable.language.mx\", \"match\": \"%%(?:");
  join(t, "|", "\\\\.", sreg_name, NULL, MX_SR_COUNT);
  text_printf(t, ")\\\\b\"},\n"
                 "    {\"name\": \"variable.other.register.mx\", \"match\": \"%%[A-Za-z_$][\\\\w$]*\"},\n"
                 "    {\"name\": \"storage.type.mx\", \"match\": \"\\\\.(?:");
  join(t, "|", "\\\\.", type_name, NULL, MX_T_COUNT);
  text_printf(t, ")\\\\b\"},\n"
                 "    {\"name\": \"keyword.mnemonic.mx\", \"match\": \"(?<![.\\\\w$%%])(?:");
  join(t, "|", "\\\\.", word_name, w, w->n);
  text_printf(
      t, ")\\\\b\"},\n"
         "    {\"name\": \"keyword.other.suffix.mx\", \"match\": \"(?<=\\\\w)\\\\.[A-Za-z]\\\\w*(?:::\\\\w+)?\"},\n"
         "    {\"name\": \"keyword.directive.mx\", \"match\": \"(?<!\\\\w)\\\\.[A-Za-z_]\\\\w*\"},\n"
         "    {\"name\": \"constant.numeric.mx\", \"match\": "
         "\"\\\\b(?:0[xX][0-9A-Fa-f]+|0[fF][0-9A-Fa-f]{8}|0[dD][0-9A-Fa-f]{16}"
         "|\\\\d+(?:\\\\.\\\\d*)?(?:[eE][-+]?\\\\d+)?)U?\\\\b\"}\n"
         "  ]\n}\n");
}

bool print_syntax(const char *editor) {
  bool is_vim = !strcmp(editor, "vim");
  if (!is_vim && strcmp(editor, "vscode")) return false;
  struct words w = mnemonics();
  struct text t = {0};
  is_vim ? vim(&t, &w) : textmate(&t, &w);
  fwrite(t.s, 1, t.n, stdout);
  text_free(&t);
  for (size_t k = 0; k < w.n; k++) free(w.word[k]);
  free(w.word);
  return true;
}
