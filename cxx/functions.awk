# The C++ headers of vendor device functions: those of the CUDA and MACA programming guides that docs/guide.tsv lists,
# such as __hadd or atomicAdd_block. Each becomes an inline function around inline assembly that consists of one
# instruction under the function's own name; mx's assembler knows these names (core/intrinsics/).
#   awk -f cxx/functions.awk -v part=PART docs/guide.tsv
# PART is device, half or bfloat16 and says which header is made. Functions that other headers define are left out.
# A line of the list has three fields: group, signature as the guides write it, instruction.

# Inline assembly constrains an operand by a letter: the class of register that holds it. "@" stands here for a mask of
# lanes, which has as many bits as a warp has lanes, so that its letter depends on the target.
function constraint(c, out) {
  return c == "@" ? (out ? "\"=\" __MX_MASK" : "__MX_MASK") : "\"" (out ? "=" : "") c "\""
}
# types is a list of C types, separated by colons, that registers of class `letter` hold
function hold(types, letter, t, k) { split(types, t, ":"); for (k in t) reg[t[k]] = letter }
# classes of which inline assembly takes the bits as an integer: `type`
function hold_bits(types, letter, type, t, k) {
  split(types, t, ":")
  for (k in t) { reg[t[k]] = letter; bits[t[k]] = type }
}

BEGIN { FS = "\t"
  # reg[C type]: the letter of its register; bits[C type]: the integer of the same size, for types that are structs
  hold_bits("__half:maca_bfloat16", "h", "unsigned short")
  hold_bits("__half2:maca_bfloat162", "r", "unsigned int")
  hold("short:short int:unsigned short:unsigned short int", "h")
  hold("int:unsigned int:unsigned", "r")
  hold("long:unsigned long:long long int:long long:unsigned long long int:unsigned long long:size_t", "l")
  reg["float"] = "f"; reg["double"] = "d"; reg["bool"] = "r"
  # of the functions on integers and floats these are made here, by group or by name; device.h has the others
  device_groups = "^(atomic|addrspace|vote|reduce)$"
  device_names = "^(__fns|__dp[24]a.*|__funnelshift.*|__nanosleep)$"
  guard = "MX_CXX_FUNCTIONS_" toupper(part) "_H"
  print "/* Made of docs/guide.tsv by cxx/functions.awk. */\n#ifndef " guard "\n#define " guard
}
# templates, signatures that have been there, and accesses with cache hints are left out
$2 ~ /(^|[ (,])T[ *]/ || $2 in seen || $1 == "cachehint" { next }
(part == "half") != ($2 ~ /__half/) || (part == "bfloat16") != ($2 ~ /maca_bfloat16/) { next }
{
  seen[$2]
  # the signature is taken apart: result, name, list of parameters
  sub(/ *\*/, " *", $2)
  open = index($2, "("); head = substr($2, 1, open - 1); list = substr($2, open + 1); sub(/\)[^)]*$/, "", list)
  n = split(head, w, " "); name = w[n]; result = substr(head, 1, length(head) - length(name) - 1)
  if (name ~ /^\*/) { name = substr(name, 2); result = result " *" }
  sub(/ +$/, "", result)
  if (part == "device" && $1 !~ device_groups && name !~ device_names) next
  has_mask = list ~ /unsigned long mask/ || result == "unsigned long"
  mask_result = has_mask && result == "unsigned long"
  count = split(list, p, ","); inputs = operands = parameters = ""; fine = 1
  # instructions that touch memory or other lanes must not be moved, merged or dropped by the compiler
  memory = $1 ~ /^(atomic|shfl|vote|sync|fence|reduce|time)/
  at = result == "void" ? 0 : 1 # number of the next operand of the inline assembly: %0 is the result
  if (count == 1 && p[1] ~ /^ *(void)? *$/) count = 0
  for (k = 1; k <= count; k++) {
    gsub(/^ +| +$/, "", p[k]); value = ""
    if ((e = index(p[k], "=")) > 0) { value = substr(p[k], e + 1); p[k] = substr(p[k], 1, e - 1) }
    if (p[k] == "int width") value = "warpSize"
    m = split(p[k], w, " "); arg = w[m]; type = substr(p[k], 1, length(p[k]) - length(arg)); sub(/ +$/, "", type)
    pointer = sub(/^\*+/, "", arg)
    if (pointer) c = "l"; else if (type == "float2") c = "f"; else if (type in reg) c = reg[type]; else fine = 0
    if (type == "unsigned long" && arg == "mask") {
      type = "__mx_mask"; c = "@"
      if (value != "") value = "(__mx_mask)-1"
    }
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
  if (!fine) next # a type that no register holds
  how = memory ? "__asm__ volatile" : "__asm__"
  clobber = memory ? " : \"memory\"" : ""
  printf "__MX_DEVICE %s %s(%s) {", mask_result ? "__mx_mask" : result, name, parameters
  if (result == "void") {
    printf " %s(\"%s%s;\" : : %s%s);", how, $3, operands == "" ? "" : " " operands, inputs, clobber
  } else if (result == "float2") {
    gsub(/%1/, "%2", operands); sub(/^, /, "", operands)
    printf " float2 r; %s(\"%s %%0, %%1, %s;\" : \"=f\"(r.x), \"=f\"(r.y) : %s); return r;", how, $3, operands, inputs
  } else if (result == "bool") {
    # inline assembly has no predicates: a register gets 1 or 0
    printf " int r; %s(\"{ .reg .pred %%%%p; %s %%%%p%s; selp.b32 %%0, 1, 0, %%%%p; }\"", how, $3, operands
    printf " : \"=r\"(r) : %s%s); return r;", inputs, clobber
  } else {
    type = mask_result ? "__mx_mask" : result
    c = mask_result ? "@" : pointer ? "l" : reg[result]
    printf " %s r; %s(\"%s %%0%s;\"", result in bits ? bits[result] : type, how, $3, operands
    printf " : %s(r) : %s%s);", constraint(c, 1), inputs, clobber
    printf " return %s;", result in bits ? "__builtin_bit_cast(" result ", r)" : "r"
  }
  print " }"
}
END { print "#endif" }
