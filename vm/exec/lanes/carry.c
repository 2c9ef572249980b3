/* Bodies of the rows in core/ops/carry.def. */
#include "body.h"

#include "core/ops/carry.def"
