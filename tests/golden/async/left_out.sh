#!/bin/bash
# left_out.sh [--jit=on] FILE...: each line that ends with //! is left out, one at a time, and the program must then go
# wrong or be reported in its first run, interpreted or compiled; as it is, it must pass. FILE is a manifest, or a
# program whose manifest lies beside it. Of several manifests in a file, those run again of which a line is left out.
jit=--jit=off
case $1 in --jit=*) jit=$1; shift ;; esac
export MX_JITC=$PWD/../../jitc-quick # each of the programs is compiled anew, and runs for a moment
work=$(mktemp -d "${TMPDIR:-/tmp}/mx-left-out.XXXXXX")
trap 'rm -rf "$work"' EXIT
total=0 shown=0
for file; do
  lines=$(grep -n '//!$' "$file" | cut -d: -f1)
  # a folder for each line, and one process for all of them
  mkdir $(printf "$work/%s " whole $lines)
  for folder in "$work"/*; do
    cp "${file%/*}"/*.bin "$folder"
    [ "${file##*.}" = mxs ] && cp "${file%.mxs}.launch" "$folder"
  done
  cp "$file" "$work/whole"
  mxrun test "$jit" --timeout 60 "$work/whole" > "$work/said" || cat "$work/said"
  rm -r "$work/whole"
  awk -v work="$work" -v name="${file##*/}" '
    { if ($0 == "---") part++; else text[NR] = $0; part_of[NR] = part; if (/\/\/!$/) left_out[NR] }
    END {
      for (line in left_out) {
        file = work "/" line "/" name
        for (k = 1; k <= NR; k++) print k != line && part_of[k] == part_of[line] ? text[k] : "" > file
        close(file)
      }
    }' "$file"
  mxrun test "$jit" --timeout 20 --json "$work" > "$work/said"
  for line in $lines; do
    total=$((total + 1))
    if grep -q "\"manifest\": \"$work/$line/.*\"result\": \"failed\"" "$work/said"; then shown=$((shown + 1))
    else echo "$file:$line: nobody notices"; fi
  done
  rm -r "${work:?}"/*
done
echo "$shown of $total"
