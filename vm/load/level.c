/* Which CPU level's bodies run here. A build may hold only some levels (make LEVELS=v4, LEVELS=plain); it defines
 * MX_HAVE_ for those that it holds. The environment's MX_LEVEL picks one by name, for tests and comparisons; if the
 * build does not hold that one, there are no bodies. */
#include "vm/exec/exec.h"

#include <stdlib.h>
#include <string.h>

#define LEVELS(X) LEVEL_v4(X) LEVEL_v3(X) LEVEL_v2(X) LEVEL_plain(X)
#define RUNS_v4 \
  (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") && \
   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
#define RUNS_v3 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
#define RUNS_v2 (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"))
#ifdef MX_HAVE_v4
#define LEVEL_v4(X) X(v4, RUNS_v4)
#else
#define LEVEL_v4(X)
#endif
#ifdef MX_HAVE_v3
#define LEVEL_v3(X) X(v3, RUNS_v3)
#else
#define LEVEL_v3(X)
#endif
#ifdef MX_HAVE_v2
#define LEVEL_v2(X) X(v2, RUNS_v2)
#else
#define LEVEL_v2(X)
#endif
#ifdef MX_HAVE_plain
#define LEVEL_plain(X) X(plain, true)
#else
#define LEVEL_plain(X)
#endif

#define DECLARE(name_, runs_) extern const struct mx_level mx__level_##name_;
LEVELS(DECLARE)

const struct mx_level *mx__level(const char *name) {
  if (!name) name = getenv("MX_LEVEL");
#define TRY(name_, runs_) \
  if ((runs_) && (!name || !strcmp(name, #name_))) return &mx__level_##name_;
  LEVELS(TRY)
  return NULL;
}

const char *mx__level_of_cpu(void) {
#ifdef __x86_64__
  return RUNS_v4 ? "v4" : RUNS_v3 ? "v3" : RUNS_v2 ? "v2" : NULL;
#else
  return NULL;
#endif
}
