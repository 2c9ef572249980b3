/* The instruction table for people: --list-ops and the reference. Everything comes from mx__ops; nothing about a single
 * instruction is known here. */
#include "mxasm.h"

#include "core/intrinsics.h"
#include "core/isa.h"
#include "tools/common/cli.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  uint32_t flag;
  const char *text;
} notes[] = {
    {MX_F_TRAP, "may trap"},
    {MX_F_CANON, "a NaN result is canonical"},
    {MX_F_SYNC, "may wait for other lanes"},
    {MX_F_END, "control does not go on"},
    {MX_F_WHOLE, "all lanes of the warp together"},
    {MX_F_VOLATILE, "orders memory accesses"},
    {MX_F_UNIFORM, "same value in all lanes"},
    {MX_F_COMMUTE, "A and B may be exchanged"},
    {MX_F_W32, "32 lanes only"},
    {MX_F_W64, "64 lanes only"},
    {MX_F_HIDDEN, "made by the assembler"},
};
static const char *const classes[] = {
    [MX_LANE] = "lane", [MX_CROSS] = "cross-lane", [MX_MEM] = "memory", [MX_CTRL] = "control"};

/* ---- spelling patterns (isa.h, struct mx_op_info) ------------------------------------------------------ */
static char closing(char open) { return open == '{' ? '}' : open == '<' ? '>' : ']'; }

/* Whether `name` is the start of an expansion of the pattern and ends where a suffix ends. */
static bool starts(const char *p, const char *name) {
  for (;; p++, name++) {
    if (!*name) return !*p || strchr(".{<[:", *p) != NULL;
    if (*p && strchr("{<[", *p)) break;
    if (*p != *name) return false;
  }
  const char *end = strchr(p, closing(*p));
  bool optional = *p == '[';
  for (const char *alt = p + 1; end && alt <= end;) {
    size_t n = strcspn(alt, *p == '{' ? "|=}" : *p == '<' ? "|>" : "|]"), k = 0;
    while (k < n && name[k] == alt[k]) k++;
    if (k < n && k > 0 && !name[k] && alt[k] == '.') return true;
    if (k == n && starts(end + 1, name + n)) return true;
    alt += n + 1;
  }
  return optional && end && starts(end + 1, name);
}

/* The spelling as a reader wants it: the printed one of <> and =, without what has no meaning here. */
static void plain_spelling(struct text *t, const char *p) {
  while (*p) {
    const char *end = strchr("{<[", *p) ? strchr(p, closing(*p)) : NULL;
    if (!end) {
      text_add(t, p++, 1);
      continue;
    }
    if (*p == '<') text_add(t, p + 1, strcspn(p + 1, "|>"));
    if (*p == '{') {
      text_add(t, "{", 1);
      for (const char *alt = p + 1; alt <= end;) {
        if (alt > p + 1) text_add(t, "|", 1);
        text_add(t, alt, strcspn(alt, "|=}"));
        alt += strcspn(alt, "|}") + 1;
      }
      text_add(t, "}", 1);
    }
    p = end + 1;
  }
}

/* "d:u32, [a:u64+offset], b:f32" */
static void operands(struct text *t, const struct mx_op_info *o) {
  static const char ins[] = "abcefghijklmnop", outs[] = "dqrstuvw";
  unsigned in = 0, out = 0;
  for (unsigned k = 0; k < o->nopnds; k++) {
    unsigned type = o->opnd[k].type;
    if (k) text_printf(t, ", ");
    bool address = k + 1 < o->nopnds && o->opnd[k + 1].type == MX_T_off;
    if (type == MX_T_raw) text_printf(t, "#");
    else if (o->opnd[k].role == MX_OUT) text_printf(t, "%c:%s", outs[out++ % (sizeof outs - 1)], mx__types[type].name);
    else text_printf(t, address ? "[%c:%s+offset]" : "%c:%s", ins[in++ % (sizeof ins - 1)], mx__types[type].name);
    if (address) k++;
  }
  if (o->flags & MX_F_BRANCH) text_printf(t, "label");
  if (o->flags & MX_F_CALL) text_printf(t, "(results), function, (arguments)");
}

