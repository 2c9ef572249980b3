/* Bodies of the rows in mx/ops/simd.def. */
#include "vm/lanes/body.h"

#include "mx/ops/simd.def"
