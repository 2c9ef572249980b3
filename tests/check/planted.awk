# Cases of planted bugs become launch manifests: each in warps of 64 and of 32 lanes, with the bug and mended.
#   === NAME
#   lines of the manifest (block, grid, arg ...); `finding TOOL:KIND` what is found where a line of the kernel ends in
#   //!
#   ---
#   lines of the kernel; those that begin with - have the bug, with + are mended; LANES HALF SHIFT LOW (LANES - 1) MASK
#   (all lanes, as a literal) and BYTES (LANES * 4) are numbers of the warp's size
# -v lanes=64 or 32, -v mended=0 or 1
function out(s) { print s }
function put(s) {
  gsub(/LANES/, lanes, s); gsub(/HALF/, lanes / 2, s); gsub(/LOW/, lanes - 1, s); gsub(/SHIFT/, lanes == 64 ? 6 : 5, s)
  gsub(/MASK/, lanes == 64 ? "0xffffffffffffffff" : "0xffffffff", s); gsub(/BYTES/, lanes * 4, s)
  return s
}
function flush_case(   k, line) {
  if (name == "") return
  if (only != "" && only != lanes) { name = ""; return }
  if (cases++) out("---")
  out("name " name "_" lanes (mended ? "_mended" : ""))
  for (k = 1; k <= nhead; k++) if (head[k] !~ /^finding / && !(mended && head[k] ~ /^trap /)) out(put(head[k]))
  line = lanes == 32 ? 3 : 0 # of the text
  for (k = 1; k <= ntext; k++) {
    if (substr(text[k], 1, 1) == (mended ? "-" : "+")) continue
    line++
    if (text[k] ~ /\/\/!/) here = line
  }
  for (k = 1; k <= nhead; k++) if (head[k] ~ /^finding / && !mended) out(head[k] ":k:*:" here)
  out("text")
  if (lanes == 32) { out(".version 8.8"); out(".target sm_90"); out(".address_size 64") }
  for (k = 1; k <= ntext; k++) {
    if (substr(text[k], 1, 1) == (mended ? "-" : "+")) continue
    line = text[k]; sub(/^[-+]/, " ", line); sub(/ *\/\/!.*$/, "", line)
    out(put(line))
  }
  out("end")
  name = ""
}
/^=== / { flush_case(); name = $2; only = $3; nhead = ntext = 0; in_text = 0; here = 0; next }
name == "" { next }
/^---$/ { in_text = 1; next }
in_text { text[++ntext] = $0; next }
NF { head[++nhead] = $0 }
END { flush_case() }
