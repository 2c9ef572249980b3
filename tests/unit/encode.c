/* Words, names, lines, labels, tables and module-wide numbers; meeting points in words; what is refused; memory that
 * runs out anywhere. */
#include "failing.h"

#include "asm/common/arena.c"
#undef malloc
#undef calloc
#undef realloc

#include "ir_build.h"

/* A function with a little of everything, so that each word can be known beforehand. */
static void test_words(void **state) {
  (void)state;
  struct build b;
  open_arena(), begin(&b);
  struct ir_func *f = &b.f[0];
  uint32_t p = new_reg(f, MX_T_pred), x = new_reg(f, MX_T_b32), y = new_reg(f, MX_T_b32), a = new_reg(f, MX_T_b64);
  f->regs[p].name = "%p", f->regs[x].name = "%x", f->regs[y].name = "%y", f->regs[a].name = "%a";
  b.f[1].args = calloc(2, sizeof(uint32_t)), b.f[1].results = calloc(1, sizeof(uint32_t));
  b.f[1].args[b.f[1].nargs++] = new_reg(&b.f[1], MX_T_b32), b.f[1].args[b.f[1].nargs++] = new_reg(&b.f[1], MX_T_u16);
  b.f[1].results[b.f[1].nresults++] = new_reg(&b.f[1], MX_T_b64);
  f->tables = calloc(1, sizeof *f->tables), f->ntables = 1;
  f->tables[0] = (struct ir_table){calloc(2, sizeof(uint32_t)), 2};

  ADD(&b, MX_MOV_32, reg(x), value(0xFFFFFFFF12345678)); /*  0 movi, trimmed */
  ADD(&b, MX_MOV_64, reg(a), value(~UINT64_C(4)));       /*  1 movi, sign-extended */
  ADD(&b, MX_VOTE_ACTIVE, reg(p), value(3))->mod = 2;    /*  2 a predicate literal is one bit */
  uint32_t top = add_label(&b);
  f->labels[top].name = NULL;
  struct ir_insn *add = ADD(&b, MX_ADD_U32, reg(x), reg(x), value(0x1FFFFFFFF)); /*  3 */
  add->guard = p, add->guard_neg = true;
  struct ir_insn *call = ADD(&b, MX_CALL, reg(a), reg(x), value(0x12345)); /*  4, 5 */
  call->callee = 1, call->nres = 1, call->guard_neg = true;
  uint32_t skip = add_label(&b);
  add_bra(&b, p, skip);                                 /*  6 */
  ADD(&b, MX_MOV_64, reg(a), value(UINT64_C(1) << 40)); /*  7 pooled */
  f->labels[skip].insn = f->ninsns, f->labels[skip].name = "skip";
  ADD(&b, MX_LD_B32_V4, reg(x), reg(y), reg(x), reg(y), reg(a), value(8)); /*  8, 9 */
  ADD(&b, MX_ST_B32_V2, reg(a), value(8), reg(x), reg(y));                 /* 10 */
  f->tables[0].labels[0] = top, f->tables[0].labels[1] = skip;
  ADD(&b, MX_BRX, reg(y)); /* 11 */
  uint32_t unreached = add_label(&b);
  f->labels[unreached].name = "unreached";
  struct ir_insn *back = add_bra(&b, p, top); /* 12; then ret, 13 */
  back->fixed_reconv = true, back->reconv = skip;
  for (uint32_t i = 0; i < f->ninsns; i++) f->insns[i].loc.line = i < 3 ? 10 : i == 5 ? 0 : i + 10;

  assert_true(assemble(&b));
  const struct mx_func *o = &image.funcs[0];
  const mx_word none = mx_w_make(0, MX_GUARD_NONE, false, 0);
  const mx_word want[] = {
      (none | MX_MOVI_32) | mx_w_put_movi(0, 0x12345678),
      (none | MX_MOVI_64) | mx_w_put_movi(0, (uint32_t)-5),
      mx_w_make(MX_VOTE_ACTIVE, MX_GUARD_NONE, false, 2) | mx_w_put(1, MX_LIT),
      mx_w_make(MX_ADD_U32, 0, true, 0) | mx_w_put(2, MX_LIT + 1),
      (none | MX_CALL) | mx_w_put_branch(1, 0) | mx_w_put(2, 1) | mx_w_put(3, 2),
      mx_w_put_ext(2, MX_LIT + 2),
      mx_w_make(MX_BRA, 0, false, 0) | mx_w_put_branch(8, 8),
      (none | MX_MOV_64) | mx_w_put(1, MX_LIT + 3),
      (none | MX_LD_B32_V4) | mx_w_put(1, 1) | mx_w_put(3, 1),
      mx_w_put_ext(1, MX_LIT + 4),
      (none | MX_ST_B32_V2) | mx_w_put(1, MX_LIT + 4) | mx_w_put(3, 1),
      (none | MX_BRX) | mx_w_put(0, 1) | mx_w_put(2, 0x3FF) | mx_w_put(3, 0x3FF),
      mx_w_make(MX_BRA, 0, false, 0) | mx_w_put_branch(3, 8),
      (none | MX_RET),
  };
  assert_int_equal(o->ncode, sizeof want / sizeof *want);
  for (uint32_t i = 0; i < o->ncode; i++)
    if (o->code[i] != want[i])
      fail_msg("word %u is %#llx, not %#llx", i, (unsigned long long)o->code[i], (unsigned long long)want[i]);
  const uint64_t lits[] = {1, 0xFFFFFFFF, 0x2345, UINT64_C(1) << 40, 8};
  assert_int_equal(o->nlits, 5);
  for (uint32_t i = 0; i < 5; i++) assert_true(o->lits[i].value == lits[i] && o->lits[i].kind == MX_LIT_VALUE);

  assert_int_equal(o->nlabels, 2);
  assert_true(!strcmp(o->labels[0].name, "skip") && o->labels[0].pc == 8);
  assert_true(!strcmp(o->labels[1].name, "unreached") && o->labels[1].pc == 12);
  assert_true(o->tables[0].ntargets == 2 && o->tables[0].targets[0] == 3 && o->tables[0].targets[1] == 8);
  const struct mx_line lines[] = {{0, 0, 10}, {3, 0, 13},  {4, 0, 14},  {7, 0, 16},
                                  {8, 0, 17}, {10, 0, 18}, {11, 0, 19}, {12, 0, 20}};
  assert_int_equal(o->nlines, sizeof lines / sizeof *lines);
  assert_memory_equal(o->lines, lines, sizeof lines);
  assert_true(o->npred == 1 && o->n32 == 2 && o->n64 == 1);
  end(&b);
  mx__arena_free(&arena);
}

