/* Bodies of the rows in mx/ops/math.def. */
#include "vm/lanes/body.h"

#include "mx/ops/math.def"
