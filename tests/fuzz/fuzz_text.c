/* Text through the assembler: whatever it accepts must verify, and its disassembly must assemble to the same bytes;
 * whatever it refuses must come with an error. Functions with .slots are taken as written: the verifier judges them. */
#include "fuzz.h"

#include "../unit/images.h"
#include "../unit/intrinsic_text.h"

#include "asm/container.h"
#include "asm/disassemble.h"
#include "vm/load/module.h"
#include "vm/load/verify.h"

static void require(int held, const char *what, const char *more) {
  if (held) return;
  fprintf(stderr, "fuzz_text: %s\n%s\n", what, more ? more : "");
  abort();
}

/* Every diagnostic can be printed. */
static unsigned count_errors(const mx_asm_result *r) {
  unsigned errors = 0;
  for (size_t k = 0; k < mx_asm_diagnostic_count(r); k++) {
    const mx_asm_diagnostic *d = mx_asm_diagnostic_at(r, k);
    char *text = mx_asm_format(d, k & 1);
    require(text != NULL, "a diagnostic without text", NULL);
    free(text);
    errors += d->level == MX_ASM_ERROR;
  }
  return errors;
}

static void check_module(const uint8_t *bytes, size_t size, const char *source) {
  struct mx__image *image;
  char *why;
  enum mx__load loaded = mx__image_read(bytes, size, &image, &why);
  require(loaded == MX__LOAD_OK, "what was assembled cannot be read", why);
  loaded = mx__verify(&image->image, &why);
  char *text = mx__disassemble(&image->image);
  require(text != NULL, "no disassembly", NULL);
  if (loaded == MX__LOAD_REFUSED && strstr(source, ".slots")) {
    free(why);
    free(text);
    mx__image_free(image);
    return;
  }
  require(loaded == MX__LOAD_OK, "what was assembled is refused by the verifier", why);
  mx_asm_result *r = mx_assemble(text, strlen(text), NULL);
  size_t again;
  if (count_errors(r)) require(0, mx_asm_diagnostic_at(r, 0)->text, mx_asm_diagnostic_at(r, 0)->source_line);
  const uint8_t *b = mx_asm_bytes(r, &again);
  if (again != size || memcmp(b, bytes, size)) {
    struct mx__image *other;
    require(mx__image_read(b, again, &other, NULL) == MX__LOAD_OK, "the second module cannot be read", NULL);
    char *second = mx__disassemble(&other->image);
    require(second && !strcmp(text, second), "the disassembly assembles to another module", text);
    require(0, "the same text but other bytes", source);
  }
  mx_asm_free(r);
  free(text);
  mx__image_free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text) return 0;
  if (size) memcpy(text, data, size);
  text[size] = 0;
  mx_asm_options options = {
      .struct_size = sizeof(mx_asm_options), .file_name = "fuzz.mxs", .one_slot_per_name = size % 8 == 1};
  mx_asm_result *r = mx_assemble(text, size, &options);
  if (r) {
    size_t n;
    const uint8_t *bytes = mx_asm_bytes(r, &n);
    unsigned errors = count_errors(r);
    require(!bytes == (errors != 0), "bytes in spite of errors, or neither", NULL);
    if (bytes) check_module(bytes, n, text);
    mx_asm_free(r);
  }
  free(text);
  return 0;
}

