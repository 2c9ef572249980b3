/* Images of manifests and of command lines: what their words mean, and how they come to a device and back. */
#ifndef MX_TOOLS_TEXTURES_H
#define MX_TOOLS_TEXTURES_H
#include "data.h"
#include "mx/texture.h"

struct image_spec {
  const char *name, *file;
  mx_array_desc desc;
  enum { IMAGE_ARRAY, IMAGE_LINEAR, IMAGE_PITCHED } where;
  unsigned line;
};
/* On a device. */
struct image {
  mx_array *array;
  mx_addr address;
  size_t pitch;
  mx_surface surface;
};

/* KIND ("2d", "cubelayered", "linear" ...), SIZE ("37x21"), FORMAT ("u8x4"), or an option ("layers=3"). False: it is
 * none. */
bool image_kind(struct image_spec *s, const char *word);
bool image_size(struct image_spec *s, const char *word);
bool image_format(mx_array_desc *a, const char *word, size_t n);
bool image_option(struct image_spec *s, const char *word);
size_t image_texel_bytes(const struct image_spec *s);
uint64_t image_level_bytes(const struct image_spec *s, unsigned level); /* of all texels of a level */
uint64_t image_bytes(const struct image_spec *s);                       /* of all levels */

/* How a texture is read: "addr=wrap,clamp", "filter=linear", "border=3f800000" ... NULL: good; else what is wrong
 * (static). */
const char *texture_key(mx_texture_desc *t, const char *word);

/* What stands behind an argument of the command line: "linear,wrap,normalized". */
struct image_words {
  mx_texture_desc texture;
  bool surface, has_layers, is_cube, is_volume, has_levels;
};
/* Adds what the words say. NULL: good; else from the first word that is none, or, with *why (malloc'ed), from where
 * what is said contradicts itself. */
const char *image_words(struct image_words *w, const char *s, char **why);
char *image_no_word(const char *s); /* what to say of a word that is none; malloc'ed */
/* "u8x4[480,640]", perhaps with words behind it: an image of zeros. NULL: good; else why not, malloc'ed. */
char *image_new(struct data *d, struct image_words *w, const char *s);

/* upload.c: an argument's data as an image, made ready for it (three colours get a fourth); its number. NULL: good;
 * else why not, malloc'ed. */
char *image_argument(mx_device *d, const struct image_words *w, struct data *data, mx_array **array, uint64_t *number);
/* All levels, one behind the other. NULL: good; else why not, malloc'ed. */
char *image_create(mx_device *d, const struct image_spec *s, const struct data *texels, struct image *to);
char *image_read_back(mx_device *d, const struct image_spec *s, const struct image *i, unsigned char *bytes);
/* Sets what the texture shows. */
void image_show(const struct image_spec *s, const struct image *i, mx_texture_desc *t);
#endif
