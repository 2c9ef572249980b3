/* Arrays as pictures, and .png files as arrays. .u8 stands as it is; other types are spread from their least to their
 * greatest finite value. Shapes: [height,width], [height,width,3] (RGB) and [height,width,4] (RGBA) for .png; a flat
 * array of n*n is a square. */
#include "data.h"

#include <errno.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#define IMAGE_LIMIT ((uint64_t)1 << 31) /* bytes of pixels: a small file may claim any size */

bool image_save(const struct data *d, const char *path, bool png, const char **why, bool *host) {
  *host = false;
  const struct elem *e = d->type ? d->type : elem_find("u8", 2);
  uint64_t count = data_count(d), h = 0, w = 0, channels = 1;
  if (d->ndims == 2) h = d->dims[0], w = d->dims[1];
  else if (d->ndims == 3 && png && (d->dims[2] == 3 || d->dims[2] == 4 || d->dims[2] == 1))
    h = d->dims[0], w = d->dims[1], channels = d->dims[2];
  else if (d->ndims < 2) {
    h = (uint64_t)sqrt((double)count);
    while (h * h > count) h--;
    while ((h + 1) * (h + 1) <= count) h++;
    w = h;
  }
  if (!h || !w || h * w * channels != count)
    return *why = "not the shape of a picture: give the array one, as in u8[height,width]", false;
  if (h > 65535 || w > 65535) return *why = "the picture is too large", false;
  *host = true;
  unsigned char *pixels = cli_realloc(NULL, count);
  if (e->size == 1 && e->kind == ELEM_UNSIGNED) {
    memcpy(pixels, d->bytes, count);
  } else {
    double lo = INFINITY, hi = -INFINITY;
    for (uint64_t k = 0; k < count; k++) {
      double v = elem_real(e, d->bytes + k * e->size);
      if (!isfinite(v)) continue;
      if (v < lo) lo = v;
      if (v > hi) hi = v;
    }
    for (uint64_t k = 0; k < count; k++) {
      double v = elem_real(e, d->bytes + k * e->size);
      v = isnan(v) || !(hi > lo) ? 0 : (v - lo) / (hi - lo) * 255;
      pixels[k] = (unsigned char)(v < 0 ? 0 : v > 255 ? 255 : lrint(v));
    }
  }
  bool good;
  if (png) {
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)w,
                       .height = (png_uint_32)h,
                       .format = channels == 1   ? PNG_FORMAT_GRAY
                                 : channels == 3 ? PNG_FORMAT_RGB
                                                 : PNG_FORMAT_RGBA};
    errno = 0;
    good = png_image_write_to_file(&image, path, 0, pixels, 0, NULL) != 0;
    if (!good) *why = errno ? strerror(errno) : "the picture could not be written";
    png_image_free(&image);
  } else {
    struct text t = {0};
    text_printf(&t, "P5\n%llu %llu\n255\n", (unsigned long long)w, (unsigned long long)h);
    text_add(&t, (char *)pixels, count);
    good = cli_write_file(path, t.s, t.n, why);
    text_free(&t);
  }
  free(pixels);
  return good;
}

bool image_read(struct data *d, const unsigned char *file, size_t size, const char **why) {
  png_image image = {.version = PNG_IMAGE_VERSION};
  if (!png_image_begin_read_from_memory(&image, file, size)) return *why = "not a .png file", false;
  image.format &= PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_ALPHA; /* 8 bits a channel, no palette */
  if (image.format == PNG_FORMAT_GA) image.format = PNG_FORMAT_RGBA;
  unsigned channels = PNG_IMAGE_PIXEL_CHANNELS(image.format);
  uint64_t bytes = (uint64_t)image.width * image.height * channels;
  *why = NULL;
  if (bytes > IMAGE_LIMIT) *why = "the picture is too large";
  else if (!(d->bytes = malloc(bytes))) d->no_memory = true, *why = "not enough memory";
  else if (!png_image_finish_read(&image, NULL, d->bytes, 0, NULL)) *why = "the picture is damaged";
  png_image_free(&image);
  if (*why) return false;
  d->type = elem_find("u8", 2);
  d->size = bytes;
  d->dims[d->ndims++] = image.height;
  d->dims[d->ndims++] = image.width;
  if (channels > 1) d->dims[d->ndims++] = channels;
  return true;
}
