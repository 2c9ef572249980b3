// Nine points in double precision. A group goes down a strip of ROWS tiles; each tile with its edge lies in local
// memory.
#define TX 32
#define TY 8
#define W (TX + 2)

__kernel void stencil9(__global const double *from, __global double *to, __local double *tile, int width, int height,
                       int tiles, double centre, double side, double corner) {
  const int lx = get_local_id(0), ly = get_local_id(1);
  const int x = get_global_id(0) + 1; // the outermost points are fixed
  int y = get_group_id(1) * TY * tiles + ly + 1;
  __local double *mid = tile + (ly + 1) * W + lx + 1;

  for (int k = 0; k < tiles; k++, y += TY) {
    const bool inside = x < width - 1 && y < height - 1;
    if (x < width && y < height) {
      __global const double *g = from + (size_t)y * width + x;
      mid[0] = g[0];
      if (ly == 0) {
        mid[-W] = g[-width];
        if (lx == 0) mid[-W - 1] = g[-width - 1];
        else if (lx == TX - 1 && x + 1 < width) mid[-W + 1] = g[-width + 1];
      }
      if (ly == TY - 1 && y + 1 < height) {
        mid[W] = g[width];
        if (lx == 0) mid[W - 1] = g[width - 1];
        else if (lx == TX - 1 && x + 1 < width) mid[W + 1] = g[width + 1];
      }
      if (lx == 0) mid[-1] = g[-1];
      else if (lx == TX - 1 && x + 1 < width) mid[1] = g[1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (inside) {
      double s = mid[-1] + mid[1] + mid[-W] + mid[W];
      double c = mid[-W - 1] + mid[-W + 1] + mid[W - 1] + mid[W + 1];
      to[(size_t)y * width + x] = centre * mid[0] + side * s + corner * c;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
