#include "mx/half.h"
