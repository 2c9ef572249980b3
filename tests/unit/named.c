/* Calls of functions that a text only declares: all of libdevice by the names that clang calls them by, in the form
 * that it writes, must be the instructions that are listed here; values below 32 bits, truth values, results through
 * pointers; overloads by suffix; messages. */
#include "mx/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "on_device.h"

/* Result, arguments (i: 32 bits, l: 64, h: 16 in 32, f, d; p: an address), then names. _NAME is the instruction __NAME,
 * A=B is B, A=- is called only. */
static const struct group {
  const char *result, *args, *names;
} groups[] = {
    {"i", "i", "abs=abs.s32 _brev _clz _ffs _popc _vabs2 _vabs4 _vabsss2 _vabsss4 _vneg2 _vneg4 _vnegss2 _vnegss4"},
    {"d", "d",
     "acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 _drcp_rd _drcp_rn _drcp_ru "
     "_drcp_rz "
     "_dsqrt_rd _dsqrt_rn _dsqrt_ru _dsqrt_rz erfc erfcinv erfcx erf erfinv exp10 exp2 exp expm1 fabs floor j0 j1 "
     "lgamma log10 "
     "log1p log2 logb log nearbyint normcdf normcdfinv rcbrt rcp64h=rcp.approx.ftz.f64 rint round rsqrt sin sinh sinpi "
     "sqrt tan "
     "tanh tgamma trunc y0 y1"},
    {"f", "f",
     "acosf acoshf asinf asinhf atanf atanhf cbrtf ceilf cosf coshf cospif cyl_bessel_i0f cyl_bessel_i1f erfcf "
     "erfcinvf erfcxf "
     "erff erfinvf exp10f exp2f expf expm1f fabsf fast_cosf=__cosf fast_exp10f=__exp10f fast_expf=__expf "
     "fast_log10f=__log10f "
     "fast_log2f=__log2f fast_logf=__logf fast_sinf=__sinf fast_tanf=__tanf floorf _frcp_rd _frcp_rn _frcp_ru _frcp_rz "
     "_frsqrt_rn "
     "_fsqrt_rd _fsqrt_rn _fsqrt_ru _fsqrt_rz j0f j1f lgammaf log10f log1pf log2f logbf logf nearbyintf normcdff "
     "normcdfinvf "
     "rcbrtf rintf roundf rsqrtf _saturatef sinf sinhf sinpif sqrtf tanf tanhf tgammaf truncf y0f y1f"},
    {"d", "dd",
     "atan2 copysign _dadd_rd _dadd_rn _dadd_ru _dadd_rz _ddiv_rd _ddiv_rn _ddiv_ru _ddiv_rz _dmul_rd _dmul_rn "
     "_dmul_ru _dmul_rz "
     "_dsub_rd _dsub_rn _dsub_ru _dsub_rz fdim fmax fmin fmod hypot nextafter pow remainder rhypot"},
    {"f", "ff",
     "atan2f copysignf _fadd_rd _fadd_rn _fadd_ru _fadd_rz fast_fdividef=__fdividef fast_powf=__powf fdimf _fdiv_rd "
     "_fdiv_rn "
     "_fdiv_ru _fdiv_rz fmaxf fminf fmodf _fmul_rd _fmul_rn _fmul_ru _fmul_rz _fsub_rd _fsub_rn _fsub_ru _fsub_rz "
     "hypotf "
     "nextafterf powf remainderf rhypotf"},
    {"l", "l", "_brevll llabs=abs.s64"},
    {"i", "iii", "_byte_perm _sad _usad"},
    {"i", "l", "_clzll _ffsll _popcll"},
    {"f", "d", "_double2float_rd _double2float_rn _double2float_ru _double2float_rz"},
    {"i", "d",
     "_double2hiint _double2int_rd _double2int_rn _double2int_ru _double2int_rz _double2loint _double2uint_rd "
     "_double2uint_rn "
     "_double2uint_ru _double2uint_rz ilogb isfinited=isfinite.f64 isinfd=isinf.f64 isnand=isnan.f64 "
     "signbitd=signbit.f64"},
    {"l", "d",
     "_double2ll_rd _double2ll_rn _double2ll_ru _double2ll_rz _double2ull_rd _double2ull_rn _double2ull_ru "
     "_double2ull_rz "
     "_double_as_longlong llrint llround"},
    {"v", "fpp", "fast_sincosf=__sincosf sincosf sincospif"},
    {"i", "f",
     "finitef=isfinite.f32 _float2int_rd _float2int_rn _float2int_ru _float2int_rz _float2uint_rd _float2uint_rn "
     "_float2uint_ru "
     "_float2uint_rz _float_as_int _float_as_uint ilogbf isinff=isinf.f32 isnanf=isnan.f32 signbitf=signbit.f32"},
    {"h", "f", "float2half_rn=cvt.rn.f16.f32"},
    {"l", "f",
     "_float2ll_rd _float2ll_rn _float2ll_ru _float2ll_rz _float2ull_rd _float2ull_rn _float2ull_ru _float2ull_rz "
     "llrintf llroundf"},
    {"d", "ddd", "fma _fma_rd _fma_rn _fma_ru _fma_rz norm3d rnorm3d"},
    {"f", "fff",
     "fmaf _fmaf_ieee_rd _fmaf_ieee_rn _fmaf_ieee_ru _fmaf_ieee_rz _fmaf_rd _fmaf_rn _fmaf_ru _fmaf_rz norm3df "
     "rnorm3df"},
    {"d", "dp", "frexp modf"},
    {"f", "fp", "frexpf modff"},
    {"i", "ii",
     "hadd=__hadd.s32 max=max.s32 min=min.s32 _mul24 _mulhi _rhadd _uhadd umax=max.u32 umin=min.u32 _umul24 _umulhi "
     "_urhadd "
     "_vabsdiffs2 _vabsdiffs4 _vabsdiffu2 _vabsdiffu4 _vadd2 _vadd4 _vaddss2 _vaddss4 _vaddus2 _vaddus4 _vavgs2 "
     "_vavgs4 _vavgu2 "
     "_vavgu4 _vcmpeq2 _vcmpeq4 _vcmpges2 _vcmpges4 _vcmpgeu2 _vcmpgeu4 _vcmpgts2 _vcmpgts4 _vcmpgtu2 _vcmpgtu4 "
     "_vcmples2 "
     "_vcmples4 _vcmpleu2 _vcmpleu4 _vcmplts2 _vcmplts4 _vcmpltu2 _vcmpltu4 _vcmpne2 _vcmpne4 _vhaddu2 _vhaddu4 "
     "_vmaxs2 _vmaxs4 "
     "_vmaxu2 _vmaxu4 _vmins2 _vmins4 _vminu2 _vminu4 _vsads2 _vsads4 _vsadu2 _vsadu4 _vseteq2 _vseteq4 _vsetges2 "
     "_vsetges4 "
     "_vsetgeu2 _vsetgeu4 _vsetgts2 _vsetgts4 _vsetgtu2 _vsetgtu4 _vsetles2 _vsetles4 _vsetleu2 _vsetleu4 _vsetlts2 "
     "_vsetlts4 "
     "_vsetltu2 _vsetltu4 _vsetne2 _vsetne4 _vsub2 _vsub4 _vsubss2 _vsubss4 _vsubus2 _vsubus4"},
    {"f", "h", "half2float=cvt.f32.f16"},
    {"d", "ii", "_hiloint2double"},
    {"d", "i", "_int2double_rn _uint2double_rn"},
    {"f", "i",
     "_int2float_rd _int2float_rn _int2float_ru _int2float_rz _int_as_float _uint2float_rd _uint2float_rn "
     "_uint2float_ru "
     "_uint2float_rz _uint_as_float"},
    {"f", "if", "jnf ynf"},
    {"d", "id", "jn yn"},
    {"d", "di", "ldexp powi=- scalbn"},
    {"f", "fi", "ldexpf powif=- scalbnf"},
    {"d", "l",
     "_ll2double_rd _ll2double_rn _ll2double_ru _ll2double_rz _longlong_as_double _ull2double_rd _ull2double_rn "
     "_ull2double_ru "
     "_ull2double_rz"},
    {"f", "l",
     "_ll2float_rd _ll2float_rn _ll2float_ru _ll2float_rz _ull2float_rd _ull2float_rn _ull2float_ru _ull2float_rz"},
    {"l", "ll", "llmax=max.s64 llmin=min.s64 _mul64hi ullmax=max.u64 ullmin=min.u64 _umul64hi"},
    {"d", "p", "nan=-"},
    {"f", "p", "nanf=-"},
    {"d", "dddd", "norm4d rnorm4d"},
    {"f", "ffff", "norm4df rnorm4df"},
    {"f", "ip", "normf=- rnormf=-"},
    {"d", "ip", "norm=- rnorm=-"},
    {"d", "ddp", "remquo"},
    {"f", "ffp", "remquof"},
    {"v", "dpp", "sincos sincospi"},
};
enum { LANES = 32, CELL = 16 };