static const char *const texts[] = {
    ".visible .entry k(.param .u64 a, .param .u32 n) {\n .reg .pred p; .reg .u32 i; .reg .u64 x;\n mov.u32 i, %tid.x;\n"
    " setp.ge.u32 p, i, %n;\n @p bra end;\n mul.wide.u32 x, i, 4;\n add.u64 x, x, %a;\nloop: st.global.u32 [x], i;\n"
    " add.u32 i, i, 1;\n setp.lt.u32 p, i, 9;\n @p bra loop;\nend: ret;\n}\n",
    ".version 9.0\n.target sm_90\n.global .align 8 .b64 t[2] = {t, 3};\n.shared .b8 s[64];\n.const .f32 c = 1.5;\n"
    ".func (.reg .u32 r) f(.reg .u32 a) { add.u32 r, a, WARP_SZ; ret; }\n"
    ".entry k(.param .u64 p) .maxntid 64 {\n .reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .f32 %f<3>; .reg .pred %p<3>;\n"
    " ld.param.u64 %rd1, [p]; mov.u32 %r1, s; ld.shared.v2.u32 {%r2, %r3}, [%r1+8]; call (%r4), f, (%r2);\n"
    " fma.rn.f32 %f1, %f2, 0f3F800000, %f1; shfl.sync.bfly.b32 %r5|%p1, %r4, 1, 31, -1; bar.sync 0;\n"
    " @!%p1 atom.global.add.u32 %r6, [%rd1], 1; vote.sync.ballot.b32 %r7, %p1, -1; selp.u32 %r8, 1, 2, %p1; exit; }\n",
    ".equ N, 3*4\n.macro twice r\n add.u32 \\r, \\r, N\n.endm\n.entry k(.param .u64 o) {\n mov.u32 %i, %tid.x;\n twice "
    "%i\n"
    " st.global.u32 [%o + %i*4 + 16], %i;\n ret;\n}\n",
    ".entry k() {\n .reg .u32 i; .reg .b64 d; .local .b8 l[16];\n mov.u32 i, %laneid;\nT: .branchtargets A, B;\n "
    "brx.idx i, T;\n"
    "A: { .reg .u32 i; mov.u32 i, 5; }\nB: mov.u64 d, l; cvta.local.u64 d, d; st.u8 [d], 7; trap;\n}\n",
    /* more live registers, predicates and literals than there are slots */
    ".macro L a\n"
    " ld.global.u32 %r\\a\\()0, [%rd1+\\a\\()0]; setp.ne.u32 %p\\a\\()0, %r\\a\\()0, 0;\n"
    " ld.global.u32 %r\\a\\()1, [%rd1+\\a\\()1]; setp.ne.u32 %p\\a\\()1, %r\\a\\()1, 0;\n"
    " ld.global.u32 %r\\a\\()2, [%rd1+\\a\\()2]; setp.ne.u32 %p\\a\\()2, %r\\a\\()2, 0;\n"
    " ld.global.u32 %r\\a\\()3, [%rd1+\\a\\()3]; setp.ne.u32 %p\\a\\()3, %r\\a\\()3, 0;\n"
    " ld.global.u32 %r\\a\\()4, [%rd1+\\a\\()4]; setp.ne.u32 %p\\a\\()4, %r\\a\\()4, 0;\n"
    " ld.global.u32 %r\\a\\()5, [%rd1+\\a\\()5]; setp.ne.u32 %p\\a\\()5, %r\\a\\()5, 0;\n"
    " ld.global.u32 %r\\a\\()6, [%rd1+\\a\\()6]; setp.ne.u32 %p\\a\\()6, %r\\a\\()6, 0;\n"
    " ld.global.u32 %r\\a\\()7, [%rd1+\\a\\()7]; setp.ne.u32 %p\\a\\()7, %r\\a\\()7, 0;\n"
    " ld.global.u32 %r\\a\\()8, [%rd1+\\a\\()8]; setp.ne.u32 %p\\a\\()8, %r\\a\\()8, 0;\n"
    " ld.global.u32 %r\\a\\()9, [%rd1+\\a\\()9]; setp.ne.u32 %p\\a\\()9, %r\\a\\()9, 0;\n"
    ".endm\n.macro S a\n"
    " @%p\\a\\()0 st.global.u32 [%rd1], %r\\a\\()0;\n"
    " @%p\\a\\()1 st.global.u32 [%rd1], %r\\a\\()1;\n"
    " @%p\\a\\()2 st.global.u32 [%rd1], %r\\a\\()2;\n"
    " @%p\\a\\()3 st.global.u32 [%rd1], %r\\a\\()3;\n"
    " @%p\\a\\()4 st.global.u32 [%rd1], %r\\a\\()4;\n"
    " @%p\\a\\()5 st.global.u32 [%rd1], %r\\a\\()5;\n"
    " @%p\\a\\()6 st.global.u32 [%rd1], %r\\a\\()6;\n"
    " @%p\\a\\()7 st.global.u32 [%rd1], %r\\a\\()7;\n"
    " @%p\\a\\()8 st.global.u32 [%rd1], %r\\a\\()8;\n"
    " @%p\\a\\()9 st.global.u32 [%rd1], %r\\a\\()9;\n"
    ".endm\n.macro W a\n"
    " mov.b64 %rd\\a\\()0, {%r1, %r\\a\\()0};\n"
    " mov.b64 %rd\\a\\()1, {%r1, %r\\a\\()1};\n"
    " mov.b64 %rd\\a\\()2, {%r1, %r\\a\\()2};\n"
    " mov.b64 %rd\\a\\()3, {%r1, %r\\a\\()3};\n"
    " mov.b64 %rd\\a\\()4, {%r1, %r\\a\\()4};\n"
    " mov.b64 %rd\\a\\()5, {%r1, %r\\a\\()5};\n"
    " mov.b64 %rd\\a\\()6, {%r1, %r\\a\\()6};\n"
    " mov.b64 %rd\\a\\()7, {%r1, %r\\a\\()7};\n"
    " mov.b64 %rd\\a\\()8, {%r1, %r\\a\\()8};\n"
    " mov.b64 %rd\\a\\()9, {%r1, %r\\a\\()9};\n"
    ".endm\n.macro V a\n"
    " st.global.u64 [%rd1], %rd\\a\\()0;\n"
    " st.global.u64 [%rd1], %rd\\a\\()1;\n"
    " st.global.u64 [%rd1], %rd\\a\\()2;\n"
    " st.global.u64 [%rd1], %rd\\a\\()3;\n"
    " st.global.u64 [%rd1], %rd\\a\\()4;\n"
    " st.global.u64 [%rd1], %rd\\a\\()5;\n"
    " st.global.u64 [%rd1], %rd\\a\\()6;\n"
    " st.global.u64 [%rd1], %rd\\a\\()7;\n"
    " st.global.u64 [%rd1], %rd\\a\\()8;\n"
    " st.global.u64 [%rd1], %rd\\a\\()9;\n"
    ".endm\n"
    ".macro each m d\n \\m \\d\\()0;\n \\m \\d\\()1;\n \\m \\d\\()2;\n \\m \\d\\()3;\n \\m \\d\\()4;\n \\m \\d\\()5;\n"
    " \\m \\d\\()6;\n \\m \\d\\()7;\n \\m \\d\\()8;\n \\m \\d\\()9;\n.endm\n"
    ".entry k(.param .u64 p) {\n .reg .b32 %r<700>; .reg .b64 %rd<700>; .reg .pred %p<700>; ld.param.u64 %rd1, [p]; "
    "mov.u32 %r1, 3;\n"
    " each L, 1;\n each L, 2;\n each L, 3;\n each L, 4;\n each L, 5;\n each L, 6;\nagain: bar.sync 0; @%p101 bra "
    "again;\n"
    " each S, 1;\n each S, 2;\n each S, 3;\n each S, 4;\n each S, 5;\n each S, 6;\n"
    " each W, 1;\n each W, 2;\n each W, 3;\n each W, 4;\n each W, 5;\n each W, 6;\n"
    " each V, 1;\n each V, 2;\n each V, 3;\n each V, 4;\n each V, 5;\n each V, 6;\n ret;\n}\n",
    ".func f(.param .b64 a, .param .b32 b[4]) { .reg .b64 x; ld.param.b64 x, [a]; ret; }\n"
    ".entry k() {\n .reg .b64 p;\n mov.u64 p, f;\nP: .callprototype _ (.param .b64 _, .param .b32 _[4]);\n"
    " { .param .b64 x; .param .b32 y[4]; st.param.b64 [x], p; st.param.b32 [y+4], 3; call p, (x, y), P; }\n ret;\n}\n",
};

