# A program that calls every function of the guides' list which takes and returns plain values, one kernel each:
#   awk -f every_function.awk docs/guide.tsv > every_function.cu
# Left out are templates over groups, textures and fragments, video instructions, which other programs here show, and
# what needs constants.
BEGIN {
  FS = "\t"
  n = split("cassert cooperative_groups.h cuda_bf16.h cuda_fp16.h cuda_pipeline.h maca_bfloat16.h mma.h", header, " ")
  for (k = 1; k <= n; k++) print "#include <" header[k] ">"
  print "using nvcuda::wmma::__float_to_tf32;"
}
$1 ~ /^(cg|texture|surface|wmma|printf|addrspace|async|pipeline|debug|hint|mbarrier)$/ &&
  $2 ~ /template|group|fragment|cudaText|cudaSurf|::|\.\.\.|tile|block|assume|printf|prof/ { next }
$1 ~ /^video/ || $2 ~ /__prof_trigger|__builtin_assume_aligned/ { next }
{
  s = $2
  sub(/^template<class T> /, "", s)
  open = index(s, "(")
  if (!open) next
  head = substr(s, 1, open - 1); list = substr(s, open + 1); sub(/\)[^)]*$/, "", list)
  match(head, /[A-Za-z_0-9]+$/); name = substr(head, RSTART); type = substr(head, 1, RSTART - 1)
  sub(/ +$/, "", type)
  gsub(/(^|[^A-Za-z_])T($|[^A-Za-z_])/, "int", type)
  n = list ~ /^(void)?$/ ? 0 : split(list, part, /, */)
  call = ""
  for (k = 1; k <= n; k++) {
    p = part[k]
    sub(/ *=.*/, "", p)
    if (p ~ /[*& ][A-Za-z_0-9]+$/ && p !~ /^(unsigned|const|long)? ?(int|char|long)$/) sub(/[A-Za-z_0-9]+$/, "", p)
    sub(/ +$/, "", p)
    if (p ~ /^T|const T|[ *]T[ *]/) sub(/T/, "int", p)
    call = call (k > 1 ? ", " : "") (p ~ /\*$/ ? "(" p ")p" : p ~ /&$/ ? "*(" substr(p, 1,
      length(p) - 1) "*)p" : "*(" p " *)p")
  }
  call = name "(" call ")"
  print "__global__ void call_" ++count "(char *p, char *q) { " (type == "void" ||
    type == "" ? call : "*(" type " *)q = " call) "; }"
}
END { print "int main() {}\n// " count " functions" }