struct text {
  char s[1 << 19];
  size_t n;
};
#define PUT(t_, ...) ((t_)->n += (size_t)snprintf((t_)->s + (t_)->n, sizeof(t_)->s - (t_)->n, __VA_ARGS__))

static unsigned bits_of(char c) { return c == 'd' || c == 'l' || c == 'p' ? 64 : 32; }

/* The names of a group one by one: *direct is "-" where there is nothing to compare with. */
static bool next(const char **p, char *name, char *direct) {
  char word[96];
  int n;
  if (sscanf(*p, "%95s%n", word, &n) != 1) return false;
  *p += n;
  char *equals = strchr(word, '=');
  if (equals) *equals = 0;
  snprintf(name, 96, "__nv_%s", word + (word[0] == '_'));
  snprintf(direct, 96, "%s%s", word[0] == '_' ? "_" : "", equals ? equals + 1 : word);
  if (word[0] == '_' && !equals) snprintf(direct, 96, "__%s", word + 1);
  return true;
}

/* The arguments' registers; what goes through pointers lies in the function's own cell. */
static void put_arguments(struct text *t, const char *args, bool inputs, const char *separator) {
  unsigned pointers = 0;
  for (unsigned k = 0; args[k]; k++) {
    if (k) PUT(t, "%s", separator);
    if (args[k] == 'p') PUT(t, "%s", inputs ? "%rows" : pointers++ ? "%cell8" : "%cell");
    else if (!inputs && args[k] == 'i' && args[k + 1] == 'p') PUT(t, "%%three");
    else PUT(t, "%%%c%u", args[k] == 'h' ? 'i' : args[k], k);
  }
}

