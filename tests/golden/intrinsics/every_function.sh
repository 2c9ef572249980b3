# every_function.sh GROUP...: the guides' functions of these groups (docs/guide.tsv) that are used less often, in golden
# programs for both 32 and 64 lanes, than rows of the table name them. Only programs count beside which a model (NAME.py)
# lies.
cd "$(dirname "$0")" || exit 4
launched() { # programs that are launched as they are, and those that are with warps of 32 lanes
  sed -n 's/^program //p' ./*.launch | sort -u > "$TMPDIR/lanes_64"
  grep -h -A 1 '^\.target sm_' ./*.launch ../multi/*.mxs | sed -n 's/^\.include "\(.*\)"$/\1/p' | sort -u > "$TMPDIR/lanes_32"
  comm -12 "$TMPDIR/lanes_64" "$TMPDIR/lanes_32"
  (cd ../multi && grep -l '' rounds.mxs | comm -12 - "$TMPDIR/lanes_32" | sed 's/^/..\/multi\//')
}
mapfile -t programs < <(launched | while read -r p; do [ -e "${p%.mxs}.py" ] && echo "$p"; done)
awk -F'\t' -v groups=" $* " '
  FILENAME ~ /guide\.tsv$/ { if (index(groups, " " $1 " ")) wanted[$3]++; next }
  {
    line = $0
    sub(/^ *(@!?%[a-z0-9_]+ )?/, "", line)
    sub(/[ ;].*/, "", line)
    used[line]++
  }
  END { for (name in wanted) if (used[name] < wanted[name]) print name ": " used[name] + 0 " of " wanted[name] }
' ../../../docs/guide.tsv "${programs[@]}" | sort
