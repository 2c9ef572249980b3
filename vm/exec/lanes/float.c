/* Bodies of the rows in mx/ops/float.def. */
#define MX_OFTEN
#include "body.h"

#include "core/ops/float.def"
