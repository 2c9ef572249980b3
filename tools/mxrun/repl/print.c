/* Values as text. */
#include "repl.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

char take_format(char **arguments) {
  char *s = *arguments;
  if (s[0] != '/' || !s[1] || !strchr("xduftch", s[1])) return 0;
  *arguments = s + 2 + strspn(s + 2, " \t");
  return s[1];
}

uint64_t focus_lanes(struct repl *r) {
  mx_debug_split s = {.struct_size = sizeof s};
  return r->g && mx_debug_get_split(r->g, r->block, r->warp, r->split, &s) == MX_OK ? s.lanes : 0;
}

void value_of_register(const mx_debug_register *reg, struct value *v) {
  memset(v, 0, sizeof *v);
  v->pred = !strcmp(reg->type, "pred");
  v->type = v->pred ? NULL : elem_find(reg->type, strlen(reg->type));
  if (!v->type && !v->pred) v->type = elem_find(reg->bits > 32 ? "b64" : "b32", 3);
  v->kind = !v->type                       ? VALUE_UNSIGNED
            : v->type->kind == ELEM_FLOAT  ? VALUE_REAL
            : v->type->kind == ELEM_SIGNED ? VALUE_SIGNED
                                           : VALUE_UNSIGNED;
  v->fault = ~reg->known;
  v->unset = reg->unset;
  for (unsigned l = 0; l < reg->lanes; l++) {
    uint64_t bits = reg->low[l];
    if (v->kind == VALUE_REAL) v->lane[l].f = elem_real(v->type, &bits);
    else if (v->kind == VALUE_SIGNED && v->type->size < 8)
      v->lane[l].i = (int64_t)(bits << (64 - 8 * v->type->size)) >> (64 - 8 * v->type->size);
    else v->lane[l].u = bits;
  }
}

static uint64_t bits_of(const struct value *v, unsigned l, unsigned *size) {
  *size = v->type ? v->type->size : 8;
  if (v->kind != VALUE_REAL) return *size == 8 ? v->lane[l].u : v->lane[l].u & ((1ull << 8 * *size) - 1);
  uint64_t bits = 0;
  elem_set_real(v->type ? v->type : elem_find("f64", 3), &bits, v->lane[l].f);
  return bits;
}

static void real_text(struct text *t, const char *type, const void *bits) {
  elem_print(t, elem_find(type, strlen(type)), bits);
}

char *value_text(const struct value *v, unsigned l, char fmt) {
  struct text t = {0};
  unsigned size;
  uint64_t bits = bits_of(v, l, &size);
  if (v->fault >> l & 1) return cli_strdup("?");
  switch (fmt) {
  case 'x': text_printf(&t, "0x%llx", (unsigned long long)bits); break;
  case 't':
    text_printf(&t, "0b");
    for (int k = size * 8; k--;)
      if (!k || bits >> k) text_printf(&t, "%d", (int)(bits >> k & 1));
    break;
  case 'u': text_printf(&t, "%llu", (unsigned long long)bits); break;
  case 'd':
    if (v->kind == VALUE_REAL) text_printf(&t, "%.0f", trunc(v->lane[l].f));
    else
      text_printf(&t, "%lld",
                  size == 8 ? (long long)bits : (long long)(int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size));
    break;
  case 'f': real_text(&t, size == 8 ? "f64" : size == 4 ? "f32" : "f16", &bits); break;
  case 'c': text_printf(&t, isprint((int)(bits & 255)) ? "'%c'" : "'\\x%02x'", (int)(bits & 255)); break;
  case 'h':
    text_printf(&t, "{");
    real_text(&t, "f16", &bits);
    bits >>= 16;
    text_printf(&t, ", ");
    real_text(&t, "f16", &bits);
    text_printf(&t, "}");
    break;
  default:
    if (v->pred) text_printf(&t, "%d", (int)(bits & 1));
    else if (v->kind == VALUE_REAL) real_text(&t, v->type ? v->type->name : "f64", &bits);
    else if (v->kind == VALUE_SIGNED) text_printf(&t, "%lld", (long long)v->lane[l].i);
    else text_printf(&t, "%llu", (unsigned long long)v->lane[l].u);
  }
  return t.s;
}

