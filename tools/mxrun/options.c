/* The options that all commands know, and what they mean for a launch. */
#include "mxrun.h"

#include <stdlib.h>
#include <string.h>

bool common_option(int id, const char *value, struct machine *m) {
  uint64_t v;
  double seconds;
  switch (id) {
  case O_HELP: print_help(); exit(cli_finish("mxrun", CLI_DONE));
  case O_VERSION: printf("mxrun %s\n", mx_version_string()); exit(cli_finish("mxrun", CLI_DONE));
  case O_COLOR:
    if (!cli_color_mode(value)) cli_usage("mxrun", "--color: '%s' is not auto, always or never", value);
    return true;
  case O_THREADS:
    if (!cli_number(value, 1024, &v) || !v) cli_usage("mxrun", "--threads: '%s' is not a number from 1 to 1024", value);
    m->threads = (uint32_t)v;
    return true;
  case O_RESIDENT:
    if (!cli_number(value, 65536, &v) || !v)
      cli_usage("mxrun", "--resident: '%s' is not a number from 1 to 65536", value);
    m->resident = (uint32_t)v;
    return true;
  case O_STEPS:
    if (!cli_number(value, UINT64_MAX, &m->steps) || !m->steps)
      cli_usage("mxrun", "--steps: '%s' is not a positive number", value);
    return true;
  case O_TIMEOUT:
    if (!cli_real(value, &seconds) || !(seconds > 0) || seconds > 1e9)
      cli_usage("mxrun", "--timeout: '%s' is not a number of seconds", value);
    m->timeout = seconds;
    return true;
  case O_JIT:
    if (!strcmp(value, "auto")) m->jit = MX_JIT_AUTO;
    else if (!strcmp(value, "on")) m->jit = MX_JIT_ON;
    else if (!strcmp(value, "off")) m->jit = MX_JIT_OFF;
    else cli_usage("mxrun", "--jit: '%s' is not auto, on or off", value);
    return true;
  case O_STRESS:
    if (!cli_number(value, UINT64_MAX, &m->jit_stress) || !m->jit_stress)
      cli_usage("mxrun", "--jit-stress: '%s' is not a positive number", value);
    return true;
  case O_ASYNC:
    m->async_seed = 0;
    if (!strcmp(value, "late")) m->async = MX_ASYNC_LATE;
    else if (!strcmp(value, "now")) m->async = MX_ASYNC_NOW;
    else if (cli_number(value, UINT64_MAX, &m->async_seed)) m->async = MX_ASYNC_RANDOM;
    else cli_usage("mxrun", "--async: '%s' is not late, now or the number of a seed", value);
    return true;
  case O_NO_CACHE: m->no_cache = true; return true;
  case O_LIMIT: {
    mx_limit limit;
    char *why = NULL;
    if (!parse_limit(value, &limit, &v, &why)) cli_usage("mxrun", "--limit: %s", why);
    m->limit[limit] = v;
    m->limits |= 1u << limit;
    return true;
  }
  default: return false;
  }
}

void machine_config(mx_launch_config *c, const struct machine *m) {
  c->jit = m->jit;
  c->threads = m->threads;
  c->resident_blocks = m->resident;
  c->steps = m->steps;
  c->timeout = m->timeout;
  c->jit_stress = m->jit_stress;
  c->async = m->async;
  c->async_seed = m->async_seed;
  c->profile = m->profile;
}
