/* The command line's ARGs as a kernel's parameters. */
#include "mxrun.h"
#include "textures.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *spoken(const struct arg *a, size_t number, char *buffer, size_t n) {
  if (a->name && *a->name) snprintf(buffer, n, "'%s' (.%s)", a->name, a->param.type);
  else snprintf(buffer, n, "number %zu (.%s)", number, a->param.type);
  return buffer;
}

struct arg *find_arg(struct args *a, const char *s, size_t n) {
  for (size_t k = 0; k < a->n; k++)
    if (a->arg[k].name && strlen(a->arg[k].name) == n && !memcmp(a->arg[k].name, s, n)) return &a->arg[k];
  char number[24];
  uint64_t v;
  if (n >= sizeof number) return NULL;
  memcpy(number, s, n);
  number[n] = 0;
  return cli_number(number, UINT32_MAX, &v) && v < a->n ? &a->arg[v] : NULL;
}

struct arg *find_in_launches(struct args *last, const char *s, size_t n) {
  size_t launches = 0, digits = strspn(s, "0123456789");
  for (struct args *a = last; a; a = a->before, launches++) {
    struct arg *g = find_arg(a, s, n);
    if (g) return g;
  }
  if (!digits || digits + 1 >= n || s[digits] != '.') return NULL;
  const unsigned long number = strtoul(s, NULL, 10);
  for (struct args *a = last; a; a = a->before, launches--)
    if (launches == number) return find_arg(a, s + digits + 1, n - digits - 1);
  return NULL;
}

/* What is wrong, and which exit status it deserves. */
struct failure {
  char *text;
  int status;
};
#define REFUSE(f_, status_, ...) ((f_)->text = format(__VA_ARGS__), (f_)->status = (status_))