/* Unsigned 64-bit values that all lie in a buffer, or in a window of the address space, are taken for addresses. */
static bool are_addresses(const struct repl *r, const struct value *v, uint64_t m) {
  if (v->address) return true;
  if (v->kind != VALUE_UNSIGNED || !v->type || v->type->size != 8 || !(m & ~v->fault)) return false;
  for (unsigned l = 0; l < REPL_LANES; l++) {
    if (!((m & ~v->fault) >> l & 1)) continue;
    const uint64_t a = v->lane[l].u;
    bool inside = a >> 40 && a >> 40 <= 4 && a << 24 >> 24 < 1u << 30;
    for (size_t k = 0; k < r->args.n && !inside; k++)
      inside = r->args.arg[k].buffer && a - r->args.arg[k].address <= r->args.arg[k].data.size;
    if (!inside) return false;
  }
  return true;
}
char format_for(const struct repl *r, const struct value *v, uint64_t m, char fmt) {
  return fmt || !are_addresses(r, v, m) ? fmt : 'x';
}

static bool same(const struct value *v, uint64_t m) {
  unsigned first = m ? (unsigned)__builtin_ctzll(m) : 0;
  for (unsigned l = 0; l < REPL_LANES; l++)
    if (m >> l & 1 && (v->lane[l].u != v->lane[first].u || (v->fault >> l & 1) != (v->fault >> first & 1)))
      return false;
  return true;
}

/* One value, or eight lanes a line; lanes that are elsewhere are dots. */
void print_value(struct repl *r, const char *name, const struct value *v, char fmt) {
  const unsigned lanes = warp_lanes(r);
  const uint64_t full = lanes == 64 ? UINT64_MAX : (1ull << lanes) - 1;
  uint64_t m = v->lanes ? v->lanes & full : r->g && !r->over ? focus_lanes(r) : 1;
  unsigned first = m ? (unsigned)__builtin_ctzll(m) : 0, last = m ? 63u - (unsigned)__builtin_clzll(m) : 0, width = 1;
  if (v->unset) {
    say("%s is not set yet\n", name);
    return;
  }
  fmt = format_for(r, v, v->uniform ? 1 : m, fmt);
  if (v->uniform || same(v, m)) {
    char *one = value_text(v, first, fmt), *where = lanes_text(m);
    if (v->uniform) say("%s = %s\n", name, one);
    else say("%s = %s in %s\n", name, one, where);
    free(one);
    free(where);
    return;
  }
  if (!v->lanes) first = 0, last = lanes - 1;
  char *text[REPL_LANES];
  for (unsigned l = first; l <= last; l++) {
    text[l] = m >> l & 1 ? value_text(v, l, fmt) : cli_strdup(".");
    if (strlen(text[l]) > width) width = (unsigned)strlen(text[l]);
  }
  printf("%s%s%s%s\n", name, v->type || v->pred ? " (" : "",
         v->pred   ? "pred"
         : v->type ? v->type->name
                   : "",
         v->type || v->pred ? ")" : "");
  const unsigned columns = cli_width(stdout),
                 row = columns && columns < 5 + 8 * (width + 1) ? columns < 5 + 4 * (width + 1) ? 2 : 4 : 8;
  for (unsigned l = first; l <= last; l++) {
    if ((l - first) % row == 0) printf("  %2u:", l);
    printf(" %*s%s", (int)width, text[l], (l - first) % row == row - 1 || l == last ? "\n" : "");
    free(text[l]);
  }
}

/* What was printed can be spoken of as $, $$ or $NUMBER. */
static void keep_value(struct repl *r, const char *text, const struct value *v, char fmt) {
  r->values = cli_realloc(r->values, (r->nvalues + 1) * sizeof *r->values);
  struct kept *k = &r->values[r->nvalues++];
  *k = (struct kept){cli_strdup(text), cli_alloc(sizeof *v), fmt};
  *k->value = *v;
}

bool info_values(struct repl *r, const char *rest) {
  (void)rest;
  if (!r->nvalues) printf("nothing has been printed yet\n");
  for (size_t k = 0; k < r->nvalues; k++) {
    const struct value *v = r->values[k].value;
    const unsigned lanes = warp_lanes(r);
    const uint64_t full = lanes == 64 ? UINT64_MAX : (1ull << lanes) - 1;
    char *text = summary(v,
                         v->uniform ? 1
                         : v->lanes ? v->lanes & full
                                    : full,
                         lanes, format_for(r, v, 1, r->values[k].format));
    say("$%zu  %s = %s\n", k + 1, r->values[k].text, text);
    free(text);
  }
  return true;
}

