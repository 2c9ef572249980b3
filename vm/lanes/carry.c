/* Bodies of the rows in mx/ops/carry.def. */
#include "vm/lanes/body.h"

#include "mx/ops/carry.def"
