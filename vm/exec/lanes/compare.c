/* Bodies of the rows in core/ops/compare.def. */
#include "body.h"

#include "core/ops/compare.def"
