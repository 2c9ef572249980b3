/* The signature behind compiled code; see jitabi.h. It is a digest: it shows that an object is complete and unchanged,
 * not who has written it. */
#include "jitabi.h"

#include <string.h>
#include <xxhash.h>

void mx__jit_digest(uint8_t out[16], const void *bytes, size_t size) {
  XXH128_canonical_t c;
  XXH128_canonicalFromHash(&c, XXH3_128bits(bytes, size));
  memcpy(out, c.digest, 16);
}

struct mx_jit_signature mx__jit_sign(const void *bytes, size_t size) {
  struct mx_jit_signature s = {.bytes = size, .magic = "mx-jitc"};
  mx__jit_digest(s.digest, bytes, size);
  return s;
}

size_t mx__jit_signed(const uint8_t *bytes, size_t size) {
  if (size < sizeof(struct mx_jit_signature)) return 0;
  const size_t inside = size - sizeof(struct mx_jit_signature);
  const struct mx_jit_signature s = mx__jit_sign(bytes, inside);
  return memcmp(&s, bytes + inside, sizeof s) ? 0 : inside;
}
