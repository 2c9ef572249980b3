/* mxrun: which command, and what all commands share. */
#include "mxrun.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Examples:\n"
    "  mxrun saxpy.mxs --grid 4 --block 256 --print y[0:8] x=iota:f32[1000] y=zeros:f32[1000] a=2.5 n=1000\n"
    "  mxrun kernel.ptx -k main --block 128 @input.npy zeros:f32[128] --save 1=out.npy\n"
    "  mxrun mandelbrot.mxs --grid 4096 --block 256 out=zeros:u32[1024,1024] w=1024 h=1024 maxit=256 --save out=m.png\n"
    "  mxrun test tests/golden          run every launch manifest in a folder\n"
    "  mxrun info                       version, CPU level, limits, compiler, cache\n"
    "\n"
    "Usage: mxrun [options] FILE [-k KERNEL] [ARG...]     FILE: .mxs, .ptx or .mxb; - is stdin\n"
    "       mxrun test [options] PATH...\n"
    "       mxrun check [options] FILE [-k KERNEL] [ARG...]   the same run, watched by tools that find races and more\n"
    "       mxrun info [--json]\n"
    "       mxrun -i [options] FILE [ARG...]   an interactive session\n"
    "       mxrun repl [options] [FILE]    the same; without a file, a calculator\n"
    "       mxrun profile [options] FILE [ARG...]   a run that counts what each line does\n"
    "       mxrun cache list | why FILE | clear\n"
    "       mxrun exec [options] PROGRAM [ARG...]   a program built for CUDA with a shared runtime, on mx\n"
    "\n";
static const char help_end[] = "Exit status: 0 done, 1 input refused or not as expected, 2 wrong usage, 3 the kernel "
                               "trapped or was stopped, or a check found something, 4 host failure.\n";

bool common_option(int id, const char *value, struct machine *m) {
  uint64_t v;
  double seconds;
  switch (id) {
  case O_HELP:
    printf("%s%s%s%s%s%s%s%s%s%s", help, run_help, check_help, profile_help, repl_help, test_help, info_help,
           cache_help, exec_help, help_end);
    exit(cli_finish("mxrun", CLI_DONE));
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

int main(int argc, char **argv) {
  int status;
  cli_begin();
  if (argc > 1 && !strcmp(argv[1], "test")) status = command_test(argc, argv, 2);
  else if (argc > 1 && !strcmp(argv[1], "info")) status = command_info(argc, argv, 2);
  else if (argc > 1 && !strcmp(argv[1], "exec")) status = command_exec(argc, argv, 2);
  else if (argc > 1 && !strcmp(argv[1], "cache")) status = command_cache(argc, argv, 2);
  else if (argc > 1 && !strcmp(argv[1], "profile")) status = command_profile(argc, argv, 2);
  else if (argc > 1 && !strcmp(argv[1], "check")) status = command_check(argc, argv, 2);
  else if (argc > 1 && !strcmp(argv[1], "repl")) status = command_repl(argc, argv, 2);
  else status = command_run(argc, argv, 1);
  return cli_finish("mxrun", status);
}
