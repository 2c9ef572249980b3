/* Bodies of the rows in mx/ops/video.def. */
#include "body.h"

#include "core/ops/video.def"
