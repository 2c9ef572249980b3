/* Which CPU level's bodies run here. A build may hold only some levels (make LEVELS=v4, LEVELS=plain): those that it lacks
 * are weak references to nothing. */
#include "vm/exec.h"

#include <string.h>

#define WEAK __attribute__((weak))
extern const struct mx_level WEAK mx__level_v2, WEAK mx__level_v3, WEAK mx__level_v4, WEAK mx__level_plain;

const struct mx_level *mx__level(const char *name) {
  const struct mx_level *const levels[] = {&mx__level_v4, &mx__level_v3, &mx__level_v2, &mx__level_plain};
#ifdef __x86_64__
  const bool have[] = {__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"),
                       __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"),
                       __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"), true};
#else
  const bool have[] = {false, false, false, true};
#endif
  for (size_t k = 0; k < sizeof levels / sizeof levels[0]; k++)
    if (levels[k] && have[k] && (!name || !strcmp(name, levels[k]->name))) return levels[k];
  return NULL;
}
