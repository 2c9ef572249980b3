/* The assembler's front: what the text becomes before slots are allocated, printed and compared; and allocation that
 * fails at every point. Wrong programs are tests/errors' matter. */
#include "failing.h"

#include "asm/common/arena.c"
#include "asm/assemble.c"

#include "vm/load/verify.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- printing --------------------------------------------------------------------------------------------*/
struct page {
  char p[16384];
  size_t n;
  uint32_t temps[64], ntemps;
};

static void print(struct page *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void print(struct page *o, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(o->p + o->n, sizeof o->p - o->n, fmt, ap);
  va_end(ap);
  assert_true(n >= 0 && (size_t)n < sizeof o->p - o->n);
  o->n += (size_t)n;
}

static void print_reg(struct page *o, const struct ir_func *f, uint32_t r) {
  if (f->regs[r].name) print(o, "%s", f->regs[r].name);
  else {
    /* the assembler's own are numbered as they appear */
    uint32_t k = 0;
    while (k < o->ntemps && o->temps[k] != r) k++;
    if (k == o->ntemps && k < 64) o->temps[o->ntemps++] = r;
    print(o, "t%u", k);
  }
}

static void print_lit(struct page *o, const struct ir_module *m, const struct mx_lit *l) {
  if (l->kind == MX_LIT_VALUE)
    print(o, (int64_t)l->value < 0 ? "%lld" : l->value < 4096 ? "%llu" : "0x%llx", (long long)l->value);
  else if (l->kind == MX_LIT_FUNC) print(o, "&%s", m->funcs[l->index].name);
  else print(o, "%s%s+%lld", l->kind == MX_LIT_GENERIC ? "generic " : "", m->vars[l->index].name, (long long)l->value);
}

static void print_func(struct page *o, const struct ir_module *m, const struct ir_func *f) {
  o->n = o->ntemps = 0;
  o->p[0] = 0;
  for (uint32_t i = 0; i <= f->ninsns; i++) {
    for (uint32_t k = 0; k < f->nlabels; k++)
      if (f->labels[k].insn == i) print(o, "L%u: ", k);
    if (i == f->ninsns) break;
    const struct ir_insn *n = &f->insns[i];
    if (n->guard != IR_NONE) print(o, "@%s", n->guard_neg ? "!" : ""), print_reg(o, f, n->guard), print(o, " ");
    print(o, "%s", mx__ops[n->op].id);
    if (n->mod) print(o, "/%u", n->mod);
    if (n->target != IR_NONE) print(o, " L%u", n->target);
    if (n->op == MX_CALL) print(o, " %s:%u", m->funcs[n->callee].name, n->nres);
    if (n->op == MX_CALLI) print(o, " proto%u:%u", n->callee, n->nres);
    for (uint32_t k = 0; k < n->nopnds; k++) {
      const struct ir_opnd *x = &n->opnds[k];
      print(o, k ? ", " : " ");
      if (x->kind == IR_REG) print_reg(o, f, x->reg);
      else if (x->kind == IR_LIT) print_lit(o, m, &x->lit);
      else if (n->op == MX_SREG_32 || n->op == MX_SREG_64 || n->op == MX_SREG_PRED)
        print(o, "%%%s", mx__sregs[x->raw].name);
      else print(o, "#%u", x->raw);
    }
    print(o, "\n");
  }
}

static struct mx_arena arena;
static jmp_buf lost;
static struct front *front;
static struct ir_module module;

static void open_text(const char *text) {
  arena = (struct mx_arena){.oom = &lost};
  if (setjmp(lost)) fail_msg("out of memory");
  front = mx__arena_alloc(&arena, sizeof *front);
  front->arena = front->diags.arena = front->names.arena = &arena;
  front->lanes = 64;
  front->address_size = 64;
  front->scope = mx__scope_new(&front->names, NULL);
  front->var_names = mx__scope_new(&front->names, NULL);
  front->strings = mx__scope_new(&front->names, NULL);
  mx__push_file(front, mx__add_text(front, "test.mxs", text, strlen(text)));
  mx__parse_module(front);
  module = (struct ir_module){0};
  build_module(front, &module, &(mx_asm_options){.struct_size = sizeof(mx_asm_options)});
  for (size_t k = 0; k < front->diags.count; k++)
    print_message("%u:%u: %s\n", front->diags.list[k].loc.line, front->diags.list[k].loc.col,
                  front->diags.list[k].text);
  assert_int_equal(front->diags.count, 0);
}

static const struct ir_func *func_named(const char *name) {
  for (uint32_t k = 0; k < module.nfuncs; k++)
    if (!strcmp(module.funcs[k].name, name)) return &module.funcs[k];
  fail_msg("no function %s", name);
  return NULL;
}

static void expect(const char *name, const char *wanted) {
  static struct page o;
  print_func(&o, &module, func_named(name));
  assert_string_equal(o.p, wanted);
}

static uint8_t type_of(const char *func, const char *reg) {
  const struct ir_func *f = func_named(func);
  for (uint32_t k = 0; k < f->nregs; k++)
    if (f->regs[k].name && !strcmp(f->regs[k].name, reg)) return f->regs[k].type;
  fail_msg("no register %s", reg);
  return 0;
}

static void done(void) { mx__arena_free(&arena); }

/* ---- instructions ------------------------------------------------------------------------------------------*/
static void implicit_registers_and_scaled_addresses(void **state) {
  (void)state;
  open_text(".entry k(.param .u64 x, .param .u32 n, .param .f32 a) {\n"
            "  mad.lo.s32 %i, %ctaid.x, %ntid.x, %tid.x;\n"
            "  setp.ge.s32 %p, %i, %n;\n"
            "  @%p exit;\n"
            "  ld.global.f32 %v, [%x + %i*4 + 16];\n"
            "  st.global.f32 [%x + 4*%i], %a;\n"
            "}\n");
  expect("k", "LD_B32/20 %n, 8, 0\n"
              "LD_B64/20 %x, 0, 0\n"
              "LD_B32/20 %a, 12, 0\n"
              "SREG_32 t0, %ctaid.x\n"
              "SREG_32 t1, %ntid.x\n"
              "SREG_32 t2, %tid.x\n"
              "MAD_LO_U32 %i, t0, t1, t2\n"
              "SETP_S32/5 %p, %i, %n\n"
              "@%p EXIT\n"
              "MAD_WIDE_S32 t3, %i, 4, %x\n"
              "LD_B32/4 %v, t3, 16\n"
              "MAD_WIDE_S32 t4, %i, 4, %x\n"
              "ST_B32/4 t4, 0, %a\n"
              "RET\n");
  assert_int_equal(type_of("k", "%i"), MX_T_s32);
  assert_int_equal(type_of("k", "%v"), MX_T_f32);
  assert_int_equal(type_of("k", "%p"), MX_T_pred);
  const struct ir_func *f = func_named("k");
  assert_int_equal(f->nparams, 3);
  assert_int_equal(f->params[1].offset, 8);
  assert_int_equal(f->params[2].offset, 12);
  assert_int_equal(f->param_bytes, 16);
  done();
}

static void literals_take_the_type_that_is_meant(void **state) {
  (void)state;
  open_text(".entry k() { .reg .f32 %f; .reg .f64 %d; .reg .b32 %r; .reg .b64 %q; .reg .b16 %h; .reg .pred %p;\n"
            "  mov.f32 %f, 1; mov.b32 %r, 1; mov.f32 %f, 0f40000000; mov.f64 %d, 0.5; mov.b32 %r, -1; mov.b64 %q, -1; "
            "mov.b16 %h, -1;\n"
            "  mov.pred %p, -1; add.f32 %f, %f, 2.0; mov.u32 %r, WARP_SZ;\n"
            "  ret; }");
  expect("k", "MOV_32 %f, 0x3f800000\nMOV_32 %r, 1\nMOV_32 %f, 0x40000000\nMOV_64 %d, 0x3fe0000000000000\nMOV_32 %r, "
              "0xffffffff\nMOV_64 %q, -1\n"
              "MOV_16 %h, 0xffff\nMOV_PRED %p, 1\nADD_F32 %f, %f, 0x40000000\nMOV_32 %r, 64\nRET\n");
  done();
}

static void overloads_by_width(void **state) {
  (void)state;
  open_text(".entry k() { .reg .b16 %h; .reg .b32 %r, %s; .reg .b64 %q; .reg .pred %p;\n"
            "  ld.global.u8 %h, [%q]; ld.global.u8 %r, [%q]; ld.global.u8 %q, [%q]; ld.shared.u32 %r, [%s+4];\n"
            "  mov.b64 %q, {%r, %s}; mov.b64 {%r, _}, %q; setp.lt.u32 %p, %r, 5; selp.b64 %q, %q, 1, %p;\n"
            "  bar.sync 0; bar.sync 1, 64; bar.red.popc.u32 %r, 0, %p; bar.red.popc.u32 %r, 0, 32, !%p;\n"
            "  ret; }");
  expect(
      "k",
      "LD_U8_16/4 %h, %q, 0\nLD_U8_32/4 %r, %q, 0\nLD_U8_64/4 %q, %q, 0\nLD_B32_A32/8 %r, %s, 4\n"
      "PACK_64 %q, %r, %s\nUNPACK_64 %r, t0, %q\nSETP_U32/2 %p, %r, 5\nSELP_64 %q, %q, 1, %p\n"
      "BAR_SYNC 0, 0\nBAR_SYNC 1, 64\nBAR_RED_POPC %r, 0, 0, %p\nNOT_PRED t1, %p\nBAR_RED_POPC %r, 0, 32, t1\nRET\n");
  done();
}

static void guards_that_rows_do_not_take(void **state) {
  (void)state;
  open_text(".entry k() { .reg .pred %p; .reg .b32 %r; @%p bar.sync 0; @!%p bra E; @%p add.u32 %r, %r, 1; @%p ret; E: "
            "exit; }");
  expect("k", "@!%p BRA L0\nBAR_SYNC 0, 0\nL0: @!%p BRA L1\n@%p ADD_U32 %r, %r, 1\n@!%p BRA L2\nRET\nL1: L2: EXIT\n");
  done();
}

static void carries_and_selectors(void **state) {
  (void)state;
  open_text(".entry k() { .reg .b32 %r<5>;\n"
            "  add.cc.u32 %r0, %r1, %r2; addc.u32 %r3, %r3, 0;\n"
            "  vadd.u32.u32.u32 %r0, %r1.b2, %r2.h1; vadd4.u32.u32.u32 %r0.b20, %r1, %r2.b7610, %r3; "
            "vmad.s32.s32.u32.shr7 %r0, %r1, %r2, -%r3;\n"
            "  ret; }");
  static struct page o;
  print_func(&o, &module, func_named("k"));
  assert_non_null(strstr(o.p, "%r0, %cc, %r1, %r2\n"));
  assert_non_null(strstr(o.p, "%r3, %r3, 0, %cc\n"));
  char wanted[160];
  snprintf(wanted, sizeof wanted, "%%r0, %%r1, %%r2, 0, %u\n", 3u << 3 | 6u << 6);
  assert_non_null(strstr(o.p, wanted));
  unsigned a = 0 | 1 << 3 | 2 << 6 | 3 << 9, b = 0 | 1 << 3 | 6 << 6 | 7 << 9;
  snprintf(wanted, sizeof wanted, "%%r0, %%r1, %%r2, %%r3, 0x%x\n", 5u | a << 4 | b << 16);
  assert_non_null(strstr(o.p, wanted));
  snprintf(wanted, sizeof wanted, "%%r0, %%r1, %%r2, %%r3, %u\n", 1u << 11);
  assert_non_null(strstr(o.p, wanted));
  done();
}

static void names_and_scopes(void **state) {
  (void)state;
  open_text(".entry k() { .reg .pred %p<4>; .reg .b32 %r<3>, %x1<2>;\n"
            "  { .reg .b32 %p1; L: add.u32 %p1, %r2, 1; bra L; }\n"
            "  { L: bra L; }\n"
            "  mov.u32 %x10, 1; @%p1 bra.uni M; M: ret; }");
  expect("k", "L0: ADD_U32 %p1, %r2, 1\nBRA L0\nL1: BRA L1\nMOV_32 %x10, 1\n@%p1 BRA L2\nL2: RET\n");
  done();
}

static void vectors_and_special_registers(void **state) {
  (void)state;
  open_text(".entry k() { .reg .b32 %r<4>; .reg .v2 .b32 %v; .reg .b64 %q;\n"
            "  mov.v4.u32 {%r0, %r1, %r2, %r3}, %tid; ld.global.v2.b32 %v, [%q]; mov.b32 %r0, %v.y; mov.u64 %q, "
            "%clock64; mov.u32 %r0, %laneid;\n"
            "  mov.b64 %q, %lanemask_lt; ret; }");
  expect("k", "MOV_32 t0, 0\nSREG_32 t1, %tid.x\nMOV_32 %r0, t1\nSREG_32 t2, %tid.y\nMOV_32 %r1, t2\nSREG_32 t3, "
              "%tid.z\nMOV_32 %r2, t3\nMOV_32 %r3, t0\n"
              "LD_B32_V2/4 %v.x, %v.y, %q, 0\nMOV_32 %r0, %v.y\nSREG_64 %q, %clock64\nSREG_32 %r0, %laneid\nSREG_64 "
              "%q, %lanemask_lt\nRET\n");
  done();
}

/* ---- variables -----------------------------------------------------------------------------------------------*/
static void initial_values(void **state) {
  (void)state;
  open_text(".func f() { ret; }\n.global .u16 a[2][3] = {{1, 2}, {4, 5, 6}};\n.const .f32 c[] = {1.0, 2};\n.global .b8 "
            "s[] = \"hi\";\n"
            ".global .u64 p[] = {a, generic(a) + 4, f, later};\n.shared .align 16 .b8 sh[64];\n.global .s8 later = "
            "-1;\n.extern .shared .b8 dyn[];\n"
            ".visible .global .f64 d = 0d3FF0000000000000;\n.global .b128 q = -2;\n");
  const struct mx_var *v = module.vars;
  assert_int_equal(module.nvars, 9);
  assert_int_equal(v[0].size, 12);
  assert_memory_equal(v[0].init, "\1\0\2\0\0\0\4\0\5\0\6\0", 12);
  assert_int_equal(v[1].size, 8);
  assert_memory_equal(v[1].init, "\0\0\x80\x3f\0\0\0\x40", 8);
  assert_int_equal(v[2].size, 3);
  assert_int_equal(v[3].nrelocs, 4);
  assert_int_equal(v[3].relocs[1].kind, MX_LIT_GENERIC);
  assert_int_equal(v[3].relocs[1].addend, 4);
  assert_int_equal(v[3].relocs[2].kind, MX_LIT_FUNC);
  assert_int_equal(v[3].relocs[3].index, 5);
  assert_int_equal(v[3].relocs[3].offset, 24);
  assert_int_equal(v[4].align, 16);
  assert_int_equal(v[5].init[0], 0xFF);
  assert_int_equal(v[6].flags, MX_VAR_EXTERN_SHARED);
  assert_int_equal(v[7].flags, MX_VAR_VISIBLE);
  assert_int_equal(v[8].init[0], 0xFE);
  assert_int_equal(v[8].init[15], 0xFF);
  done();
}

static void halves_round_to_nearest_even(void **state) {
  (void)state;
  open_text(
      ".global .f16 h[] = {1.0, -2.0, 65519.0, 65520.0, 5.9604644775390625e-08, 2.98023223876953125e-08, 2.99e-08, "
      "6.097555160522461e-05, 0.1, 1e300, -0.0};\n.global .bf16 b[] = {1.0, 3.14159, 3.4e38, 1e-40, 0.1};\n");
  static const uint16_t h[] = {0x3C00, 0xC000, 0x7BFF, 0x7C00, 1, 0, 1, 0x3FF, 0x2E66, 0x7C00, 0x8000};
  static const uint16_t b[] = {0x3F80, 0x4049, 0x7F80, 1, 0x3DCD};
  assert_int_equal(module.vars[0].ninit, sizeof h);
  assert_memory_equal(module.vars[0].init, h, sizeof h);
  assert_memory_equal(module.vars[1].init, b, sizeof b);
  done();
}

static void addresses_of_variables(void **state) {
  (void)state;
  open_text(".global .u32 g[4];\n.shared .u32 s[4];\n.entry k() { .local .align 8 .b8 buf[24]; .local .u32 one; "
            ".shared .u32 s2; .reg .b64 %q; .reg .b32 %r;\n"
            "  mov.u64 %q, g; mov.u64 %q, g+8; mov.u32 %r, s; ld.global.u32 %r, [g+4]; ld.u32 %r, [s]; ld.global.u32 "
            "%r, g[3];\n"
            "  mov.u64 %q, buf; mov.u64 %q, one; ld.local.u32 %r, [one]; ld.local.u32 %r, [buf+4]; st.shared.u32 [s2], "
            "%r; mov.u64 %q, \"text\"; ret; }");
  expect("k", "SREG_64 t0, %local_base\nMOV_64 %q, g+0\nMOV_64 %q, g+8\nMOV_32 %r, s+0\nLD_B32/4 %r, g+0, 4\nLD_B32 "
              "%r, generic s+0, 0\nLD_B32/4 %r, g+0, 12\n"
              "MOV_64 %q, t0\nADD_U64 %q, t0, 24\nLD_B32/12 %r, t0, 24\nLD_B32/12 %r, t0, 4\nST_B32/8 s2+0, 0, "
              "%r\nMOV_64 %q, $text3+0\nRET\n");
  const struct ir_func *f = func_named("k");
  assert_int_equal(f->local_bytes, 32);
  assert_int_equal(f->nshared, 2);
  assert_string_equal(module.vars[3].name, "$text3");
  assert_int_equal(module.vars[3].size, 5);
  done();
}

/* ---- calls ---------------------------------------------------------------------------------------------------*/
static void scalars_travel_in_slots(void **state) {
  (void)state;
  open_text(".func (.param .b32 r) f(.param .b32 a, .param .b64 b) { .reg .b32 %x; .reg .b64 %y; ld.param.u32 %x, [a]; "
            "ld.param.u64 %y, [b+0]; st.param.b32 [r+0], %x; ret; }\n"
            ".entry k() { .reg .b32 %x; .reg .b64 %y;\n"
            "  { .param .b32 p0; st.param.b32 [p0+0], %x; .param .b64 p1; st.param.b64 [p1], 7; .param .b32 q; "
            "call.uni (q), f, (p0, p1); ld.param.b32 %x, [q+0]; }\n"
            "  call (%x), f, (%x, 5); call (_), f, (%tid.x, %y); ret; }");
  expect("f", "MOV_32 %x, a\nMOV_64 %y, b\nMOV_32 r, %x\nRET\n");
  expect("k", "MOV_32 p0, %x\nMOV_64 p1, 7\nCALL f:1 q, p0, p1\nMOV_32 %x, q\nCALL f:1 %x, %x, 5\nSREG_32 t0, "
              "%tid.x\nCALL f:1 t1, t0, %y\nRET\n");
  const struct ir_func *f = func_named("f");
  assert_int_equal(f->nargs, 2);
  assert_int_equal(f->nresults, 1);
  assert_int_equal(f->arg_bytes, 0);
  done();
}

static void scalars_in_parts_get_a_home(void **state) {
  (void)state;
  open_text(".func (.param .b64 r) f(.param .b64 a) { .reg .b32 %x; ld.param.b32 %x, [a+4]; st.param.b32 [r], %x; "
            "st.param.b32 [r+4], %x; ret; }");
  expect("f", "SREG_64 t0, %local_base\nST_B64/12 t0, 8, a\nLD_B32/12 %x, t0, 12\nST_B32/12 t0, 0, %x\nST_B32/12 t0, "
              "4, %x\nLD_B64/12 r, t0, 0\nRET\n");
  assert_int_equal(func_named("f")->local_bytes, 16);
  done();
}

static void arrays_travel_in_memory(void **state) {
  (void)state;
  open_text(".func (.param .align 8 .b8 r[16]) f(.param .align 8 .b8 a[16], .param .b32 n) { .reg .b64 %x; "
            "ld.param.b64 %x, [a+8]; st.param.b64 [r], %x; ret; }\n"
            ".entry k() { .reg .b64 %x;\n"
            "  { .param .align 8 .b8 p[16]; st.param.b64 [p], %x; .param .b32 n; st.param.b32 [n], 3; .param .align 8 "
            ".b8 q[16]; call (q), f, (p, n); ld.param.b64 %x, [q+8]; }\n"
            "  ret; }\n"
            ".entry twice() { .reg .b64 %x; .param .align 8 .b8 p[16]; .param .align 8 .b8 q[16]; st.param.b64 [p+8], "
            "%x; call (q), f, (p, 1); call (q), f, (p, 2); ld.param.b64 %x, [q]; ret; }");
  expect("f", "SREG_64 t0, %local_base\nLD_B64/12 %x, t0, 24\nST_B64/12 t0, 0, %x\nRET\n");
  expect("k", "SREG_64 t0, %local_top\nST_B64/12 t0, 16, %x\nMOV_32 n, 3\nCALL f:0 n\nLD_B64/12 %x, t0, 8\nRET\n");
  const struct ir_func *f = func_named("f");
  assert_int_equal(f->arg_bytes, 32);
  assert_int_equal(f->local_bytes, 32);
  static struct page o;
  print_func(&o, &module, func_named("twice"));
  assert_non_null(strstr(o.p, "ST_B64/12 t0, 8, %x\n")); /* its own frame */
  assert_non_null(strstr(o.p, "CALL f:0 1\n"));
  assert_int_equal(func_named("twice")->local_bytes, 32);
  done();
}

static void indirect_calls(void **state) {
  (void)state;
  open_text(".func (.param .b32 r) f(.param .b64 a) { ret; }\n.global .u64 table[1] = {f};\n"
            ".entry k() { .reg .b64 %t; .reg .b32 %x; .reg .pred %p; mov.u64 %t, f;\n"
            "  { P: .callprototype (.param .b32 _) _ (.param .b64 _); call (%x), %t, (%t), P; }\n"
            "  Q: .calltargets f; @%p call (%x), %t, (9), Q; ret; }");
  expect("k", "MOV_64 %t, &f\nCALLI proto0:1 %x, %t, %t\n@!%p BRA L0\nCALLI proto1:1 %x, %t, 9\nL0: RET\n");
  const struct ir_func *f = func_named("k");
  assert_int_equal(f->nprotos, 2);
  assert_int_equal(f->protos[0].nres, 1);
  assert_int_equal(f->protos[0].narg, 2);
  assert_int_equal(f->protos[0].arg[0], MX_R64);
  assert_int_equal(f->protos[0].arg[1], MX_R64);
  assert_int_equal(f->protos[0].res[0], MX_R32);
  done();
}

static void branch_tables(void **state) {
  (void)state;
  open_text(".entry k() { .reg .b32 %i; T: .branchtargets A, B, A; brx.idx %i, T; A: exit; B: trap; }");
  const struct ir_func *f = func_named("k");
  assert_int_equal(f->ntables, 1);
  assert_int_equal(f->tables[0].nlabels, 3);
  assert_int_equal(f->tables[0].labels[0], f->tables[0].labels[2]);
  assert_int_equal(f->insns[0].op, MX_BRX);
  assert_int_equal(f->insns[0].table, 0);
  done();
}

static void macros_have_the_lines_of_their_body(void **state) {
  (void)state;
  open_text(".macro twice r\n  add.u32 \\r, \\r, \\r;\n  add.u32 \\r, \\r, \\r;\n.endm\n.entry k() {\n  .reg .b32 "
            "%a;\n  twice %a;\n  ret;\n}\n");
  const struct ir_func *f = func_named("k");
  assert_int_equal(f->insns[0].loc.line, 2);
  assert_int_equal(f->insns[1].loc.line, 3);
  assert_int_equal(f->insns[2].loc.line, 8);
  assert_int_equal(f->insns[0].loc.file, 0);
  done();
}

/* ---- the whole ------------------------------------------------------------------------------------------------*/
static const char sample[] = ".target sm_90\n.global .u32 t[4] = {1, 2, 3, 4};\n.func (.param .b32 r) f(.param .b32 a) "
                             "{ .reg .b32 %x; ld.param.b32 %x, [a]; st.param.b32 [r], %x; ret; }\n"
                             ".entry k(.param .u64 p) { .reg .b32 %x<4>; .reg .b64 %q; .reg .pred %c; ld.param.u64 %q, "
                             "[p]; mov.u32 %x0, %tid.x;\n"
                             "L: call (%x1), f, (%x0); add.u32 %x0, %x0, 1; setp.lt.u32 %c, %x0, 10; @%c bra L; "
                             "st.global.u32 [%q], %x1; ret; }\n";

static void assembles_or_says_out_of_memory(void **state) {
  (void)state;
  size_t total = 0;
  for (size_t n = 0;; n++) {
    failing_at = n;
    failing_calls = 0;
    mx_asm_result *r = mx_assemble(sample, sizeof sample - 1, NULL);
    bool failed = failing_calls > n;
    failing_at = SIZE_MAX;
    if (r) {
      assert_non_null(mx_asm_bytes(r, &total));
      assert_false(failed);
      mx_asm_free(r);
      break;
    }
    assert_true(n < 1000);
  }
  assert_true(total > 48);
}

static void disassembly_assembles_to_the_same_bytes(void **state) {
  (void)state;
  mx_asm_result *r = mx_assemble(sample, sizeof sample - 1, NULL);
  size_t n, again;
  const uint8_t *bytes = mx_asm_bytes(r, &n);
  struct mx__image *image;
  assert_int_equal(mx__image_read(bytes, n, &image, NULL), MX__LOAD_OK);
  assert_int_equal(mx__verify(&image->image, NULL), MX__LOAD_OK);
  char *text = mx__disassemble(&image->image);
  mx_asm_result *r2 = mx_assemble(text, strlen(text), NULL);
  const uint8_t *bytes2 = mx_asm_bytes(r2, &again);
  assert_non_null(bytes2);
  assert_int_equal(n, again);
  assert_memory_equal(bytes, bytes2, n);
  free(text);
  mx__image_free(image);
  mx_asm_free(r2);
  mx_asm_free(r);
}

static void an_empty_text_is_a_module(void **state) {
  (void)state;
  mx_asm_result *r = mx_assemble("", 0, NULL);
  size_t n;
  assert_non_null(mx_asm_bytes(r, &n));
  mx_asm_free(r);
  mx_asm_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(implicit_registers_and_scaled_addresses),
      cmocka_unit_test(literals_take_the_type_that_is_meant),
      cmocka_unit_test(overloads_by_width),
      cmocka_unit_test(guards_that_rows_do_not_take),
      cmocka_unit_test(carries_and_selectors),
      cmocka_unit_test(names_and_scopes),
      cmocka_unit_test(vectors_and_special_registers),
      cmocka_unit_test(initial_values),
      cmocka_unit_test(addresses_of_variables),
      cmocka_unit_test(halves_round_to_nearest_even),
      cmocka_unit_test(scalars_travel_in_slots),
      cmocka_unit_test(scalars_in_parts_get_a_home),
      cmocka_unit_test(arrays_travel_in_memory),
      cmocka_unit_test(indirect_calls),
      cmocka_unit_test(branch_tables),
      cmocka_unit_test(macros_have_the_lines_of_their_body),
      cmocka_unit_test(assembles_or_says_out_of_memory),
      cmocka_unit_test(disassembly_assembles_to_the_same_bytes),
      cmocka_unit_test(an_empty_text_is_a_module),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
