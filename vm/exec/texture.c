/* The rows of ops/texture.def: find each lane's object, coordinates and results; vm/texture does the sampling. All
 * lanes are checked before anything is written. */
#include "core/format.h"
#include "vm/memory/memory.h"
#include "vm/texture/objects.h"
#include "access.h"
#include "compiled_block.h"
#include "hooks.h"
#include "interp.h"
#include "launch.h"
#include "samples.h"

#include <stdlib.h>
#include <string.h>

/* ---- forms ----------------------------------------------------------------------------------------------*/
enum { MODS = 128 };
enum lod { BASE, LEVEL, GRADIENT };
enum outside { TRAP, CLAMP, ZERO };
enum reduction { ADD, MIN, MAX, AND, OR };

/* What an instruction's spelling says. */
struct form {
  uint8_t kind; /* mx_array_kind */
  uint8_t lod, outside, reduction, channel, query;
  bool whole, depth, halves, by_element, is_signed;
  uint8_t results, object, sampler; /* number of results; operand numbers of the object's address and of a sampler */
  uint8_t coords, ncoords, dx, dy, offsets, noffsets, level, depth_at, values, nvalues;
  uint8_t bytes; /* surfaces: of an element */
};

/* Whether the word is in the spelling, between two dots or at the end. */
static bool says(const char *spelling, const char *word) {
  const size_t n = strlen(word);
  for (const char *p = strchr(spelling, '.'); p; p = strchr(p + 1, '.'))
    if (!strncmp(p + 1, word, n) && (p[1 + n] == '.' || !p[1 + n])) return true;
  return false;
}
static unsigned one_of(const char *spelling, const char *const *words) {
  unsigned k = 0;
  while (words[k] && !says(spelling, words[k])) k++;
  return k;
}

