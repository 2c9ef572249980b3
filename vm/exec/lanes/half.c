/* Bodies of the rows in mx/ops/half.def. */
#include "body.h"

#include "core/ops/half.def"
