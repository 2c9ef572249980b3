/* Functions of tiles, coalesced lanes and parts of them, reductions and scans among them, in warps of 32 and of 64
 * lanes, against a model that knows a group as the list of its threads. Nothing here comes from the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "on_device.h"

#include "core/intrinsics.h"
#include "mx/mx.h"
#include "mx/text.h"
#include "tests/text.h"

enum { THREADS = 128, MOST_FUNCTIONS = 160 };
/* What a thread brings: 32 bytes. */
struct brought {
  uint64_t value;
  int32_t operand, label;
  uint32_t there, flag, same, pad;
};
static struct brought in[THREADS];

/* ---- groups ------------------------------------------------------------------------------------------------------*/
enum way { TILE, TILE_OF_16, SIZED_TILE, ALONE, SOME, LABEL_OF_SOME, FLAG_OF_SOME, LABEL_OF_TILE, FLAG_OF_TILE };
struct making {
  enum way way;
  unsigned size;
};
static const struct making makings[] = {
    {TILE, 1},  {TILE, 2},          {TILE, 4},         {TILE, 8},           {TILE, 16},        {TILE, 32},
    {TILE, 64}, {TILE_OF_16, 4},    {SIZED_TILE, 2},   {SIZED_TILE, 16},    {SIZED_TILE, 32},  {ALONE, 1},
    {SOME, 0},  {LABEL_OF_SOME, 0}, {FLAG_OF_SOME, 0}, {LABEL_OF_TILE, 16}, {FLAG_OF_TILE, 8}, {LABEL_OF_TILE, 32},
};
enum { MAKINGS = sizeof makings / sizeof *makings };
static bool is_tile(struct making m) { return m.way <= ALONE; }
static bool of_some(struct making m) { return m.way >= SOME && m.way <= FLAG_OF_SOME; }

struct group {
  unsigned n, rank, part, parts, thread[64];
};
/* What tells the parts of a thread's parent apart. */
static int key(struct making m, unsigned t) {
  switch (m.way) {
  case LABEL_OF_SOME:
  case LABEL_OF_TILE: return in[t].label;
  case FLAG_OF_SOME:
  case FLAG_OF_TILE: return in[t].flag != 0;
  case TILE_OF_16: return (int)(t % 16 / m.size);
  case TILE:
  case SIZED_TILE: return (int)(t / m.size);
  default: return 0;
  }
}
static struct group group_of(struct making m, unsigned lanes, unsigned me) {
  unsigned first = 0, end = THREADS;
  struct group g = {0};
  int seen[THREADS];
  if (m.way == ALONE) first = me, end = me + 1;
  else if (m.way == TILE_OF_16) first = me / 16 * 16, end = first + 16;
  else if (of_some(m)) first = me / lanes * lanes, end = first + lanes;
  else if (!is_tile(m)) first = me / m.size * m.size, end = first + m.size;
  for (unsigned t = first; t < end; t++) {
    if (of_some(m) && !in[t].there) continue;
    bool known = false;
    for (unsigned k = 0; k < g.parts; k++) known |= seen[k] == key(m, t);
    if (!known && key(m, t) == key(m, me)) g.part = g.parts;
    if (!known) seen[g.parts++] = key(m, t);
    if (key(m, t) != key(m, me)) continue;
    if (t == me) g.rank = g.n;
    g.thread[g.n++] = t;
  }
  return g;
}

