/* Derived words: macros over the base words of opcodes.def, so that neither expansion (core/vocab.h, the compiler's)
 * has to define them. Rows use them like base words. An operand used more than once is bound by LET first. */
#ifndef MX_OPS_DERIVED_H
#define MX_OPS_DERIVED_H

#define SMALLER(t_, x_, y_) SEL(t_, LT(t_, x_, y_), x_, y_)
#define LARGER(t_, x_, y_) SEL(t_, GT(t_, x_, y_), x_, y_)
#define NOTP(c_) XOR(pred, c_, K(pred, 1))

/* Shifts by any count: t_ unsigned or signed, w_ its width. */
#define SHLZ(t_, w_, x_, n_) SEL(t_, LT(u32, n_, K(u32, w_)), SHL(t_, x_, AND(u32, n_, K(u32, (w_)-1))), K(t_, 0))
#define SHRZ(t_, w_, x_, n_) SEL(t_, LT(u32, n_, K(u32, w_)), SHR(t_, x_, AND(u32, n_, K(u32, (w_)-1))), K(t_, 0))
#define SARC(t_, w_, x_, n_) SHR(t_, x_, SEL(u32, LT(u32, n_, K(u32, (w_)-1)), n_, K(u32, (w_)-1)))

/* Comparisons picked by a constant: 0 eq 1 ne 2 lt 3 le 4 gt 5 ge; floats go on 6 equ 7 neu 8 ltu 9 leu 10 gtu 11 geu
 * 12 num 13 nan. The unordered ones are complements of the opposite ordered ones. */
#define ICOND(t_, m_, x_, y_) \
  ((m_) == 0   ? EQ(t_, x_, y_) \
   : (m_) == 1 ? NE(t_, x_, y_) \
   : (m_) == 2 ? LT(t_, x_, y_) \
   : (m_) == 3 ? LE(t_, x_, y_) \
   : (m_) == 4 ? GT(t_, x_, y_) \
               : GE(t_, x_, y_))
#define FCOND(t_, m_, x_, y_) \
  ((m_) == 0    ? EQ(t_, x_, y_) \
   : (m_) == 1  ? OR(pred, LT(t_, x_, y_), GT(t_, x_, y_)) \
   : (m_) == 2  ? LT(t_, x_, y_) \
   : (m_) == 3  ? LE(t_, x_, y_) \
   : (m_) == 4  ? GT(t_, x_, y_) \
   : (m_) == 5  ? GE(t_, x_, y_) \
   : (m_) == 6  ? NOT(pred, OR(pred, LT(t_, x_, y_), GT(t_, x_, y_))) \
   : (m_) == 7  ? NE(t_, x_, y_) \
   : (m_) == 8  ? NOT(pred, GE(t_, x_, y_)) \
   : (m_) == 9  ? NOT(pred, GT(t_, x_, y_)) \
   : (m_) == 10 ? NOT(pred, LE(t_, x_, y_)) \
   : (m_) == 11 ? NOT(pred, LT(t_, x_, y_)) \
   : (m_) == 12 ? AND(pred, EQ(t_, x_, x_), EQ(t_, y_, y_)) \
                : OR(pred, NE(t_, x_, x_), NE(t_, y_, y_)))

/* f32: a subnormal becomes a zero of its sign where on_ (a constant) holds; [0,1] with NaN to +0. */
#define FLUSH(on_, x_) \
  ((on_) ? LET(u32, fl_, BITS(u32, f32, x_), \
               BITS(f32, u32, \
                    SEL(u32, LT(u32, AND(u32, fl_, K(u32, 0x7FFFFFFF)), K(u32, 0x00800000)), \
                        AND(u32, fl_, K(u32, 0x80000000)), fl_))) \
         : (x_))
#define SAT01(t_, on_, x_) \
  ((on_) ? LET(t_, sa_, x_, SEL(t_, GT(t_, sa_, K(t_, 0)), SEL(t_, LT(t_, sa_, K(t_, 1)), sa_, K(t_, 1)), K(t_, 0))) \
         : (x_))

