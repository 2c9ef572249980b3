/* The calls of mx/texture.h: arrays and what is copied to and from them, texture and surface objects. What a number
 * leads to is vm/texture/objects.c's, what is sampled vm/texture/sample.c's. */
#include "device.h"
#include "output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_AXIS 131072u
#define MOST_LAYERS 2048u

struct mx_array {
  mx_device *device;
  mx_array *next;
  mx_array_desc desc; /* all extents at least 1 */
  struct mx_image_form form;
  uint64_t bytes;
};

/* ---- shapes ---------------------------------------------------------------------------------------------*/
static const char *format_wrong(mx_texel_type type, uint32_t bits, uint32_t channels) {
  if ((unsigned)type > MX_TEXEL_FLOAT) return "there is no such type of texels";
  if (bits != 8 && bits != 16 && bits != 32) return "a channel has 8, 16 or 32 bits";
  if (type == MX_TEXEL_FLOAT && bits == 8) return "floats have 16 or 32 bits";
  if (channels != 1 && channels != 2 && channels != 4) return "there are 1, 2 or 4 channels";
  return NULL;
}
static uint32_t at_least_one(uint32_t n) { return n ? n : 1; }
static uint32_t halved(uint32_t n, unsigned level) { return level < 32 ? at_least_one(n >> level) : 1; }

static void take_format(struct mx_image_form *f, mx_texel_type type, uint32_t bits, uint32_t channels) {
  f->type = (uint8_t)type;
  f->bits = (uint8_t)bits;
  f->channels = (uint8_t)channels;
  f->texel = (uint8_t)(bits / 8 * channels);
}

/* The description made complete; what is wrong with it. */
static const char *array_wrong(mx_array_desc *a) {
  const char *why = format_wrong(a->type, a->bits, a->channels);
  if (why) return why;
  if ((unsigned)a->kind > MX_ARRAY_CUBE_LAYERED) return "there is no such kind of array";
  const unsigned axes = mx__image_axes(a->kind);
  const bool cube = mx__image_is_cube(a->kind), layered = mx__image_is_layered(a->kind);
  if (!a->width) return "its width is 0";
  if (cube && !a->height) a->height = a->width;
  if (axes > 1 && !a->height) return "its height is 0";
  if (axes > 2 && !a->depth) return "its depth is 0";
  if (axes < 2 && a->height > 1) return "an array of one dimension has no height";
  if (axes < 3 && a->depth > 1) return "only arrays of three dimensions have a depth";
  if (!layered && a->layers > 1) return "only layered arrays have layers";
  if (cube && a->width != a->height) return "the faces of a cube are square";
  a->height = at_least_one(a->height);
  a->depth = at_least_one(a->depth);
  a->layers = at_least_one(a->layers);
  a->levels = at_least_one(a->levels);
  if (a->width > MOST_AXIS || a->height > MOST_AXIS || a->depth > 16384)
    return "it is larger than 131072 x 131072 x 16384 texels";
  if (a->layers > MOST_LAYERS) return "it has more than 2048 layers";
  uint32_t most = a->width > a->height ? a->width : a->height, levels = 1;
  for (most = most > a->depth ? most : a->depth; most > 1; most >>= 1) levels++;
  if (a->levels > levels) return "it has more levels than its size can be halved";
  return NULL;
}

static uint64_t lay_out(struct mx_image_form *f, const mx_array_desc *a, unsigned char *bytes) {
  uint64_t at = 0;
  f->kind = (uint8_t)a->kind;
  f->levels = (uint8_t)a->levels;
  f->layers = a->layers;
  take_format(f, a->type, a->bits, a->channels);
  for (unsigned l = 0; l < a->levels && l < MX_TEXTURE_LEVELS; l++) {
    struct mx_texels *t = &f->level[l];
    t->w = halved(a->width, l);
    t->h = halved(a->height, l);
    t->d = a->kind == MX_ARRAY_3D ? halved(a->depth, l) : a->layers * (mx__image_is_cube(a->kind) ? 6 : 1);
    t->row = (size_t)t->w * f->texel;
    t->slice = t->row * t->h;
    t->bytes = bytes ? bytes + at : NULL;
    at += (t->slice * t->d + 63) & ~63ull;
  }
  return at;
}

