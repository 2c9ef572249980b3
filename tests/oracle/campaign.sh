#!/bin/bash
# A long run of the oracle: each program interpreted, compiled and in stress mode, 32 and 64 lanes in turn. Programs
# are of a third of the usual size and compiled without optimisation: about 0.15 s of one core for each.
#   tests/oracle/campaign.sh [COUNT] [FIRST SEED]         20000 programs, from seed 1
cd "$(dirname "$0")" || exit 4
: "${MX_BUILD:=$PWD/../../build}"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mx-oracle.XXXXXX") # compiled code that nobody else wants to find
trap 'rm -rf "$scratch"' EXIT
export MX_JIT_TIMEOUT=600 # also where this is the last to get the processor
XDG_CACHE_HOME=$scratch "$MX_BUILD/tests/oracle" --jitc "$PWD/../jitc-quick" --jit=all --size 30 --no-shrink --count \
  "${1:-20000}" --seed "${2:-1}"