/* f64: a NaN result becomes the first NaN operand, quieted, or else the default NaN. Of a fused sum the addend is the
 * second. */
#define QUIET(x_) BITS(f64, u64, OR(u64, BITS(u64, f64, x_), K(u64, 0x0008000000000000)))
#define NAN_IS(x_, else_) SEL(f64, NE(f64, x_, x_), QUIET(x_), else_)
#define NAN_DEFAULT BITS(f64, u64, K(u64, 0xFFF8000000000000))
#define NAN1(r_) LET(f64, nr_, r_, SEL(f64, EQ(f64, nr_, nr_), nr_, NAN_IS(A, NAN_DEFAULT)))
#define NAN2(r_) LET(f64, nr_, r_, SEL(f64, EQ(f64, nr_, nr_), nr_, NAN_IS(A, NAN_IS(B, NAN_DEFAULT))))
#define NAN3(r_) LET(f64, nr_, r_, SEL(f64, EQ(f64, nr_, nr_), nr_, NAN_IS(A, NAN_IS(C, NAN_IS(B, NAN_DEFAULT)))))
/* A sum, difference, product, quotient or fused sum of f64 operands A, B (C) with these NaNs. The compiler's expansion
 * has instructions of just this behaviour and defines the two words anew. */
#define NAN_FIRST2(op_) NAN2(op_(f64, A, B))
#define NAN_FIRST3(op_) NAN3(op_(f64, A, B, C))

/* The halves of 32 bits. */
#define LOWER(x_) CVT(u16, u32, x_)
#define UPPER(x_) CVT(u16, u32, SHR(u32, x_, K(u32, 16)))

/* 16-bit floats, carried as bits. H2F B2F: to f32, exact. F2H F2B: from f32, nearest-even, NaN canonical. The
 * compiler's expansion defines H2F and F2H anew where the processor has instructions for them. */
#define H2F(x_) H2F_BY_BITS(x_)
#define F2H(x_) F2H_BY_BITS(x_)
#define H2F_BY_BITS(x_) \
  LET(u32, hb_, CVT(u32, u16, x_), \
      LET(u32, he_, SHL(u32, AND(u32, hb_, K(u32, 0x7FFF)), K(u32, 13)), \
          BITS(f32, u32, \
               OR(u32, SHL(u32, AND(u32, hb_, K(u32, 0x8000)), K(u32, 16)), \
                  SEL(u32, GE(u32, he_, K(u32, 0x0F800000)), OR(u32, he_, K(u32, 0x7F800000)), \
                      BITS(u32, f32, MUL(f32, BITS(f32, u32, he_), K(f32, 0x1p112f))))))))
/* Adding a power of two whose last place is the f16's rounds |x|; the sum's last bits count f16 places. Few steps and
 * hardly a choice, so that loops vectorise. 0x47800000 is 2^16, which becomes infinite; 0x38800000 is 2^-14, below
 * which places do not get smaller. */
#define F2H_BY_BITS(x_) \
  LET(u32, fb_, BITS(u32, f32, x_), \
      LET(u32, fa_, AND(u32, fb_, K(u32, 0x7FFFFFFF)), \
          LET(u32, fc_, SMALLER(u32, fa_, K(u32, 0x47800000)), \
              LET(u32, fd_, AND(u32, fc_, K(u32, 0x7F800000)), \
                  LET(u32, fe_, LARGER(u32, fd_, K(u32, 0x38800000)), \
                      LET(u32, fp_, ADD(u32, fe_, K(u32, 13 << 23)), \
                          LET(u32, fr_, \
                              ADD(u32, SHR(u32, SUB(u32, fe_, K(u32, 0x38800000)), K(u32, 13)), \
                                  SUB(u32, BITS(u32, f32, ADD(f32, BITS(f32, u32, fc_), BITS(f32, u32, fp_))), fp_)), \
                              CVT(u16, u32, \
                                  SEL(u32, GT(u32, fa_, K(u32, 0x7F800000)), K(u32, 0x7FFF), \
                                      OR(u32, AND(u32, SHR(u32, fb_, K(u32, 16)), K(u32, 0x8000)), fr_))))))))))
