// A step of a particle filter that follows a disk in a noisy picture: draw a particle by the running sum of the old
// weights
// (linear search), move it, weigh it by the picture, and add up the weights of each group.
static __attribute__((noinline)) double uniform(__global int *seed, int i) {
  const int next = (int)((uint)seed[i] * 1103515245u + 12345u);
  seed[i] = next;
  return fabs(next / (double)INT_MAX);
}

static double gauss(__global int *seed, int i) {
  const double u = uniform(seed, i), v = uniform(seed, i);
  return sqrt(-2.0 * log(u + 1e-12)) * cos(2.0 * M_PI * v);
}

__kernel void track_step(__global const double *old_x, __global const double *old_y, __global const double *running,
                         __global int *seed, __global double *x, __global double *y, __global double *weight,
                         __global double *sums, __global int *source, __global const uchar *picture,
                         __global const int *disk, int points, int n, int width, int height, __local double *part) {
  const int i = get_global_id(0), t = get_local_id(0);
  double w = 0;
  if (i < n) {
    const double u = (i + 0.5 * uniform(seed, i)) / n;
    int from = -1;
    for (int k = 0; k < n; k++)
      if (running[k] >= u) {
        from = k;
        break;
      }
    if (from < 0) from = n - 1;
    source[i] = from;
    const double px = old_x[from] + 1.0 + 2.0 * gauss(seed, i), py = old_y[from] - 1.0 + 1.5 * gauss(seed, i);
    x[i] = px;
    y[i] = py;
    const int cx = convert_int_rte(px), cy = convert_int_rte(py);
    double like = 0;
    int seen = 0;
    for (int k = 0; k < points; k++) {
      const int ax = cx + disk[2 * k], ay = cy + disk[2 * k + 1];
      if (ax < 0 || ay < 0 || ax >= width || ay >= height) continue;
      const double v = picture[ay * width + ax], back = v - 100.0, front = v - 228.0;
      like += (back * back - front * front) / 50.0;
      seen++;
    }
    if (seen) like /= seen;
    else like = -200.0;
    w = exp(like * 0.02);
    weight[i] = w;
  }
  part[t] = w;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = get_local_size(0) / 2; s > 0; s >>= 1) {
    if (t < s) part[t] += part[t + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) sums[get_group_id(0)] = part[0];
}