static bool writes_pointers(const struct group *g) {
  return *g->result == 'v' || (strchr(g->args, 'p') && strcmp(g->args, "ip") && strcmp(g->args, "p"));
}

static void put_call(struct text *t, const struct group *g, const char *name) {
  PUT(t, "{\n");
  unsigned pointers = 0;
  for (unsigned k = 0; g->args[k]; k++) {
    PUT(t, ".param .b%u param%u;\n", bits_of(g->args[k]), k);
    if (g->args[k] == 'p')
      PUT(t, "st.param.b64 [param%u+0], %s;\n", k,
          !writes_pointers(g) ? "%rows"
          : pointers++        ? "%cell8"
          : *g->result == 'v' ? "%cell"
                              : "%cell8");
    else if (g->args[k] == 'i' && g->args[k + 1] == 'p' && !writes_pointers(g))
      PUT(t, "st.param.b32 [param%u+0], %%three;\n", k);
    else
      PUT(t, "st.param.%s%u [param%u+0], %%%c%u;\n", g->args[k] == 'f' || g->args[k] == 'd' ? "f" : "b",
          bits_of(g->args[k]), k, g->args[k] == 'h' ? 'i' : g->args[k], k);
  }
  const unsigned bits = bits_of(*g->result);
  if (*g->result != 'v') PUT(t, ".param .b%u retval0;\ncall.uni (retval0), %s, (", bits, name);
  else PUT(t, "call.uni %s, (", name);
  for (unsigned k = 0; g->args[k]; k++) PUT(t, "%sparam%u", k ? ", " : "", k);
  PUT(t, ");\n");
  if (*g->result != 'v')
    PUT(t, "ld.param.b%u %%r%u, [retval0+0];\nst.global.b%u [%%cell], %%r%u;\n", bits, bits, bits, bits);
  PUT(t, "}\n");
}

