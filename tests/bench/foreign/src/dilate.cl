// Grey-scale dilation by a mask (a disk). The tile of the picture with its edge lies in local memory.
__kernel void dilate_disk(__global const uchar *in, __global uchar *out, __global const uchar *mask,
                          __local uchar *tile, int width, int height, int radius) {
  const int lx = get_local_id(0), ly = get_local_id(1), bx = get_local_size(0), by = get_local_size(1);
  const int x = get_global_id(0), y = get_global_id(1), pitch = bx + 2 * radius;
  const int x0 = get_group_id(0) * bx - radius, y0 = get_group_id(1) * by - radius;
  for (int ty = ly; ty < by + 2 * radius; ty += by)
    for (int tx = lx; tx < pitch; tx += bx) {
      const int sx = x0 + tx, sy = y0 + ty;
      uchar v = 0;
      if (sx >= 0 && sy >= 0 && sx < width && sy < height) v = in[sy * width + sx];
      tile[ty * pitch + tx] = v;
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (x >= width || y >= height) return;
  uchar most = 0;
  __global const uchar *m = mask;
  for (int dy = 0; dy <= 2 * radius; dy++) {
    __local const uchar *row = tile + (ly + dy) * pitch + lx;
    for (int dx = 0; dx <= 2 * radius; dx++) {
      if (!*m++) continue;
      if (row[dx] > most) most = row[dx];
      if (most == 255) goto full;
    }
  }
full:
  out[y * width + x] = most;
}
