/* The views and lists of mxasm, for its main program. */
#ifndef MX_TOOLS_MXASM_H
#define MX_TOOLS_MXASM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mx_image;
struct mx_func;
struct text;

/* ops.c */
int list_ops(const char *name, bool json); /* name NULL: all; an exit status */
void print_reference(void);

/* functions.c: docs/intrinsics.md on stdout; an exit status */
int print_functions(const char *list);

/* syntax.c: a syntax file on stdout; false: the editor is not one of vim, vscode */
bool print_syntax(const char *editor);

/* flow.c: basic blocks of verified code */
struct flow_block {
  uint32_t lo, hi;
  uint32_t *next;
  uint32_t nnext;
}; /* pcs; numbers of blocks */
struct flow {
  struct flow_block *blocks;
  uint32_t nblocks;
  uint32_t *block_of; /* pc -> block */
};
void flow_build(struct flow *f, const struct mx_func *fn);
void flow_free(struct flow *f);
/* How deeply divergent branches of the function (without its callees) nest: joins that a warp may have open at once. */
uint32_t flow_depth(const struct flow *f, const struct mx_func *fn);
/* Reconvergence point of the branch at pc; false: it has none that matters. */
bool flow_reconv(const struct mx_func *fn, uint32_t pc, uint32_t *reconv);

/* views.c */
void print_resources(struct text *t, const struct mx_image *m, bool json);
void print_cfg(struct text *t, const struct mx_image *m);
/* source: the text that was assembled, NULL when there is none; name: its file name */
void print_listing(struct text *t, const struct mx_image *m, const char *source, size_t size, const char *name);

#endif