static const struct mx_name *name_at(const char *name, uint32_t pc) {
  const struct mx_func *f = &image.funcs[0];
  for (uint32_t i = 0; i < f->nnames; i++)
    if (!strcmp(f->names[i].name, name) && f->names[i].lo <= pc && pc < f->names[i].hi) return &f->names[i];
  return NULL;
}

/* Holes in a register's life belong to its entry unless somebody else lives there. */
static void test_names(void **state) {
  (void)state;
  struct build b;
  open_arena(), begin(&b);
  struct ir_func *f = &b.f[0];
  uint32_t x = new_reg(f, MX_T_b32), y = new_reg(f, MX_T_b32), z = new_reg(f, MX_T_b32), a = new_reg(f, MX_T_u64);
  f->regs[x].name = "%x", f->regs[y].name = "%y", f->regs[z].name = "%z", f->regs[a].name = "%a";
  ADD(&b, MX_MOV_32, reg(x), value(1));         /* 0 */
  ADD(&b, MX_ST_B32, reg(a), value(0), reg(x)); /* 1: x ends */
  add_insn(&b, MX_BRKPT, 0, NULL);              /* 2 */
  ADD(&b, MX_MOV_32, reg(x), value(2));         /* 3: x again */
  ADD(&b, MX_ST_B32, reg(a), value(0), reg(x)); /* 4 */
  ADD(&b, MX_MOV_32, reg(y), value(3));         /* 5: y in the same slot */
  ADD(&b, MX_ST_B32, reg(a), value(0), reg(y)); /* 6 */
  ADD(&b, MX_MOV_32, reg(x), value(3));         /* 7: and x once more */
  ADD(&b, MX_ST_B32, reg(a), value(0), reg(x)); /* 8 */
  assert_true(assemble(&b));
  assert_int_equal(image.funcs[0].n32, 1);
  assert_int_equal(image.funcs[0].nnames, 4); /* z is never used, x stands twice */
  assert_null(name_at("%x", 0));
  for (uint32_t pc = 1; pc < 5; pc++)
    assert_true(name_at("%x", pc) && name_at("%x", pc)->slot == 0 && !name_at("%x", pc)->spilled);
  assert_null(name_at("%x", 6));
  assert_non_null(name_at("%y", 6));
  assert_non_null(name_at("%x", 8));
  assert_true(name_at("%a", 0)->cls == MX_R64 && name_at("%a", 0)->type == MX_T_u64);
  end(&b);
  mx__arena_free(&arena);
}