/* A description from outside, which begins with its size: newer fields than the caller knows keep their defaults. */
static mx_status take_description(mx_device *d, void *to, size_t size, const void *from, const char *call) {
  size_t given = 0;
  if (from) memcpy(&given, from, sizeof given);
  if (given < sizeof given || given > size)
    return mx__fail(d, MX_INVALID_VALUE, "%s: no description, or struct_size is not set", call);
  memcpy(to, from, given);
  memcpy(to, &size, sizeof size);
  return MX_OK;
}

/* ---- arrays ---------------------------------------------------------------------------------------------*/
mx_status mx_array_create(mx_device *d, const mx_array_desc *desc, mx_array **array) {
  if (!d) return MX_INVALID_VALUE;
  if (!array) return mx__fail(d, MX_INVALID_VALUE, "mx_array_create: no place for the array");
  *array = NULL;
  mx_array_desc a = MX_ARRAY_DESC_INIT;
  mx_status s = take_description(d, &a, sizeof a, desc, "mx_array_create");
  if (s != MX_OK) return s;
  const char *why = array_wrong(&a);
  if (why) return mx__fail(d, MX_INVALID_VALUE, "mx_array_create: %s", why);
  s = mx__device_usable(d);
  if (s != MX_OK) return s;
  mx_array *new = calloc(1, sizeof *new);
  if (!new) return mx__fail_plain(d, MX_OUT_OF_MEMORY);
  new->device = d;
  new->desc = a;
  new->bytes = lay_out(&new->form, &a, NULL);
  void *host = NULL;
  s = mx__device_alloc(d, &d->memory.global, new->bytes, MX_ALLOC_INTERNAL | MX_ALLOC_TEXELS, NULL, &new->form.address,
                       &host);
  if (s != MX_OK) {
    free(new);
    return s;
  }
  lay_out(&new->form, &a, host);
  mx__lock(&d->lock);
  new->next = d->arrays;
  d->arrays = new;
  mx__unlock(&d->lock);
  *array = new;
  return MX_OK;
}

mx_status mx_array_destroy(mx_array *a) {
  if (!a) return MX_OK;
  mx_device *d = a->device;
  mx__streams_wait(d);
  mx__alone(d);
  mx__lock(&d->lock);
  mx_array **at = &d->arrays;
  while (*at && *at != a) at = &(*at)->next;
  if (*at) *at = a->next;
  mx__objects_lose(&d->objects, a, 0, 0, "its array has been destroyed");
  mx__memory_free(&d->memory, a->form.address);
  mx__unlock(&d->lock);
  mx__alone_done(d);
  free(a);
  return MX_OK;
}

void mx__arrays_free(struct mx_device *d) {
  while (d->arrays) {
    mx_array *a = d->arrays;
    d->arrays = a->next;
    free(a);
  }
}

mx_status mx_array_get_desc(const mx_array *a, mx_array_desc *out) {
  return a ? mx__fail_plain(a->device, mx__struct_out(out, &a->desc, sizeof a->desc)) : MX_INVALID_VALUE;
}

/* ---- copies ---------------------------------------------------------------------------------------------*/
/* Synchronous calls come after what is queued in the device's blocking streams. */
static mx_status enter(struct mx_device *d) {
  mx_status s = mx__streams_drain(d);
  mx__output_flush(d);
  return s == MX_OK ? mx__device_usable(d) : s;
}

