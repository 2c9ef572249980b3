/* The table of a device's texture, surface and sampler objects; see objects.h. */
#include "objects.h"

#include <stdlib.h>

/* A number: tag in bits 56 to 63, generation from bit 32 on, the cell below. */
static const uint64_t tags[] = {[MX_OBJECT_TEXTURE] = 0x54, [MX_OBJECT_SURFACE] = 0x53, [MX_OBJECT_SAMPLER] = 0x50};
enum { KINDS = sizeof tags / sizeof *tags };
/* [what it is][what was wanted] */
static const char *const others[KINDS][KINDS] = {
    [MX_OBJECT_TEXTURE] = {[MX_OBJECT_SURFACE] = "it is a texture, not a surface",
                           [MX_OBJECT_SAMPLER] = "it is a texture, not a sampler"},
    [MX_OBJECT_SURFACE] = {[MX_OBJECT_TEXTURE] = "it is a surface, not a texture",
                           [MX_OBJECT_SAMPLER] = "it is a surface, not a sampler"},
    [MX_OBJECT_SAMPLER] = {[MX_OBJECT_TEXTURE] = "it is a sampler, not a texture",
                           [MX_OBJECT_SURFACE] = "it is a sampler, not a surface"}};

static struct mx_object *cell_at(const struct mx_objects *t, uint32_t cell) {
  struct mx_object *chunk = atomic_load_explicit(&t->chunk[cell / MX_OBJECTS_CHUNK], memory_order_acquire);
  return &chunk[cell % MX_OBJECTS_CHUNK];
}

static uint64_t number_of(unsigned kind, uint16_t generation, uint32_t cell) {
  return tags[kind] << 56 | (uint64_t)generation << 32 | cell;
}
uint64_t mx__object_number(const struct mx_objects *t, uint32_t cell) {
  const struct mx_object *o = cell_at(t, cell);
  return number_of(o->kind, o->generation, cell);
}

unsigned mx__object_kind(uint64_t number) {
  unsigned kind = KINDS - 1;
  while (kind && tags[kind] != number >> 56) kind--;
  return kind;
}

struct mx_object *mx__object_find(const struct mx_objects *t, uint64_t number, unsigned kind, const char **why) {
  const unsigned said = mx__object_kind(number);
  const uint32_t cell = (uint32_t)number;
  *why = NULL;
  if (!number) *why = "0 is no object";
  else if (!said || cell >= atomic_load_explicit(&t->count, memory_order_acquire))
    *why = "it is the number of no object";
  else *why = others[said][kind];
  if (*why) return NULL;
  struct mx_object *o = cell_at(t, cell);
  if (o->kind == kind && number_of(kind, o->generation, cell) == number) return o;
  const bool last = (uint16_t)(number >> 32) == o->generation && o->kind == MX_OBJECT_NONE;
  *why = (uint16_t)(number >> 32) > o->generation ? "it is the number of no object"
         : last && o->gone                        ? o->gone
                                                  : "the object has been destroyed";
  return NULL;
}

/* The kind tells a cell in use; what was there before leaves its generation behind. */
static void fill(struct mx_object *to, const struct mx_object *o) {
  const uint16_t generation = (uint16_t)(to->generation + 1);
  *to = *o;
  to->generation = generation;
}

mx_status mx__object_add(struct mx_objects *t, const struct mx_object *o, bool exclusive, uint64_t *number) {
  uint32_t n = atomic_load(&t->count);
  if (n >= MX_OBJECTS_FRESH) {
    if (!exclusive) return MX_BUSY;
    for (uint32_t k = 0; k < n; k++) {
      struct mx_object *free_cell = cell_at(t, k);
      if (free_cell->kind != MX_OBJECT_NONE || free_cell->generation == UINT16_MAX) continue;
      fill(free_cell, o);
      *number = mx__object_number(t, k);
      return MX_OK;
    }
    if (n == MX_OBJECTS_CHUNK * MX_OBJECTS_CHUNKS) return MX_OUT_OF_DEVICE_MEMORY;
  }
  if (n % MX_OBJECTS_CHUNK == 0 && !atomic_load(&t->chunk[n / MX_OBJECTS_CHUNK])) {
    struct mx_object *chunk = calloc(MX_OBJECTS_CHUNK, sizeof *chunk);
    if (!chunk) return MX_OUT_OF_MEMORY;
    atomic_store_explicit(&t->chunk[n / MX_OBJECTS_CHUNK], chunk, memory_order_release);
  }
  fill(cell_at(t, n), o);
  *number = mx__object_number(t, n);
  atomic_store_explicit(&t->count, n + 1, memory_order_release);
  return MX_OK;
}

void mx__object_end(struct mx_object *o, const char *gone) {
  o->kind = MX_OBJECT_NONE;
  o->gone = gone;
}

void mx__objects_lose(struct mx_objects *t, const void *array, uint64_t lo, uint64_t bytes, const char *gone) {
  const uint32_t n = atomic_load(&t->count);
  for (uint32_t k = 0; k < n; k++) {
    struct mx_object *o = cell_at(t, k);
    if (o->kind != MX_OBJECT_NONE && o->array == array && (array || (o->lo < lo + bytes && lo < o->lo + o->bytes)))
      mx__object_end(o, gone);
  }
}

void mx__objects_reset(struct mx_objects *t) {
  const uint32_t n = atomic_load(&t->count);
  for (uint32_t k = 0; k < n; k++) mx__object_end(cell_at(t, k), "the device has been reset");
}

void mx__objects_done(struct mx_objects *t) {
  for (uint32_t k = 0; k < MX_OBJECTS_CHUNKS; k++) free(atomic_load(&t->chunk[k]));
}
