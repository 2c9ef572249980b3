// Texts and sequences: search for patterns in constant memory, run lengths by a scan, Huffman codes put into words with
// atomicOr, base64, and counts of words of DNA in a hash table with 64-bit keys.
#include "check.h"
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

__constant__ char pattern[32];
__global__ void find(const char *text, int n, int m, int *hits, int *count) {
  extern __shared__ char piece[];
  int first = blockIdx.x * blockDim.x;
  for (int i = threadIdx.x; i < (int)blockDim.x + m - 1 && first + i < n; i += blockDim.x) piece[i] = text[first + i];
  __syncthreads();
  if (first + (int)threadIdx.x + m > n) return;
  for (int k = 0; k < m; k++)
    if (piece[threadIdx.x + k] != pattern[k]) return;
  hits[atomicAdd(count, 1)] = first + threadIdx.x;
}

__global__ void runs(const char *text, int n, char *symbol, int *length, int *count) { // one block
  __shared__ int s[256], base;
  if (threadIdx.x == 0) base = 0;
  for (int at = 0; at < n; at += blockDim.x) {
    int i = at + threadIdx.x, begins = i < n && (i == 0 || text[i] != text[i - 1]);
    s[threadIdx.x] = begins;
    for (int d = 1; d < (int)blockDim.x; d *= 2) {
      __syncthreads();
      int v = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
      __syncthreads();
      s[threadIdx.x] += v;
    }
    if (begins) {
      int k = base + s[threadIdx.x] - 1, e = i + 1;
      while (e < n && text[e] == text[i]) e++;
      symbol[k] = text[i], length[k] = e - i;
    }
    __syncthreads();
    if (threadIdx.x == 0) base += s[blockDim.x - 1];
    __syncthreads();
  }
  if (threadIdx.x == 0) *count = base;
}

struct Code {
  unsigned bits, length;
};
__constant__ Code codes[256];
__global__ void encode(const unsigned char *text, const int *offset, int n, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Code c = codes[text[i]];
  int at = offset[i];
  atomicOr(&out[at / 32], c.bits << at % 32);
  if (at % 32 + c.length > 32) atomicOr(&out[at / 32 + 1], c.bits >> (32 - at % 32));
}

__global__ void base64(const uchar3 *in, char4 *out, int n) {
  const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uchar3 v = in[i];
  out[i] = make_char4(letters[v.x >> 2], letters[(v.x & 3) << 4 | v.y >> 4], letters[(v.y & 15) << 2 | v.z >> 6], letters[v.z & 63]);
}

__global__ void words(const char *dna, int n, int k, unsigned long long *keys, int *counts, int slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + k > n) return;
  unsigned long long key = 1; // the leading one makes it never 0
  for (int j = 0; j < k; j++) key = key << 2 | (dna[i + j] >> 1 & 3);
  unsigned h = (unsigned)((key * 0x9E3779B97F4A7C15ull) >> 40) % slots;
  for (;; h = (h + 1) % slots) {
    unsigned long long seen = atomicCAS(&keys[h], 0ull, key);
    if (seen != 0 && seen != key) continue;
    atomicAdd(&counts[h], 1);
    return;
  }
}

int main() {
  std::string text;
  unsigned state = 14;
  for (int i = 0; i < 2000; i++) text += "abra cadabra"[random_of(state) % 12];
  const int n = (int)text.size(), m = 3;
  Buffer<char> dt(n), symbol(n);
  Buffer<int> hits(n), count(1), length(n);
  dt.put(text.data());
  CHECK(cudaMemcpyToSymbol(pattern, "abr", m));
  CHECK(cudaMemset(count.p, 0, sizeof(int)));
  find<<<(n + 127) / 128, 128, 128 + m>>>(dt.p, n, m, hits.p, count.p);
  int found, want = 0;
  count.get(&found);
  for (size_t at = text.find("abr"); at != text.npos; at = text.find("abr", at + 1)) want++;
  EXPECT(found == want);
  runs<<<1, 256>>>(dt.p, n, symbol.p, length.p, count.p);
  std::vector<char> sym(n);
  std::vector<int> len(n);
  int groups;
  count.get(&groups), symbol.get(sym.data()), length.get(len.data());
  std::string again;
  for (int i = 0; i < groups; i++) again += std::string(len[i], sym[i]);
  EXPECT(again == text);

  std::vector<Code> table(256); // codes as of a tree: 0, 10, 110, ..., with the first bit lowest
  std::string symbols = "a brcd";
  for (size_t i = 0; i < symbols.size(); i++) table[(unsigned char)symbols[i]] = {(1u << i) - 1, (unsigned)std::min(i + 1, symbols.size())};
  std::vector<int> offset(n);
  int bits = 0;
  for (int i = 0; i < n; i++) offset[i] = bits, bits += table[(unsigned char)text[i]].length;
  CHECK(cudaMemcpyToSymbol(codes, table.data(), 256 * sizeof(Code)));
  Buffer<unsigned> out(bits / 32 + 2);
  Buffer<int> doffset(n);
  doffset.put(offset.data());
  CHECK(cudaMemset(out.p, 0, out.n * sizeof(unsigned)));
  encode<<<(n + 63) / 64, 64>>>((unsigned char *)dt.p, doffset.p, n, out.p);
  std::vector<unsigned> coded(out.n);
  out.get(coded.data());
  again.clear();
  for (int at = 0; at < bits;) {
    size_t k = 0;
    while (k < symbols.size() && coded[at / 32] >> at % 32 & 1) k++, at++;
    at += k < symbols.size();
    again += symbols[std::min(k, symbols.size() - 1)];
  }
  EXPECT(again == text);

  Buffer<char> encoded(n / 3 * 4);
  base64<<<(n / 3 + 127) / 128, 128>>>((uchar3 *)dt.p, (char4 *)encoded.p, n / 3);
  std::string b64(encoded.n, 0);
  encoded.get(&b64[0]);
  const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int i = 0; i < n / 3; i++) {
    unsigned v = 0, w = 0;
    for (int k = 0; k < 3; k++) v = v << 8 | (unsigned char)text[3 * i + k];
    for (int k = 0; k < 4; k++) w = w << 6 | (unsigned)(strchr(letters, b64[4 * i + k]) - letters);
    EXPECT(v == w);
  }
  std::string dna;
  for (int i = 0; i < 1500; i++) dna += "ACGT"[random_of(state) % 4];
  const int k = 5, slots = 4096;
  Buffer<unsigned long long> keys(slots);
  Buffer<int> counts(slots);
  Buffer<char> dd(dna.size());
  dd.put(dna.data());
  CHECK(cudaMemset(keys.p, 0, slots * 8));
  CHECK(cudaMemset(counts.p, 0, slots * sizeof(int)));
  words<<<12, 128>>>(dd.p, (int)dna.size(), k, keys.p, counts.p, slots);
  std::vector<int> c(slots);
  counts.get(c.data());
  std::map<std::string, int> seen;
  for (size_t i = 0; i + k <= dna.size(); i++) seen[dna.substr(i, k)]++;
  std::vector<int> a, b;
  for (int x : c)
    if (x) a.push_back(x);
  for (auto &s : seen) b.push_back(s.second);
  std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
  EXPECT(a == b);
  printf("%d hits, %d runs, %d bits, %zu words\npassed\n", found, groups, bits, b.size());
}
