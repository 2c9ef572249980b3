/* Between the files of jit/ that are part of libmx: tier.c decides, cost.c knows what a compile will cost, key.c names
 * code, spawn.c runs the compiler, cache.c keeps what it made, load.c takes it in. */
#ifndef MX_JIT_JIT_H
#define MX_JIT_JIT_H

#include "vm/exec/jitabi.h"
#include "vm/host/engine.h"

#include <time.h>

/* tier.c: what devices are made with. */
extern const struct mx_engine mx__compiling;

/* Everything that changes code, as text, a line for each part: what a cache entry carries and is compared with, byte
 * for byte. */
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
  uint32_t lanes;               /* for blocks of no more threads; 0: all lanes of a warp */
  const char *level;            /* of mx__jit_level */
  const char *compiler, *cache; /* paths; cache NULL: none */
  struct mx_jit_key key;
};

/* files.c. What fails leaves its reason in errno. */
#define MX_JIT_MOST_BYTES (64 << 20)          /* of a file that is read */
enum { MX_JIT_INPUT = 3, MX_JIT_OUTPUT = 4 }; /* the compiler's descriptors */
int mx__jit_move_descriptor(int fd); /* the same file as none of these, nor as one of a standard stream's; -1 stays */
bool mx__jit_write(int fd, const void *bytes, size_t size);           /* all of them */
uint8_t *mx__jit_read(int fd, size_t *size);                          /* a plain file's bytes, malloc'ed */
int mx__jit_memory(const char *name, const void *bytes, size_t size); /* a file in memory, with these bytes */
bool mx__jit_seal(int fd);                                            /* which nobody can write any more */

/* spawn.c. Code for the loader, sealed; -1: *why is a malloc'ed text or NULL. Whether it is wanted is asked now and
 * then. */
char *mx__jit_find_compiler(const char *named);
int mx__jit_compile(const struct mx_jit_job *job, bool (*unwanted)(void *user), void *user, char **why);

/* key.c. The CPU level that code is made for here; NULL: there is none for this CPU. */
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
/* Makes an entry of code that has been loaded, if there is a cache. The answer, malloc'ed: why it could not be kept, or
 * NULL. */
char *mx__jit_cache_keep(const struct mx_jit_job *job, const struct mx_jit_object *object);
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

/* cost.c. Seconds that a compile takes, as a line over the number of instructions through what earlier ones took. */
struct mx_jit_costs {
  double n, words, words2, seconds, both;
};                                                                /* sums over compiles, older ones fading */
void mx__jit_costs_read(struct mx_jit_costs *c, const char *dir); /* dir NULL: nothing is known */
double mx__jit_costs_predict(const struct mx_jit_costs *c, double words);
void mx__jit_costs_learn(struct mx_jit_costs *c, const char *dir, double words, double seconds);

/* load.c. Takes the descriptor over. The code of one kernel; NULL: not usable, *why is a malloc'ed text or NULL. */
struct mx_jit_object *mx__jit_load(int fd, uint32_t nfuncs, char **why);
int mx__jit_bytes(const struct mx_jit_object *o); /* the descriptor of what was loaded */
void mx__jit_unload(struct mx_jit_object *o);
struct mx_jit_code *mx__jit_code(struct mx_jit_object *o, uint32_t func); /* NULL: not compiled */

#endif
