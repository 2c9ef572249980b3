/* Derived vocabulary: words that are macros over the base words of opcodes.def, so that both expansions get them for
 * free. Rows use them; nobody expands them by hand. An operand used more than once is bound by LET first. */
#ifndef MX_OPS_DERIVED_H
#define MX_OPS_DERIVED_H

#define SMALLER(t_, x_, y_) SEL(t_, LT(t_, x_, y_), x_, y_)
#define LARGER(t_, x_, y_) SEL(t_, GT(t_, x_, y_), x_, y_)
#define NOTP(c_) XOR(pred, c_, K(pred, 1))

/* Shifts by any count: t_ unsigned or signed, w_ its width. */
#define SHLZ(t_, w_, x_, n_) SEL(t_, LT(u32, n_, K(u32, w_)), SHL(t_, x_, AND(u32, n_, K(u32, (w_) - 1))), K(t_, 0))
#define SHRZ(t_, w_, x_, n_) SEL(t_, LT(u32, n_, K(u32, w_)), SHR(t_, x_, AND(u32, n_, K(u32, (w_) - 1))), K(t_, 0))
#define SARC(t_, w_, x_, n_) SHR(t_, x_, SEL(u32, LT(u32, n_, K(u32, (w_) - 1)), n_, K(u32, (w_) - 1)))

/* Comparisons picked by a constant: 0 eq 1 ne 2 lt 3 le 4 gt 5 ge; floats go on 6 equ 7 neu 8 ltu 9 leu 10 gtu 11 geu
 * 12 num 13 nan. The unordered ones are complements of the opposite ordered ones. */
#define ICOND(t_, m_, x_, y_) \
  ((m_) == 0 ? EQ(t_, x_, y_) : (m_) == 1 ? NE(t_, x_, y_) : (m_) == 2 ? LT(t_, x_, y_) : (m_) == 3 ? LE(t_, x_, y_) \
   : (m_) == 4 ? GT(t_, x_, y_) : GE(t_, x_, y_))
#define FCOND(t_, m_, x_, y_) \
  ((m_) == 0 ? EQ(t_, x_, y_) : (m_) == 1 ? OR(pred, LT(t_, x_, y_), GT(t_, x_, y_)) : (m_) == 2 ? LT(t_, x_, y_) \
   : (m_) == 3 ? LE(t_, x_, y_) : (m_) == 4 ? GT(t_, x_, y_) : (m_) == 5 ? GE(t_, x_, y_) \
   : (m_) == 6 ? NOT(pred, OR(pred, LT(t_, x_, y_), GT(t_, x_, y_))) : (m_) == 7 ? NE(t_, x_, y_) \
   : (m_) == 8 ? NOT(pred, GE(t_, x_, y_)) : (m_) == 9 ? NOT(pred, GT(t_, x_, y_)) \
   : (m_) == 10 ? NOT(pred, LE(t_, x_, y_)) : (m_) == 11 ? NOT(pred, LT(t_, x_, y_)) \
   : (m_) == 12 ? AND(pred, EQ(t_, x_, x_), EQ(t_, y_, y_)) : OR(pred, NE(t_, x_, x_), NE(t_, y_, y_)))

/* f32: a subnormal becomes a zero of its sign where on_ (a constant) holds; [0,1] with NaN to +0. */
#define FLUSH(on_, x_) \
  ((on_) ? LET(u32, fl_, BITS(u32, f32, x_), \
      BITS(f32, u32, SEL(u32, LT(u32, AND(u32, fl_, K(u32, 0x7FFFFFFF)), K(u32, 0x00800000)), AND(u32, fl_, K(u32, 0x80000000)), fl_))) \
    : (x_))
#define SAT01(t_, on_, x_) \
  ((on_) ? LET(t_, sa_, x_, SEL(t_, GT(t_, sa_, K(t_, 0)), SEL(t_, LT(t_, sa_, K(t_, 1)), sa_, K(t_, 1)), K(t_, 0))) : (x_))

#endif
