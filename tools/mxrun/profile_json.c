/* mxrun profile --json: everything that a profile holds, for programs and for the page. */
#include "profile.h"

#include <inttypes.h>
#include <string.h>

static void number(struct text *t, const char *name, uint64_t n) {
  if (n) text_printf(t, ", \"%s\": %" PRIu64, name, n);
}
static void string(struct text *t, const char *name, const char *s) {
  if (s) text_printf(t, ", \"%s\": ", name), text_json(t, s);
}

/* What lines and instructions have in common; what is 0 is left out. */
static void counts(struct text *t, const mx_profile_instruction *i) {
#define NUMBER(field_) number(t, #field_, i->field_)
  NUMBER(executed), NUMBER(executed_compiled), NUMBER(active), NUMBER(on), NUMBER(live), NUMBER(splits),
      NUMBER(idle_lanes);
  NUMBER(waited), NUMBER(arrivals), NUMBER(floating), NUMBER(bytes), NUMBER(sectors), NUMBER(sectors_least);
  NUMBER(passes_least), NUMBER(conflicts32), NUMBER(conflicts64), NUMBER(atomics), NUMBER(same_address);
#undef NUMBER
  if (i->executed) {
    const char *comma = "";
    text_printf(t, ", \"histogram\": {");
    for (unsigned k = 0; k <= 64; k++)
      if (i->histogram[k]) text_printf(t, "%s\"%u\": %" PRIu64, comma, k, i->histogram[k]), comma = ", ";
    text_printf(t, "}");
  }
  for (unsigned k = 0, any = 0; k < 8; k++) {
    if (i->exits[k])
      text_printf(t, "%s\"%s\": %" PRIu64, any ? ", " : ", \"exits\": {", exit_names[k], i->exits[k]), any = 1;
    if (k == 7 && any) text_printf(t, "}");
  }
}

static void families(struct text *t, const struct profile_kernel *k) {
  const char *comma = "";
  text_printf(t, ", \"mix\": {");
  for (size_t i = 0; i < k->k.instructions; i++) {
    const char *family = k->insns[i].family;
    uint64_t n = 0;
    bool first = true;
    for (size_t m = 0; m < i && first; m++) first = strcmp(k->insns[m].family, family) != 0;
    for (size_t m = i; first && m < k->k.instructions; m++)
      if (!strcmp(k->insns[m].family, family)) n += k->insns[m].executed;
    if (n) text_printf(t, "%s\"%s\": %" PRIu64, comma, family, n), comma = ", ";
  }
  text_printf(t, "}");
}

static void kernel(struct text *t, const struct profile_kernel *p) {
  const mx_profile_kernel *k = &p->k;
  text_printf(t, "{\"name\": ");
  text_json(t, k->name);
  text_printf(t, ", \"lanes\": %u, \"launches\": %" PRIu64 ", \"blocks\": %" PRIu64 ", \"warps\": %" PRIu64, k->lanes,
              k->launches, k->blocks, k->warps);
  text_printf(t,
              ", \"seconds\": %.9f, \"block_least\": %" PRIu64 ", \"block_most\": %" PRIu64 ", \"block_sum\": %" PRIu64,
              k->seconds, k->block_least, k->block_most, k->block_sum);
  text_printf(t, ", \"warp_least\": %" PRIu64 ", \"warp_most\": %" PRIu64 ", \"warp_sum\": %" PRIu64, k->warp_least,
              k->warp_most, k->warp_sum);
  number(t, "rejoins", k->rejoins);
  number(t, "enters", k->enters);
  counts(t, &p->sum);
  families(t, p);
  text_printf(t, ",\n  \"lines\": [");
  for (size_t n = 0; n < p->nlines; n++) {
    const struct profile_line *l = &p->lines[n];
    text_printf(t, "%s\n   {\"line\": %u, \"instructions\": %u", n ? "," : "", l->line, l->instructions);
    string(t, "file", l->file);
    number(t, "executions", l->executions);
    counts(t, &l->sum);
    text_printf(t, "}");
  }
  text_printf(t, "],\n  \"instructions\": [");
  for (size_t n = 0; n < k->instructions; n++) {
    const mx_profile_instruction *i = &p->insns[n];
    text_printf(t, "%s\n   {\"pc\": %u, \"line\": %u", n ? "," : "", i->pc, i->line);
    string(t, "function", i->function), string(t, "file", i->file);
    string(t, "instruction", i->instruction), string(t, "family", i->family);
    if (i->guarded) text_printf(t, ", \"guarded\": true");
    if (i->branch) text_printf(t, ", \"branch\": true");
    counts(t, i);
    text_printf(t, "}");
  }
  text_printf(t, "]}");
}

static void events(struct text *t, mx_profile *p) {
  static const char *const kinds[] = {"launch", "block", "warp", "wait", "diverged"};
  const size_t all = mx_profile_event_count(p);
  for (size_t n = 0; n < all; n++) {
    mx_profile_event e = {.struct_size = sizeof e};
    if (mx_profile_get_event(p, n, &e) != MX_OK) break;
    text_printf(t, "%s\n  {\"kind\": \"%s\", \"launch\": %u, \"begin\": %" PRIu64 ", \"end\": %" PRIu64, n ? "," : "",
                kinds[e.kind], e.launch, e.begin, e.end);
    if (e.kind == MX_PROFILE_LAUNCH) string(t, "kernel", e.kernel), number(t, "stream", e.stream);
    else text_printf(t, ", \"block\": %" PRIu64, e.block);
    if (e.kind == MX_PROFILE_BLOCK)
      text_printf(t, ", \"worker\": %u, \"begin_ns\": %" PRIu64 ", \"end_ns\": %" PRIu64, e.worker, e.begin_ns,
                  e.end_ns);
    if (e.kind >= MX_PROFILE_WARP) text_printf(t, ", \"warp\": %u", e.warp);
    if (e.kind >= MX_PROFILE_WAIT) string(t, "file", e.file), number(t, "line", e.line);
    text_printf(t, "}");
  }
}

void profile_json(struct text *t, const struct profiled *p) {
  text_printf(t, "{\"mx\": \"%s\", \"kernels\": [", mx_version_string());
  for (size_t k = 0; k < p->nkernels; k++) {
    text_printf(t, k ? ",\n " : "\n ");
    kernel(t, &p->kernels[k]);
  }
  text_printf(t, "],\n \"events\": [");
  events(t, p->profile);
  text_printf(t, "]}\n");
}
