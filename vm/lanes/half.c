/* Bodies of the rows in mx/ops/half.def. */
#include "vm/lanes/body.h"

#include "mx/ops/half.def"
