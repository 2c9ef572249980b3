/* Bodies of the rows in mx/ops/dpx.def. */
#include "vm/lanes/body.h"

#include "mx/ops/dpx.def"
