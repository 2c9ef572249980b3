#ifndef MX_JITC_DUMP_H
#define MX_JITC_DUMP_H

#include "analyse.h"

#include <stdio.h>

/* blocks in the machine's order, who may stand where while they run, and what may run next */
void ja_dump_plan(const struct ja *a, FILE *to);
void ja_dump_cfg(const struct ja *a, FILE *to); /* the graph of blocks and dominators, for dot */

#endif
