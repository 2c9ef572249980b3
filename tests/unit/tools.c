/* Arrays, .npy files, pictures and manifests of the tools: what they accept, the message for everything else, and that
 * mutated files never do worse than that. The sources are included: the tools are programs, not a library. */
#include "tools/common/cli.c"
#include "tools/mxrun/data.c"
#include "tools/mxrun/elements.c"
#include "tools/mxrun/image.c"
#define string npy_string /* each file has its own small readers */
#define word npy_word
#define shape npy_shape
#define types npy_types
#include "tools/mxrun/npy.c"
#undef string
#undef word
#undef shape
#undef types
#define number manifest_number
#include "tools/mxrun/manifest.c"
#include "tools/mxrun/textures.c"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* ---- elements and generators ------------------------------------------------------------------------------*/
static void element_texts(void **state) {
  (void)state;
  static const struct {
    const char *type, *text;
    uint64_t bits;
    const char *printed;
  } rows[] = {
      {"u8", "255", 255, "255"},
      {"u8", "-1", 255, "255"},
      {"s8", "-128", 0x80, "-128"},
      {"s8", "0xFF", 0xFF, "-1"},
      {"u16", "0xFFFF", 0xFFFF, "65535"},
      {"s32", "-2147483648", 0x80000000, "-2147483648"},
      {"u32", "0f3F800000", 0x3F800000, "1065353216"},
      {"f32", "1.5", 0x3FC00000, "1.5"},
      {"f32", "0f7F800000", 0x7F800000, "inf"},
      {"f32", "-0", 0x80000000, "-0"},
      {"f32", "0.1", 0x3DCCCCCD, "0.1"},
      {"f32", "16777217", 0x4B800000, "16777216"},
      {"f32", "nan", 0x7FC00000, "nan"},
      {"f64", "0.1", 0x3FB999999999999A, "0.1"},
      {"f64", "0d4000000000000000", 0x4000000000000000, "2"},
      {"f16", "1", 0x3C00, "1"},
      {"f16", "65504", 0x7BFF, "65504"},
      {"f16", "65520", 0x7C00, "inf"},
      {"f16", "5.9604645e-08", 1, "5.9605e-08"},
      {"f16", "2.9802322e-08", 0, "0"},
      {"f16", "-6.1035156e-05", 0x8400, "-6.1035e-05"},
      {"f16", "0.00006097555", 0x3FF, "6.0976e-05"},
      {"bf16", "1", 0x3F80, "1"},
      {"bf16", "3.3895314e38", 0x7F7F, "3.3895e+38"},
      {"bf16", "1.00390625", 0x3F80, "1"},
      {"u64", "18446744073709551615", UINT64_MAX, "18446744073709551615"},
      {"s64", "-9223372036854775808", (uint64_t)1 << 63, "-9223372036854775808"},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    const struct elem *e = elem_find(rows[k].type, strlen(rows[k].type));
    const char *why = NULL;
    uint64_t bits = 0;
    assert_non_null(e);
    assert_true(elem_parse(e, &bits, rows[k].text, &why));
    assert_int_equal(bits, rows[k].bits);
    struct text t = {0};
    elem_print(&t, e, &bits);
    assert_string_equal(t.s, rows[k].printed);
    text_free(&t);
  }
  static const char *const bad[][2] = {{"u8", "256"},    {"u8", "-129"},
                                       {"s8", "256"},    {"u32", "1.5"},
                                       {"u32", ""},      {"u32", "0x"},
                                       {"u32", "12a"},   {"u64", "18446744073709551616"},
                                       {"f32", "1.5x"},  {"f32", ""},
                                       {"f32", "0f3F8"}, {"f64", "0f3F800000"},
                                       {"f32", " 1"},    {"s64", "-9223372036854775809"}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    const char *why = NULL;
    uint64_t bits = 0;
    assert_false(elem_parse(elem_find(bad[k][0], strlen(bad[k][0])), &bits, bad[k][1], &why));
    assert_non_null(why);
  }
}

