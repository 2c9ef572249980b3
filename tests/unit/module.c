/* The container's reader: refuses every damaged file with a text that says where, within bounded memory. */
#include "images.h"

#include "failing.h"

#include "vm/module.c"
#undef malloc
#undef calloc
#undef realloc

#include "asm/container.h"
#include "vm/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct made made;
static uint8_t *bytes;
static size_t size;

static int set_up(void **state) {
  (void)state;
  made = made_image(5, 64, 1);
  bytes = mx__image_write(&made.image, &size);
  return !bytes;
}

static int tear_down(void **state) {
  (void)state;
  made_free(&made);
  free(bytes);
  return 0;
}

/* Makes length and digest right again. */
static void seal(uint8_t *file, size_t n) {
  XXH128_canonical_t digest;
  for (unsigned k = 0; k < 8; k++) file[16 + k] = (uint8_t)((n - MX_CONTAINER_HEADER) >> (8 * k));
  XXH128_canonicalFromHash(&digest, XXH3_128bits(file + MX_CONTAINER_HEADER, n - MX_CONTAINER_HEADER));
  memcpy(file + 32, digest.digest, sizeof digest.digest);
}

static enum mx__load read_file(const uint8_t *file, size_t n, char **why) {
  struct mx__image *image;
  enum mx__load result = mx__image_read(file, n, &image, why);
  assert_true((result == MX__LOAD_OK) == (image != NULL));
  if (image) mx__verify(&image->image, NULL);
  mx__image_free(image);
  return result;
}

static void refuses(const uint8_t *file, size_t n, const char *text) {
  char *why;
  assert_int_equal(read_file(file, n, &why), MX__LOAD_REFUSED);
  if (!strstr(why, text)) fail_msg("expected: %s\nfound: %s", text, why);
  free(why);
}

static void headers(void **state) {
  (void)state;
  uint8_t *copy = malloc(size + 1);
  static const struct { size_t at; const char *text; } cases[] = {
      {0, "not a module"},   {4, "format version 0, this library reads version 1"}, {6, "the header is damaged"},
      {8, "assembled with another instruction table"}, {16, "the header announces"}, {24, "the header is damaged"},
      {32, "the digest does not fit"}, {100, "the digest does not fit"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    memcpy(copy, bytes, size);
    copy[cases[k].at] ^= cases[k].at == 4 ? 1 : 0x80;
    refuses(copy, size, cases[k].text);
  }
  memcpy(copy, bytes, size);
  refuses(copy, size + 1, "the header announces");
  refuses(copy, 47, "the file ends inside its header");
  refuses(copy, 3, "not a module");
  refuses(copy, 0, "not a module");
  free(copy);
}

/* Files of one section with given content; the others are empty or as small as they may be. */
static uint8_t *file_with(char tag, const char *content, size_t n, size_t *out) {
  static const char *const usual[] = {"F\1\0", "L\1\0", "M\4\40\0\0\100", "N\1\0", "S\1\0", "V\1\0", "X\1\0"};
  static const size_t length[] = {3, 3, 6, 3, 3, 3, 3};
  uint8_t *file = calloc(1, MX_CONTAINER_HEADER + 64 + n);
  memcpy(file, bytes, MX_CONTAINER_HEADER);
  size_t at = MX_CONTAINER_HEADER;
  for (unsigned k = 0; k < MX__SECTIONS; k++) {
    if (usual[k][0] == tag) {
      file[at++] = (uint8_t)tag;
      file[at++] = (uint8_t)(n & 127) | 128;
      file[at++] = (uint8_t)(n >> 7);
      if (!(n >> 7)) at--, file[at - 1] = (uint8_t)n;
      memcpy(file + at, content, n);
      at += n;
    } else {
      memcpy(file + at, usual[k], length[k]);
      at += length[k];
    }
  }
  seal(file, at);
  *out = at;
  return file;
}

#define REFUSES(tag_, content_, text_) do { \
    size_t n_; \
    uint8_t *file_ = file_with(tag_, content_, sizeof(content_) - 1, &n_); \
    refuses(file_, n_, text_); \
    free(file_); \
  } while (0)

static void sections(void **state) {
  (void)state;
  size_t n;
  uint8_t *file = file_with('V', "\0", 1, &n);
  char *why;
  assert_int_equal(read_file(file, n, &why), MX__LOAD_OK);
  file[48] = 'G';
  seal(file, n);
  refuses(file, n, "byte 48: no section 'F' here");
  file[48] = 'F';
  file[n - 2] = 2;
  seal(file, n);
  refuses(file, n, "no section 'X' here, or it is longer than the file");
  free(file);
  REFUSES('V', "\0\0", "section 'variables', byte 69: 1 bytes too many");
  REFUSES('V', "", "section 'variables', byte 68: the section ends too early");
  REFUSES('V', "\200\0", "a number that is longer than needed");
  REFUSES('V', "\377\377\377\377\377\377\377\377\377\2", "a number of more than 64 bits");
  REFUSES('V', "\377\377\377\377\377\377\377\377\377\1", "18446744073709551615 variables do not fit into the 0 bytes that are left");
  REFUSES('V', "\1\2", "a variable's name is string 1 of 0");
  REFUSES('S', "\1\1", "the length shared with the text before is 1, the most is 0");
  REFUSES('S', "\1\40a", "2 characters do not fit into the 1 bytes");
  REFUSES('S', "\1\360\2a", "2 characters do not fit into the 1 bytes");
  REFUSES('S', "\1\20\0", "a text holds a zero byte");
  REFUSES('M', "\101\0\0\0", "the number of lanes is 65, the most is 64");
  REFUSES('X', "\1\300\17\0", "palette entry 0 names opcode 1984 of");
  unsigned op = 0;
  while (mx__ops[op].mods == 1) op++;
  assert_true(op < 128);
  uint8_t *palette = file_with('X', (const char[]){1, (char)op, (char)128}, 3, &n);
  refuses(palette, n, "palette entry 0 has modifier 128");
  free(palette);
  REFUSES('L', "\377\1", "255 files do not fit");
}