static void put_direct(struct text *t, const struct group *g, const char *direct) {
  const bool truth = strstr(direct, "is") == direct || strstr(direct, "signbit") == direct,
             narrow_in = strchr(g->args, 'h'), narrow_out = *g->result == 'h';
  const char result = *g->result;
  if (*direct == '-') return;
  PUT(t, "{\n");
  if (narrow_in) PUT(t, "cvt.u16.u32 %%h, %%i0;\n%s %%r32, %%h;\n", direct);
  else if (narrow_out) PUT(t, "%s %%h, %%f0;\ncvt.u32.u16 %%r32, %%h;\n", direct);
  else {
    PUT(t, "%s ", direct);
    if (truth) PUT(t, "%%q, ");
    else if (result != 'v') PUT(t, "%%%s%u, ", result == 'f' || result == 'd' ? "r" : "r", bits_of(result));
    if (writes_pointers(g)) {
      const char *last = strchr(g->args, 'p');
      const bool whole = strstr(direct, "frexp") == direct || strstr(direct, "remquo") == direct;
      if (result == 'v') PUT(t, "%%r%u, %%s%u, ", bits_of(g->args[0]), bits_of(g->args[0]));
      else PUT(t, "%%s%u, ", whole ? 32 : bits_of(result));
      for (const char *a = g->args; a < last; a++)
        PUT(t, "%s%%%c%u", a > g->args ? ", " : "", *a, (unsigned)(a - g->args));
      PUT(t, ";\nst.global.b%u [%s], %%s%u;\n", whole ? 32 : bits_of(result == 'v' ? g->args[0] : result), "%cell8",
          whole ? 32 : bits_of(result == 'v' ? g->args[0] : result));
      PUT(t, "st.global.b%u [%%cell], %%r%u;\n}\n", bits_of(result == 'v' ? g->args[0] : result),
          bits_of(result == 'v' ? g->args[0] : result));
      return;
    }
    put_arguments(t, g->args, true, ", ");
    PUT(t, ";\n");
    if (truth) PUT(t, "selp.b32 %%r32, 1, 0, %%q;\n");
  }
  PUT(t, "st.global.b%u [%%cell], %%r%u;\n}\n", bits_of(result), bits_of(result));
}

