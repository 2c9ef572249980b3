/* Bodies of the rows in mx/ops/int.def. */
#define MX_HOT_FAMILY
#include "body.h"

#include "core/ops/int.def"