void values_free(struct repl *r) {
  while (r->nvalues) {
    free(r->values[--r->nvalues].text);
    free(r->values[r->nvalues].value);
  }
  free(r->values);
  r->values = NULL;
}

/* "[TYPE] NAME[LO:HI]", and nothing else. Elements of a buffer or variable, eight a line. */
static bool is_slice(struct repl *r, const char *text, char fmt, bool *good) {
  const char *open = strchr(text, '['), *close = text + strlen(text), *name = text, *colon = open;
  unsigned depth = 0;
  if (!open || open == text || close[-1] != ']') return false;
  for (const char *s = open; s < close; s++) { /* the colon between these brackets; others belong to ?: */
    depth += *s == '[' || *s == '(';
    depth -= *s == ']' || *s == ')';
    if (!depth && s + 1 < close) return false;
    if (depth == 1 && *s == '?') return false;
    if (depth == 1 && *s == ':') colon = s;
  }
  uint64_t address, bytes, range[2] = {0};
  const struct elem *type, *as = NULL;
  size_t n = strcspn(text, " [");
  if (text[n] == ' ' && (as = elem_find(text, n))) name += n + strspn(text + n, " ");
  if (colon == open || !find_elements(r, name, (size_t)(open - name), &address, &bytes, &type)) return false;
  if (as) type = as;
  range[1] = bytes / type->size;
  const char *part[2][2] = {{open + 1, colon}, {colon + 1, close - 1}};
  *good = false;
  for (unsigned k = 0; k < 2; k++) {
    char *one = format("%.*s", (int)(part[k][1] - part[k][0]), part[k][0]);
    struct value v;
    const bool given = one[strspn(one, " ")], fine = !given || evaluate(r, one, NULL, &v);
    free(one);
    if (!fine) return true;
    if (given && v.kind == VALUE_REAL) return complain(r, "an index is no real number"), true;
    if (given) range[k] = v.lane[r->lane].u;
  }
  if (range[0] > range[1] || range[1] - range[0] > 65536)
    return complain(r, "expected [LO:HI], and 65536 elements at most"), true;
  for (uint64_t k = range[0]; k < range[1]; k++) {
    struct value v = {.type = type,
                      .kind = type->kind == ELEM_FLOAT    ? VALUE_REAL
                              : type->kind == ELEM_SIGNED ? VALUE_SIGNED
                                                          : VALUE_UNSIGNED,
                      .uniform = true};
    uint64_t bits = 0;
    const uint64_t at = address + k * type->size, end = range[0] + (k - range[0]) / 8 * 8 + 8;
    if ((k - range[0]) % 8 == 0)
      printf("%.*s[%llu:%llu]", (int)(open - name), name, (unsigned long long)k,
             (unsigned long long)(end < range[1] ? end : range[1]));
    if (!read_memory(r, r->block, r->warp, r->lane, at, &bits, type->size)) {
      printf("\n");
      return complain(r, "element %llu, at 0x%llx, is outside", (unsigned long long)k, (unsigned long long)at), true;
    }
    if (v.kind == VALUE_REAL) v.lane[0].f = elem_real(type, &bits);
    else
      v.lane[0].u =
          v.kind == VALUE_SIGNED ? (uint64_t)((int64_t)(bits << (64 - 8 * type->size)) >> (64 - 8 * type->size)) : bits;
    char *one = value_text(&v, 0, fmt);
    printf(" %s%s", one, k + 1 == range[1] || k + 1 == end ? "\n" : "");
    free(one);
  }
  *good = true;
  return true;
}

/* "EXPRESSION if CONDITION": only lanes for which it holds; nothing, if there are none. The length of the expression.
 */
static size_t before_if(const char *s) {
  for (const char *at = s; (at = strstr(at, " if ")); at++) {
    size_t n = (size_t)(at - s);
    while (n && s[n - 1] == ' ') n--;
    if (n) return n;
  }
  return 0;
}

