/* Facts about opcodes, made of the table: nothing here lists instructions. */
#include "facts.h"

#include "core/tile.h"

#include <pthread.h>
#include <string.h>

/* ---- families: the files of the table ---------------------------------------------------------------------------*/
static const char *const files[MX_OP_COUNT] = {
#define OP(...) __FILE__,
#include "core/opcodes.def"
};
const char *mx__family(unsigned op) {
  static char names[MX_OP_COUNT][16];
  const char *file = files[op], *slash = strrchr(file, '/');
  const size_t n = strcspn(slash ? slash + 1 : file, ".");
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  if (!*names[op]) memcpy(names[op], slash ? slash + 1 : file, n < sizeof names[op] ? n : sizeof names[op] - 1);
  pthread_mutex_unlock(&lock);
  return names[op];
}

/* ---- floating-point operations -----------------------------------------------------------------------------------*/
static bool is_float(unsigned type) {
  return type == MX_T_f32 || type == MX_T_f64 || type == MX_T_f16 || type == MX_T_bf16 || type == MX_T_f16x2 ||
         type == MX_T_bf16x2;
}
/* One for each result of the families of arithmetic; multiply-add, with three operands, has two. */
static uint16_t floating(unsigned op) {
  const struct mx_op_info *o = &mx__ops[op];
  const char *family = mx__family(op);
  if ((strcmp(family, "float") && strcmp(family, "half")) || !o->nopnds || !is_float(o->opnd[0].type)) return 0;
  uint16_t inputs = 0;
  for (unsigned k = 0; k < o->nopnds; k++) inputs += o->opnd[k].role == MX_IN && is_float(o->opnd[k].type);
  const unsigned packed = o->opnd[0].type == MX_T_f16x2 || o->opnd[0].type == MX_T_bf16x2 ? 2 : 1;
  return (uint16_t)((inputs > 1 ? inputs - 1u : 1u) * packed);
}
static const char *const functions[MX_OP_COUNT] = {
#define OP(...)
#define OPF(...)
#define OPM(...)
#define OPX(id_, spelling_, shape_, cls_, mods_, flags_, doc_, fn_) [MX_##id_] = #fn_,
#include "core/opcodes.def"
};

static struct mx_fact facts[MX_OP_COUNT];
static void find(void) {
  for (unsigned op = 0; op < MX_OP_COUNT; op++) {
    const struct mx_op_info *o = &mx__ops[op];
    struct mx_fact *f = &facts[op];
    if (o->cls == MX_LANE) f->floating = floating(op);
    const struct mx_row_access *access = &mx__row_access[op];
    if (!access->kind) continue;
    f->kind = access->kind;
    f->bytes = (uint8_t)(mx__types[access->type].bits / 8 * access->elements);
    f->atomic_space = f->kind == MX_ACCESS_ATOMIC;
    unsigned k = 0;
    while (k < o->nopnds && o->opnd[k].type != MX_T_off) k++;
    f->address = (uint8_t)(k - 1);
    f->narrow = o->opnd[k - 1].type == MX_T_u32;
  }
}
const struct mx_fact *mx__facts(unsigned op) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find);
  return &facts[op];
}

uint32_t mx__floating_of_warp(unsigned op, unsigned mod) {
  if (!functions[op] || strcmp(functions[op], "mma") != 0) return 0;
  struct mx_tile t;
  mx__tile_read(&t, op, mod);
  return mx__elements[t.type[MX_PART_A]].kind == MX_ELEMENT_FLOAT ? 2u * t.m * t.n * t.k : 0;
}
