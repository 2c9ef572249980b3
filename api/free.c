/* Freeing by the library what the library allocated. A file of its own: both halves need it, and a program that only
 * assembles links no machine. */
#include "mx/api.h"

#include <stdlib.h>

void mx_text_free(char *text) { free(text); }
