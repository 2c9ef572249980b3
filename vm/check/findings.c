/* What the tools have found: each finding is kept once, with a count and a text for people. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum {
  MESSAGE,
  WHERE,
  STORY,
  TEXT,
  KIND,
  KERNEL,
  FUNCTION,
  FILE_NAME,
  INSTRUCTION,
  OTHER_KERNEL,
  OTHER_FUNCTION,
  OTHER_FILE,
  OTHER_INSTRUCTION,
  STRINGS
};
_Static_assert(STRINGS == sizeof(((struct finding *)0)->strings) / sizeof(char *), "a finding's strings");

const char *mx_check_tool_name(mx_check_tool tool) {
  switch (tool) {
#define X(name_, bit_, text_) \
  case MX_CHECK_##name_: return text_;
    MX_CHECK_LIST(X)
#undef X
  default: return "?";
  }
}

static void block_at(const struct mx_launch *l, uint64_t index, uint32_t block[3]) {
  block[0] = (uint32_t)(index % l->grid[0]);
  block[1] = (uint32_t)(index / l->grid[0] % l->grid[1]);
  block[2] = (uint32_t)(index / l->grid[0] / l->grid[1]);
}

static char *instruction_name(const struct site *s) {
  const char *p = mx__ops[s->insn->op].spelling;
  if (*p == '<') p++;
  return strndup(p, strcspn(p, "{<[|.>"));
}

void mx__place_of(const struct mx_check *c, mx_check_place *p, uint32_t site, uint64_t warp, uint64_t lanes) {
  const struct mx_launch *l = c->launch;
  const struct site *s = &c->code->sites[site];
  p->struct_size = sizeof *p;
  p->kernel = l->image->funcs[l->func].name;
  p->function = l->image->funcs[s->func].name;
  p->pc = s->insn->pc;
  mx__line_of(l->image, s->func, s->insn->pc, &p->file, &p->line);
  block_at(l, warp / l->warps, p->block);
  p->warp = (uint32_t)(warp % l->warps);
  p->lanes = lanes;
}

/* Copies the strings, since the module may be gone when the finding is read. */
static void own_strings(char **s, mx_check_place *p, const struct site *site) {
  s[0] = strdup(p->kernel);
  s[1] = strdup(p->function);
  s[2] = p->file ? strdup(p->file) : NULL;
  s[3] = site ? instruction_name(site) : NULL;
  p->kernel = s[0] ? s[0] : "?", p->function = s[1] ? s[1] : "?", p->file = s[2], p->instruction = s[3];
}

struct finding *mx__found_at(struct mx_check *c, mx_check_tool tool, const char *kind, uint32_t site, uint64_t warp,
                             uint64_t lanes, uint64_t key1, uint64_t key2) {
  c->again = NULL;
  if (!(c->tools & (unsigned)tool)) return NULL;
  const uint64_t at = (uint64_t)c->code->sites[site].func << 32 | c->code->sites[site].insn->pc;
  const uint64_t count = lanes ? (uint64_t)__builtin_popcountll(lanes) : 1;
  /* FOUND_PAIR: the finding is about two places in either order, key1 being the other one */
  const bool pair = key2 == FOUND_PAIR;
  const uint64_t low = pair && key1 < site ? key1 : site, high = pair && key1 < site ? site : key1;
  const uint64_t key[4] = {(uint64_t)tool << 32 | (uint64_t)c->launch->func, pair ? low : at, pair ? high : key1, key2};
  for (struct finding *f = c->first; f; f = f->next)
    if (!memcmp(f->key, key, sizeof key) && (pair || !strcmp(f->info.kind, kind))) {
      f->info.count += f->hidden ? 0 : count;
      if (f->step == c->steps && f->info.place.lanes && f->info.place.pc == c->code->sites[site].insn->pc)
        f->info.place.lanes |= lanes;
      c->again = f;
      return NULL;
    }
  struct finding *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  memcpy(f->key, key, sizeof key);
  f->info.struct_size = sizeof f->info;
  f->info.tool = tool;
  f->strings[KIND] = strdup(kind);
  f->info.kind = f->strings[KIND] ? f->strings[KIND] : "?";
  f->info.count = count;
  f->step = c->steps;
  mx__place_of(c, &f->info.place, site, warp, lanes);
  own_strings(&f->strings[KERNEL], &f->info.place, &c->code->sites[site]);
  *c->last = f;
  c->last = &f->next;
  c->nfindings++;
  return f;
}
struct finding *mx__finding(struct mx_exec *x, mx_check_tool tool, const char *kind, uint32_t site, uint64_t lanes,
                            uint64_t key1, uint64_t key2) {
  return mx__found_at(check_of(x), tool, kind, site, warp_state(x)->number, lanes, key1, key2);
}

void mx__found_address(struct finding *f, const struct mx_check *c, uint64_t address, uint64_t bytes, char *where) {
  (void)c;
  f->info.has_address = true;
  f->info.address = address;
  f->info.bytes = (uint32_t)bytes;
  f->info.where = f->strings[WHERE] = where;
}

void mx__found_story(struct finding *f, char *story) { f->info.story = f->strings[STORY] = story; }
void mx__found_other(struct finding *f, const struct mx_check *c, char *story, uint32_t site, uint64_t warp,
                     uint64_t lanes) {
  mx__found_story(f, story);
  mx__place_of(c, &f->info.other, site, warp, lanes);
  own_strings(&f->strings[OTHER_KERNEL], &f->info.other, &c->code->sites[site]);
}