/* The box with its extents filled in, inside the level. */
static mx_status inside(const mx_array *a, const char *call, const mx_texel_box *box, mx_texel_box *b) {
  *b = (mx_texel_box)MX_TEXEL_BOX_INIT;
  if (box && (box->struct_size < sizeof box->struct_size || box->struct_size > sizeof *b))
    return mx__fail(a->device, MX_INVALID_VALUE, "%s: struct_size of the box is not set", call);
  if (box) memcpy(b, box, box->struct_size);
  b->struct_size = sizeof *b;
  if (b->level >= a->desc.levels)
    return mx__fail(a->device, MX_INVALID_VALUE, "%s: level %u of an array that has %u", call, b->level,
                    a->desc.levels);
  const struct mx_texels *t = &a->form.level[b->level];
  const bool in = b->x <= t->w && b->y <= t->h && b->z <= t->d;
  if (in && !b->width) b->width = t->w - b->x;
  if (in && !b->height) b->height = t->h - b->y;
  if (in && !b->depth) b->depth = t->d - b->z;
  if (in && b->width <= t->w - b->x && b->height <= t->h - b->y && b->depth <= t->d - b->z) return MX_OK;
  return mx__fail(a->device, MX_INVALID_VALUE,
                  "%s: %u x %u x %u texels from (%u, %u, %u) on; level %u has %u x %u x %u", call, b->width, b->height,
                  b->depth, b->x, b->y, b->z, b->level, t->w, t->h, t->d);
}
static unsigned char *texel_at(const mx_array *a, const mx_texel_box *b, uint32_t y, uint32_t z) {
  const struct mx_texels *t = &a->form.level[b->level];
  return t->bytes + (size_t)b->x * a->form.texel + (size_t)(b->y + y) * t->row + (size_t)(b->z + z) * t->slice;
}
/* How far apart rows and slices are in other memory, and how many bytes of it there are from first to last. */
static mx_status strides(const mx_array *a, const char *call, const mx_texel_box *b, size_t *row, size_t *slice,
                         uint64_t *bytes) {
  const size_t width = (size_t)b->width * a->form.texel;
  if (!*row) *row = width;
  if (!*slice && *row <= SIZE_MAX / at_least_one(b->height)) *slice = *row * b->height;
  *bytes = 0;
  if (!b->width || !b->height || !b->depth) return MX_OK;
  const unsigned __int128 all =
      (unsigned __int128)*slice * (b->depth - 1) + (unsigned __int128)*row * (b->height - 1) + width;
  if (*row < width || (b->depth > 1 && *slice < width) || all > SIZE_MAX / 2)
    return mx__fail(a->device, MX_INVALID_VALUE, "%s: rows of %zu bytes that begin %zu bytes apart, slices %zu", call,
                    width, *row, *slice);
  *bytes = (uint64_t)all;
  return MX_OK;
}
enum way { IN, OUT };
static void copy_rows(const mx_array *a, const mx_texel_box *b, unsigned char *other, size_t row, size_t slice,
                      enum way way) {
  const size_t width = (size_t)b->width * a->form.texel;
  for (uint32_t z = 0; z < b->depth; z++)
    for (uint32_t y = 0; y < b->height; y++) {
      unsigned char *mine = texel_at(a, b, y, z), *theirs = other + z * slice + y * row;
      memcpy(way == IN ? mine : theirs, way == IN ? theirs : mine, width);
    }
}
static mx_status copy(const mx_array *a, const char *call, const mx_texel_box *box, void *host, mx_addr memory,
                      size_t row, size_t slice, enum way way) {
  if (!a) return MX_INVALID_VALUE;
  mx_device *d = a->device;
  mx_texel_box b;
  uint64_t bytes = 0;
  mx_status s = enter(d);
  if (s == MX_OK) s = inside(a, call, box, &b);
  if (s == MX_OK) s = strides(a, call, &b, &row, &slice, &bytes);
  if (s != MX_OK || !bytes) return s;
  mx__lock_read(&d->mem);
  if (memory) {
    host = mx__memory_host(&d->memory, memory, bytes);
    if (!host)
      s = mx__fail(d, MX_INVALID_ADDRESS, "%s: %llu bytes at 0x%llx are not inside one live allocation", call,
                   (unsigned long long)bytes, (unsigned long long)memory);
  } else if (!host) s = mx__fail(d, MX_INVALID_VALUE, "%s: no memory to copy %s", call, way == IN ? "from" : "to");
  if (s == MX_OK) copy_rows(a, &b, host, row, slice, way);
  mx__rwunlock(&d->mem);
  return s;
}
mx_status mx_array_copy_in(mx_array *to, const mx_texel_box *box, const void *from, size_t row_bytes,
                           size_t slice_bytes) {
  return copy(to, "mx_array_copy_in", box, (void *)(uintptr_t)from, 0, row_bytes, slice_bytes, IN);
}
mx_status mx_array_copy_out(const mx_array *from, const mx_texel_box *box, void *to, size_t row_bytes,
                            size_t slice_bytes) {
  return copy(from, "mx_array_copy_out", box, to, 0, row_bytes, slice_bytes, OUT);
}
mx_status mx_array_copy_from_memory(mx_array *to, const mx_texel_box *box, mx_addr from, size_t row_bytes,
                                    size_t slice_bytes) {
  return copy(to, "mx_array_copy_from_memory", box, NULL, from, row_bytes, slice_bytes, IN);
}
mx_status mx_array_copy_to_memory(const mx_array *from, const mx_texel_box *box, mx_addr to, size_t row_bytes,
                                  size_t slice_bytes) {
  return copy(from, "mx_array_copy_to_memory", box, NULL, to, row_bytes, slice_bytes, OUT);
}
mx_status mx_array_copy(mx_array *to, const mx_texel_box *to_box, const mx_array *from, const mx_texel_box *box) {
  static const char call[] = "mx_array_copy";
  if (!to || !from) return MX_INVALID_VALUE;
  mx_device *d = to->device;
  if (from->device != d) return mx__fail(d, MX_INVALID_VALUE, "%s: the arrays are on two devices", call);
  if (to->desc.type != from->desc.type || to->desc.bits != from->desc.bits || to->desc.channels != from->desc.channels)
    return mx__fail(d, MX_INVALID_VALUE, "%s: the arrays have two formats", call);
  mx_texel_box b, t;
  mx_status s = enter(d);
  if (s == MX_OK) s = inside(from, call, box, &b);
  if (s == MX_OK) s = inside(to, call, to_box, &t);
  if (s != MX_OK || !b.width || !b.height || !b.depth) return s;
  const mx_texel_box wanted = {sizeof wanted, t.level, t.x, t.y, t.z, b.width, b.height, b.depth};
  s = inside(to, call, &wanted, &t);
  if (s != MX_OK) return s;
  mx__lock_read(&d->mem);
  const bool backwards = texel_at(to, &t, 0, 0) > texel_at(from, &b, 0, 0); /* they may overlap */
  for (uint32_t k = 0; k < b.depth; k++)
    for (uint32_t j = 0; j < b.height; j++) {
      const uint32_t z = backwards ? b.depth - 1 - k : k, y = backwards ? b.height - 1 - j : j;
      memmove(texel_at(to, &t, y, z), texel_at(from, &b, y, z), (size_t)b.width * from->form.texel);
    }
  mx__rwunlock(&d->mem);
  return MX_OK;
}

