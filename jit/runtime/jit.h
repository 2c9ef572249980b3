/* What the files of jit/runtime share: tier.c decides what is compiled and when, cost.c predicts what a compile costs,
 * key.c names code by everything it depends on, spawn.c runs the compiler, cache.c keeps its output on disk, load.c
 * maps code into the process. */
#ifndef MX_JIT_JIT_H
#define MX_JIT_JIT_H

#include "vm/exec/jitabi.h"
#include "vm/host/engine.h"

#include <time.h>

/* tier.c: the functions by which vm/host uses compiled code; device.c gives them to each device. */
extern const struct mx_engine mx__compiling;

/* A text with a line for each thing on which compiled code depends. A cache entry contains the text of its code, and is
 * used only if it is the same, byte for byte, as the text of what is wanted. */
struct mx_jit_key {
  char *text;
  size_t size;
  char name[33]; /* its digest, in hexadecimal */
};

struct mx_jit_object; /* loaded code of a kernel and all that it calls */

/* A request to the compiler; strings and bytes belong to the caller. */
struct mx_jit_job {
  const uint8_t *module;
  size_t module_size;
  uint32_t kernel;
  const char *kernel_name;
  const char *stops;            /* of a session (vm/debug/compiled.c writes them), or NULL */
  const char *check_list;       /* as in mx_launch, or NULL */
  unsigned counts;              /* likewise */
  uint32_t lanes;               /* the code is for blocks of at most so many threads; 0: for any */
  uint32_t rows;                /* as in mx_launch */
  const char *level;            /* of mx__jit_level */
  const char *compiler, *cache; /* paths; cache NULL: none */
  struct mx_jit_key key;
};

/* files.c. Functions that fail set errno. */
#define MX_JIT_MOST_BYTES (64 << 20)          /* of a file that is read */
enum { MX_JIT_INPUT = 3, MX_JIT_OUTPUT = 4 }; /* the compiler's descriptors */
int mx__jit_move_descriptor(int fd); /* the same file as none of these, nor as one of a standard stream's; -1 stays */
bool mx__jit_write(int fd, const void *bytes, size_t size);           /* all of them */
uint8_t *mx__jit_read(int fd, size_t *size);                          /* a plain file's bytes, malloc'ed */
int mx__jit_memory(const char *name, const void *bytes, size_t size); /* a file in memory, with these bytes */
bool mx__jit_seal(int fd);                                            /* which nobody can write any more */

/* spawn.c. Compiles, and returns a descriptor of the code, a sealed file in memory; -1: it failed, and *why is a text,
 * which the caller frees, or NULL. While the compiler runs, it asks now and then whether the code is still wanted. */
char *mx__jit_find_compiler(const char *named);
int mx__jit_compile(const struct mx_jit_job *job, bool (*unwanted)(void *user), void *user, char **why);

/* key.c. The CPU level for which code is compiled on this machine; NULL: code cannot be compiled for it. */
const char *mx__jit_level(void);
bool mx__jit_key_make(struct mx_jit_job *job);
/* Calls `differs` for each part that the two have not in common: its name, what it was and is ("" where it is missing).
 */
unsigned mx__jit_key_compare(const char *was, const char *is,
                             void (*differs)(void *user, const char *part, const char *was, const char *is),
                             void *user);

/* cache.c. NULL: no cache; *why then says why in a malloc'ed text, NULL if none is wanted. why may be NULL. */
char *mx__jit_cache_dir(const char *named, char **why);
/* Code for the loader from a checked entry, or -1. */
int mx__jit_cache_find(const struct mx_jit_job *job);
/* Writes code that has been loaded into the cache, if there is one. NULL: done; else a text, which the caller frees,
 * that says why it could not be kept. */
char *mx__jit_cache_keep(const struct mx_jit_job *job, const struct mx_jit_object *object);
void mx__jit_cache_trim(const char *entry); /* makes room in the folder for this new file */
/* Everything in a folder that is named like an entry. key NULL: not usable, for the reason of `fault`. */
struct mx_jit_cache_entry {
  char name[33];
  uint64_t bytes;
  struct timespec used;
  char *key;
  const char *fault;
};
struct mx_jit_cache_entry *mx__jit_cache_list(const char *dir, size_t *n);
void mx__jit_cache_list_free(struct mx_jit_cache_entry *list, size_t n);
size_t mx__jit_cache_clear(const char *dir); /* how many entries went */

/* cost.c. Predicts the seconds that a compile takes, by a straight line fitted to earlier compiles: seconds over number
 * of instructions. */
struct mx_jit_costs {
  double n, words, words2, seconds, both;
};                                                                /* sums over compiles, older ones fading */
void mx__jit_costs_read(struct mx_jit_costs *c, const char *dir); /* dir NULL: nothing is known */
double mx__jit_costs_predict(const struct mx_jit_costs *c, double words);
void mx__jit_costs_learn(struct mx_jit_costs *c, const char *dir, double words, double seconds);

/* load.c. Loads the code of one kernel and closes the descriptor; NULL: it is not usable, and *why is a text, which the
 * caller frees, or NULL. */
struct mx_jit_object *mx__jit_load(int fd, uint32_t nfuncs, char **why);
int mx__jit_bytes(const struct mx_jit_object *o); /* the descriptor of what was loaded */
void mx__jit_unload(struct mx_jit_object *o);
struct mx_jit_code *mx__jit_code(struct mx_jit_object *o, uint32_t func); /* NULL: not compiled */

#endif
