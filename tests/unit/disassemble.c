/* The disassembler: every row's text names that row, everything in an image is there, and memory may run out. That the
 * text assembles to the same bytes is checked where the assembler is at hand: below, by round_trip. */
#include "images.h"

#include "failing.h"

#include "asm/disassemble.c"
#undef malloc
#undef calloc
#undef realloc

#include "asm/container.h"
#include "vm/load/module.h"
#include "vm/load/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* Pattern and canonical spelling agree for every row and modifier, and no two modifiers of a row share a spelling. */
static void spellings(void **state) {
  (void)state;
  char s[SPELLING_MAX], t[SPELLING_MAX];
  for (unsigned op = 0; op < MX_OP_COUNT; op++) {
    const struct mx_op_info *o = &mx__ops[op];
    for (unsigned mod = 0; mod < o->mods; mod++) {
      mx__spell(o, mod, s, sizeof s);
      assert_null(strpbrk(s, "{}<>[]|="));
      assert_true(strlen(s) < SPELLING_MAX - 20);
      if (!can_spell(o->spelling, s)) fail_msg("%s cannot spell its own %s", o->id, s);
      mx__spell(o, (mod + 1) % o->mods, t, sizeof t);
      if (o->mods > 1 && !strcmp(s, t)) fail_msg("%s: modifiers %u and %u both spell %s", o->id, mod, mod + 1, s);
    }
    assert_false(can_spell(o->spelling, "nonsense"));
  }
}

static void patterns(void **state) {
  (void)state;
  struct mx_op_info o = {.spelling = "a{.x|.y=.z|}<.p|.q>[.r|.s]{|.t}"};
  char s[SPELLING_MAX];
  static const char *const want[] = {"a.x.p", "a.y.p", "a.p", "a.x.p.t", "a.y.p.t", "a.p.t"};
  for (unsigned mod = 0; mod < 6; mod++) {
    mx__spell(&o, mod, s, sizeof s);
    assert_string_equal(s, want[mod]);
  }
  assert_true(can_spell(o.spelling, "a.z.q.s.t"));
  assert_true(can_spell(o.spelling, "a.q.r"));
  assert_false(can_spell(o.spelling, "a.x"));
  assert_false(can_spell(o.spelling, "a.x.p.r.s"));
  assert_false(can_spell(o.spelling, "a.x.p.t.t"));
}

static char *text_of(const struct mx_image *image) {
  char *text = mx__disassemble(image);
  assert_non_null(text);
  return text;
}

static void has(const char *text, const char *piece) {
  if (!strstr(text, piece)) fail_msg("not in the text: %s", piece);
}

static void declarations(void **state) {
  (void)state;
  struct made m = made_image_of(1, 32, 0, 0);
  char *t = text_of(&m.image);
  has(t, ".version 9.0\n.target sm_90\n.address_size 64\n");
  has(t, ".file 2 \"odd \\\"name\\\"\\n\\x80.mxs\"\n");
  has(t, ".visible .global .align 16 .b8 table[64] = {\n\t");
  has(t, ".shared .align 8 .b8 %.v2 \"buffer\"[1024];\n.shared .align 4 .b8 %.v3 \"buffer\"[100];\n");
  has(t, ".extern .shared .align 16 .b8 dynamic[];\n.attribute(.managed) .global .align 4 .b8 counter[4];\n");
  has(t, ".extern .global .align 1 .b8 %.v6 \"main\"[9];\n");
  has(t, ".reloc table, 8, 8, coefficients+4;\n.reloc table, 16, 8, generic(table)-8;\n.reloc table, 40, 8, helper;\n");
  has(t, ".func (.reg .b32 %.r3, .reg .pred %.p0) helper(.reg .b64 %.d2, .reg .b32 %.r0, .reg .b128 %.q4, ");
  has(t, ".visible .entry main(\n\t.param .u64 .ptr main_param_0 @0,\n\t.param .s32 n @8,\n\t.param .align 16 .b8 "
         "box[20] @16,\n\t.param .f64 scale @40)\n");
  has(t, ".maxntid 256, 1, 1\n.reqntid 8, 4, 2\n.minnctapersm 3\n.cooperative\n.paramsize 48\n{\n");
  has(t, "\t.slots 40, 20, 9, 5, 3, 2;\n\t.frame 64, 0;\n\t.uses %.v3, %.v2, dynamic;\n");
  has(t, "%.P0:\t.callprototype (.reg .b32 _, .reg .pred _) _ (.reg .b32 _, .reg .b128 _, .reg .pred _, .reg .b64 _, "
         ".reg .b32 _, .reg .b32 _, .reg .b32 _);\n%.P1:\t.callprototype _ ();\n");
  has(t, "\tcall last;\n");
  free(t);
  m.image.sm = m.image.ptx_version = 0;
  t = text_of(&m.image);
  assert_memory_equal(t, ".target mx64\n", 13);
  free(t);
  made_free(&m);
}

