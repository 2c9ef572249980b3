/* For traps at addresses that belong to the host's memory: says what lies there (a variable, the heap, the stack) and
 * what the program could do instead. */
#include "rt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The entry of /proc/self/maps that contains the address; false: there is none, or it is not readable. */
static bool find_mapping(uint64_t address, char *name, size_t size) {
  char line[4352];
  bool found = false;
  FILE *f = fopen("/proc/self/maps", "r");
  while (f && !found && fgets(line, sizeof line, f)) {
    uint64_t from, to;
    char mode;
    int at = 0;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %c%*s %*s %*s %*s %n", &from, &to, &mode, &at) < 3) continue;
    found = address >= from && address < to && mode == 'r';
    if (found) snprintf(name, size, "%s", at ? line + at : "");
  }
  if (f) fclose(f);
  return found;
}

static bool describe(uint64_t address, char *text, size_t size) {
  char name[256];
  const char *variable = rt_variable_at((const void *)(uintptr_t)address);
  if (variable) {
    snprintf(
        text, size,
        "this is what stands for the variable '%s' on the host: kernels use it by its name, or by the address that "
        "cudaGetSymbolAddress gives",
        variable);
    return true;
  }
  if (rt_is_device_address(address) || !find_mapping(address, name, sizeof name)) return false;
  const char *what = !strcmp(name, "[stack]")  ? " (a variable of a function)"
                     : !strcmp(name, "[heap]") ? " (from malloc or new)"
                     : *name == '/'            ? " (a variable, or a constant)"
                                               : "";
  snprintf(
      text, size,
      "this is the host's own memory%s: a kernel needs memory of cudaMalloc or cudaMallocManaged, or cudaHostRegister "
      "for this one",
      what);
  return true;
}

__attribute__((constructor)) static void begin(void) { rt_host_memory = describe; }