/* "NAME=rest": the parameter, with *s moved behind the '='. A value may hold '=' itself, as in a file's name. */
static struct arg *named(struct args *a, const char **s, struct failure *f) {
  size_t n = strspn(*s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%.");
  if (!n || (*s)[n] != '=') return NULL;
  struct arg *found = find_arg(a, *s, n);
  if (!found) {
    struct text t = {0};
    for (size_t k = 0; k < a->n; k++) text_printf(&t, "%s%s", k ? ", " : "", a->arg[k].name ? a->arg[k].name : "?");
    REFUSE(f, CLI_USAGE, "the kernel has no parameter '%.*s'; it has: %s", (int)n, *s, t.n ? t.s : "none");
    text_free(&t);
  }
  *s += n + 1;
  return found;
}

static const char *hex_bytes(struct data *d, const char *s) {
  size_t n = strlen(s);
  if (n % 2) return "an odd number of hexadecimal digits";
  d->size = n / 2;
  d->bytes = cli_alloc(d->size + 1);
  for (size_t k = 0; k < n; k += 2) {
    uint64_t v;
    if (!cli_number((char[]){'0', 'x', s[k], s[k + 1], 0}, 255, &v)) return "not hexadecimal digits";
    d->bytes[k / 2] = (unsigned char)v;
  }
  return NULL;
}

/* ---- text, and what refers to other arguments ---------------------------------------------------------------*/
/* 'the cat', "the cat", and the cat where the shell has taken the quotes: something with a blank in it that is nothing
 * else. */
static bool is_text(const char *s) { return *s == '\'' || *s == '"' || (strchr(s, ' ') && !strpbrk(s, "(:@")); }
static const char *make_text(struct data *d, const char *s) {
  static const char from[] = "nt0\\'\"", to[] = "\n\t\0\\'\"";
  const bool quoted = *s == '\'' || *s == '"';
  size_t n = strlen(s), k = 0;
  if (quoted && (n < 2 || s[n - 1] != *s)) return "the quote at the end of the text is missing";
  n -= 2 * quoted;
  s += quoted;
  d->bytes = cli_alloc(n + 1);
  for (size_t i = 0; i < n; i++) {
    const char *escape = quoted && s[i] == '\\' && i + 1 < n ? strchr(from, s[i + 1]) : NULL;
    if (quoted && s[i] == '\\' && !escape) return "behind a backslash comes n, t, 0, a quote or a backslash";
    d->bytes[k++] = (unsigned char)(escape ? to[escape - from] : s[i]);
    i += escape != NULL;
  }
  d->bytes[k++] = 0;
  d->type = elem_find("u8", 2);
  d->size = d->dims[0] = k;
  d->ndims = 1;
  d->text = true;
  return NULL;
}

/* "len(x)": what is in the brackets; NULL: it is something else. */
static const char *within(const char *s, const char *function, size_t *length) {
  const size_t n = strlen(function), all = strlen(s);
  if (strncmp(s, function, n) || s[n] != '(' || s[all - 1] != ')') return NULL;
  *length = all - n - 2;
  return s + n + 1;
}
/* "len(x)", "like(x)": the argument in brackets, a buffer that has been made, here or for an earlier launch; or NULL
 * with f->text, or without it: it is to be made yet, or this is something else. */
static struct arg *refers(struct args *a, const bool *made, const char *s, const char *function, const char *who,
                          struct failure *f) {
  size_t n;
  const char *name = within(s, function, &n);
  if (!name) return NULL;
  struct arg *of = find_arg(a, name, n);
  const bool own = of;
  if (!of) of = find_in_launches(a->before, name, n);
  if (!of) REFUSE(f, CLI_USAGE, "argument %s: %s: the kernel has no parameter '%.*s'", who, s, (int)n, name);
  else if ((!own || made[of - a->arg]) && !of->buffer)
    REFUSE(f, CLI_USAGE, "argument %s: %s: that argument is not a buffer", who, s);
  return of && !f->text && (!own || made[of - a->arg]) ? of : NULL;
}
/* "same(x)": a buffer of an earlier launch. */
static void set_same(struct args *a, struct arg *g, const char *name, size_t n, const char *who, struct failure *f) {
  struct arg *of = find_in_launches(a->before, name, n);
  if (!of)
    REFUSE(f, CLI_USAGE, "argument %s: same(%.*s): no earlier launch has a parameter '%.*s'", who, (int)n, name, (int)n,
           name);
  else if (!of->buffer)
    REFUSE(f, CLI_USAGE, "argument %s: same(%.*s): that argument is not a buffer", who, (int)n, name);
  else if (of->value > UINT32_MAX && g->param.size < 8)
    REFUSE(f, CLI_USAGE, "argument %s: a buffer's address does not fit into %u bytes", who, g->param.size);
  else if (g->param.size != 8 && g->param.size != 4)
    REFUSE(f, CLI_USAGE, "argument %s: a buffer's address does not fit into %u bytes", who, g->param.size);
  if (f->text) return;
  g->buffer = true;
  g->same = of->same ? of->same : of;
  g->address = of->address, g->value = of->value;
  memcpy(a->params + g->param.offset, &g->value, g->param.size);
}
static bool is_reference(const char *s) { return !strncmp(s, "len(", 4) || !strncmp(s, "like(", 5); }

/* As many zeros as another buffer has elements. */
static bool make_like(struct data *d, const struct data *of) {
  *d = *of;
  d->bytes = calloc(of->size ? of->size : 1, 1);
  d->zeros = true;
  d->text = false;
  d->no_memory = !d->bytes;
  return d->bytes != NULL;
}
/* A text's length is that of its letters. */
static uint64_t length_of(const struct data *d) { return data_count(d) - d->text; }

/* "@photo.png:linear,wrap", "new:u8x4[480,640]": an image, as a texture or a surface. False: s is something else. */
static bool set_image(struct args *a, struct arg *g, const char *s, const char *who, mx_device *d, struct failure *f) {
  const bool is_new = !strncmp(s, "new:", 4);
  struct image_words w = {.texture = MX_TEXTURE_DESC_INIT, .surface = is_new};
  const char *colon = strrchr(s, ':');
  char *why = NULL;
  if (!is_new && !colon) return false;
  const char *unknown = is_new ? NULL : image_words(&w, colon + 1, &why);
  char *source = is_new ? NULL : format("%.*s", (int)(colon - s), s);
  if (unknown) { /* a file's name may have colons, and another colon stands before an array's type */
    const bool is_file = *s == '@' && access(s + 1, F_OK) && !access(source + 1, F_OK),
               is_array = *s != '@' && source[strlen(source) - 1] == ']',
               is_wrong = why || ((is_file || is_array) && !elem_find(unknown, strlen(unknown)));
    free(source);
    if (is_wrong && !why) why = image_no_word(unknown);
    if (is_wrong) REFUSE(f, CLI_USAGE, "argument %s: %s", who, why);
    free(why);
    return is_wrong;
  }
  enum data_result made = is_new      ? (why = image_new(&g->data, &w, s + 4)) ? DATA_BAD : DATA_MADE
                          : *s == '@' ? data_read(&g->data, source + 1, &why) ? DATA_MADE : DATA_BAD
                                      : data_generate(&g->data, source, &why);
  free(source);
  if (made == DATA_OTHER) return false;
  if (made == DATA_BAD) REFUSE(f, *s == '@' ? CLI_REFUSED : CLI_USAGE, "argument %s: %s", who, why);
  else if (g->param.size != 8)
    REFUSE(f, CLI_USAGE, "argument %s: an image's number does not fit into %u bytes", who, g->param.size);
  free(why);
  if (f->text) return true;
  uint64_t number = 0;
  why = image_argument(d, &w, &g->data, &g->array, &number);
  if (why) REFUSE(f, CLI_REFUSED, "argument %s: %s", who, why);
  free(why);
  g->buffer = true;
  g->value = number;
  memcpy(a->params + g->param.offset, &number, sizeof number);
  return true;
}

/* There is such a file, perhaps with a type or words for images behind its name. */
static bool is_file(const char *s) {
  const char *colon = strrchr(s, ':');
  char *name = format("%.*s", (int)(colon ? (size_t)(colon - s) : strlen(s)), s);
  const bool is = !access(s, R_OK) || !access(name, R_OK);
  free(name);
  return is;
}

static void set(struct args *a, const bool *made_before, struct arg *g, const char *s, mx_device *d,
                struct failure *f) {
  char who[256], length[24], *why = NULL;
  const char *reason = NULL;
  size_t number = (size_t)(g - a->arg);
  unsigned char *slot = a->params + g->param.offset;
  spoken(g, number, who, sizeof who);
  if (!strncmp(s, "bytes:", 6)) {
    struct data raw = {0};
    if ((reason = hex_bytes(&raw, s + 6))) REFUSE(f, CLI_USAGE, "argument %s: %s", who, reason);
    else if (raw.size != g->param.size)
      REFUSE(f, CLI_USAGE, "argument %s: %llu bytes given, the parameter has %u", who, (unsigned long long)raw.size,
             g->param.size);
    else memcpy(slot, raw.bytes, raw.size);
    data_free(&raw);
    return;
  }
  size_t n;
  const char *of_earlier = within(s, "same", &n);
  if (of_earlier) return set_same(a, g, of_earlier, n, who, f);
  struct arg *of = refers(a, made_before, s, "len", who, f);
  if (of) snprintf(length, sizeof length, "%llu", (unsigned long long)length_of(data_of(of))), s = length;
  if (f->text) return;
  if (!is_text(s) && set_image(a, g, s, who, d, f)) return;
  const bool constant = !strncmp(s, "const:", 6);
  if (constant) s += 6;
  enum data_result made = DATA_OTHER;
  if ((of = refers(a, made_before, s, "like", who, f))) made = make_like(&g->data, data_of(of)) ? DATA_MADE : DATA_BAD;
  else if (f->text) return;
  else if (is_text(s)) made = (reason = make_text(&g->data, s)) ? DATA_BAD : DATA_MADE;
  else if (*s == '@') made = data_read(&g->data, s + 1, &why) ? DATA_MADE : DATA_BAD;
  else made = data_generate(&g->data, s, &why);
  if (made == DATA_BAD)
    REFUSE(f,
           g->data.no_memory ? CLI_HOST
           : *s == '@'       ? CLI_REFUSED
                             : CLI_USAGE,
           "argument %s: %s", who,
           why      ? why
           : reason ? reason
                    : "out of memory");
  free(why);
  if (made == DATA_BAD) return;
  if (made == DATA_OTHER && constant)
    return (void)REFUSE(f, CLI_USAGE, "argument %s: behind const: comes @FILE or an array such as iota:f32[16]", who);
  if (made == DATA_OTHER) {
    const struct elem *e = elem_find(g->param.type, strlen(g->param.type));
    if (!e || e->size != g->param.size)
      REFUSE(f, CLI_USAGE, "argument %s: an array parameter of %u bytes is written bytes:HEX", who, g->param.size);
    else if (!elem_parse(e, slot, s, &reason))
      REFUSE(f, CLI_USAGE, "argument %s: '%s': %s%s%s%s", who, s, reason, is_file(s) ? "; a file is written @" : "",
             is_file(s) ? s : "",
             !is_file(s) && g->param.size == 8 && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", *s)
                 ? "; text has quotes of its own: \"'the cat'\""
                 : "");
    return;
  }
  if (g->param.size != 8 && g->param.size != 4)
    return (void)REFUSE(f, CLI_USAGE, "argument %s: a buffer's address does not fit into %u bytes", who, g->param.size);
  g->buffer = true;
  mx_addr argument; /* in constant memory the place in its window: what ld.const takes */
  mx_status st = constant ? mx_alloc_constant(d, g->data.size ? g->data.size : 1, &g->address, &argument)
                          : mx_alloc(d, g->data.size ? g->data.size : 1, &g->address);
  if (!constant) argument = g->address;
  if (st == MX_OK && !g->data.zeros)
    st = mx_copy_to_device(d, g->address, g->data.bytes, g->data.size);      /* new memory is zero */
  if (st == MX_OK && g->data.zeros && !g->data.unset && mx_device_checks(d)) /* as good as written */
    st = mx_memset8(d, g->address, 0, g->data.size);
  if (st == MX_OK && g->name) st = mx_allocation_set_name(d, g->address, g->name);
  if (st != MX_OK) {
    why = failure_text(d, st);
    REFUSE(f, st == MX_OUT_OF_DEVICE_MEMORY ? CLI_REFUSED : CLI_HOST, "argument %s: %s", who, why);
    free(why);
    return;
  }
  if (g->param.size == 4 && argument > UINT32_MAX)
    return (void)REFUSE(f, CLI_USAGE, "argument %s: a buffer's address does not fit into 4 bytes", who);
  g->value = argument;
  memcpy(slot, &argument, g->param.size);
}

static struct failure bind(struct args *a, struct args *before, mx_device *d, mx_kernel *k, char **words, size_t n) {
  struct failure f = {0};
  mx_kernel_info info = {.struct_size = sizeof info};
  mx_kernel_get_info(k, &info);
  *a = (struct args){.arg = cli_alloc((info.params + 1) * sizeof *a->arg),
                     .n = info.params,
                     .params = cli_alloc(info.param_bytes + 8),
                     .bytes = info.param_bytes,
                     .before = before};
  bool *given = cli_alloc(a->n + 1), *made = cli_alloc(a->n + 1);
  const char **later = cli_alloc((a->n + 1) * sizeof *later); /* of those that refer to others: as written */
  for (size_t i = 0; i < a->n; i++) {
    a->arg[i].param.struct_size = sizeof a->arg[i].param;
    mx_kernel_get_param(k, i, &a->arg[i].param);
    a->arg[i].name = a->arg[i].param.name;
  }
  size_t next = 0;
  for (size_t i = 0; i < n && !f.text; i++) {
    const char *s = words[i];
    struct arg *g = named(a, &s, &f);
    if (!g && !f.text) {
      while (next < a->n && given[next]) next++;
      if (next < a->n) g = &a->arg[next];
      else REFUSE(&f, CLI_USAGE, "too many arguments: the kernel '%s' takes %zu", info.name, a->n);
    }
    if (!f.text && given[g - a->arg]) REFUSE(&f, CLI_USAGE, "argument '%s' is given twice", g->name);
    if (f.text) break;
    given[g - a->arg] = true;
    if (is_reference(s)) {
      later[g - a->arg] = s;
      continue;
    }
    set(a, made, g, s, d, &f);
    made[g - a->arg] = true;
  }
  for (bool again = true; again && !f.text;) { /* each when what it refers to is there */
    again = false;
    for (size_t i = 0; i < a->n && !f.text; i++) {
      char who[256];
      if (!later[i]) continue;
      spoken(&a->arg[i], i, who, sizeof who);
      if (!refers(a, made, later[i], "len", who, &f) && !f.text && !refers(a, made, later[i], "like", who, &f))
        continue;
      if (f.text) break;
      set(a, made, &a->arg[i], later[i], d, &f);
      made[i] = again = true;
      later[i] = NULL;
    }
  }
  for (size_t i = 0; i < a->n && !f.text; i++) {
    char who[256];
    if (!given[i])
      REFUSE(&f, CLI_USAGE, "argument %s is missing: the kernel '%s' takes %zu", spoken(&a->arg[i], i, who, sizeof who),
             info.name, a->n);
  }
  for (size_t i = 0; i < a->n && !f.text; i++) {
    char who[256];
    if (later[i])
      REFUSE(&f, CLI_USAGE, "argument %s: %s refers to an argument that is not there, or to itself",
             spoken(&a->arg[i], i, who, sizeof who), later[i]);
  }
  free(given);
  free(made);
  free(later);
  return f;
}

char *try_args(struct args *a, mx_device *d, mx_kernel *k, char **words, size_t n) {
  return bind(a, NULL, d, k, words, n).text;
}

void bind_args(struct args *a, struct args *before, mx_device *d, mx_kernel *k, char **words, size_t n) {
  struct failure f = bind(a, before, d, k, words, n);
  if (!f.text) return;
  if (f.status == CLI_USAGE) cli_usage("mxrun", "%s", f.text);
  fprintf(stderr, "mxrun: %s\n", f.text);
  exit(f.status);
}

/* Blocks for one thread an element of the largest buffer; where blocks have rows, and it has, a thread for each of the
 * last row's and so on. */
void auto_grid(const struct args *a, mx_launch_config *c) {
  if (!grid_is_auto(c)) return;
  const struct data *most = NULL;
  for (size_t k = 0; k < a->n; k++)
    if (a->arg[k].buffer && (!most || data_count(data_of(&a->arg[k])) > data_count(most))) most = data_of(&a->arg[k]);
  uint64_t want[3] = {most ? data_count(most) : 1, 1, 1};
  if (most && c->block[1] > 1 && most->ndims > 1)
    want[0] = most->dims[1], want[1] = most->dims[0]; /* pictures: [height, width, colours] */
  for (unsigned k = 0; k < 3; k++) {
    const uint64_t blocks = (want[k] + c->block[k] - 1) / (c->block[k] ? c->block[k] : 1);
    c->grid[k] = blocks > UINT32_MAX ? UINT32_MAX : blocks ? (uint32_t)blocks : 1;
    const uint32_t of = c->cluster[k] ? c->cluster[k] : 1; /* whole clusters */
    if (c->grid[k] % of && c->grid[k] <= UINT32_MAX - of) c->grid[k] += of - c->grid[k] % of;
  }
}

bool fetch_args(struct args *a, mx_device *d) {
  bool good = true;
  for (size_t k = 0; k < a->n; k++)
    if (a->arg[k].buffer && !a->arg[k].same && a->arg[k].data.size)
      good &= (a->arg[k].array
                   ? mx_array_copy_out(a->arg[k].array, NULL, a->arg[k].data.bytes, 0, 0)
                   : mx_copy_from_device(d, a->arg[k].data.bytes, a->arg[k].address, a->arg[k].data.size)) == MX_OK;
  return good;
}

void free_args(struct args *a) {
  for (size_t k = 0; k < a->n; k++) data_free(&a->arg[k].data);
  free(a->arg);
  free(a->params);
}