static void test_disassembled(void **state) {
  (void)state;
  struct build b;
  open_arena(), begin(&b);
  struct ir_func *f = &b.f[0];
  uint32_t shared[] = {0};
  struct mx_var var = {.name = "v", .space = MX_SHARED, .align = 4, .size = 4};
  struct mx_name name = {.name = "%mine", .cls = MX_R32, .type = MX_T_f32, .slot = 7, .lo = 0, .hi = 2};
  b.m.vars = &var, b.m.nvars = 1;
  f->physical = true, f->flags = MX_FUNC_KERNEL, f->shared = shared, f->nshared = 1, f->names = &name, f->nnames = 1;
  memcpy(f->slots, (uint16_t[]){9, 3, 2, 1, 5, 4}, sizeof f->slots);
  uint32_t x = new_reg(f, MX_T_b32), q = new_reg(f, MX_T_b64);
  f->regs[x].fixed = 7, f->regs[q].fixed = 2;
  ADD(&b, MX_MOV_32, reg(x), value(1));
  ADD(&b, MX_SPILL_64, (struct ir_opnd){.kind = IR_RAW, .raw = 4}, (struct ir_opnd){.kind = IR_RAW}, reg(q))->loc.line =
      0;
  add_insn(&b, MX_EXIT, 0, NULL);
  assert_true(assemble(&b));
  const struct mx_func *o = &image.funcs[0];
  assert_true(o->n32 == 9 && o->n64 == 3 && o->npred == 2 && o->nspill32 == 1 && o->nspill64 == 5 &&
              o->nspillpred == 4);
  assert_int_equal(o->ncode, 3);
  assert_true(o->code[0] == (mx_w_make(MX_MOV_32, MX_GUARD_NONE, false, 0) | mx_w_put(0, 7) | mx_w_put(1, MX_LIT)));
  assert_true(o->code[1] == (mx_w_make(MX_SPILL_64, MX_GUARD_NONE, false, 0) | mx_w_put(0, 4) | mx_w_put(2, 2)));
  assert_true(o->nlines == 3 && o->lines[1].pc == 1 && o->lines[1].line == 0);
  assert_true(o->nnames == 1 && o->names[0].slot == 7 && o->nshared == 1);
  end(&b);
  mx__arena_free(&arena);
}

