/* Images on a device: made of texels, read back, shown by textures. */
#include "textures.h"

#include "mxrun.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *create_plain(mx_device *d, const struct image_spec *s, const struct data *texels, struct image *to) {
  const size_t row = s->desc.width * image_texel_bytes(s);
  const uint32_t rows = s->desc.height ? s->desc.height : 1;
  to->pitch = s->where == IMAGE_PITCHED ? (row + 31) / 32 * 32 : row;
  mx_status st = mx_alloc(d, to->pitch * rows, &to->address);
  if (st == MX_OK) st = mx_allocation_set_name(d, to->address, s->name);
  for (uint32_t y = 0; y < rows && st == MX_OK; y++)
    st = mx_copy_to_device(d, to->address + y * to->pitch, texels->bytes + y * row, row);
  return st == MX_OK ? NULL : failure_text(d, st);
}
char *image_create(mx_device *d, const struct image_spec *s, const struct data *texels, struct image *to) {
  *to = (struct image){0};
  mx_array_desc desc = s->desc;
  mx_status st = s->where == IMAGE_ARRAY ? mx_array_create(d, &desc, &to->array) : MX_OK;
  if (st != MX_OK) return failure_text(d, st);
  if (texels->size != image_bytes(s))
    return format("image '%s': %llu bytes, its texels are %llu", s->name, (unsigned long long)texels->size,
                  (unsigned long long)image_bytes(s));
  if (s->where != IMAGE_ARRAY) return create_plain(d, s, texels, to);
  uint64_t at = 0;
  for (unsigned l = 0; l < (s->desc.levels ? s->desc.levels : 1) && st == MX_OK; at += image_level_bytes(s, l++))
    st = mx_array_copy_in(to->array, &(mx_texel_box){.struct_size = sizeof(mx_texel_box), .level = l},
                          texels->bytes + at, 0, 0);
  return st == MX_OK ? NULL : failure_text(d, st);
}
char *image_read_back(mx_device *d, const struct image_spec *s, const struct image *i, unsigned char *bytes) {
  mx_status st = MX_OK;
  uint64_t at = 0;
  for (unsigned l = 0; l < (s->desc.levels ? s->desc.levels : 1) && st == MX_OK; at += image_level_bytes(s, l++))
    st =
        mx_array_copy_out(i->array, &(mx_texel_box){.struct_size = sizeof(mx_texel_box), .level = l}, bytes + at, 0, 0);
  return st == MX_OK ? NULL : failure_text(d, st);
}
void image_show(const struct image_spec *s, const struct image *i, mx_texture_desc *t) {
  t->array = i->array;
  if (i->array) return;
  t->address = i->address;
  t->type = s->desc.type, t->bits = s->desc.bits, t->channels = s->desc.channels;
  t->width = s->desc.width;
  t->height = s->desc.height;
  t->pitch = i->pitch;
}

/* ---- arguments of the command line ------------------------------------------------------------------------*/
/* Three colours become four: textures have no three. */
static void add_alpha(struct data *d) {
  const size_t size = d->type->size;
  const uint64_t n = d->size / (3 * size);
  unsigned char *wide = cli_alloc(4 * n * size + 1), full[8];
  elem_set_real(d->type, full,
                d->type->kind == ELEM_FLOAT    ? 1
                : d->type->kind == ELEM_SIGNED ? (double)((1ull << (8 * size - 1)) - 1)
                                               : (double)((1ull << (8 * size)) - 1));
  for (uint64_t k = 0; k < n; k++) {
    memcpy(wide + 4 * k * size, d->bytes + 3 * k * size, 3 * size);
    memcpy(wide + (4 * k + 3) * size, full, size);
  }
  free(d->bytes);
  d->bytes = wide;
  d->size = 4 * n * size;
  d->dims[d->ndims - 1] = 4;
}

