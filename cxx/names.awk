# The runtime's names as the MACA programming guide has them: a macro mcMalloc for cudaMalloc and so on, for each name
# that begins with "cuda" in the headers that declare the runtime.
#   awk -f cxx/names.awk cxx/include/mx/{types,runtime,image,graph}.h
BEGIN {
  print "/* Made of the headers of the runtime by cxx/names.awk. */"
  print "#ifndef MX_CXX_NAMES_H\n#define MX_CXX_NAMES_H"
}
{
  gsub(/[^A-Za-z0-9_#]/, " ")
  n = split($0, w, " ")
  for (k = 1; k <= n; k++) {
    name = w[k]
    # the table of device attributes has rows X(Name, number, ...) that stand for cudaDevAttrName
    if (name == "X" && w[k + 2] ~ /^[0-9]+$/ && w[k + 1] !~ /^cuda/) name = "cudaDevAttr" w[k + 1]
    if (name ~ /^cuda[A-Z]/ && !(name in seen) && name !~ /#/ && name != "cudaDevAttr") {
      seen[name]
      print "#define mc" substr(name, 5) " " name
    }
  }
}
END { print "#endif" }
