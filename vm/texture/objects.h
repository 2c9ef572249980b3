/* What the numbers mean that kernels pass as textures, surfaces and samplers: a table of objects for each device.
 * Kernels look up while the host makes objects, without a lock: cells are only ever appended while a launch may run;
 * who takes objects away, or gives a cell to another one, has the device for itself (`exclusive`: no launch is
 * running). */
#ifndef MX_VM_OBJECTS_H
#define MX_VM_OBJECTS_H

#include "texture.h"

#include <stdatomic.h>

enum mx_object_kind { MX_OBJECT_NONE, MX_OBJECT_TEXTURE, MX_OBJECT_SURFACE, MX_OBJECT_SAMPLER };

struct mx_object {
  uint8_t kind;        /* NONE: it is none any more, or not yet */
  uint16_t generation; /* which of the objects that the cell has had */
  const char *gone;    /* why it is none any more; NULL: it was destroyed */
  const void *array;   /* whose texels it shows; NULL: device memory */
  uint64_t lo, bytes;  /* the texels' device addresses */
  struct mx_image_form image;
  struct mx_sampler_form sampler; /* textures, samplers */
  mx_texture_desc desc;           /* textures: as it was made */
};

#define MX_OBJECTS_CHUNK 256u
#define MX_OBJECTS_CHUNKS 256u
#define MX_OBJECTS_FRESH 4096u /* so many cells are used before those of destroyed objects are looked for */
struct mx_objects {
  _Atomic(struct mx_object *) chunk[MX_OBJECTS_CHUNKS];
  atomic_uint count; /* cells; published after the object is written */
};

/* The number of a cell's object. Never one that an address could be, nor 0. */
uint64_t mx__object_number(const struct mx_objects *t, uint32_t cell);
/* What kind of object a number says it is. */
unsigned mx__object_kind(uint64_t number);
/* The live object of a number. NULL: none; *why then says what the number is (a fixed text). */
struct mx_object *mx__object_find(const struct mx_objects *t, uint64_t number, unsigned kind, const char **why);
/* A cell for a new object (a copy of `o`). Not exclusive: MX_BUSY when only a used one would do. */
mx_status mx__object_add(struct mx_objects *t, const struct mx_object *o, bool exclusive, uint64_t *number);
/* The object is no longer valid, for the reason `gone` (a fixed text); exclusive. */
void mx__object_end(struct mx_object *o, const char *gone);
/* The same for all objects that show the array, or device memory in this range (array NULL); exclusive. */
void mx__objects_lose(struct mx_objects *t, const void *array, uint64_t lo, uint64_t bytes, const char *gone);
/* The same for all objects, when the device is reset; exclusive. */
void mx__objects_reset(struct mx_objects *t);
void mx__objects_done(struct mx_objects *t);

#endif
