/* Arrays of typed elements: what kernels get, what tools print, save and compare. Knows no device. */
#ifndef MX_TOOLS_DATA_H
#define MX_TOOLS_DATA_H
#include "tools/common/cli.h"

enum elem_kind { ELEM_UNSIGNED, ELEM_SIGNED, ELEM_FLOAT };
struct elem {
  const char *name;
  uint8_t size, kind;
  bool brain;
}; /* brain: bf16, the other 16-bit float */
const struct elem *elem_find(const char *name, size_t n);

#define DATA_DIMS 8
#define DATA_LIMIT ((uint64_t)1 << 36) /* bytes of one array that a tool takes */
struct data {
  unsigned char *bytes;
  uint64_t size;
  const struct elem *type;  /* NULL: bytes of unknown type, taken as u8 */
  uint64_t dims[DATA_DIMS]; /* in memory order, slowest first; ndims 0: as long as it is */
  unsigned ndims;
  bool zeros;     /* made as such: nothing else is in it */
  bool text;      /* with a 0 behind its letters, which its length does not count */
  bool unset;     /* zeros, and nobody is said to have written them */
  bool no_memory; /* why there are no bytes */
};
void data_free(struct data *d);
uint64_t data_count(const struct data *d); /* whole elements */

/* Values of elements. Integers are exact through the 64-bit forms. */
uint64_t elem_bits(const struct elem *e, const void *p); /* the value as it stands in memory */
int64_t elem_signed(const struct elem *e, const void *p);
double elem_real(const struct elem *e, const void *p);
void elem_set_real(const struct elem *e, void *p, double v);
/* "5", "0x10", "-3", "1.5", "0f3F800000", "0d…" as the bits of one element; false: *why (static) */
bool elem_parse(const struct elem *e, void *p, const char *s, const char **why);
void elem_print(struct text *t, const struct elem *e, const void *p); /* shortest text that reads back the same */

/* zeros:f32[1024] | iota:u32[16,16] | fill(1.5):f32[8] | random(7):f32[8] | values(1,2,3):u32[8] (the last repeats) |
 * unset:f32[64] (nobody has written it).
 * DATA_OTHER: s is no such thing. DATA_BAD: *why, malloc'ed. */
enum data_result { DATA_MADE, DATA_OTHER, DATA_BAD };
enum data_result data_generate(struct data *d, const char *s, char **why);
/* .npy and .png by suffix, all else bytes; - is stdin. A picture is u8[height,width], with colours u8[height,width,3 or
 * 4]; "photo.png:f32" makes its values, 0 to 255, another type. False: *why, malloc'ed. */
bool data_read(struct data *d, const char *path, char **why);
/* .npy .png .pgm by suffix, all else bytes. False: *why, malloc'ed; *host: the file system's fault, not the array's. */
bool data_save(const struct data *d, const char *path, char **why, bool *host);

/* Equal bytes (ulp < 0), or floats within ulp units in the last place, NaN equal to NaN. False: *difference, malloc'ed,
 * speaks of the first differing element. */
bool data_equal(const struct data *got, const struct data *expected, int64_t ulp, char **difference);

/* npy.c, image.c */
bool npy_read(struct data *d, const unsigned char *file, size_t size, const char **why);
void npy_write(struct text *t, const struct data *d);
bool image_read(struct data *d, const unsigned char *file, size_t size, const char **why);
bool image_save(const struct data *d, const char *path, bool png, const char **why, bool *host);

/* printf into malloc'ed memory */
char *format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#endif
