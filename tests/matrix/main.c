/* Matrix instructions against the rules written a second time (rules.c): random steps of every form, in styles that
 * come to the corners of the arithmetic.
 *   matrix [--steps N] [--seed S] [--jit] [PART-OF-A-NAME]...      N elements of D for each form
 * Prints the forms that differ, and how many forms passed. Knows the public interface only; which lane holds what is
 * PTX's table. */
#include "tests/matrix/rules.h"
#include "tests/text.h"

#include "mx/mx.h"
#include "mx/text.h"

#include <mpfr.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D, A, B, C, PARTS, MOST = 4096, TILES = 256, STYLES = 16 };
struct form {
  char name[128];
  unsigned size[3]; /* m, n, k */
  const struct format *type[PARTS];
  enum rule rule;
  int rounding;
  bool saturates, memory,
      columns[2]; /* memory: whole matrices, by wmma's loads; A and B column by column (of QUAD: in the registers) */
  unsigned lanes;
};
struct place {
  unsigned row, col;
};

static uint64_t state;
static uint64_t next_random(void) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  const uint64_t x = (state ^ state >> 33) * UINT64_C(0xFF51AFD7ED558CCD);
  return x ^ x >> 29;
}
static unsigned below(unsigned n) { return (unsigned)(next_random() >> 20) % n; }

/* ---- inputs --------------------------------------------------------------------------------------------------*/
static uint64_t number(const struct format *f, bool negative, int e, uint64_t fraction) {
  const int bias = (1 << (f->exponent - 1)) - 1, most = (1 << f->exponent) - (f == &e4m3 ? 1 : 2);
  int field = e + bias;
  fraction &= (UINT64_C(1) << f->fraction) - 1;
  if (field > most) field = most;
  if (f == &e4m3 && field == most && fraction == 7) fraction = 6;
  if (field < 1) { /* a subnormal, perhaps 0 */
    fraction = field < -(int)f->fraction ? 0 : (fraction | UINT64_C(1) << f->fraction) >> (1 - field);
    field = 0;
  }
  const uint64_t bits = (uint64_t)negative << (f->fraction + f->exponent) | (uint64_t)field << f->fraction | fraction;
  return f == &tf32 ? bits << 13 | (next_random() & 0x1FFF) : bits;
}
static uint64_t special(const struct format *f) {
  if (f == &e4m3) return below(2) ? 0x7F : 0xFF;
  const uint64_t infinite = ((UINT64_C(1) << f->exponent) - 1) << f->fraction,
                 r = infinite | (below(2) ? 0 : 1 + next_random() % ((UINT64_C(1) << f->fraction) - 1));
  return (r | (uint64_t)below(2) << (f->fraction + f->exponent)) << (f == &tf32 ? 13 : 0);
}
static uint64_t element(const struct format *f, unsigned style, unsigned part, unsigned k, unsigned chosen) {
  const int range = (1 << (f->exponent - 1)) - 1; /* greatest exponent */
  const uint64_t any = next_random();
  const bool negative = any >> 63, sum = part == C;
  switch (style) {
  case 0: return number(f, negative, (int)below(8) - 5, any);
  case 1: return number(f, negative, (int)below((unsigned)range) - range / 2, any);
  case 2: return number(f, negative, (int)below(6) - 3, any); /* pairs that cancel: see fill() */
  case 3: return number(f, negative, k == chosen && !sum ? 7 : -(int)below(9) - 3, any);
  case 4: return number(f, negative, (int)below(12) - 6, 0);
  case 5: return number(f, negative, -range + 1 - (int)below(f->fraction + 2), any);
  case 6: return below(24) ? number(f, negative, (int)below(8) - 4, any) : special(f);
  case 7: return number(f, negative, range - (int)below(4) - (sum ? 0 : range / 2), any);
  case 8: return number(f, negative, -range + (int)below(8) + (sum ? 0 : range / 2 - 4), any);
  case 9: return any & (f->bits == 64 ? UINT64_MAX : (UINT64_C(1) << f->bits) - 1);
  case 10:
    return sum || k == chosen || k == (chosen + 3) % 4
               ? number(f, negative, (int)below((unsigned)range) - range / 2, any)
               : 0;
  case 11: return below(4) ? (uint64_t)negative << (f->bits - 1) : number(f, negative, 0, any);
  case 12: return number(f, negative, sum ? 6 + (int)below(18) : (int)below(6) - 4, any);
  case 13: return number(f, negative, (int)below(4) - 2, UINT64_MAX);
  case 14:
    return number(f, negative, (int)below(10) - 5 + (sum ? 8 : 0), any << (f->fraction > 2 ? f->fraction - 2 : 0));
  default: return element(f, below(STYLES - 1), part, k, chosen);
  }
}
static uint64_t integer(const struct format *f, unsigned style, unsigned part) {
  const uint64_t any = next_random(), mask = (UINT64_C(1) << f->bits) - 1;
  if (f->bits == 1 || style % 4 == 0) return any & mask;
  if (style % 4 == 1) return any & 1 ? mask >> 1 : (mask >> 1) + 1; /* the greatest and the least */
  if (style % 4 == 2)
    return part == C ? (any & 1 ? UINT64_C(0x7FFFFFFF) - any % 4096 : UINT64_C(0x80000000) + any % 4096) & mask
                     : any & mask;
  return any % 3 ? 0 : mask;
}
static void fill(const struct form *f, uint64_t *const *cells, unsigned style) {
  const unsigned m = f->size[0], n = f->size[1], k = f->size[2], group = f->rule == QUAD ? 4 : 1, chosen = below(k);
  const unsigned count[PARTS] = {0, m * k * group, k * n * group, m * n * group};
  for (unsigned p = A; p < PARTS; p++)
    for (unsigned e = 0; e < count[p]; e++) {
      const unsigned at = p == A ? e % k : e / n % k;
      cells[p][e] =
          f->type[p]->kind == FLOAT ? element(f->type[p], style, p, at, chosen) : integer(f->type[p], style, p);
    }
  if (style != 2 || f->type[A]->kind != FLOAT) return;
  const struct format *t = f->type[B];
  for (unsigned e = 0; e < count[A]; e++)
    if (e % 2) cells[A][e] = cells[A][e - 1];
  for (unsigned e = 0; e < count[B]; e++)
    if (e / n % 2)
      cells[B][e] = cells[B][e - n] ^ UINT64_C(1) << (t == &tf32 ? 31 : t->bits - 1) ^
                    (below(8) ? 0 : UINT64_C(1) << (t == &tf32 ? 13 : 0));
}

