/* Matrix fragments: nvcuda::wmma and the guide's wmma, on mx's matrix instructions. A fragment's elements are spread
 * over the registers of a warp's 32 or 64 lanes; only the instructions know which element is in which register. */
#ifndef MX_CXX_MMA_H
#define MX_CXX_MMA_H
#include "mx/bfloat16.h"
#include "mx/half.h"

#ifdef __CUDA__
/* The number of registers per lane, by the number that each lane of a warp of 32 has. */
#if __MX_LANES == 64
#define __MX_N8 4
#define __MX_N4 2
#define __MX_N2 1
#define __MX_N1 1
#else
#define __MX_N8 8
#define __MX_N4 4
#define __MX_N2 2
#define __MX_N1 1
#endif
#define __MX_CAT(a_, b_) __MX_CAT_(a_, b_)
#define __MX_CAT_(a_, b_) a_##b_
/* A list of registers: __MX_TEXT is its text in the assembly, __MX_WORDS the operands for it. */
#define __MX_TEXT(n_, p_) __MX_CAT(__MX_TEXT, __MX_CAT(__MX_N, n_))(p_)
#define __MX_TEXT1(p_) "{%[" #p_ "0]}"
#define __MX_TEXT2(p_) "{%[" #p_ "0], %[" #p_ "1]}"
#define __MX_TEXT4(p_) "{%[" #p_ "0], %[" #p_ "1], %[" #p_ "2], %[" #p_ "3]}"
#define __MX_TEXT8(p_) \
  "{%[" #p_ "0], %[" #p_ "1], %[" #p_ "2], %[" #p_ "3], %[" #p_ "4], %[" #p_ "5], %[" #p_ "6], %[" #p_ "7]}"
