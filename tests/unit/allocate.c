/* Slots and cells: random programs run twice, on virtual registers and from the words; sharing against an independent
 * liveness; more values than there are slots. */
#include "ir_run.h"

/* In the short form (under sanitizers) a quarter of the random programs. */
static uint32_t programs(uint32_t count) {
  const char *quick = getenv("MX_QUICK");
  return quick && *quick ? (count + 3) / 4 : count;
}

static void random_programs(uint32_t count, uint64_t seed, const uint32_t counts[4], uint32_t window, uint32_t nblocks,
                            uint32_t block_length, bool one_slot_per_name) {
  random_state = seed;
  for (uint32_t t = 0; t < programs(count); t++) {
    struct build b;
    open_arena();
    random_function(&b, counts, window, nblocks, block_length);
    b.m.one_slot_per_name = one_slot_per_name;
    assert_true(assemble(&b));
    compare_runs(&b);
    end(&b);
    mx__arena_free(&arena);
  }
}

static void test_random_programs(void **state) {
  (void)state;
  random_programs(400, 1, (uint32_t[]){6, 12, 8, 3}, 6, 8, 10, false);
  random_programs(100, 2, (uint32_t[]){20, 60, 40, 10}, 20, 30, 12, false);
  random_programs(100, 3, (uint32_t[]){6, 12, 8, 3}, 6, 8, 10, true);
}

static void test_random_programs_that_spill(void **state) {
  (void)state;
  random_programs(60, 4, (uint32_t[]){60, 60, 40, 10}, 60, 20, 20, false);
  random_programs(12, 5, (uint32_t[]){80, 1200, 700, 150}, 1200, 40, 80, false);
  random_programs(12, 6, (uint32_t[]){80, 900, 700, 150}, 30, 60, 60, false);
  random_programs(6, 7, (uint32_t[]){80, 900, 700, 150}, 30, 60, 60, true);
}

/* ---- allocation against liveness computed another way ---------------------------------------------------- */

/* Bit sets over registers, one for each instruction, iterated until nothing changes. */
static bool *alive_before(const struct ir_func *f) {
  uint32_t n = f->ninsns, nregs = f->nregs;
  bool *alive = calloc((size_t)(n + 1) * nregs + 1, 1);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = n; i-- > 0;) {
      const struct ir_insn *in = &f->insns[i];
      bool *now = calloc(nregs + 1, 1);
      bool guarded = in->guard != IR_NONE;
      if (guarded || (in->op != MX_BRA && in->op != MX_BRX && in->op != MX_RET && in->op != MX_EXIT))
        for (uint32_t r = 0; r < nregs; r++) now[r] |= alive[(size_t)(i + 1) * nregs + r];
      if (in->op == MX_BRA)
        for (uint32_t r = 0; r < nregs; r++) now[r] |= alive[(size_t)f->labels[in->target].insn * nregs + r];
      if (in->op == MX_BRX)
        for (uint32_t k = 0; k < f->tables[in->table].nlabels; k++)
          for (uint32_t r = 0; r < nregs; r++)
            now[r] |= alive[(size_t)f->labels[f->tables[in->table].labels[k]].insn * nregs + r];
      if (in->op == MX_RET)
        for (uint32_t k = 0; k < f->nresults; k++) now[f->results[k]] = true;
      for (uint32_t k = 0; k < in->nopnds && !guarded; k++)
        if (in->opnds[k].kind == IR_REG && mx__insn_writes(in, k)) now[in->opnds[k].reg] = false;
      for (uint32_t k = 0; k < in->nopnds; k++)
        if (in->opnds[k].kind == IR_REG && !mx__insn_writes(in, k)) now[in->opnds[k].reg] = true;
      if (guarded) now[in->guard] = true;
      if (memcmp(now, alive + (size_t)i * nregs, nregs)) memcpy(alive + (size_t)i * nregs, now, nregs), changed = true;
      free(now);
    }
  }
  return alive;
}