/* ---- registers -----------------------------------------------------------------------------------------------*/
static unsigned per_register(const struct format *f) { return f->bits >= 32 ? 1 : 32 / f->bits; }
static unsigned cells_of(const struct form *f, unsigned part) {
  const unsigned m = f->size[0], n = f->size[1], k = f->size[2];
  return (part == A ? m * k : part == B ? k * n : m * n) * (f->rule == QUAD ? 4 : 1);
}
static unsigned registers(const struct form *f, unsigned part) {
  if (f->rule == QUAD) return part == A || part == B ? 2 : f->type[part] == &f16 ? 4 : 8;
  return cells_of(f, part) / per_register(f->type[part]) / 32;
}
/* PTX, "Matrix Fragments for mma": element e of register r of a lane. QUAD: rows of the four products one behind the
 * other. */
static struct place place_of(const struct form *f, unsigned part, unsigned r, unsigned lane, unsigned e) {
  const unsigned group = lane >> 2, in_group = lane & 3, per = per_register(f->type[part]);
  if (f->rule == QUAD) {
    const unsigned i = r * per + e, up = lane < 16 ? 0 : 4, which = lane / 4 % 4;
    if (part == A)
      return f->columns[0] ? (struct place){which * 8 + i % 4 + up, lane % 4}
                           : (struct place){which * 8 + lane % 4 + up, i};
    if (part == B)
      return f->columns[1] ? (struct place){which * 4 + i, lane % 4 + up}
                           : (struct place){which * 4 + lane % 4, i + up};
    if (f->type[part] == &f16) return (struct place){which * 8 + lane % 4 + up, i};
    return (struct place){which * 8 + (lane & 1) + (i & 2) + up, (i & 4) + (lane & 2) + (i & 1)};
  }
  const bool tall = f->size[0] == 16;
  if (part == A)
    return (struct place){group + (tall ? 8 * (r & 1) : 0), per * (in_group + 4 * (tall ? r >> 1 : r)) + e};
  if (part == B) return (struct place){per * (in_group + 4 * r) + e, group};
  const unsigned i = r * per + e;
  return (struct place){group + 8 * (i >> 1), 2 * in_group + (i & 1)};
}
static unsigned width_of(const struct form *f, unsigned part) { return part == A ? f->size[2] : f->size[1]; }
static size_t bytes_of(const struct form *f, unsigned part) {
  if (f->memory) return cells_of(f, part) * f->type[part]->bits / 8;
  return (size_t)registers(f, part) * 32 * (f->type[part]->bits == 64 ? 8 : 4);
}
/* From cells to what the kernel reads, or back. */
static void move(const struct form *f, unsigned part, uint64_t *cells, unsigned char *bytes, bool back) {
  const struct format *t = f->type[part];
  if (f->memory) {
    const unsigned cols = width_of(f, part), rows = cells_of(f, part) / cols;
    for (unsigned e = 0; e < rows * cols; e++) {
      const unsigned at = part != D && part != C && f->columns[part - A] ? e % cols * rows + e / cols : e;
      if (back) cells[e] = 0, memcpy(&cells[e], bytes + at * t->bits / 8, t->bits / 8);
      else memcpy(bytes + at * t->bits / 8, &cells[e], t->bits / 8);
    }
    return;
  }
  const unsigned size = t->bits == 64 ? 8 : 4, per = per_register(t);
  for (unsigned r = 0; r < registers(f, part); r++)
    for (unsigned l = 0; l < 32; l++) {
      uint64_t word = 0;
      if (back) memcpy(&word, bytes + (r * 32 + l) * size, size);
      for (unsigned e = 0; e < per; e++) {
        const struct place p = place_of(f, part, r, l, e);
        uint64_t *cell = &cells[p.row * width_of(f, part) + p.col];
        if (back) *cell = t->bits == 64 ? word : word >> e * t->bits & ((UINT64_C(1) << t->bits) - 1);
        else word |= *cell << e * t->bits;
      }
      if (!back) memcpy(bytes + (r * 32 + l) * size, &word, size);
    }
}