/* A kernel with all functions, called or written; returns how many. */
static unsigned put_kernel(struct text *t, bool called) {
  unsigned n = 0;
  char name[96], direct[96];
  PUT(t, ".version 7.8\n.target sm_70\n.address_size 64\n");
  for (size_t k = 0; called && k < sizeof groups / sizeof *groups; k++)
    for (const char *p = groups[k].names; next(&p, name, direct);) {
      PUT(t, ".extern .func ");
      if (*groups[k].result != 'v') PUT(t, "(.param .b%u func_retval0) ", bits_of(*groups[k].result));
      PUT(t, "%s\n(\n", name);
      for (unsigned a = 0; groups[k].args[a]; a++)
        PUT(t, "%s.param .b%u %s_param_%u", a ? ",\n" : "", bits_of(groups[k].args[a]), name, a);
      PUT(t, "\n)\n;\n");
    }
  PUT(t,
      ".visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1) {\n.reg .b32 %%r32, %%s32, %%three, %%lane, "
      "%%i<5>;\n.reg .b64 %%r64, %%s64, %%cell, %%cell8, %%rows, %%l<5>;\n"
      ".reg .f32 %%f<5>;\n.reg .f64 %%d<5>;\n.reg .b16 %%h;\n.reg .pred %%q;\n"
      "mov.u32 %%lane, %%tid.x;\nmov.b32 %%three, 3;\nld.param.u64 %%cell, [k_param_0];\nld.param.u64 %%rows, "
      "[k_param_1];\n"
      "mad.wide.u32 %%cell, %%lane, %d, %%cell;\n",
      CELL);
  for (unsigned a = 0; a < 4; a++)
    PUT(t,
        "mul.lo.u32 %%i%u, %%lane, %u;\nxor.b32 %%i%u, %%i%u, %u;\ncvt.u64.u32 %%l%u, %%i%u;\nmul.lo.u64 %%l%u, %%l%u, "
        "0x9E3779B97F4A7C15;\n"
        "cvt.rn.f32.u32 %%f%u, %%lane;\nfma.rn.f32 %%f%u, %%f%u, %s;\n%scvt.f64.f32 %%d%u, %%f%u;\n",
        a, a ? 2654435761u + a : 77777777u, a, a, 12345u * a, a, a, a, a, a, a, a,
        a ? "0fBEBD70A4, 0f41200000" : "0f3EBD70A4, 0fC0400000",
        a ? ""
          : "setp.eq.u32 %q, %lane, 30;\n@%q mov.f32 %f0, 0f7F800000;\nsetp.eq.u32 %q, %lane, 31;\n@%q mov.f32 %f0, "
            "0f7FC00000;\n",
        a, a);
  for (size_t k = 0; k < sizeof groups / sizeof *groups; k++)
    for (const char *p = groups[k].names; next(&p, name, direct); n++) {
      PUT(t, "add.u64 %%cell8, %%cell, 8;\n");
      if (called && *direct != '-') put_call(t, &groups[k], name);
      else if (!called) put_direct(t, &groups[k], direct);
      PUT(t, "add.u64 %%cell, %%cell, %d;\n", LANES * CELL);
    }
  PUT(t, "ret;\n}\n");
  return n;
}

static void run(mx_device *d, struct text *t, uint8_t *out, size_t bytes) {
  mx_module *m;
  mx_kernel *k;
  mx_addr a, rows;
  const double numbers[3] = {1.5, -2.25, 3.0};
  assert_int_equal(load_text(d, t->s, NULL, &m), MX_OK);
  assert_int_equal(mx_module_kernel(m, "k", &k), MX_OK);
  assert_int_equal(mx_alloc(d, bytes, &a), MX_OK);
  assert_int_equal(mx_alloc(d, sizeof numbers, &rows), MX_OK);
  assert_int_equal(mx_copy_to_device(d, rows, numbers, sizeof numbers), MX_OK);
  mx_launch_config c = MX_LAUNCH_CONFIG_INIT;
  c.block[0] = LANES;
  c.jit = MX_JIT_OFF;
  const void *args[] = {&a, &rows};
  assert_int_equal(mx_launch_args(k, &c, args, 2), MX_OK);
  assert_int_equal(mx_copy_from_device(d, out, a, bytes), MX_OK);
}

static void calls_are_instructions(void **state) {
  (void)state;
  static struct text called, direct;
  mx_device *d;
  assert_int_equal(mx_device_create(NULL, &d), MX_OK);
  const unsigned n = put_kernel(&called, true);
  assert_int_equal(put_kernel(&direct, false), n);
  assert_true(n > 400);
  const size_t bytes = (size_t)n * LANES * CELL;
  uint8_t *a = calloc(1, bytes), *b = calloc(1, bytes);
  assert_true(a && b);
  run(d, &called, a, bytes);
  run(d, &direct, b, bytes);
  unsigned at = 0, different = 0, nothing = 0;
  char name[96], how[96];
  for (size_t k = 0; k < sizeof groups / sizeof *groups; k++)
    for (const char *p = groups[k].names; next(&p, name, how); at++) {
      const uint8_t *x = a + (size_t)at * LANES * CELL, *y = b + (size_t)at * LANES * CELL;
      static const uint8_t zero[LANES * CELL];
      if (memcmp(x, y, LANES * CELL)) print_message("%s is not %s\n", name, how), different++;
      if (*how != '-' && !memcmp(x, zero, sizeof zero)) print_message("%s gives nothing\n", name), nothing++;
    }
  free(a);
  free(b);
  mx_device_destroy(d);
  assert_int_equal(different, 0);
  assert_int_equal(nothing, 0);
}

