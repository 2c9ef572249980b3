#!/bin/bash
# make bench-tools: what a profile and the checkers cost, on thirteen of the examples as their heads say to run them,
# with one thread. Seconds of the launch alone, the least of REPEAT runs (3); the last lines are the geometric mean of
# the ratios and the worst.
# Usage: tools.sh FOLDER-OF-BUILD
cd "$(dirname "$0")/../../examples" || exit 4
export PATH=$1:$PATH MX_JITC=$1/mx-jitc
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mx-bench-tools.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export XDG_CACHE_HOME=$scratch
names='saxpy mandelbrot nbody matmul reduce spmv histogram blackscholes scan transpose convolution sha256 bitonic'

command_of() { # the first line at the head of a program that says how to run it, without what it prints and saves
  awk '/^\/\/   mxrun / || more { line = $0; sub(/^\/\/ +/, "", line); more = sub(/\\$/, "", line);
    command = command line
    if (!more) { print command; exit } }' "$1.mxs" | sed -E 's/ --(print|save|expect|ulp) +[^ ]+//g; s/ --stats//g'
}
seconds() { # of a command that prints JSON
  local least='' now k
  for ((k = 0; k < ${REPEAT:-3}; k++)); do
    now=$(eval "$1" 2> "$scratch/err" | grep -o '"seconds": [0-9.e-]*' | head -n 1 | cut -d' ' -f2)
    [ "$now" ] || { echo "$1: $(head -n 1 "$scratch/err")" >&2; exit 1; }
    least=$(awk -v a="$least" -v b="$now" 'BEGIN { print a == "" || b < a ? b : a }')
  done
  echo "$least"
}
for name in $names; do
  command=$(command_of "$name")
  rest=${command#mxrun }
  compiled=$(seconds "mxrun --json --threads 1 --jit=on $rest") || exit 1
  interpreted=$(seconds "mxrun --json --threads 1 --jit=off $rest") || exit 1
  counts=$(seconds "mxrun profile --json --no-memory --threads 1 --jit=on $rest") || exit 1
  all=$(seconds "mxrun profile --json --threads 1 --jit=on $rest") || exit 1
  checked=$(seconds "mxrun check --json --threads 1 --jit=on $rest") || exit 1
  echo "$name $compiled $interpreted $counts $all $checked"
done | awk '
  NR == 1 { printf "%-14s%10s%13s%10s%12s%10s   %s\n", "milliseconds", "compiled", "interpreted", "profile",
    "and memory", "check", "to compiled: profile, and memory, check" }
  { for (k = 4; k <= 6; k++) { r[k] = $k / $2; sum[k] += log(r[k]); most[k] = r[k] > most[k] ? r[k] : most[k] }
    printf "%-14s%10.3f%13.3f%10.3f%12.3f%10.3f   %6.1f %6.1f %6.1f\n", $1, 1e3 * $2, 1e3 * $3, 1e3 * $4, 1e3 * $5,
      1e3 * $6, r[4], r[5], r[6] }
  END { if (!NR) exit
    for (k = 4; k <= 6; k++) { mean = mean sprintf("%6.1f ", exp(sum[k] / NR));
      worst = worst sprintf("%6.1f ", most[k]) }
    printf "%-69s   %s\n%-69s   %s\n", "geometric mean", mean, "worst", worst }'
# Oclgrind with --data-races --uninitialized to compiled code under check, on the eight kernels that are there in OpenCL
# C
"$1/tests/bench" check .. "$1" "${REPEAT:-3}"
