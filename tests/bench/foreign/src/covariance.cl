/* The covariance of every two columns of a table, a work item for each first column; the columns' means are
 * subtracted on the way.
 * With `unit` it is the correlation: divided by both deviations, which count as 1 where they are next to nothing. */
float usable(float deviation)
{
  return deviation > 0.005f ? deviation : 1.0f;
}

__kernel void covariance(__global const float *table, __global const float *mean, __global const float *deviation,
                         __global float *result, int columns, int rows, int unit) {
  const int j = get_global_id(0);
  if (j >= columns)
    return;
  const float mine = mean[j];
  for (int k = j; k < columns; k++) {
    __global const float *a = table + j, *b = table + k;
    const float other = mean[k];
    float sum = 0.0f;
    if (unit && k == j) {
      sum = (float)(rows - 1);
    } else {
      for (int i = 0; i < rows; i++) {
        sum += (*a - mine) * (*b - other);
        a += columns;
        b += columns;
      }
      if (unit)
        sum /= usable(deviation[j]) * usable(deviation[k]);
    }
    sum /= (float)(rows - 1);
    result[j * columns + k] = sum;
    result[k * columns + j] = sum;
  }
}
