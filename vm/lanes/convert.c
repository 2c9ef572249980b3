/* Bodies of the rows in mx/ops/convert.def. */
#include "vm/lanes/body.h"

#include "mx/ops/convert.def"