/* "[480,640,3]". */
static const char *shape_text(const struct data *d, char *to, size_t room) {
  size_t n = (size_t)snprintf(to, room, "[");
  for (unsigned k = 0; k < d->ndims; k++)
    n += (size_t)snprintf(to + n, room - n, "%s%llu", k ? "," : "", (unsigned long long)d->dims[k]);
  snprintf(to + n, room - n, "]");
  return to;
}
/* NULL: good; else what is wrong, malloc'ed. */
static char *shape_of(const struct image_words *w, struct data *d, mx_array_desc *a) {
  const char *name = d->type ? d->type->name : "u8";
  char shape[200];
  if (!image_format(a, name, strlen(name)))
    return format("texels are u8, u16, u32, s8, s16, s32, f16 or f32, not %s", name);
  if (!d->ndims)
    return cli_strdup("an image has a shape, [height,width] or [height,width,channels]; these are bytes without one");
  shape_text(d, shape, sizeof shape);
  const bool strip = w->is_cube && d->dims[0] == 6 * d->dims[1] && (d->ndims == 2 || (d->ndims == 3 && d->dims[2] < 5));
  if (strip) { /* six pictures, one below the other */
    d->dims[3] = d->dims[2], d->dims[2] = d->dims[1];
    d->dims[0] = 6, d->ndims++;
  }
  const unsigned axes = w->is_volume || w->has_layers || w->is_cube ? 3 : d->ndims == 1 ? 1 : 2;
  const char *what = w->is_cube      ? "a cube has the shape [6,size,size], or is one picture of six"
                     : w->is_volume  ? "a volume has the shape [depth,height,width]"
                     : w->has_layers ? "layers have the shape [layers,height,width]"
                     : d->ndims > 2  ? "an image has the shape [height,width] or [height,width,channels], unless it is "
                                       "said to be a volume, layers or a cube"
                                     : "an image has the shape [height,width]";
  if (d->ndims != axes && d->ndims != axes + 1)
    return format("%s%s; this one's is %s", what, axes == 3 ? ", and perhaps channels behind that" : "", shape);
  if (d->ndims == axes + 1 && d->dims[axes] > 4)
    return format("an image has 1, 2, 3 or 4 channels; the shape of this one is %s", shape);
  for (unsigned k = 0; k < axes; k++)
    if (d->dims[k] > 131072 || !d->dims[k])
      return format("an image has from 1 to 131072 texels along each axis; the shape of this one is %s", shape);
  if (w->is_cube && (d->dims[0] % 6 || d->dims[1] != d->dims[2])) return format("%s; this one's is %s", what, shape);
  if (d->ndims == axes + 1 && d->dims[axes] == 3) add_alpha(d);
  a->channels = d->ndims == axes + 1 ? (uint32_t)d->dims[axes] : 1;
  const uint32_t width = (uint32_t)d->dims[axes - 1], height = axes > 1 ? (uint32_t)d->dims[axes - 2] : 0,
                 depth = axes > 2 ? (uint32_t)d->dims[0] : 0;
  a->kind = w->is_cube      ? depth > 6 ? MX_ARRAY_CUBE_LAYERED : MX_ARRAY_CUBE
            : w->is_volume  ? MX_ARRAY_3D
            : w->has_layers ? MX_ARRAY_2D_LAYERED
            : axes == 1     ? MX_ARRAY_1D
                            : MX_ARRAY_2D;
  a->width = width, a->height = height;
  a->depth = w->is_volume ? depth : 0;
  a->layers = w->has_layers ? depth : w->is_cube ? depth / 6 : 0;
  return NULL;
}

