/* Bodies of the rows in mx/ops/math.def. */
#include "body.h"

#include "core/ops/math.def"
