# C++ headers of the guides' functions, from docs/guide.tsv: each is inline assembly with its own name, which mx's assembler knows.
#   awk -f cxx/functions.awk -v part=PART docs/guide.tsv
# PART: device, half or bfloat16; what other headers have is left out.
# A line of the list: group, signature as the guides have it, the instruction.
# a mask of lanes has as many bits as there are lanes
function constraint(c, out) { return c == "@" ? (out ? "\"=\" __MX_MASK" : "__MX_MASK") : "\"" (out ? "=" : "") c "\"" }

BEGIN { FS = "\t"
  # of a C type: the constraint of its register, and the C type of that register
  split("__half maca_bfloat16", t, " "); for (k in t) { reg[t[k]] = "h"; bits[t[k]] = "unsigned short" }
  split("__half2 maca_bfloat162", t, " "); for (k in t) { reg[t[k]] = "r"; bits[t[k]] = "unsigned int" }
  split("short:short int:unsigned short:unsigned short int", t, ":"); for (k in t) reg[t[k]] = "h"
  split("int:unsigned int:unsigned", t, ":"); for (k in t) reg[t[k]] = "r"
  split("long:unsigned long:long long int:long long:unsigned long long int:unsigned long long:size_t", t, ":"); for (k in t) reg[t[k]] = "l"
  reg["float"] = "f"; reg["double"] = "d"; reg["bool"] = "r"
  guard = "MX_CXX_FUNCTIONS_" toupper(part) "_H"
  print "/* Made of docs/guide.tsv by cxx/functions.awk. */\n#ifndef " guard "\n#define " guard
}
$2 ~ /(^|[ (,])T[ *]/ || $2 in seen || $1 == "cachehint" { next }
(part == "half") != ($2 ~ /__half/) || (part == "bfloat16") != ($2 ~ /maca_bfloat16/) { next }
{
  seen[$2]
  sub(/ *\*/, " *", $2)
  open = index($2, "("); head = substr($2, 1, open - 1); list = substr($2, open + 1); sub(/\)[^)]*$/, "", list)
  n = split(head, w, " "); name = w[n]; result = substr(head, 1, length(head) - length(name) - 1)
  if (name ~ /^\*/) { name = substr(name, 2); result = result " *" }
  sub(/ +$/, "", result)
  if (part == "device" && $1 !~ /^(atomic|addrspace|vote|reduce)$/ && name !~ /^(__fns|__dp[24]a.*|__funnelshift.*|__nanosleep)$/) next
  lanes = list ~ /unsigned long mask/ || result == "unsigned long"
  count = split(list, p, ","); inputs = operands = parameters = ""; fine = 1; memory = $1 ~ /^(atomic|shfl|vote|sync|fence|reduce|time)/
  at = result == "void" ? 0 : 1
  if (count == 1 && p[1] ~ /^ *(void)? *$/) count = 0
  for (k = 1; k <= count; k++) {
    gsub(/^ +| +$/, "", p[k]); value = ""
    if ((e = index(p[k], "=")) > 0) { value = substr(p[k], e + 1); p[k] = substr(p[k], 1, e - 1) }
    if (p[k] == "int width") value = "warpSize"
    m = split(p[k], w, " "); arg = w[m]; type = substr(p[k], 1, length(p[k]) - length(arg)); sub(/ +$/, "", type)
    pointer = sub(/^\*+/, "", arg)
    if (pointer) c = "l"; else if (type == "float2") c = "f"; else if (type in reg) c = reg[type]; else fine = 0
    if (type == "unsigned long" && arg == "mask") { type = "__mx_mask"; c = "@"; if (value != "") value = "(__mx_mask)-1" }
    if (pointer) type = (memory ? "" : "const ") type " *"
    parameters = parameters (k > 1 ? ", " : "") type (pointer ? "" : " ") arg (value != "" ? " = " value : "")
    expr = !pointer && type in bits ? "__builtin_bit_cast(" bits[type] ", " arg ")" : arg
    if (type == "float2") {
      inputs = inputs (k > 1 ? ", " : "") "\"f\"(" arg ".x), \"f\"(" arg ".y)"
      operands = operands (at > 0 ? ", " : "") "%" at ", %" (at + 1); at += 2
    } else {
      inputs = inputs (k > 1 ? ", " : "") constraint(c) "(" expr ")"
      operands = operands (at > 0 ? ", " : "") (pointer && $1 == "atomic" ? "[%" at++ "]" : "%" at++)
    }
  }
  pointer = result ~ /\*$/
  if (result != "void" && !(result in reg) && !pointer && result != "float2") fine = 0
  if (!fine) next
  how = memory ? "__asm__ volatile" : "__asm__"
  clobber = memory ? " : \"memory\"" : ""
  printf "__MX_DEVICE %s %s(%s) {", lanes && result == "unsigned long" ? "__mx_mask" : result, name, parameters
  if (result == "void") printf " %s(\"%s%s;\" : : %s%s);", how, $3, operands == "" ? "" : " " operands, inputs, clobber
  else if (result == "float2") {
    gsub(/%1/, "%2", operands); sub(/^, /, "", operands)
    printf " float2 r; %s(\"%s %%0, %%1, %s;\" : \"=f\"(r.x), \"=f\"(r.y) : %s); return r;", how, $3, operands, inputs
  } else if (result == "bool")
    printf " int r; %s(\"{ .reg .pred %%%%p; %s %%%%p%s; selp.b32 %%0, 1, 0, %%%%p; }\" : \"=r\"(r) : %s%s); return r;", how, $3, operands, inputs, clobber
  else {
    type = result; c = pointer ? "l" : reg[result]
    if (lanes && result == "unsigned long") { type = "__mx_mask"; c = "@" }
    printf " %s r; %s(\"%s %%0%s;\" : %s(r) : %s%s); return %s;", result in bits ? bits[result] : type, how, $3, operands, constraint(c, 1), inputs, clobber, \
      result in bits ? "__builtin_bit_cast(" result ", r)" : "r"
  }
  print " }"
}
END { print "#endif" }
