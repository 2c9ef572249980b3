#define BENCH_LEVEL v4
#include "plain.h"
