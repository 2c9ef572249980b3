/* Bodies of the rows in mx/ops/convert.def. */
#include "body.h"

#include "core/ops/convert.def"
