/* The container's writer: what is read back is what was written, bytes are canonical, and memory may run out anywhere.
 */
#include "images.h"

#include "failing.h"

#include "asm/container.c"
#undef malloc
#undef calloc
#undef realloc

#include "vm/load/module.h"
#include "vm/load/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct mx__image *read_back(const uint8_t *bytes, size_t size) {
  struct mx__image *image;
  char *why;
  if (mx__image_read(bytes, size, &image, &why) != MX__LOAD_OK) fail_msg("%s", why);
  return image;
}

static void same_lits(const struct mx_func *a, const struct mx_func *b) {
  assert_int_equal(a->nlits, b->nlits);
  for (uint32_t k = 0; k < a->nlits; k++) {
    assert_int_equal(a->lits[k].kind, b->lits[k].kind);
    if (a->lits[k].kind != MX_LIT_VALUE) assert_int_equal(a->lits[k].index, b->lits[k].index);
    assert_true(a->lits[k].value == b->lits[k].value);
  }
}

static void same_params(const struct mx_func *a, const struct mx_func *b) {
  assert_int_equal(a->nparams, b->nparams);
  assert_int_equal(a->param_bytes, b->param_bytes);
  for (uint32_t k = 0; k < a->nparams; k++) {
    const struct mx_param *p = &a->params[k], *q = &b->params[k];
    assert_string_equal(p->name, q->name);
    assert_true(p->offset == q->offset && p->size == q->size && p->align == q->align && p->type == q->type &&
                p->is_pointer == q->is_pointer);
  }
}

static void same_refs(const struct mx_slot_ref *a, uint32_t na, const struct mx_slot_ref *b, uint32_t nb) {
  assert_int_equal(na, nb);
  for (uint32_t k = 0; k < na; k++) assert_true(a[k].cls == b[k].cls && a[k].slot == b[k].slot);
}

static void same_tables(const struct mx_func *a, const struct mx_func *b) {
  assert_int_equal(a->ntables, b->ntables);
  for (uint32_t k = 0; k < a->ntables; k++) {
    assert_int_equal(a->tables[k].ntargets, b->tables[k].ntargets);
    assert_memory_equal(a->tables[k].targets, b->tables[k].targets, 4 * a->tables[k].ntargets);
  }
  assert_int_equal(a->nprotos, b->nprotos);
  for (uint32_t k = 0; k < a->nprotos; k++) {
    assert_true(a->protos[k].nres == b->protos[k].nres && a->protos[k].narg == b->protos[k].narg);
    if (a->protos[k].nres) assert_memory_equal(a->protos[k].res, b->protos[k].res, a->protos[k].nres);
    assert_memory_equal(a->protos[k].arg, b->protos[k].arg, a->protos[k].narg);
  }
}

/* Where a line entry says nothing new it is left out: compared is the line of every pc. */
static const struct mx_line *line_at(const struct mx_func *f, uint32_t pc) {
  static const struct mx_line none;
  const struct mx_line *found = &none;
  for (uint32_t k = 0; k < f->nlines && f->lines[k].pc <= pc; k++) found = &f->lines[k];
  return found;
}

static void same_lines(const struct mx_image *a, const struct mx_image *b, const struct mx_func *x,
                       const struct mx_func *y) {
  for (uint32_t pc = 0; pc < x->ncode; pc += 1 + x->ncode / 997) {
    const struct mx_line *p = line_at(x, pc), *q = line_at(y, pc);
    assert_int_equal(p->line, q->line);
    if (p->line) assert_string_equal(a->files[p->file], b->files[q->file]);
  }
}

