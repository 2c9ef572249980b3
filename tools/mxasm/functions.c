/* Vendor device functions for people: docs/intrinsics.md, made of a list (docs/guide.tsv) and the tables. A line of the
 * list: group, signature as the programming guides have it, the instruction, and for approximations the largest error
 * that `build/tests/conform --measure` has seen. */
#include "mxasm.h"

#include "core/intrinsics.h"
#include "tools/common/cli.h"

#include <stdlib.h>
#include <string.h>

/* Whether the pattern (isa.h) spells the name. */
static bool spells(const char *p, const char *name) {
  while (*p && !strchr("{<[", *p))
    if (*p++ != *name++) return false;
  if (!*p) return !*name;
  const char *end = p + strcspn(p, "}>]");
  if (*p == '[' && spells(end + 1, name)) return true;
  for (p++; p <= end;) {
    size_t n = strcspn(p, "|=}>]");
    if (!strncmp(p, name, n) && spells(end + 1, name + n)) return true;
    p += n + 1;
  }
  return false;
}

static void cell(struct text *t, const char *s, bool code) {
  text_printf(t, code ? " <code>" : " ");
  for (; *s; s++) {
    if (*s == '|') text_printf(t, "&#124;");
    else if (*s == '<') text_printf(t, "&lt;");
    else if (*s == '>') text_printf(t, "&gt;");
    else if (*s == '_' && !code) text_printf(t, "\\_");
    else if (*s == '*' && !code) text_printf(t, "\\*");
    else text_add(t, s, 1);
  }
  text_printf(t, code ? "</code> |" : " |");
}

/* A row of the document. False: no table has the instruction. */
static bool put_row(struct text *t, char *field[4]) {
  const struct mx_intrinsic *found = NULL;
  bool opcode = false;
  for (unsigned k = 0; k < mx__intrinsic_count && !found; k++)
    if (spells(mx__intrinsics[k].row.spelling, field[2])) found = &mx__intrinsics[k];
  for (unsigned k = 0; k < MX_OP_COUNT && !opcode; k++)
    opcode = !(mx__ops[k].flags & MX_F_HIDDEN) && spells(mx__ops[k].spelling, field[2]);
  const bool own = found ? !*found->row.meaning : true;
  text_printf(t, "|");
  cell(t, field[1], true);
  cell(t, field[2], true);
  if ((own && !opcode) && strcmp(field[0], "printf")) {
    text_printf(t, " **missing** | | | |\n");
    return false;
  }
  cell(t, own ? "an instruction of its own" : found->row.meaning + strspn(found->row.meaning, " "), !own);
  cell(t, found ? found->exactness : "exact", false);
  cell(t, field[3], false);
  cell(t, found ? found->how : "recorded on a GPU", false);
  text_printf(t, "\n");
  return true;
}

static const char note[] = "\nA row: the function as the guides declare it; the instruction (`mxasm --list-ops NAME` "
                           "shows its operands; suffixes may be left\n"
                           "out where the operands say which overload is meant); what it stands for, `$0` and so on "
                           "being its operands, results first, an\n"
                           "address taking two; how exact it is; the largest error measured, if it is an "
                           "approximation; how that was verified.\n"
                           "Recorded: every result compared with an NVIDIA H200's, bit for bit, or for approximations "
                           "with the true value (MPFR).\n";

int print_functions(const char *path) {
  FILE *in = strcmp(path, "-") ? fopen(path, "r") : stdin;
  if (!in) {
    perror(path);
    return CLI_REFUSED;
  }
  struct text t = {0};
  char line[1024], group[64] = "";
  unsigned all = 0, missing = 0;
  while (fgets(line, sizeof line, in)) {
    char *field[4] = {line, "", "", ""};
    line[strcspn(line, "\n")] = 0;
    for (unsigned k = 1; k < 4; k++) {
      char *tab = strchr(field[k - 1], '\t');
      if (!tab) break;
      *tab = 0;
      field[k] = tab + 1;
    }
    if (strcmp(group, field[0])) {
      snprintf(group, sizeof group, "%.63s", field[0]);
      text_printf(&t,
                  "\n## %s\n\n| function | instruction | stands for | exactness | largest error | verified |\n| --- | "
                  "--- | --- | --- | --- | --- |\n",
                  group);
    }
    all++;
    missing += !put_row(&t, field);
  }
  if (in != stdin) fclose(in);
  printf("# Vendor device functions\n\nThose of the CUDA and MACA programming guides (\"the guides\"). Generated from "
         "`core/intrinsics.def` and `docs/guide.tsv`: %u functions, %u missing.\n%s",
         all, missing, note);
  fwrite(t.s, 1, t.n, stdout);
  text_free(&t);
  return missing ? CLI_REFUSED : CLI_DONE;
}
