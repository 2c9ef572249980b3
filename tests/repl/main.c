/* What tests/repl/check needs beside a shell: a person at a terminal, and one who types nonsense.
 *   repl terminal               plays scripts into mxrun on a pseudo-terminal; the text must be that of the pipe
 *   repl random SEED LINES      prints random command lines */
#include "repl.h"

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  if (argc == 4 && !strcmp(argv[1], "random"))
    return random_lines(strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0));
  if (argc >= 3 && !strcmp(argv[1], "terminal")) return terminal(argv + 2);
  fprintf(stderr, "usage: repl terminal SCRIPT... | repl random SEED LINES\n");
  return 2;
}