/* ---- objects --------------------------------------------------------------------------------------------*/
static mx_status add_object(struct mx_device *d, const struct mx_object *o, uint64_t *number) {
  mx__lock(&d->lock);
  mx_status s = mx__object_add(&d->objects, o, false, number);
  mx__unlock(&d->lock);
  if (s == MX_BUSY) {
    mx__lock_write(&d->mem);
    mx__lock(&d->lock);
    s = mx__object_add(&d->objects, o, true, number);
    mx__unlock(&d->lock);
    mx__rwunlock(&d->mem);
  }
  if (s == MX_OUT_OF_DEVICE_MEMORY)
    return mx__fail(d, s, "the device has no room for another texture, surface or sampler");
  return mx__fail_plain(d, s);
}

static int32_t in_levels(float v) {
  return v != v ? 0 : v > 1e6f ? 256000000 : v < -1e6f ? -256000000 : (int32_t)(256 * v);
}

static void take_sampler(struct mx_sampler_form *s, const mx_texture_desc *t) {
  for (unsigned k = 0; k < 3; k++) s->address[k] = (uint8_t)t->address_mode[k];
  s->linear = t->filter == MX_FILTER_LINEAR;
  s->mip_linear = t->mip_filter == MX_FILTER_LINEAR;
  s->normalized_coords = t->normalized_coords;
  s->normalized_read = t->normalized_read;
  s->srgb = t->srgb;
  s->seamless = t->seamless;
  memcpy(s->border, t->border, sizeof s->border);
  s->bias = in_levels(t->mip_bias);
  s->least = in_levels(t->min_lod);
  s->most = in_levels(t->max_lod);
}

