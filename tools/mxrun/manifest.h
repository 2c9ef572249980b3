/* Launch manifests: what docs/manifest.md describes, as a structure; and the memory that they name. */
#ifndef MX_TOOLS_MANIFEST_H
#define MX_TOOLS_MANIFEST_H
#include "data.h"
#include "textures.h"

enum marg_kind {
  MARG_IN,
  MARG_CONST,
  MARG_INOUT,
  MARG_OUT,
  MARG_SCRATCH,
  MARG_SAME,
  MARG_SCALAR,
  MARG_BYTES,
  MARG_TEX,
  MARG_SURF,
  MARG_SAMPLER
};
struct marg {
  uint8_t kind;
  const struct elem *type; /* scalars */
  const char *text;        /* file or generator; as written */
  uint64_t bytes;          /* OUT, SCRATCH: size; SCALAR: its bits; BYTES: how many */
  unsigned char *raw;      /* BYTES */
  const char *name;        /* of a buffer that later launches take, or NULL; SAME: of the one taken, */
  unsigned same;           /* which is this argument's */
  unsigned image;          /* TEX, SURF: which of the manifest's */
  bool is_result;          /* SURF: the first of its image, whose texels are compared */
  mx_texture_desc texture; /* TEX, SAMPLER */
  unsigned line;
};
struct mmemory { /* memory beside the arguments, at an address of its own: memory.c */
  uint64_t address;
  const char *before, *after; /* files or generators; after NULL: not compared */
  const char *variable;       /* of the program, which lies there; or NULL */
  unsigned line;
};
struct mexpect {
  const char *text;
  int64_t ulp;
  const struct elem *type;
  unsigned line;
};
struct mdiag {
  const char *id;
  uint32_t at_line, at_col;
  bool found;
  unsigned line;
};

/* One launch of several; `then` begins the next one. */
#define MANIFEST_STAGES 64
struct mstage {
  const char *kernel;
  uint32_t grid[3], block[3], cluster[3], shared;
  bool cooperative;
  unsigned first, nargs; /* of the manifest's arguments */
};

#define MANIFEST_ARGS 256
#define MANIFEST_IMAGES 32
struct manifest {
  const char *name, *file; /* file: program beside the manifest; NULL: inline */
  const char *inline_text; /* the program between `text` and `end` */
  size_t inline_size;
  unsigned inline_line; /* manifest line of its first line */
  struct mstage stages[MANIFEST_STAGES];
  unsigned nstages;
  uint8_t poison;
  uint64_t stack, steps;
  double timeout;
  uint32_t threads; /* 0: not given */
  const char *stdout_file;
  const char *needs[16];
  unsigned nneeds;
  const char *limits[16];
  unsigned nlimits; /* NAME=NUMBER */
  struct marg args[MANIFEST_ARGS];
  unsigned nargs;
  struct image_spec images[MANIFEST_IMAGES];
  unsigned nimages;
  struct mmemory *memory; /* by address */
  unsigned nmemory;
  struct mexpect expects[MANIFEST_ARGS];
  unsigned nexpects;
  const char *trap, *trap_text; /* a trap, or a status of the launch, that must come; words that its text must hold */
  const char *findings[32];
  unsigned nfindings; /* that mxrun test --check must find, and no other: TOOL:KIND:KERNEL:FILE:LINE */
  struct mdiag diags[64];
  unsigned ndiags;     /* diagnostics that the program must get; then nothing is launched */
  char *unknown;       /* the first line that this version does not know, if `needs` may explain it; else NULL */
  const char *refused; /* words that the refusal to load or launch must hold */
};

/* Reads the manifest that begins at *text, up to `---` or the end, and moves *text and *line behind it. The text is
 * changed; strings point into it. False: *why, malloc'ed, with the line. */
bool manifest_parse(struct manifest *m, char **text, char *end, unsigned *line, char **why);
void manifest_free(struct manifest *m);

/* memory.c: files beside a manifest, and its memory on a device. They answer NULL, or what is wrong, malloc'ed. folder:
 * the manifest's, "" or with a slash at its end. */
char *beside(const char *folder, const char *file);
bool data_beside(struct data *d, const char *folder, const char *text, char **why);
char *memory_before_program(mx_device *d, const struct manifest *m, const char *folder);
char *memory_behind_program(mx_device *d, mx_module *module, const struct manifest *m, const char *folder);
char *memory_compare(mx_device *d, const struct manifest *m, const char *folder);
#endif