/* ---- functions -----------------------------------------------------------------------------------------------*/
enum type { U32, S32, B32, F32, U64, S64, B64, F64 };
static const char *const type_names[] = {"u32", "s32", "b32", "f32", "u64", "s64", "b64", "f64"};
enum op { ADD, MIN, MAX, AND, OR, XOR };
static const char *const op_names[] = {"add", "min", "max", "and", "or", "xor"};
enum what {
  RANK,
  NUM,
  SIZE,
  PART,
  PARTS,
  SHFL,
  UP,
  DOWN,
  BUTTERFLY,
  ANY,
  ALL,
  ANY_NUMBER,
  ALL_NUMBER,
  BALLOT,
  BALLOT_NUMBER,
  MATCH_ANY,
  MATCH_ALL,
  SAME,
  ONE,
  REDUCE,
  INCLUSIVE,
  EXCLUSIVE
};
static struct function {
  enum what what;
  enum type type;
  enum op op;
} functions[MOST_FUNCTIONS];
static unsigned nfunctions;
static void add(enum what what, enum type type, enum op op) {
  assert_true(nfunctions < MOST_FUNCTIONS);
  functions[nfunctions++] = (struct function){what, type, op};
}
static void list_functions(void) {
  nfunctions = 0;
  for (enum what w = RANK; w <= PARTS; w++) add(w, U64, ADD);
  for (enum what w = SHFL; w <= BUTTERFLY; w++) add(w, U32, ADD), add(w, F32, ADD), add(w, S64, ADD);
  for (enum what w = ANY; w <= BALLOT_NUMBER; w++) add(w, U32, ADD);
  for (enum what w = MATCH_ANY; w <= SAME; w++) add(w, U32, ADD), add(w, B64, ADD);
  add(ONE, U32, ADD);
  for (enum what w = REDUCE; w <= EXCLUSIVE; w++)
    for (enum type t = U32; t <= F64; t++)
      for (enum op op = ADD; op <= MAX; op++) add(w, t, t == B32 || t == B64 ? op + AND : op);
}

/* Every so-many-th of them only: compiling all takes minutes. */
static void thin_out(unsigned every) {
  unsigned n = 0;
  for (unsigned k = every / 2; k < nfunctions; k += every) functions[n++] = functions[k];
  nfunctions = n;
}

static uint64_t bits_of_f32(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}
static uint64_t bits_of_f64(double f) {
  uint64_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}
static float f32_of(uint64_t u) {
  const uint32_t low = (uint32_t)u;
  float f;
  memcpy(&f, &low, sizeof f);
  return f;
}
static double f64_of(uint64_t u) {
  double f;
  memcpy(&f, &u, sizeof f);
  return f;
}
/* A thread's value as a type has it; those of floats are whole and small, so the order of additions does not matter. */
static uint64_t value(unsigned t, enum type type) {
  const uint64_t v = in[t].value;
  const int small = (int)(v & 1023) - 512;
  if (type == F32) return bits_of_f32((float)small);
  if (type == F64) return bits_of_f64((double)small);
  return type < U64 ? v & 0xFFFFFFFF : v;
}
static uint64_t join(enum op op, enum type type, uint64_t a, uint64_t b) {
  if (op == AND) return a & b;
  if (op == OR) return a | b;
  if (op == XOR) return a ^ b;
  bool less;
  switch (type) {
  case F32: less = f32_of(a) < f32_of(b); break;
  case F64: less = f64_of(a) < f64_of(b); break;
  case S32: less = (int32_t)a < (int32_t)b; break;
  case S64: less = (int64_t)a < (int64_t)b; break;
  default: less = a < b;
  }
  if (op != ADD) return less == (op == MIN) ? a : b;
  if (type == F32) return bits_of_f32(f32_of(a) + f32_of(b));
  if (type == F64) return bits_of_f64(f64_of(a) + f64_of(b));
  return type < U64 ? (a + b) & 0xFFFFFFFF : a + b;
}
static uint64_t few(unsigned t, enum type type) { return in[t].same ? 7 : value(t, type) % 5; }