#define B2F(x_) BITS(f32, u32, SHL(u32, CVT(u32, u16, x_), K(u32, 16)))
#define F2B(x_) \
  LET(u32, fb_, BITS(u32, f32, x_), \
      CVT(u16, u32, \
          SEL(u32, GT(u32, AND(u32, fb_, K(u32, 0x7FFFFFFF)), K(u32, 0x7F800000)), K(u32, 0x7FFF), \
              SHR(u32, ADD(u32, ADD(u32, fb_, K(u32, 0x7FFF)), AND(u32, SHR(u32, fb_, K(u32, 16)), K(u32, 1))), \
                  K(u32, 16)))))
/* f64 to f32 by rounding to odd, so that a later rounding to fewer bits is as if it had been the only one. */
#define D2ODD(x_) \
  LET(f64, dx_, x_, \
      LET(f32, df_, CVT(f32, f64, dx_), \
          LET(f64, db_, CVT(f64, f32, df_), \
              LET(u32, du_, BITS(u32, f32, df_), \
                  BITS(f32, u32, \
                       SEL(u32, EQ(f64, db_, dx_), du_, \
                           OR(u32, K(u32, 1), \
                              SUB(u32, du_, \
                                  CVT(u32, pred, \
                                      GT(u64, AND(u64, BITS(u64, f64, db_), K(u64, 0x7FFFFFFFFFFFFFFF)), \
                                         AND(u64, BITS(u64, f64, dx_), K(u64, 0x7FFFFFFFFFFFFFFF))))))))))))
/* A sum os_ of ox_ and oy_, and its error oe_: what is rounded off. */
#define SUMMED_UP(t_, x_, y_, body_) \
  LET(t_, ox_, x_, \
      LET(t_, oy_, y_, \
          LET(t_, os_, ADD(t_, ox_, oy_), \
              LET(t_, ot_, SUB(t_, os_, ox_), \
                  LET(t_, oe_, ADD(t_, SUB(t_, ox_, SUB(t_, os_, ot_)), SUB(t_, oy_, ot_)), body_)))))
/* The nearest f32, of these bits, made the odd neighbour of a number that is away from it by `lost`; below_: 1 where
 * that leads towards zero, else 0. */
#define ODD(t_, lost_, bits_, below_) \
  BITS(f32, u32, \
       SEL(u32, OR(pred, LT(t_, lost_, K(t_, 0)), GT(t_, lost_, K(t_, 0))), \
           OR(u32, K(u32, 1), SUB(u32, bits_, below_)), bits_))
/* The same of an f64 sum that need not be exact: what is lost on the way to f32 is the difference and the sum's own
 * error. */
#define SUM2ODD(x_, y_) \
  SUMMED_UP(f64, x_, y_, \
            LET(f32, of_, CVT(f32, f64, os_), \
                LET(f64, ow_, CVT(f64, f32, of_), \
                    LET(f64, od_, ADD(f64, SUB(f64, os_, ow_), oe_), \
                        LET(u32, ob_, BITS(u32, f32, of_), \
                            ODD(f64, od_, ob_, \
                                CVT(u32, u64, \
                                    SHR(u64, XOR(u64, BITS(u64, f64, od_), BITS(u64, f64, ow_)), K(u32, 63)))))))))
/* The same of a sum in f32, which must neither overflow nor lose subnormal parts. */
#define SUM2ODD_F32(x_, y_) \
  SUMMED_UP(f32, x_, y_, \
            LET(u32, ob_, BITS(u32, f32, os_), \
                ODD(f32, oe_, ob_, SHR(u32, XOR(u32, BITS(u32, f32, oe_), ob_), K(u32, 31)))))
