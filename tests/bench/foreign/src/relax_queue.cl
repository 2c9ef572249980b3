/* One step of a search for the shortest ways with a worklist: each work item takes a vertex, tries its edges, and
 * vertices that came
 * nearer go into the group's own queue, which is then appended to the next worklist at once; what does not fit goes
 * there one by one. */
#define QUEUE 384

__kernel void relax_queue(__global const int *row, __global const int *edge, __global const ushort *length,
                          __global const int *work, int count, __global const int *before, __global int *distance,
                          __global int *stamp, __global int *next, __global int *next_count, int step) {
  __local int queue[QUEUE];
  __local int filled;
  __local int base;
  const int lid = get_local_id(0);
  if (lid == 0)
    filled = 0;
  barrier(CLK_LOCAL_MEM_FENCE);

  const int i = get_global_id(0);
  if (i < count) {
    const int v = work[i];
    const int start = before[v];
    int e = row[v];
    const int end = row[v + 1];
    while (e < end) {
      const int w = edge[e];
      const int far = start + length[e];
      e++;
      if (w == v || far >= before[w])
        continue;
      if (atomic_min(&distance[w], far) <= far)
        continue;
      if (atomic_xchg(&stamp[w], step) == step)
        continue;
      const int slot = atomic_inc(&filled);
      if (slot < QUEUE)
        queue[slot] = w;
      else
        next[atomic_inc(next_count)] = w;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  const int n = filled < QUEUE ? filled : QUEUE;
  if (lid == 0)
    base = atomic_add(next_count, n);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = lid; k < n; k += get_local_size(0))
    next[base + k] = queue[k];
}
