/* Images: the words that describe them. Knows no device; upload.c does. */
#include "textures.h"

#include "asm/front/symbols.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  mx_array_kind kind;
  int where;
} kinds[] = {{"1d", MX_ARRAY_1D, IMAGE_ARRAY},
             {"2d", MX_ARRAY_2D, IMAGE_ARRAY},
             {"3d", MX_ARRAY_3D, IMAGE_ARRAY},
             {"1dlayered", MX_ARRAY_1D_LAYERED, IMAGE_ARRAY},
             {"2dlayered", MX_ARRAY_2D_LAYERED, IMAGE_ARRAY},
             {"cube", MX_ARRAY_CUBE, IMAGE_ARRAY},
             {"cubelayered", MX_ARRAY_CUBE_LAYERED, IMAGE_ARRAY},
             {"linear", MX_ARRAY_1D, IMAGE_LINEAR},
             {"pitch2d", MX_ARRAY_2D, IMAGE_PITCHED}};

bool image_kind(struct image_spec *s, const char *word) {
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (strcmp(kinds[k].name, word)) continue;
    s->desc.kind = kinds[k].kind;
    s->where = kinds[k].where;
    return true;
  }
  return false;
}

bool image_size(struct image_spec *s, const char *word) {
  uint32_t *const to[] = {&s->desc.width, &s->desc.height, &s->desc.depth};
  unsigned n = 0;
  for (const char *p = word; n < 3; n++) {
    char number[12];
    const size_t length = strcspn(p, "x");
    uint64_t v;
    if (!length || length >= sizeof number) return false;
    memcpy(number, p, length);
    number[length] = 0;
    if (!cli_number(number, UINT32_MAX, &v) || !v) return false;
    *to[n] = (uint32_t)v;
    p += length;
    if (!*p) return true;
    p++;
  }
  return false;
}

bool image_format(mx_array_desc *a, const char *word, size_t n) {
  static const struct {
    const char *name;
    mx_texel_type type;
    uint32_t bits;
  } types[] = {{"u8", MX_TEXEL_UNSIGNED, 8}, {"u16", MX_TEXEL_UNSIGNED, 16}, {"u32", MX_TEXEL_UNSIGNED, 32},
               {"s8", MX_TEXEL_SIGNED, 8},   {"s16", MX_TEXEL_SIGNED, 16},   {"s32", MX_TEXEL_SIGNED, 32},
               {"f16", MX_TEXEL_FLOAT, 16},  {"f32", MX_TEXEL_FLOAT, 32}};
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
    const size_t length = strlen(types[k].name);
    if (n < length || memcmp(word, types[k].name, length)) continue;
    const bool has_count =
        n == length + 2 && word[length] == 'x' && word[length + 1] && strchr("124", word[length + 1]);
    if (n != length && !has_count) continue;
    a->type = types[k].type, a->bits = types[k].bits, a->channels = has_count ? (uint32_t)(word[length + 1] - '0') : 1;
    return true;
  }
  return false;
}

bool image_option(struct image_spec *s, const char *word) {
  uint64_t v;
  if (!strcmp(word, "gather")) return true; /* all arrays can be gathered from */
  if (!strncmp(word, "layers=", 7) && cli_number(word + 7, 65536, &v)) return s->desc.layers = (uint32_t)v, true;
  if (!strncmp(word, "levels=", 7) && cli_number(word + 7, 64, &v)) return s->desc.levels = (uint32_t)v, true;
  return false;
}

/* ---- samplers -------------------------------------------------------------------------------------------*/
static bool choice(const char *word, size_t n, const char *const *words, unsigned *v) {
  for (*v = 0; words[*v]; ++*v)
    if (strlen(words[*v]) == n && !memcmp(words[*v], word, n)) return true;
  return false;
}
static bool float_bits(const char *s, size_t n, float *v) {
  char digits[16];
  uint64_t bits;
  const bool prefixed = n > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
  if (!n || n > 10) return false;
  snprintf(digits, sizeof digits, "0x%.*s", (int)(prefixed ? n - 2 : n), prefixed ? s + 2 : s);
  if (!cli_number(digits, UINT32_MAX, &bits)) return false;
  const uint32_t u = (uint32_t)bits;
  memcpy(v, &u, sizeof u);
  return true;
}