static const char *sampler_wrong(const mx_texture_desc *t) {
  for (unsigned k = 0; k < 3; k++)
    if ((unsigned)t->address_mode[k] > MX_ADDRESS_BORDER) return "there is no such address mode";
  if ((unsigned)t->filter > MX_FILTER_LINEAR || (unsigned)t->mip_filter > MX_FILTER_LINEAR)
    return "there is no such filter";
  return t->max_anisotropy > 16 ? "the anisotropy is at most 16" : NULL;
}
static const char *texture_wrong(const mx_texture_desc *t, const struct mx_image_form *f) {
  const char *why = sampler_wrong(t);
  if (why) return why;
  const bool integers = f->type != MX_TEXEL_FLOAT, floats_read = !integers || (t->normalized_read && f->bits < 32);
  if (t->normalized_read && integers && f->bits == 32) return "integers of 32 bits cannot be read as normalised floats";
  if (t->filter == MX_FILTER_LINEAR && !floats_read) return "a linear filter needs texels that are read as floats";
  if (t->srgb && (f->type != MX_TEXEL_UNSIGNED || f->bits != 8 || !t->normalized_read))
    return "sRGB needs unsigned channels of 8 bits and a normalised read";
  if (f->plain && (t->filter == MX_FILTER_LINEAR || t->normalized_coords))
    return "linear memory is read at whole texels: no linear filter, no normalised coordinates";
  if (f->levels > 1 && !t->normalized_coords) return "levels need normalised coordinates";
  if (mx__image_is_cube(f->kind) && !t->normalized_coords) return "cubes need normalised coordinates";
  return NULL;
}

/* Texels in device memory. */
static mx_status show_memory(struct mx_device *d, const mx_texture_desc *t, struct mx_object *o) {
  static const char call[] = "mx_texture_create";
  const char *why = format_wrong(t->type, t->bits, t->channels);
  if (why) return mx__fail(d, MX_INVALID_VALUE, "%s: %s", call, why);
  struct mx_image_form *f = &o->image;
  take_format(f, t->type, t->bits, t->channels);
  const uint64_t row = (uint64_t)t->width * f->texel, pitch = t->height ? t->pitch : row;
  const uint32_t align = t->height ? 32 : 256;
  if (!t->width || t->width > (t->height ? MOST_AXIS : 1u << 28) || t->height > MOST_AXIS)
    return mx__fail(d, MX_INVALID_VALUE, "%s: %u x %u texels of memory", call, t->width, t->height);
  if (t->address % align || (t->height && (pitch < row || pitch % 32)))
    return mx__fail(d, MX_INVALID_VALUE,
                    "%s: the address has to be a multiple of %u, the pitch of 32 bytes and at least the %llu of a row",
                    call, align, (unsigned long long)row);
  if (pitch > UINT64_MAX / at_least_one(t->height))
    return mx__fail(d, MX_INVALID_VALUE, "%s: the pitch is too large", call);
  o->lo = t->address;
  o->bytes = pitch * (at_least_one(t->height) - 1) + row;
  unsigned char *host = mx__memory_host(&d->memory, t->address, o->bytes);
  if (!host)
    return mx__fail(d, MX_INVALID_ADDRESS, "%s: %llu bytes at 0x%llx are not inside one live allocation", call,
                    (unsigned long long)o->bytes, (unsigned long long)t->address);
  f->kind = t->height ? MX_ARRAY_2D : MX_ARRAY_1D;
  f->levels = 1;
  f->layers = 1;
  f->plain = !t->height;
  f->address = t->address;
  f->level[0] = (struct mx_texels){host, t->width, at_least_one(t->height), 1, pitch, o->bytes};
  return MX_OK;
}