static uint64_t expected(const struct function *f, struct making m, const struct group *g) {
  const struct brought *me = &in[g->thread[g->rank]];
  const int n = (int)g->n, r = (int)g->rank;
  int from = r;
  uint64_t bits = 0, flags = 0, acc = 0;
  for (int k = 0; k < n; k++) {
    flags |= (uint64_t)(in[g->thread[k]].flag != 0) << k;
    if (f->what == MATCH_ANY || f->what == MATCH_ALL || f->what == SAME)
      bits |= (uint64_t)(few(g->thread[k], f->type) == few(g->thread[r], f->type)) << k;
  }
  const uint64_t all = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
  switch (f->what) {
  case RANK: return g->rank;
  case NUM:
  case SIZE: return g->n;
  case PART: return g->part;
  case PARTS: return g->parts;
  case SHFL: from = is_tile(m) ? me->operand % n : me->operand; break;
  case UP: from = r - me->operand; break;
  case DOWN: from = r + me->operand; break;
  case BUTTERFLY: from = r ^ me->operand; break;
  case ANY:
  case ANY_NUMBER: return flags != 0;
  case ALL:
  case ALL_NUMBER: return flags == all;
  case BALLOT:
  case BALLOT_NUMBER: return flags;
  case MATCH_ANY: return bits;
  case MATCH_ALL: return bits == all ? all : 0;
  case SAME: return bits == all;
  case ONE: return !r;
  case REDUCE:
  case INCLUSIVE:
  case EXCLUSIVE:
    if (f->what == EXCLUSIVE && !r) return 0;
    for (int k = 0; k < (f->what == REDUCE ? n : f->what == INCLUSIVE ? r + 1 : r); k++)
      acc = k ? join(f->op, f->type, acc, value(g->thread[k], f->type)) : value(g->thread[0], f->type);
    return acc;
  }
  return value(g->thread[from < 0 || from >= n ? r : from], f->type);
}

