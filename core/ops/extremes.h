/* The smaller and the larger of two f16 or bf16 patterns, as expressions of the table: instructions of their own and
 * atomics. */
#ifndef MX_OPS_EXTREMES_H
#define MX_OPS_EXTREMES_H

#define ABS16(x_) AND(u16, x_, K(u16, 0x7FFF))
/* The smaller and the larger: -0 is below +0; a NaN operand loses, or wins with .NaN. Patterns are compared as integers
 * in the numbers' order. nan_, xor_: the modifier's digits; inf_ the infinity. */
#define ORDERED16(x_) \
  LET(s32, or_, CVT(s32, s16, CVT(s16, u16, x_)), XOR(s32, or_, AND(s32, SHR(s32, or_, K(u32, 31)), K(s32, 0x7FFF))))
#define EITHER16(pick_, nan_, xor_, inf_, p_, q_) \
  LET(u16, a_, p_, \
      LET(u16, b_, q_, \
          LET(u16, x_, ((xor_) ? ABS16(a_) : a_), \
              LET(u16, y_, ((xor_) ? ABS16(b_) : b_), \
                  LET(u16, z_, \
                      SEL(u16, GT(u16, ABS16(x_), K(u16, inf_)), ((nan_) ? x_ : y_), \
                          SEL(u16, GT(u16, ABS16(y_), K(u16, inf_)), ((nan_) ? y_ : x_), \
                              SEL(u16, pick_(s32, ORDERED16(x_), ORDERED16(y_)), x_, y_))), \
                      ((xor_) ? OR(u16, z_, AND(u16, XOR(u16, a_, b_), K(u16, 0x8000))) : z_))))))

#endif
