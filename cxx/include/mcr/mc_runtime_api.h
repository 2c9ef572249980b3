#include <mc_runtime.h>