static void generators(void **state) {
  (void)state;
  struct data d;
  char *why = NULL;
  assert_int_equal(data_generate(&d, "iota:u16[2,3]", &why), DATA_MADE);
  assert_int_equal(d.ndims, 2);
  assert_int_equal(d.size, 12);
  assert_memory_equal(d.bytes, ((uint16_t[]){0, 1, 2, 3, 4, 5}), 12);
  data_free(&d);
  assert_int_equal(data_generate(&d, "values(1,2):f32[4]", &why), DATA_MADE);
  assert_memory_equal(d.bytes, ((float[]){1, 2, 2, 2}), 16);
  data_free(&d);
  assert_int_equal(data_generate(&d, "fill(-1):s8[3]", &why), DATA_MADE);
  assert_memory_equal(d.bytes, "\xFF\xFF\xFF", 3);
  data_free(&d);
  struct data again;
  assert_int_equal(data_generate(&d, "random(7):f32[1000]", &why), DATA_MADE);
  assert_int_equal(data_generate(&again, "random(7):f32[1000]", &why), DATA_MADE);
  assert_memory_equal(d.bytes, again.bytes, d.size);
  for (size_t k = 0; k < 1000; k++) assert_true(((float *)d.bytes)[k] >= 0 && ((float *)d.bytes)[k] < 1);
  data_free(&d);
  data_free(&again);
  assert_int_equal(data_generate(&d, "zeros:u8[0]", &why), DATA_MADE);
  data_free(&d);
  static const char *const other[] = {"5", "0x10", "zero:u8[1]", "file.bin", "1:2", "C:file"};
  for (size_t k = 0; k < sizeof other / sizeof *other; k++)
    assert_int_equal(data_generate(&d, other[k], &why), DATA_OTHER);
  static const char *const bad[][2] = {{"zeros:x8[1]", "unknown element type"},
                                       {"zeros:u8", "expected [count]"},
                                       {"zeros:u8[", "expected a count"},
                                       {"zeros:u8[1", "expected a count"},
                                       {"zeros:u8[-1]", "not a number"},
                                       {"zeros:u8[1]x", "follows"},
                                       {"zeros(1):u8[1]", "takes no value"},
                                       {"fill:u8[1]", "fill(VALUE)"},
                                       {"fill(x):u8[1]", "not a number"},
                                       {"fill(256):u8[1]", "does not fit"},
                                       {"fill(1:u8[1]", "no ')'"},
                                       {"random(x):u8[1]", "seed"},
                                       {"values(1,2):u8[1]", "more values"},
                                       {"values():u8[1]", "not a number"},
                                       {"iota:u8[1,1,1,1,1,1,1,1,1]", "too many dimensions"},
                                       {"zeros:u64[68719476736]", "too large"},
                                       {"zeros:u64[99999999999999999999]", "not a number"},
                                       {"zeros:u8[65536,65536,65536]", "too large"},
                                       {"iota(3)u8[1]", "expected ':'"},
                                       {"iota", "expected ':'"},
                                       {"zeros:u8[]", "not a number"}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    assert_int_equal(data_generate(&d, bad[k][0], &why), DATA_BAD);
    if (!strstr(why, bad[k][1])) fail_msg("%s: %s", bad[k][0], why);
    free(why);
  }
}

static void comparison(void **state) {
  (void)state;
  float x[] = {1, NAN, 0.0f, -1}, y[] = {1.0000001f, -NAN, -0.0f, -1};
  struct data a = {.bytes = (unsigned char *)x, .size = sizeof x, .type = elem_find("f32", 3), .dims = {4}, .ndims = 1};
  struct data b = a;
  b.bytes = (unsigned char *)y;
  char *why = NULL;
  assert_true(data_equal(&a, &b, 1, &why));
  assert_false(data_equal(&a, &b, 0, &why));
  assert_non_null(strstr(why, "element 0 is 1 (0x3f800000), expected 1.0000001 (0x3f800001); 1 of 4 differ"));
  free(why);
  assert_false(data_equal(&a, &b, -1, &why));
  assert_non_null(strstr(why, "3 of 4 differ"));
  free(why);
  float lo = -1e-45f, hi = 1e-45f; /* neighbours of zero on both sides are two steps apart */
  struct data p = {.bytes = (unsigned char *)&lo, .size = 4, .type = elem_find("f32", 3), .dims = {1}, .ndims = 1};
  struct data q = p;
  q.bytes = (unsigned char *)&hi;
  assert_true(data_equal(&p, &q, 2, &why));
  assert_false(data_equal(&p, &q, 1, &why));
  free(why);
  b.size = 12;
  assert_false(data_equal(&a, &b, 1, &why));
  assert_non_null(strstr(why, "16 bytes, expected 12"));
  free(why);
}

