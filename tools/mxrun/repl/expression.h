/* What an expression is compiled to: for expression.c, which evaluates it, and test.c, which makes a test for compiled
 * code of it. */
#ifndef MX_TOOLS_REPL_EXPRESSION_H
#define MX_TOOLS_REPL_EXPRESSION_H
#include "repl.h"

enum op {
  OP_CONST,
  OP_CELL,
  OP_REGISTER,
  OP_MEMORY,
  OP_NEGATE,
  OP_NOT,
  OP_COMPLEMENT,
  OP_SELECT,
  OP_OROR,
  OP_ANDAND,
  OP_OR,
  OP_XOR,
  OP_AND,
  OP_EQ,
  OP_NE,
  OP_LT,
  OP_LE,
  OP_GT,
  OP_GE,
  OP_SHL,
  OP_SHR,
  OP_ADD,
  OP_SUB,
  OP_MUL,
  OP_DIV,
  OP_MOD,
  OP_AT,
  OP_ANY,
  OP_ALL,
  OP_COUNT,
  OP_SUM,
  OP_MIN,
  OP_MAX,
  OP_ISNAN,
  OP_ABS,
  OP_DIFFERS,
  OP_BITS,
  OP_LANES,
  OP_VALUE
};
struct expression {
  enum op op;
  enum value_kind kind;
  const struct elem *type; /* of registers, memory, OP_BITS */
  bool pred, uniform, address;
  struct expression *a, *b, *c;
  uint64_t bits; /* OP_CONST; OP_LANES: the lanes; OP_VALUE: its number in the history */
  double real;
  char *name; /* OP_REGISTER */
  mx_debug_cell cell;
};

#endif
