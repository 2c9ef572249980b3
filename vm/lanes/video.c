/* Bodies of the rows in mx/ops/video.def. */
#include "vm/lanes/body.h"

#include "mx/ops/video.def"