/* Numbers across the module: declarations drop out, shared variables come from whatever a kernel may call. */
static void test_module(void **state) {
  (void)state;
  struct build b;
  open_arena(), begin(&b);
  struct ir_func f[7] = {{0}};
  const char *names[] = {"declared", "kernel", "callee", "taken", "lonely", "by_address", "idle"};
  uint32_t shared[] = {0, 1, 2, 3, 4};
  struct mx_var vars[6];
  for (uint32_t i = 0; i < 5; i++)
    vars[i] = (struct mx_var){
        .name = (const char *[]){"a", "b", "c", "d", "e"}[i], .space = MX_SHARED, .align = 4, .size = 4};
  struct mx_reloc reloc = {.size = 8, .kind = MX_LIT_FUNC, .index = 3};
  vars[5] = (struct mx_var){.name = "t", .space = MX_GLOBAL, .align = 8, .size = 8, .relocs = &reloc, .nrelocs = 1};
  for (uint32_t i = 0; i < 7; i++) f[i].name = names[i];
  f[0].declared_only = true;
  f[1].flags = f[5].flags = f[6].flags = MX_FUNC_KERNEL;
  f[1].shared = shared + 3, f[2].shared = shared + 1, f[3].shared = shared, f[4].shared = shared + 2;
  f[1].nshared = f[2].nshared = f[3].nshared = f[4].nshared = 1;
  struct ir_insn calls[2] = {{.op = MX_CALL, .guard = IR_NONE, .callee = 2},
                             {.op = MX_CALL, .guard = IR_NONE, .callee = 1}};
  f[1].insns = &calls[0], f[1].ninsns = 1; /* kernel calls callee */
  struct ir_insn recursive = {.op = MX_CALL, .guard = IR_NONE, .callee = 2};
  f[2].insns = &recursive, f[2].ninsns = 1; /* which calls itself */
  uint8_t classes[] = {MX_R64};
  struct mx_proto proto = {.arg = classes, .narg = 1};
  struct ir_opnd target = {.kind = IR_LIT, .lit = {.kind = MX_LIT_FUNC, .index = 3}};
  struct ir_insn indirect = {.op = MX_CALLI, .guard = IR_NONE, .nopnds = 1, .opnds = &target};
  f[5].insns = &indirect, f[5].ninsns = 1, f[5].protos = &proto, f[5].nprotos = 1;
  b.m.funcs = f, b.m.nfuncs = 7, b.m.vars = vars, b.m.nvars = 6;
  assert_true(assemble(&b));
  assert_int_equal(image.nfuncs, 6);
  assert_string_equal(image.funcs[0].name, "kernel");
  assert_int_equal(mx_w_callee(image.funcs[0].code[0]), 1);
  assert_true(image.funcs[0].nshared == 2 && image.funcs[0].shared[0] == 1 && image.funcs[0].shared[1] == 3);
  assert_int_equal(image.funcs[1].nshared, 0);
  assert_true(image.funcs[4].nshared == 1 && image.funcs[4].shared[0] == 0);
  assert_true(image.funcs[4].lits[0].kind == MX_LIT_FUNC && image.funcs[4].lits[0].index == 2);
  assert_int_equal(image.vars[5].relocs[0].index, 2);
  assert_int_equal(image.funcs[5].nshared, 0);
  assert_int_equal(image.funcs[5].ncode, 1); /* an empty function returns */
  end(&b);
  mx__arena_free(&arena);
}

/* Reconvergence points in words, by definition, on the graph of single instructions. */
static void test_reconvergence(void **state) {
  (void)state;
  random_state = 12;
  for (int t = 0; t < 200; t++) {
    struct build b;
    open_arena();
    random_function(&b, (uint32_t[]){4, 8, 4, 2}, 4, 6, 4);
    add_insn(&b, MX_RET, 0, NULL);
    assert_true(assemble(&b));
    const struct ir_func *f = &b.f[0];
    const struct mx_func *out = &image.funcs[0];
    uint32_t n = f->ninsns, m = 0, *pc = calloc(n + 1, sizeof *pc);
    struct cfg_edge *edges = calloc((size_t)n * 10, sizeof *edges);
    for (uint32_t i = 0; i < n; i++) {
      const struct ir_insn *in = &f->insns[i];
      pc[i + 1] = pc[i] + mx_w_length(out->code[pc[i]]);
      if (in->op == MX_BRA) edges[m++] = (struct cfg_edge){i, f->labels[in->target].insn};
      if (in->op == MX_BRX)
        for (uint32_t k = 0; k < f->tables[in->table].nlabels; k++)
          edges[m++] = (struct cfg_edge){i, f->labels[f->tables[in->table].labels[k]].insn};
      /* under a guard, ending is no way to the end: lanes that end are not waited for */
      if (mx__ops[in->op].flags & MX_F_END && in->op != MX_BRX && mx__insn_ends(in))
        edges[m++] = (struct cfg_edge){i, n};
      if (!mx__insn_ends(in)) edges[m++] = (struct cfg_edge){i, i + 1};
    }
    struct cfg *g = mx__cfg_link(&arena, n, edges, m);
    bool endless = false;
    for (uint32_t i = 0; i < n; i++) endless |= !reaches_exit_without(g, i, IR_NONE);
    for (uint32_t i = 0; i < n && !endless; i++) {
      const struct ir_insn *in = &f->insns[i];
      mx_word w = out->code[pc[i]];
      uint32_t want = ipdom_by_definition(g, i);
      want = want == n ? MX_PC_RET : pc[want];
      if (in->op == MX_BRA) assert_int_equal(mx_w_reconv(w), in->guard == IR_NONE ? MX_PC_RET : want);
      if (in->op == MX_BRX) assert_int_equal(mx_w_field(w, 2) | mx_w_field(w, 3) << 10, want);
    }
    free(pc), free(edges);
    end(&b);
    mx__arena_free(&arena);
  }
}

