/* The table's rows as arrays, for all folders, and functions that read them. */
#include "core/intrinsics.h"

#include <stdatomic.h>
#include <string.h>

/* Shapes as operand lists. A shape used in opcodes.def stands here and, for lane rows, in the engines' expansions. */
// clang-format off
#define O(t_) {MX_OUT, MX_T_##t_, MX_EXPLICIT, 0, 0}
#define I(t_) {MX_IN, MX_T_##t_, MX_EXPLICIT, 0, 0}
#define IMPLICIT(role_, t_, how_) {MX_##role_, MX_T_##t_, MX_##how_, 0, 0}
#define ISA_S0() 0, {{0, 0, 0, 0, 0}}
#define ISA_S1(a_) 1, {I(a_)}
#define ISA_NUM(range_) 1, {{MX_IN, MX_T_raw, MX_EXPLICIT, MX_RANGE_##range_, 0}}
#define ISA_S2(a_, b_) 2, {I(a_), I(b_)}
#define ISA_S4(a_, b_, c_, e_) 4, {I(a_), I(b_), I(c_), I(e_)}
#define ISA_S4A(a_, b_, c_, e_, p_) 6, {I(a_), I(b_), I(c_), I(e_), I(p_), I(off)}
#define ISA_S5(a_, b_, c_, e_, g_) 5, {I(a_), I(b_), I(c_), I(e_), I(g_)}
#define ISA_R0(d_) 1, {O(d_)}
#define ISA_R1(d_, a_) 2, {O(d_), I(a_)}
#define ISA_R2(d_, a_, b_) 3, {O(d_), I(a_), I(b_)}
#define ISA_R3(d_, a_, b_, c_) 4, {O(d_), I(a_), I(b_), I(c_)}
#define ISA_R4(d_, a_, b_, c_, e_) 5, {O(d_), I(a_), I(b_), I(c_), I(e_)}
#define ISA_RR1(d_, q_, a_) 3, {O(d_), O(q_), I(a_)}
#define ISA_RR2(d_, q_, a_, b_) 4, {O(d_), O(q_), I(a_), I(b_)}
#define ISA_RR3(d_, q_, a_, b_, c_) 5, {O(d_), O(q_), I(a_), I(b_), I(c_)}
#define ISA_RR4(d_, q_, a_, b_, c_, e_) 6, {O(d_), O(q_), I(a_), I(b_), I(c_), I(e_)}
#define ISA_RR5(d_, q_, a_, b_, c_, e_, g_) 7, {O(d_), O(q_), I(a_), I(b_), I(c_), I(e_), I(g_)}
#define ISA_RRR2(d_, q_, p_, a_, b_) 5, {O(d_), O(q_), O(p_), I(a_), I(b_)}
#define ISA_UNP4(d_, a_) 5, {O(d_), O(d_), O(d_), O(d_), I(a_)}
/* carries: C before the digit writes one, after it reads one */
#define ISA_RC2(d_, a_, b_) 4, {O(d_), IMPLICIT(OUT, pred, CARRY), I(a_), I(b_)}
#define ISA_R2C(d_, a_, b_) 4, {O(d_), I(a_), I(b_), IMPLICIT(IN, pred, CARRY)}
#define ISA_RC2C(d_, a_, b_) 5, {O(d_), IMPLICIT(OUT, pred, CARRY), I(a_), I(b_), IMPLICIT(IN, pred, CARRY)}
#define ISA_RC3(d_, a_, b_, c_) 5, {O(d_), IMPLICIT(OUT, pred, CARRY), I(a_), I(b_), I(c_)}
#define ISA_R3C(d_, a_, b_, c_) 5, {O(d_), I(a_), I(b_), I(c_), IMPLICIT(IN, pred, CARRY)}
#define ISA_RC3C(d_, a_, b_, c_) 6, {O(d_), IMPLICIT(OUT, pred, CARRY), I(a_), I(b_), I(c_), IMPLICIT(IN, pred, CARRY)}
#define ISA_VID(d_, a_, b_, c_) 5, {O(d_), I(a_), I(b_), IMPLICIT(IN, c_, ZERO), IMPLICIT(IN, u32, SELECTORS)}
#define ISA_VEC(d_, a_, b_, c_) 5, {O(d_), I(a_), I(b_), I(c_), IMPLICIT(IN, u32, SELECTORS)}
#define ISA_LD1(d_, p_) 3, {O(d_), I(p_), I(off)}
#define ISA_R1A(d_, a_, p_) 4, {O(d_), I(a_), I(p_), I(off)}
#define ISA_LD2(d_, p_) 4, {O(d_), O(d_), I(p_), I(off)}
#define ISA_LD4(d_, p_) 6, {O(d_), O(d_), O(d_), O(d_), I(p_), I(off)}
#define ISA_ST1(v_, p_) 3, {I(p_), I(off), I(v_)}
#define ISA_ST2(v_, p_) 4, {I(p_), I(off), I(v_), I(v_)}
#define ISA_ST4(v_, p_) 6, {I(p_), I(off), I(v_), I(v_), I(v_), I(v_)}
#define ISA_AT1(t_, p_) 4, {O(t_), I(p_), I(off), I(t_)}
#define ISA_AT2(t_, p_) 5, {O(t_), I(p_), I(off), I(t_), I(t_)}
#define ISA_RE1(t_, p_) 3, {I(p_), I(off), I(t_)}
#define ISA_RV2(t_, p_) 4, {I(p_), I(off), I(t_), I(t_)}
#define ISA_RV4(t_, p_) 6, {I(p_), I(off), I(t_), I(t_), I(t_), I(t_)}
#define ISA_RV8(t_, p_) 10, {I(p_), I(off), I(t_), I(t_), I(t_), I(t_), I(t_), I(t_), I(t_), I(t_)}
#define ISA_AV2(t_, p_) 6, {O(t_), O(t_), I(p_), I(off), I(t_), I(t_)}
#define ISA_AV4(t_, p_) 10, {O(t_), O(t_), O(t_), O(t_), I(p_), I(off), I(t_), I(t_), I(t_), I(t_)}
#define ISA_AV8(t_, p_) 18, {O(t_), O(t_), O(t_), O(t_), O(t_), O(t_), O(t_), O(t_), I(p_), I(off), \
                             I(t_), I(t_), I(t_), I(t_), I(t_), I(t_), I(t_), I(t_)}