/* ---- programs ----------------------------------------------------------------------------------------------------*/
static void put_call(struct text *t, const struct function *f, const char *of) {
  static const char *const names[] = {"thread_rank",
                                      "num_threads",
                                      "size",
                                      "meta_group_rank",
                                      "meta_group_size",
                                      "shfl",
                                      "shfl_up",
                                      "shfl_down",
                                      "shfl_xor",
                                      "any",
                                      "all",
                                      "any",
                                      "all",
                                      "ballot",
                                      "ballot",
                                      "match_any",
                                      "match_all",
                                      "match_all",
                                      "invoke_one",
                                      "reduce",
                                      "inclusive_scan",
                                      "exclusive_scan"};
  const char *type = type_names[f->type], *name = names[f->what];
  if (f->what <= PARTS) put(t, "  %s.%s %%r, %%g;\n", of, name);
  else if (f->what <= BUTTERFLY) put(t, "  %s.%s.%s %%r_%s, %%g, %%v_%s, %%operand;\n", of, name, type, type, type);
  else if (f->what <= ALL) put(t, "  %s.%s %%p, %%g, %%flag;\n", of, name);
  else if (f->what <= ALL_NUMBER) put(t, "  %s.%s.s32 %%r_s32, %%g, %%flag_s32;\n", of, name);
  else if (f->what == BALLOT) put(t, "  %s.%s %%r, %%g, %%flag;\n", of, name);
  else if (f->what == BALLOT_NUMBER) put(t, "  %s.%s.s32 %%r, %%g, %%flag_s32;\n", of, name);
  else if (f->what == MATCH_ANY) put(t, "  %s.%s.%s %%r, %%g, %%few_%s;\n", of, name, type, type);
  else if (f->what <= SAME) put(t, "  %s.%s.%s %%r|%%p, %%g, %%few_%s;\n", of, name, type, type);
  else if (f->what == ONE) put(t, "  %s.%s %%p, %%g;\n", of, name);
  else put(t, "  %s.%s_%s.%s %%r_%s, %%g, %%v_%s;\n", of, name, op_names[f->op], type, type, type);
  if (f->what == ANY || f->what == ALL || f->what == SAME || f->what == ONE) put(t, "  selp.u64 %%r, 1, 0, %%p;\n");
  else if (f->what == ANY_NUMBER || f->what == ALL_NUMBER) put(t, "  cvt.u64.u32 %%r, %%r_s32;\n");
  else if ((f->what >= SHFL && f->what <= BUTTERFLY) || f->what >= REDUCE) {
    if (f->type < U64) put(t, "  mov.b32 %%r_b32, %%r_%s;\n  cvt.u64.u32 %%r, %%r_b32;\n", type);
    else put(t, "  mov.b64 %%r, %%r_%s;\n", type);
  }
}
static void put_kernel(struct text *t, unsigned number) {
  const struct making m = makings[number];
  const char *of = is_tile(m) ? "thread_block_tile" : "coalesced_group";
  put(t,
      ".entry k%u(.param .u64 in, .param .u64 out)\n{\n  .reg .b128 %%block, %%parent, %%g;\n  .reg .pred %%p, %%flag, "
      "%%there, %%same;\n  .reg .b64 %%at, %%to, %%r, %%v, %%w;\n  .reg .s32 %%operand, %%label, %%flag_s32;\n  .reg "
      ".u32 %%me, %%n;\n",
      number);
  for (enum type k = U32; k <= F64; k++)
    put(t, "  .reg .%s %%v_%s, %%r_%s;\n", type_names[k], type_names[k], type_names[k]);
  put(t,
      "  .reg .u32 %%few_u32;\n  .reg .b64 %%few_b64;\n  ld.param.u64 %%at, [in];\n  ld.param.u64 %%to, [out];\n  "
      "mov.u32 %%me, %%tid.x;\n  mad.wide.u32 %%at, %%me, %zu, %%at;\n  mad.wide.u32 %%to, %%me, %u, %%to;\n",
      sizeof *in, nfunctions * 8);
  put(t, "  ld.global.u64 %%v, [%%at];\n  ld.global.s32 %%operand, [%%at+8];\n  ld.global.s32 %%label, [%%at+12];\n  "
         "ld.global.u32 %%n, [%%at+16];\n  setp.ne.u32 %%there, %%n, 0;\n  ld.global.s32 %%flag_s32, [%%at+20];\n  "
         "setp.ne.s32 %%flag, %%flag_s32, 0;\n  ld.global.u32 %%n, [%%at+24];\n  setp.ne.u32 %%same, %%n, 0;\n");
  put(t, "  mov.b64 %%v_u64, %%v;\n  mov.b64 %%v_s64, %%v;\n  mov.b64 %%v_b64, %%v;\n  cvt.u32.u64 %%v_u32, %%v;\n  "
         "mov.b32 %%v_s32, %%v_u32;\n  mov.b32 %%v_b32, %%v_u32;\n  and.b32 %%n, %%v_u32, 1023;\n  sub.u32 %%n, %%n, "
         "512;\n  cvt.rn.f32.s32 %%v_f32, %%n;\n  cvt.rn.f64.s32 %%v_f64, %%n;\n");
  put(t,
      "  rem.u32 %%few_u32, %%v_u32, 5;\n  selp.u32 %%few_u32, 7, %%few_u32, %%same;\n  rem.u64 %%few_b64, %%v, 5;\n  "
      "selp.b64 %%few_b64, 7, %%few_b64, %%same;\n  this_thread_block %%block;\n");
  if (of_some(m)) put(t, "  @!%%there exit;\n  coalesced_threads %%parent;\n");
  if (m.way == LABEL_OF_TILE || m.way == FLAG_OF_TILE) put(t, "  tiled_partition.%u %%parent, %%block;\n", m.size);
  switch (m.way) {
  case TILE: put(t, "  tiled_partition.%u %%g, %%block;\n", m.size); break;
  case TILE_OF_16:
    put(t, "  tiled_partition.16 %%parent, %%block;\n  tiled_partition.%u %%g, %%parent;\n", m.size);
    break;
  case SIZED_TILE: put(t, "  mov.u32 %%n, %u;\n  tiled_partition %%g, %%block, %%n;\n", m.size); break;
  case ALONE: put(t, "  this_thread %%g;\n"); break;
  case SOME: put(t, "  mov.b128 %%g, %%parent;\n"); break;
  case LABEL_OF_SOME:
  case LABEL_OF_TILE: put(t, "  labeled_partition %%g, %%parent, %%label;\n"); break;
  case FLAG_OF_SOME:
  case FLAG_OF_TILE: put(t, "  binary_partition %%g, %%parent, %%flag;\n"); break;
  }
  put(t, "  %s.sync %%g;\n", of);
  for (unsigned k = 0; k < nfunctions; k++) {
    put_call(t, &functions[k], of);
    put(t, "  st.global.u64 [%%to+%u], %%r;\n", k * 8);
  }
  put(t, "  exit;\n}\n");
}

