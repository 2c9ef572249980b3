/* The result of parsing: a module's declarations and, per function, its statements with names not yet looked up.
 * Lowering (asm/lower/lower.c) turns each function into instructions (ir.h). These are two steps, because functions,
 * labels and whether registers are implicit are known only at the end of the text. */
#ifndef MX_ASM_PARSER_H
#define MX_ASM_PARSER_H
#include "lexer.h"
#include "symbols.h"

/* ---- limits for hostile input -------------------------------------------------------------------------*/
enum { ARENA_PER_BYTE = 512 }; /* memory that a byte of text may claim */
enum {
  MAX_SCOPES = 200,
  MAX_EXPR_DEPTH = 200,
  MAX_INCLUDES = 32,
  MAX_MACRO_DEPTH = 64,
  MAX_OPERANDS = 300,
  MAX_FUNC_PARAMS = 250,
  MAX_DIMS = 16,
  MAX_EXPANSION = 8 << 20,
  MAX_EXPANSIONS = 1 << 20,
};

/* ---- expressions: an integer or a float, or a name plus constant, perhaps plus index * scale ------------ */
enum expr_kind { EX_INT, EX_FLOAT, EX_STRING, EX_BAD };
struct expr {
  uint8_t kind, bits; /* bits: of an exact float (0f, 0d), else 0 */
  bool is_unsigned, generic;
  bool negated, minus; /* !name, -name */
  bool has_element,
      has_inner; /* name[element]; has_inner: `(inner)` stands for the base, value is what is added to it */
  uint64_t value;
  double real;
  struct name *base, *suffix, *index, *index_suffix; /* a suffix: ".x" of "%tid.x" */
  int64_t scale;
  uint64_t element, inner;
  const char *bytes;
  uint32_t nbytes;
  struct ir_loc loc, index_loc;
};

/* ---- statements -------------------------------------------------------------------------------------- */
struct opnd {
  struct expr e;
  bool is_address, in_braces;
  uint16_t number;
}; /* number: place in the text, from 1; groups share it */

enum stmt_kind { ST_INSN, ST_CALL, ST_LABEL };
struct stmt {
  uint8_t kind;
  bool guard_neg, has_reconv, reconv_is_ret;
  struct name *mnemonic, *row; /* row: the table name behind `!`, disassembly only */
  struct name *guard, *reconv;
  struct ir_loc loc, guard_loc, line; /* line: from .loc, disassembly only */
  struct scope *scope;
  struct opnd *opnds;
  uint32_t nopnds;
  uint32_t nres, nargs; /* call: results, target, arguments, then a prototype or target list if there is one */
  struct sym *label;
};

struct param {
  struct name *name;
  uint8_t type;
  bool is_array, is_pointer, is_reg;
  uint32_t align;
  uint64_t size, offset;
  bool has_offset;
  struct ir_loc loc;
  /* lowering: */
  uint32_t reg;   /* register + 1: the slot it travels in, or the value that %name stands for */
  bool in_memory; /* .func: lives at %local_base + local */
  uint64_t local;
};

struct signature {
  struct param *res, *arg;
  uint32_t nres, narg;
  uint64_t mem_bytes;
}; /* mem_bytes: arrays' area */
struct table {
  struct name **labels;
  struct ir_loc *locs;
  uint32_t n;
  struct scope *scope;
  uint32_t index;
};
struct proto {
  struct signature sig;
  uint32_t index;
  struct func **targets;
};
struct callvar {
  uint8_t type;
  bool is_array;
  uint32_t align;
  uint64_t size;
  uint8_t home;
  uint32_t reg;
  uint64_t offset;
  bool decided;   /* lowering */
  bool partial;   /* accessed otherwise than as a whole */
  uint32_t nuses; /* calls that name it */
};

struct func {
  struct name *name;
  struct sym *sym;
  uint32_t index; /* in the module, aliases excepted */
  uint32_t flags;
  bool is_entry, defined, has_reg, is_extern, physical;
  struct func *alias;
  struct name *alias_of;
  struct signature sig;
  struct scope *scope;
  struct stmt *stmts;
  uint32_t nstmts, cap_stmts;
  struct mx_local *locals;
  uint32_t nlocals, cap_locals; /* offsets from the first of them */
  uint64_t local_bytes;
  uint32_t maxntid[3], reqntid[3], minnctapersm, paramsize, reqncta[3], maxclusterrank;
  uint16_t slots[6];
  uint32_t frame[2];
  uint32_t *uses;
  uint32_t nuses;
  struct mx_name *names;
  uint32_t nnames, cap_names;
  struct ir_loc loc;
};

/* An address in an initialiser, looked up at the end of the text. */
struct fixup {
  uint32_t var;
  uint64_t offset;
  uint8_t size, byte;
  bool generic;
  struct name *name;
  uint64_t addend;
  struct ir_loc loc;
};

struct source {
  struct lexer lx;
  uint8_t kind;
  struct source *outer;
};
enum { SOURCE_FILE, SOURCE_MACRO };
struct text {
  const char *bytes;
  size_t size;
  const char *name;
};
struct macro {
  struct name *name;
  struct name **params;
  const char **defaults;
  uint32_t nparams;
  const char *body;
  size_t size;
  uint32_t file, line;
  struct ir_loc loc;
  struct macro *next;
};

/* Places inside an expansion have file numbers of their own while the text is assembled: IN_MACRO | index. `file`:
 * where the macro's body stands, `what`: for messages. */
#define IN_MACRO 0x80000000u
#define FROM_LOC 0x40000000u /* in a place's file: the rest is the number of a .file */
struct expansion {
  uint32_t file;
  const char *what;
};

