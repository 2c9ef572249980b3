/* The verifier: passes what is right, and names every single thing that is not. */
#include "images.h"

#include "failing.h"

#include "asm/disassemble.h"

#include "vm/load/verify.c"
#undef malloc
#undef calloc
#undef realloc

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct made made;
#define CALLER 0
#define MAIN 1
#define LAST 2

static int set_up(void **state) {
  (void)state;
  made = made_image(1, 32, 1);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  made_free(&made);
  return 0;
}

static struct mx_func *func(unsigned n) { return (struct mx_func *)&made.image.funcs[n]; }
static struct mx_var *var(unsigned n) { return (struct mx_var *)&made.image.vars[n]; }
static mx_word *word(uint32_t pc) { return (mx_word *)&func(MAIN)->code[pc]; }

static void refuses(const char *text) {
  char *why;
  enum mx__load result = mx__verify(&made.image, &why);
  if (result != MX__LOAD_REFUSED) fail_msg("not refused: %s", text);
  if (!strstr(why, text)) fail_msg("expected: %s\nfound: %s", text, why);
  free(why);
}

static void accepts(void) {
  char *why;
  if (mx__verify(&made.image, &why) != MX__LOAD_OK) fail_msg("%s", why);
}

/* The first instruction of that opcode in the kernel. */
static uint32_t find(unsigned op) {
  const struct mx_func *f = func(MAIN);
  uint32_t pc = 0;
  while (pc < f->ncode && mx_w_op(f->code[pc]) != op) pc += mx_w_length(f->code[pc]);
  assert_true(pc < f->ncode);
  return pc;
}

/* Refused, in these words, while the place holds the value. */
#define WITH(place_, value_, text_) \
  do { \
    __typeof__(place_) old_ = place_; \
    place_ = value_; \
    refuses(text_); \
    place_ = old_; \
  } while (0)

static mx_word with_field(mx_word w, unsigned k, unsigned field) {
  return (w & ~((mx_word)1023 << (24 + 10 * k))) | mx_w_put(k, field);
}
static mx_word with_guard(mx_word w, unsigned guard, unsigned neg) {
  return (w & ~((mx_word)63 << 11)) | (mx_word)guard << 11 | (mx_word)neg << 16;
}
static mx_word with_mod(mx_word w, unsigned mod) { return (w & ~((mx_word)127 << 17)) | (mx_word)mod << 17; }

#define WORD(op_, change_, text_) \
  do { \
    uint32_t pc_ = find(op_); \
    mx_word w __attribute__((unused)) = *word(pc_); \
    WITH(*word(pc_), change_, text_); \
  } while (0)

static void good_images(void **state) {
  (void)state;
  accepts();
  for (uint64_t seed = 11; seed < 21; seed++) {
    struct made m = made_image(seed, seed & 1 ? 32 : 64, 2);
    char *why;
    if (mx__verify(&m.image, &why) != MX__LOAD_OK) fail_msg("%s", why);
    made_free(&m);
  }
}

static void words(void **state) {
  (void)state;
  unsigned extra = func(MAIN)->nlits;
  WORD(MX_ADD_U32, 2000, "opcode 2000");
  WORD(MX_ADD_U32, with_guard(w, 9, 0), "ADD_U32 (add): guard predicate 9, the frame has 9");
  WORD(MX_ADD_U32, with_guard(w, 31, 1), "a negated guard without a predicate");
  WORD(MX_RET, with_guard(w, 0, 0), "takes no guard");
  WORD(MX_ADD_U32, with_mod(w, 1), "modifier 1, the row has 1");
  WORD(MX_MOVI_32, with_mod(w, 4), "modifier 4");
  WORD(MX_ADD_U32, with_field(w, 3, 1), "the unused operand field 3 is not 0");
  WORD(MX_RET, with_field(w, 0, 7), "the unused operand field 0 is not 0");
  WORD(MX_ADD_U32, with_field(w, 0, 40), "operand 0: 32-bit slot 40, the frame has 40");
  WORD(MX_ADD_U32, with_field(w, 0, MX_LIT), "operand 0: the result goes to a literal");
  WORD(MX_ADD_U32, with_field(w, 1, 40), "operand 1: 32-bit slot 40");
  WORD(MX_ADD_U64, with_field(w, 2, 20), "operand 2: 64-bit slot 20, the frame has 20");
  WORD(MX_AND_PRED, with_field(w, 2, 9), "operand 2: predicate slot 9, the frame has 9");
  WORD(MX_ADD_U32, with_field(w, 1, MX_LIT + extra), "operand 1: literal");
  WORD(MX_MOVI_32, with_field(w, 0, 40), "operand 0: 32-bit slot 40");
  WORD(MX_MOVI_64, with_field(w, 0, 600), "operand 0: the result goes to a literal");
  WORD(MX_LD_B128, with_field(w, 0, 3), "a pair begins at the odd 64-bit slot 3");
  WORD(MX_LD_B128, with_field(w, 0, 20), "operand 0: 64-bit slot 20");
  WORD(MX_LD_B32, with_field(w, 2, 0), "operand 2: an offset is a literal, not slot 0");
  WORD(MX_LD_B32, with_field(w, 2, MX_LIT + extra), "operand 2: literal");
  WORD(MX_ACTIVEMASK_32, MX_ACTIVEMASK_64 | MX_GUARD_NONE << 11, "only in modules of 64 lanes");
  WORD(MX_EXIT, with_mod(w, 1), "modifier 1");
}

