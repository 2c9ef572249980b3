#include "mx/bfloat16.h"