/* ---- what is refused ------------------------------------------------------------------------------------- */

static void expect_refusal(struct build *b, const char *id) {
  assert_false(assemble(b));
  size_t k = 0;
  while (k < diags.count && diags.list[k].level != MX_DIAG_ERROR) k++; /* made code reads what nobody wrote: warnings */
  assert_true(k < diags.count);
  assert_string_equal(diags.list[k].id, id);
  end(b);
  mx__arena_free(&arena);
}

static void test_refusals(void **state) {
  (void)state;
  struct build b;
  open_arena(), begin(&b); /* more arguments than slots */
  b.f[0].args = calloc(600, sizeof *b.f[0].args);
  for (uint32_t i = 0; i < 600; i++) b.f[0].args[b.f[0].nargs++] = new_reg(&b.f[0], MX_T_b32);
  expect_refusal(&b, "too-many-values");

  open_arena(), begin(&b); /* a call with more predicates than there are */
  struct ir_opnd o[40];
  b.f[1].args = calloc(40, sizeof *b.f[1].args);
  for (uint32_t i = 0; i < 40; i++) {
    o[i] = reg(new_reg(&b.f[0], MX_T_pred));
    b.f[1].args[b.f[1].nargs++] = new_reg(&b.f[1], MX_T_pred);
  }
  add_insn(&b, MX_CALL, 40, o)->callee = 1;
  expect_refusal(&b, "too-many-values");

  open_arena(), begin(&b); /* addresses that cannot be made by instructions */
  struct mx_var vars[600] = {{0}};
  b.m.vars = vars, b.m.nvars = 600;
  uint32_t d = new_reg(&b.f[0], MX_T_b64);
  for (uint32_t i = 0; i < 600; i++)
    ADD(&b, MX_MOV_64, reg(d), (struct ir_opnd){.kind = IR_LIT, .lit = {.kind = MX_LIT_VAR, .index = i}});
  expect_refusal(&b, "too-many-literals");

  open_arena(), begin(&b);
  b.f[1].declared_only = true;
  add_insn(&b, MX_CALL, 0, NULL)->callee = 1;
  expect_refusal(&b, "undefined-function");
}

/* Whichever claim of memory fails, the jump arrives and nothing is lost (the leak checker sees to the latter). */
static void test_no_memory(void **state) {
  (void)state;
  static struct build b;
  random_state = 77;
  random_function(&b, (uint32_t[]){60, 700, 30, 5}, 700, 20, 60);
  for (volatile size_t allowed = 0;; allowed++) {
    arena = (struct mx_arena){.oom = &no_memory};
    diags = (struct mx_diags){.arena = &arena};
    failing_at = allowed;
    if (setjmp(no_memory)) {
      assert_ptr_equal(arena.oom, &no_memory);
      mx__arena_free(&arena);
      continue;
    }
    bool ok = mx__asm_back(&arena, &diags, &b.m, &image);
    failing_at = SIZE_MAX;
    mx__arena_free(&arena);
    assert_true(ok);
    break;
  }
  end(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_words),     cmocka_unit_test(test_names),         cmocka_unit_test(test_disassembled),
      cmocka_unit_test(test_module),    cmocka_unit_test(test_reconvergence), cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests_name("encode", tests, NULL, NULL);
}
