/* What the files of mxrun share: devices and modules, arguments, launches, and the commands. */
#ifndef MX_TOOLS_MXRUN_H
#define MX_TOOLS_MXRUN_H
#include "data.h"

#include "mx/check.h"
#include "mx/mx.h"

/* ---- what a launch needs, from options or from a manifest ------------------------------------------------*/
struct shape {
  uint32_t grid[3], block[3];
  bool block_given;
};
struct machine { /* options that both `mxrun FILE` and `mxrun test` take */
  uint32_t threads, resident;
  mx_jit_mode jit;
  bool no_cache;
  uint64_t jit_stress, steps;
  mx_async_order async;
  uint64_t async_seed;
  double timeout;
  uint64_t limit[MX_LIMIT_COUNT];
  uint32_t limits;     /* a bit for each that is given */
  mx_profile *profile; /* NULL, or where launches count what they do */
  mx_device *beside;   /* the first of several devices */
  uint32_t check;      /* tools that watch the launches: mx/check.h */
};

/* ---- load.c: devices and modules -----------------------------------------------------------------------*/
/* A device with the machine's options; failure is reported and answers NULL. */
mx_device *open_device(const struct machine *m);
extern const char *const limit_names[MX_LIMIT_COUNT];
/* "stack_bytes=65536"; false: *why, malloc'ed. */
bool parse_limit(const char *text, mx_limit *limit, uint64_t *value, char **why);
/* Loads .mxs, .ptx or .mxb bytes. On failure *text (malloc'ed) holds everything there is to say. Warnings go there,
 * too. */
bool load_module(mx_device *d, const char *name, const char *bytes, size_t size, bool color, mx_module **module,
                 char **text);
/* The same for a command, and one of its kernels (NULL: the only one): what there is to say goes to stderr. Failure:
 * NULL and an exit status. */
mx_module *load_program(mx_device *d, const char *name, const char *bytes, size_t size, int *status);
mx_kernel *kernel_of(mx_module *module, const char *kernel, const char *name, int *status);
/* Puts into a configuration what the kernel itself demands: its block if none is given, clusters, cooperation. */
void kernel_shape(mx_kernel *kernel, mx_launch_config *config, bool block_given);
/* The device's last error, or the status's text; malloc'ed. */
char *failure_text(mx_device *d, mx_status s);
/* Of the last call on d, which ended with s. */
int exit_status_of(mx_device *d, mx_status s);

/* ---- launch.c: a launch that can be interrupted and shows that it lives ----------------------------------*/
mx_status launch_watched(mx_device *d, mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes,
                         const char *what);
/* The same on the devices of n kernels, of which d is the first. */
mx_status launch_watched_on(mx_device *d, mx_kernel *const *kernels, size_t n, const mx_launch_config *config,
                            const void *params, size_t bytes, const char *what);

/* trace.c: the same, interpreted by one thread, with a line for every warp instruction; path "-": stderr. *why: NULL or
 * malloc'ed, the failure in full. */
mx_status launch_traced(mx_device *d, mx_kernel *k, const mx_launch_config *config, const void *params, size_t bytes,
                        const char *path, char **why);

/* compare.c: the launch on both engines; says whether they agree and, if not, which instruction differs first. An exit
 * status. */
struct comparison {
  const struct machine *machine;
  const mx_launch_config *config;
  const char *file, *bytes, *kernel;
  size_t size;
  char **words;
  size_t nwords;
};
int compare_engines(const struct comparison *c);

/* dump.c: line `number` (from 1) of a text, without blanks around it; "" with length 0 if there is none. */
const char *line_of_text(const char *text, size_t size, uint32_t number, int *length);
/* The kernel's compiled code as assembly, into a file or, "-", on stdout. text: the program's source, for its lines.
 * False: *why is malloc'ed. */
bool dump_code(const mx_kernel *k, const char *path, const char *name, const char *text, size_t size, char **why);

/* check.c: "race,sync" as a set; false: one of them is no tool. */
bool parse_tools(const char *text, uint32_t *tools);
/* Patterns of findings that are not to be shown, read from a file; wrong usage ends the program. */
struct suppressions {
  char **at;
  size_t n;
};
void read_suppressions(struct suppressions *s, const char *path);
/* TOOL:KIND:KERNEL:FILE:LINE, malloc'ed; the number of the first pattern that it matches, or -1. */
char *finding_name(const mx_finding *f);
ptrdiff_t finding_matches(char *const *patterns, size_t n, const mx_finding *f);
void free_suppressions(struct suppressions *s);
/* Prints what the device's tools have found, on stderr or, if j is not NULL, into `j` as an array. Returns how many
 * findings these are. */
