/* Bodies of the rows in mx/ops/move.def. */
#define MX_OFTEN
#include "vm/lanes/body.h"

#include "mx/ops/move.def"
