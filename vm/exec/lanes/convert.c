/* Bodies of the rows in core/ops/convert.def. */
#include "body.h"

#include "core/ops/convert.def"