size_t tell_findings(mx_device *d, const struct suppressions *s, struct text *j);

/* ---- args.c ----------------------------------------------------------------------------------------------*/
struct arg {
  const char *name; /* the parameter's */
  mx_param_info param;
  bool buffer;
  struct data data;       /* a buffer's bytes before the launch and, after fetch_args, behind it */
  struct mx_array *array; /* of an image: then it has no address */
  mx_addr address, value; /* on the device, and what the kernel gets for it */
  struct arg *same;       /* of an earlier launch, whose buffer this is; or NULL */
};
struct args {
  struct arg *arg;
  size_t n;
  unsigned char *params;
  size_t bytes;
  struct args *before; /* of the launch before this one, or NULL */
};
static inline struct data *data_of(struct arg *g) { return g->same ? &g->same->data : &g->data; }
/* Binds the command line's ARGs to the kernel's parameters and puts buffers on the device; wrong usage ends the
 * program. */
void bind_args(struct args *a, struct args *before, mx_device *d, mx_kernel *k, char **words, size_t n);
/* The same; NULL, or what is wrong with them, malloc'ed. *a can be freed in any case. */
char *try_args(struct args *a, mx_device *d, mx_kernel *k, char **words, size_t n);
static inline bool grid_is_auto(const mx_launch_config *c) { return !c->grid[0] && !c->grid[1] && !c->grid[2]; }
/* A grid without blocks, --grid auto, becomes one that has a thread for each element of the largest buffer. */
void auto_grid(const struct args *a, mx_launch_config *config);
bool fetch_args(struct args *a, mx_device *d);
void free_args(struct args *a);
/* "name" or "3"; NULL: no such argument */
struct arg *find_arg(struct args *a, const char *s, size_t n);
/* The same, of the last of several launches that has such an argument; or of the one whose number is before a dot:
 * "1.name". */
struct arg *find_in_launches(struct args *last, const char *s, size_t n);

/* ---- run.c, test.c, info.c, cache.c: the commands; each answers an exit status ----------------------------------*/
int command_run(int argc, char **argv, int next);
int command_check(int argc, char **argv, int next);
int command_repl(int argc, char **argv, int next);
int command_test(int argc, char **argv, int next);
int command_info(int argc, char **argv, int next);
int command_exec(int argc, char **argv, int next);
int command_cache(int argc, char **argv, int next);
int command_profile(int argc, char **argv, int next);
void print_help(void);

/* repl/: the interactive session; answers an exit status. */
struct repl_source {
  bool file;
  const char *text;
};
struct repl_start {
  const struct machine *machine;
  const mx_launch_config *config;
  const char *file, *kernel; /* file NULL: the calculator */
  char **words;
  size_t nwords;
  struct repl_source *sources;
  size_t nsources;
  bool batch, record, keep_going, screen;
  uint64_t seed;
  const struct suppressions *suppressed;
};
int repl_main(struct repl_start *start);

/* Options that several commands share. True: it was one of them. */
enum {
  O_HELP = 1,
  O_VERSION,
  O_COLOR,
  O_THREADS,
  O_STEPS,
  O_TIMEOUT,
  O_JIT,
  O_STRESS,
  O_RESIDENT,
  O_NO_CACHE,
  O_LIMIT,
  O_ASYNC,
  O_COMMON
};
#define COMMON_OPTIONS \
  {"help", 'h', CLI_NONE, O_HELP}, {"version", 0, CLI_NONE, O_VERSION}, {"color", 0, CLI_REQUIRED, O_COLOR}, \
      {"colour", 0, CLI_REQUIRED, O_COLOR}, {"threads", 0, CLI_REQUIRED, O_THREADS}, \
      {"steps", 0, CLI_REQUIRED, O_STEPS}, {"timeout", 0, CLI_REQUIRED, O_TIMEOUT}, {"jit", 0, CLI_REQUIRED, O_JIT}, \
      {"jit-stress", 0, CLI_REQUIRED, O_STRESS}, {"resident", 0, CLI_REQUIRED, O_RESIDENT}, \
      {"no-cache", 0, CLI_NONE, O_NO_CACHE}, {"limit", 0, CLI_REQUIRED, O_LIMIT}, { \
    "async", 0, CLI_REQUIRED, O_ASYNC \
  }
bool common_option(int id, const char *value, struct machine *m);
void machine_config(mx_launch_config *c, const struct machine *m);

#endif
