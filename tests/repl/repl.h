/* Between the parts of the test program of interactive sessions. */
#ifndef MX_TESTS_REPL_H
#define MX_TESTS_REPL_H
#include <stdint.h>
#include <stdio.h>

int terminal(char **scripts); /* NAME.mxr in this folder each; NULL at the end */
int random_lines(uint64_t seed, uint64_t lines);

#endif