/* The slot of each register, read from the words; the code must be the instructions one by one. */
static uint32_t *slots_from_words(const struct ir_func *f, const struct mx_func *out) {
  uint32_t *slot = malloc((f->nregs + 1) * sizeof *slot), pc = 0;
  memset(slot, 0xFF, (f->nregs + 1) * sizeof *slot);
  for (uint32_t i = 0; i < f->ninsns; i++) {
    const struct ir_insn *in = &f->insns[i];
    const mx_word *w = &out->code[pc];
    for (uint32_t k = 0; k < in->nopnds; k++) {
      if (in->opnds[k].kind != IR_REG) continue;
      uint32_t at = mx_w_operand(w, k + (in->op == MX_CALL ? 4 : 0)), r = in->opnds[k].reg;
      assert_true(slot[r] == UINT32_MAX || slot[r] == at);
      slot[r] = at;
    }
    if (in->guard != IR_NONE) slot[in->guard] = mx_w_guard(*w);
    pc += mx_w_length(*w);
  }
  for (uint32_t i = 0; i < f->nargs; i++) slot[f->args[i]] = out->args[i].slot;
  for (uint32_t i = 0; i < f->nresults; i++) slot[f->results[i]] = out->results[i].slot;
  return slot;
}

static bool share(const struct ir_func *f, const uint32_t *slot, uint32_t x, uint32_t y) {
  if (slot[x] == UINT32_MAX || slot[y] == UINT32_MAX ||
      mx__type_file(f->regs[x].type) != mx__type_file(f->regs[y].type))
    return false;
  return slot[x] < slot[y] + mx__type_width(f->regs[y].type) && slot[y] < slot[x] + mx__type_width(f->regs[x].type);
}

static void check_sharing(const struct ir_func *f, const struct mx_func *out) {
  bool *alive = alive_before(f);
  uint32_t *slot = slots_from_words(f, out);
  for (uint32_t x = 0; x < f->nregs; x++)
    for (uint32_t y = 0; y < x; y++) {
      if (!share(f, slot, x, y)) continue;
      for (uint32_t i = 0; i < f->ninsns; i++)
        assert_false(alive[(size_t)i * f->nregs + x] && alive[(size_t)i * f->nregs + y]);
    }
  /* A write must not hurt a value alive after it, even if nobody reads what is written. */
  for (uint32_t i = 0; i + 1 < f->ninsns; i++)
    for (uint32_t k = 0; k < f->insns[i].nopnds; k++) {
      if (f->insns[i].opnds[k].kind != IR_REG || !mx__insn_writes(&f->insns[i], k)) continue;
      uint32_t x = f->insns[i].opnds[k].reg;
      for (uint32_t y = 0; y < f->nregs; y++)
        if (y != x && share(f, slot, x, y)) assert_false(alive[(size_t)(i + 1) * f->nregs + y]);
    }
  free(alive), free(slot);
}

static void test_sharing(void **state) {
  (void)state;
  random_state = 11;
  for (uint32_t t = 0; t < programs(150); t++) {
    struct build b;
    open_arena();
    random_function(&b, (uint32_t[]){10, 30, 20, 6}, 5, 8, 10);
    add_insn(&b, MX_RET, 0, NULL);
    assert_true(assemble(&b));
    assert_int_equal(image.funcs[0].nspill32 + image.funcs[0].nspill64 + image.funcs[0].nspillpred, 0);
    check_sharing(&b.f[0], &image.funcs[0]);
    end(&b);
    mx__arena_free(&arena);
  }
}

/* Loads `count` values into the registers from `first` on, or stores them. */
static void load_values(struct build *b, uint32_t first, uint32_t count, uint32_t at) {
  for (uint32_t i = 0; i < count; i++) ADD(b, MX_LD_B32, reg(first + i), reg(at), value(i));
}
static void store_values(struct build *b, uint32_t first, uint32_t count, uint32_t at) {
  for (uint32_t i = 0; i < count; i++) ADD(b, MX_ST_B32, reg(at), value(i), reg(first + i));
}

