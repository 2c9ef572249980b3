// B+-tree: a group looks for the two ends of a range of keys at once, each item compares one key of a node, level by
// level.
#define ORDER 64

typedef struct { int leaf, used; int key[ORDER + 1]; int next[ORDER + 1]; } Node;

__kernel void tree_range(__global const Node *nodes, __global const long *records, int depth, __global const int *from,
                         __global const int *to, __global int *first, __global int *length, __global long *sum) {
  __local int at[2], found[2];
  __local long part[ORDER];
  const int t = get_local_id(0), q = get_group_id(0);
  if (t < 2) {
    at[t] = 0;
    found[t] = -1;
  }
  const int lo = from[q], hi = to[q];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int level = 0; level < depth; level++) {
    const int a = at[0], b = at[1];
    barrier(CLK_LOCAL_MEM_FENCE);
    __global const Node *left = nodes + a, *right = nodes + b;
    if (t < left->used && left->key[t] <= lo && lo < left->key[t + 1]) at[0] = left->next[t];
    if (t < right->used && right->key[t] <= hi && hi < right->key[t + 1]) at[1] = right->next[t];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  // leaves: the first record not below lo, the last not above hi
  __global const Node *left = nodes + at[0], *right = nodes + at[1];
  if (left->leaf && t < left->used && left->key[t] >= lo && (t == 0 || left->key[t - 1] < lo)) found[0] = left->next[t];
  else if (left->leaf && t == left->used - 1 && left->key[t] < lo)
    found[0] = left->next[t] + 1; // the next leaf's first
  if (right->leaf && t < right->used && right->key[t] <= hi && (t + 1 == right->used || right->key[t + 1] > hi))
    found[1] = right->next[t];
  barrier(CLK_LOCAL_MEM_FENCE);
  const int begin = found[0], end = found[1];
  long s = 0;
  if (begin >= 0 && end >= begin)
    for (__global const long *r = records + begin + t; r <= records + end; r += ORDER) s += *r;
  part[t] = s;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_ = ORDER / 2; half_ > 0; half_ /= 2) {
    if (t < half_) part[t] += part[t + half_];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) {
    first[q] = begin;
    length[q] = begin >= 0 && end >= begin ? end - begin + 1 : 0;
    sum[q] = part[0];
  }
}
