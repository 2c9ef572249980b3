/* Bodies of the rows in mx/ops/int.def. */
#define MX_OFTEN
#include "body.h"

#include "core/ops/int.def"