/* Values that lanes need which wait behind a loop or a branch share no slot with what others compute meanwhile, as long
 * as there are slots. */
static void test_waiting_lanes(void **state) {
  (void)state;
  static const struct {
    enum { LOOP, SECOND_SIDE, FIRST_SIDE } where; /* are the other values */
    uint32_t count, slots;
  } cases[] = {
      {LOOP, 1, 2},        {LOOP, 200, 400},        {LOOP, 300, 300},
      {SECOND_SIDE, 3, 6}, {SECOND_SIDE, 300, 300}, {FIRST_SIDE, 3, 3},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct build b;
    open_arena(), begin(&b);
    const uint32_t n = cases[i].count, x = b.f[0].nregs;
    for (uint32_t k = 0; k < 2 * n; k++) new_reg(&b.f[0], MX_T_b32);
    const uint32_t y = x + n, a = new_reg(&b.f[0], MX_T_b64), p = new_reg(&b.f[0], MX_T_pred);
    ADD(&b, MX_MOV_64, reg(a), value(64));
    ADD(&b, MX_VOTE_ACTIVE, reg(p), value(1));
    if (cases[i].where == LOOP) {
      const uint32_t top = add_label(&b);
      load_values(&b, x, n, a);
      const uint32_t leaves = b.f[0].ninsns;
      add_bra(&b, p, 0);
      load_values(&b, y, n, a), store_values(&b, y, n, a);
      add_bra(&b, IR_NONE, top);
      b.f[0].insns[leaves].target = add_label(&b);
    } else {
      const uint32_t branch = b.f[0].ninsns;
      add_bra(&b, p, 0);
      if (cases[i].where == FIRST_SIDE) load_values(&b, y, n, a), store_values(&b, y, n, a);
      load_values(&b, x, n, a);
      const uint32_t leaves = b.f[0].ninsns;
      add_bra(&b, IR_NONE, 0);
      b.f[0].insns[branch].target = add_label(&b);
      if (cases[i].where == SECOND_SIDE) load_values(&b, y, n, a), store_values(&b, y, n, a);
      load_values(&b, x, n, a);
      b.f[0].insns[leaves].target = add_label(&b);
    }
    store_values(&b, x, n, a);
    add_insn(&b, MX_RET, 0, NULL);
    assert_true(assemble(&b));
    assert_int_equal(image.funcs[0].n32, cases[i].slots);
    assert_int_equal(image.funcs[0].nspill32, 0);
    compare_runs(&b);
    end(&b);
    mx__arena_free(&arena);
  }
}

/* ---- pressure and limits ------------------------------------------------------------------------------- */

/* `count` values of a type made first and used afterwards, under guards too. */
static void many_values(struct build *b, uint8_t type, uint32_t count) {
  begin(b);
  uint32_t first = b->f[0].nregs;
  for (uint32_t i = 0; i < count; i++) new_reg(&b->f[0], type);
  uint32_t d = new_reg(&b->f[0], MX_T_b32), p = new_reg(&b->f[0], MX_T_pred), x = new_reg(&b->f[0], MX_T_b64);
  ADD(b, MX_MOV_64, reg(x), value(5));
  uint16_t load = type == MX_T_b32 ? MX_LD_B32 : type == MX_T_b64 ? MX_LD_B64 : MX_LD_B128;
  for (uint32_t i = 0; i < count; i++) {
    if (type == MX_T_pred) ADD(b, MX_VOTE_ACTIVE, reg(first + i), reg(i ? first + i - 1 : p));
    else ADD(b, load, reg(first + i), reg(x), value(i));
  }
  uint32_t top = add_label(b);
  for (uint32_t i = 0; i < count; i++) {
    uint16_t store = type == MX_T_b32 ? MX_ST_B32 : type == MX_T_b64 ? MX_ST_B64 : MX_ST_B128;
    if (type == MX_T_pred) ADD(b, MX_MOV_32, reg(d), value(i))->guard = first + i;
    else ADD(b, store, reg(x), value(0), reg(first + i));
    ADD(b, MX_ST_B32, reg(x), value(4), reg(d));
  }
  ADD(b, MX_VOTE_ACTIVE, reg(p), reg(p));
  add_bra(b, p, top);
}

