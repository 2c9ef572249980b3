/* Sparse matrix by vector, compressed rows, 32 work items for each row, which then add up their sums in local memory.
 * There are fewer groups than rows: each goes on with rows further down. */
#define LANES 32
#define GROUP 128

__kernel void spmv_warp(__global const int *start, __global const int *column, __global const float *value,
                        __global const float *x, __global float *y, int rows) {
  __local float part[GROUP];
  const int lid = get_local_id(0), lane = lid & (LANES - 1);
  const int stride = get_num_groups(0) * (GROUP / LANES);

  for (int first = get_group_id(0) * (GROUP / LANES); first < rows; first += stride) {
    const int r = first + lid / LANES;
    float sum = 0.0f;
    if (r < rows) {
      const int end = start[r + 1];
      for (int k = start[r] + lane; k < end; k += LANES)
        sum = mad(value[k], x[column[k]], sum);
    }
    part[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = LANES / 2; s > 0; s >>= 1) {
      if (lane < s)
        part[lid] += part[lid + s];
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0 && r < rows)
      y[r] = part[lid];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
