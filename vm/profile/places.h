/* How many sectors of memory and passes over shared memory one access of a warp takes, by its addresses alone. */
#ifndef MX_VM_PROFILE_PLACES_H
#define MX_VM_PROFILE_PLACES_H

#include "vm/exec/exec.h"

#define MX_SECTOR 32u /* bytes */

/* n addresses of accesses of `bytes` bytes each, in any order: how many different ones, and how many sectors they
 * touch. */
struct mx_places {
  uint32_t addresses, sectors;
};
struct mx_places mx__places(const uint64_t *address, unsigned n, unsigned bytes);
/* How many passes an access to shared memory takes, with `banks` banks of 4 bytes. Lanes are served in groups, each of
 * as many lanes as the banks could serve in one pass; a group takes as many passes as it wants different words of one
 * bank. *least: the passes if no group had a conflict. lane[k], ascending, is the lane that has address[k]. */
uint32_t mx__bank_passes(const uint64_t *address, const uint8_t *lane, unsigned n, unsigned bytes, unsigned banks,
                         uint32_t *least);
/* The same for one word a lane, with 32 and with 64 banks, and how many different words there are. False: some address
 * is no multiple of 4, or they are too far apart. */
struct mx_word_banks {
  uint32_t passes[2], least[2], addresses;
};
bool mx__word_banks(const uint64_t *address, const uint8_t *lane, unsigned n, struct mx_word_banks *w);

#endif
