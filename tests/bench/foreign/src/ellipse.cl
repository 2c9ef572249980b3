// How well an ellipse fits the gradient of a picture: for every point the best of several shapes, each sampled at
// ANGLES
// places. A shape's samples lie one after the other: offset x, offset y, outward normal x, normal y.
__kernel void ellipse_fit(__global const float *gx, __global const float *gy, __global const float *samples,
                          __global float *score, __global uchar *shape, int width, int height, int shapes, int angles,
                          int edge) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  const int here = y * width + x;
  if (x < edge || y < edge || x >= width - edge || y >= height - edge) {
    score[here] = 0;
    shape[here] = 0xff;
    return;
  }
  float best = 0;
  int which = 0xff;
  __global const float *s = samples;
  for (int k = 0; k < shapes; k++) {
    float sum = 0, square = 0;
    int used = 0;
    for (int a = 0; a < angles; a++, s += 4) {
      const int at = (y + (int)s[1]) * width + x + (int)s[0];
      const float g = gx[at] * s[2] + gy[at] * s[3];
      if (g > 1e-3f || a % 4 == 0) {
        sum += g;
        square += g * g;
        used++;
      }
    }
    if (used < angles / 4 || sum <= 0) continue;
    const float mean = sum / used, spread = square / used - mean * mean;
    float fit;
    if (spread > 1e-5f) fit = mean * mean * used / (spread * angles);
    else fit = mean * mean * 1e5f;
    if (fit > best) {
      best = fit;
      which = k;
    }
  }
  score[here] = best;
  shape[here] = (uchar)which;
}
