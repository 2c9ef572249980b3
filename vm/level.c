/* Which CPU level's bodies run here. MX_PLAIN_ONLY: a build with the plain C bodies alone, as on other machines. */
#include "vm/exec.h"

#include <string.h>

#if defined __x86_64__ && !defined MX_PLAIN_ONLY
extern const struct mx_level mx__level_v2, mx__level_v3, mx__level_v4;
#else
extern const struct mx_level mx__level_plain;
#endif

const struct mx_level *mx__level(const char *name) {
#if defined __x86_64__ && !defined MX_PLAIN_ONLY
  static const struct mx_level *const levels[] = {&mx__level_v4, &mx__level_v3, &mx__level_v2};
  const bool have[] = {__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"),
                       __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"),
                       __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt")};
#else
  static const struct mx_level *const levels[] = {&mx__level_plain};
  const bool have[] = {true};
#endif
  for (size_t k = 0; k < sizeof levels / sizeof levels[0]; k++)
    if (have[k] && (!name || !strcmp(name, levels[k]->name))) return levels[k];
  return NULL;
}