bool do_print(struct repl *r, char *arguments) {
  char fmt = take_format(&arguments), last[] = "$";
  struct value v, when = {0};
  bool good;
  if (!*arguments) arguments = last;
  /* what only looks like an expression comes first: samples (images.c), slices of buffers (above), fragments of
   * matrices (fragment.c), registers of 128 bits (group.c) */
  if (is_sample(r, arguments, &good) || is_slice(r, arguments, fmt, &good) ||
      print_fragment(r, arguments, fmt, &good) || print_wide(r, arguments, fmt, &good))
    return good;
  const size_t n = before_if(arguments);
  char *why = NULL, *text = n ? format("%.*s", (int)n, arguments) : cli_strdup(arguments);
  struct expression *condition = n ? expression_compile(r, strstr(arguments + n, "if ") + 3, NULL, NULL, &why) : NULL;
  good = !n || (condition && expression_value(r, condition, NULL, &when, &why)) ||
         complain(r, "%s", why ? why : "that is no condition");
  good = good && evaluate(r, text, NULL, &v);
  const uint64_t holds = good && n ? expression_lanes(r, condition, NULL) : 0, asked = v.lanes;
  if (good && when.unset) say("the condition is about what is not set yet\n");
  else if (good && (!n || value_truth(&when))) {
    if (n && !v.uniform) v.lanes = asked ? asked & holds : holds;
    if (!n || v.uniform || v.lanes) print_value(r, text, &v, fmt);
    if (!v.unset) keep_value(r, text, &v, fmt);
  }
  expression_free(condition);
  free(why);
  free(text);
  return good;
}

static const char *type_text(const struct value *v) {
  if (v->pred) return "pred";
  if (v->type) return v->type->name;
  return v->kind == VALUE_REAL ? "f64" : v->kind == VALUE_SIGNED ? "s64" : "u64";
}

/* What a name or an expression is. */
bool do_ptype(struct repl *r, char *arguments) {
  struct value v;
  mx_debug_variable x;
  const size_t n = strlen(arguments);
  if (!n) return complain(r, "the type of what?");
  const struct arg *a = find_arg(&r->args, arguments, n);
  if (a && !isdigit((unsigned char)*arguments)) {
    say("%s: %s, parameter %zu%s", a->name, a->param.type, (size_t)(a - r->args.arg) + 1,
        a->buffer ? ", the address of a buffer" : "");
    if (a->buffer)
      say(" of %llu bytes%s%s", (unsigned long long)a->data.size, a->data.type ? ", " : "",
          a->data.type ? a->data.type->name : "");
    for (unsigned k = 0; k < a->data.ndims && a->buffer; k++)
      printf("%s%llu%s", k ? "," : "[", (unsigned long long)a->data.dims[k], k + 1 == a->data.ndims ? "]" : "");
    printf("\n");
    return true;
  }
  if (find_variable(r, arguments, n, &x)) {
    static const char *const spaces[] = {"global", "shared", "local", "const", "param"};
    say("%s: variable in .%s, %llu bytes at 0x%llx\n", x.name, spaces[x.space], (unsigned long long)x.bytes,
        (unsigned long long)x.address);
    return true;
  }
  if (!evaluate(r, arguments, NULL, &v)) return false;
  say("%s: %s%s\n", arguments, type_text(&v),
      names_register(r, NULL, arguments) && !strpbrk(arguments, " +-*/@<>=&|^?") ? ", register"
      : v.uniform                                                                ? ", one value"
                                                                                 : ", a value in each lane");
  return true;
}

static bool instructions(struct repl *r, uint64_t pc, uint64_t count) {
  mx_debug_frame f = {.struct_size = sizeof f};
  mx_debug_get_frame(r->g, r->block, r->warp, r->split, r->frame, &f);
  mx_debug_instruction i = {.struct_size = sizeof i};
  if (pc > UINT32_MAX || mx_debug_code(r->g, f.function, (uint32_t)pc, &i) != MX_OK)
    return complain(r, "no instruction of '%s' begins at %llu", f.function ? f.function : "?", (unsigned long long)pc);
  for (; count-- && mx_debug_code(r->g, f.function, (uint32_t)pc, &i) == MX_OK; pc += i.words) {
    char *text = instruction_text(r, f.function, (uint32_t)pc);
    printf("  %s+%llu: %s\n", f.function, (unsigned long long)pc, text);
    free(text);
  }
  return true;
}

/* Texts, each up to its zero byte. */
static bool strings(struct repl *r, uint64_t at, uint64_t count) {
  for (; count--; at++) {
    struct text t = {0};
    unsigned char c = 1;
    unsigned n = 0;
    const uint64_t begin = at;
    for (; n < 200 && c; n++, at += c != 0) {
      if (!read_memory(r, r->block, r->warp, r->lane, at, &c, 1)) {
        free(t.s);
        return complain(r, "lane %u cannot read a byte at 0x%llx", r->lane, (unsigned long long)at);
      }
      if (!c) break;
      if (c == '"' || c == '\\') text_printf(&t, "\\%c", c);
      else if (c == '\n') text_printf(&t, "\\n");
      else if (isprint(c)) text_printf(&t, "%c", c);
      else text_printf(&t, "\\x%02x", c);
    }
    printf("0x%llx: \"%s\"%s\n", (unsigned long long)begin, t.s ? t.s : "", c ? "..." : "");
    free(t.s);
  }
  return true;
}

