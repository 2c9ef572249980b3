/* Bodies of the rows in core/ops/int.def. */
#define MX_HOT_FAMILY
#include "body.h"

#include "core/ops/int.def"