#define __MX_WORDS(n_, p_, c_, v_) __MX_CAT(__MX_WORDS, __MX_CAT(__MX_N, n_))(p_, c_, v_)
#define __MX_WORDS1(p_, c_, v_) [p_##0] c_(v_[0])
#define __MX_WORDS2(p_, c_, v_) __MX_WORDS1(p_, c_, v_), [p_##1] c_(v_[1])
#define __MX_WORDS4(p_, c_, v_) __MX_WORDS2(p_, c_, v_), [p_##2] c_(v_[2]), [p_##3] c_(v_[3])
#define __MX_WORDS8(p_, c_, v_) \
  __MX_WORDS4(p_, c_, v_), [p_##4] c_(v_[4]), [p_##5] c_(v_[5]), [p_##6] c_(v_[6]), [p_##7] c_(v_[7])

namespace nvcuda {
namespace wmma {
struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}
namespace experimental {
namespace precision {
struct u4;
struct s4;
struct b1;
} // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
} // namespace experimental

template <class Use, int m, int n, int k, class T, class Layout = void> class fragment;

#define __MX_FRAGMENT(use_, m_, n_, k_, t_, layout_, x_, word_, r_) \
  template <> class fragment<use_, m_, n_, k_, t_, layout_> { \
  public: \
    typedef x_ element_type; \
    typedef x_ storage_element_type; \
    enum { num_elements = __MX_CAT(__MX_N, r_) * sizeof(word_) / sizeof(x_), num_storage_elements = num_elements }; \
    x_ x[num_elements]; \
  };
#define __MX_LOAD(use_, letter_, m_, n_, k_, t_, suffix_, layout_, row_, x_, word_, c_, r_) \
  __MX_FRAGMENT(use_, m_, n_, k_, t_, layout_, x_, word_, r_) \
  __MX_DEVICE void load_matrix_sync(fragment<use_, m_, n_, k_, t_, layout_> &f, const x_ *p, unsigned int ldm) { \
    word_ w[__MX_CAT(__MX_N, r_)]; \
    __asm__ volatile("load_matrix_sync." letter_ row_ ".m" #m_ "n" #n_ "k" #k_ suffix_ \
                     " " __MX_TEXT(r_, d) ", [%[p]], %[ldm];" \
                     : __MX_WORDS(r_, d, "=" c_, w) \
                     : [p] "l"(p), [ldm] "r"(ldm) \
                     : "memory"); \
    __builtin_memcpy(f.x, w, sizeof w); \
  }
#define __MX_INPUTS(m_, n_, k_, t_, suffix_, x_, word_, c_, ra_, rb_) \
  __MX_LOAD(matrix_a, "a", m_, n_, k_, t_, suffix_, row_major, ".row", x_, word_, c_, ra_) \
  __MX_LOAD(matrix_a, "a", m_, n_, k_, t_, suffix_, col_major, ".col", x_, word_, c_, ra_) \
  __MX_LOAD(matrix_b, "b", m_, n_, k_, t_, suffix_, row_major, ".row", x_, word_, c_, rb_) \
  __MX_LOAD(matrix_b, "b", m_, n_, k_, t_, suffix_, col_major, ".col", x_, word_, c_, rb_)

#define __MX_MOVE_C(m_, n_, k_, x_, suffix_, row_, word_, c_, r_) \
  __asm__ volatile("load_matrix_sync.c" row_ ".m" #m_ "n" #n_ "k" #k_ suffix_ " " __MX_TEXT(r_, d) ", [%[p]], %[ldm];" \
                   : __MX_WORDS(r_, d, "=" c_, w) \
                   : [p] "l"(p), [ldm] "r"(ldm) \
                   : "memory")
#define __MX_STORE(m_, n_, k_, x_, suffix_, row_, word_, c_, r_) \
  __asm__ volatile("store_matrix_sync" row_ ".m" #m_ "n" #n_ "k" #k_ suffix_ " [%[p]], " __MX_TEXT(r_, d) ", %[ldm];" \
                   : \
                   : [p] "l"(p), __MX_WORDS(r_, d, c_, w), [ldm] "r"(ldm) \
                   : "memory")
#define __MX_SUMS(m_, n_, k_, x_, suffix_, word_, c_, r_) \
  __MX_FRAGMENT(accumulator, m_, n_, k_, x_, void, x_, word_, r_) \
  __MX_DEVICE void load_matrix_sync(fragment<accumulator, m_, n_, k_, x_> &f, const x_ *p, unsigned int ldm, \
                                    layout_t layout) { \
    word_ w[__MX_CAT(__MX_N, r_)]; \
    if (layout == mem_row_major) __MX_MOVE_C(m_, n_, k_, x_, suffix_, ".row", word_, c_, r_); \
    else __MX_MOVE_C(m_, n_, k_, x_, suffix_, ".col", word_, c_, r_); \
    __builtin_memcpy(f.x, w, sizeof w); \
  } \
  __MX_DEVICE void store_matrix_sync(x_ *p, const fragment<accumulator, m_, n_, k_, x_> &f, unsigned int ldm, \
                                     layout_t layout) { \
    word_ w[__MX_CAT(__MX_N, r_)]; \
    __builtin_memcpy(w, f.x, sizeof w); \
    if (layout == mem_row_major) __MX_STORE(m_, n_, k_, x_, suffix_, ".row", word_, c_, r_); \
    else __MX_STORE(m_, n_, k_, x_, suffix_, ".col", word_, c_, r_); \
  }

#define __MX_MULTIPLY(name_, suffix_, sat_, ra_, rb_, rc_, ci_, cc_) \
  __asm__ volatile(name_ suffix_ sat_ \
                   " " __MX_TEXT(rc_, d) ", " __MX_TEXT(ra_, a) ", " __MX_TEXT(rb_, b) ", " __MX_TEXT(rc_, c) ";" \
                   : __MX_WORDS(rc_, d, "=" cc_, wd) \
                   : __MX_WORDS(ra_, a, ci_, wa), __MX_WORDS(rb_, b, ci_, wb), __MX_WORDS(rc_, c, cc_, wc) \
                   : "memory")
#define __MX_PRODUCT_OF(la_, ra_row_, lb_, rb_row_, m_, n_, k_, t_, x_, suffix_, sat_, wi_, ci_, ra_, rb_, wo_, cc_, \
                        rc_) \
  __MX_DEVICE void mma_sync(fragment<accumulator, m_, n_, k_, x_> &d, \
                            const fragment<matrix_a, m_, n_, k_, t_, la_> &a, \
                            const fragment<matrix_b, m_, n_, k_, t_, lb_> &b, \
                            const fragment<accumulator, m_, n_, k_, x_> &c, bool satf = false) { \
    wi_ wa[__MX_CAT(__MX_N, ra_)], wb[__MX_CAT(__MX_N, rb_)]; \
    wo_ wc[__MX_CAT(__MX_N, rc_)], wd[__MX_CAT(__MX_N, rc_)]; \
    __builtin_memcpy(wa, a.x, sizeof wa); \
    __builtin_memcpy(wb, b.x, sizeof wb); \
    __builtin_memcpy(wc, c.x, sizeof wc); \
    if (satf) \
      __MX_MULTIPLY("mma_sync" ra_row_ rb_row_ ".m" #m_ "n" #n_ "k" #k_, suffix_, sat_, ra_, rb_, rc_, ci_, cc_); \
    else __MX_MULTIPLY("mma_sync" ra_row_ rb_row_ ".m" #m_ "n" #n_ "k" #k_, suffix_, "", ra_, rb_, rc_, ci_, cc_); \
    __builtin_memcpy(d.x, wd, sizeof wd); \
  }
#define __MX_PRODUCT(...) \
  __MX_PRODUCT_OF(row_major, ".row", row_major, ".row", __VA_ARGS__) \
  __MX_PRODUCT_OF(row_major, ".row", col_major, ".col", __VA_ARGS__) \
  __MX_PRODUCT_OF(col_major, ".col", row_major, ".row", __VA_ARGS__) \
  __MX_PRODUCT_OF(col_major, ".col", col_major, ".col", __VA_ARGS__)

/* For each shape: the numbers of registers of a, of b and of the sums, for 32 lanes. */
#define __MX_U unsigned int
#define __MX_SAT ".satfinite"
#define __MX_SHAPE_F16(m_, n_, k_) \
  __MX_INPUTS(m_, n_, k_, __half, ".f16", __half, __MX_U, "r", 8, 8) \
  __MX_SUMS(m_, n_, k_, float, ".f32", float, "f", 8) \
  __MX_SUMS(m_, n_, k_, __half, ".f16", __MX_U, "r", 4) \
  __MX_SUMS(m_, n_, k_, int, ".s32", int, "r", 8) \
  __MX_PRODUCT(m_, n_, k_, __half, float, ".f32.f32", __MX_SAT, __MX_U, "r", 8, 8, float, "f", 8) \
  __MX_PRODUCT(m_, n_, k_, __half, __half, ".f16.f16", __MX_SAT, __MX_U, "r", 8, 8, __MX_U, "r", 4)
#define __MX_SHAPE_BF16(m_, n_, k_, ra_, rb_) \
  __MX_INPUTS(m_, n_, k_, __nv_bfloat16, ".bf16", __nv_bfloat16, __MX_U, "r", ra_, rb_) \
  __MX_PRODUCT(m_, n_, k_, __nv_bfloat16, float, ".f32.bf16.bf16.f32", __MX_SAT, __MX_U, "r", ra_, rb_, float, "f", 8)
#define __MX_SHAPE_8(m_, n_, k_, t_, name_, ra_, rb_) \
  __MX_INPUTS(m_, n_, k_, t_, name_, t_, __MX_U, "r", ra_, rb_) \
  __MX_PRODUCT(m_, n_, k_, t_, int, ".s32" name_ name_ ".s32", __MX_SAT, __MX_U, "r", ra_, rb_, int, "r", 8)
__MX_SHAPE_F16(16, 16, 16)
__MX_SHAPE_F16(8, 32, 16)
__MX_SHAPE_F16(32, 8, 16)
__MX_SHAPE_BF16(16, 16, 16, 4, 4)
__MX_SHAPE_BF16(8, 32, 16, 2, 8)
__MX_SHAPE_BF16(32, 8, 16, 8, 2)
__MX_SHAPE_8(16, 16, 16, signed char, ".s8", 2, 2)
__MX_SHAPE_8(8, 32, 16, signed char, ".s8", 1, 4)
__MX_SHAPE_8(32, 8, 16, signed char, ".s8", 4, 1)
__MX_SHAPE_8(16, 16, 16, unsigned char, ".u8", 2, 2)
__MX_SHAPE_8(8, 32, 16, unsigned char, ".u8", 1, 4)
__MX_SHAPE_8(32, 8, 16, unsigned char, ".u8", 4, 1)
__MX_INPUTS(16, 16, 8, precision::tf32, ".tf32", float, float, "f", 4, 4)
__MX_SUMS(16, 16, 8, float, ".f32", float, "f", 8)
__MX_PRODUCT(16, 16, 8, precision::tf32, float, ".f32.tf32.tf32.f32", __MX_SAT, float, "f", 4, 4, float, "f", 8)
__MX_INPUTS(8, 8, 4, double, ".f64", double, double, "d", 1, 1)
__MX_SUMS(8, 8, 4, double, ".f64", double, "d", 2)
__MX_PRODUCT(8, 8, 4, double, double, ".f64.f64.f64.f64", "", double, "d", 1, 1, double, "d", 2)
/* Elements of 4 bits and of one bit, 8 or 32 of which are in a word; a is stored by rows and b by columns only. */
#define __MX_SHAPE_SMALL(k_, t_, name_) \
  __MX_LOAD(matrix_a, "a", 8, 8, k_, t_, name_, row_major, ".row", __MX_U, __MX_U, "r", 1) \
  __MX_LOAD(matrix_b, "b", 8, 8, k_, t_, name_, col_major, ".col", __MX_U, __MX_U, "r", 1)
__MX_SUMS(8, 8, 32, int, ".s32", int, "r", 2)
__MX_SUMS(8, 8, 128, int, ".s32", int, "r", 2)
__MX_SHAPE_SMALL(32, experimental::precision::u4, ".u4")
__MX_PRODUCT_OF(row_major, ".row", col_major, ".col", 8, 8, 32, experimental::precision::u4, int, ".s32.u4.u4.s32",
                __MX_SAT, __MX_U, "r", 1, 1, int, "r", 2)
__MX_SHAPE_SMALL(32, experimental::precision::s4, ".s4")
__MX_PRODUCT_OF(row_major, ".row", col_major, ".col", 8, 8, 32, experimental::precision::s4, int, ".s32.s4.s4.s32",
                __MX_SAT, __MX_U, "r", 1, 1, int, "r", 2)
__MX_SHAPE_SMALL(128, experimental::precision::b1, ".b1")
__MX_DEVICE void bmma_sync(fragment<accumulator, 8, 8, 128, int> &d,
                           const fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major> &a,
                           const fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major> &b,
                           const fragment<accumulator, 8, 8, 128, int> &c,
                           experimental::bmmaBitOp op = experimental::bmmaBitOpXOR,
                           experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC) {
  const auto *wa = a.x, *wb = b.x;
  const int *wc = c.x;
  int *wd = d.x;
  if (op == experimental::bmmaBitOpXOR)
    __MX_MULTIPLY("bmma_sync.xor.popc.row.col.m8n8k128", ".s32.b1.b1.s32", "", 1, 1, 2, "r", "r");
  else __MX_MULTIPLY("bmma_sync.and.popc.row.col.m8n8k128", ".s32.b1.b1.s32", "", 1, 1, 2, "r", "r");
}
namespace experimental {
using wmma::bmma_sync;
}

template <class Use, int m, int n, int k, class T, class L, class V>
__MX_DEVICE void fill_fragment(fragment<Use, m, n, k, T, L> &f, const V &value) {
  for (int i = 0; i < f.num_elements; i++) f.x[i] = (typename fragment<Use, m, n, k, T, L>::element_type)value;
}
__MX_DEVICE float __float_to_tf32(float in) {
  float r;
  __asm__("__float_to_tf32.f32 %0, %1;" : "=f"(r) : "f"(in));
  return r;
}

#undef __MX_FRAGMENT
#undef __MX_LOAD
#undef __MX_INPUTS
#undef __MX_MOVE_C
#undef __MX_STORE
#undef __MX_SUMS
#undef __MX_MULTIPLY
#undef __MX_PRODUCT_OF
#undef __MX_PRODUCT
#undef __MX_U
#undef __MX_SAT
#undef __MX_SHAPE_F16
#undef __MX_SHAPE_BF16
#undef __MX_SHAPE_8
#undef __MX_SHAPE_SMALL
} // namespace wmma
} // namespace nvcuda
using nvcuda::wmma::__float_to_tf32;
#endif
#endif
