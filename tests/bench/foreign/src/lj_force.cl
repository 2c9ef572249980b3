/* Lennard-Jones forces in a periodic box from lists of neighbours (list[k * atoms + i]: the k-th neighbour of atom
 * i); farther than the cut-off there is none */
float nearest(float d, float box)
{
  const float half_box = 0.5f * box;
  if (d > half_box)
    d -= box;
  else if (d < -half_box)
    d += box;
  return d;
}

__kernel void lj_force(__global const float4 *position, __global const ushort *neighbours, __global const int *list,
                       __global float4 *force, int atoms, float box, float cut2, float a12, float b6) {
  const int i = get_global_id(0);
  if (i >= atoms)
    return;
  const float4 me = position[i];
  float4 f = (float4)(0.0f);
  const int n = neighbours[i];
  __global const int *next = list + i;
  for (int k = 0; k < n; k++, next += atoms) {
    const float4 other = position[*next];
    const float dx = nearest(me.x - other.x, box);
    const float dy = nearest(me.y - other.y, box);
    const float dz = nearest(me.z - other.z, box);
    const float r2 = dx * dx + dy * dy + dz * dz;
    if (r2 < cut2) {
      const float inv2 = 1.0f / r2;
      const float inv6 = inv2 * inv2 * inv2;
      const float s = inv6 * inv2 * (a12 * inv6 - b6);
      f.x += s * dx;
      f.y += s * dy;
      f.z += s * dz;
      f.w += inv6 * (a12 * inv6 / 12.0f - b6 / 6.0f);
    }
  }
  force[i] = f;
}
