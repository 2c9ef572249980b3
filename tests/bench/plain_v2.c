#define BENCH_LEVEL v2
#include "plain.h"