static void extension_words(void **state) {
  (void)state;
  uint32_t pc = find(MX_LD_B32_V4);
  WITH(*word(pc + 1), *word(pc + 1) | (mx_word)1 << 60, "extension word 1 holds more than operands");
  WITH(*word(pc + 1), *word(pc + 1) | mx_w_put_ext(2, 5), "extension word 1 holds more than operands");
  WITH(*word(pc + 1), *word(pc + 1) & ~((mx_word)1023 << 10), "operand 5: an offset is a literal, not slot 0");
  struct mx_func *last = func(LAST);
  mx_word code[2] = {*word(pc), 0};
  struct mx_func old = *last;
  last->code = code;
  last->ncode = 1;
  refuses("its extension words are missing");
  *last = old;
}

static void literals(void **state) {
  (void)state;
  struct mx_func *f = func(MAIN);
  struct mx_lit *l = (struct mx_lit *)f->lits;
  uint32_t wide = 0, address = 0, small = 0;
  while (!(l[wide].kind == MX_LIT_VALUE && l[wide].value >> 32)) wide++;
  while (!(l[small].kind == MX_LIT_VALUE && l[small].value == 1)) small++;
  while (l[address].kind != MX_LIT_VAR) address++;
  WORD(MX_ADD_U32, with_field(w, 1, MX_LIT + wide), "has more than 32 bits");
  WORD(MX_ADD_U16, with_field(w, 1, MX_LIT + address), "an address of 16 bits");
  WORD(MX_LD_B32, with_field(w, 2, MX_LIT + address), "an offset cannot be an address");
  WORD(MX_ST_B128, with_field(w, 2, MX_LIT + small), "128 bits cannot be a literal");
  WITH(l[address].index, 99, "is the address of variable 99");
  WITH(l[address].kind, 4, "of kind 4");
  WITH(l[small], ((struct mx_lit){MX_LIT_FUNC, MAIN, 0}), "which is none or a kernel");
  WITH(l[small], ((struct mx_lit){MX_LIT_FUNC, 77, 0}), "which is none or a kernel");
  WITH(l[small], ((struct mx_lit){MX_LIT_FUNC, CALLER, 4}), "an address inside a function");
  WITH(f->nlits, 600, "600 literals");
}

static void control(void **state) {
  (void)state;
  uint32_t inside = find(MX_LD_B32_V4) + 1, ncode = func(MAIN)->ncode;
  WORD(MX_BRA, (w & 0xFFFFFF) | mx_w_put_branch(inside, 0), "is not the start of an instruction");
  WORD(MX_BRA, (w & 0xFFFFFF) | mx_w_put_branch(ncode, 0), "is not the start of an instruction");
  WORD(MX_BRA, (w & 0xFFFFFF) | mx_w_put_branch(MX_PC_RET, 0), "is not the start of an instruction");
  WORD(MX_BRA, (w & 0xFFFFFF) | mx_w_put_branch(0, inside), "the reconvergence point");
  WORD(MX_BRX, with_field(w, 1, 1), "jump table 1, the function has 1");
  WORD(MX_BRX, with_field(with_field(w, 2, inside & 1023), 3, inside >> 10), "the reconvergence point");
  WITH(((uint32_t *)func(MAIN)->tables[0].targets)[2], inside, "jump table 0: target 2");
  WITH(*word(ncode - 1), MX_BRKPT | MX_GUARD_NONE << 11, "control runs past the last instruction");
  WITH(*word(ncode - 1), MX_EXIT | 2 << 11, "control runs past the last instruction");
  WITH(func(LAST)->ncode, 0, "0 code words");
  WITH(func(LAST)->ncode, MX_MAX_CODE + 1, "code words");
  mx_word jump = MX_BRA | MX_GUARD_NONE << 11 | mx_w_put_branch(0, MX_PC_RET);
  mx_word old = *word(ncode - 1);
  *word(ncode - 1) = jump;
  accepts();
  *word(ncode - 1) = old;
}

