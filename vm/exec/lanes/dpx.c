/* Bodies of the rows in mx/ops/dpx.def. */
#include "body.h"

#include "core/ops/dpx.def"
