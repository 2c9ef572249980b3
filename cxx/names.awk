# The runtime's names as the MACA guide has them: mcMalloc for cudaMalloc and so on, from the headers that declare them.
#   awk -f cxx/names.awk cxx/include/mx/types.h cxx/include/mx/runtime.h
BEGIN { print "/* Made of mx/types.h and mx/runtime.h by cxx/names.awk. */\n#ifndef MX_CXX_NAMES_H\n#define MX_CXX_NAMES_H" }
{
  gsub(/[^A-Za-z0-9_#]/, " ")
  n = split($0, w, " ")
  for (k = 1; k <= n; k++) {
    name = w[k]
    # of devices' attributes the table has what is behind cudaDevAttr
    if (name == "X" && w[k + 2] ~ /^[0-9]+$/ && w[k + 1] !~ /^cuda/) name = "cudaDevAttr" w[k + 1]
    if (name ~ /^cuda[A-Z]/ && !(name in seen) && name !~ /#/ && name != "cudaDevAttr") {
      seen[name]
      print "#define mc" substr(name, 5) " " name
    }
  }
}
END { print "#endif" }