static void same_names(const struct mx_func *a, const struct mx_func *b) {
  assert_int_equal(a->nnames, b->nnames);
  for (uint32_t k = 0; k < a->nnames; k++) {
    uint32_t j = 0;
    while (j < b->nnames && (strcmp(a->names[k].name, b->names[j].name) || a->names[k].lo != b->names[j].lo ||
                             a->names[k].hi != b->names[j].hi))
      j++;
    assert_true(j < b->nnames);
    const struct mx_name *p = &a->names[k], *q = &b->names[j];
    assert_true(p->cls == q->cls && p->type == q->type && p->spilled == q->spilled && p->slot == q->slot);
  }
  assert_int_equal(a->nlabels, b->nlabels);
  for (uint32_t k = 0; k < a->nlabels; k++) {
    assert_int_equal(a->labels[k].pc, b->labels[k].pc);
    assert_string_equal(a->labels[k].name, b->labels[k].name);
  }
}

static void same_func(const struct mx_func *a, const struct mx_func *b) {
  assert_string_equal(a->name, b->name);
  assert_int_equal(a->flags, b->flags);
  assert_true(a->n32 == b->n32 && a->n64 == b->n64 && a->npred == b->npred);
  assert_true(a->nspill32 == b->nspill32 && a->nspill64 == b->nspill64 && a->nspillpred == b->nspillpred);
  assert_true(a->local_bytes == b->local_bytes && a->arg_bytes == b->arg_bytes);
  assert_int_equal(a->ncode, b->ncode);
  assert_memory_equal(a->code, b->code, a->ncode * sizeof *a->code);
  same_lits(a, b);
  same_params(a, b);
  same_refs(a->args, a->nargs, b->args, b->nargs);
  same_refs(a->results, a->nresults, b->results, b->nresults);
  same_tables(a, b);
  assert_int_equal(a->nshared, b->nshared);
  if (a->nshared) assert_memory_equal(a->shared, b->shared, 4 * a->nshared);
  assert_memory_equal(a->maxntid, b->maxntid, sizeof a->maxntid);
  assert_memory_equal(a->reqntid, b->reqntid, sizeof a->reqntid);
  assert_int_equal(a->minnctapersm, b->minnctapersm);
  same_names(a, b);
}

static void same_vars(const struct mx_image *a, const struct mx_image *b) {
  assert_int_equal(a->nvars, b->nvars);
  for (uint32_t k = 0; k < a->nvars; k++) {
    const struct mx_var *v = &a->vars[k], *w = &b->vars[k];
    assert_string_equal(v->name, w->name);
    assert_true(v->space == w->space && v->flags == w->flags && v->align == w->align && v->size == w->size);
    assert_true(v->ninit == w->ninit && v->nrelocs == w->nrelocs);
    if (v->ninit) assert_memory_equal(v->init, w->init, v->ninit);
    for (uint32_t x = 0; x < v->nrelocs; x++) {
      const struct mx_reloc *r = &v->relocs[x], *s = &w->relocs[x];
      assert_true(r->offset == s->offset && r->size == s->size && r->byte == s->byte && r->kind == s->kind &&
                  r->index == s->index && r->addend == s->addend);
    }
  }
}

static void round_trip(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 6; seed++) {
    struct made m = made_image(seed, seed & 1 ? 32 : 64, seed < 5 ? 1 : 4);
    size_t size, again_size;
    uint8_t *bytes = mx__image_write(&m.image, &size);
    struct mx__image *back = read_back(bytes, size);
    const struct mx_image *a = &m.image, *b = &back->image;
    assert_true(a->lanes == b->lanes && a->sm == b->sm && a->ptx_version == b->ptx_version &&
                a->address_size == b->address_size);
    same_vars(a, b);
    assert_int_equal(a->nfuncs, b->nfuncs);
    for (uint32_t k = 0; k < a->nfuncs; k++) {
      same_func(&a->funcs[k], &b->funcs[k]);
      same_lines(a, b, &a->funcs[k], &b->funcs[k]);
    }
    char *why;
    if (mx__verify(b, &why) != MX__LOAD_OK) fail_msg("%s", why);
    uint8_t *again = mx__image_write(b, &again_size);
    assert_int_equal(size, again_size);
    assert_memory_equal(bytes, again, size);
    free(bytes);
    free(again);
    mx__image_free(back);
    made_free(&m);
  }
}

