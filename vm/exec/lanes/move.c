/* Bodies of the rows in mx/ops/move.def. */
#define MX_OFTEN
#include "body.h"

#include "core/ops/move.def"
