/* The runtime under the names of the MACA guide. */
#include "mx/runtime.h"
#include "mx/names.h"
