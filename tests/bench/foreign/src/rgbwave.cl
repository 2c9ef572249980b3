// Interleaved RGB bytes to three integer planes (reversible colour transform, level shift), then up to three levels of
// a reversible wavelet (5,3 lifting) inside tiles of 16x16 points that are mirrored at their edges.
#define T 16
#define PITCH (T + 1)

static int mirror(int i, int n) {
  if (i < 0) return -i;
  if (i >= n) return 2 * n - 2 - i;
  return i;
}

__kernel __attribute__((reqd_work_group_size(T, T, 1))) void rgb_wave(__global const uchar *rgb, __global int *py,
                                                                      __global int *pu, __global int *pv, int width,
                                                                      int height, int levels) {
  __local int tile[3][T * PITCH];
  const int lx = get_local_id(0), ly = get_local_id(1);
  int x = get_global_id(0), y = get_global_id(1);
  const bool inside = x < width && y < height;
  const int sx = min(x, width - 1), sy = min(y, height - 1);

  __global const uchar *s = rgb + ((size_t)sy * width + sx) * 3;
  const int r = s[0] - 128, g = s[1] - 128, b = s[2] - 128;
  const int at = ly * PITCH + lx;
  tile[0][at] = (r + 2 * g + b) >> 2;
  tile[1][at] = b - g;
  tile[2][at] = r - g;
  barrier(CLK_LOCAL_MEM_FENCE);

  int n = T;
  for (int level = 0; level < levels; level++, n >>= 1) {
    // two directions: along rows, then along columns
    for (int dir = 0; dir < 2; dir++) {
      const int step = dir == 0 ? 1 : PITCH;
      const int i = dir == 0 ? lx : ly, other = dir == 0 ? ly * PITCH : lx;
      const bool mine = lx < n && ly < n;
      if (mine && (i & 1)) // high band
        for (int c = 0; c < 3; c++) {
          __local int *line = tile[c] + other;
          line[i * step] -= (line[(i - 1) * step] + line[mirror(i + 1, n) * step]) >> 1;
        }
      barrier(CLK_LOCAL_MEM_FENCE);
      if (mine && !(i & 1)) // low band
        for (int c = 0; c < 3; c++) {
          __local int *line = tile[c] + other;
          line[i * step] += (line[mirror(i - 1, n) * step] + line[(i + 1) * step] + 2) >> 2;
        }
      barrier(CLK_LOCAL_MEM_FENCE);
      int keep[3];
      if (mine)
        for (int c = 0; c < 3; c++) keep[c] = tile[c][other + i * step];
      barrier(CLK_LOCAL_MEM_FENCE);
      if (mine) {
        const int to = (i & 1) ? n / 2 + i / 2 : i / 2;
        for (int c = 0; c < 3; c++) tile[c][other + to * step] = keep[c];
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
  if (!inside) return;
  const size_t o = (size_t)y * width + x;
  py[o] = tile[0][at];
  pu[o] = tile[1][at];
  pv[o] = tile[2][at];
}