static void calls(void **state) {
  (void)state;
  WORD(MX_CALL, with_field(w, 0, MAIN), "is a kernel");
  WORD(MX_CALL, with_field(w, 0, 3), "function 3, the module has 3");
  WORD(MX_CALL, with_field(w, 0, LAST), "2 results and 8 arguments where the callee has 0 and 0");
  WORD(MX_CALL, with_field(w, 2, 3), "3 results and 8 arguments");
  WORD(MX_CALLI, with_field(w, 0, 2), "prototype 2, the function has 2");
  WORD(MX_CALLI, with_field(w, 2, 1), "where the callee has");
  uint32_t pc = find(MX_CALL);
  mx_word w = *word(pc + 1); /* results, then arguments */
  WITH(*word(pc + 1), (w & ~(mx_word)1023) | 40, "operand 0: 32-bit slot 40");
  WITH(*word(pc + 1), (w & ~((mx_word)1023 << 10)) | mx_w_put_ext(1, 9), "operand 1: predicate slot 9");
  WITH(*word(pc + 1), w | mx_w_put_ext(4, 1), "operand 4: a pair begins");
  struct mx_proto *p = (struct mx_proto *)func(MAIN)->protos;
  static const uint8_t wrong[] = {MX_R32}, worse[] = {MX_R64, 4};
  WITH(p[1].arg, wrong, "prototype 1");
  WITH(p[1], ((struct mx_proto){NULL, NULL, 0, 0}), "prototype 1");
  WITH(p[1], ((struct mx_proto){NULL, worse, 0, 2}), "prototype 1");
}

static void raw_fields(void **state) {
  (void)state;
  WORD(MX_PMEVENT, with_field(w, 0, 16), "operand 0: 16 is not in its range");
  WORD(MX_SETMAXNREG, with_field(w, 0, 16), "operand 0: 16 is not");
  WORD(MX_SETMAXNREG, with_field(w, 0, 25), "operand 0: 25 is not");
  WORD(MX_SETMAXNREG, with_field(w, 0, 264), "operand 0: 264 is not");
  WORD(MX_SREG_32, with_field(w, 1, MX_SR_COUNT), "special register");
  WORD(MX_SREG_32, with_field(w, 1, MX_SR_GRIDID), "%gridid does not fit into a 32-bit slot");
  WORD(MX_SREG_64, with_field(w, 1, MX_SR_TID_X), "%tid.x does not fit into a 64-bit slot");
  WORD(MX_SPILL_32, with_field(w, 0, 5), "spill cell 5, the frame has 5");
  WORD(MX_SPILL_PRED, with_field(w, 1, 1), "spill cell 102");
  WORD(MX_FILL_64, with_field(w, 1, 3), "spill cell 3, the frame has 3");
  WORD(MX_FILL_64, with_field(w, 2, 1), "spill cell 102");
}

static void frames(void **state) {
  (void)state;
  struct mx_func *f = func(CALLER);
  WITH(f->n32, 513, "513 32-bit slots");
  WITH(f->n64, 513, "513 64-bit slots");
  WITH(f->npred, 32, "32 predicates");
  WITH(f->local_bytes, 24, "24 bytes of local memory");
  WITH(f->local_bytes, 1u << 20, "bytes of local memory");
  WITH(f->arg_bytes, 40, "40 argument bytes in 32 of local memory");
  WITH(f->flags, 32, "flags 0x20");
  WITH(f->name, "last", "two functions of the name last");
  WITH(f->name, "a b", "its name is not an identifier");
  char *endless = made_take(&made, MAX_NAME + 2);
  memset(endless, 'x', MAX_NAME + 1);
  WITH(f->name, endless, "its name is not an identifier");
  WITH(f->name, "%.x", "its name is not an identifier");
  WITH(f->name, "", "its name is not an identifier");
  WITH(f->param_bytes, 8, "without being a kernel");
  WITH(func(MAIN)->arg_bytes, 8, "a kernel with arguments");
  func(MAIN)->results = f->results;
  WITH(func(MAIN)->nresults, 1, "a kernel with arguments");
}

