/* Bodies of the rows in mx/ops/move.def. */
#define MX_HOT_FAMILY
#include "body.h"

#include "core/ops/move.def"
