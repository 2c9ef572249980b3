/* mxrun's main function: calls the command that the first word names, or runs a kernel. */
#include "mxrun.h"

#include <string.h>

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