/* ---- .npy -------------------------------------------------------------------------------------------------*/
static size_t npy_file(unsigned char *out, unsigned version, const char *header, const void *bytes, size_t n) {
  size_t h = strlen(header), at = version == 1 ? 10 : 12;
  memcpy(out, "\x93NUMPY", 6);
  out[6] = (unsigned char)version, out[7] = 0;
  out[8] = (unsigned char)h, out[9] = (unsigned char)(h >> 8), out[10] = out[11] = 0;
  memcpy(out + at, header, h);
  memcpy(out + at + h, bytes, n);
  return at + h + n;
}

static void npy_good(void **state) {
  (void)state;
  unsigned char file[512], bytes[] = {0, 0, 0x80, 0x3F, 0, 0, 0, 0x40}, big[] = {0x3F, 0x80, 0, 0, 0x40, 0, 0, 0};
  struct data d = {0};
  const char *why = NULL;
  size_t n = npy_file(file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", bytes, 8);
  assert_true(npy_read(&d, file, n, &why));
  assert_string_equal(d.type->name, "f32");
  assert_memory_equal(d.bytes, bytes, 8);
  struct text t = {0};
  npy_write(&t, &d);
  data_free(&d);
  assert_int_equal(t.n % 64, 8);
  assert_true(npy_read(&d, (unsigned char *)t.s, t.n, &why));
  assert_memory_equal(d.bytes, bytes, 8);
  assert_int_equal(d.dims[0], 2);
  data_free(&d);
  text_free(&t);
  n = npy_file(file, 2, "{\"shape\": (1, 2), 'fortran_order': True, 'descr': '>f4'}", big, 8);
  assert_true(npy_read(&d, file, n, &why));
  assert_memory_equal(d.bytes, bytes, 8);
  assert_int_equal(d.dims[0], 2);
  assert_int_equal(d.dims[1], 1);
  data_free(&d);
  n = npy_file(file, 3, "{'descr': '|u1', 'fortran_order': False, 'shape': ()}", bytes, 1);
  assert_true(npy_read(&d, file, n, &why));
  assert_int_equal(data_count(&d), 1);
  data_free(&d);
  n = npy_file(file, 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (3, 0)}", bytes, 0);
  assert_true(npy_read(&d, file, n, &why));
  assert_int_equal(d.size, 0);
  data_free(&d);
}

static const char *const npy_wrong[][2] = {
    {"", "no dictionary"},
    {"{", "bad header"},
    {"[1]", "no dictionary"},
    {"{}", "missing"},
    {"{'descr': '<f4', 'fortran_order': False}", "missing"},
    {"{'descr': '<f4', 'shape': (2,)}", "missing"},
    {"{'fortran_order': False, 'shape': (2,)}", "missing"},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "unsupported"},
    {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}", "unsupported"},
    {"{'descr': 'f4', 'fortran_order': False, 'shape': (2,)}", "unsupported"},
    {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "structured"},
    {"{'descr': '<O8', 'fortran_order': False, 'shape': (1,)}", "unsupported"},
    {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "fortran_order"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': 2}", "tuple"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2}", "bad shape"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,", "dimension"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "dimension"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "does not fit"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "does not fit"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "dimension"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296,4294967296)}", "larger than the file"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693953,)}", "dimension"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2)}", "too many dimensions"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'shape': (2,)}", "two shapes"},
    {"{'descr': '<f4' 'fortran_order': False}", "bad header"},
    {"{'nosuch': 1}", "unknown key"},
    {"{descr: '<f4'}", "bad header"},
    {"{'descr: <f4}", "bad header"},
    {"{'descr' '<f4'}", "bad header"},
};

static void npy_refused(void **state) {
  (void)state;
  unsigned char file[512], bytes[8] = {0};
  for (size_t k = 0; k < sizeof npy_wrong / sizeof *npy_wrong; k++) {
    struct data d = {0};
    const char *why = NULL;
    size_t n = npy_file(file, 1, npy_wrong[k][0], bytes, 8);
    assert_false(npy_read(&d, file, n, &why));
    if (!strstr(why, npy_wrong[k][1])) fail_msg("%s: %s", npy_wrong[k][0], why);
    data_free(&d);
  }
  struct data d = {0};
  const char *why = NULL;
  assert_false(npy_read(&d, (const unsigned char *)"\x93NUMPY", 6, &why));
  assert_false(npy_read(&d, (const unsigned char *)"\x93NUMPY\4\0\1\0{", 11, &why));
  assert_string_equal(why, "npy: unknown version");
  assert_false(npy_read(&d, (const unsigned char *)"\x93NUMPY\2\0\1\0{", 11, &why));
  assert_string_equal(why, "npy: the header is cut short");
  assert_false(npy_read(&d, (const unsigned char *)"\x93NUMPY\1\0\377\377{", 11, &why));
  assert_non_null(strstr(why, "cut short"));
}

/* ---- pictures ---------------------------------------------------------------------------------------------*/
static struct data saved_and_read(const char *array, const char *suffix) {
  char path[256], *why = NULL;
  snprintf(path, sizeof path, "%s/mx-picture.png", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
  struct data d, back;
  bool host;
  assert_int_equal(data_generate(&d, array, &why), DATA_MADE);
  assert_true(data_save(&d, path, &why, &host));
  data_free(&d);
  char *name = format("%s%s", path, suffix);
  assert_true(data_read(&back, name, &why));
  free(name);
  remove(path);
  return back;
}

static void pictures(void **state) {
  (void)state;
  struct data d = saved_and_read("iota:u8[2,3]", "");
  assert_string_equal(d.type->name, "u8");
  assert_int_equal(d.ndims * 100 + d.dims[0] * 10 + d.dims[1], 223);
  assert_memory_equal(d.bytes, ((unsigned char[]){0, 1, 2, 3, 4, 5}), 6);
  data_free(&d);
  d = saved_and_read("iota:u8[1,2,3]", ":f32");
  assert_int_equal(d.ndims * 10 + d.dims[2], 33);
  assert_memory_equal(d.bytes, ((float[]){0, 1, 2, 3, 4, 5}), 24);
  data_free(&d);
  char *why = NULL;
  assert_false(data_read(&d, "/nonexistent.png:f32", &why));
  assert_non_null(strstr(why, "/nonexistent.png: No such file"));
  free(why);
}

/* ---- manifests --------------------------------------------------------------------------------------------*/
static bool parse(const char *s, size_t n, struct manifest *m, char **why, char **copy) {
  *copy = cli_alloc(n + 1);
  memcpy(*copy, s, n);
  char *at = *copy;
  unsigned line = 0;
  *why = NULL;
  bool good = manifest_parse(m, &at, *copy + n, &line, why);
  assert_true(good == !*why);
  return good;
}

static void manifest_good(void **state) {
  (void)state;
  static const char text[] =
      "# comment\nname n # more\nkernel k\r\ngrid 3\nblock 4 5\nshared 0x10\npoison 0xA5\nstack "
      "100\ncooperative\nneeds a b\n"
      "arg in f.bin\narg inout iota:u32[4]\narg out 16\narg scratch 8\narg s32 -5\narg f32 0x3F800000\narg f64 "
      "3ff0000000000000\narg bytes 0aFF\n"
      "expect a exact\nexpect b approx f32 ULP=3\nthreads 2\nsteps 10\ntimeout 0.5\nstdout s\n"
      "text\nline one\nline two\nend\n---\nname second\nptx x\ntrap OUT_OF_BOUNDS past the end\n";
  char *copy = cli_strdup(text), *at = copy, *why = NULL;
  unsigned line = 0;
  struct manifest m;
  assert_true(manifest_parse(&m, &at, copy + strlen(text), &line, &why));
  assert_string_equal(m.name, "n");
  assert_string_equal(m.stages[0].kernel, "k");
  assert_int_equal(m.stages[0].grid[0] * 100 + m.stages[0].grid[1] * 10 + m.stages[0].grid[2], 311);
  assert_int_equal(m.stages[0].block[0] * 100 + m.stages[0].block[1] * 10 + m.stages[0].block[2], 451);
  assert_int_equal(m.stages[0].shared, 16);
  assert_int_equal(m.poison, 0xA5);
  assert_true(m.stages[0].cooperative);
  assert_int_equal(m.nstages, 1);
  assert_int_equal(m.nneeds, 2);
  assert_int_equal(m.nargs, 8);
  assert_int_equal(m.args[4].bytes, 0xFFFFFFFB);
  assert_int_equal(m.args[5].bytes, 0x3F800000);
  assert_memory_equal(m.args[7].raw, "\x0A\xFF", 2);
  assert_int_equal(m.nexpects, 2);
  assert_int_equal(m.expects[1].ulp, 3);
  assert_memory_equal(m.inline_text, "line one\nline two\n", m.inline_size);
  assert_int_equal(m.inline_size, 18);
  manifest_free(&m);
  assert_true(manifest_parse(&m, &at, copy + strlen(text), &line, &why));
  assert_string_equal(m.name, "second");
  assert_string_equal(m.trap, "OUT_OF_BOUNDS");
  assert_string_equal(m.trap_text, "past the end");
  assert_int_equal(line, 32);
  assert_true(at == copy + strlen(text));
  manifest_free(&m);
  free(copy);
}

static const char *const manifest_wrong[][2] = {
    {"", "no program"},
    {"name n\n", "no program"},
    {"nosuch 1\n", "line 1: nosuch: unknown item"},
    {"ptx a\nptx b\n", "line 2: ptx: this item is there twice"},
    {"ptx a\nprogram b\n", "twice"},
    {"ptx\n", "expected a name"},
    {"ptx a b\n", "something follows"},
    {"grid x\n", "expected X Y Z"},
    {"grid\n", "expected X Y Z"},
    {"grid 1 2 3 4\n", "something follows"},
    {"block 1 -2\n", "expected X Y Z"},
    {"block 4294967296\n", "expected X Y Z"},
    {"poison 256\n", "expected a number"},
    {"poison\n", "expected a number"},
    {"shared -1\n", "expected a number"},
    {"shared 4294967296\n", "expected a number"},
    {"timeout 0\n", "expected seconds"},
    {"timeout x\n", "expected seconds"},
    {"threads 1025\n", "expected a number"},
    {"steps\n", "expected a number"},
    {"cooperative yes\n", "something follows"},
    {"arg\n", "expected in, inout"},
    {"arg in\n", "expected a file"},
    {"arg out\n", "expected a number"},
    {"arg out -1\n", "expected a number"},
    {"arg out 68719476737\n", "expected a number"},
    {"arg u32\n", "expected a value"},
    {"arg u32 x\n", "not a number"},
    {"arg u8 256\n", "does not fit"},
    {"arg x32 1\n", "expected in, inout"},
    {"arg f32 1.5\n", "float's bits"},
    {"arg f32 0x1FFFFFFFF\n", "float's bits"},
    {"arg f64\n", "expected a value"},
    {"arg bytes 0\n", "odd number"},
    {"arg bytes 0g\n", "expected hexadecimal digits"},
    {"expect\n", "expected a file"},
    {"expect a almost\n", "exact or approx"},
    {"expect a approx\n", "expected f16"},
    {"expect a approx u32 ULP=1\n", "expected f16"},
    {"expect a approx f32\n", "expected ULP=N"},
    {"expect a approx f32 ULP=x\n", "expected ULP=N"},
    {"expect a approx f32 1\n", "expected ULP=N"},
    {"trap\n", "expected a name"},
    {"refused\n", "expected words"},
    {"diagnostic\n", "expected a name"},
    {"diagnostic id x\n", "expected LINE"},
    {"diagnostic id 1:x\n", "expected LINE:COL"},
    {"text\nabc\n", "no line 'end'"},
    {"ptx a\ntext\nend\n", "both a file and a text"},
    {"text\nend\ntext\nend\n", "twice"},
    {"ptx a\ntrap X\nexpect b\n", "beside a trap"},
    {"ptx a\nrefused x\nexpect b\n", "beside a trap"},
    {"stdout\n", "expected a name"},
    {"kernel # k\n", "expected a name"},
    {"stack x\n", "expected a number"},
    {"needs a a a a a a a a a a a a a a a a a\n", "too many groups"},
    {"ptx a\n\nname b\nname c\n", "line 4"},
    {"GRID 1\n", "unknown item"},
};

static void manifest_refused(void **state) {
  (void)state;
  struct manifest *m = cli_alloc(sizeof *m);
  char *why, *copy;
  for (size_t k = 0; k < sizeof manifest_wrong / sizeof *manifest_wrong; k++) {
    if (parse(manifest_wrong[k][0], strlen(manifest_wrong[k][0]), m, &why, &copy))
      fail_msg("accepted: %s", manifest_wrong[k][0]);
    if (!strstr(why, manifest_wrong[k][1])) fail_msg("%s: %s", manifest_wrong[k][0], why);
    manifest_free(m);
    free(why);
    free(copy);
  }
  assert_false(parse("ptx a\0b\n", 8, m, &why, &copy));
  assert_string_equal(why, "line 1: a NUL byte");
  free(why), free(copy);
  struct text t = {0};
  text_printf(&t, "ptx a\n");
  for (int k = 0; k < 257; k++) text_printf(&t, "arg out 4\n");
  assert_false(parse(t.s, t.n, m, &why, &copy));
  assert_string_equal(why, "line 258: arg: too many arguments");
  free(why), free(copy);
  text_free(&t);
  free(m);
}

/* ---- mutated files ----------------------------------------------------------------------------------------*/
static uint64_t mutate(unsigned char *bytes, size_t *n, size_t capacity, uint64_t *seed) {
  uint64_t r = mix(seed);
  for (uint64_t k = r % 4 + 1; k && *n; k--) {
    r = mix(seed);
    size_t at = (size_t)(r >> 8) % *n;
    switch (r & 7) {
    case 0: bytes[at] = (unsigned char)(r >> 40); break;
    case 1: bytes[at] ^= (unsigned char)(1u << (r >> 40 & 7)); break;
    case 2: *n = at; break;
    case 3:
      if (*n < capacity) memmove(bytes + at + 1, bytes + at, *n - at), ++*n;
      break;
    case 4: memmove(bytes + at, bytes + at + 1, *n - at - 1), --*n; break;
    case 5: bytes[at] = (unsigned char)"(){}[],:'\"#-\n\r\t 0x9"[(r >> 40) % 19]; break;
    case 6: bytes[at] = (unsigned char)('0' + (r >> 40) % 10); break;
    default: bytes[at] = bytes[(size_t)(r >> 32) % *n]; break;
    }
  }
  return r;
}

static void mutated_pictures(void **state) {
  (void)state;
  unsigned char good[512], bytes[512], pixels[24 * 3] = {1, 2, 3, 200};
  size_t size = sizeof good;
  png_image image = {.version = PNG_IMAGE_VERSION, .width = 6, .height = 4, .format = PNG_FORMAT_RGB};
  assert_true(png_image_write_to_memory(&image, good, &size, 0, pixels, 0, NULL));
  uint64_t seed = 2;
  unsigned read = 0;
  for (int round = 0; round < 5000; round++) {
    size_t n = size;
    memcpy(bytes, good, n);
    mutate(bytes, &n, sizeof bytes, &seed);
    struct data d = {0};
    const char *why = NULL;
    bool fine = image_read(&d, bytes, n, &why);
    assert_true(fine == !why);
    read += fine;
    data_free(&d);
  }
  assert_true(read < 5000);
}

static void mutated(void **state) {
  (void)state;
  static const char good[] = "name n\nkernel k\ngrid 3\nblock 4 5\nneeds a b\narg in f.bin\narg inout iota:u32[4]\narg "
                             "s32 -5\narg f32 0x3F800000\narg bytes 0aFF\n"
                             "expect a exact\nexpect b approx f32 ULP=3\ntimeout 0.5\ntext\nline one\nend\n---\nptx "
                             "x\ntrap OUT_OF_BOUNDS past\ndiagnostic a 1:2\n";
  uint64_t seed = 1;
  struct manifest *m = cli_alloc(sizeof *m);
  for (int round = 0; round < 20000; round++) {
    unsigned char bytes[1024];
    size_t n = sizeof good - 1;
    memcpy(bytes, good, n);
    mutate(bytes, &n, sizeof bytes, &seed);
    char *copy = cli_realloc(NULL, n + 1), *at = copy, *why;
    memcpy(copy, bytes, n);
    copy[n] = 0;
    unsigned line = 0;
    while (at < copy + n) {
      why = NULL;
      char *before = at;
      if (manifest_parse(m, &at, copy + n, &line, &why)) assert_null(why);
      else assert_non_null(why);
      assert_true(at > before);
      manifest_free(m);
      free(why);
    }
    free(copy);
    /* .npy: the file in a block of its exact size */
    n = npy_file(bytes, 1 + round % 3u, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }\n",
                 "\0\0\200\77\0\0\0\100", 8);
    mutate(bytes, &n, sizeof bytes, &seed);
    unsigned char *exact = cli_realloc(NULL, n);
    memcpy(exact, bytes, n);
    struct data d = {0};
    const char *reason = NULL;
    if (npy_read(&d, exact, n, &reason)) assert_true(data_count(&d) * d.type->size == d.size);
    else assert_non_null(reason);
    data_free(&d);
    free(exact);
  }
  free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(element_texts),    cmocka_unit_test(generators),
                                     cmocka_unit_test(comparison),       cmocka_unit_test(npy_good),
                                     cmocka_unit_test(npy_refused),      cmocka_unit_test(manifest_good),
                                     cmocka_unit_test(manifest_refused), cmocka_unit_test(mutated),
                                     cmocka_unit_test(pictures),         cmocka_unit_test(mutated_pictures)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