static void test_pressure(void **state) {
  (void)state;
  static const struct {
    uint8_t type;
    uint32_t count;
  } cases[] = {
      {MX_T_pred, 31},  {MX_T_pred, 60},  {MX_T_b32, 1000}, {MX_T_b64, 511},
      {MX_T_b64, 1000}, {MX_T_b128, 400}, {MX_T_b32, 3000},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct build b;
    open_arena();
    many_values(&b, cases[i].type, cases[i].count);
    assert_true(assemble(&b));
    const struct mx_func *f = &image.funcs[0];
    assert_true(f->npred <= MX_MAX_PREDS && f->n32 <= MX_MAX_SLOTS && f->n64 <= MX_MAX_SLOTS);
    uint32_t cells = (uint32_t)f->nspillpred + f->nspill32 + f->nspill64;
    uint32_t need = cases[i].count * mx__type_width(cases[i].type), room = cases[i].type == MX_T_pred ? 31 : 512;
    if (need + 1 > room) assert_in_range(cells, need - room, need - room + 64);
    else assert_int_equal(cells, 0);
    compare_runs(&b);
    end(&b);
    mx__arena_free(&arena);
  }
}

/* Slots that the author wrote stay, and others keep out of their way. */
static void test_pins(void **state) {
  (void)state;
  struct build b;
  open_arena(), begin(&b);
  uint32_t x = new_reg(&b.f[0], MX_T_b32), y = new_reg(&b.f[0], MX_T_b32), z = new_reg(&b.f[0], MX_T_b64),
           q = new_reg(&b.f[0], MX_T_b128);
  b.f[0].regs[x].fixed = 0, b.f[0].regs[z].fixed = 2;
  ADD(&b, MX_MOV_32, reg(x), value(1));
  ADD(&b, MX_MOV_32, reg(y), value(2));
  ADD(&b, MX_MOV_64, reg(z), value(3));
  ADD(&b, MX_LD_B128, reg(q), reg(z), value(0));
  ADD(&b, MX_ST_B128, reg(z), value(0), reg(q));
  ADD(&b, MX_ADD_U32, reg(x), reg(x), reg(y));
  ADD(&b, MX_ST_B32, reg(z), value(0), reg(x));
  assert_true(assemble(&b));
  const struct mx_func *f = &image.funcs[0];
  assert_int_equal(mx_w_field(f->code[0], 0), 0);
  assert_int_equal(mx_w_field(f->code[1], 0), 1);
  assert_int_equal(mx_w_field(f->code[2], 0), 2);
  assert_int_equal(mx_w_field(f->code[3], 0), 0);
  assert_int_equal(f->n64, 3);
  end(&b);
  mx__arena_free(&arena);
}

static void test_one_slot_per_name(void **state) {
  (void)state;
  for (int debug = 0; debug < 2; debug++) {
    struct build b;
    open_arena(), begin(&b);
    b.m.one_slot_per_name = debug;
    uint32_t a = new_reg(&b.f[0], MX_T_b64);
    ADD(&b, MX_MOV_64, reg(a), value(64));
    for (uint32_t i = 0; i < 100; i++) {
      uint32_t x = new_reg(&b.f[0], MX_T_b32);
      ADD(&b, MX_MOV_32, reg(x), value(i));
      ADD(&b, MX_ST_B32, reg(a), value(0), reg(x));
    }
    assert_true(assemble(&b));
    const struct mx_func *f = &image.funcs[0];
    assert_int_equal(f->n32, debug ? 100 : 1);
    assert_int_equal(f->nnames, 101);
    for (uint32_t i = 0; i < f->nnames && debug; i++) assert_true(f->names[i].lo == 0 && f->names[i].hi == f->ncode);
    compare_runs(&b);
    end(&b);
    mx__arena_free(&arena);
  }
}

