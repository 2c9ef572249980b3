/* Bodies of the rows in core/ops/math.def. */
#include "body.h"

#include "core/ops/math.def"
