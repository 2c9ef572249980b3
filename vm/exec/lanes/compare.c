/* Bodies of the rows in mx/ops/compare.def. */
#include "body.h"

#include "core/ops/compare.def"
