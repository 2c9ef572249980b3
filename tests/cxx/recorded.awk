# A program that calls the functions of vectors (tests/conform/README.md), each by its name in a header, in a kernel of
# its own with the inputs of the recordings, and prints what each call gives:
#   awk -v vectors=VECTORS [-v every=N] -f recorded.awk FILE.txt... > PROGRAM.cu
# VECTORS gets the functions that are called: the input of the program, and of conform --results, which judges;
# with N one function in N. Left out are instructions of PTX, which have no name in C++, and functions of a whole warp;
# casts to 8 and 16 bits, which C++ defines for numbers that fit only; and, as compilers choose which NaN comes out, a
# change of sign, and the larger and smaller of different types.
BEGIN {
  count = 0
  split("s8:signed char:u8:unsigned char:s16:short:u16:unsigned short:s32:int:u32:unsigned int:s64:long long:" \
        "u64:unsigned long long:f32:float:f64:double:pred:bool:f16:__half:bf16:__nv_bfloat16:f16x2:__half2:" \
        "bf16x2:__nv_bfloat162", t, ":")
  for (k = 1; k in t; k += 2) cxx[t[k]] = t[k + 1]
  split("add:+:sub:-:mul:*:div:/:and:&:or:|:xor:^:lt:<:le:<=:gt:>:ge:>=:eq:==:ne:!=", t, ":")
  for (k = 1; k in t; k += 2) symbol["op_" t[k]] = t[k + 1]
  print "#include \"recorded.h\""
}
function give(k, what) { body = body " out[" k "] = bits<" cxx[out[k + 1]] ">(" what ");" }
function declare(k) { body = body " " cxx[out[k + 1]] " r" k ";" }
# the call of an atomic function: cell, operands -> what was there[, ...], the cell
function atomic(name, type, space, steps, each, a, k, s) {
  each = (nin - 1) / steps
  if (type == "s64" && name ~ /And|Or|Xor/) type = "u64" # bitwise ones of 64 bits have one sign
  if (space == "shared") body = body " __shared__ word cells[128]; word *cell = &cells[threadIdx.x]; *cell = in[0];"
  else body = body " word *cell = &global_cells[i]; *cell = in[0];"
  for (s = 0; s < steps; s++) {
    a = "(" cxx[type] " *)cell"
    for (k = 0; k < each; k++) a = a ", (" cxx[type] ")v" (1 + s * each + k)
    body = body " out[" s "] = bits<" cxx[type] ">(" name "(" a "));"
  }
  body = body " out[" steps "] = bits(*(" cxx[type] " *)cell);"
}
/^#/ {
  keep = 0
  if (!match($0, /^# [^ :<(]+: /) || FILENAME ~ /(ptx_|warp|tex|surf|wmma|mma|fp8)/) next
  name = substr($0, 3, RLENGTH - 4)
  types = substr($0, RLENGTH + 1)
  split(types, side, " -> ")
  nin = split(side[1], in_, ","); nout = split(side[2], out, ",")
  for (k = 1; k <= nin; k++) if (!(in_[k] in cxx)) next
  for (k = 1; k <= nout; k++) if (!(out[k] in cxx)) next
  if (name ~ /^(cast\.[su](8|16)\.f|op_neg\.f|m(ax|in)\.(f32\.f64|f64\.f32))/ || (every && seen++ % every)) next
  split(name, part, "."); f = part[1]; body = ""; arguments = ""
  for (k = 1; k <= nin; k++) {
    type = cxx[in_[k]]
    if (part[2] ~ /long/) type = part[k + 1] ~ /unsigned/ ? "unsigned long" : "long"
    body = body " " type " v" k - 1 " = of<" type ">(in[" k - 1 "]);"
    arguments = arguments (k > 1 ? ", " : "") "v" k - 1
  }
  if (f ~ /^atomic/) atomic(f, part[3], part[2], part[4] == "seq4" ? 4 : 1)
  else if (f == "op_neg") give(0, "-v0")
  else if (f in symbol) give(0, "v0 " symbol[f] " v1")
  else if (f == "cast") give(0, "(" cxx[out[1]] ")v0")
  else if (f ~ /^__ld/) {
    body = body " global_cells[i] = in[0];"
    give(0, f "((const " cxx[out[1]] " *)&global_cells[i])")
  } else if (f ~ /^__st/)
    body = body " global_cells[i] = 0; " f "((" cxx[out[1]] " *)&global_cells[i], v0); out[0] = global_cells[i];"
  else if (f ~ /^__float22/) give(0, f "(make_float2(v0, v1))")
  else if (f ~ /2float2$/) {
    body = body " float2 r = " f "(v0);"
    give(0, "r.x")
    give(1, "r.y")
  } else if (f ~ /^r?normf?$/) {
    body = body " " cxx[out[1]] " a[5] = {v1, v2, v3, v4, v5};"
    give(0, f "(v0, a)")
  } else if (f ~ /^_*sincos/) {
    declare(0)
    declare(1)
    body = body " " f "(v0, &r0, &r1);"
    give(0, "r0")
    give(1, "r1")
  } else if (f ~ /^__vib/) {
    for (k = 1; k < nout; k++) { declare(k); arguments = arguments ", &r" k }
    give(0, f "(" arguments ")")
    for (k = 1; k < nout; k++) give(k, "r" k)
  } else if (nout == 2) { # the cell of what is not defined holds what it held before
    body = body " " cxx[out[2]] " r1 = 0;"
    give(0, f "(" arguments ", &r1)")
    give(1, "r1")
  } else if (nout == 1) give(0, f "(" arguments ")")
  else next
  print "__global__ void call" count "(const word *all, word *results, word *global_cells, int n) { //" substr($0, 2)
  print "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;"
  print "  const word *in = all + i * " nin ";\n  word *out = results + i * " nout ";\n " body "\n}"
  jobs = jobs "  {call" count++ ", " nin ", " nout "},\n"
  keep = 1
}
keep { print > vectors }
END {
  print "const job jobs[] = {\n" jobs "};\nint main() { return run(jobs, " count "); }"
}