const char *texture_key(mx_texture_desc *t, const char *word) {
  static const char *const modes[] = {"wrap", "clamp", "mirror", "border", NULL}, *const filters[] = {"point", "linear",
                                                                                                      NULL};
  static const char *const coords[] = {"texel", "normalized", NULL}, *const reads[] = {"element", "normalized", NULL};
  static const char *const keys[] = {"addr", "filter", "coords", "read",  "border", "mip",
                                     "bias", "minlod", "maxlod", "aniso", NULL};
  enum { ADDR, FILTER, COORDS, READ, BORDER, MIP, BIAS, MINLOD, MAXLOD, ANISO };
  unsigned key, v = 0;
  if (!strcmp(word, "srgb")) return t->srgb = true, NULL;
  if (!strcmp(word, "seamless")) return t->seamless = true, NULL;
  const char *value = strchr(word, '=');
  if (!value || !choice(word, (size_t)(value - word), keys, &key))
    return "expected addr=, filter=, coords=, read=, srgb, seamless, border=, mip=, bias=, minlod=, maxlod= or aniso=";
  const size_t n = strlen(++value);
  uint64_t number;
  switch (key) {
  case ADDR: {
    unsigned k = 0;
    for (const char *p = value; k < 3; k++) {
      const size_t length = strcspn(p, ",");
      if (!choice(p, length, modes, &v)) return "expected wrap, clamp, mirror or border, up to three of them";
      for (unsigned j = k; j < 3; j++)
        t->address_mode[j] = (mx_address_mode)v; /* the last one is that of all others, too */
      p += length;
      if (!*p) return NULL;
      p++;
    }
    return "more than three address modes";
  }
  case FILTER: return choice(value, n, filters, &v) ? t->filter = (mx_filter)v, NULL : "expected point or linear";
  case MIP: return choice(value, n, filters, &v) ? t->mip_filter = (mx_filter)v, NULL : "expected point or linear";
  case COORDS: return choice(value, n, coords, &v) ? t->normalized_coords = v, NULL : "expected texel or normalized";
  case READ: return choice(value, n, reads, &v) ? t->normalized_read = v, NULL : "expected element or normalized";
  case BORDER: {
    unsigned k = 0;
    for (const char *p = value; k < 4; k++) {
      const size_t length = strcspn(p, ",");
      if (!float_bits(p, length, &t->border[k])) return "expected up to four floats' bits in hexadecimal";
      p += length;
      if (!*p) return NULL;
      p++;
    }
    return "more than four border colours";
  }
  case BIAS: return float_bits(value, n, &t->mip_bias) ? NULL : "expected a float's bits in hexadecimal";
  case MINLOD: return float_bits(value, n, &t->min_lod) ? NULL : "expected a float's bits in hexadecimal";
  case MAXLOD: return float_bits(value, n, &t->max_lod) ? NULL : "expected a float's bits in hexadecimal";
  default:
    return cli_number(value, 16, &number) ? t->max_anisotropy = (uint32_t)number, NULL : "expected a number up to 16";
  }
}

/* ---- sizes ------------------------------------------------------------------------------------------------*/
size_t image_texel_bytes(const struct image_spec *s) { return s->desc.bits / 8 * s->desc.channels; }
static uint32_t extent(uint32_t n, unsigned level) {
  if (!n) n = 1;
  return level < 32 && n >> level ? n >> level : 1;
}
uint64_t image_level_bytes(const struct image_spec *s, unsigned level) {
  const mx_array_desc *a = &s->desc;
  const bool cube = a->kind == MX_ARRAY_CUBE || a->kind == MX_ARRAY_CUBE_LAYERED;
  const uint64_t rows = extent(cube && !a->height ? a->width : a->height, level);
  const uint64_t slices =
      a->kind == MX_ARRAY_3D ? extent(a->depth, level) : (a->layers ? a->layers : 1) * (cube ? 6u : 1u);
  return extent(a->width, level) * image_texel_bytes(s) * rows * slices;
}
uint64_t image_bytes(const struct image_spec *s) {
  uint64_t all = 0;
  for (unsigned l = 0; l < (s->desc.levels ? s->desc.levels : 1); l++) all += image_level_bytes(s, l);
  return all;
}

/* ---- command lines ----------------------------------------------------------------------------------------*/
/* Words of one subject contradict one another; what surfaces have comes first. */
enum subject { OBJECT, SHAPE, ADDRESS, FILTERED, PLACES, VALUES, CURVE, SEAMS, BETWEEN, SUBJECTS };
enum image_word {
  WRAP,
  CLAMP,
  MIRROR,
  BORDERS,
  POINT,
  LINEAR,
  TEXEL,
  NORMALIZED,
  FLOAT,
  SRGB,
  SEAMLESS,
  SURFACE,
  LAYERS,
  CUBE,
  VOLUME,
  MIPS
};
static const char *const image_word[] = {"wrap",   "clamp",      "mirror", "border", "point",    "linear",
                                         "texel",  "normalized", "float",  "srgb",   "seamless", "surface",
                                         "layers", "cube",       "volume", "mips",   NULL};
static const enum subject image_subject[] = {ADDRESS, ADDRESS, ADDRESS, ADDRESS, FILTERED, FILTERED, PLACES, PLACES,
                                             VALUES,  CURVE,   SEAMS,   OBJECT,  SHAPE,    SHAPE,    SHAPE,  BETWEEN};

