/* The command line's ARGs as a kernel's parameters. */
#include "mxrun.h"

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

/* What is wrong, and which exit status it deserves. */
struct failure { char *text; int status; };
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

static void set(struct args *a, struct arg *g, const char *s, mx_device *d, struct failure *f) {
  char who[256], *why = NULL;
  const char *reason = NULL;
  size_t number = (size_t)(g - a->arg);
  unsigned char *slot = a->params + g->param.offset;
  spoken(g, number, who, sizeof who);
  if (!strncmp(s, "bytes:", 6)) {
    struct data raw = {0};
    if ((reason = hex_bytes(&raw, s + 6))) REFUSE(f, CLI_USAGE, "argument %s: %s", who, reason);
    else if (raw.size != g->param.size) REFUSE(f, CLI_USAGE, "argument %s: %llu bytes given, the parameter has %u", who, (unsigned long long)raw.size, g->param.size);
    else memcpy(slot, raw.bytes, raw.size);
    data_free(&raw);
    return;
  }
  const bool constant = !strncmp(s, "const:", 6);
  if (constant) s += 6;
  enum data_result made = DATA_OTHER;
  if (*s == '@') made = data_read(&g->data, s + 1, &why) ? DATA_MADE : DATA_BAD;
  else made = data_generate(&g->data, s, &why);
  if (made == DATA_BAD) REFUSE(f, *s == '@' ? CLI_REFUSED : CLI_USAGE, "argument %s: %s", who, why);
  free(why);
  if (made == DATA_BAD) return;
  if (made == DATA_OTHER && constant) return (void)REFUSE(f, CLI_USAGE, "argument %s: behind const: comes @FILE or an array such as iota:f32[16]", who);
  if (made == DATA_OTHER) {
    const struct elem *e = elem_find(g->param.type, strlen(g->param.type));
    if (!e || e->size != g->param.size) REFUSE(f, CLI_USAGE, "argument %s: an array parameter of %u bytes is written bytes:HEX", who, g->param.size);
    else if (!elem_parse(e, slot, s, &reason))
      REFUSE(f, CLI_USAGE, "argument %s: '%s': %s%s%s", who, s, reason, access(s, R_OK) ? "" : "; a file is written @", access(s, R_OK) ? "" : s);
    return;
  }
  if (g->param.size != 8 && g->param.size != 4) return (void)REFUSE(f, CLI_USAGE, "argument %s: a buffer's address does not fit into %u bytes", who, g->param.size);
  g->buffer = true;
  mx_addr argument; /* in constant memory the place in its window: what ld.const takes */
  mx_status st = constant ? mx_alloc_constant(d, g->data.size ? g->data.size : 1, &g->address, &argument)
                          : mx_alloc(d, g->data.size ? g->data.size : 1, &g->address);
  if (!constant) argument = g->address;
  if (st == MX_OK && !g->data.zeros) st = mx_copy_to_device(d, g->address, g->data.bytes, g->data.size); /* new memory is zero */
  if (st == MX_OK && g->name) st = mx_allocation_set_name(d, g->address, g->name);
  if (st != MX_OK) {
    why = failure_text(d, st);
    REFUSE(f, st == MX_OUT_OF_DEVICE_MEMORY ? CLI_REFUSED : CLI_HOST, "argument %s: %s", who, why);
    free(why);
    return;
  }
  if (g->param.size == 4 && argument > UINT32_MAX) return (void)REFUSE(f, CLI_USAGE, "argument %s: a buffer's address does not fit into 4 bytes", who);
  memcpy(slot, &argument, g->param.size);
}

static struct failure bind(struct args *a, mx_device *d, mx_kernel *k, char **words, size_t n) {
  struct failure f = {0};
  mx_kernel_info info = {.struct_size = sizeof info};
  mx_kernel_get_info(k, &info);
  *a = (struct args){.arg = cli_alloc((info.params + 1) * sizeof *a->arg), .n = info.params,
    .params = cli_alloc(info.param_bytes + 8), .bytes = info.param_bytes};
  bool *given = cli_alloc(a->n + 1);
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
    set(a, g, s, d, &f);
  }
  for (size_t i = 0; i < a->n && !f.text; i++) {
    char who[256];
    if (!given[i]) REFUSE(&f, CLI_USAGE, "argument %s is missing: the kernel '%s' takes %zu", spoken(&a->arg[i], i, who, sizeof who), info.name, a->n);
  }
  free(given);
  return f;
}

char *try_args(struct args *a, mx_device *d, mx_kernel *k, char **words, size_t n) { return bind(a, d, k, words, n).text; }

void bind_args(struct args *a, mx_device *d, mx_kernel *k, char **words, size_t n) {
  struct failure f = bind(a, d, k, words, n);
  if (!f.text) return;
  if (f.status == CLI_USAGE) cli_usage("mxrun", "%s", f.text);
  fprintf(stderr, "mxrun: %s\n", f.text);
  exit(f.status);
}

bool fetch_args(struct args *a, mx_device *d) {
  bool good = true;
  for (size_t k = 0; k < a->n; k++)
    if (a->arg[k].buffer && a->arg[k].data.size) good &= mx_copy_from_device(d, a->arg[k].data.bytes, a->arg[k].address, a->arg[k].data.size) == MX_OK;
  return good;
}

void free_args(struct args *a) {
  for (size_t k = 0; k < a->n; k++) data_free(&a->arg[k].data);
  free(a->arg);
  free(a->params);
}
