/* A layer of a neural network, forwards: a group of 16 x 16 multiplies 16 inputs with their weights to 16 neurons and
 * adds up each neuron's share.
 * weight[i][j]: from input i to neuron j; `share` has a row of 16 for every group. */
#define W 16

__kernel void layer_sum(__global const float *input, __global const float *weight, __global float *share, int inputs,
                        int neurons) {
  __local float in[W];
  __local float product[W][W];
  const int j = get_local_id(0), i = get_local_id(1);
  const int group = get_group_id(1);
  const int row = group * W + i;
  const int at = row * neurons + j;

  if (j == 0)
    in[i] = row < inputs ? input[row] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  product[i][j] = row < inputs ? in[i] * weight[at] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);

  for (int width = 2; width <= W; width *= 2) {
    if (i % width == 0)
      product[i][j] += product[i + width / 2][j];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i == 0)
    share[group * neurons + j] = product[0][j];
}
