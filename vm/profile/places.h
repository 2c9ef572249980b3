/* Where the lanes' bytes of one access lie: how many pieces of memory it takes. Pure functions of addresses. */
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
/* Of an access to shared memory with `banks` banks of 4 bytes: passes that it takes, lane after lane in groups that
 * could be served at once if no two words of a bank were wanted. lane[k] is the lane that has address[k], ascending. */
uint32_t mx__bank_passes(const uint64_t *address, const uint8_t *lane, unsigned n, unsigned bytes, unsigned banks,
                         uint32_t *least);

#endif
