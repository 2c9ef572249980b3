/* Shared by the files of mxcc. */
#ifndef MX_MXCC_H
#define MX_MXCC_H
#include "tools/common/cli.h"

#include <sys/stat.h>

struct words {
  char **v;
  size_t n, capacity;
};
void words_add(struct words *w, const char *word);
void words_all(struct words *w, const struct words *more);
void words_free(struct words *w);

struct job {
  const char *clang;    /* its path */
  bool is_14;           /* it is version 14, in which one option has another name */
  struct words include; /* folders of headers */
  char *library;        /* folder of libmxrt */
  struct words both;    /* options for both sides, as given: -I, -D, -std= ... */
  struct words host;    /* for the host's side only: -O, -Xcompiler, -g */
  struct words device;  /* for the device's side only */
  int lanes;
  bool verbose, debug;
  bool across;     /* -rdc=true: objects contain PTX, which is joined when the program runs, and not modules */
  bool references; /* the source names texture or surface references */
  char *scratch;   /* a folder of our own */
};

/* clang.c */
bool find_clang(struct job *j);                        /* false: there is none, and a message has said so */
bool stat_clang(const struct job *j, struct stat *s);  /* the program's file, to tell it from another version */
bool has_program(const char *name);                    /* whether PATH has it */
bool find_openmp(struct job *j, struct words *linker); /* false: the same */
bool find_folders(struct job *j, const char *argv0);
/* Runs clang with these words and returns its exit status; 127: it could not be run. Its messages go to the file
 * `messages`, or, where that is NULL, to stderr. */
int run_clang(struct job *j, const struct words *words, const char *messages);
char *scratch_file(struct job *j, const char *suffix);
void end_scratch(struct job *j);

/* precompiled.c: replaces the words at `at`, `-include mx/prelude.h`, by those for a precompiled header, where there is
 * one for the other words, or can be made. These are all of clang's options for one side, and no files. */
void use_precompiled(struct job *j, struct words *w, size_t at, bool device);

/* linkage.c: LLVM code, changed so that the host reaches the variables that it names. The caller frees it. */
char *with_linkage(const char *code, bool device, size_t *size);

/* compile.c: sources of kernels; false: messages have been written */
enum product { P_OBJECT, P_PTX, P_MODULE };
bool compile(struct job *j, const char *source, enum product product, const char *out);

#endif
