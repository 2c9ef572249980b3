// What programs of recorded.awk share: numbers as their bits, and the loop over functions and their inputs.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned long long word;
template <class T> __device__ T of(word w) {
  T t;
  memcpy(&t, &w, sizeof t);
  return t;
}
template <class T> __device__ word bits(T t) {
  word w = 0;
  memcpy(&w, &t, sizeof t);
  return w;
}

struct job {
  void (*kernel)(const word *, word *, word *, int);
  int in, out;
};

// Reads vectors: a line with # begins the next function, the others have its inputs behind the first tab.
static int run(const job *jobs, int count) {
  const int most = 4096, values = 16;
  word *in, *out, *cells;
  cudaMallocManaged(&in, most * values * sizeof *in);
  cudaMallocManaged(&out, most * values * sizeof *out);
  cudaMallocManaged(&cells, most * sizeof *cells);
  static char line[4096];
  int at = -1, n = 0;
  for (bool more = true; more;) {
    more = fgets(line, sizeof line, stdin);
    char *p = strchr(line, '\t');
    if (more && line[0] != '#') {
      if (!p) continue;
      if (n == most) return fprintf(stderr, "function %d has more than %d lines\n", at, most), 1;
      for (int k = 0; k < jobs[at].in; k++) in[n * jobs[at].in + k] = strtoull(p + 1, &p, 16);
      n++;
      continue;
    }
    if (n) jobs[at].kernel<<<(n + 127) / 128, 128>>>(in, out, cells, n);
    if (cudaDeviceSynchronize() != cudaSuccess) return fprintf(stderr, "function %d failed\n", at), 1;
    for (int k = 0; k < n * jobs[at].out; k++) printf("%llx%c", out[k], (k + 1) % jobs[at].out ? ',' : '\n');
    n = 0;
    at++;
    if (more && at >= count) break;
  }
  return at != count;
}
