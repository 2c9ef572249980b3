# Manual pages. `--help` of a tool becomes section 1 (-v page=NAME -v brief=TEXT); a document in Markdown, as this
# project writes it, becomes section 5 or 7 (-v page -v section -v brief -v markdown=1). Also: -v version.
function text(s) { # what roff would take for a request or an escape
  gsub(/\\/, "\\e", s); gsub(/-/, "\\-", s)
  if (s ~ /^[.']/) s = "\\&" s
  return s
}
function spans(s,   out, n, part, k) { # `code` and **strong** in bold, [text](file) as text
  while (match(s, /\[[^]]*\]\([^)]*\)/)) s = substr(s, 1, RSTART - 1) substr(s, RSTART + 1, index(substr(s, RSTART),
    "]") - 2) substr(s, RSTART + RLENGTH)
  gsub(/<br>/, " ", s)
  gsub(/\*\*/, "`", s)
  n = split(s, part, "`")
  for (k = 1; k <= n; k++) out = out (k % 2 ? part[k] : "\001" part[k] "\002")
  out = text(out)
  gsub(/\001/, "\\fB", out); gsub(/\002/, "\\fR", out)
  return out
}
function verbatim(on) {
  if (on && !quoted) print ".PP\n.nf\n.RS 2"
  if (!on && quoted) print ".RE\n.fi"
  quoted = on
}
BEGIN {
  if (!section) section = 1
  printf ".TH %s %s \"\" \"mx %s\" \"mx\"\n.SH NAME\n%s \\- %s\n", toupper(page), section, version, text(page),
    text(brief)
}

# ---- --help
!markdown && /^[A-Z][^:]*:/ {
  heading = $0; sub(/:.*/, "", heading)
  rest = $0; sub(/^[^:]*: */, "", rest)
  verbatim(0)
  title = heading
  if (heading == "Usage") title = "SYNOPSIS"
  print (heading ~ / / && heading != "Exit status" ? ".SS " heading : ".SH " toupper(title))
  if (rest != "") {
    if (heading == "Usage") verbatim(1)
    print text(rest)
  }
  next
}
!markdown {
  if (heading == "Usage" && /^  +-/) { verbatim(0); print ".SH OPTIONS"; heading = "Options" }
  if ($0 == "") { verbatim(0); next }
  verbatim(1)
  print text(heading == "Usage" ? substr($0, match($0, /[^ ]/)) : substr($0, 3))
}

# ---- Markdown
markdown && /^```/ { fenced = !fenced; verbatim(fenced); next }
markdown && fenced { print text($0); next }
markdown && /^    / && !item { verbatim(1); print text(substr($0, 5)); next }
markdown && quoted && /^$/ { print ""; next }
markdown { verbatim(0) }
markdown && /^# / { print ".SH DESCRIPTION"; next }
markdown && /^## / { item = 0; print ".SH " toupper(text(substr($0, 4))); next }
markdown && /^###+ / { item = 0; sub(/^#+ /, ""); print ".SS " text($0); next }
markdown && /^\|[ -]*---/ { next }
markdown && /^\|/ { # a row: the first cell is the term
  gsub(/\\\|/, "\001")
  n = split($0, cell, / *\| */)
  for (k = 2; k < n; k++) gsub(/\001/, "|", cell[k])
  if (header++ == 0) { for (k = 2; k < n; k++) column[k] = cell[k]; next }
  print ".TP\n" spans(cell[2])
  for (k = 3; k < n;
    k++) if (cell[k] != "") print (column[k] == "default" ? "(default: " spans(cell[k]) ")" : spans(cell[k]))
  next
}
markdown { header = 0 }
markdown && /^- / { item = 1; print ".IP \\(bu 2\n" spans(substr($0, 3)); next }
markdown && /^$/ { item = 0; print ".PP"; next }
markdown { sub(/^ +/, ""); print spans($0) }

END {
  verbatim(0)
  print ".SH SEE ALSO\n.BR mxasm (1),\n.BR mxrun (1),\n.BR mx (7),\n.BR mx\\-launch (5)"
}