const char *image_words(struct image_words *w, const char *s, char **why) {
  const char *said[SUBJECTS] = {NULL};
  *why = NULL;
  for (;; s++) {
    const size_t n = strcspn(s, ",");
    unsigned k;
    if (!choice(s, n, image_word, &k)) return s;
    const char **of = &said[image_subject[k]];
    if (*of && *of != image_word[k]) return *why = format("'%s' contradicts '%s'", image_word[k], *of), s;
    *of = image_word[k];
    switch (k) {
    case POINT:
    case LINEAR: w->texture.filter = k == LINEAR ? MX_FILTER_LINEAR : MX_FILTER_POINT; break;
    case TEXEL:
    case NORMALIZED: w->texture.normalized_coords = k == NORMALIZED; break;
    case FLOAT: w->texture.normalized_read = true; break;
    case SRGB: w->texture.srgb = w->texture.normalized_read = true; break;
    case SEAMLESS: w->texture.seamless = true; break;
    case SURFACE: w->surface = true; break;
    case LAYERS: w->has_layers = true; break;
    case CUBE: w->is_cube = true; break;
    case VOLUME: w->is_volume = true; break;
    case MIPS:
      w->has_levels = true;
      w->texture.mip_filter = MX_FILTER_LINEAR, w->texture.max_lod = 32;
      break;
    default:
      for (unsigned axis = 0; axis < 3; axis++) w->texture.address_mode[axis] = (mx_address_mode)k;
    }
    s += n;
    if (!*s) break;
  }
  if ((w->is_cube || w->has_levels) && said[PLACES] == image_word[TEXEL])
    *why = format("'texel' contradicts '%s', which needs normalized coordinates", image_word[w->is_cube ? CUBE : MIPS]);
  for (unsigned k = ADDRESS; k < SUBJECTS && w->surface && !*why; k++)
    if (said[k]) *why = format("'%s' is a word for textures, and this is a surface", said[k]);
  if (*why) return s;
  w->texture.normalized_coords |= w->is_cube || w->has_levels;
  return NULL;
}
char *image_no_word(const char *s) {
  char word[32];
  const size_t n = strcspn(s, ",");
  snprintf(word, sizeof word, "%.*s", (int)n, s);
  if (!n) return cli_strdup("a word for images is missing behind the ':', or between two commas");
  if (strcspn(word, " ;|+") < n && n < sizeof word) return format("'%s': commas separate words for images", word);
  const char *value = strchr(word, '='); /* filter=linear, as manifests have it */
  struct nearest near = {.want = value ? value + 1 : word};
  for (unsigned k = 0; image_word[k]; k++) mx__nearest(&near, image_word[k]);
  if (near.best)
    return format("'%.*s' is neither a type nor a word for images; did you mean '%s'?", (int)n, s, near.best);
  struct text all = {0};
  for (unsigned k = 0; image_word[k]; k++) text_printf(&all, " %s", image_word[k]);
  char *why = format("'%.*s' is neither a type nor a word for images; the words are%s", (int)n, s, all.s);
  text_free(&all);
  return why;
}

char *image_new(struct data *d, struct image_words *w, const char *s) {
  mx_array_desc a = MX_ARRAY_DESC_INIT;
  char *why = NULL;
  const size_t n = strcspn(s, "[");
  if (!s[n]) return format("'new:%s': expected a format and a size, as in new:u8x4[480,640]", s);
  if (!image_format(&a, s, n))
    return format("'%.*s' is no format of texels: u8 u16 u32 s8 s16 s32 f16 f32, then x1, x2 or x4", (int)n, s);
  const size_t name = strcspn(s, "x");
  *d = (struct data){.type = elem_find(s, name < n ? name : n), .zeros = true};
  uint64_t count = 1;
  const char *p = s + n;
  do {
    char number[16];
    const size_t length = strcspn(++p, ",]");
    snprintf(number, sizeof number, "%.*s", (int)length, p);
    if (!p[length]) return format("'new:%s': there is no ']'", s);
    if (d->ndims == 3) return format("'new:%s': an image has up to three sizes", s);
    if (!length || length >= sizeof number || !cli_number(number, 131072, &d->dims[d->ndims]) || !d->dims[d->ndims])
      return format("'%.*s' is no size of an image: a number from 1 to 131072", (int)length, p);
    count *= d->dims[d->ndims++];
    p += length;
  } while (*p == ',');
  if (p[1] && p[1] != ':') return format("'new:%s': something follows the ']'", s);
  const char *unknown = p[1] ? image_words(w, p + 2, &why) : NULL;
  if (unknown) return why ? why : image_no_word(unknown);
  if (d->ndims == 3 && !w->is_volume && !w->has_layers && !w->is_cube)
    return format("three sizes are those of a volume, of layers or of a cube: new:%.*s:volume", (int)(p + 1 - s), s);
  if (count > DATA_LIMIT / (a.channels * d->type->size)) return format("'new:%s' is too large", s);
  if (a.channels > 1 || d->ndims == 3) d->dims[d->ndims++] = a.channels;
  d->size = count * a.channels * d->type->size;
  d->bytes = calloc(d->size, 1);
  return d->bytes ? NULL : cli_strdup("out of memory");
}