static void json_row(struct text *t, const struct mx_op_info *o) {
  struct text ops = {0};
  operands(&ops, o);
  text_printf(t, "{\"id\": ");
  text_json(t, o->id);
  text_printf(t, ", \"spelling\": ");
  text_json(t, o->spelling);
  text_printf(t, ", \"operands\": ");
  text_json(t, ops.n ? ops.s : "");
  text_printf(t, ", \"class\": ");
  text_json(t, classes[o->cls]);
  text_printf(t, ", \"notes\": [");
  const char *comma = "";
  for (size_t k = 0; k < sizeof notes / sizeof *notes; k++)
    if (o->flags & notes[k].flag) {
      text_printf(t, "%s", comma);
      text_json(t, notes[k].text);
      comma = ", ";
    }
  text_printf(t, "], \"doc\": ");
  text_json(t, o->doc);
  text_printf(t, ", \"meaning\": ");
  text_json(t, o->meaning);
  text_printf(t, "}");
  text_free(&ops);
}

static void print_notes(struct text *t, const struct mx_op_info *o, const char *before, const char *between) {
  for (size_t k = 0; k < sizeof notes / sizeof *notes; k++)
    if (o->flags & notes[k].flag) text_printf(t, "%s%s", before, notes[k].text), before = between;
}

/* An intrinsic: its operands, what is known about it, what it stands for. */
static void json_intrinsic(struct text *t, const struct mx_intrinsic *i) {
  struct text ops = {0};
  operands(&ops, &i->row);
  const char *const members[][2] = {{"spelling", i->row.spelling}, {"operands", ops.n ? ops.s : ""},
                                    {"group", i->group},           {"exactness", i->exactness},
                                    {"verified", i->how},          {"expansion", i->row.meaning}};
  for (size_t k = 0; k < sizeof members / sizeof *members; k++) {
    text_printf(t, "%s\"%s\": ", k ? ", " : "{", members[k][0]);
    text_json(t, members[k][1]);
  }
  text_printf(t, "}");
  text_free(&ops);
}

static void print_intrinsic(struct text *t, const struct mx_intrinsic *i) {
  text_printf(t, "%s%s", i->row.spelling, i->row.nopnds ? " " : "");
  operands(t, &i->row);
  text_printf(t, "\n    %s, %s; %s\n    %s\n", i->group, i->exactness, i->how,
              *i->row.meaning ? i->row.meaning : "an instruction of its own");
}

/* The row whose mnemonic shares most of its beginning with `name`. */
static const char *nearest(const char *name) {
  const char *best = NULL;
  size_t best_n = 1;
  for (int i = 0; i < MX_OP_COUNT; i++) {
    const char *s = mx__ops[i].spelling + strspn(mx__ops[i].spelling, "<[{");
    size_t n = 0;
    while (name[n] && s[n] == name[n]) n++;
    if (n > best_n) best_n = n, best = s;
  }
  return best;
}

int list_ops(const char *name, bool json) {
  struct text t = {0};
  size_t found = 0;
  if (json) text_printf(&t, "[");
  for (int i = 0; i < MX_OP_COUNT; i++) {
    const struct mx_op_info *o = &mx__ops[i];
    if (name ? !starts(o->spelling, name) && strcmp(name, o->id) : (o->flags & MX_F_HIDDEN) != 0) continue;
    found++;
    if (json) {
      text_printf(&t, found > 1 ? ",\n " : "\n ");
      json_row(&t, o);
      continue;
    }
    size_t at = t.n;
    if (name) text_printf(&t, "%s", o->spelling);
    else plain_spelling(&t, o->spelling);
    text_printf(&t, o->nopnds || o->flags & (MX_F_BRANCH | MX_F_CALL) ? " " : "");
    operands(&t, o);
    if (name) {
      text_printf(&t, "\n    %s: %s, %s", o->id, classes[o->cls], o->doc);
      print_notes(&t, o, "; ", ", ");
      text_printf(&t, "\n    %s\n", o->meaning);
    } else {
      text_printf(&t, "%*s  %s\n", t.n - at < 48 ? (int)(48 - (t.n - at)) : 0, "", o->doc);
    }
  }
  for (unsigned i = 0; i < mx__intrinsic_count && name; i++) {
    if (!starts(mx__intrinsics[i].row.spelling, name)) continue;
    found++;
    if (json) text_printf(&t, found > 1 ? ",\n " : "\n "), json_intrinsic(&t, &mx__intrinsics[i]);
    else print_intrinsic(&t, &mx__intrinsics[i]);
  }
  if (json) text_printf(&t, "\n]\n");
  if (!found && !json) {
    const char *near = nearest(name);
    fprintf(stderr, "mxasm: no instruction '%s'", name);
    if (near) fprintf(stderr, "; nearest: %.*s", (int)strcspn(near, "{<[|>]}"), near);
    fputc('\n', stderr);
  } else {
    fwrite(t.s, 1, t.n, stdout);
  }
  text_free(&t);
  return found ? CLI_DONE : CLI_REFUSED;
}

