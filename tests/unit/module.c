/* The container's reader: refuses every damaged file with a text that says where, within bounded memory. */
#include "images.h"

#include "failing.h"

#include "vm/load/module.c"
#undef malloc
#undef calloc
#undef realloc

#include "asm/container.h"
#include "vm/load/verify.h"

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

/* Makes the digest right again. */
static void seal(uint8_t *file, size_t n) {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(file + MX_CONTAINER_HEADER, n - MX_CONTAINER_HEADER));
  memcpy(file + 16, digest.digest, sizeof digest.digest);
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
  uint8_t *copy = calloc(1, size + 1);
  static const struct {
    size_t at;
    const char *text;
  } cases[] = {{0, "not a module"},
               {4, "format version 0, this library reads version 1"},
               {6, "the header is damaged"},
               {8, "assembled with another instruction table"},
               {16, "the digest does not fit"},
               {100, "the digest does not fit"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    memcpy(copy, bytes, size);
    copy[cases[k].at] ^= cases[k].at == 4 ? 1 : 0x80;
    refuses(copy, size, cases[k].text);
  }
  memcpy(copy, bytes, size);
  refuses(copy, size + 1, "the digest does not fit");
  seal(copy, size + 1);
  refuses(copy, size + 1, "1 bytes after the last section");
  refuses(copy, 31, "the file ends inside its header");
  refuses(copy, 3, "not a module");
  refuses(copy, 0, "not a module");
  free(copy);
}

/* Files of one section with given content; the others are empty or as small as they may be. */
static uint8_t *file_with(enum mx__section section, const char *content, size_t n, size_t *out) {
  static const char *const usual[MX__SECTIONS] = {[MX__SEC_TARGET] = "\4\40\0\0\100",
                                                  [MX__SEC_STRINGS] = "\1\0",
                                                  [MX__SEC_VARS] = "\1\0",
                                                  [MX__SEC_FUNCS] = "\1\0",
                                                  [MX__SEC_CODE] = "\1\0",
                                                  [MX__SEC_LINES] = "\1\0",
                                                  [MX__SEC_NAMES] = "\1\0"};
  uint8_t *file = calloc(1, MX_CONTAINER_HEADER + 64 + n);
  memcpy(file, bytes, MX_CONTAINER_HEADER);
  size_t at = MX_CONTAINER_HEADER;
  for (unsigned k = 0; k < MX__SECTIONS; k++) {
    bool special = k == section;
    size_t length = special ? n : (size_t)usual[k][0];
    assert_true(length < 128);
    file[at++] = (uint8_t)length;
    memcpy(file + at, special ? content : usual[k] + 1, length);
    at += length;
  }
  seal(file, at);
  *out = at;
  return file;
}

#define REFUSES(section_, content_, text_) \
  do { \
    size_t n_; \
    uint8_t *file_ = file_with(MX__SEC_##section_, content_, sizeof(content_) - 1, &n_); \
    refuses(file_, n_, text_); \
    free(file_); \
  } while (0)

static void sections(void **state) {
  (void)state;
  size_t n;
  uint8_t *file = file_with(MX__SEC_VARS, "\0", 1, &n);
  char *why;
  assert_int_equal(read_file(file, n, &why), MX__LOAD_OK);
  file[n - 2] = 3;
  seal(file, n);
  refuses(file, n, "section 'names' is longer than the file");
  free(file);
  REFUSES(VARS, "\0\0", "section 'variables', byte 41: 1 bytes too many");
  REFUSES(VARS, "", "section 'variables', byte 40: the section ends too early");
  REFUSES(VARS, "\200\0", "a number that is longer than needed");
  REFUSES(VARS, "\377\377\377\377\377\377\377\377\377\2", "a number of more than 64 bits");
  REFUSES(VARS, "\377\377\377\377\377\377\377\377\377\1",
          "18446744073709551615 variables do not fit into the 0 bytes that are left");
  REFUSES(VARS, "\1\2", "a variable's name is string 1 of 0");
  REFUSES(STRINGS, "\1\1", "the length shared with the text before is 1, the most is 0");
  REFUSES(STRINGS, "\1\40a", "2 characters do not fit into the 1 bytes");
  REFUSES(STRINGS, "\1\360\2a", "2 characters do not fit into the 1 bytes");
  REFUSES(STRINGS, "\1\20\0", "a text holds a zero byte");
  REFUSES(TARGET, "\101\0\0\0", "the number of lanes is 65, the most is 64");
  REFUSES(CODE, "\1\300\17\0", "dictionary entry 0 names opcode 1984 of");
  unsigned op = 0;
  while (mx__ops[op].mods == 1) op++;
  assert_true(op < 128);
  uint8_t *dictionary = file_with(MX__SEC_CODE, (const char[]){1, (char)op, (char)128}, 3, &n);
  refuses(dictionary, n, "dictionary entry 0 has modifier 128");
  free(dictionary);
  REFUSES(LINES, "\377\1", "255 files do not fit");
}

/* The code section of a module with a single function of `ncode` words, one slot and one literal of each kind. */
static void refuses_code(unsigned ncode, const char *code, size_t n, const char *text) {
  struct mx_func f = {.name = "f", .n32 = 1, .n64 = 1, .npred = 1};
  struct mx_image image = {.lanes = 64, .address_size = 64, .funcs = &f, .nfuncs = 1};
  size_t whole, at = MX_CONTAINER_HEADER;
  uint8_t *file = mx__image_write(&image, &whole);
  for (unsigned k = 0; k < MX__SEC_FUNCS; k++) at += 1u + file[at];
  file[at + 2 + 6] = (uint8_t)ncode; /* behind length, count, name, flags, mask, three numbers of slots */
  at += 1u + file[at];
  assert_true(file[at] == 1 && !file[at + 1]); /* an empty dictionary */
  uint8_t *longer = calloc(1, whole + n);
  memcpy(longer, file, at);
  longer[at] = (uint8_t)n;
  memcpy(longer + at + 1, code, n);
  memcpy(longer + at + 1 + n, file + at + 2, whole - at - 2);
  seal(longer, whole + n - 1);
  refuses(longer, whole + n - 1, text);
  free(file);
  free(longer);
}
#define REFUSES_CODE(ncode_, code_, text_) refuses_code(ncode_, code_, sizeof(code_) - 1, text_)

static void code(void **state) {
  (void)state;
  assert_true(MX_BRA == 0 && MX_BRX == 1 && MX_CALL == 2); /* as used below */
  REFUSES_CODE(120, "\0\0", "120 code words do not fit into the 1 bytes");
  REFUSES_CODE(1, "\1\0\2", "word 0 is entry 2 of a dictionary of 1");
  REFUSES_CODE(1, "\1\377\17\0\1\2", "the section ends too early");
  /* Bits, lowest first: four of the entry; BRA: one whether there is a guard; numbers in fives */
  REFUSES_CODE(1, "\1\0\40\0", "a branch's target is out of range");
  REFUSES_CODE(1, "\1\0\0\10", "a branch's target is out of range");
  REFUSES_CODE(1, "\1\0\0\200", "bits are left over");
  REFUSES_CODE(1, "\1\1\20\0\0", "literal 0 of 0");
  REFUSES_CODE(1, "\1\1\0\102\2\0\0", "a raw field is 1024, the most is 1023");
  REFUSES_CODE(1, "\1\2\0\2\0\0", "the instruction at word 0 goes beyond its function's 1 words");
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
      cmocka_unit_test(headers), cmocka_unit_test(sections),      cmocka_unit_test(code),
      cmocka_unit_test(damage),  cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