static void read_form(struct form *f, unsigned op, unsigned mod) {
  static const char *const geometries[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube", NULL};
  static const char *const modes[] = {"trap", "clamp", "zero", NULL}, *const reductions[] = {"add", "min", "max",
                                                                                             "and", "or",  NULL};
  static const char *const channels[] = {"r", "g", "b", "a", NULL};
  const struct mx_op_info *o = &mx__ops[op];
  char s[128];
  mx__spell(o, mod, s, sizeof s);
  f->kind = (uint8_t)one_of(s, geometries);
  f->lod = says(s, "level") ? LEVEL : says(s, "grad") ? GRADIENT : BASE;
  f->outside = (uint8_t)one_of(s, modes);
  f->reduction = (uint8_t)one_of(s, reductions);
  f->channel = (uint8_t)one_of(s, channels);
  f->halves = says(s, "f16x2");
  f->by_element = says(s, "p");
  f->is_signed = says(s, "s32") || says(s, "s64");
  while (f->results < o->nopnds && o->opnd[f->results].role == MX_OUT) f->results++;
  while (o->opnd[f->object + 1].type != MX_T_off) f->object++;
  if (o->opnd[f->object + 2].implicit == MX_SAMPLER) f->sampler = (uint8_t)(f->object + 2);
  uint8_t behind = 0; /* the last of coordinates and gradients */
  for (uint8_t k = 0; k < o->nopnds; k++) {
    const uint8_t vector = o->opnd[k].vector;
    uint8_t *const first = vector == 2   ? &f->coords
                           : vector == 3 ? &f->dx
                           : vector == 4 ? &f->dy
                           : vector == 5 ? &f->offsets
                                         : NULL;
    if (vector == 1 && o->opnd[k].role == MX_IN) f->values = f->values ? f->values : k, f->nvalues++;
    if (!first) continue;
    if (!*first) *first = k;
    if (vector == 2) f->ncoords++;
    if (vector == 5) f->noffsets++;
    else behind = k;
  }
  f->whole = !strncmp(s, "tex", 3) && !strcmp(s + strlen(s) - 4, ".s32");
  f->level = (uint8_t)(behind + 1);
  f->depth_at = (uint8_t)(o->nopnds - 1);
  f->depth = strstr(o->id, "_DEPTH");
  f->bytes = says(s, "b8") ? 1 : says(s, "b16") ? 2 : says(s, "b64") || says(s, "u64") || says(s, "s64") ? 8 : 4;
  f->query = (uint8_t)mod;
}

/* The form of an instruction: made once in a process. NULL: out of memory. */
static const struct form *form_of(const struct mx_insn *i) {
  static _Atomic(struct form *) forms[MX_LAST_OF_IMAGES - MX_FIRST_OF_IMAGES + 1][MODS];
  _Atomic(struct form *) *at = &forms[i->op - MX_FIRST_OF_IMAGES][i->mod];
  struct form *f = atomic_load_explicit(at, memory_order_acquire), *none = NULL;
  if (f) return f;
  f = calloc(1, sizeof *f);
  if (!f) return NULL;
  read_form(f, i->op, i->mod);
  if (atomic_compare_exchange_strong(at, &none, f)) return f;
  free(f);
  return none;
}

static const void *operand(const struct mx_exec *x, const struct mx_insn *i, unsigned k) {
  return mx__operand(x, mx__operand_ref(i, k));
}
static uint32_t word(const struct mx_exec *x, const struct mx_insn *i, unsigned k, uint64_t l) {
  return ((const uint32_t *)operand(x, i, k))[l];
}
static float number(const struct mx_exec *x, const struct mx_insn *i, unsigned k, uint64_t l) {
  return ((const float *)operand(x, i, k))[l];
}

/* ---- objects --------------------------------------------------------------------------------------------*/
static const char *const kind_names[] = {"one-dimensional",
                                         "two-dimensional",
                                         "three-dimensional",
                                         "layered one-dimensional",
                                         "layered two-dimensional",
                                         "cube",
                                         "layered cube"};

/* A reference is a variable in which the host has put an object's number; its address stands for it. */
static uint64_t referred(struct mx_exec *x, uint64_t n) {
  const struct mx_alloc *a =
      n >> MX_WINDOW_SHIFT == MX_WINDOW_GLOBAL ? mx__memory_record(x->launch->memory, n, NULL) : NULL;
  struct mx_bounds b;
  bool keep;
  if (!a || !(a->flags & MX_ALLOC_VARIABLE) || a->size - (n - a->lo) < sizeof n ||
      !mx__access_bounds(x, MX_GLOBAL, n, &b, &keep))
    return n;
  memcpy(&n, mx__bounds_host(x, &b, n, 0), sizeof n);
  return n;
}

/* The lanes' objects; neighbours mostly have the same one. NULL: trapped. */
struct lookup {
  uint64_t number;
  struct mx_object *object;
};

static const char *const object_names[] = {
    [MX_OBJECT_TEXTURE] = "texture", [MX_OBJECT_SURFACE] = "surface", [MX_OBJECT_SAMPLER] = "sampler"};
static struct mx_object *find_object(struct mx_exec *x, const struct mx_insn *i, uint64_t n, unsigned kind,
                                     struct lookup *last, uint64_t l) {
  if (last->object && last->number == n) return last->object;
  const char *why;
  last->number = n;
  const uint64_t object = referred(x, n);
  last->object = mx__object_find(x->launch->objects, object, kind, &why);
  if (!last->object)
    mx__trap_at(x, i, MX_TRAP_BAD_OBJECT, 1ull << l,
                mx__format("%s 0x%llx: %s", object_names[kind], (unsigned long long)object, why));
  return last->object;
}
/* A lane's operand that is an object's number. */
static uint64_t handle(const struct mx_exec *x, const struct mx_insn *i, unsigned k, uint64_t l) {
  return ((const uint64_t *)operand(x, i, k))[x->uniform_operands >> k & 1 ? 0 : l];
}
static uint64_t number_of(const struct mx_exec *x, const struct mx_insn *i, const struct form *f, uint64_t l) {
  return handle(x, i, f->object, l) + (uint64_t)i->off;
}
static struct mx_object *object_of(struct mx_exec *x, const struct mx_insn *i, const struct form *f, unsigned kind,
                                   struct lookup *last, uint64_t l) {
  return find_object(x, i, number_of(x, i, f, l), kind, last, l);
}
/* The kinds of images that an instruction of this geometry may access: to surface instructions, the faces of cubes are
 * layers. */
static bool goes_with(const struct mx_object *o, const struct form *f) {
  const unsigned kind = o->image.kind;
  return kind == f->kind || (o->kind == MX_OBJECT_SURFACE && f->kind == MX_ARRAY_2D_LAYERED && mx__image_is_cube(kind));
}
static const struct mx_insn *wrong_kind(struct mx_exec *x, const struct mx_insn *i, const struct form *f,
                                        const struct mx_object *o, uint64_t l) {
  return mx__trap_at(x, i, MX_TRAP_BAD_OBJECT, 1ull << l,
                     mx__format("the %s is %s, the instruction's geometry %s", object_names[o->kind],
                                kind_names[o->image.kind], kind_names[f->kind]));
}
static const struct mx_insn *no_memory(struct mx_exec *x, const struct mx_insn *i) {
  if (mx__chain_is_stale(x)) return x->event = MX_EV_STALE_WARP, NULL;
  return mx__trap_at(x, i, MX_TRAP_HOST_MEMORY, x->mask, NULL);
}

/* ---- textures -------------------------------------------------------------------------------------------*/
/* How the texture is read: by its own settings or those of the sampler that the instruction names. False: trapped. */
struct reading {
  struct lookup last;
  struct mx_sampler_form sampler;
};
static bool find_reading(struct mx_exec *x, const struct mx_insn *i, const struct form *f, const struct mx_object *o,
                         uint64_t l, struct reading *r) {
  const uint64_t n = handle(x, i, f->sampler, l);
  r->sampler = o->sampler;
  if (!n) return true;
  const struct mx_object *sampler = find_object(x, i, n, MX_OBJECT_SAMPLER, &r->last, l);
  if (!sampler) return false;
  r->sampler = sampler->sampler;
  r->sampler.normalized_coords = o->sampler.normalized_coords;
  r->sampler.normalized_read = o->sampler.normalized_read;
  r->sampler.srgb = o->sampler.srgb;
  return true;
}
static int32_t level_of_detail(const struct mx_exec *x, const struct mx_insn *i, const struct form *f,
                               const struct mx_object *o, const struct mx_sampler_form *s, uint64_t l) {
  const unsigned axes = mx__image_is_cube(f->kind) ? 3 : mx__image_axes(f->kind);
  float dx[3], dy[3];
  if (f->lod == LEVEL)
    return mx__texture_lod(&o->image, s,
                           f->whole ? (float)(int32_t)word(x, i, f->level, l) : number(x, i, f->level, l));
  for (unsigned k = 0; k < axes; k++) dx[k] = number(x, i, f->dx + k, l), dy[k] = number(x, i, f->dy + k, l);
  return mx__texture_gradient(&o->image, s, axes, dx, dy);
}
static void take_coordinates(const struct mx_exec *x, const struct mx_insn *i, const struct form *f,
                             const struct mx_object *o, const struct mx_sampler_form *s, uint64_t l,
                             struct mx_sample *at) {
  const bool layered = mx__image_is_layered(f->kind);
  const unsigned axes = mx__image_is_cube(f->kind) ? 3 : mx__image_axes(f->kind);
  *at = (struct mx_sample){.whole = f->whole};
  if (layered) at->layer = word(x, i, f->coords, l);
  for (unsigned k = 0; k < axes; k++) at->x[k] = word(x, i, f->coords + layered + k, l);
  for (unsigned k = 0; k < f->noffsets && k < axes; k++) at->offset[k] = (int32_t)word(x, i, f->offsets + k, l);
  if (f->lod != BASE) at->lod = level_of_detail(x, i, f, o, s, l);
  if (f->depth) at->compares = true, at->reference = number(x, i, f->depth_at, l);
}

/* Whether the operand is uniform; literals are. */
static bool is_same(const struct mx_exec *x, const struct mx_insn *i, unsigned k, size_t bytes) {
  const mx_ref at = mx__operand_ref(i, k);
  const char *values = mx__operand(x, at);
  return at & 1 || x->uniform_operands >> k & 1 || !memcmp(values, values + bytes, (x->lanes - 1) * bytes);
}
/* The object, if all lanes have the same one; NULL: they have several, or it does not fit the instruction. */
static const struct mx_object *one_object(struct mx_exec *x, const struct mx_insn *i, const struct form *f,
                                          unsigned kind, uint64_t m) {
  const uint64_t number = number_of(x, i, f, (uint64_t)__builtin_ctzll(m));
  uint64_t others = 0;
  if (!is_same(x, i, f->object, sizeof number))
    MX_FOR_LANES (l, m) others |= number_of(x, i, f, l) ^ number;
  const char *why;
  const struct mx_object *o = others ? NULL : mx__object_find(x->launch->objects, referred(x, number), kind, &why);
  return o && goes_with(o, f) ? o : NULL;
}
static void put_results(const struct mx_exec *x, const struct mx_insn *i, unsigned n, uint64_t m,
                        uint32_t (*result)[MX_MAX_LANES]) {
  for (unsigned k = 0; k < n; k++) {
    uint32_t *d = mx__operand(x, mx__operand_ref(i, k));
    if (m == x->full) memcpy(d, result[k], x->lanes * sizeof *d);
    else
      MX_FOR_LANES (l, m) d[l] = result[k][l];
  }
}
static bool has_offsets(const struct mx_exec *x, const struct mx_insn *i, const struct form *f) {
  for (unsigned k = 0; k < f->noffsets; k++) {
    const uint32_t *v = operand(x, i, f->offsets + k);
    if (v[0] || !is_same(x, i, f->offsets + k, sizeof *v)) return true;
  }
  return false;
}
/* Levels of detail of all lanes, one for all where what they come from is the same. False: none is said. */
static bool find_levels(const struct mx_exec *x, const struct mx_insn *i, const struct form *f,
                        const struct mx_object *o, const struct mx_sampler_form *s, uint64_t m, int32_t *lod) {
  const unsigned axes = mx__image_is_cube(f->kind) ? 3 : mx__image_axes(f->kind);
  bool same = true;
  if (f->lod == BASE) return false;
  memset(lod, 0, x->lanes * sizeof *lod);
  if (f->lod == LEVEL) same = is_same(x, i, f->level, 4);
  else
    for (unsigned k = 0; k < axes && same; k++) same = is_same(x, i, f->dx + k, 4) && is_same(x, i, f->dy + k, 4);
  for (uint64_t rest = m; rest; rest = same ? 0 : rest & (rest - 1)) {
    const unsigned l = (unsigned)__builtin_ctzll(rest);
    lod[l] = level_of_detail(x, i, f, o, s, l);
    for (uint32_t k = 0; same && k < x->lanes; k++) lod[k] = lod[l];
  }
  return true;
}
static bool is_sampler(struct mx_exec *x, uint64_t n) {
  const char *why;
  return mx__object_find(x->launch->objects, referred(x, n), MX_OBJECT_SAMPLER, &why);
}
/* Samples of one image for all lanes at once, by the level's body, which computes those of lanes that are not there as
 * well. False: none is done. */
static bool sample_together(struct mx_exec *x, const struct mx_insn *i, const struct form *f, uint64_t m) {
  const uint64_t sampler = handle(x, i, f->sampler, (uint64_t)__builtin_ctzll(m));
  if (f->depth || f->halves || has_offsets(x, i, f) || !is_same(x, i, f->sampler, sizeof sampler)) return false;
  const struct mx_object *o = one_object(x, i, f, MX_OBJECT_TEXTURE, m);
  if (!o || (sampler && !is_sampler(x, sampler))) return false;
  struct reading r = {.last = {0}};
  find_reading(x, i, f, o, (uint64_t)__builtin_ctzll(m), &r);
  const bool layered = mx__image_is_layered(f->kind);
  const unsigned axes = mx__image_is_cube(f->kind) ? 3 : mx__image_axes(f->kind);
  uint32_t result[4][MX_MAX_LANES], *to[4] = {result[0], result[1], result[2], result[3]};
  int32_t lod[MX_MAX_LANES];
  uint64_t odd;
  struct mx_samples at; /* most of it is room */
  at.whole = f->whole, at.lod = NULL, at.layer = NULL;
  for (unsigned k = 0; m == x->full && k < f->results; k++) to[k] = mx__operand(x, mx__operand_ref(i, k));
  if (layered) at.layer = operand(x, i, f->coords);
  for (unsigned k = 0; k < 3; k++) at.x[k] = k < axes ? operand(x, i, f->coords + layered + k) : NULL;
  if (find_levels(x, i, f, o, &r.sampler, m, lod)) at.lod = lod;
  if (!x->prep->level->sample(&o->image, &r.sampler, &at, x->lanes, m, to, &odd)) return false;
  MX_FOR_LANES (l, odd & m) {
    struct mx_sample one = {.whole = at.whole, .layer = layered ? at.layer[l] : 0, .lod = at.lod ? lod[l] : 0};
    uint32_t v[4];
    for (unsigned k = 0; k < axes; k++) one.x[k] = at.x[k][l];
    mx__texture_sample(&o->image, &r.sampler, &one, v);
    for (unsigned k = 0; k < f->results; k++) to[k][l] = v[k];
  }
  if (m != x->full) put_results(x, i, f->results, m, result);
  return true;
}

static const struct mx_insn *sample(struct mx_exec *x, const struct mx_insn *i, bool gather) {
  const struct form *f = form_of(i);
  const uint64_t m = mx__lanes_of(x, i);
  if (f && m && !gather && sample_together(x, i, f, m)) return i + 1;
  if (mx__chain_is_stale(x)) return x->event = MX_EV_STALE_WARP, NULL;
  if (!f) return no_memory(x, i);
  struct lookup last = {0};
  struct reading r = {.last = {0}};
  uint32_t result[4][MX_MAX_LANES];
  MX_FOR_LANES (l, m) {
    const struct mx_object *o = object_of(x, i, f, MX_OBJECT_TEXTURE, &last, l);
    if (!o) return NULL;
    if (!goes_with(o, f)) return wrong_kind(x, i, f, o, l);
    if (!find_reading(x, i, f, o, l, &r)) return NULL;
    struct mx_sample at;
    uint32_t v[4];
    take_coordinates(x, i, f, o, &r.sampler, l, &at);
    if (gather) mx__texture_gather(&o->image, &r.sampler, &at, f->channel, v);
    else mx__texture_sample(&o->image, &r.sampler, &at, v);
    if (f->halves) {
      float c[4];
      memcpy(c, v, sizeof c);
      for (unsigned k = 0; k < 2; k++)
        v[k] = mx__float_to_half(c[2 * k]) | (uint32_t)mx__float_to_half(c[2 * k + 1]) << 16;
    }
    for (unsigned k = 0; k < f->results; k++) result[k][l] = v[k];
  }
  put_results(x, i, f->results, m, result); /* stored last, since they may overwrite operands */
  return i + 1;
}
const struct mx_insn *mx__op_tex(struct mx_exec *x, const struct mx_insn *i) { return sample(x, i, false); }
const struct mx_insn *mx__op_tld4(struct mx_exec *x, const struct mx_insn *i) { return sample(x, i, true); }

/* ---- queries --------------------------------------------------------------------------------------------*/
/* OpenCL's codes. */
static uint32_t channel_type(const struct mx_object *o) {
  const struct mx_image_form *f = &o->image;
  const uint32_t size = f->bits == 8 ? 0 : f->bits == 16 ? 1 : 2;
  if (f->type == MX_TEXEL_FLOAT) return f->bits == 16 ? 0x10DD : 0x10DE;
  if (o->sampler.normalized_read && f->bits < 32) return (f->type == MX_TEXEL_SIGNED ? 0x10D0 : 0x10D2) + size;
  return (f->type == MX_TEXEL_SIGNED ? 0x10D7 : 0x10DA) + size;
}
static uint32_t channel_order(const struct mx_object *o) {
  return o->image.channels == 1 ? 0x10B0 : o->image.channels == 2 ? 0x10B2 : 0x10B5;
}
static uint32_t extent(const struct mx_object *o, unsigned axis, uint32_t level) {
  const struct mx_image_form *f = &o->image;
  if (level >= f->levels) return 0;
  const struct mx_texels *t = &f->level[level];
  return !axis ? t->w : axis == 1 ? t->h : f->kind == MX_ARRAY_3D ? t->d : 1;
}
static uint32_t array_size(const struct mx_object *o) {
  return mx__image_is_layered(o->image.kind) ? o->image.layers : 0;
}
static uint32_t address_mode(const struct mx_object *o, unsigned axis) {
  static const uint8_t codes[] = {
      [MX_ADDRESS_WRAP] = 0, [MX_ADDRESS_MIRROR] = 1, [MX_ADDRESS_CLAMP] = 3, [MX_ADDRESS_BORDER] = 4};
  return codes[o->sampler.address[axis]];
}
enum { SAMPLERS = 9 }; /* from this query on they may be asked of samplers */
static uint32_t texture_property(const struct mx_object *o, unsigned query) {
  switch (query) {
  case 0:
  case 1:
  case 2: return extent(o, query, 0);
  case 3: return channel_type(o);
  case 4: return channel_order(o);
  case 5: return o->sampler.normalized_coords;
  case 6: return array_size(o);
  case 7: return o->image.levels;
  case 8: return 1;
  case 9: return o->kind == MX_OBJECT_TEXTURE && !o->sampler.normalized_coords;
  case 10: return o->sampler.linear;
  default: return address_mode(o, query - 11);
  }
}
static uint32_t surface_property(const struct mx_object *o, unsigned query) {
  switch (query) {
  case 0:
  case 1:
  case 2: return extent(o, query, 0);
  case 3: return channel_type(o);
  case 4: return channel_order(o);
  case 5: return mx__image_is_cube(o->image.kind) ? 6 * o->image.layers : array_size(o);
  default: return 0; /* not linear */
  }
}
enum question { TEXTURE, TEXTURE_LEVEL, SURFACE };
static const struct mx_insn *ask(struct mx_exec *x, const struct mx_insn *i, enum question which) {
  const struct form *f = form_of(i);
  if (!f) return no_memory(x, i);
  const uint64_t m = mx__lanes_of(x, i);
  struct lookup last = {0};
  uint32_t result[MX_MAX_LANES];
  MX_FOR_LANES (l, m) {
    const bool of_sampler = which == TEXTURE && f->query >= SAMPLERS &&
                            mx__object_kind(referred(x, number_of(x, i, f, l))) == MX_OBJECT_SAMPLER;
    const unsigned kind = which == SURFACE ? MX_OBJECT_SURFACE : of_sampler ? MX_OBJECT_SAMPLER : MX_OBJECT_TEXTURE;
    const struct mx_object *o = object_of(x, i, f, kind, &last, l);
    if (!o) return NULL;
    result[l] = which == TEXTURE   ? texture_property(o, f->query)
                : which == SURFACE ? surface_property(o, f->query)
                                   : extent(o, f->query, word(x, i, 3, l));
  }
  uint32_t *d = mx__operand(x, i->o[0]);
  MX_FOR_LANES (l, m) d[l] = result[l];
  return i + 1;
}
const struct mx_insn *mx__op_txq(struct mx_exec *x, const struct mx_insn *i) {
  return ask(x, i, i->op == MX_TXQ ? TEXTURE : TEXTURE_LEVEL);
}
const struct mx_insn *mx__op_suq(struct mx_exec *x, const struct mx_insn *i) { return ask(x, i, SURFACE); }

const struct mx_insn *mx__op_istypep(struct mx_exec *x, const struct mx_insn *i) {
  const uint64_t m = mx__lanes_of(x, i), *numbers = mx__operand(x, i->o[1]);
  static const uint8_t kinds[] = {MX_OBJECT_TEXTURE, MX_OBJECT_SAMPLER, MX_OBJECT_SURFACE};
  uint64_t *d = mx__operand(x, i->o[0]), yes = 0;
  const char *why;
  MX_FOR_LANES (l, m)
    if (mx__object_find(x->launch->objects, referred(x, numbers[l]), kinds[i->mod], &why)) yes |= 1ull << l;
  *d = (*d & ~m) | yes;
  return i + 1;
}

/* ---- surfaces -------------------------------------------------------------------------------------------*/
/* Where each lane's bytes are; NULL: outside, in an access that then does nothing. */
struct reach {
  unsigned char *host[MX_MAX_LANES];
  uint64_t address[MX_MAX_LANES];
};

static const struct mx_insn *outside(struct mx_exec *x, const struct mx_insn *i, const struct mx_object *o, uint64_t l,
                                     int64_t px, int64_t y, int64_t z, bool write) {
  const struct mx_texels *t = &o->image.level[0];
  return mx__trap_at(x, i, MX_TRAP_OUTSIDE_SURFACE, 1ull << l,
                     mx__format("%s at byte %lld of a row, row %lld, slice or layer %lld; the surface has %llu bytes "
                                "in a row, %u row%s, %u slice%s or layer%s",
                                write ? "write" : "read", (long long)px, (long long)y, (long long)z,
                                (unsigned long long)t->w * o->image.texel, t->h, t->h == 1 ? "" : "s", t->d,
                                t->d == 1 ? "" : "s", t->d == 1 ? "" : "s"));
}
static int64_t clamped(int64_t v, int64_t most) { return v < 0 ? 0 : v > most ? most : v; }

/* All lanes' elements in one surface, without a branch; what traps is left to find_elements, which says why. */
static bool find_together(struct mx_exec *x, const struct mx_insn *i, const struct form *f, uint64_t m, unsigned bytes,
                          struct reach *r, const struct mx_object **object) {
  const struct mx_object *o = one_object(x, i, f, MX_OBJECT_SURFACE, m);
  if (!o) return false;
  const struct mx_texels *t = &o->image.level[0];
  const unsigned layered = mx__image_is_layered(f->kind), axes = mx__image_axes(f->kind);
  const int64_t size = bytes ? bytes : o->image.texel, most = (int64_t)t->w * o->image.texel - size,
                lowest = (int64_t)t->h - 1, last = (int64_t)t->d - 1, scale = f->by_element ? o->image.texel : 1;
  if (size > o->image.texel) return false;
  static const int32_t zeros[MX_MAX_LANES];
  const int32_t *px = operand(x, i, f->coords + layered), *py = zeros, *pz = zeros;
  if (axes > 1) py = operand(x, i, f->coords + layered + 1);
  if (axes > 2) pz = operand(x, i, f->coords + 2);
  if (layered) pz = operand(x, i, f->coords);
  const uint64_t base = o->lo;
  const bool clamps = f->outside == CLAMP;
  uint64_t beyond = 0, odd = 0;
  for (uint32_t l = 0; l < x->lanes; l++) {
    int64_t v = px[l] * scale, y = py[l], z = pz[l];
    const int64_t in_row = clamped(v, most), in_rows = clamped(y, lowest), in_slices = clamped(z, last);
    const bool out = !clamps && ((v ^ in_row) | (y ^ in_rows) | (z ^ in_slices));
    const uint64_t at = (uint64_t)in_row + (uint64_t)in_rows * t->row + (uint64_t)in_slices * t->slice;
    beyond |= (uint64_t)out << l;
    odd |= (uint64_t)((in_row & (size - 1)) != 0) << l;
    r->host[l] = out ? NULL : t->bytes + at;
    r->address[l] = base + at;
    object[l] = o;
  }
  return f->outside == ZERO ? !(odd & ~beyond & m) : !((odd | beyond) & m);
}
static void tell_writes(struct mx_exec *x, uint64_t m, unsigned bytes, const struct reach *r,
                        const struct mx_object *const *object) {
  if (!x->launch->debug || !x->launch->hooks->sees_writes(x->launch->debug)) return;
  MX_FOR_LANES (l, m)
    if (r->host[l])
      x->launch->hooks->writes(x, 1ull << l, r->address, 0, bytes ? bytes : object[l]->image.texel,
                               (unsigned char *const *)r->host);
}
/* False: trapped. bytes: what a lane accesses, 0: one texel. */
static bool find_elements(struct mx_exec *x, const struct mx_insn *i, const struct form *f, uint64_t m, unsigned bytes,
                          bool write, struct reach *r, const struct mx_object **object) {
  struct lookup last = {0};
  const bool together = m && find_together(x, i, f, m, bytes, r, object);
  if ((!together || x->launch->debug) && mx__chain_is_stale(x)) return x->event = MX_EV_STALE_WARP, false;
  MX_FOR_LANES (l, together ? 0 : m) {
    const struct mx_object *o = object_of(x, i, f, MX_OBJECT_SURFACE, &last, l);
    if (!o) return false;
    if (!goes_with(o, f)) return wrong_kind(x, i, f, o, l), false;
    object[l] = o;
    const struct mx_texels *t = &o->image.level[0];
    const unsigned layered = mx__image_is_layered(f->kind), axes = mx__image_axes(f->kind);
    const int64_t size = bytes ? bytes : o->image.texel, row = (int64_t)t->w * o->image.texel;
    int64_t px = (int32_t)word(x, i, f->coords + layered, l), y = 0, z = 0;
    if (f->by_element) px *= o->image.texel;
    if (axes > 1) y = (int32_t)word(x, i, f->coords + layered + 1, l);
    if (axes > 2) z = (int32_t)word(x, i, f->coords + 2, l);
    if (layered) z = (int32_t)word(x, i, f->coords, l);
    if (size > o->image.texel) {
      mx__trap_at(
          x, i, MX_TRAP_BAD_OBJECT, 1ull << l,
          mx__format("an access of %lld bytes to a surface whose elements have %u", (long long)size, o->image.texel));
      return false;
    }
    const bool out = px < 0 || px > row - size || y < 0 || y >= (int64_t)t->h || z < 0 || z >= (int64_t)t->d;
    if (out && f->outside == TRAP) return outside(x, i, o, l, px, y, z, write), false;
    if (out && f->outside == CLAMP) px = clamped(px, row - size), y = clamped(y, t->h - 1), z = clamped(z, t->d - 1);
    if (px % size && (!out || f->outside == CLAMP)) {
      mx__trap_at(
          x, i, MX_TRAP_MISALIGNED, 1ull << l,
          mx__format("byte %lld of a surface's row, in an access of %lld bytes", (long long)px, (long long)size));
      return false;
    }
    const size_t at = (size_t)px + (size_t)y * t->row + (size_t)z * t->slice;
    r->host[l] = out && f->outside == ZERO ? NULL : t->bytes + at;
    r->address[l] = o->lo + (uint64_t)(t->bytes - o->image.level[0].bytes) + at;
  }
  if (write) tell_writes(x, m, bytes, r, object);
  return true;
}

/* An element of a register: 8 and 16 bits lie in words. */
static uint64_t element(const struct mx_exec *x, const struct mx_insn *i, unsigned k, unsigned bytes, uint64_t l) {
  return bytes == 8 ? ((const uint64_t *)operand(x, i, k))[l] : word(x, i, k, l);
}

#define LOAD(t_, slot_) \
  MX_FOR_LANES (l, m) { \
    t_ v = 0; \
    if (r.host[l]) memcpy(&v, r.host[l] + k * sizeof v, sizeof v); \
    ((slot_ *)d)[l] = v; \
  }
const struct mx_insn *mx__op_suld(struct mx_exec *x, const struct mx_insn *i) {
  const struct form *f = form_of(i);
  if (!f) return no_memory(x, i);
  const uint64_t m = mx__lanes_of(x, i);
  struct reach r;
  const struct mx_object *object[MX_MAX_LANES];
  if (!find_elements(x, i, f, m, f->results * f->bytes, false, &r, object)) return NULL;
  for (unsigned k = 0; k < f->results; k++) {
    void *d = mx__operand(x, mx__operand_ref(i, k));
    switch (f->bytes) {
    case 1: LOAD(uint8_t, uint32_t) break;
    case 2: LOAD(uint16_t, uint32_t) break;
    case 4: LOAD(uint32_t, uint32_t) break;
    default: LOAD(uint64_t, uint64_t)
    }
  }
  return i + 1;
}

static uint32_t float_bits(float v) {
  uint32_t u;
  memcpy(&u, &v, sizeof u);
  return u;
}
/* A value of 32 bits as a channel of the format: integers are limited to its range. */
static uint32_t formatted(const struct mx_image_form *f, uint32_t v) {
  if (f->type == MX_TEXEL_FLOAT) {
    float x;
    memcpy(&x, &v, sizeof x);
    return f->bits == 16 ? mx__float_to_half(x) : float_bits(x);
  }
  if (f->bits == 32) return v;
  if (f->type == MX_TEXEL_UNSIGNED) return v >> f->bits ? (1u << f->bits) - 1 : v;
  const int32_t most = (1 << (f->bits - 1)) - 1, s = (int32_t)v;
  return (uint32_t)(s > most ? most : s < -most - 1 ? -most - 1 : s);
}

#define STORE(t_, slot_) \
  MX_FOR_LANES (l, m) { \
    const t_ bits = (t_)((const slot_ *)v)[l]; \
    if (r.host[l]) memcpy(r.host[l] + k * sizeof bits, &bits, sizeof bits); \
  }
const struct mx_insn *mx__op_sust(struct mx_exec *x, const struct mx_insn *i) {
  const struct form *f = form_of(i);
  if (!f) return no_memory(x, i);
  const uint64_t m = mx__lanes_of(x, i);
  struct reach r;
  const struct mx_object *object[MX_MAX_LANES];
  if (!find_elements(x, i, f, m, f->by_element ? 0 : f->nvalues * f->bytes, true, &r, object)) return NULL;
  for (unsigned k = 0; k < f->nvalues && !f->by_element; k++) {
    const void *v = operand(x, i, f->values + k);
    switch (f->bytes) {
    case 1: STORE(uint8_t, uint32_t) break;
    case 2: STORE(uint16_t, uint32_t) break;
    case 4: STORE(uint32_t, uint32_t) break;
    default: STORE(uint64_t, uint64_t)
    }
  }
  if (!f->by_element) return i + 1;
  MX_FOR_LANES (l, m) {
    if (!r.host[l]) continue;
    const struct mx_image_form *image = &object[l]->image;
    const unsigned bytes = image->bits / 8;
    for (unsigned k = 0; k < image->channels && k < f->nvalues; k++) {
      const uint32_t v = formatted(image, word(x, i, f->values + k, l));
      memcpy(r.host[l] + k * bytes, &v, bytes);
    }
  }
  return i + 1;
}

#define REDUCE(t_, s_) \
  static t_ new_##t_(const struct form *f, t_ old, t_ v) { \
    switch (f->reduction) { \
    case ADD: return old + v; \
    case MIN: return f->is_signed ? (s_)v < (s_)old ? v : old : v < old ? v : old; \
    case MAX: return f->is_signed ? (s_)v > (s_)old ? v : old : v > old ? v : old; \
    case AND: return old & v; \
    default: return old | v; \
    } \
  } \
  static void reduce_##t_(const struct form *f, void *at, t_ v) { \
    t_ old = __atomic_load_n((t_ *)at, __ATOMIC_RELAXED); \
    while (!__atomic_compare_exchange_n((t_ *)at, &old, new_##t_(f, old, v), false, __ATOMIC_SEQ_CST, \
                                        __ATOMIC_RELAXED)) {} \
  }
REDUCE(uint32_t, int32_t)
REDUCE(uint64_t, int64_t)

const struct mx_insn *mx__op_sured(struct mx_exec *x, const struct mx_insn *i) {
  const struct form *f = form_of(i);
  if (!f) return no_memory(x, i);
  const uint64_t m = mx__lanes_of(x, i);
  struct reach r;
  const struct mx_object *object[MX_MAX_LANES];
  if (!find_elements(x, i, f, m, f->bytes, true, &r, object)) return NULL;
  MX_FOR_LANES (l, m) {
    const uint64_t v = element(x, i, f->values, f->bytes, l);
    if (!r.host[l]) continue;
    if (f->bytes == 8) reduce_uint64_t(f, r.host[l], v);
    else reduce_uint32_t(f, r.host[l], (uint32_t)v);
  }
  return i + 1;
}