mx_status mx_texture_create(mx_device *d, const mx_texture_desc *desc, mx_texture *texture) {
  if (!d) return MX_INVALID_VALUE;
  if (!texture) return mx__fail(d, MX_INVALID_VALUE, "mx_texture_create: no place for the texture");
  *texture = 0;
  mx_texture_desc t = MX_TEXTURE_DESC_INIT;
  mx_status s = take_description(d, &t, sizeof t, desc, "mx_texture_create");
  if (s != MX_OK) return s;
  s = mx__device_usable(d);
  if (s != MX_OK) return s;
  struct mx_object o = {.kind = MX_OBJECT_TEXTURE, .array = t.array};
  if (!t.array == !t.address)
    return mx__fail(d, MX_INVALID_VALUE, "mx_texture_create: expected an array or an address");
  if (t.array && t.array->device != d)
    return mx__fail(d, MX_INVALID_VALUE, "mx_texture_create: the array is on another device");
  mx__lock_read(&d->mem);
  if (t.array) {
    o.image = t.array->form;
    o.lo = t.array->form.address;
    o.bytes = t.array->bytes;
    t.type = t.array->desc.type, t.bits = t.array->desc.bits, t.channels = t.array->desc.channels;
  } else s = show_memory(d, &t, &o);
  const char *why = s == MX_OK ? texture_wrong(&t, &o.image) : NULL;
  if (why) s = mx__fail(d, MX_INVALID_VALUE, "mx_texture_create: %s", why);
  mx__rwunlock(&d->mem);
  if (s != MX_OK) return s;
  take_sampler(&o.sampler, &t);
  o.desc = t;
  return add_object(d, &o, texture);
}

mx_status mx_sampler_create(mx_device *d, const mx_texture_desc *desc, mx_sampler *sampler) {
  if (!d) return MX_INVALID_VALUE;
  if (!sampler) return mx__fail(d, MX_INVALID_VALUE, "mx_sampler_create: no place for the sampler");
  *sampler = 0;
  mx_texture_desc t = MX_TEXTURE_DESC_INIT;
  mx_status s = take_description(d, &t, sizeof t, desc, "mx_sampler_create");
  if (s == MX_OK) s = mx__device_usable(d);
  if (s != MX_OK) return s;
  const char *why = t.array || t.address ? "a sampler has no texels" : sampler_wrong(&t);
  if (why) return mx__fail(d, MX_INVALID_VALUE, "mx_sampler_create: %s", why);
  struct mx_object o = {.kind = MX_OBJECT_SAMPLER, .desc = t};
  take_sampler(&o.sampler, &t);
  return add_object(d, &o, sampler);
}