/* A single function of single instructions, built to show one thing each. */
static void instructions(void **state) {
  (void)state;
  struct made m = {.state = 1};
  made_vars(&m, true);
  struct mx_func f = {0};
  struct maker k = maker_begin(&m, &f, "f");
  unsigned v5 = maker_lit(&k, MX_LIT_VALUE, 0, 5), v0 = maker_lit(&k, MX_LIT_VALUE, 0, 0),
           minus4 = maker_lit(&k, MX_LIT_VALUE, 0, (uint64_t)-4);
  unsigned one = maker_lit(&k, MX_LIT_VALUE, 0, 0x3F800000), var = maker_lit(&k, MX_LIT_VAR, 0, 0),
           far = maker_lit(&k, MX_LIT_VAR, 0, 16);
  unsigned buffer = maker_lit(&k, MX_LIT_GENERIC, 2, (uint64_t)-8);
#define I(op_, mod_, ...) \
  maker_fields(&k, mx_w_make(op_, MX_GUARD_NONE, false, mod_), (const unsigned[]){__VA_ARGS__}, \
               sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))
  I(MX_ADD_U32, 0, 1, 2, v5);
  I(MX_ADD_F32, 0, 1, 2, one);
  I(MX_LD_B32, 4, 1, 2, v0);
  I(MX_LD_B32, 5, 1, 2, minus4);
  I(MX_LD_B32, 4, 1, v5, v5);
  I(MX_LD_B32, 4, 1, var, v5);
  I(MX_LD_B32, 4, 1, far, v0);
  I(MX_LD_B32_A32, 4, 1, v5, v5);
  I(MX_LD_B32_V2, 4, 1, 3, 2, v0);
  I(MX_ST_B32_V2, 4, 2, v0, 3, v5);
  I(MX_SHFLP_32, 0, 1, 2, 3, v0, v5, v0);
  I(MX_UNPACK_64, 0, 1, 2, 3);
  I(MX_PACK_64, 0, 1, 2, v5);
  I(MX_MOV_64, 0, 1, buffer);
  I(MX_SREG_32, 0, 1, MX_SR_TID_X);
  I(MX_ADD_U16, 0, 1, 2, 3);
  I(MX_LD_U8_16, 4, 1, 2, v0);
  I(MX_LD_U8_32, 4, 1, 2, v0);
  maker_fields(&k, mx_w_make(MX_SPILL_32, 3, true, 0), (const unsigned[]){4, 0, 9}, 3);
  f.names = &(struct mx_name){"%r1", MX_R32, MX_T_f32, true, 3, 0, 7};
  f.nnames = 1;
  struct mx_label labels[] = {{"twice", 1}, {"twice", 2}, {"ret", 3}, {"table", 3}, {"loop", 4}};
  f.labels = labels;
  f.nlabels = 5;
  m.image.funcs = &f;
  m.image.nfuncs = 1;
  m.image.lanes = 32;
  m.image.sm = 70;
  char *t = text_of(&m.image);
  has(t, "\tadd.u32 %.r1, %.r2, 5;\n");
  has(t, "\tadd.f32 %.r1, %.r2, 0f3F800000;\n");
  has(t, "\tld.global.b32 %.r1, [%.d2];\n");
  has(t, "\tld.volatile.global.b32 %.r1, [%.d2-4];\n");
  has(t, "\tld.global.b32 %.r1, [(5)+5];\n");
  has(t, "\tld.global.b32 %.r1, [%.v0+5];\n"); /* a label is called table too */
  has(t, "\tld.global.b32 %.r1, [(%.v0+16)];\n");
  has(t, "\tld.global.b32!LD_B32_A32 %.r1, [(5)+5];\n");
  has(t, "\tld.global.v2.b32 {%.r1, %.r3}, [%.d2];\n");
  has(t, "\tst.global.v2.b32 [%.d2], {%.r3, 5};\n");
  has(t, "\tshfl.sync.up.b32 %.r1|%.p2, %.r3, 0, 5, 0;\n");
  has(t, "\tmov.b64 {%.r1, %.r2}, %.d3;\n");
  has(t, "\tmov.b64 %.d1, {%.r2, 5};\n");
  has(t, "\tmov.b64 %.d1, generic(%.v2)-8;\n");
  has(t, "\tsreg.b32 %.r1, %tid.x;\n");
  has(t, "\tadd.u16 %.h1, %.h2, %.h3;\n");
  has(t, "\tld.global.u8 %.h1, [%.d2];\n");
  has(t, "\tld.global.u8 %.r1, [%.d2];\n");
  has(t, "\t@!%.p3 spill.b32 4, 0, %.r9;\n");
  has(t, "\t.name .f32 \"%r1\", %.s3, 0, 7;\n");
  has(t, "\t.label \"twice\";\n");
  has(t, "\t.label \"ret\";\n\t.label \"table\";\n");
  has(t, "\nloop:\n");
  free(t);
  made_free(&m);
}

