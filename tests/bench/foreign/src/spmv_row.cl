/* Sparse matrix by vector, compressed rows, a work item for each row: y = alpha A x + beta y.
 * `order` lists the rows, those of about the same length next to each other. */
__kernel void spmv_row(__global const int *start, __global const int *column, __global const float *value,
                       __global const float *x, __global float *y, int rows, __global const int *order, float alpha,
                       float beta) {
  const int i = get_global_id(0);
  if (i >= rows)
    return;
  const int r = order[i];
  int k = start[r];
  const int end = start[r + 1];
  if (k >= end) { /* an empty row */
    y[r] = beta != 0.0f ? beta * y[r] : 0.0f;
    return;
  }
  float sum = 0.0f;
  do {
    sum += value[k] * x[column[k]];
  } while (++k < end);
  sum *= alpha;
  if (beta != 0.0f)
    sum += beta * y[r];
  y[r] = sum;
}
