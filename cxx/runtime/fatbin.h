/* Fat binaries: what compilers embed in programs. A header, then entries, each with a header of its own before what it
 * holds. */
#ifndef MX_CXX_FATBIN_H
#define MX_CXX_FATBIN_H
#include <stdint.h>

#define FATBIN_WRAPPER 0x466243B1u /* begins what a program registers; a pointer to the fat binary follows */
#define FATBIN_MAGIC 0xBA55ED50u

struct fatbin_wrapper {
  uint32_t magic, version;
  const void *data;
  void *more;
};
struct fatbin {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes; /* of all entries */
};
enum fatbin_kind {
  FATBIN_PTX = 1,
  FATBIN_CODE = 2,
  FATBIN_MODULE = 0x584D, /* mx's own: a container, */
  FATBIN_PART = 0x584E    /* and PTX that is joined with that of the program's other files */
};
enum fatbin_flag { FATBIN_LZ4 = 0x2000, FATBIN_ZSTD = 0x8000 };
struct fatbin_entry {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t bytes;        /* that follow the header */
  uint32_t packed_bytes; /* of these, where they are compressed */
  uint32_t options_offset;
  uint16_t minor, major;
  uint32_t arch; /* of a module: lanes of a warp */
  uint32_t name_offset, name_bytes;
  uint64_t flags, zero;
  uint64_t plain_bytes; /* decompressed */
};
#endif
