// One portion of a bucket sort: a group sorts 128 keys, stably, by their bucket (a binary search among pivots). Each
// tile
// of 16 items has its own counters; its items count one after the other, in turns, which gives each its rank.
#define ITEMS 128
#define LANES 16
#define TILES (ITEMS / LANES)
#define BUCKETS 64

__kernel void bucket_portion(__global const float *keys, __global const float *pivots, __global float *sorted,
                             __global int *origin, __global ushort *bucket, __global uint *sizes, int n, int rounds) {
  volatile __local uint count[TILES * BUCKETS];
  __local float pivot[BUCKETS];
  __local uint total[BUCKETS], start[BUCKETS];
  const int t = get_local_id(0), tile = t / LANES, lane = t % LANES;
  if (t < BUCKETS - 1) pivot[t] = pivots[t];
  for (int round = 0; round < rounds; round++) {
    const int base = (get_group_id(0) * rounds + round) * ITEMS;
    const bool real = base + t < n;
    for (int i = t; i < TILES * BUCKETS; i += ITEMS) count[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    float key = 0;
    int b = 0;
    if (real) {
      key = keys[base + t];
      int lo = 0, hi = BUCKETS - 1; // among BUCKETS - 1 pivots
      while (lo < hi) {
        const int mid = (lo + hi) / 2;
        if (pivot[mid] <= key) lo = mid + 1;
        else hi = mid;
      }
      b = lo;
    }
    uint rank = 0;
    volatile __local uint *mine = count + tile * BUCKETS + b;
    for (int turn = 0; turn < LANES; turn++) {
      if (turn == lane && real) {
        rank = *mine;
        *mine = rank + 1;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t < BUCKETS) { // each bucket: where the tiles' parts begin
      uint sum = 0;
      for (volatile __local uint *c = count + t; c < count + TILES * BUCKETS; c += BUCKETS) {
        const uint here = *c;
        *c = sum;
        sum += here;
      }
      total[t] = sum;
      start[t] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < BUCKETS; step <<= 1) { // running sums
      uint add = 0;
      if (t >= step && t < BUCKETS) add = start[t - step];
      barrier(CLK_LOCAL_MEM_FENCE);
      if (add) start[t] += add;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (real) {
      const int to = base + start[b] - total[b] + *mine + rank;
      sorted[to] = key;
      origin[to] = base + t;
      bucket[to] = (ushort)b;
    }
    if (t < BUCKETS && total[t]) atomic_add(&sizes[t], total[t]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
