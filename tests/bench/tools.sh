#!/bin/bash
# make bench-tools: what a profile costs, on thirteen of the examples as their heads say to run them, with one thread. Seconds of the
# launch alone, the least of REPEAT runs (3); the last line is the geometric mean of the ratios.
# Usage: tools.sh FOLDER-OF-BUILD
cd "$(dirname "$0")/../../examples" || exit 4
export PATH=$1:$PATH MX_JITC=$1/mx-jitc
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mx-bench-tools.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export XDG_CACHE_HOME=$scratch
names='saxpy mandelbrot nbody matmul reduce spmv histogram blackscholes scan transpose convolution sha256 bitonic'

command_of() { # the first line at the head of a program that says how to run it, without what it prints and saves
  awk '/^\/\/   mxrun / || more { line = $0; sub(/^\/\/ +/, "", line); more = sub(/\\$/, "", line); command = command line
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
  command=$(command_of "$name") rest=
  rest=${command#mxrun }
  compiled=$(seconds "mxrun --json --threads 1 --jit=on $rest") || exit 1
  interpreted=$(seconds "mxrun --json --threads 1 --jit=off $rest") || exit 1
  counts=$(seconds "mxrun profile --json --no-memory --threads 1 --jit=on $rest") || exit 1
  all=$(seconds "mxrun profile --json --threads 1 $rest") || exit 1
  echo "$name $compiled $interpreted $counts $all"
done | awk '
  NR == 1 { printf "%-13s%12s%12s%12s%12s   %s\n", "milliseconds", "compiled", "interpreted", "profile", "and memory", "to compiled; to interpreted" }
  { c = $4 / $2; m = $5 / $2; ci = $4 / $3; mi = $5 / $3; lc += log(c); lm += log(m); li += log(ci); lj += log(mi)
    printf "%-13s%12.3f%12.3f%12.3f%12.3f   %6.1f %6.1f; %5.2f %5.2f\n", $1, 1e3 * $2, 1e3 * $3, 1e3 * $4, 1e3 * $5, c, m, ci, mi }
  END { if (NR) printf "%-61s   %6.1f %6.1f; %5.2f %5.2f\n", "geometric mean", exp(lc / NR), exp(lm / NR), exp(li / NR), exp(lj / NR) }'