/* What the assembler itself makes for one guarded instruction does not live from the function's begin, nor round loops.
 */
static void test_single_writes(void **state) {
  (void)state;
  struct build b;
  open_arena(), begin(&b);
  uint32_t p = new_reg(&b.f[0], MX_T_pred), a = new_reg(&b.f[0], MX_T_b64), top = add_label(&b);
  for (uint32_t i = 0; i < 50; i++) {
    uint32_t x = new_reg(&b.f[0], MX_T_b32);
    b.f[0].regs[x].name = NULL;
    ADD(&b, MX_SREG_32, reg(x), (struct ir_opnd){.kind = IR_RAW, .raw = MX_SR_TID_X})->guard = p;
    ADD(&b, MX_ST_B32, reg(a), value(i), reg(x))->guard = p;
  }
  add_bra(&b, p, top);
  assert_true(assemble(&b));
  assert_int_equal(image.funcs[0].n32, 1);
  compare_runs(&b);
  end(&b);
  mx__arena_free(&arena);
}

/* Results have slots also where no ret is reached, spilled or not. */
static void test_never_returns(void **state) {
  (void)state;
  for (uint32_t count = 10; count <= 200; count += 190) {
    struct build b;
    open_arena();
    many_values(&b, MX_T_pred, count);
    b.f[0].results = calloc(3, sizeof *b.f[0].results);
    for (uint32_t i = 0; i < 3; i++) b.f[0].results[b.f[0].nresults++] = i < 2 ? i : new_reg(&b.f[0], MX_T_b128);
    add_bra(&b, IR_NONE, 0);
    assert_true(assemble(&b));
    compare_runs(&b);
    end(&b);
    mx__arena_free(&arena);
  }
}

/* Literals beyond the pool are made by instructions, with the same values. */
static void test_many_literals(void **state) {
  (void)state;
  struct build b;
  open_arena(), begin(&b);
  struct mx_var vars[100];
  for (int i = 0; i < 100; i++) vars[i] = (struct mx_var){.name = "v", .space = MX_GLOBAL, .align = 4, .size = 4};
  b.m.vars = vars, b.m.nvars = 0;
  uint32_t d = new_reg(&b.f[0], MX_T_b64), e = new_reg(&b.f[0], MX_T_b32), p = new_reg(&b.f[0], MX_T_pred);
  for (uint32_t i = 0; i < 800; i++) {
    ADD(&b, MX_MOV_64, reg(d), value(mix(3, i)));
    ADD(&b, MX_ADD_U64, reg(d), reg(d), value(mix(4, i)))->guard = p;
    ADD(&b, MX_ST_B32, reg(d), value(i * 4), value(i + 1000));
    ADD(&b, MX_LD_B32, reg(e), value(i), value(~(uint64_t)i));
    ADD(&b, MX_ST_B32_A32, reg(e), value(i * 8 + 1), reg(e));
    ADD(&b, MX_VOTE_ACTIVE, reg(p), value(i & 1));
  }
  assert_true(assemble(&b));
  assert_int_equal(image.funcs[0].nlits, MX_MAX_LITS);
  compare_runs(&b);
  end(&b);
  mx__arena_free(&arena);
}
int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_programs),   cmocka_unit_test(test_random_programs_that_spill),
      cmocka_unit_test(test_sharing),           cmocka_unit_test(test_pressure),
      cmocka_unit_test(test_never_returns),     cmocka_unit_test(test_pins),
      cmocka_unit_test(test_one_slot_per_name), cmocka_unit_test(test_single_writes),
      cmocka_unit_test(test_many_literals),     cmocka_unit_test(test_waiting_lanes),
  };
  return cmocka_run_group_tests_name("allocate", tests, NULL, NULL);
}