/* A part of the guides' functions, each with registers that fit. */
enum { FUNCTIONS = 48 };
static char *functions_from(unsigned first) {
  const int lanes = first / FUNCTIONS % 2 ? 32 : 64;
  struct text t = {0};
  put(&t, lanes == 32 ? ".target sm_90\n" : ".target mx64\n");
  for (unsigned k = first; k < first + FUNCTIONS && k < mx__intrinsic_count; k++)
    if (of_lanes(&mx__intrinsics[k], lanes)) put_kernel(&t, &mx__intrinsics[k], k, k % 3, k & 1);
  return t.s;
}

uint8_t *fuzz_seed(unsigned n, size_t *size) {
  enum { TEXTS = sizeof texts / sizeof *texts };
  char *text = NULL;
  if (n < TEXTS) {
    text = strdup(texts[n]);
  } else if (n < TEXTS + 8) {
    struct made m = made_image_of(n, n & 1 ? 64 : 32, 0, n * 2);
    text = mx__disassemble(&m.image);
    made_free(&m);
  } else if ((n - TEXTS - 8) * FUNCTIONS < mx__intrinsic_count) {
    text = functions_from((n - TEXTS - 8) * FUNCTIONS);
  }
  *size = text ? strlen(text) : 0;
  return (uint8_t *)text;
}
