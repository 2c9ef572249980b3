/* Bodies of the rows in core/ops/video.def. */
#include "body.h"

#include "core/ops/video.def"