bool do_examine(struct repl *r, char *arguments) {
  uint64_t count = 1;
  char fmt = 'x', size = 'w';
  if (*arguments == '/') {
    char *s = arguments + 1;
    if (isdigit((unsigned char)*s)) count = strtoull(s, &s, 10);
    for (; *s && !strchr(" \t", *s); s++) {
      if (strchr("xduftcis", *s)) fmt = *s;
      else if (strchr("bhwg", *s)) size = *s;
      else return complain(r, "/%c: formats are x d u f t c i s, sizes b h w g", *s);
    }
    arguments = s + strspn(s, " \t");
  }
  if (fmt == 'i' && !running(r)) return false;
  if (!count || count > 65536) return complain(r, "1 to 65536 at a time");
  struct value a;
  if (!*arguments && find_arg(&r->args, "x", 1)) return do_print(r, (char[]){"x"});
  if (!*arguments) return complain(r, "examine what address?");
  if (!evaluate(r, arguments, NULL, &a)) return false;
  if (a.kind == VALUE_REAL) return complain(r, "an address is no real number");
  uint64_t at = a.lane[r->lane].u;
  if (fmt == 'i') return instructions(r, at, count);
  if (fmt == 's') return strings(r, at, count);
  unsigned bytes = size == 'b' ? 1 : size == 'h' ? 2 : size == 'w' ? 4 : 8, row = bytes == 8 ? 4 : 8;
  const char *types[] = {"u8", "u16", "u32", "u64"}, *reals[] = {"u8", "f16", "f32", "f64"};
  unsigned k = size == 'b' ? 0 : size == 'h' ? 1 : size == 'w' ? 2 : 3;
  struct value v = {.kind = fmt == 'f' && k ? VALUE_REAL : VALUE_UNSIGNED,
                    .type = elem_find((fmt == 'f' ? reals : types)[k], strlen((fmt == 'f' ? reals : types)[k]))};
  for (uint64_t n = 0; n < count; n++, at += bytes) {
    uint64_t bits = 0;
    if (!read_memory(r, r->block, r->warp, r->lane, at, &bits, bytes)) {
      if (n % row) printf("\n");
      return complain(r, "lane %u cannot read %u bytes at 0x%llx", r->lane, bytes, (unsigned long long)at);
    }
    if (v.kind == VALUE_REAL) v.lane[0].f = elem_real(v.type, &bits);
    else v.lane[0].u = bits;
    char *text = value_text(&v, 0, fmt);
    if (n % row == 0) printf("0x%llx:", (unsigned long long)at);
    printf(" %s%s", text, n % row == row - 1 || n + 1 == count ? "\n" : "");
    free(text);
  }
  return true;
}

/* What cannot be read here is said, and no error. */
static void show_display(struct repl *r, const struct display *d) {
  struct value v;
  char *why = NULL;
  bool good;
  printf("%d: ", d->number);
  if (print_fragment(r, d->text, d->format, &good)) return;
  struct expression *e = expression_compile(r, d->text, NULL, NULL, &why);
  if (e && expression_value(r, e, NULL, &v, &why)) print_value(r, d->text, &v, d->format);
  else printf("%s: %s\n", d->text, why ? why : "no value here");
  expression_free(e);
  free(why);
}

bool do_display(struct repl *r, char *arguments) {
  if (!*arguments) {
    for (size_t k = 0; k < r->ndisplays && r->g && !r->over; k++) show_display(r, &r->displays[k]);
    return true;
  }
  char fmt = take_format(&arguments);
  r->displays = cli_realloc(r->displays, (r->ndisplays + 1) * sizeof *r->displays);
  struct display *d = &r->displays[r->ndisplays++];
  *d = (struct display){.number = r->next_display++, .format = fmt, .text = cli_strdup(arguments)};
  if (r->g && !r->over) show_display(r, d);
  return true;
}