static char *messages_of(const char *text) {
  mx_asm_result *r = mx_assemble(text, strlen(text), NULL);
  assert_non_null(r);
  char *s = mx_asm_diagnostic_count(r) ? mx_asm_format(mx_asm_diagnostic_at(r, 0), false) : NULL;
  mx_asm_free(r);
  return s;
}

#define HEAD ".version 7.8\n.target sm_70\n.address_size 64\n"
#define BODY(call_) \
  ".visible .entry k(.param .u64 k_param_0) {\n.reg .b32 %a, %b;\n.reg .b64 %p;\nld.param.u64 %p, " \
  "[k_param_0];\nld.global.u32 %a, [%p];\n" \
  "{ .param .b32 x; st.param.b32 [x+0], %a; .param .b64 y; st.param.b64 [y+0], %p; .param .b32 z;\n" call_ \
  "\nld.param.b32 %b, [z+0]; }\nst.global.u32 [%p], %b;\nret; }\n"

static void suffixes_and_messages(void **state) {
  (void)state;
  assert_null(messages_of(HEAD ".extern .func (.param .b32 r) atomicMin$s32(.param .b64 a, .param .b32 b);\n" BODY(
      "call.uni (z), atomicMin$s32, (y, x);")));
  assert_null(messages_of(HEAD ".extern .func (.param .b32 r) __syncthreads_or(.param .b32 b);\n" BODY(
      "call.uni (z), __syncthreads_or, (x);")));
  char *s = messages_of(HEAD ".extern .func (.param .b32 r) atomicMin(.param .b64 a, .param .b32 b);\n" BODY(
      "call.uni (z), atomicMin, (y, x);"));
  assert_non_null(strstr(s, "ambiguous-overload"));
  mx_text_free(s);
  s = messages_of(
      HEAD ".extern .func (.param .b32 r) __nv_nothing(.param .b32 b);\n" BODY("call.uni (z), __nv_nothing, (x);"));
  assert_non_null(strstr(s, "function '__nv_nothing' is declared but not defined, and no function that mx provides"));
  mx_text_free(s);
  s = messages_of(HEAD
                  ".extern .func (.param .b32 r) __nv_sinf(.param .b64 b);\n" BODY("call.uni (z), __nv_sinf, (y);"));
  assert_non_null(strstr(s, "sinf: operand 2 is .b64, expected .f32"));
  mx_text_free(s);
}

/* Headers of other compilers write votes in another order than the manual; both are one instruction. */
static void votes_in_both_orders(void **state) {
  (void)state;
#define VOTE(words_) \
  ".target sm_80\n.entry k() {\n.reg .pred %p, %q;\n.reg .b32 %r;\nsetp.eq.u32 %p, %tid.x, 0;\n" words_ "\nret;\n}\n"
  static const char *const pairs[][2] = {
      {VOTE("vote.ballot.sync.b32 %r, %p, -1;"), VOTE("vote.sync.ballot.b32 %r, %p, -1;")},
      {VOTE("vote.any.sync.pred %q, %p, -1;"), VOTE("vote.sync.any.pred %q, %p, -1;")}};
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
    size_t n[2];
    mx_asm_result *r[2] = {mx_assemble(pairs[k][0], strlen(pairs[k][0]), NULL),
                           mx_assemble(pairs[k][1], strlen(pairs[k][1]), NULL)};
    const uint8_t *a = mx_asm_bytes(r[0], &n[0]), *b = mx_asm_bytes(r[1], &n[1]);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(a, b, n[0]);
    mx_asm_free(r[0]);
    mx_asm_free(r[1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(calls_are_instructions), cmocka_unit_test(suffixes_and_messages),
                                     cmocka_unit_test(votes_in_both_orders)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
