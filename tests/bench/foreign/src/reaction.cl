// Rates of change of 18 species by 66 reversible reactions, straight through: one item is one cell, everything lies in
// arrays of structure-of-arrays kind. The coefficients are invented, of the usual size.
#define CONC(s) conc[(s) * n + i]
#define MADE(s, x) made[(s) * n + i] += (x)

// a species' Gibbs function by RT, from the seven usual coefficients (enthalpy, entropy last)
#define GIBBS(s, a, b, c, d, e, h, z) \
  const float g##s = (a) * (1 - ln_t) - t * ((b) + t * ((c) + t * ((d) + t * (e)))) + (h) * inv_t - (z)

// a + b = c + d; rate: of both directions together
#define PAIR(r, a, b, c, d, ln_f, power, act)                                                                          \
  {                                                                                                                    \
    const float forth = exp((ln_f) + (power)*ln_t - (act)*inv_t);                                                      \
    const float balance = exp(fmin(g##a + g##b - g##c - g##d, 60.0f));                                                 \
    const float to = forth * CONC(a) * CONC(b), back = forth / fmax(balance, 1e-20f) * CONC(c) * CONC(d),              \
                net = to - back;                                                                                       \
    rate[(r)*n + i] = to + back;                                                                                       \
    MADE(a, -net);                                                                                                     \
    MADE(b, -net);                                                                                                     \
    MADE(c, net);                                                                                                      \
    MADE(d, net);                                                                                                      \
  }

// a + b + M = c + M, two bodies of special weight
#define THIRD(r, a, b, c, ln_f, power, act, s1, w1, s2, w2)                                                            \
  {                                                                                                                    \
    const float body = all + (w1)*CONC(s1) + (w2)*CONC(s2);                                                            \
    const float forth = exp((ln_f) + (power)*ln_t - (act)*inv_t);                                                      \
    const float balance = exp(fmin(g##a + g##b - g##c, 60.0f)) * per_volume;                                           \
    const float to = body * forth * CONC(a) * CONC(b), back = body * forth / fmax(balance, 1e-20f) * CONC(c),          \
                net = to - back;                                                                                       \
    rate[(r)*n + i] = to + back;                                                                                       \
    MADE(a, -net);                                                                                                     \
    MADE(b, -net);                                                                                                     \
    MADE(c, net);                                                                                                      \
  }

// a + b (+ M) = c (+ M): between a limit of low and one of high pressure
#define FALL(r, a, b, c, ln_f, power, act, ln_f0, power0, act0, mix, t1, t2, s1, w1) { \
    const float high = exp((ln_f) + (power) * ln_t - (act) * inv_t); \
    const float low = exp((ln_f0) + (power0) * ln_t - (act0) * inv_t); \
    const float body = all + (w1) * CONC(s1); \
    const float press = fmax(low * body / high, 1e-20f); \
    const float centre = log10(fmax((1 - (mix)) * exp(-t / (t1)) + (mix) * exp(-t / (t2)), 1e-20f)); \
    const float lp = log10(press), off = lp - 0.4f - 0.67f * centre; \
    const float bend = off / (0.75f - 1.27f * centre - 0.14f * off); \
    const float k = high * press / (1 + press) * exp(2.302585f * centre / (1 + bend * bend)); \
    const float balance = exp(fmin(g##a + g##b - g##c, 60.0f)) * per_volume; \
    const float to = k * CONC(a) * CONC(b), back = k / fmax(balance, 1e-20f) * CONC(c), net = to - back; \
    rate[(r) * n + i] = to + back; \
    MADE(a, -net); MADE(b, -net); MADE(c, net); }

__kernel void reaction_rates(__global const float *temperature, __global const float *conc, __global float *rate,
                             __global float *made, int n, float scale) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const float t = temperature[i] * scale, inv_t = 1.0f / t, ln_t = log(t), per_volume = 101325.0f / 8.314f * inv_t;
  float all = 0;
  for (int s = 0; s < 18; s++) all += CONC(s);

  GIBBS(0, 3.307f, 0.0003195f, 3.394e-07f, -6.183e-12f, 1.411e-16f, 436.9f, -19.89f);
  GIBBS(1, 3.361f, 0.0004598f, 2.344e-07f, -7.306e-11f, -3.539e-15f, -2047.0f, -19.29f);
  GIBBS(2, 3.524f, -0.0007162f, 3.858e-07f, 8.366e-11f, 2.771e-15f, 577.8f, -19.02f);
  GIBBS(3, 2.914f, 0.0002568f, -3.524e-07f, -5.576e-11f, -4.645e-15f, -2350.0f, -18.29f);
  GIBBS(4, 3.296f, 0.0008849f, 1.53e-08f, 2.525e-11f, -4.083e-18f, 812.2f, -19.3f);
  GIBBS(5, 3.15f, 0.001195f, 3.966e-07f, 6.124e-11f, 3.741e-15f, -923.6f, -18.39f);
  GIBBS(6, 3.16f, -0.0006596f, 2.13e-07f, -1.793e-11f, 6.239e-15f, -567.4f, -22.85f);
  GIBBS(7, 3.663f, -0.0007989f, -2.322e-07f, 7.385e-11f, -5.402e-16f, 2402.0f, -20.67f);
  GIBBS(8, 2.966f, 0.0004589f, 2.228e-07f, -4.144e-11f, -7.431e-15f, -837.1f, -18.28f);
  GIBBS(9, 3.582f, -0.000564f, -2.029e-07f, -7.181e-11f, -7.922e-15f, 1485.0f, -19.76f);
  GIBBS(10, 3.403f, 9.485e-05f, -2.475e-07f, 4.174e-11f, -6.643e-15f, 718.6f, -18.5f);
  GIBBS(11, 3.279f, -0.0003743f, -1.842e-07f, 8.477e-11f, 5.461e-15f, -979.3f, -22.43f);
  GIBBS(12, 3.09f, -1.145e-05f, 2.835e-07f, 2.553e-11f, -7.194e-15f, 2447.0f, -20.65f);
  GIBBS(13, 3.132f, 0.0007454f, -1.368e-07f, -3.666e-11f, -7.679e-15f, -2049.0f, -21.77f);
  GIBBS(14, 3.119f, 0.0004026f, -1.026e-07f, -8.423e-12f, 8.264e-15f, -81.38f, -20.28f);
  GIBBS(15, 3.68f, -0.0004343f, -2.767e-07f, 7.352e-11f, 5.72e-15f, -1253.0f, -20.13f);
  GIBBS(16, 3.565f, 0.001081f, -2.427e-07f, 8.102e-11f, 6.879e-15f, 517.7f, -22.93f);
  GIBBS(17, 2.993f, -0.0007226f, 3.701e-07f, -4.709e-11f, 3.682e-15f, -1215.0f, -21.92f);

  PAIR(0, 6, 14, 5, 1, 5.7f, -0.4264f, 2.1f)
  PAIR(1, 4, 3, 11, 9, 4.128f, 0.7241f, 5527.0f)
  PAIR(2, 4, 8, 11, 9, 5.821f, -0.328f, 7640.0f)
  PAIR(3, 14, 15, 16, 4, 4.429f, -0.3569f, 3084.0f)
  THIRD(4, 8, 15, 5, 3.231f, 0.1328f, 1085.0f, 17, 5.7f, 0, 1.8f)
  PAIR(5, 16, 9, 2, 11, 8.227f, 0.2258f, 8174.0f)
  PAIR(6, 11, 7, 10, 15, 5.115f, 0.6361f, 8864.0f)
  FALL(7, 6, 7, 12, 8.41f, -0.2001f, 739.2f, 10.92f, -0.4125f, 1975.0f, 0.54f, 123.0f, 1868.0f, 11, 2.4f)
  PAIR(8, 11, 17, 2, 3, 4.511f, 0.1581f, 3040.0f)
  THIRD(9, 15, 0, 17, 4.064f, -0.2996f, 2504.0f, 14, 1.4f, 10, 0.41f)
  PAIR(10, 6, 15, 5, 17, 7.946f, -0.03448f, 7207.0f)
  PAIR(11, 12, 14, 17, 11, 8.734f, 0.5147f, 1530.0f)
  PAIR(12, 4, 0, 17, 9, 8.524f, 0.6291f, 1316.0f)
  PAIR(13, 15, 11, 4, 8, 6.741f, -0.47f, 7194.0f)
  PAIR(14, 3, 16, 4, 6, 8.933f, -0.2273f, 7865.0f)
  THIRD(15, 0, 8, 6, 3.443f, -0.379f, 778.1f, 4, 3.6f, 16, -0.26f)
  PAIR(16, 11, 14, 13, 15, 8.589f, 0.2023f, 4786.0f)
  PAIR(17, 16, 17, 0, 13, 6.201f, -0.2436f, 35.39f)
  FALL(18, 4, 5, 17, 7.857f, -0.2797f, 92.63f, 10.73f, -0.9631f, 1206.0f, 0.69f, 274.0f, 990.9f, 7, 1.6f)
  PAIR(19, 1, 3, 14, 8, 4.139f, 0.7516f, 570.3f)
  THIRD(20, 10, 16, 6, 4.714f, -0.4534f, 1434.0f, 11, 7.6f, 4, 1.2f)
  PAIR(21, 8, 6, 14, 2, 6.083f, 0.04931f, 2844.0f)
  PAIR(22, 7, 13, 2, 3, 7.347f, 0.5975f, 8073.0f)
  PAIR(23, 4, 11, 17, 15, 8.414f, 0.8546f, 1976.0f)
  PAIR(24, 3, 12, 15, 2, 8.949f, 0.6654f, 1453.0f)
  PAIR(25, 13, 16, 12, 5, 6.106f, -0.0007393f, 829.7f)
  THIRD(26, 11, 0, 10, 4.643f, -1.175f, 994.5f, 8, 5.2f, 7, 0.73f)
  PAIR(27, 2, 3, 7, 14, 4.524f, -0.1282f, 356.3f)
  PAIR(28, 5, 8, 4, 13, 6.111f, 0.776f, 7371.0f)
  FALL(29, 8, 12, 4, 8.758f, 0.1706f, 1051.0f, 8.358f, -1.531f, 1721.0f, 0.51f, 95.9f, 2401.0f, 17, 4.0f)
  PAIR(30, 8, 2, 7, 1, 5.322f, -0.3297f, 103.9f)
  THIRD(31, 17, 13, 8, 2.259f, -0.2066f, 2814.0f, 9, 7.8f, 2, 0.081f)
  PAIR(32, 5, 6, 9, 10, 5.525f, 0.5633f, 2610.0f)
  PAIR(33, 16, 5, 8, 17, 8.018f, 0.8923f, 332.5f)
  PAIR(34, 0, 16, 6, 8, 6.374f, 0.8085f, 956.5f)
  PAIR(35, 13, 15, 12, 8, 5.539f, -0.1987f, 2066.0f)
  PAIR(36, 6, 4, 12, 5, 8.909f, 0.6718f, 128.3f)
  THIRD(37, 8, 13, 5, 5.991f, -0.6668f, 1518.0f, 0, 7.8f, 1, 0.96f)
  PAIR(38, 9, 1, 14, 2, 4.788f, 0.1242f, 2369.0f)
  PAIR(39, 10, 17, 7, 0, 8.828f, -0.06663f, 3209.0f)
  FALL(40, 0, 10, 12, 7.424f, 0.1028f, 301.5f, 10.02f, -1.594f, 660.4f, 0.34f, 168.0f, 966.7f, 1, 0.62f)
  PAIR(41, 9, 7, 2, 17, 8.788f, 0.6945f, 1397.0f)
  THIRD(42, 12, 10, 15, 6.345f, -0.2995f, 131.4f, 2, 6.8f, 4, 1.7f)
  PAIR(43, 13, 16, 4, 14, 6.619f, 0.2061f, 7514.0f)
  PAIR(44, 0, 7, 2, 17, 4.209f, 0.392f, 8636.0f)
  PAIR(45, 12, 14, 1, 10, 4.094f, 0.244f, 2201.0f)
  PAIR(46, 8, 0, 14, 12, 4.351f, 0.8055f, 8081.0f)
  PAIR(47, 2, 16, 17, 11, 7.684f, -0.1469f, 670.0f)
  THIRD(48, 8, 7, 6, 5.9f, -0.5555f, 2537.0f, 3, 1.1f, 11, 1.8f)
  PAIR(49, 9, 1, 6, 16, 6.999f, -0.03552f, 5864.0f)
  PAIR(50, 9, 4, 0, 7, 4.303f, -0.1237f, 6048.0f)
  FALL(51, 6, 15, 9, 7.55f, 0.06466f, 699.5f, 8.474f, -0.5276f, 498.1f, 0.79f, 286.0f, 928.0f, 11, 3.0f)
  PAIR(52, 16, 14, 8, 6, 5.049f, 0.8238f, 1896.0f)
  THIRD(53, 2, 4, 8, 5.62f, -0.3157f, 838.7f, 5, 1.3f, 17, 0.35f)
  PAIR(54, 15, 17, 12, 0, 4.795f, 0.8299f, 6134.0f)
  PAIR(55, 12, 9, 4, 6, 5.72f, -0.05749f, 7562.0f)
  PAIR(56, 0, 10, 16, 13, 5.991f, 0.8158f, 1762.0f)
  PAIR(57, 0, 9, 8, 5, 4.325f, 0.04623f, 7830.0f)
  PAIR(58, 2, 11, 13, 12, 5.376f, -0.4324f, 915.4f)
  THIRD(59, 9, 4, 7, 5.066f, -0.9342f, 1120.0f, 16, 7.7f, 6, 1.7f)
  PAIR(60, 12, 6, 2, 0, 8.667f, 0.07524f, 5534.0f)
  PAIR(61, 4, 9, 15, 0, 8.56f, 0.2702f, 1537.0f)
  FALL(62, 13, 10, 9, 6.767f, 0.3387f, 979.2f, 9.625f, -1.314f, 1208.0f, 0.63f, 106.0f, 1929.0f, 4, 0.91f)
  PAIR(63, 16, 15, 7, 17, 8.531f, 0.8951f, 4050.0f)
  THIRD(64, 4, 6, 7, 4.052f, -1.072f, 717.4f, 1, 2.4f, 2, 0.88f)
  PAIR(65, 0, 13, 12, 6, 7.729f, -0.206f, 2432.0f)
}
