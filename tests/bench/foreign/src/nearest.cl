// One step of k-means: the nearest centre of every point, how much nearer it is than the second, how many points
// changed,
// and how many belong to each centre. The centres pass through local memory in portions.
#define PORTION 8

__kernel void nearest_centre(__global const float *points, __global const float *centres, __global int *member,
                             __global float *margin, __global int *changed, __global int *size, __local float *part,
                             int n, int dims, int clusters) {
  const int i = get_global_id(0), t = get_local_id(0), items = get_local_size(0);
  float least = FLT_MAX, second = FLT_MAX;
  int index = -1;
  for (int base = 0; base < clusters; base += PORTION) {
    const int here = min(PORTION, clusters - base);
    for (int k = t; k < here * dims; k += items) part[k] = centres[base * dims + k];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) {
      __local const float *c = part;
      for (int k = 0; k < here; k++) {
        __global const float *p = points + i;
        float sum = 0;
        int d = 0;
        for (; d < dims; d++, p += n) {
          const float x = *p - *c++;
          sum += x * x;
          if (sum > second) break;
        }
        if (d < dims) {
          c += dims - 1 - d; // too far already
          continue;
        }
        if (sum < least) {
          second = least;
          least = sum;
          index = base + k;
        } else if (sum < second) second = sum;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i >= n) return;
  if (member[i] != index) {
    member[i] = index;
    atomic_inc(changed);
  }
  margin[i] = sqrt(second) - sqrt(least);
  atomic_inc(&size[index]);
}
