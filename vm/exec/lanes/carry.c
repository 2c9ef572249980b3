/* Bodies of the rows in mx/ops/carry.def. */
#include "body.h"

#include "core/ops/carry.def"