/* As "file:12 (ld)". */
static char *spot(const mx_check_place *p) {
  char *at = p->file ? mx__format("%s:%u", p->file, p->line) : mx__format("pc %u", p->pc);
  char *all =
      mx__format("%s%s%s%s%s%s%s", at ? at : "?", p->instruction ? " (" : "", p->instruction ? p->instruction : "",
                 p->instruction ? ")" : "", strcmp(p->function, p->kernel) ? ", in function '" : "",
                 strcmp(p->function, p->kernel) ? p->function : "", strcmp(p->function, p->kernel) ? "'" : "");
  free(at);
  return all;
}

void mx__found_end(struct finding *f, char *message) {
  f->info.message = f->strings[MESSAGE] = message;
  if (!message) f->info.message = f->info.kind;
}

/* Built when it is asked for, since lanes may be added to a finding until then. */
void mx__finding_text(struct finding *f) {
  mx_finding *o = &f->info;
  free(f->strings[TEXT]);
  char *here = spot(&o->place), *lanes = o->place.lanes ? mx__lanes_text(o->place.lanes) : NULL;
  char *there = o->other.kernel ? spot(&o->other) : NULL;
  char *address =
      o->has_address && !o->bytes
          ? mx__format("\n  0x%llx%s%s", (unsigned long long)o->address, o->where ? ", " : "", o->where ? o->where : "")
      : o->has_address ? mx__format("\n  %u byte%s at 0x%llx%s%s", o->bytes, o->bytes == 1 ? "" : "s",
                                    (unsigned long long)o->address, o->where ? ", " : "", o->where ? o->where : "")
                       : NULL;
  char *other = there      ? mx__format("\n  %s at %s, block (%u,%u,%u), warp %u", o->story, there, o->other.block[0],
                                        o->other.block[1], o->other.block[2], o->other.warp)
                : o->story ? mx__format("\n  %s", o->story)
                           : NULL;
  f->strings[TEXT] = mx__format("%s: %s\n  kernel '%s', %s, block (%u,%u,%u), warp %u%s%s%s%s",
                                mx_check_tool_name(o->tool), o->message, o->place.kernel, here ? here : "?",
                                o->place.block[0], o->place.block[1], o->place.block[2], o->place.warp,
                                lanes ? ", " : "", lanes ? lanes : "", address ? address : "", other ? other : "");
  o->text = f->strings[TEXT] ? f->strings[TEXT] : o->kind;
  free(here);
  free(there);
  free(lanes);
  free(address);
  free(other);
}

void mx__found_leak(struct mx_check *c, const mx_check_place *place, uint64_t address, uint64_t bytes, char *where) {
  const uint64_t key[4] = {(uint64_t)MX_CHECK_MEMORY << 32, place->pc, place->line, 1};
  for (struct finding *f = c->first; f; f = f->next)
    if (!memcmp(f->key, key, sizeof key) && !strcmp(f->info.kind, "leak")) {
      f->info.count++;
      free(where);
      return;
    }
  struct finding *f = calloc(1, sizeof *f);
  if (!f) return free(where);
  memcpy(f->key, key, sizeof key);
  f->info.struct_size = sizeof f->info;
  f->info.tool = MX_CHECK_MEMORY;
  f->strings[KIND] = strdup("leak");
  f->info.kind = "leak";
  f->info.count = 1;
  f->info.place = *place;
  own_strings(&f->strings[KERNEL], &f->info.place, NULL);
  mx__found_address(f, c, address, bytes, where);
  *c->last = f;
  c->last = &f->next;
  c->nfindings++;
  mx__found_end(f, mx__format("device memory that was allocated here has never been freed"));
}

void mx__findings_free(struct mx_check *c) {
  for (struct finding *f = c->first, *next; f; f = next) {
    next = f->next;
    for (unsigned k = 0; k < STRINGS; k++) free(f->strings[k]);
    free(f);
  }
  c->first = NULL;
  c->last = &c->first;
  c->nfindings = 0;
}

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }
/* "8 bytes into", "right past the end of" or the like, in front of `what`, which has `size` bytes from lo on. */
static char *relation(uint64_t at, uint64_t lo, uint64_t size, const char *what) {
  const unsigned long long into = at - lo, before = lo - at, past = at - lo - size;
  if ((int64_t)into < 0) return mx__format("%llu byte%s before the start of %s", before, plural(before), what);
  if (into < size) return into ? mx__format("%llu byte%s into %s", into, plural(into), what) : strdup(what);
  return past ? mx__format("%llu byte%s past the end of %s", past, plural(past), what)
              : mx__format("right past the end of %s", what);
}

char *mx__where_of(const struct mx_check *c, uint64_t address, uint64_t bytes) {
  if (address >> MX_WINDOW_SHIFT == MX_WINDOW_LOCAL) return NULL;
  if (address >> MX_WINDOW_SHIFT != MX_WINDOW_SHARED) return mx__nearest_allocation(c->launch, address, bytes);
  const uint64_t at = address - MX_WINDOW(MX_WINDOW_SHARED);
  const struct variable *best = NULL;
  for (uint32_t k = 0; k < c->nshared; k++)
    if (c->shared[k].lo <= at) best = &c->shared[k];
  if (!best) return NULL;
  char *what = mx__format("variable '%s' (%llu byte%s of shared memory)", best->name, (unsigned long long)best->size,
                          plural(best->size));
  char *text = what ? relation(at, best->lo, best->size, what) : NULL;
  free(what);
  return text;
}
char *mx__where_from(uint64_t at, uint64_t lo, uint64_t size, const char *what) { return relation(at, lo, size, what); }
