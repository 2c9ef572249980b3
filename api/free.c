/* mx_text_free. It has a file of its own since texts come from the assembler and from the machine, and a program that
 * only assembles should not link the machine. */
#include "mx/api.h"

#include <stdlib.h>

void mx_text_free(char *text) { free(text); }