/* Images that no verifier would pass are printed too, as far as that goes. */
static void broken_images(void **state) {
  (void)state;
  struct made m = {.state = 3};
  enum { N = 5000 };
  mx_word *code = made_take(&m, N * sizeof *code);
  for (int k = 0; k < N; k++) {
    code[k] = made_random(&m);
    if (k & 1) code[k] = (code[k] & ~(mx_word)2047) | made_below(&m, MX_OP_COUNT);
  }
  struct mx_func f = {.name = "words", .code = code, .ncode = N};
  m.image = (struct mx_image){.lanes = 64, .address_size = 64, .funcs = &f, .nfuncs = 1};
  free(text_of(&m.image));
  made_free(&m);
}

static void out_of_memory(void **state) {
  (void)state;
  struct made m = made_image(2, 64, 1);
  failing_calls = 0;
  free(text_of(&m.image));
  size_t calls = failing_calls;
  for (failing_at = 0; failing_at < calls;) {
    size_t at = failing_at;
    assert_null(mx__disassemble(&m.image));
    failing_at = at + 1;
  }
  failing_at = SIZE_MAX;
  made_free(&m);
}

/* Text of an image assembles to the image's own bytes, for every row of the table. */
static void round_trip(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 8; seed++) {
    struct made m = made_image(seed, seed & 1 ? 32 : 64, seed < 7 ? 1 : 3);
    size_t size, again;
    uint8_t *bytes = mx__image_write(&m.image, &size);
    struct mx__image *image;
    assert_int_equal(mx__image_read(bytes, size, &image, NULL), MX__LOAD_OK);
    char *text = text_of(&image->image);
    mx_asm_options options = {.struct_size = sizeof(mx_asm_options), .file_name = "text"};
    mx_asm_result *r = mx_assemble(text, strlen(text), &options);
    const mx_asm_diagnostic *d = mx_asm_diagnostic_at(r, 0);
    if (d) fail_msg("%s:%u: %s\n%s", d->file, d->line, d->text, d->source_line);
    const uint8_t *b = mx_asm_bytes(r, &again);
    if (again != size || memcmp(b, bytes, size)) {
      struct mx__image *other;
      assert_int_equal(mx__image_read(b, again, &other, NULL), MX__LOAD_OK);
      char *second = text_of(&other->image);
      size_t at = 0;
      while (text[at] && text[at] == second[at]) at++;
      while (at && text[at - 1] != '\n') at--;
      fail_msg("seed %llu: bytes differ; first line that does: %.200s\nand: %.200s", (unsigned long long)seed,
               text + at, second + at);
    }
    mx_asm_free(r);
    free(text);
    free(bytes);
    mx__image_free(image);
    made_free(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spellings),    cmocka_unit_test(patterns),      cmocka_unit_test(declarations),
      cmocka_unit_test(instructions), cmocka_unit_test(broken_images), cmocka_unit_test(out_of_memory),
      cmocka_unit_test(round_trip),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
