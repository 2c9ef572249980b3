/* Bodies of the rows in mx/ops/float.def. */
#include "vm/lanes/body.h"

#include "mx/ops/float.def"