static mx_status destroy(mx_device *d, const char *call, uint64_t number, unsigned kind) {
  if (!d) return MX_INVALID_VALUE;
  if (!number) return MX_OK;
  const char *why;
  mx__streams_wait(d);
  mx__lock_write(&d->mem);
  mx__lock(&d->lock);
  struct mx_object *o = mx__object_find(&d->objects, number, kind, &why);
  if (o) mx__object_end(o, NULL);
  mx__unlock(&d->lock);
  mx__rwunlock(&d->mem);
  return o ? MX_OK : mx__fail(d, MX_INVALID_VALUE, "%s: 0x%llx: %s", call, (unsigned long long)number, why);
}
mx_status mx_texture_destroy(mx_device *d, mx_texture texture) {
  return destroy(d, "mx_texture_destroy", texture, MX_OBJECT_TEXTURE);
}
mx_status mx_sampler_destroy(mx_device *d, mx_sampler sampler) {
  return destroy(d, "mx_sampler_destroy", sampler, MX_OBJECT_SAMPLER);
}
mx_status mx_surface_destroy(mx_device *d, mx_surface surface) {
  return destroy(d, "mx_surface_destroy", surface, MX_OBJECT_SURFACE);
}

mx_status mx_texture_get_desc(mx_device *d, mx_texture texture, mx_texture_desc *out) {
  if (!d) return MX_INVALID_VALUE;
  const char *why;
  mx__lock_read(&d->mem);
  const struct mx_object *o = mx__object_find(&d->objects, texture, MX_OBJECT_TEXTURE, &why);
  const mx_texture_desc t = o ? o->desc : (mx_texture_desc)MX_TEXTURE_DESC_INIT;
  mx__rwunlock(&d->mem);
  if (!o) return mx__fail(d, MX_INVALID_VALUE, "mx_texture_get_desc: 0x%llx: %s", (unsigned long long)texture, why);
  return mx__fail_plain(d, mx__struct_out(out, &t, sizeof t));
}

mx_status mx_texture_sample(mx_device *d, mx_texture texture, const float *coords, size_t ncoords, float lod,
                            uint32_t out[4]) {
  if (!d) return MX_INVALID_VALUE;
  const char *why;
  mx_status s = MX_OK;
  mx__lock_read(&d->mem);
  const struct mx_object *o = mx__object_find(&d->objects, texture, MX_OBJECT_TEXTURE, &why);
  if (!o) s = mx__fail(d, MX_INVALID_VALUE, "mx_texture_sample: 0x%llx: %s", (unsigned long long)texture, why);
  else {
    const bool layered = mx__image_is_layered(o->image.kind);
    const unsigned axes = mx__image_is_cube(o->image.kind) ? 3 : mx__image_axes(o->image.kind);
    if (!coords || !out || ncoords != axes + layered)
      s = mx__fail(d, MX_INVALID_VALUE, "mx_texture_sample: %zu coordinates, expected %u", coords ? ncoords : 0,
                   axes + layered);
    else {
      struct mx_sample at = {.lod = mx__texture_lod(&o->image, &o->sampler, lod)};
      memcpy(at.x, coords, axes * sizeof *coords);
      if (layered) at.layer = coords[axes] >= 0 && coords[axes] < 65536 ? (uint32_t)coords[axes] : UINT32_MAX;
      mx__texture_sample(&o->image, &o->sampler, &at, out);
    }
  }
  mx__rwunlock(&d->mem);
  return s;
}

mx_status mx_surface_create(mx_array *a, uint32_t level, mx_surface *surface) {
  if (!a) return MX_INVALID_VALUE;
  mx_device *d = a->device;
  if (!surface) return mx__fail(d, MX_INVALID_VALUE, "mx_surface_create: no place for the surface");
  *surface = 0;
  mx_status s = mx__device_usable(d);
  if (s != MX_OK) return s;
  if (level >= a->desc.levels)
    return mx__fail(d, MX_INVALID_VALUE, "mx_surface_create: level %u of an array that has %u", level, a->desc.levels);
  struct mx_object o = {.kind = MX_OBJECT_SURFACE, .array = a, .image = a->form};
  o.image.level[0] = a->form.level[level];
  o.image.levels = 1;
  o.lo = a->form.address + (uint64_t)(a->form.level[level].bytes - a->form.level[0].bytes);
  o.bytes = a->form.level[level].slice * a->form.level[level].d;
  return add_object(d, &o, surface);
}
