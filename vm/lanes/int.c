/* Bodies of the rows in mx/ops/int.def. */
#include "vm/lanes/body.h"

#include "mx/ops/int.def"
