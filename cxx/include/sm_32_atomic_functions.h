#include "mx/runtime.h"
