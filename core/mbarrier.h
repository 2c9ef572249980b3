/* What the 8 bytes of an mbarrier hold. Programs see the word only as the state that an arrival returns, of which they
 * may ask how many arrivals were still pending; the machine, sessions and reports read all of it. Knows nothing of the
 * machine. */
#ifndef MX_MBARRIER_H
#define MX_MBARRIER_H

#include <stdbool.h>
#include <stdint.h>

#define MX_MBARRIER_MOST 0xFFFFFu /* arrivals; bytes in either direction */

struct mx_mbarrier {
  uint32_t pending;  /* arrivals that the phase still lacks */
  uint32_t expected; /* arrivals of each later phase */
  int32_t bytes;     /* bytes that the phase still lacks */
  unsigned parity;   /* of the phase */
};

/* From bit 0: 20 bits pending, 20 expected, 21 bytes, 1 parity, and 2 bits that are 10 where the word is an mbarrier at
 * all: memory full of zeros or ones is not. */
#define MX_MBARRIER_BYTES_BIT 40u
#define MX_MBARRIER_BYTES 0x1FFFFFu
#define MX_MBARRIER_PARITY_BIT 61u
#define MX_MBARRIER_PARITY (UINT64_C(1) << MX_MBARRIER_PARITY_BIT)
#define MX_MBARRIER_MARK (UINT64_C(2) << 62) /* the value that the bits of MX_MBARRIER_MARKS have */
#define MX_MBARRIER_MARKS (UINT64_C(3) << 62)
static inline bool mx_mbarrier_is(uint64_t w) { return (w & MX_MBARRIER_MARKS) == MX_MBARRIER_MARK; }
static inline uint64_t mx_mbarrier_pack(struct mx_mbarrier m) {
  return m.pending | (uint64_t)m.expected << 20 |
         (uint64_t)((uint32_t)m.bytes & MX_MBARRIER_BYTES) << MX_MBARRIER_BYTES_BIT |
         (uint64_t)(m.parity & 1) << MX_MBARRIER_PARITY_BIT | MX_MBARRIER_MARK;
}
static inline unsigned mx_mbarrier_parity(uint64_t w) { return (unsigned)(w >> MX_MBARRIER_PARITY_BIT & 1); }
static inline struct mx_mbarrier mx_mbarrier_unpack(uint64_t w) {
  const uint32_t bytes = (uint32_t)(w >> MX_MBARRIER_BYTES_BIT) & MX_MBARRIER_BYTES;
  return (struct mx_mbarrier){.pending = (uint32_t)w & 0xFFFFF,
                              .expected = (uint32_t)(w >> 20) & 0xFFFFF,
                              .bytes = bytes & 0x100000 ? (int32_t)bytes - 0x200000 : (int32_t)bytes,
                              .parity = mx_mbarrier_parity(w)};
}

#endif
