/* Bodies of the rows in mx/ops/compare.def. */
#include "vm/lanes/body.h"

#include "mx/ops/compare.def"