bool do_undisplay(struct repl *r, char *arguments) {
  char *word = next_word(&arguments);
  do {
    uint64_t n;
    bool found = false;
    if (word && !number_word(word, &n)) return complain(r, "'%s' is not a number", word);
    for (size_t k = r->ndisplays; k--;)
      if (!word || (uint64_t)r->displays[k].number == n) {
        free(r->displays[k].text);
        memmove(&r->displays[k], &r->displays[k + 1], (--r->ndisplays - k) * sizeof *r->displays);
        found = true;
      }
    if (word && !found) return complain(r, "no display number %llu", (unsigned long long)n);
  } while (word && (word = next_word(&arguments)));
  return true;
}

/* Changes memory or a register; what is not of this form is a setting (session.c). */
bool set_value(struct repl *r, const char *arguments) {
  const char *rest = NULL;
  char *why = NULL;
  uint64_t address;
  const struct elem *type;
  struct value v;
  if (!running(r)) return false;
  if (place_of(r, arguments, &rest, &address, &type, &why) && *rest == '=' && rest[1] != '=') {
    if (!evaluate(r, rest + 1, NULL, &v)) return false;
    uint64_t bits = v.lane[r->lane].u;
    if (type->kind == ELEM_FLOAT)
      bits = 0, elem_set_real(type, &bits,
                              v.kind == VALUE_REAL     ? v.lane[r->lane].f
                              : v.kind == VALUE_SIGNED ? (double)v.lane[r->lane].i
                                                       : (double)v.lane[r->lane].u);
    else if (v.kind == VALUE_REAL) bits = (uint64_t)(int64_t)v.lane[r->lane].f;
    undo_memory(r, address, type->size);
    mx_status s = mx_debug_write(r->g, r->block, r->warp, r->lane, address, &bits, type->size);
    return s == MX_OK || complain_status(r, s);
  }
  free(why);
  size_t n = strcspn(arguments, "=@ \t");
  char *name = format("%.*s", (int)n, arguments);
  rest = arguments + n + strspn(arguments + n, " \t");
  uint64_t lanes = focus_lanes(r);
  bool good = names_register(r, NULL, name);
  struct value at;
  if (good && *rest == '@') {
    const char *after = strchr(rest, '=');
    char *lane = after ? format("%.*s", (int)(after - rest - 1), rest + 1) : NULL;
    unsigned lo, hi;
    int end = 0;
    const bool range = lane && sscanf(lane, " %2u..%2u %n", &lo, &hi, &end) == 2 && end && !lane[end] && lo <= hi &&
                       hi < warp_lanes(r);
    good = range || (lane && evaluate(r, lane, NULL, &at) && at.kind != VALUE_REAL);
    free(lane);
    if (good && !range && at.lane[0].u >= warp_lanes(r))
      return free(name), complain(r, "lanes are numbered 0 to %u", warp_lanes(r) - 1);
    if (good) lanes = range ? UINT64_MAX >> (63 - hi) & UINT64_MAX << lo : 1ull << at.lane[0].u, rest = after;
  }
  mx_debug_register g = {.struct_size = sizeof g};
  if (!good || *rest != '=')
    return free(name),
           complain(
               r, "expected %%REGISTER [@ LANE] = EXPRESSION, NAME[INDEX] = EXPRESSION or TYPE[ADDRESS] = EXPRESSION");
  mx_status s = mx_debug_get_register(r->g, r->block, r->warp, r->split, r->frame, name, &g);
  if (s != MX_OK) return free(name), complain_status(r, s);
  if (!evaluate(r, rest + 1, NULL, &v)) return free(name), false;
  struct value was;
  value_of_register(&g, &was);
  if (!r->calc) undo_register(r, name, lanes, &g);
  for (unsigned l = 0; l < g.lanes && s == MX_OK; l++) {
    if (!(lanes >> l & 1) || v.fault >> l & 1) continue;
    uint64_t bits = v.lane[l].u;
    if (was.kind == VALUE_REAL)
      bits = 0, elem_set_real(was.type, &bits,
                              v.kind == VALUE_REAL     ? v.lane[l].f
                              : v.kind == VALUE_SIGNED ? (double)v.lane[l].i
                                                       : (double)v.lane[l].u);
    else if (v.kind == VALUE_REAL) bits = (uint64_t)(int64_t)v.lane[l].f;
    if (was.pred) bits = bits != 0;
    s = mx_debug_set_register(r->g, r->block, r->warp, r->split, r->frame, name, 1ull << l, bits, 0);
  }
  free(name);
  return s == MX_OK || complain_status(r, s);
}
