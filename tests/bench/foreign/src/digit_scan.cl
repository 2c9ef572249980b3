/* Radix sort, last pass: keys go to their places by one digit of four bits, equal digits in their old order.
 * `place` says where each group's keys of a digit begin. A work item takes four keys a turn and counts their digits
 * in an array of its own. */
#define DIGITS 16
#define EACH 4

/* the sum of what the work items before this one gave; *all: of all of them */
uint scan_group(uint x, __local uint *space, int lid, int size, uint *all)
{
  int now = 0;
  space[lid] = x;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 1; step < size; step <<= 1) {
    uint t = space[now + lid];
    if (lid >= step)
      t += space[now + lid - step];
    now = size - now;
    space[now + lid] = t;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const uint sum = space[now + lid];
  *all = space[now + size - 1];
  barrier(CLK_LOCAL_MEM_FENCE);
  return sum - x;
}

__kernel void digit_scan(__global const uint *from, __global uint *to, __global const uint *place, int keys, int shift,
                         __local uint *space) {
  __local uint start[DIGITS];
  uint counter[DIGITS];
  const int lid = get_local_id(0), size = get_local_size(0), groups = get_num_groups(0), group = get_group_id(0);
  const int part = (keys + groups - 1) / groups;
  const int end = min(keys, (group + 1) * part);

  if (lid < DIGITS)
    start[lid] = place[lid * groups + group];
  barrier(CLK_LOCAL_MEM_FENCE);

  for (int base = group * part; base < end; base += size * EACH) {
    const int i = base + lid * EACH;
    uint key[EACH];
    for (int d = 0; d < DIGITS; d++)
      counter[d] = 0;
    for (int k = 0; k < EACH; k++)
      if (i + k < end) {
        key[k] = from[i + k];
        counter[(key[k] >> shift) & (DIGITS - 1)]++;
      }
    for (int d = 0; d < DIGITS; d++) {
      uint all;
      const uint before = scan_group(counter[d], space, lid, size, &all);
      counter[d] = start[d] + before;
      barrier(CLK_LOCAL_MEM_FENCE);
      if (lid == 0)
        start[d] += all;
    }
    for (int k = 0; k < EACH; k++)
      if (i + k < end) {
        const uint d = (key[k] >> shift) & (DIGITS - 1);
        to[counter[d]++] = key[k];
      }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
