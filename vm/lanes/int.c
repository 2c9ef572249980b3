/* Bodies of the rows in mx/ops/int.def. */
#define MX_OFTEN
#include "vm/lanes/body.h"

#include "mx/ops/int.def"
