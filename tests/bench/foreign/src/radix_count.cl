/* Radix sort, first pass: how often each of 16 digits is in a group's part of the keys. A counter for each digit and
 * work item
 * in local memory, then a tree for each digit. */
#define DIGITS 16

__kernel void radix_count(__global const uint *key, __global uint *total, int keys, int shift, __local uint *counter)
{
  const int lid = get_local_id(0), size = get_local_size(0), groups = get_num_groups(0), group = get_group_id(0);
  const int part = (keys + groups - 1) / groups;
  const int end = min(keys, (group + 1) * part);

  for (int d = 0; d < DIGITS; d++)
    counter[d * size + lid] = 0;

  for (int i = group * part + lid; i < end; i += size) {
    const uint d = (key[i] >> shift) & (DIGITS - 1);
    counter[d * size + lid]++;
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  for (int d = 0; d < DIGITS; d++) {
    __local uint *mine = counter + d * size;
    for (int s = size / 2; s > 0; s /= 2) {
      if (lid < s)
        mine[lid] += mine[lid + s];
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
  if (lid < DIGITS)
    total[lid * groups + group] = counter[lid * size];
}
