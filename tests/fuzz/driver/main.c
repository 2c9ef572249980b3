/* Runs a fuzz target without libFuzzer: replays files, and a deterministic number of mutations of them and of the
 * seeds, the same in every run. Separate so that the same targets serve `make check` with any compiler and
 * coverage-guided fuzzing.
 *
 *   TARGET [--runs N] [--seed S] [--write-seeds DIR] [FILE | DIR]... */
#include "../fuzz.h"

#include <dirent.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;
static uint64_t next_random(void) { /* splitmix64 */
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
static size_t below(size_t n) { return (size_t)(next_random() % n); }

static unsigned runs_done;

static void run(const uint8_t *data, size_t size) {
  LLVMFuzzerTestOneInput(data, size);
  runs_done++;
}

/* What mutations start from: the target's seeds and the files replayed. */
enum { MAX_STARTS = 4096, MAX_FILE = 1 << 16 };
static struct start {
  uint8_t *data;
  size_t size;
} starts[MAX_STARTS];
static unsigned nstarts;

static void add_start(uint8_t *data, size_t size) {
  if (nstarts < MAX_STARTS && size) starts[nstarts++] = (struct start){data, size};
  else free(data);
}

static bool replay_file(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return perror(path), false;
  uint8_t *data = malloc(MAX_FILE);
  size_t size = data ? fread(data, 1, MAX_FILE, f) : 0;
  fclose(f);
  if (!data) return false;
  run(data, size);
  add_start(data, size);
  return true;
}

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Files of a folder in the order of their names, which is the same everywhere. */
static bool replay(const char *path) {
  DIR *d = opendir(path);
  if (!d) return replay_file(path);
  char **names = NULL;
  size_t n = 0;
  bool ok = true;
  for (struct dirent *e; (e = readdir(d));) {
    if (e->d_name[0] == '.') continue;
    char **more = realloc(names, (n + 1) * sizeof *names);
    if (more) names = more, names[n++] = strdup(e->d_name);
  }
  closedir(d);
  if (n) qsort(names, n, sizeof *names, compare_names);
  for (size_t k = 0; k < n; k++) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%s", path, names[k]);
    ok &= replay_file(name);
    free(names[k]);
  }
  free(names);
  return ok;
}

static bool write_seeds(const char *dir) {
  size_t size;
  uint8_t *seed;
  for (unsigned n = 0; (seed = fuzz_seed(n, &size)); n++) {
    char name[4096];
    snprintf(name, sizeof name, "%s/seed-%u", dir, n);
    FILE *f = fopen(name, "wb");
    bool ok = f && fwrite(seed, 1, size, f) == size;
    if (f) ok &= !fclose(f);
    free(seed);
    if (!ok) return perror(name), false;
  }
  return true;
}

/* A few of: another byte, another bit, a piece moved, repeated, left out, or taken from another seed. */
static size_t mutate(uint8_t *data, size_t size, size_t room, const uint8_t *other, size_t nother) {
  for (size_t k = 1 + below(4); k && size; k--) {
    size_t at = below(size), n = 1 + below(size - at < 40 ? size - at : 40), to = below(size);
    switch (below(7)) {
    case 0: data[at] = (uint8_t)next_random(); break;
    case 1: data[at] ^= (uint8_t)(1u << below(8)); break;
    case 2: data[at] = (uint8_t)(data[at] + (below(2) ? 1 : -1)); break;
    case 3: memmove(&data[at], &data[at + n], size - at - n), size -= n; break;
    case 4:
      if (size + n > room) break;
      memmove(&data[at + n], &data[at], size - at);
      size += n;
      break;
    case 5: memmove(&data[to], &data[at], n < size - to ? n : size - to); break;
    default:
      if (!nother) break;
      to = below(nother);
      if (n > nother - to) n = nother - to;
      memcpy(&data[at], &other[to], n < size - at ? n : size - at);
    }
  }
  return size;
}

static void run_mutations(unsigned runs) {
  size_t size;
  unsigned n = 0;
  for (uint8_t *seed; nstarts < MAX_STARTS && (seed = fuzz_seed(n++, &size));) {
    run(seed, size);
    add_start(seed, size);
  }
  for (unsigned k = 0; nstarts && k < runs; k++) {
    const struct start *a = &starts[below(nstarts)], *b = &starts[below(nstarts)];
    size_t room = a->size + 256;
    uint8_t *data = malloc(room);
    if (!data) break;
    memcpy(data, a->data, a->size);
    run(data, mutate(data, a->size, room, b->data, b->size));
    free(data);
  }
}

int main(int argc, char **argv) {
  unsigned runs = 0;
  bool ok = true;
  static const struct option longs[] = {{"runs", 1, 0, 'r'}, {"seed", 1, 0, 's'}, {"write-seeds", 1, 0, 'w'}, {0}};
  for (int o; ok && (o = getopt_long(argc, argv, "-", longs, NULL)) != -1;)
    switch (o) { /* "-": files, too, in their order */
    case 'r': runs = (unsigned)strtoul(optarg, NULL, 0); break;
    case 's': state = strtoull(optarg, NULL, 0); break;
    case 'w': ok = write_seeds(optarg); break;
    case 1: ok = replay(optarg); break;
    default: return 2;
    }
  if (runs) run_mutations(runs);
  while (nstarts) free(starts[--nstarts].data);
  printf("%u inputs\n", runs_done);
  return ok ? 0 : 1;
}
