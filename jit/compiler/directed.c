/* Arithmetic in f32 that is rounded towards zero, down or up, as each expf() of nvcc contains. The processor's mode is
 * set for several vectors at a time, where instructions have no mode of their own. */
#include "lowering.h"

#include <stdio.h>
#include <string.h>

/* The instruction for a row of nin operands, of which the table names the lane function: vaddps for add_dir_f32. False:
 * it is none of these rows. */
static bool instruction_of(const char *meaning, unsigned nin, char name[16]) {
  const char *end = strstr(meaning, "_dir_f32");
  if (!end || nin < 2) return false;
  if (nin == 3) strcpy(name, "vfmadd213ps");
  else snprintf(name, 16, "v%.*sps", (int)(end - meaning), meaning);
  return true;
}
bool lw_directed(struct lw *l) {
  enum { MODES = 3 }; /* modifiers from there on flush subnormals or saturate */
  struct jx *j = &l->j;
  const struct mx_op_info *o = l->ins->o;
  const unsigned mode = mx_w_mod(*l->ins->w), nin = o->nopnds - 1u;
  char name[16];
  if (!j->isa->directed || mode >= MODES || !instruction_of(o->meaning, nin, name)) return false;
  const bool uniform = lw_result_uniform(l, 0);
  const unsigned n = uniform ? 1 : l->nc;
  gcc_jit_rvalue *in[LW_CHUNKS][3], *out[LW_CHUNKS];
  for (unsigned c = 0; c < n; c++)
    for (unsigned k = 0; k < nin; k++) in[c][k] = jv_as(j, MX_T_f32, lw_operand(l, 1 + k, c)).r[0];
  j->isa->directed(j, name, mode, nin, n, in, out);
  for (unsigned c = 0; c < l->nc; c++) {
    jv v = jx_fresh(MX_T_f32, uniform);
    v.r[0] = v.r[1] = out[uniform ? 0 : c];
    lw_put(l, 0, c, jv_canon(j, MX_T_f32, v));
  }
  return true;
}