/* Words that no table explains travel as they are. */
static void any_words(void **state) {
  (void)state;
  struct made m = {.state = 7};
  enum { N = 3000 };
  mx_word *code = made_take(&m, N * sizeof *code);
  for (int k = 0; k < N; k++) {
    code[k] = made_random(&m);
    if (k & 1) code[k] = (code[k] & ~(mx_word)2047) | made_below(&m, MX_OP_COUNT);
    if (k % 3 == 1) code[k] &= 0x1FFFF;
  }
  struct mx_func f = {.name = "words", .code = code, .ncode = N};
  m.image = (struct mx_image){.lanes = 64, .address_size = 64, .funcs = &f, .nfuncs = 1};
  size_t size;
  uint8_t *bytes = mx__image_write(&m.image, &size);
  struct mx__image *back = read_back(bytes, size);
  assert_int_equal(back->image.funcs[0].ncode, N);
  assert_memory_equal(back->image.funcs[0].code, code, N * sizeof *code);
  free(bytes);
  mx__image_free(back);
  made_free(&m);
}

static void literals(void **state) {
  (void)state;
  struct mx_lit lits[300] = {{0}};
  uint32_t n = 0;
  for (unsigned s = 0; s < 64; s += 3) {
    uint64_t one = (uint64_t)1 << s;
    const uint64_t v[] = {one, one - 1, 0 - one, ~one, (uint32_t)(0 - one), one << 3 | 5};
    for (unsigned k = 0; k < 6; k++) lits[n++].value = v[k];
  }
  lits[n++] = (struct mx_lit){MX_LIT_VAR, 3, 0 - (uint64_t)16};
  lits[n++] = (struct mx_lit){MX_LIT_GENERIC, UINT32_MAX, (uint64_t)1 << 63};
  lits[n++] = (struct mx_lit){MX_LIT_FUNC, 0, 0};
  struct mx_func f = {.name = "", .lits = lits, .nlits = n};
  struct mx_image image = {.funcs = &f, .nfuncs = 1};
  size_t size;
  uint8_t *bytes = mx__image_write(&image, &size);
  struct mx__image *back = read_back(bytes, size);
  same_lits(&f, &back->image.funcs[0]);
  free(bytes);
  mx__image_free(back);
}

static void names_with_numbers(void **state) {
  (void)state;
  static const char *const names[] = {"%r0",
                                      "%r12",
                                      "x007",
                                      "9",
                                      "",
                                      "a1b22c333",
                                      "n4294967296123456789",
                                      "0000000000000",
                                      "%rd999999999",
                                      "%rd1000000000",
                                      "_Z3fooPfi_param_10"};
  static char big[400];
  memset(big, 'q', 390);
  struct mx_label labels[12] = {{0}};
  for (uint32_t k = 0; k < 11; k++) labels[k] = (struct mx_label){names[k], k};
  strcpy(big + 380, "77");
  labels[11] = (struct mx_label){big, 11};
  struct mx_func f = {.name = big, .labels = labels, .nlabels = 12};
  struct mx_image image = {.funcs = &f, .nfuncs = 1};
  size_t size;
  uint8_t *bytes = mx__image_write(&image, &size);
  struct mx__image *back = read_back(bytes, size);
  same_names(&f, &back->image.funcs[0]);
  free(bytes);
  mx__image_free(back);
}

static void out_of_memory(void **state) {
  (void)state;
  struct made m = made_image(3, 64, 1);
  size_t size, at;
  failing_calls = 0;
  uint8_t *bytes = mx__image_write(&m.image, &size);
  size_t calls = failing_calls;
  assert_true(calls > 10);
  free(bytes);
  for (at = 0; at < calls; at++) {
    failing_at = at;
    assert_null(mx__image_write(&m.image, &size));
  }
  failing_at = calls;
  bytes = mx__image_write(&m.image, &size);
  failing_at = SIZE_MAX;
  assert_non_null(bytes);
  free(bytes);
  made_free(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(round_trip),         cmocka_unit_test(any_words),     cmocka_unit_test(literals),
      cmocka_unit_test(names_with_numbers), cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
