/* Bodies of the rows in mx/ops/move.def. */
#include "vm/lanes/body.h"

#include "mx/ops/move.def"