/* ---- runs -----------------------------------------------------------------------------------------------------*/
static uint64_t random_state = 1;
static uint64_t rnd(void) {
  uint64_t z = random_state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
/* Rounds differ in how many lanes are there, hold flags, and have the same value. */
static void fill(unsigned round) {
  for (unsigned t = 0; t < THREADS; t++)
    in[t] = (struct brought){.value = rnd() >> (round & 1 ? 0 : 40),
                             .operand = (int32_t)(rnd() % (round & 1 ? 8 : 32)),
                             .label = (int32_t)(rnd() % (1 + 3 * round)) - 1,
                             .there = round == 1 || rnd() % 3,
                             .flag = round == 2 || rnd() % 2 ? 3 : 0,
                             .same = round == 3 || rnd() % 4 == 0};
}

static void run(unsigned lanes, bool jit) {
  mx_device *device;
  mx_module *module;
  mx_device_options options = MX_DEVICE_OPTIONS_INIT;
  struct text t = {0};
  assert_int_equal(mx_device_create(&options, &device), MX_OK);
  list_functions();
  if (jit) thin_out(9);
  put(&t, lanes == 32 ? ".target sm_90\n" : ".target mx64\n");
  for (unsigned k = 0; k < MAKINGS; k++)
    if (makings[k].size <= lanes) put_kernel(&t, k);
  assert_int_equal(load_text(device, t.s, NULL, &module), MX_OK);
  free(t.s);
  const size_t bytes = sizeof(uint64_t) * THREADS * nfunctions;
  uint64_t *out = malloc(bytes);
  mx_addr at_in, at_out;
  assert_non_null(out);
  assert_int_equal(mx_alloc(device, sizeof in, &at_in), MX_OK);
  assert_int_equal(mx_alloc(device, bytes, &at_out), MX_OK);
  unsigned bad = 0;
  for (unsigned k = 0; k < MAKINGS; k++) {
    if (makings[k].size > lanes || (jit && k % 6 != 2)) continue;
    char name[16];
    mx_kernel *kernel;
    snprintf(name, sizeof name, "k%u", k);
    assert_int_equal(mx_module_kernel(module, name, &kernel), MX_OK);
    for (unsigned round = 0; round < 5; round++) {
      fill(round);
      mx_launch_config config = MX_LAUNCH_CONFIG_INIT;
      config.grid[0] = 1;
      config.block[0] = THREADS;
      config.jit = jit ? MX_JIT_ON : MX_JIT_OFF;
      const void *args[] = {&at_in, &at_out};
      assert_int_equal(mx_copy_to_device(device, at_in, in, sizeof in), MX_OK);
      const mx_status status = mx_launch_args(kernel, &config, args, 2);
      if (status != MX_OK) print_message("%s\n", mx_last_error_text(device));
      assert_int_equal(status, MX_OK);
      assert_int_equal(mx_copy_from_device(device, out, at_out, bytes), MX_OK);
      for (unsigned me = 0; me < THREADS; me++) {
        if (of_some(makings[k]) && !in[me].there) continue;
        const struct group g = group_of(makings[k], lanes, me);
        for (unsigned f = 0; f < nfunctions; f++) {
          const uint64_t wanted = expected(&functions[f], makings[k], &g), got = out[me * nfunctions + f];
          if (wanted == got || bad++ >= 8) continue;
          print_message("%u lanes, way %u, size %u, round %u, thread %u: function %u.%s.%s is %llx, not %llx\n", lanes,
                        makings[k].way, makings[k].size, round, me, functions[f].what, op_names[functions[f].op],
                        type_names[functions[f].type], (unsigned long long)got, (unsigned long long)wanted);
        }
      }
    }
  }
  assert_int_equal(bad, 0);
  free(out);
  mx_module_unload(module);
  mx_device_destroy(device);
}

static void interpreted_64(void **state) {
  (void)state;
  run(64, false);
}
static void interpreted_32(void **state) {
  (void)state;
  run(32, false);
}
static void compiled(void **state) {
  (void)state;
#ifdef __SANITIZE_ADDRESS__
  skip();
#endif
  if (getenv("MX_QUICK") && *getenv("MX_QUICK")) skip();
  run(64, true);
  run(32, true);
}

/* ---- which rows have a case ---------------------------------------------------------------------------------------*/
static bool spells(const char *row, const char *name, size_t n);
/* Whether the name is one of the alternatives from p up to `end`, and the rest of the row. */
static bool one_of(const char *p, const char *end, const char *row, const char *name, size_t n) {
  while (p < end) {
    const char *bar = memchr(p, '|', (size_t)(end - p));
    const size_t length = (size_t)((bar ? bar : end) - p);
    if (length <= n && !memcmp(p, name, length) && spells(row, name + length, n - length)) return true;
    p += length + 1;
  }
  return false;
}
/* Whether a row of that spelling has the name, with its suffixes. */
static bool spells(const char *row, const char *name, size_t n) {
  const size_t plain = strcspn(row, "{<[");
  if (plain > n || memcmp(row, name, plain) != 0) return false;
  row += plain, name += plain, n -= plain;
  if (!*row) return !n;
  const char *end = strpbrk(row, "}>]");
  return one_of(row + 1, end, end + 1, name, n);
}
/* Instructions of a text as names, each with how many operands it has, "name/3\n". */
static void put_names(struct text *names, const char *s) {
  for (const char *line = s; *line; line += *line == '\n') {
    line += strspn(line, " ");
    const char *end = line + strcspn(line, "\n");
    const char *at = line;
    if (*at == '@') at += strcspn(at, " \n"), at += strspn(at, " ");
    const size_t n = strcspn(at, " ;\n");
    unsigned operands = at[n] == ' ';
    for (const char *k = at + n; k < end && *k != ';'; k++) operands += *k == ',' || *k == '|';
    put(names, "%.*s/%u\n", (int)n, at, operands);
    line = end;
  }
}
static char *file(const char *name) {
  FILE *f = fopen(name, "r");
  struct text t = {0};
  char some[4096];
  assert_non_null(f);
  while (fgets(some, sizeof some, f)) put(&t, "%s", some);
  fclose(f);
  return t.s;
}
static bool has_case(const struct mx_op_info *row, const char *names) {
  unsigned operands = 0;
  for (unsigned k = 0; k < row->nopnds; k++) operands += row->opnd[k].type != MX_T_off;
  for (const char *name = names; *name; name += strcspn(name, "\n") + 1) {
    const size_t n = strcspn(name, "/");
    if (strtoul(name + n + 1, NULL, 10) == operands && spells(row->spelling, name, n)) return true;
  }
  return false;
}
/* Each row of these groups is called above or in the golden programs, which models in Python answer for, with its
 * suffix, in the width that it is for; rows for both are run in both. */
static void each_row_has_a_case(void **state) {
  (void)state;
  unsigned rows = 0, missing = 0;
  list_functions();
  for (unsigned lanes = 32; lanes <= 64; lanes += 32) {
    struct text t = {0}, names = {0};
    for (unsigned k = 0; k < MAKINGS; k++)
      if (makings[k].size <= lanes) put_kernel(&t, k);
    put_names(&names, t.s);
    free(t.s);
    static const char *const programs[] = {"intrinsics/async_rows", "intrinsics/groups", "intrinsics/cluster_rows",
                                           "multi/rounds"};
    for (unsigned k = 0; k < sizeof programs / sizeof *programs; k++) {
      char name[64];
      snprintf(name, sizeof name, "tests/golden/%s.mxs", programs[k]);
      char *s = file(name);
      put_names(&names, s);
      free(s);
    }
    for (unsigned k = 0; k < mx__intrinsic_count; k++) {
      const struct mx_intrinsic *i = &mx__intrinsics[k];
      if (strcmp(i->group, "async") && strcmp(i->group, "mbarrier") && strcmp(i->group, "pipeline") &&
          strcmp(i->group, "cg"))
        continue;
      if (i->row.flags & (lanes == 32 ? MX_F_W64 : MX_F_W32)) continue;
      rows++;
      if (has_case(&i->row, names.s)) continue;
      missing++;
      print_message("%u lanes: no case for %s with %u operands\n", lanes, i->row.spelling, i->row.nopnds);
    }
    free(names.s);
  }
  assert_int_equal(missing, 0);
  assert_true(rows > 400);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(interpreted_64), cmocka_unit_test(interpreted_32),
                                     cmocka_unit_test(compiled), cmocka_unit_test(each_row_has_a_case)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