/* ---- programs ------------------------------------------------------------------------------------------------*/
static unsigned fragment(const struct form *f, unsigned part) {
  if (!f->memory) return registers(f, part);
  const unsigned n =
      (part == A || part == B) && f->type[part] == &f16 ? 8 : cells_of(f, part) * f->type[part]->bits / 1024;
  return f->lanes == 64 && n > 1 ? n / 2 : n;
}
static void put_fragment(struct text *t, const struct form *f, unsigned part) {
  put(t, "{");
  for (unsigned r = 0; r < fragment(f, part); r++) put(t, "%s%%%c%u", r ? ", " : "", "dabc"[part], r);
  put(t, "}");
}
static void make_text(const struct form *f, struct text *t) {
  put(t,
      "%s\n.entry run(.param .u64 d, .param .u64 a, .param .u64 b, .param .u64 c)\n{\n  .reg .u32 %%lane;\n  mov.u32 "
      "%%lane, %%tid.x;\n",
      f->lanes == 32 ? ".target sm_90" : ".target mx64");
  char shape[32];
  snprintf(shape, sizeof shape, ".m%un%uk%u", f->size[0], f->size[1], f->size[2]);
  for (unsigned p = 0; p < PARTS; p++) {
    const struct format *type = f->type[p];
    const char letter = "dabc"[p], *of = type->bits == 64 ? "f64" : type == &f32 ? "f32" : "b32";
    const unsigned bytes = type->bits == 64 ? 8 : 4;
    put(t,
        "  .reg .u64 %%p%c;\n  .reg .%s %%%c<%u>;\n  ld.param.u64 %%p%c, [%c];\n  mad.wide.u32 %%p%c, %%ctaid.x, %zu, "
        "%%p%c;\n",
        letter, of, letter, fragment(f, p), letter, letter, letter, bytes_of(f, p), letter);
    if (!f->memory) put(t, "  mad.wide.u32 %%p%c, %%lane, %u, %%p%c;\n", letter, bytes, letter);
    if (p == D) continue;
    if (f->memory) {
      const bool col = p != C && f->columns[p - A];
      put(t, "  wmma.load.%c.sync.aligned.%s%s.global.%s ", letter, col ? "col" : "row", shape, type->name);
      put_fragment(t, f, p);
      put(t, ", [%%p%c], %u;\n", letter, col ? cells_of(f, p) / width_of(f, p) : width_of(f, p));
    } else
      for (unsigned r = 0; r < registers(f, p); r++)
        put(t, "  ld.global.%s %%%c%u, [%%p%c+%u];\n", of, letter, r, letter, r * 32 * bytes);
  }
  put(t, "  %s ", f->name);
  for (unsigned p = 0; p < PARTS; p++) {
    put(t, p ? ", " : "");
    put_fragment(t, f, p);
  }
  put(t, ";\n");
  if (f->memory) {
    put(t, "  wmma.store.d.sync.aligned.row%s.global.%s [%%pd], ", shape, f->type[D]->name);
    put_fragment(t, f, D);
    put(t, ", %u;\n", f->size[1]);
  } else {
    const unsigned bytes = f->type[D]->bits == 64 ? 8 : 4;
    for (unsigned r = 0; r < registers(f, D); r++)
      put(t, "  st.global.%s [%%pd+%u], %%d%u;\n",
          bytes == 8           ? "f64"
          : f->type[D] == &f32 ? "f32"
                               : "b32",
          r * 32 * bytes, r);
  }
  put(t, "  ret;\n}\n");
}

