/* Bodies of the rows in core/ops/float.def. */
#define MX_HOT_FAMILY
#include "body.h"

#include "core/ops/float.def"
