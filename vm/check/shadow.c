/* What the tools keep for each byte of memory: three and a half bytes of a cell. Two and a half are for one launch; the
 * other one says which lane wrote the byte, and has one bit, kept from launch to launch, for whether it has ever been
 * written. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* How much memory the cells of so many bytes take; each member has room for a whole vector behind its last element. */
static size_t cells_room(uint64_t bytes) { return bytes / 4 + 32; }
static void *map(size_t bytes) {
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? NULL : at;
}
/* Of a launch, without what stays. */
enum { LAUNCH_BYTES = 2 * sizeof(uint32_t) + sizeof(uint16_t) };
static struct cells cells_in(uint32_t *at, uint32_t *wrote, size_t room, struct ledger *ledger) {
  return at ? (struct cells){at, at + room, wrote, (uint16_t *)(void *)(at + 2 * room), ledger}
            : (struct cells){.wrote = wrote};
}

/* ---- shared memory ------------------------------------------------------------------------------------------------*/
bool mx__shadow_block(const struct mx_check *c, struct block_state *b) {
  const size_t room = cells_room(c->launch->shared_bytes);
  if (!b->cells.writer) {
    uint32_t *at = calloc(room, sizeof *at + LAUNCH_BYTES);
    if (at) b->cells = cells_in(at + room, at, room, &b->ledger);
  } else memset(b->cells.wrote, 0, room * (sizeof *b->cells.wrote + LAUNCH_BYTES));
  return b->cells.writer;
}
void mx__shadow_block_end(struct block_state *b) { free(b->cells.wrote); }

/* ---- global memory and the heap -----------------------------------------------------------------------------------*/
static uint64_t bytes_of(const struct mx_check *c, unsigned k) {
  const struct mx_device *d = c->device;
  return !k ? d->memory.global.top : d->heap ? mx__heap_size(d->heap) : 0;
}
/* Makes room for all memory in the arrays that say who has written. Not while a launch uses them. */
static bool grow(struct mx_check *c, unsigned k) {
  const uint64_t bytes = bytes_of(c, k);
  const size_t was = c->wrote[k] ? cells_room(c->wrote_bytes[k]) * 4 : 0, now = cells_room(bytes) * 4;
  if (bytes <= c->wrote_bytes[k]) return true;
  void *at = was ? mremap(c->wrote[k], was, now, MREMAP_MAYMOVE) : map(now);
  if (!at || at == MAP_FAILED) return false;
  c->wrote[k] = at, c->wrote_bytes[k] = bytes;
  return true;
}
unsigned char *mx__shadow_wrote(struct mx_check *c, uint64_t address, uint64_t bytes) {
  const unsigned k = address >= MX_HEAP_START;
  const uint64_t at = address - (k ? MX_HEAP_START : c->device->memory.global.start);
  if (!c->launch && (at > c->wrote_bytes[k] || bytes > c->wrote_bytes[k] - at) && !grow(c, k)) return NULL;
  if (at > c->wrote_bytes[k] || bytes > c->wrote_bytes[k] - at || !c->wrote[k]) return NULL;
  return (unsigned char *)c->wrote[k] + at;
}

bool mx__shadow_begin(struct mx_check *c) {
  const bool races = c->tools & (MX_CHECK_RACE | MX_CHECK_SYNC);
  for (unsigned k = 0; k < 2; k++) {
    c->cells_lo[k] = k ? MX_HEAP_START : c->device->memory.global.start;
    c->cells_bytes[k] = bytes_of(c, k);
    if (!c->cells_bytes[k] || !(races || c->tools & MX_CHECK_UNINIT)) continue;
    const size_t room = cells_room(c->cells_bytes[k]);
    uint32_t *at = races ? map(room * LAUNCH_BYTES) : NULL;
    if ((races && !at) || !grow(c, k)) return false;
    c->cells[k] = cells_in(at, c->wrote[k], room, &c->ledger);
  }
  return true;
}
static void drop_wrote(struct mx_check *c, unsigned k) {
  if (c->wrote[k]) munmap(c->wrote[k], cells_room(c->wrote_bytes[k]) * 4);
  c->wrote[k] = NULL, c->wrote_bytes[k] = 0;
}
void mx__shadow_end(struct mx_check *c) {
  for (unsigned k = 0; k < 2; k++) {
    if (c->cells[k].writer) munmap(c->cells[k].writer, cells_room(c->cells_bytes[k]) * LAUNCH_BYTES);
    c->cells[k] = (struct cells){0};
  }
  if (!c->nundefined) drop_wrote(c, 0);
}
void mx__shadow_forget(struct mx_check *c) {
  drop_wrote(c, 0);
  drop_wrote(c, 1);
}

/* ---- whether bytes are defined ------------------------------------------------------------------------------------*/
bool mx__defined_all(const unsigned char *wrote, uint64_t n) {
  uint64_t all = UINT64_MAX, word;
  for (; n >= 8; n -= 8, wrote += 8) memcpy(&word, wrote, 8), all &= word;
  for (; n; n--) all &= *wrote++ | ~UINT64_C(0xFF);
  return !(~all & DEFINED_WORD);
}
bool mx__defined_none(const unsigned char *wrote, uint64_t n) {
  unsigned some = 0;
  for (; n; n--) some |= *wrote++;
  return !(some & DEFINED_BYTE);
}
void mx__defined_set(unsigned char *wrote, uint64_t n, bool to) {
  for (uint64_t word; n >= 8; n -= 8, wrote += 8) {
    memcpy(&word, wrote, 8);
    word = to ? word | DEFINED_WORD : word & ~DEFINED_WORD;
    memcpy(wrote, &word, 8);
  }
  for (; n; n--, wrote++) *wrote = (unsigned char)(to ? *wrote | DEFINED_BYTE : *wrote & ~DEFINED_BYTE);
}