/* ---- one form ------------------------------------------------------------------------------------------------*/
static unsigned passed, failed;
static unsigned long steps = 20000;
static bool jit;
static mx_device *device;

static long compare(const struct form *f, uint64_t *const *cells, const uint64_t *got, char *first, size_t room) {
  const unsigned m = f->size[0] * (f->rule == QUAD ? 4 : 1), n = f->size[1], k = f->size[2];
  const struct sum sum = {f->rule, f->type[A], f->type[B], f->type[C], f->type[D], k, f->saturates, f->rounding};
  long bad = 0;
  for (unsigned i = 0; i < m; i++)
    for (unsigned j = 0; j < n; j++) {
      uint64_t column[256];
      for (unsigned e = 0; e < k; e++) column[e] = cells[B][((f->rule == QUAD ? i / 8 * 4 : 0) + e) * n + j];
      const uint64_t want = exact_sum(&sum, cells[A] + i * k, column, cells[C][i * n + j]);
      if (want == got[i * n + j] || bad++) continue;
      int at = snprintf(first, room, "(%u, %u): want %llx got %llx; c %llx", i, j, (unsigned long long)want,
                        (unsigned long long)got[i * n + j], (unsigned long long)cells[C][i * n + j]);
      for (unsigned e = 0; e < k && at < (int)room; e++)
        at += snprintf(first + at, room - (size_t)at, " %llx*%llx", (unsigned long long)cells[A][i * k + e],
                       (unsigned long long)column[e]);
    }
  return bad;
}

static void run_form(const struct form *f) {
  static uint64_t store[PARTS][TILES][MOST], got[MOST];
  struct text t = {0};
  char first[2200] = "", *messages = NULL;
  mx_module *module = NULL;
  mx_kernel *kernel = NULL;
  mx_addr address[PARTS] = {0};
  unsigned char *host[PARTS];
  long bad = 0;
  make_text(f, &t);
  bool fine = mx_module_load_text(device, t.s, t.n, NULL, &module, &messages) == MX_OK &&
              mx_module_kernel(module, "run", &kernel) == MX_OK;
  free(t.s);
  for (unsigned p = 0; p < PARTS; p++) {
    host[p] = malloc(bytes_of(f, p) * TILES);
    fine = fine && host[p] && mx_alloc(device, bytes_of(f, p) * TILES, &address[p]) == MX_OK;
  }
  unsigned style = 0;
  for (unsigned long done = 0; fine && done < steps; done += (unsigned long)cells_of(f, D) * TILES) {
    unsigned tiles = (unsigned)((steps - done + cells_of(f, D) - 1) / cells_of(f, D));
    if (tiles > TILES) tiles = TILES;
    for (unsigned n = 0; n < tiles; n++) {
      uint64_t *cells[PARTS] = {NULL, store[A][n], store[B][n], store[C][n]};
      fill(f, cells, style++ % STYLES);
      for (unsigned p = A; p < PARTS; p++) move(f, p, store[p][n], host[p] + n * bytes_of(f, p), false);
    }
    for (unsigned p = A; p < PARTS; p++)
      fine = fine && mx_copy_to_device(device, address[p], host[p], bytes_of(f, p) * tiles) == MX_OK;
    mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
    config.grid[0] = tiles, config.block[0] = f->lanes, config.threads = 1, config.jit = jit ? MX_JIT_ON : MX_JIT_OFF;
    const void *args[] = {&address[D], &address[A], &address[B], &address[C]};
    fine = fine && mx_launch_args(kernel, &config, args, 4) == MX_OK &&
           mx_copy_from_device(device, host[D], address[D], bytes_of(f, D) * tiles) == MX_OK;
    for (unsigned n = 0; n < tiles && fine; n++) {
      uint64_t *cells[PARTS] = {NULL, store[A][n], store[B][n], store[C][n]};
      char here[2048] = "";
      move(f, D, got, host[D] + n * bytes_of(f, D), true);
      const long wrong = compare(f, cells, got, here, sizeof here);
      if (wrong && !bad) snprintf(first, sizeof first, "style %u, %s", (style - tiles + n) % STYLES, here);
      bad += wrong;
    }
  }
  if (fine && !bad) passed++;
  else {
    char *why = fine ? NULL : messages ? strdup(messages) : mx_last_error_text(device);
    failed++;
    printf("%s, %u lanes: %ld differ; %s\n", f->name, f->lanes, bad, why ? why : first);
    mx_text_free(why);
  }
  for (unsigned p = 0; p < PARTS; p++) mx_free(device, address[p]), free(host[p]);
  mx_text_free(messages);
  if (module) mx_module_unload(module);
}