/* A code span inside a Markdown table: a bar would end the cell. */
static void cell(struct text *t, const char *s) {
  text_printf(t, "<code>");
  for (; *s; s++) {
    if (*s == '|') text_printf(t, "&#124;");
    else if (*s == '<') text_printf(t, "&lt;");
    else if (*s == '>') text_printf(t, "&gt;");
    else if (*s == '&') text_printf(t, "&amp;");
    else text_add(t, s, 1);
  }
  text_printf(t, "</code>");
}

void print_reference(void) {
  static const char *const titles[] = {[MX_CTRL] = "Control",
                                       [MX_CROSS] = "Operations across the lanes of a warp",
                                       [MX_MEM] = "Memory",
                                       [MX_LANE] = "Operations of a lane"};
  static const uint8_t order[] = {MX_LANE, MX_MEM, MX_CROSS, MX_CTRL};
  struct text t = {0};
  text_printf(
      &t,
      "# Instructions\n\nGenerated from the table in `core/opcodes.def`; %d rows.\n\n"
      "Spellings: `{a|b=c|}` is one of these, `b` and `c` being the same one; `<a|b>` are names of the same thing; "
      "`[a|b]` may stand\n"
      "there and changes nothing. Operands: `d` and `q` are results, `[a+offset]` is an address, `#` a number.\n"
      "Meanings are per lane, in the vocabulary described at the head of the table.\n",
      MX_OP_COUNT);
  for (size_t c = 0; c < sizeof order; c++) {
    text_printf(&t, "\n## %s\n\n| instruction | operands | |\n| --- | --- | --- |\n", titles[order[c]]);
    for (int i = 0; i < MX_OP_COUNT; i++) {
      const struct mx_op_info *o = &mx__ops[i];
      if (o->cls != order[c] || o->flags & MX_F_HIDDEN) continue;
      struct text ops = {0};
      operands(&ops, o);
      text_printf(&t, "| ");
      cell(&t, o->spelling);
      text_printf(&t, " | ");
      if (ops.n) cell(&t, ops.s);
      text_printf(&t, " | %s", o->doc);
      print_notes(&t, o, ". *", ", ");
      uint32_t any = 0;
      for (size_t k = 0; k < sizeof notes / sizeof *notes; k++) any |= notes[k].flag;
      if (o->flags & any) text_printf(&t, "*");
      text_printf(&t, "<br>");
      cell(&t, o->meaning);
      text_printf(&t, " |\n");
      text_free(&ops);
    }
  }
  text_printf(&t, "\n## Special registers\n\n| name | type | |\n| --- | --- | --- |\n");
  for (int i = 0; i < MX_SR_COUNT; i++)
    text_printf(&t, "| `%%%s` | `.%s` | %s |\n", mx__sregs[i].name, mx__types[mx__sregs[i].type].name,
                mx__sregs[i].doc);
  text_printf(&t, "\n## Types\n\n| type | bits |\n| --- | --- |\n");
  for (int i = 0; i < MX_T_COUNT; i++)
    if (mx__types[i].slot_class != MX_NOCLASS)
      text_printf(&t, "| `.%s` | %d |\n", mx__types[i].name, mx__types[i].bits);
  fwrite(t.s, 1, t.n, stdout);
  text_free(&t);
}