static void signatures(void **state) {
  (void)state;
  struct mx_func *f = func(CALLER);
  static const struct mx_slot_ref many[1024];
  const struct mx_slot_ref bad[2] = {{MX_R32, 40}}, odd[2] = {{MX_R128, 3}}, none[] = {{MX_NOCLASS, 0}};
  WITH(f->results, bad, "result 0 is no slot");
  WITH(f->results, odd, "result 0 is no slot");
  struct mx_func old = *f;
  f->nresults = 1;
  f->results = none;
  refuses("result 0 is no slot");
  *f = old;
  f->nargs = 1024;
  f->args = many;
  refuses("1024 arguments");
  *f = old;
}

static void parameters(void **state) {
  (void)state;
  struct mx_param *p = (struct mx_param *)func(MAIN)->params;
  WITH(p[1].offset, 4, "parameter 1 overlaps");
  WITH(p[3].offset, 48, "parameter 3 overlaps the one before or lies outside");
  WITH(p[3].offset, 44, "parameter 3: alignment 8");
  WITH(p[1].align, 3, "alignment 3");
  WITH(p[1].align, 0, "alignment 0");
  WITH(p[1].align, 512, "alignment 512");
  WITH(p[1].type, MX_T_pred, "parameter 1: type");
  WITH(p[1].type, MX_T_none, "parameter 1: type");
  WITH(p[1].size, 2, "2 bytes of .s32");
  WITH(p[1].size, 0, "0 bytes of .s32");
  WITH(p[2].is_pointer, true, "parameter 2: a pointer of 20 bytes");
  WITH(p[1].name, "1", "its name is not an identifier");
  WITH(func(MAIN)->param_bytes, MX_MAX_PARAM_BYTES + 1, "32765 bytes of parameters, the most is 32764");
  WITH(((uint32_t *)func(MAIN)->shared)[1], 0, "shared variable 1 is variable 0");
  var(2)->size = ((uint64_t)1 << 40) - 200;
  WITH(((uint32_t *)func(MAIN)->shared)[0], 2, "more than 2^40 bytes of shared variables");
  var(2)->size = 1024;
  WITH(((uint32_t *)func(MAIN)->shared)[1], 8, "shared variable 1 is variable 8");
}

static void variables(void **state) {
  (void)state;
  static const uint8_t some[4];
  struct mx_reloc *r = (struct mx_reloc *)var(0)->relocs;
  WITH(var(0)->name, "a-b", "variable 0: its name");
  WITH(var(0)->space, MX_LOCAL, "no variables in space");
  WITH(var(0)->flags, 16, "flags 16");
  WITH(var(0)->align, 3, "alignment 3");
  WITH(var(0)->align, 1u << 17, "alignment 131072");
  WITH(var(0)->size, 39, "more initial bytes than bytes");
  WITH(var(5)->size, (uint64_t)1 << 40, "more than 2^40 bytes");
  WITH(var(5)->size, UINT64_MAX, "more than 2^40 bytes");
  WITH(var(4)->size, 4, "only shared variables without size");
  WITH(var(4)->space, MX_GLOBAL, "only shared variables without size");
  WITH(var(5)->space, MX_CONST, "only global variables are managed");
  struct mx_var old = *var(2);
  var(2)->init = some;
  var(2)->ninit = 4;
  refuses("shared memory has no initial value");
  *var(2) = old;
  WITH(var(0)->flags, MX_VAR_EXTERN, "an extern variable has no initial value");
  WITH(r[0].size, 3, "takes 3 bytes");
  WITH(r[0].size, 16, "takes 16 bytes");
  WITH(r[1].offset, 12, "overlaps another or lies outside");
  WITH(r[2].offset, 60, "overlaps another or lies outside");
  WITH(r[2].offset, UINT64_MAX, "overlaps another or lies outside");
  WITH(r[0].index, 8, "is of variable 8");
  WITH(r[2].index, MAIN, "is of function 1");
  WITH(r[2].addend, 1, "lies inside a function");
  WITH(r[2].kind, MX_LIT_VALUE, "of kind 0");
  WITH(r[0].byte, 1, "has no byte 1");
  const struct mx_reloc whole = r[0];
  r[0].size = 1;
  r[0].byte = 11;
  refuses("has no byte 11");
  char *text = mx__disassemble(&made.image); /* what is refused can be looked at */
  assert_non_null(text);
  assert_non_null(strstr(text, "0x0("));
  free(text);
  r[0] = whole;
}

