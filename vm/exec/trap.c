/* Raising traps and turning them into records with a text for people; see trap.h. */
#include "trap.h"

#include "core/format.h"
#include "vm/memory/memory.h"
#include "vm/texture/objects.h"
#include "exec.h"
#include "hooks.h"
#include "launch.h"

#include <stdlib.h>
#include <string.h>

void mx__trap_raise(struct mx_launch *l, const struct mx_trap *t) {
  if (l->debug && l->hooks->rests(l->debug, l)) { /* the session's own worker comes here again */
    free(t->detail);
    return;
  }
  mx__lock(&l->lock);
  bool first = !l->trapped;
  if (first) {
    l->trapped = true;
    l->trap = *t;
  }
  mx__unlock(&l->lock);
  if (!first) free(t->detail);
  mx__launch_stop(l, MX_STOP_TRAP);
}

void mx__line_of(const struct mx_image *image, uint32_t func, uint32_t pc, const char **file, uint32_t *line) {
  *file = NULL;
  *line = 0;
  if (func >= image->nfuncs) return;
  const struct mx_func *f = &image->funcs[func];
  size_t lo = 0, hi = f->nlines;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (f->lines[mid].pc <= pc) lo = mid + 1;
    else hi = mid;
  }
  if (!lo || f->lines[lo - 1].file >= image->nfiles) return;
  *file = image->files[f->lines[lo - 1].file];
  *line = f->lines[lo - 1].line;
}

/* ---- the record -----------------------------------------------------------------------------------------*/

void mx__trap_record_clear(struct mx_trap_record *r) {
  for (size_t i = 0; i < sizeof r->strings / sizeof *r->strings; i++) free(r->strings[i]);
  memset(r, 0, sizeof *r);
  r->info.struct_size = sizeof r->info;
}

/* Spelling without the pattern's groups: "ld.global.f32" for people is "ld" here, since the row serves many. */
static char *instruction_name(const struct mx_func *f, uint32_t pc) {
  if (pc >= f->ncode) return NULL;
  unsigned op = mx_w_op(f->code[pc]);
  if (op >= MX_OP_COUNT) return NULL;
  const char *s = mx__ops[op].spelling;
  if (*s == '<') s++;
  return strndup(s, strcspn(s, "{<[|.>"));
}

/* All of them equally far apart, and more than that is quicker to read than their list: the distance; else 0. */
static unsigned regular(uint64_t m) {
  if (__builtin_popcountll(m) < 5) return 0;
  const unsigned first = (unsigned)__builtin_ctzll(m), step = (unsigned)__builtin_ctzll(m & (m - 1)) - first;
  uint64_t same = 0;
  for (unsigned l = first; l <= 63u - (unsigned)__builtin_clzll(m); l += step) same |= 1ull << l;
  return step > 1 && same == m ? step : 0;
}

char *mx__lanes_text(uint64_t m) {
  if (!m) return strdup("no lanes");
  const unsigned step = regular(m), from = (unsigned)__builtin_ctzll(m);
  if (step) return mx__format("lanes %u, %u ... %u", from, from + step, 63u - (unsigned)__builtin_clzll(m));
  char *text = strdup(m & (m - 1) ? "lanes" : "lane");
  for (const char *comma = " "; text && m; comma = ", ") {
    const unsigned a = (unsigned)__builtin_ctzll(m),
                   n = m >> a == UINT64_MAX >> a ? 64 - a : (unsigned)__builtin_ctzll(~(m >> a));
    char *more = n > 1 ? mx__format("%s%s%u-%u", text, comma, a, a + n - 1) : mx__format("%s%s%u", text, comma, a);
    free(text);
    text = more;
    m &= a + n == 64 ? 0 : UINT64_MAX << (a + n);
  }
  return text;
}

/* ", argument 2 'x'" when a parameter of the kernel holds the address where the nearest allocation begins; else "". */
static char *argument_text(const struct mx_launch *l, uint64_t base) {
  const struct mx_func *k = &l->image->funcs[l->func];
  for (uint32_t i = 0; base && i < k->nparams; i++) {
    const struct mx_param *p = &k->params[i];
    uint64_t value;
    if (p->size != sizeof value || (uint64_t)p->offset + sizeof value > l->param_bytes) continue;
    memcpy(&value, l->params + p->offset, sizeof value);
    if (value == base) return mx__format(", argument %u '%s'", i + 1, p->name ? p->name : "");
  }
  return mx__format("%s", "");
}

/* That a parameter of the kernel, to which the address belongs, is the number of an object; NULL: none is. */
static char *object_text(const struct mx_launch *l, uint64_t address) {
  static const char *const names[] = {
      [MX_OBJECT_TEXTURE] = "texture", [MX_OBJECT_SURFACE] = "surface", [MX_OBJECT_SAMPLER] = "sampler"};
  const struct mx_func *k = &l->image->funcs[l->func];
  if (!mx__object_kind(address)) return NULL;
  for (uint32_t i = 0; i < k->nparams; i++) {
    const struct mx_param *p = &k->params[i];
    uint64_t value;
    if (p->size != sizeof value || (uint64_t)p->offset + sizeof value > l->param_bytes) continue;
    memcpy(&value, l->params + p->offset, sizeof value);
    if (value >> 32 == address >> 32)
      return mx__format("argument %u '%s' is the number of a %s, not an address", i + 1, p->name ? p->name : "",
                        names[mx__object_kind(value)]);
  }
  return NULL;
}

