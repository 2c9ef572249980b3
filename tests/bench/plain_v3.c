#define BENCH_LEVEL v3
#include "plain.h"
