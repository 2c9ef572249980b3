#!/bin/bash
# left_out.sh [--jit=on] FILE...: each line that ends with //! is left out, one at a time, and the program must then go
# wrong or be reported in its first run, interpreted or compiled; as it is, it must pass. FILE is a manifest, or a
# program whose manifest lies beside it.
jit=--jit=off
case $1 in --jit=*) jit=$1; shift ;; esac
export MX_JITC=$PWD/../../jitc-quick # each of the programs is compiled anew, and runs for a moment
work=$(mktemp -d "${TMPDIR:-/tmp}/mx-left-out.XXXXXX")
trap 'rm -rf "$work"' EXIT
total=0 shown=0
for file; do
  cp "${file%/*}"/*.bin "$work"
  [ "${file##*.}" = mxs ] && cp "${file%.mxs}.launch" "$work"
  cp "$file" "$work"
  mxrun test "$jit" --timeout 60 "$work" > "$work/said" || cat "$work/said"
  lines=$(grep -n '//!$' "$file" | cut -d: -f1)
  for line in $lines; do
    sed "${line}s/.*//" "$file" > "$work/${file##*/}"
    total=$((total + 1))
    if mxrun test "$jit" --timeout 20 "$work" > "$work/said"; then
      echo "$file:$line: nobody notices"
    else
      shown=$((shown + 1))
    fi
  done
  rm -f "$work"/*
done
echo "$shown of $total"
