/* Bodies of the rows in mx/ops/float.def. */
#define MX_OFTEN
#include "vm/lanes/body.h"

#include "mx/ops/float.def"
