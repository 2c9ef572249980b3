# Puts the pieces of every function of a PTX text in another order, without changing what it means: a piece reaches from
# a label to the next one, and says by a branch where it went on. awk -v seed=N -f shuffle.awk FILE
function add(line) { if (n) piece[n] = piece[n] line "\n"; else print line }
function close_piece(next_label) {
  if (n && !ended) piece[n] = piece[n] (next_label == "" ? "\tret;\n" : "\tbra.uni \t" next_label ";\n")
}
function finish(k, at, t) {
  close_piece("")
  for (k = n; k > 2; k--) { # the first one stays where it is
    at = 2 + int(rand() * (k - 1))
    t = piece[k]
    piece[k] = piece[at]
    piece[at] = t
  }
  for (k = 1; k <= n; k++) printf "%s", piece[k]
  n = 0
}
BEGIN { srand(seed) }
{
  line = $0
  code = $0
  sub(/\/\/.*/, "", code)
  opens = gsub(/\{/, "{", code)
  closes = gsub(/\}/, "}", code)
  if (!depth && code ~ /^[ \t]*\{[ \t]*$/) { depth = 1; print line; n = 1; piece[1] = ""; ended = 0; next }
  if (!depth) { print line; next }
  if (depth == 1 && closes > opens) { finish(); print line; depth = 0; next }
  if (depth == 1 && code ~ /^[ \t]*[$A-Za-z_][$A-Za-z0-9_]*:/ &&
    code !~ /\.(branchtargets|callprototype|calltargets)/) {
    label = code
    sub(/^[ \t]*/, "", label)
    sub(/:.*/, "", label)
    close_piece(label)
    piece[++n] = ""
    ended = 0
    sub(/^[^:]*:/, "", code)
  }
  depth += opens - closes
  add(line)
  if (code ~ /;[ \t]*$/ ||
    code ~ /[A-Za-z]/) ended = code ~ /^[ \t]*(bra|bra\.uni|brx\.idx|ret|ret\.uni|exit|trap)[ \t;]/
}
