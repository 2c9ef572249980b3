/* A session about the launch of a manifest: what it says becomes what a command line would have said. */
#include "repl.h"

#include "tools/mxrun/manifest.h"

#include <stdlib.h>
#include <string.h>

struct launch_file {
  struct manifest m;
  char *text, *folder; /* the manifest's strings point into its text */
};

static void launch_file_free(struct launch_file *f) {
  if (!f) return;
  manifest_free(&f->m);
  free(f->text);
  free(f->folder);
  free(f);
}
void manifest_forget(struct repl *r) {
  launch_file_free(r->from);
  r->from = NULL;
}

/* An argument as it is written on the command line; malloc'ed. NULL: there is no such form. */
static char *word_of(const struct launch_file *f, const struct marg *a) {
  struct text t = {0};
  struct data made = {0};
  char *path = NULL, *why = NULL;
  switch (a->kind) {
  case MARG_IN:
  case MARG_INOUT:
  case MARG_CONST:
    if (data_generate(&made, a->text, &why) == DATA_OTHER) path = beside(f->folder, a->text);
    text_printf(&t, "%s%s%s", a->kind == MARG_CONST ? "const:" : "", path ? "@" : "", path ? path : a->text);
    break;
  case MARG_OUT:
  case MARG_SCRATCH:
    text_printf(&t, "fill(%u):u8[%llu]", f->m.poison, (unsigned long long)(a->bytes ? a->bytes : 1));
    break;
  case MARG_SCALAR:
  case MARG_BYTES:
    text_printf(&t, "bytes:");
    for (uint64_t k = 0; k < (a->kind == MARG_BYTES ? a->bytes : a->type->size); k++)
      text_printf(&t, "%02x", a->kind == MARG_BYTES ? a->raw[k] : (unsigned)(a->bytes >> 8 * k & 255));
    break;
  default: break;
  }
  data_free(&made);
  free(path);
  free(why);
  return t.s;
}

static bool take_limits(struct repl *r, const struct manifest *m) {
  for (unsigned k = 0; k <= m->nlimits; k++) {
    mx_limit limit = MX_LIMIT_STACK;
    uint64_t value = m->stack;
    char *why = NULL;
    if (k == m->nlimits && !m->stack) break;
    if (k < m->nlimits && !parse_limit(m->limits[k], &limit, &value, &why)) {
      complain(r, "%s", why);
      free(why);
      return false;
    }
    const mx_status s = mx_limit_set(r->d, limit, value);
    if (s != MX_OK) return complain_status(r, s);
    r->machine.limit[limit] = value;
    r->machine.limits |= 1u << limit;
  }
  return true;
}

static bool take(struct repl *r, const char *path, struct launch_file *f) {
  const struct manifest *m = &f->m;
  const struct mstage *stage = m->stages;
  if (m->nstages > 1) return complain(r, "%s has several launches; a session is about one", path);
  if (m->ndiags || m->refused) return complain(r, "%s is about a program that is refused: there is no launch", path);
  char *program = m->file ? beside(f->folder, m->file) : NULL;
  const bool good = program ? target_load(r, program) : target_text(r, path, m->inline_text, m->inline_size);
  free(program);
  if (!good || !take_limits(r, m)) return false;
  free(r->kernel_name);
  r->kernel_name = stage->kernel ? cli_strdup(stage->kernel) : NULL;
  memcpy(r->config.grid, stage->grid, sizeof stage->grid);
  memcpy(r->config.block, stage->block, sizeof stage->block);
  memcpy(r->config.cluster, stage->cluster, sizeof stage->cluster);
  r->config.shared_bytes = stage->shared;
  r->config.cooperative = stage->cooperative;
  if (m->threads) r->config.threads = m->threads;
  for (size_t k = 0; k < r->nwords; k++) free(r->words[k]);
  r->nwords = 0;
  r->words = cli_realloc(r->words, (stage->nargs + 1) * sizeof *r->words);
  for (unsigned k = 0; k < stage->nargs; k++) {
    char *word = word_of(f, &m->args[k]);
    if (!word) return complain(r, "%s: line %u: a session takes no textures of a manifest", path, m->args[k].line);
    r->words[r->nwords++] = word;
  }
  return true;
}

bool manifest_load(struct repl *r, const char *path) {
  const char *why, *slash = strrchr(path, '/');
  size_t size;
  struct launch_file *f = cli_alloc(sizeof *f);
  f->text = cli_read_file(path, 64 << 20, &size, &why);
  f->folder = slash ? format("%.*s/", (int)(slash - path), path) : cli_strdup("");
  char *at = f->text, *wrong = NULL;
  unsigned line = 0;
  bool good = false;
  if (!f->text) complain(r, "%s: %s", path, why);
  else if (!manifest_parse(&f->m, &at, f->text + size, &line, &wrong)) complain(r, "%s: %s", path, wrong);
  else good = take(r, path, f);
  free(wrong);
  manifest_forget(r);
  if (good) r->from = f;
  else launch_file_free(f);
  return good;
}

bool manifest_memory(struct repl *r, mx_module *module) {
  if (!r->from) return true;
  char *why = module ? memory_behind_program(r->d, module, &r->from->m, r->from->folder)
                     : memory_before_program(r->d, &r->from->m, r->from->folder);
  if (why) complain(r, "%s", why);
  free(why);
  return !why;
}