static bool is_memory_trap(mx_trap_kind kind) {
  return kind == MX_TRAP_OUT_OF_BOUNDS || kind == MX_TRAP_READ_ONLY || kind == MX_TRAP_MISALIGNED ||
         kind == MX_TRAP_BAD_FREE;
}

char *mx__nearest_allocation(const struct mx_launch *l, uint64_t address, uint64_t bytes) {
  const uint64_t window = address >> MX_WINDOW_SHIFT;
  uint64_t base = 0;
  struct mx_memory *of = l->memory;
  char *object = object_text(l, address);
  if (object) return object;
  for (uint32_t k = 0; k < l->nbeside && window == MX_WINDOW_GLOBAL; k++) {
    const struct mx_region *r = &l->beside[k].memory->global;
    if (address - r->start < r->capacity) of = l->beside[k].memory;
  }
  char *near = mx__memory_nearest(of, address, bytes, &base);
  if (near && of != l->memory) {
    char *other = mx__format("of another device, %s", near);
    free(near);
    near = other;
  }
  char *arg = argument_text(l, base);
  char *both = near && arg ? mx__format("%s%s", near, arg) : NULL;
  free(near);
  free(arg);
  return both;
}

char *mx__nearest_of_trap(const struct mx_launch *l, const struct mx_trap *t) {
  return t->space == MX_SHARED || t->space == MX_LOCAL ? mx__nearest_variable(l, t)
                                                       : mx__nearest_allocation(l, t->address, t->bytes);
}

enum { KERNEL, FUNCTION, FILE_NAME, INSTRUCTION, NEAREST, DETAIL, TEXT };

mx_status mx__trap_record_make(struct mx_trap_record *r, const struct mx_launch *l) {
  const struct mx_trap *t = &l->trap;
  const struct mx_image *image = l->image;
  mx__trap_record_clear(r);
  mx_trap_info *o = &r->info;
  o->kind = t->kind;
  o->pc = t->pc;
  memcpy(o->block, t->block, sizeof o->block);
  o->warp = t->warp;
  o->lanes = t->lanes;
  o->has_address = t->has_address;
  o->is_write = t->is_write;
  o->address = t->address;
  o->access_bytes = t->bytes;

  const struct mx_func *f = &image->funcs[t->func < image->nfuncs ? t->func : l->func];
  const char *file;
  mx__line_of(image, t->func, t->pc, &file, &o->line);
  char **s = r->strings;
  s[KERNEL] = strdup(image->funcs[l->func].name);
  s[FUNCTION] = strdup(f->name);
  s[FILE_NAME] = file ? strdup(file) : NULL;
  s[INSTRUCTION] = instruction_name(f, t->pc);
  s[NEAREST] = t->has_address && is_memory_trap(t->kind) ? mx__nearest_of_trap(l, t) : NULL;
  s[DETAIL] = t->detail ? strdup(t->detail) : NULL;

  char *where = file ? mx__format("%s:%u", file, o->line) : mx__format("pc %u", t->pc);
  char *callee = t->func != l->func ? mx__format(", in function '%s'", f->name) : mx__format("%s", "");
  char *lanes = mx__lanes_text(t->lanes);
  char *access = !t->has_address ? mx__format("%s", "")
                 : t->kind == MX_TRAP_BAD_FREE
                     ? mx__format(": 0x%llx", (unsigned long long)t->address)
                     : mx__format(": %s of %u byte%s at 0x%llx", t->is_write ? "write" : "read", t->bytes,
                                  t->bytes == 1 ? "" : "s", (unsigned long long)t->address);
  if (where && callee && lanes && access)
    s[TEXT] = mx__format("%s%s%s%s\n  kernel '%s'%s, %s%s%s%s\n  block (%u,%u,%u), warp %u, %s (mask 0x%llx)%s%s",
                         mx_trap_kind_text(t->kind), access, s[NEAREST] ? ", " : "", s[NEAREST] ? s[NEAREST] : "",
                         s[KERNEL] ? s[KERNEL] : "?", callee, where, s[INSTRUCTION] ? " (" : "",
                         s[INSTRUCTION] ? s[INSTRUCTION] : "", s[INSTRUCTION] ? ")" : "", t->block[0], t->block[1],
                         t->block[2], t->warp, lanes, (unsigned long long)t->lanes, t->detail ? "\n  " : "",
                         t->detail ? t->detail : "");
  free(where);
  free(callee);
  free(lanes);
  free(access);

  o->kernel = s[KERNEL];
  o->function = s[FUNCTION];
  o->file = s[FILE_NAME];
  o->instruction = s[INSTRUCTION];
  o->nearest = s[NEAREST];
  o->detail = s[DETAIL];
  o->text = s[TEXT] ? s[TEXT] : mx_trap_kind_text(t->kind);
  return s[TEXT] ? MX_OK : MX_OUT_OF_MEMORY;
}