/* a 16-bit subnormal becomes a zero of its sign */
#define FLUSH16(on_, x_) \
  ((on_) ? LET(u16, fh_, x_, \
               SEL(u16, EQ(u16, AND(u16, fh_, K(u16, 0x7C00)), K(u16, 0)), AND(u16, fh_, K(u16, 0x8000)), fh_)) \
         : (x_))

/* Approximate functions of an f32. Plain steps (never a fused one), so every engine and CPU gives the same bits;
 * minimax polynomials of errors below 2^-27. POLYn: coefficients from the constant up. */
#define KF(v_) K(f32, v_)
#define HORNER(x_, c_, rest_) ADD(f32, KF(c_), MUL(f32, x_, rest_))
#define POLY3(x_, a_, b_, c_) HORNER(x_, a_, HORNER(x_, b_, KF(c_)))
#define POLY4(x_, a_, b_, c_, d_) HORNER(x_, a_, POLY3(x_, b_, c_, d_))
#define POLY6(x_, a_, b_, c_, d_, e_, f_) HORNER(x_, a_, HORNER(x_, b_, POLY4(x_, c_, d_, e_, f_)))
#define POLY10(x_, a_, b_, c_, d_, e_, f_, g_, h_, i_, j_) \
  HORNER(x_, a_, HORNER(x_, b_, HORNER(x_, c_, HORNER(x_, d_, POLY6(x_, e_, f_, g_, h_, i_, j_)))))
#define WITHIN(lo_, hi_, x_) \
  LET(f32, wi_, x_, SEL(f32, LT(f32, wi_, KF(lo_)), KF(lo_), SEL(f32, GT(f32, wi_, KF(hi_)), KF(hi_), wi_)))
#define POW2(n_) BITS(f32, u32, SHL(u32, ADD(u32, n_, K(u32, 127)), K(u32, 23)))
/* the integral part goes into the exponent in two steps, so that subnormal results round once */
#define EXP2(x_) \
  LET(f32, et_, WITHIN(-160, 130, x_), \
      LET(f32, ek_, RINT(f32, et_), \
          LET(f32, ef_, SUB(f32, et_, ek_), \
              LET(s32, en_, CVT(s32, f32, SEL(f32, EQ(f32, ek_, ek_), ek_, KF(0))), \
                  LET(s32, eh_, SHR(s32, en_, K(u32, 1)), \
                      MUL(f32, \
                          MUL(f32, \
                              HORNER(ef_, 1, \
                                     POLY6(ef_, 0x1.62e430p-1f, 0x1.ebfbdcp-3f, 0x1.c6aee8p-5f, 0x1.3b2d4cp-7f, \
                                           0x1.5f3e52p-10f, 0x1.41fbbcp-13f)), \
                              POW2(eh_)), \
                          POW2(SUB(s32, en_, eh_))))))))
/* exponent, and a polynomial of m - 1 for m from sqrt(1/2) to sqrt(2) */
#define LOG2(x_) \
  LET(f32, lx_, x_, \
      LET(pred, ls_, LT(f32, lx_, KF(0x1p-126f)), \
          LET(u32, lb_, BITS(u32, f32, SEL(f32, ls_, MUL(f32, lx_, KF(0x1p24f)), lx_)), \
              LET(s32, le_, SHR(s32, SUB(u32, lb_, K(u32, 0x3F3504F3)), K(u32, 23)), \
                  LET(f32, lr_, SUB(f32, BITS(f32, u32, SUB(u32, lb_, SHL(u32, le_, K(u32, 23)))), KF(1)), \
                      LET(f32, lp_, \
                          MUL(f32, lr_, \
                              POLY10(lr_, 0x1.715476p+0f, -0x1.715470p-1f, 0x1.ec7096p-2f, -0x1.715a76p-2f, \
                                     0x1.277e36p-2f, -0x1.eabc88p-3f, 0x1.a305a6p-3f, -0x1.874be8p-3f, 0x1.7d494ap-3f, \
                                     -0x1.c25a72p-4f)), \
                          SEL(f32, AND(pred, GT(f32, lx_, KF(0)), LT(f32, lx_, BITS(f32, u32, K(u32, 0x7F800000)))), \
                              ADD(f32, CVT(f32, s32, SUB(s32, le_, SEL(s32, ls_, K(s32, 24), K(s32, 0)))), lp_), \
                              SEL(f32, EQ(f32, lx_, KF(0)), BITS(f32, u32, K(u32, 0xFF800000)), \
                                  SEL(f32, GT(f32, lx_, KF(0)), lx_, BITS(f32, u32, K(u32, 0x7FFFFFFF)))))))))))