/* One assembly. */
struct front {
  struct mx_arena *arena;
  struct mx_diags diags;
  struct names names;
  bool allow_include, source_lines;
  /* source texts, by file number */
  struct text *texts;
  uint32_t ntexts, cap_texts;
  void **owned;
  uint32_t nowned; /* malloc'ed texts of included files */
  struct source *source;
  uint32_t includes, macro_depth, expansions;
  size_t expanded;
  struct token ahead[3];
  uint32_t nahead;
  struct ir_loc last; /* of the token taken last */
  struct macro *macros;
  uint32_t unique;
  uint32_t parse_errors; /* before anything was lowered: text that is missing may have written registers */
  struct expansion *expanded_from;
  uint32_t nexpanded_from, cap_expanded_from;
  /* module */
  uint32_t lanes, sm, ptx_version, address_size;
  bool has_target, has_address_size;
  struct scope *scope; /* of the module */
  struct mx_var *vars;
  uint32_t nvars, cap_vars;
  struct scope *var_names, *strings; /* names of vars; string literals that became variables, by their text */
  struct func **funcs;
  uint32_t nfuncs, cap_funcs; /* in order of first mention */
  struct fixup *fixups;
  uint32_t nfixups, cap_fixups;
  struct name **files;
  uint32_t nfiles; /* .file N "name" of disassembly, from 1 */
  /* the function being parsed */
  struct func *func;
  struct scope *here;
  struct ir_loc line;
  uint32_t expr_depth;
};

#define GROW(arena_, list_, n_, cap_) \
  do { \
    if ((n_) == (cap_)) { \
      uint32_t cap__ = (cap_) ? (cap_)*2 : 8; \
      (list_) = mx__arena_grow((arena_), (list_), (n_) * sizeof *(list_), cap__ * sizeof *(list_)); \
      (cap_) = cap__; \
    } \
  } while (0)

/* tokens.c */
struct token *mx__peek(struct front *f, uint32_t k);
struct token mx__next(struct front *f);
void mx__skip_line(struct front *f);                                                      /* to the next line's first */
uint32_t mx__add_text(struct front *f, const char *name, const char *bytes, size_t size); /* number of the file */
/* The file of a place; *what says in which expansion it stands, NULL: in none. */
uint32_t mx__real_file(const struct front *f, uint32_t file, const char **what);
void mx__push_file(struct front *f, uint32_t file);
struct source *mx__push_text(struct front *f, const char *text, size_t size, uint32_t file, uint32_t line);
const char *mx__near(struct front *f, struct scope *s, const char *want, int kind); /* a hint, or NULL */
bool mx__accept(struct front *f, int punct);
bool mx__expect(struct front *f, int punct, const char *after);
/* Whether a list goes on: behind a comma, or with another element, before which the comma is missing. That is said, and
 * the list is read as if it were there. */
bool mx__list_goes_on(struct front *f, bool (*begins)(const struct token *t));
bool mx__begins_value(const struct token *t); /* a number, a register, a text, a group or an address */
void mx__resync(struct front *f);             /* behind the next `;`, or before a brace that closes the scope */
const char *mx__tok_text(struct front *f, const struct token *t); /* for messages: quoted, short */
/* Where something is missing before token t: right behind the token before it. */
struct ir_loc mx__missing_before(const struct front *f, const struct token *t);

/* macro.c */
void mx__parse_include(struct front *f, struct ir_loc loc);
void mx__parse_macro(struct front *f, struct ir_loc loc);
bool mx__expand_macro(struct front *f); /* the next token names a macro: takes the call, pushes its expansion */
void mx__parse_equ(struct front *f);

/* expr.c */
struct expr mx__parse_expr(struct front *f);
bool mx__parse_const(struct front *f, uint64_t *value, bool *is_unsigned); /* reports what is no integer constant */
/* The bits of a constant as a value of that type; false: it cannot be one, which has been reported. */
bool mx__literal_bits(struct front *f, const struct expr *e, int type, uint64_t *out);

/* parser.c */
void mx__parse_module(struct front *f);
bool mx__physical(const char *text, uint8_t *type, uint32_t *slot); /* a slot by number, %.r5: type by its width */

/* decl.c: variables, registers, functions' heads */
enum { LINK_VISIBLE = 1, LINK_EXTERN = 2, LINK_WEAK = 4, LINK_COMMON = 8 };
/* `0xFF00(` before an initial value: byte 1 of it. */
bool mx__parse_mask(struct front *f, unsigned *byte);
int mx__type_of(const struct token *t); /* .u32 -> MX_T_u32; -1: not a type */
void mx__parse_reg(struct front *f);
void mx__parse_variable(struct front *f, unsigned linkage);
void mx__parse_signature_list(struct front *f, struct param **list, uint32_t *n, struct scope *scope, bool entry);
void mx__layout_signature(struct signature *s);
struct mx_var *mx__new_var(struct front *f, const char *name);
void mx__resolve_fixups(struct front *f);
struct func *mx__declare_func(struct front *f, struct name *n, struct ir_loc loc);
#define ERR(f_, id_, loc_, hint_, ...) mx__diag(&(f_)->diags, MX_DIAG_ERROR, (id_), (loc_), (hint_), __VA_ARGS__)
#define WARN_(f_, id_, loc_, hint_, ...) mx__diag(&(f_)->diags, MX_DIAG_WARNING, (id_), (loc_), (hint_), __VA_ARGS__)
#define NAME(f_, s_) mx__name(&(f_)->names, (s_), strlen(s_))
#endif