/* ---- which forms ---------------------------------------------------------------------------------------------*/
static char **only;
static int nonly;
__attribute__((format(printf, 2, 3))) static void form(struct form f, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(f.name, sizeof f.name, format, args);
  va_end(args);
  if (!f.lanes) f.lanes = 32;
  bool wanted = !nonly;
  for (int k = 0; k < nonly; k++) wanted |= strstr(f.name, only[k]) != NULL;
  if (wanted) run_form(&f);
}
static void mma_forms(void) {
  const struct format *const sums[] = {&f16, &f32}, *const fp8[] = {&e4m3, &e5m2}, *const bytes[] = {&s8, &u8},
                             *const fours[] = {&s4, &u4};
  for (unsigned k = 8; k <= 16; k += 8) {
    for (unsigned d = 0; d < 2; d++)
      form((struct form){.size = {16, 8, k}, .type = {sums[d], &f16, &f16, sums[d]}, .rule = STEP},
           "mma.sync.aligned.m16n8k%u.row.col.%s.f16.f16.%s", k, sums[d]->name, sums[d]->name);
    form((struct form){.size = {16, 8, k}, .type = {&f32, &bf16, &bf16, &f32}, .rule = STEP},
         "mma.sync.aligned.m16n8k%u.row.col.f32.bf16.bf16.f32", k);
    form((struct form){.size = {16, 8, k / 2}, .type = {&f32, &tf32, &tf32, &f32}, .rule = STEP},
         "mma.sync.aligned.m16n8k%u.row.col.f32.tf32.tf32.f32", k / 2);
    for (unsigned x = 0; x < 8; x++) {
      const struct format *d = sums[x & 1], *a = fp8[x >> 1 & 1], *b = fp8[x >> 2];
      form((struct form){.size = {16, 8, 2 * k}, .type = {d, a, b, d}, .rule = FP8},
           "mma.sync.aligned.m16n8k%u.row.col.%s.%s.%s.%s", 2 * k, d->name, a->name, b->name, d->name);
    }
  }
  static const char *const modes[] = {"", ".rn", ".rz", ".rm", ".rp"};
  static const int rounding[] = {MPFR_RNDN, MPFR_RNDN, MPFR_RNDZ, MPFR_RNDD, MPFR_RNDU};
  for (unsigned k = 2; k <= 16; k *= 2)
    for (unsigned r = 0; r < 5; r++)
      form((struct form){.size = {k == 2 ? 8 : 16, 8, k == 2 ? 4 : k},
                         .type = {&f64, &f64, &f64, &f64},
                         .rule = CHAIN,
                         .rounding = rounding[r]},
           "mma.sync.aligned.m%un8k%u.row.col%s.f64.f64.f64.f64", k == 2 ? 8 : 16, k == 2 ? 4 : k, modes[r]);
  for (unsigned x = 0; x < 8; x++) {
    const char *finite = x >> 2 ? ".satfinite" : "";
    for (unsigned s = 0; s < 3; s++) {
      const struct format *a = bytes[x & 1], *b = bytes[x >> 1 & 1], *p = fours[x & 1], *q = fours[x >> 1 & 1];
      const unsigned m = s ? 16 : 8, k = s == 2 ? 32 : 16;
      form((struct form){.size = {m, 8, k}, .type = {&s32, a, b, &s32}, .rule = WHOLE, .saturates = x >> 2},
           "mma.sync.aligned.m%un8k%u.row.col%s.s32.%s.%s.s32", m, k, finite, a->name, b->name);
      form((struct form){.size = {m, 8, 2 * k}, .type = {&s32, p, q, &s32}, .rule = WHOLE, .saturates = x >> 2},
           "mma.sync.aligned.m%un8k%u.row.col%s.s32.%s.%s.s32", m, 2 * k, finite, p->name, q->name);
    }
  }
  for (unsigned s = 0; s < 6; s++)
    form((struct form){.size = {s < 2 ? 8 : 16, 8, s < 4 ? 128 : 256},
                       .type = {&s32, &b1, &b1, &s32},
                       .rule = s & 1 ? POPC_AND : POPC_XOR},
         "mma.sync.aligned.m%un8k%u.row.col.s32.b1.b1.s32.%s.popc", s < 2 ? 8 : 16, s < 4 ? 128 : 256,
         s & 1 ? "and" : "xor");
  static const char *const layout[] = {"row", "col"};
  for (unsigned x = 0; x < 12; x++) {
    const struct format *d = x < 4 ? &f16 : &f32, *c = x < 8 ? &f16 : &f32;
    form((struct form){.size = {8, 8, 4}, .type = {d, &f16, &f16, c}, .rule = QUAD, .columns = {x & 1, x >> 1 & 1}},
         "mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s", layout[x & 1], layout[x >> 1 & 1], d->name, c->name);
  }
}
static void wmma_forms(void) {
  static const unsigned shapes[3][2] = {{16, 16}, {8, 32}, {32, 8}};
  static const char *const layout[] = {"row", "col"};
  const struct format *const sums[] = {&f16, &f32}, *const bytes[] = {&s8, &u8};
  for (unsigned lanes = 32; lanes <= 64; lanes *= 2)
    for (unsigned x = 0; x < 24; x++) { /* shape, layouts, and whether results are made finite */
      const unsigned m = shapes[x % 3][0], n = shapes[x % 3][1];
      struct form f = {
          .size = {m, n, 16}, .memory = true, .lanes = lanes, .columns = {x / 3 & 1, x / 6 & 1}, .saturates = x >= 12};
      char head[64];
      snprintf(head, sizeof head, "wmma.mma.sync.aligned.%s.%s.m%un%uk", layout[f.columns[0]], layout[f.columns[1]], m,
               n);
      const char *finite = f.saturates ? ".satfinite" : "";
      for (unsigned d = 0; d < 4; d++) {
        f.rule = STEP, f.type[A] = f.type[B] = &f16, f.type[D] = sums[d & 1], f.type[C] = sums[d >> 1];
        form(f, "%s16.%s.%s%s", head, f.type[D]->name, f.type[C]->name, finite);
      }
      f.type[A] = f.type[B] = &bf16, f.type[C] = f.type[D] = &f32;
      form(f, "%s16.f32.bf16.bf16.f32%s", head, finite);
      for (unsigned b = 0; b < 2; b++) {
        f.rule = WHOLE, f.type[A] = f.type[B] = bytes[b], f.type[C] = f.type[D] = &s32;
        form(f, "%s16.s32.%s.%s.s32%s", head, bytes[b]->name, bytes[b]->name, finite);
      }
      if (m != 16) continue;
      f.rule = HALVES, f.type[A] = f.type[B] = &tf32, f.type[C] = f.type[D] = &f32, f.size[2] = 8;
      form(f, "%s8.f32.tf32.tf32.f32%s", head, finite);
    }
}

int main(int argc, char **argv) {
  uint64_t seed = 1;
  int n = 1;
  for (; n < argc && !strncmp(argv[n], "--", 2); n++) {
    if (!strcmp(argv[n], "--jit")) jit = true;
    else if (!strcmp(argv[n], "--steps") && n + 1 < argc) steps = strtoul(argv[++n], NULL, 0);
    else if (!strcmp(argv[n], "--seed") && n + 1 < argc) seed = strtoull(argv[++n], NULL, 0);
    else return fprintf(stderr, "matrix: unknown argument '%s'\n", argv[n]), 2;
  }
  only = argv + n, nonly = argc - n;
  state = seed * UINT64_C(0x9E3779B97F4A7C15);
  mx_device_options options = MX_DEVICE_OPTIONS_INIT;
  options.cache_dir = "";
  if (mx_device_create(&options, &device) != MX_OK) return fputs("matrix: no device\n", stderr), 4;
  mma_forms();
  wmma_forms();
  mx_device_destroy(device);
  mpfr_free_cache();
  printf("%u passed, %u failed\n", passed, failed);
  return failed != 0;
}
