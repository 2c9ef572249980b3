/* The cheapest way down through a grid of costs, some rows a launch. Every group recomputes a ghost zone of `rows`
 * columns at each side, so that groups need nothing of each other. `turn` keeps where each cell came from (0 left, 1
 * above, 2 right). */
__kernel void row_dp(__global const int *cost, __global const int *from, __global int *to, __global uchar *turn,
                     int width, int first, int rows, __local int *above, __local int *here)
{
  const int lid = get_local_id(0), size = get_local_size(0);
  const int own = size - 2 * rows;
  const int start = (int)get_group_id(0) * own;
  const int column = start - rows + lid;
  const bool inside = column >= 0 && column < width;
  const bool mine = inside && lid >= rows && lid < size - rows;

  if (inside)
    above[lid] = from[column];
  barrier(CLK_LOCAL_MEM_FENCE);

  for (int r = 0; r < rows; r++) {
    int best = 0;
    bool done = false;
    if (inside && lid > r && lid < size - 1 - r) {
      uchar way = 1;
      best = above[lid];
      if (column > 0 && above[lid - 1] < best) {
        best = above[lid - 1];
        way = 0;
      }
      if (column < width - 1 && above[lid + 1] < best) {
        best = above[lid + 1];
        way = 2;
      }
      const size_t at = (size_t)(first + r) * width + column;
      best += cost[at];
      if (mine)
        turn[at] = way;
      here[lid] = best;
      done = true;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (done)
      above[lid] = here[lid];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (mine)
    to[column] = above[lid];
}
