/* Between the files of jit/ that are part of libmx: tier.c decides, build.c runs the compiler, cache.c keeps what it
 * made, load.c takes it in. */
#ifndef MX_JIT_JIT_H
#define MX_JIT_JIT_H

#include "vm/jitabi.h"
#include "vm/tier.h"

/* Everything that changes code, as text: what a cache entry carries and is compared with, byte for byte. */
struct mx_jit_key { char *text; size_t size; char name[33]; /* its digest, in hexadecimal */ };

/* A request to the compiler; strings and bytes belong to the caller. */
struct mx_jit_job {
  const uint8_t *module; size_t module_size;
  uint32_t kernel;
  const char *compiler, *cache; /* paths; cache NULL: none */
  struct mx_jit_key key;
};

/* build.c. False: *why is a malloc'ed text or NULL. `stop` is polled. The object's path is malloc'ed. */
char *mx__jit_find_compiler(const char *named);
bool mx__jit_compile(const struct mx_jit_job *job, const char *object, const atomic_int *stop, char **why);

/* cache.c */
char *mx__jit_cache_dir(const char *named);
bool mx__jit_key_make(struct mx_jit_job *job);
/* An open, checked entry, or -1. */
int mx__jit_cache_find(const struct mx_jit_job *job);
/* Where the compiler should write (malloc'ed): in the cache or in a folder of its own (then *folder is that, malloc'ed). */
char *mx__jit_cache_place(const struct mx_jit_job *job, char **folder);
/* Makes what lies at `object` an entry, if there is a cache, and opens it; -1: it cannot be used. */
int mx__jit_cache_keep(const struct mx_jit_job *job, const char *object);

/* load.c. Takes the descriptor over. The code of one kernel; NULL: not usable. */
struct mx_jit_object;
struct mx_jit_object *mx__jit_load(int fd, uint32_t nfuncs);
void mx__jit_unload(struct mx_jit_object *o);
struct mx_jit_code *mx__jit_code(struct mx_jit_object *o, uint32_t func); /* NULL: not compiled */

#endif
