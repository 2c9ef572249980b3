/* LU factorisation in place, without pivots, in tiles of 16 x 16 */
#define T 16

/* the diagonal tile of every matrix of a batch: a group of 16 for each, a work item for a row below the pivot and a
 * column right of it */
__kernel void lu_corner(__global float *matrices, int n, int at)
{
  __local float a[T][T];
  const int lid = get_local_id(0);
  __global float *m = matrices + (size_t)get_group_id(0) * n * n + (size_t)at * n + at;
  __global float *p = m + lid;
  for (int i = 0; i < T; i++, p += n)
    a[i][lid] = *p;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < T - 1; i++) {
    if (lid > i) {
      for (int j = 0; j < i; j++)
        a[lid][i] -= a[lid][j] * a[j][i];
      a[lid][i] /= a[i][i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid > i)
      for (int j = 0; j <= i; j++)
        a[i + 1][lid] -= a[i + 1][j] * a[j][lid];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  p = m + lid;
  for (int i = 0; i < T; i++, p += n)
    *p = a[i][lid];
}

/* the tiles right of the diagonal tile and those below it: in a group of 32, one half solves a tile of the row, the
 * other one of the column */
__kernel void lu_border(__global float *matrices, int n, int at)
{
  __local float corner[T][T];
  __local float right[T][T];
  __local float below[T][T];
  const int lid = get_local_id(0) & (T - 1);
  const bool upper = get_local_id(0) < T;
  __global float *m = matrices + (size_t)get_group_id(1) * n * n + (size_t)at * n + at;
  const int off = ((int)get_group_id(0) + 1) * T;
  __global float *r = m + off, *b = m + (size_t)off * n;

  if (upper) {
    for (int i = 0; i < T / 2; i++)
      corner[i][lid] = m[i * n + lid];
    for (int i = 0; i < T; i++)
      right[i][lid] = r[i * n + lid];
  } else {
    for (int i = T / 2; i < T; i++)
      corner[i][lid] = m[i * n + lid];
    for (int i = 0; i < T; i++)
      below[i][lid] = b[i * n + lid];
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  if (upper) {
    for (int i = 1; i < T; i++)
      for (int j = 0; j < i; j++)
        right[i][lid] -= corner[i][j] * right[j][lid];
  } else {
    for (int i = 0; i < T; i++) {
      for (int j = 0; j < i; j++)
        below[lid][i] -= below[lid][j] * corner[j][i];
      below[lid][i] /= corner[i][i];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  if (upper)
    for (int i = 1; i < T; i++)
      r[i * n + lid] = right[i][lid];
  else
    for (int i = 0; i < T; i++)
      b[i * n + lid] = below[i][lid];
}

/* all other tiles: less the product of the tile left in their row and that on top of their column */
__kernel void lu_inside(__global float *m, int n, int at)
{
  __local float left[T][T];
  __local float top[T][T];
  const int lx = get_local_id(0), ly = get_local_id(1);
  const int x = at + T + (int)get_global_id(0), y = at + T + (int)get_global_id(1);
  left[ly][lx] = m[y * n + at + lx];
  top[ly][lx] = m[(at + ly) * n + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0.0f;
  for (int k = 0; k < T; k++)
    sum += left[ly][k] * top[k][lx];
  m[y * n + x] -= sum;
}
