/* Images: from a fat binary, PTX or a module the text or module that mx loads. Compressed PTX is unpacked by the
 * system's own libraries, which are opened when something needs them. Damaged images are not looked for: an image is
 * part of the program that runs in this process and can do anything anyway. */
#include "fatbin.h"
#include "rt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *unpack(const struct fatbin_entry *e, const char *from, size_t *size, const char **why) {
  const bool zstd = e->flags & FATBIN_ZSTD;
  const char *file = zstd ? "libzstd.so.1" : "liblz4.so.1";
  void *library = dlopen(file, RTLD_NOW);
  void *symbol = library ? dlsym(library, zstd ? "ZSTD_decompress" : "LZ4_decompress_safe") : NULL;
  char *text = symbol ? malloc(e->plain_bytes + 1) : NULL;
  *why = zstd ? "its PTX is compressed and libzstd.so.1 cannot be loaded: install libzstd1"
              : "its PTX is compressed and liblz4.so.1 cannot be loaded: install liblz4-1";
  if (!text) return NULL;
  size_t n = 0;
  if (zstd) {
    size_t (*decompress)(void *, size_t, const void *, size_t);
    memcpy(&decompress, &symbol, sizeof symbol);
    n = decompress(text, e->plain_bytes, from, e->packed_bytes);
  } else {
    int (*decompress)(const char *, char *, int, int);
    memcpy(&decompress, &symbol, sizeof symbol);
    int m = decompress(from, text, (int)e->packed_bytes, (int)e->plain_bytes);
    n = m < 0 ? 0 : (size_t)m;
  }
  *why = "its compressed PTX is damaged";
  if (!n || n > e->plain_bytes) return free(text), NULL;
  text[n] = 0; /* a zero may end the text already */
  *size = strlen(text);
  return text;
}

/* The module, or the PTX for the newest processor. */
static const struct fatbin_entry *best_entry(const struct fatbin *f) {
  const char *p = (const char *)f + f->header_bytes, *end = p + f->bytes;
  const struct fatbin_entry *best = NULL;
  while ((size_t)(end - p) >= sizeof *best) {
    const struct fatbin_entry *e = (const struct fatbin_entry *)p;
    if (e->header_bytes < sizeof *e || e->bytes > (uint64_t)(end - p) - e->header_bytes) break;
    if (e->kind == FATBIN_MODULE || e->kind == FATBIN_PART) return e;
    if (e->kind == FATBIN_PTX && (!best || e->arch > best->arch)) best = e;
    p += e->header_bytes + e->bytes;
  }
  return best;
}

const char *rt_code(const void *data, size_t *size, bool *owned, bool *is_module, const char **why) {
  const struct fatbin *f = data;
  *owned = *is_module = false;
  if (f->magic != FATBIN_MAGIC) { /* text, up to its zero */
    *size = strlen(data);
    return data;
  }
  const struct fatbin_entry *e = best_entry(f);
  *why = "it has no PTX: build it with PTX, as by nvcc -gencode arch=compute_80,code=compute_80";
  if (!e) return NULL;
  const char *from = (const char *)e + e->header_bytes;
  *is_module = e->kind == FATBIN_MODULE;
  if (e->flags & (FATBIN_LZ4 | FATBIN_ZSTD)) {
    *owned = true;
    return unpack(e, from, size, why);
  }
  *size = e->kind != FATBIN_PTX ? e->plain_bytes : strnlen(from, e->bytes);
  return from;
}

int rt_image_lanes(const void *data) {
  const struct fatbin *f = data;
  const struct fatbin_entry *e = f->magic == FATBIN_MAGIC ? best_entry(f) : NULL;
  return e && e->kind != FATBIN_PTX ? (int)e->arch : 32;
}

bool rt_image_is_part(const void *data) {
  const struct fatbin *f = data;
  const struct fatbin_entry *e = f && f->magic == FATBIN_MAGIC ? best_entry(f) : NULL;
  return e && e->kind == FATBIN_PART;
}
