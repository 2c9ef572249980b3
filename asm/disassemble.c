/* An image as text that assembles to the same bytes. Separate from everything else in asm/ because it only needs the
 * table and the image; it must not know lexer or parser.
 *
 * The text is MX assembly plus a few reserved spellings. `%.` starts every one of them, so that no author's name
 * collides, and names spelled so are never recorded in the name map, the label list, or the variable names.
 *
 * A module:
 *   .version 9.0  (only if given)   .target sm_90 | .target mx64   .address_size 64
 *   .file N "name"                  one a file, N from 1 in the image's order; in strings \\ \" \n \t and \xHH
 *   [.extern|.visible] [.attribute(.managed)] .global|.const|.shared .align A .b8 NAME[SIZE] [= {byte, ...}];
 *                                   variable numbers count these declarations from 0. NAME is the variable's name, or
 *                                   `%.vN "its name"` where the name alone would be ambiguous; N is its number.
 *                                   Trailing zero bytes are left out. `[]` is extern shared.
 *   .reloc VAR, OFFSET, BYTES, EXPR;  at the end of the module: an address in an initialiser. EXPR as a literal below
 *   functions, numbered in the order of their definitions; names may be used before they are defined
 *
 * A function:
 *   [.visible] .entry NAME (.param [.align A] .TYPE [.ptr] P[BYTES], ...)   [BYTES]: only if the size is not the type's.
 *                                   Each parameter is followed by `@OFFSET`
 *   [.visible] .func (.reg .CLASS SLOT, ...) NAME (.reg .CLASS SLOT, ...)   CLASS pred, b32, b64 or b128
 *   .maxntid X, Y, Z  .reqntid X, Y, Z  .minnctapersm N  .cooperative     .paramsize N: bytes of a kernel's parameters
 *   {
 *     .slots n32, n64, npred, nspill32, nspill64, nspillpred;
 *     .frame local_bytes, arg_bytes;     if either is not 0
 *     .uses VAR, ...;                    the kernel's shared variables, in order
 *     %.TN: .branchtargets L, ...;       table N       %.PN: .callprototype (.CLASS _, ...) _ (.CLASS _, ...);
 *     code
 *     .name .TYPE "NAME", SLOT, LO, HI;  name map; SLOT a slot or, for a spill cell, %.sN; pcs in words
 *   }
 * `.slots` says that the function is taken as written: no slot is allocated, no operand is folded or moved, nothing is
 * inserted, no name is recorded but by .name, and lines come from .loc only (`.loc N LINE 0` with the numbers of .file,
 * `.loc 0 0 0` none).
 *
 * Slots: %.rN 32-bit, %.hN a 32-bit slot where the row's type has 16 bits, %.bN where it has 8, %.dN 64-bit, %.qN a pair
 * of 64-bit slots (N even), %.pN predicate. So overloads are found by operand width as always. Where one more row
 * fits the operands (literals fit any width) and stands earlier in the table, the mnemonic is followed by `!ID`, the
 * row's name in the table: `ld.b32!LD_B32_A32 %.r1, [(8)];`. Rows flagged HIDDEN are written like all others.
 *
 * Operands, in the order of the row's shape:
 *   values       a slot or a literal. Literals: decimal or 0x..., the operand's bits (also for f16, bf16 and packed types);
 *                0fXXXXXXXX for f32, 0dXXXXXXXXXXXXXXXX for f64; VAR, VAR+N, VAR-N (its address in its own space),
 *                generic(VAR), generic(VAR)+N, FUNC. In code, VAR is a name, or %.vN where that would be ambiguous
 *   addresses    [base], [base+N], [base-N]: N is the `off` operand; base is a slot, a bare VAR, or any literal in
 *                parentheses, `[(8)+4]`, `[(buf+16)]`
 *   raw fields   a decimal number; of SREG rows the special register's name, %tid.x
 *   MOVI rows    SLOT, value as a signed decimal
 *   branches     bra LABEL !reconv LABEL;   brx.idx INDEX, %.TN !reconv LABEL;   `!reconv ret`: the function's end
 *   calls        call (results), NAME, (arguments);   call (results), TARGET, (arguments), %.PN;  empty lists are left out
 * Labels: an author's label stands as `NAME:` if it is the only one of its name in the function, or else as
 * `.label "NAME";`. Other places that code names are `%.LN:`, N the pc.
 */
