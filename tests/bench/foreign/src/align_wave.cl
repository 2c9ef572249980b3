/* Global alignment of pairs of sequences, one anti-diagonal of tiles of every pair's matrix a launch.
 * 16 work items fill a tile of 16 x 16 cells: first its upper left triangle, diagonal by diagonal, then the lower
 * right one. */
#define T 16
#define LETTERS 24

__attribute__((noinline)) int best_of(int across, int down, int match, int gap)
{
  int best = match;
  if (across - gap > best)
    best = across - gap;
  if (down - gap > best)
    best = down - gap;
  return best;
}

__kernel void align_wave(__global const uchar *tops, __global const uchar *sides, __global const char *similar,
                         __global int *matrix, int length, int wave, int tiles, int first_tile, int gap) {
  __local int cell[T + 1][T + 1];
  __local int score[T][T];
  __local uchar letter[T];
  const int lid = get_local_id(0);
  const int pair = (int)get_group_id(0) / tiles, tile = (int)get_group_id(0) % tiles;
  const int tx = first_tile + tile, ty = wave - tx;
  const int pitch = length + 1;
  const int x0 = tx * T, y0 = ty * T;
  __global int *corner = matrix + (size_t)pair * pitch * pitch + (size_t)y0 * pitch + x0;
  __global int *p;

  letter[lid] = sides[pair * length + y0 + lid];
  const int top = tops[pair * length + x0 + lid];
  if (lid == 0)
    cell[0][0] = corner[0];
  cell[0][lid + 1] = corner[lid + 1];
  cell[lid + 1][0] = corner[(size_t)(lid + 1) * pitch];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < T; i++)
    score[i][lid] = similar[letter[i] * LETTERS + top];
  barrier(CLK_LOCAL_MEM_FENCE);

  for (int d = 0; d < T; d++) {
    if (lid <= d) {
      const int x = lid + 1, y = d - lid + 1;
      cell[y][x] = best_of(cell[y][x - 1], cell[y - 1][x], cell[y - 1][x - 1] + score[y - 1][x - 1], gap);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int d = T - 2; d >= 0; d--) {
    if (lid <= d) {
      const int x = lid + T - d, y = T - lid;
      cell[y][x] = best_of(cell[y][x - 1], cell[y - 1][x], cell[y - 1][x - 1] + score[y - 1][x - 1], gap);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  p = corner + pitch + lid + 1;
  for (int i = 1; i <= T; i++, p += pitch)
    *p = cell[i][lid + 1];
}