/* x less quarter turns, in f64; odd quadrants take the other series */
#define TURNED(quadrant_, x_) \
  LET(f64, sx_, CVT(f64, f32, x_), \
      LET(f64, sk_, RINT(f64, MUL(f64, sx_, K(f64, 0x1.45f306dc9c883p-1))), \
          LET(f32, sr_, \
              WITHIN(-0.79f, 0.79f, \
                     CVT(f32, f64, \
                         SUB(f64, SUB(f64, sx_, MUL(f64, sk_, K(f64, 0x1.921fb54442d18p+0))), \
                             MUL(f64, sk_, K(f64, 0x1.1a62633145c07p-54))))), \
              LET(f64, sq_, ADD(f64, sk_, K(f64, quadrant_)), \
                  LET(f32, sn_, \
                      CVT(f32, f64, SUB(f64, sq_, MUL(f64, K(f64, 4), FLOOR(f64, MUL(f64, sq_, K(f64, 0.25)))))), \
                      LET(f32, ss_, MUL(f32, sr_, sr_), \
                          LET(f32, sv_, \
                              SEL(f32, OR(pred, EQ(f32, sn_, KF(1)), EQ(f32, sn_, KF(3))), \
                                  HORNER( \
                                      ss_, 1, \
                                      POLY4(ss_, -0x1.ffffffp-2f, 0x1.55553ep-5f, -0x1.6c086cp-10f, 0x1.992fbap-16f)), \
                                  ADD(f32, sr_, \
                                      MUL(f32, MUL(f32, sr_, ss_), \
                                          POLY3(ss_, -0x1.555546p-3f, 0x1.11072ep-7f, -0x1.993f6ep-13f)))), \
                              SEL(f32, GE(f32, sn_, KF(2)), NEG(f32, sv_), sv_))))))))
#define SINE(x_) TURNED(0, x_)
#define COSINE(x_) TURNED(1, x_)
/* 1 - 2 / (2^(2x/ln2) + 1); near zero the odd series, which keeps the relative error */
#define TANH(x_) \
  LET(u32, hx_, BITS(u32, f32, x_), \
      LET(f32, ha_, BITS(f32, u32, AND(u32, hx_, K(u32, 0x7FFFFFFF))), \
          LET(f32, hs_, MUL(f32, ha_, ha_), \
              LET(f32, hb_, \
                  SUB(f32, KF(1), \
                      DIV(f32, KF(2), \
                          ADD(f32, EXP2(MUL(f32, SEL(f32, GT(f32, ha_, KF(10)), KF(10), ha_), KF(0x1.715476p+1f))), \
                              KF(1)))), \
                  LET(f32, hv_, \
                      SEL(f32, LT(f32, ha_, KF(0.25f)), \
                          MUL(f32, ha_, HORNER(hs_, 1, POLY3(hs_, -0x1.555556p-2f, 0x1.111112p-3f, -0x1.ba1ba2p-5f))), \
                          hb_), \
                      BITS(f32, u32, OR(u32, BITS(u32, f32, hv_), AND(u32, hx_, K(u32, 0x80000000)))))))))

#endif
