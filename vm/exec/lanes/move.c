/* Bodies of the rows in core/ops/move.def. */
#define MX_HOT_FAMILY
#include "body.h"

#include "core/ops/move.def"