/* The level below: each texel the mean of two along each axis. of: how many values a row, column, slice have. */
static void halve(const struct elem *e, unsigned char *to, const unsigned char *from, const uint32_t *of,
                  const uint32_t *halved, unsigned channels, unsigned axes) {
  const size_t size = e->size;
  for (uint32_t z = 0; z < halved[2]; z++)
    for (uint32_t y = 0; y < halved[1]; y++)
      for (uint32_t x = 0; x < halved[0]; x++)
        for (unsigned c = 0; c < channels; c++) {
          double sum = 0;
          for (unsigned k = 0; k < 1u << axes; k++) {
            const uint32_t i = 2 * x + (k & 1), j = axes > 1 ? 2 * y + (k >> 1 & 1) : y,
                           l = axes > 2 ? 2 * z + (k >> 2 & 1) : z;
            const size_t u = i < of[0] ? i : of[0] - 1, v = j < of[1] ? j : of[1] - 1, w = l < of[2] ? l : of[2] - 1;
            sum += elem_real(e, from + (((w * of[1] + v) * of[0] + u) * channels + c) * size);
          }
          sum /= 1u << axes;
          elem_set_real(e, to + ((((size_t)z * halved[1] + y) * halved[0] + x) * channels + c) * size,
                        e->kind == ELEM_FLOAT ? sum : floor(sum + 0.5));
        }
}
static mx_status fill_levels(mx_array *array, const mx_array_desc *a, const struct data *data) {
  const unsigned axes = a->kind == MX_ARRAY_3D ? 3 : a->kind == MX_ARRAY_1D ? 1 : 2;
  uint32_t of[3] = {a->width, a->height ? a->height : 1, a->depth ? a->depth : a->kind == MX_ARRAY_CUBE ? 6 : 1};
  const struct elem *e = data->type ? data->type : elem_find("u8", 2);
  unsigned char *above = cli_alloc(data->size + 1), *level = cli_alloc(data->size + 1);
  mx_status s = MX_OK;
  memcpy(above, data->bytes, data->size);
  if (a->layers > 1) of[2] = a->layers * (a->kind == MX_ARRAY_CUBE_LAYERED ? 6 : 1);
  for (uint32_t l = 1; l < a->levels && s == MX_OK; l++) {
    uint32_t halved[3];
    for (unsigned k = 0; k < 3; k++) halved[k] = k >= axes ? of[k] : of[k] > 1 ? of[k] / 2 : 1;
    halve(e, level, above, of, halved, a->channels, axes);
    s = mx_array_copy_in(array, &(mx_texel_box){.struct_size = sizeof(mx_texel_box), .level = l}, level, 0, 0);
    memcpy(of, halved, sizeof of);
    unsigned char *last = above;
    above = level, level = last;
  }
  free(above), free(level);
  return s;
}

char *image_argument(mx_device *d, const struct image_words *w, struct data *data, mx_array **array, uint64_t *number) {
  mx_array_desc a = MX_ARRAY_DESC_INIT;
  char *wrong = shape_of(w, data, &a);
  if (wrong) return wrong;
  if (w->texture.filter == MX_FILTER_LINEAR && a.type != MX_TEXEL_FLOAT && a.bits == 32)
    return cli_strdup("a linear filter needs floats, or integers of 8 or 16 bits, which it reads as floats");
  for (uint32_t n = a.width > a.height ? a.width : a.height; w->has_levels && n; n /= 2) a.levels++;
  mx_status s = mx_array_create(d, &a, array);
  if (s == MX_OK && !data->zeros) s = mx_array_copy_in(*array, NULL, data->bytes, 0, 0);
  if (s == MX_OK && a.levels > 1 && !data->zeros) s = fill_levels(*array, &a, data);
  mx_texture_desc t = w->texture;
  t.array = *array;
  if (t.filter == MX_FILTER_LINEAR && a.type != MX_TEXEL_FLOAT) t.normalized_read = true;
  if (s == MX_OK) s = w->surface ? mx_surface_create(*array, 0, number) : mx_texture_create(d, &t, number);
  if (s == MX_OK) return NULL;
  wrong = failure_text(d, s);
  const size_t call = strncmp(wrong, "mx_", 3) ? 0 : strcspn(wrong, ":"); /* who types words has called no function */
  if (call && wrong[call]) memmove(wrong, wrong + call + 2, strlen(wrong + call + 2) + 1);
  return wrong;
}
