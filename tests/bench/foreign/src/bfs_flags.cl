/* One step of a breadth-first search over a graph in compressed rows; a byte for each vertex says whether it is on
 * the frontier.
 * `more` has a byte for each group: whether it found anything. */
__kernel void bfs_flags(__global const int *row, __global const int *edge, __global const uchar *frontier,
                        __global const uchar *seen, __global uchar *next, __global int *level, __global uchar *more,
                        int vertices) {
  __local int found;
  const int v = get_global_id(0);
  if (get_local_id(0) == 0)
    found = 0;
  barrier(CLK_LOCAL_MEM_FENCE);

  if (v < vertices && frontier[v]) {
    const int deeper = level[v] + 1;
    const int end = row[v + 1];
    for (int e = row[v]; e < end; e++) {
      const int w = edge[e];
      if (w == v || seen[w])
        continue;
      level[w] = deeper;
      next[w] = 1;
      found = 1;
    }
  }

  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0)
    more[get_group_id(0)] = found != 0;
}
