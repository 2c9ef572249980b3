/* Bodies of the rows in core/ops/dpx.def. */
#include "body.h"

#include "core/ops/dpx.def"