static void debug_tables(void **state) {
  (void)state;
  struct mx_func *f = func(MAIN);
  struct mx_name *n = (struct mx_name *)f->names;
  struct mx_label *l = (struct mx_label *)f->labels;
  struct mx_line *x = (struct mx_line *)f->lines;
  WITH(n[0].slot, 40, "entry 0 of the name map");
  WITH(n[0].type, MX_T_u64, "entry 0 of the name map");
  WITH(n[0].type, MX_T_none, "entry 0 of the name map");
  WITH(n[0].cls, MX_NOCLASS, "entry 0 of the name map");
  WITH(n[0].hi, f->ncode + 1, "entry 0 of the name map");
  WITH(n[0].name, "", "entry 0 of the name map");
  WITH(l[1].pc, f->ncode + 1, "label 1");
  WITH(l[1].name, "a b", "label 1");
  WITH(x[1].pc, x[0].pc, "line entry 1 is out of order");
  WITH(x[1].file, 2, "names file 2 of 2");
  WITH(((const char **)made.image.files)[0], NULL, "file 0 has no name");
}

static void targets(void **state) {
  (void)state;
  WITH(made.image.lanes, 48, "48 lanes");
  WITH(made.image.sm, 0, "32 lanes in a module for mx64");
  WITH(made.image.address_size, 16, "addresses of 16 bits");
  made.image.lanes = 64;
  refuses("64 lanes in a module for sm_90");
  made.image.lanes = 32;
}

static void many_problems(void **state) {
  (void)state;
  struct mx_func *f = func(MAIN);
  uint16_t old = f->n32;
  f->n32 = 0;
  char *why;
  assert_int_equal(mx__verify(&made.image, &why), MX__LOAD_REFUSED);
  assert_non_null(strstr(why, "\nand "));
  unsigned lines = 1;
  for (const char *c = why; *c; c++) lines += *c == '\n';
  assert_int_equal(lines, MAX_PROBLEMS + 1);
  free(why);
  assert_int_equal(mx__verify(&made.image, NULL), MX__LOAD_REFUSED);
  f->n32 = old;
}

static void out_of_memory(void **state) {
  (void)state;
  char *why;
  for (unsigned broken = 0; broken < 2; broken++) {
    uint16_t old = func(MAIN)->n32;
    if (broken) func(MAIN)->n32 = 0;
    failing_calls = 0;
    enum mx__load want = mx__verify(&made.image, &why);
    free(why);
    for (size_t at = 0, calls = failing_calls; at < calls; at++) {
      failing_at = at;
      enum mx__load result = mx__verify(&made.image, &why);
      assert_true(result == MX__LOAD_OOM || (broken && result == want));
      free(why);
    }
    failing_at = SIZE_MAX;
    func(MAIN)->n32 = old;
  }
}

/* The words of a verified function, with random bits turned over: most are refused, none harms. */
static void random_bits(void **state) {
  (void)state;
  struct mx_func *f = func(MAIN);
  unsigned refused = 0;
  for (int k = 0; k < 2000; k++) {
    mx_word *w = word(made_below(&made, f->ncode)), old = *w;
    *w ^= (mx_word)1 << made_below(&made, 64);
    refused += mx__verify(&made.image, NULL) == MX__LOAD_REFUSED;
    *w = old;
  }
  assert_in_range(refused, 300, 2000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(good_images), cmocka_unit_test(words),         cmocka_unit_test(extension_words),
      cmocka_unit_test(literals),    cmocka_unit_test(control),       cmocka_unit_test(calls),
      cmocka_unit_test(raw_fields),  cmocka_unit_test(frames),        cmocka_unit_test(signatures),
      cmocka_unit_test(parameters),  cmocka_unit_test(variables),     cmocka_unit_test(debug_tables),
      cmocka_unit_test(targets),     cmocka_unit_test(many_problems), cmocka_unit_test(out_of_memory),
      cmocka_unit_test(random_bits),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
