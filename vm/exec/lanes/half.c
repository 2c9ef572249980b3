/* Bodies of the rows in core/ops/half.def. */
#include "body.h"

#include "core/ops/half.def"