#define ISA_PF(p_) 2, {I(p_), I(off)}
#define ISA_PFN(p_) 3, {I(p_), I(off), I(u32)}
/* n operands in braces, the v-th such vector of their instruction */
#define V1(role_, t_, v_) {MX_##role_, MX_T_##t_, MX_EXPLICIT, 0, v_}
#define V2(role_, t_, v_) V1(role_, t_, v_), V1(role_, t_, v_)
#define V4(role_, t_, v_) V2(role_, t_, v_), V2(role_, t_, v_)
#define V8(role_, t_, v_) V4(role_, t_, v_), V4(role_, t_, v_)
#define ISA_FRAG(n_, t_, p_) n_ + 3, {V##n_(OUT, t_, 1), I(p_), I(off), IMPLICIT(IN, u32, ZERO)}
#define ISA_TILE(n_, t_, p_) n_ + 3, {I(p_), I(off), V##n_(IN, t_, 1), IMPLICIT(IN, u32, ZERO)}
#define ISA_MMA(nd_, td_, na_, ta_, nb_, tb_, nc_, tc_) nd_ + na_ + nb_ + nc_, \
  {V##nd_(OUT, td_, 1), V##na_(IN, ta_, 2), V##nb_(IN, tb_, 3), V##nc_(IN, tc_, 4)}
#define ISA_MMASP(range_, shape_) ISA_MMASP_(range_, ISA_BARE shape_)
#define ISA_MMASP_(range_, ...) ISA_MMASP__(range_, __VA_ARGS__)
#define ISA_MMASP__(range_, nd_, td_, na_, ta_, nb_, tb_, nc_, tc_) nd_ + na_ + nb_ + nc_ + 2, \
  {V##nd_(OUT, td_, 1), V##na_(IN, ta_, 2), V##nb_(IN, tb_, 3), V##nc_(IN, tc_, 4), I(b32), \
   {MX_IN, MX_T_raw, MX_EXPLICIT, MX_RANGE_##range_, 0}}
#define ISA_BARE(...) __VA_ARGS__
#define ISA_FILLED(n_, t_, a_) n_ + 1, {V##n_(OUT, t_, 1), I(a_)}
#define ISA_LDV(n_, t_, p_) n_ + 2, {V##n_(OUT, t_, 1), I(p_), I(off)}
#define ISA_STV(n_, t_, p_) n_ + 2, {I(p_), I(off), V##n_(IN, t_, 1)}
#define ISA_MBSET(p_) 3, {I(p_), I(off), I(u32)}
#define ISA_MBARRIVE(p_) 4, {O(b64), I(p_), I(off), I(u32)}
#define ISA_MBTEST(t_, p_) 4, {O(pred), I(p_), I(off), I(t_)}
#define ISA_MBTRY(t_, p_) 5, {O(pred), I(p_), I(off), I(t_), IMPLICIT(IN, u32, ZERO)}
#define COPY_OPERANDS(range_, p_) I(p_), I(off), I(u64), I(off), {MX_IN, MX_T_raw, MX_EXPLICIT, MX_RANGE_##range_, 0}
#define ISA_CPA(range_, p_) 5, {COPY_OPERANDS(range_, p_)}
#define ISA_CPA_BYTES(range_, p_) 6, {COPY_OPERANDS(range_, p_), I(u32)}
#define ISA_CPA_IGNORE(range_, p_) 6, {COPY_OPERANDS(range_, p_), I(pred)}
#define ISA_CPA_HINT(range_, p_) 6, {COPY_OPERANDS(range_, p_), I(b64)}
#define ISA_CPA_BYTES_HINT(range_, p_) 7, {COPY_OPERANDS(range_, p_), I(u32), I(b64)}
#define ISA_CPA_IGNORE_HINT(range_, p_) 7, {COPY_OPERANDS(range_, p_), I(pred), I(b64)}
#define BULK_OPERANDS(to_, from_) I(to_), I(off), I(from_), I(off), I(u32)
#define ISA_BULKM(to_, from_) 7, {BULK_OPERANDS(to_, from_), I(to_), I(off)}
#define ISA_BULKM_HINT(to_, from_) 8, {BULK_OPERANDS(to_, from_), I(to_), I(off), I(b64)}
#define ISA_BULKM_MASK(to_, from_) 8, {BULK_OPERANDS(to_, from_), I(to_), I(off), I(b16)}
#define ISA_BULKM_MASK_HINT(to_, from_) 9, {BULK_OPERANDS(to_, from_), I(to_), I(off), I(b16), I(b64)}
#define ISA_BULKG(to_, from_) 5, {BULK_OPERANDS(to_, from_)}
#define ISA_BULKG_HINT(to_, from_) 6, {BULK_OPERANDS(to_, from_), I(b64)}
#define ISA_PFN_HINT(p_) 4, {I(p_), I(off), I(u32), I(b64)}
#define STA_1(t_) I(t_)
#define STA_2(t_) V2(IN, t_, 1)
#define STA_4(t_) V4(IN, t_, 1)
#define ISA_STA(n_, t_, p_) n_ + 4, {I(p_), I(off), STA_##n_(t_), I(p_), I(off)}
#define ISA_D3(d_, a_) 4, {O(d_), O(d_), O(d_), I(a_)}
/* Textures and surfaces: results, the object's address, a sampler apart from it, coordinates, and what a form has
 * beyond them. */
#define TEX_COUNT_1D 1
#define TEX_COUNT_2D 2
#define TEX_COUNT_3D 4
#define TEX_COUNT_A1D 2
#define TEX_COUNT_A2D 4
#define TEX_COUNT_ACUBE 4
#define TEX_COORDS_1D(c_) V1(IN, c_, 2)
#define TEX_COORDS_2D(c_) V2(IN, c_, 2)
#define TEX_COORDS_3D(c_) V2(IN, c_, 2), V1(IN, c_, 2), V1(IN, b32, 2)
#define TEX_COORDS_A1D(c_) V1(IN, u32, 2), V1(IN, c_, 2)
#define TEX_COORDS_A2D(c_) V1(IN, u32, 2), V2(IN, c_, 2), V1(IN, b32, 2)
#define TEX_COORDS_ACUBE(c_) V1(IN, u32, 2), V2(IN, c_, 2), V1(IN, c_, 2)
#define TEX_COUNT_NONE 0
#define TEX_COUNT_LEVEL 1
#define TEX_COUNT_GRAD1 2
#define TEX_COUNT_GRAD2 4
#define TEX_COUNT_GRAD4 8
#define TEX_EXTRA_NONE(c_)
#define TEX_EXTRA_LEVEL(c_) , I(c_)
#define TEX_EXTRA_GRAD1(c_) , V1(IN, c_, 3), V1(IN, c_, 4)
#define TEX_EXTRA_GRAD2(c_) , V2(IN, c_, 3), V2(IN, c_, 4)
#define TEX_EXTRA_GRAD4(c_) , V4(IN, c_, 3), V4(IN, c_, 4)
#define TEX_OFFSET {MX_IN, MX_T_s32, MX_ZERO, 0, 5}
#define TEX_OFFSETS_0
#define TEX_OFFSETS_1 , TEX_OFFSET
#define TEX_OFFSETS_2 , TEX_OFFSET, TEX_OFFSET
#define TEX_OFFSETS_4 , TEX_OFFSET, TEX_OFFSET, TEX_OFFSET, TEX_OFFSET
#define TEX_COUNT_PLAIN 0
#define TEX_COUNT_DEPTH 1
#define TEX_PLAIN
#define TEX_DEPTH , I(f32)
#define ISA_TEX(n_, t_, geometry_, c_, extra_, offsets_, depth_) \
  n_ + 3 + TEX_COUNT_##geometry_ + TEX_COUNT_##extra_ + offsets_ + TEX_COUNT_##depth_, \
  {V##n_(OUT, t_, 1), I(u64), I(off), IMPLICIT(IN, u64, SAMPLER), \
   TEX_COORDS_##geometry_(c_) TEX_EXTRA_##extra_(c_) TEX_OFFSETS_##offsets_ TEX_##depth_}
#define ISA_SULD(n_, t_, geometry_) \
  n_ + 2 + TEX_COUNT_##geometry_, {V##n_(OUT, t_, 1), I(u64), I(off), TEX_COORDS_##geometry_(b32)}
#define ISA_SUST(n_, t_, geometry_) \
  n_ + 2 + TEX_COUNT_##geometry_, {I(u64), I(off), TEX_COORDS_##geometry_(b32), V##n_(IN, t_, 1)}
/* vendor device functions on them: n elements that result or are written, and other inputs */
#define ISA_SAMPLE(n_, t_, count_, inputs_) n_ + count_, {V##n_(OUT, t_, 1), ISA_BARE inputs_}
#define ISA_PUT(n_, t_, count_, inputs_) n_ + count_, {V##n_(IN, t_, 1), ISA_BARE inputs_}
#define ISA_OBJECT(d_) 3, {O(d_), I(u64), I(off)}
#define ISA_OBJECTL(d_) 4, {O(d_), I(u64), I(off), I(b32)}
#define ISA_BRX() 4, {I(u32), I(raw), I(raw), I(raw)}
#define ISA_BAR() 2, {I(u32), IMPLICIT(IN, u32, ZERO)}
#define ISA_BARRED(d_) 4, {O(d_), I(u32), IMPLICIT(IN, u32, ZERO), I(pred)}
#define ISA_ALLOCA(t_) 3, {O(t_), I(t_), IMPLICIT(IN, t_, ZERO)}
#define ISA_SREG(d_) 2, {O(d_), I(raw)}
#define ISA_SPILL(t_) 3, {I(raw), I(raw), I(t_)}
#define ISA_FILL(t_) 3, {O(t_), I(raw), I(raw)}
// clang-format on

#define F(x_) MX_F_##x_
#define DOES(x_) ((uint32_t)MX_DOES_##x_ << MX_EFFECT_SHIFT)

const struct mx_op_info mx__ops[MX_OP_COUNT] = {
#define OP(id_, spelling_, shape_, cls_, mods_, flags_, doc_, ...) \
  [MX_##id_] = {#id_, spelling_, ISA_##shape_, MX_##cls_, mods_, flags_, doc_, #__VA_ARGS__},
#include "core/opcodes.def"
};

const struct mx_row_access mx__row_access[MX_OP_COUNT] = {
#define LOAD(mt_, dt_, n_) \
  { MX_ACCESS_LOAD, MX_T_##mt_, n_, NULL }
#define STORE(mt_, n_) \
  { MX_ACCESS_STORE, MX_T_##mt_, n_, NULL }
#define ATOM(step_, t_, ...) \
  { MX_ACCESS_ATOMIC, MX_T_##t_, 1, #step_ }
#define ATOMV(step_, t_, n_, ...) \
  { MX_ACCESS_ATOMIC, MX_T_##t_, n_, NULL }
#define PREFETCH() \
  { MX_NO_ACCESS, MX_T_none, 0, NULL }
#define OP(...)
#define OPF(...)
#define OPX(...)
#define OPM(id_, spelling_, shape_, cls_, mods_, flags_, doc_, ...) [MX_##id_] = __VA_ARGS__,
#include "core/opcodes.def"
#undef LOAD
#undef STORE
#undef ATOM
#undef ATOMV
#undef PREFETCH
};

const struct mx_intrinsic mx__intrinsics[] = {
#define INTR(group_, spelling_, shape_, flags_, exactness_, how_, expansion_) \
  {{spelling_, spelling_, ISA_##shape_, MX_LANE, 1, flags_, "", expansion_}, group_, exactness_, how_},
#include "core/intrinsics.def"
};
const unsigned mx__intrinsic_count = sizeof mx__intrinsics / sizeof *mx__intrinsics;

const struct mx_range mx__ranges[] = {
#define X(n_, least_, most_, step_) {least_, most_, step_},
    MX_RANGES(X)
#undef X
};

const struct mx_type_info mx__types[MX_T_COUNT] = {
#define X(n_, c_, b_, t_) [MX_T_##n_] = {#n_, MX_##c_, b_},
    MX_TYPES(X)
#undef X
        [MX_T_raw] = {"raw", MX_NOCLASS, 10},
    [MX_T_off] = {"off", MX_NOCLASS, 64},
    [MX_T_none] = {"none", MX_NOCLASS, 0},
};

const struct mx_sreg_info mx__sregs[MX_SR_COUNT] = {
#define SREG(id_, name_, type_, varies_, doc_) [MX_SR_##id_] = {name_, MX_T_##type_, varies_, doc_},
#include "core/sregs.def"
};

bool mx__means(unsigned op, const char *word) {
  const size_t n = strlen(word);
  const char *meaning = mx__ops[op].meaning;
  return !strncmp(meaning, word, n) && (!meaning[n] || meaning[n] == '(');
}
bool mx__is_spelled(unsigned op, const char *word) {
  const size_t n = strlen(word);
  const char *spelling = mx__ops[op].spelling;
  return !strncmp(spelling, word, n) && !(spelling[n] >= 'a' && spelling[n] <= 'z');
}

/* Whether a text is the pattern, in which @ stands for a type or a number. */
static bool fits(const char *pattern, const char *text) {
  for (; *pattern; pattern++) {
    if (*pattern != '@') {
      if (*pattern != *text++) return false;
    } else
      while ((*text >= 'a' && *text <= 'z') || (*text >= '0' && *text <= '9')) text++;
  }
  return !*text;
}
/* A conversion's canonical spelling tells the types between which this modifier converts: cvt.u64.s32. */
enum mx_extension mx__extension(unsigned op, unsigned mod) {
  const struct mx_op_info *o = &mx__ops[op];
  if (o->nopnds != 2 || mx__types[o->opnd[1].type].bits < 32) return MX_EXTENDS_NOTHING;
  char name[64];
  mx__spell(o, mod, name, sizeof name);
  if (!fits("cvt.u64.@", name)) return MX_EXTENDS_NOTHING;
  return fits("cvt.@.u32", name) ? MX_EXTENDS_ZERO : fits("cvt.@.s32", name) ? MX_EXTENDS_SIGN : MX_EXTENDS_NOTHING;
}
enum mx_form mx__form(unsigned op, unsigned mod) {
  static const struct {
    const char *meaning;
    enum mx_form form;
  } forms[] = {{"A", MX_FORM_COPY},
               {"ADD(@, A, B)", MX_FORM_ADD},
               {"SUB(@, A, B)", MX_FORM_SUB},
               {"MUL(@, A, B)", MX_FORM_MUL},
               {"MUL(@, CVT(@, @, A), CVT(@, @, B))", MX_FORM_MUL},
               {"ADD(@, MUL(@, A, B), C)", MX_FORM_MAD},
               {"ADD(@, MUL(@, CVT(@, @, A), CVT(@, @, B)), C)", MX_FORM_MAD},
               {"SHLZ(@, @, A, B)", MX_FORM_SHIFT},
               {"SEL(@, C, A, B)", MX_FORM_SELECT},
               {"SARC(@, @, A, B)", MX_FORM_DOWN},
               {"SHRZ(@, @, A, B)", MX_FORM_DOWN_U},
               {"AND(@, A, B)", MX_FORM_AND},
               {"OR(@, A, B)", MX_FORM_OR}};
  const struct mx_op_info *o = &mx__ops[op];
  for (unsigned k = 0; k < o->nopnds; k++) {
    const struct mx_type_info *t = &mx__types[o->opnd[k].type];
    const bool is_condition = t->slot_class == MX_PRED && mx__means(op, "SEL");
    if (!is_condition && ((t->bits != 32 && t->bits != 64) || !strchr("usb", *t->name))) return MX_FORM_OTHER;
  }
  if (mx__extension(op, mod)) return mx__types[o->opnd[1].type].bits == 32 ? MX_FORM_EXTEND : MX_FORM_FIT;
  if (mx__is_spelled(op, "cvt") && o->nopnds == 2 && mx__types[o->opnd[1].type].bits == 64) {
    char name[64];
    mx__spell(o, mod, name, sizeof name);
    if (!strcmp(name, "cvt.u32.u64") && mx__types[o->opnd[0].type].bits == 32) return MX_FORM_CUT;
  }
  for (unsigned k = 0; k < sizeof forms / sizeof *forms; k++)
    if (fits(forms[k].meaning, o->meaning)) return forms[k].form;
  return MX_FORM_OTHER;
}

void mx__spell(const struct mx_op_info *o, unsigned mod, char *s, size_t room) {
  size_t n = 0;
  for (const char *c = o->spelling; *c && n < room - 1; c++) {
    if (*c != '{' && *c != '<' && *c != '[') {
      s[n++] = *c;
      continue;
    }
    const char *end = c + strcspn(c, "}>]"), *from = c + 1;
    unsigned choices = 1, choice = 0;
    for (const char *x = c; x < end; x++) choices += *x == '|';
    if (*c == '{') choice = mod % choices, mod /= choices;
    for (; choice; choice--) from += strcspn(from, "|") + 1;
    for (; *c != '[' && !strchr("|=}>", *from) && n < room - 1; from++) s[n++] = *from;
    c = end;
  }
  s[n] = 0;
}

/* Eight bytes at a time: with one at a time this was a tenth of what a program needs to start. */
static uint64_t mix(uint64_t h, const void *p, size_t n) {
  for (const unsigned char *c = p; n; c += 8) {
    uint64_t word = 0;
    const size_t part = n < sizeof word ? n : sizeof word;
    memcpy(&word, c, part);
    h = (h ^ word ^ (uint64_t)part << 56) * 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
    n -= part;
  }
  return h;
}

uint64_t mx__table_digest(void) {
  static _Atomic uint64_t known; /* computed once: the table is long, and each module that is made or loaded asks */
  uint64_t h = atomic_load_explicit(&known, memory_order_relaxed);
  if (h) return h;
  h = 0xcbf29ce484222325u;
  for (int i = 0; i < MX_OP_COUNT; i++) {
    const struct mx_op_info *o = &mx__ops[i];
    h = mix(h, o->id, strlen(o->id) + 1);
    h = mix(h, o->spelling, strlen(o->spelling) + 1);
    h = mix(h, o->opnd, sizeof o->opnd[0] * o->nopnds);
    h = mix(h, &o->flags, sizeof o->flags);
    h = mix(h, o->meaning, strlen(o->meaning) + 1);
  }
  for (int i = 0; i < MX_SR_COUNT; i++) h = mix(h, mx__sregs[i].name, strlen(mx__sregs[i].name) + 1);
  atomic_store_explicit(&known, h, memory_order_relaxed);
  return h;
}