/* Section and code of a single function of `ncode` words. */
static void refuses_code(unsigned ncode, const char *code, size_t n, const char *text) {
  struct mx_func f = {.name = "f"};
  struct mx_image image = {.lanes = 64, .address_size = 64, .funcs = &f, .nfuncs = 1};
  size_t whole;
  uint8_t *file = mx__image_write(&image, &whole);
  /* F: length, count, name, flags, mask, n32, n64, npred, ncode ...; X comes last: tag, length, empty palette */
  uint8_t *longer = calloc(1, whole + n);
  memcpy(longer, file, whole);
  assert_int_equal(longer[48], 'F');
  longer[50 + 7] = (uint8_t)ncode;
  longer[whole - 2] = (uint8_t)n;
  memcpy(longer + whole - 1, code, n);
  seal(longer, whole + n - 1);
  refuses(longer, whole + n - 1, text);
  free(file);
  free(longer);
}
#define REFUSES_CODE(ncode_, code_, text_) refuses_code(ncode_, code_, sizeof(code_) - 1, text_)

static void code(void **state) {
  (void)state;
  assert_true(MX_BRA == 0 && MX_BRX == 1 && MX_CALL == 2); /* as used below */
  REFUSES_CODE(5, "\0\0", "5 code words do not fit into the 1 bytes");
  REFUSES_CODE(1, "\1\0\2", "word 0 is entry 1 of a palette of 1");
  REFUSES_CODE(1, "\1\377\17\1\1\2\3\4\5\6\7\10", "a raw word under a guard");
  REFUSES_CODE(1, "\1\377\17\0\1\2", "the section ends too early");
  REFUSES_CODE(1, "\1\0\1\100\0\0", "a guard of 64");
  REFUSES_CODE(1, "\1\0\0\1\0", "a branch's target is out of range");
  REFUSES_CODE(1, "\1\0\0\0\2", "a reconvergence point is out of range");
  REFUSES_CODE(1, "\1\1\0\377\377\3\0\0\0", "an operand is 65535, the most is 1023");
  REFUSES_CODE(1, "\1\1\0\0\377\377\3\0\0", "a raw field is 65535");
  REFUSES_CODE(1, "\1\2\0\0\1\0\0", "the instruction at word 0 goes beyond its function's 1 words");
  REFUSES_CODE(1, "\1\2\0\0\377\177\0\0", "the number of results is 16383");
}

/* Every byte of a file in turn takes other values, every length is tried: no crash, no leak, nothing unbounded. */
static void damage(void **state) {
  (void)state;
  struct made small = made_image(9, 32, 0);
  size_t n;
  uint8_t *file = mx__image_write(&small.image, &n), *copy = malloc(n);
  static const uint8_t other[] = {1, 0x80, 0xFF, 0x7F};
  unsigned refused = 0;
  for (size_t at = MX_CONTAINER_HEADER; at < n; at++) {
    for (unsigned k = 0; k < sizeof other; k++) {
      char *why;
      memcpy(copy, file, n);
      copy[at] ^= other[k];
      seal(copy, n);
      refused += read_file(copy, n, &why) == MX__LOAD_REFUSED;
      free(why);
    }
  }
  assert_true(refused > n);
  for (size_t length = MX_CONTAINER_HEADER; length < n; length++) {
    char *why;
    memcpy(copy, file, n);
    seal(copy, length);
    assert_int_equal(read_file(copy, length, &why), MX__LOAD_REFUSED);
    free(why);
  }
  free(copy);
  free(file);
  made_free(&small);
}

static void out_of_memory(void **state) {
  (void)state;
  failing_calls = 0;
  assert_int_equal(read_file(bytes, size, NULL), MX__LOAD_OK);
  size_t calls = failing_calls;
  assert_true(calls > 2);
  for (size_t at = 0; at < calls; at++) {
    char *why;
    failing_at = at;
    assert_int_equal(read_file(bytes, size, &why), MX__LOAD_OOM);
    assert_null(why);
  }
  failing_at = 1; /* enough for the box, not for the text */
  char *why;
  bytes[40] ^= 1;
  assert_int_equal(read_file(bytes, size, &why), MX__LOAD_REFUSED);
  assert_null(why);
  failing_at = SIZE_MAX;
  assert_int_equal(read_file(bytes, size, NULL), MX__LOAD_REFUSED);
  bytes[40] ^= 1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(headers), cmocka_unit_test(sections), cmocka_unit_test(code),
      cmocka_unit_test(damage),  cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
