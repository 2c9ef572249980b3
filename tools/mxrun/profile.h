/* mxrun profile: what a profile holds, added up by source line, and the forms in which it is shown. */
#ifndef MX_TOOLS_MXRUN_PROFILE_H
#define MX_TOOLS_MXRUN_PROFILE_H
#include "mxrun.h"

#include "mx/profile.h"

struct profile_line {
  const char *file; /* NULL: instructions without a line */
  uint32_t line, instructions;
  uint64_t executions;        /* the most of one of its instructions */
  mx_profile_instruction sum; /* of all of them; texts mean nothing */
};
struct profile_kernel {
  mx_profile_kernel k;
  mx_profile_instruction *insns; /* k.instructions of them; sum: all together */
  mx_profile_instruction sum;
  struct profile_line *lines; /* by file and line */
  size_t nlines;
};
struct profiled {
  mx_profile *profile;
  struct profile_kernel *kernels;
  size_t nkernels;
};
extern const char *const exit_names[8]; /* why compiled code was left, by enum mx_exit_reason */
/* Reads all that the profile holds. */
void profile_read(struct profiled *p, mx_profile *profile);
void profile_done(struct profiled *p);
static inline double mean_lanes(const mx_profile_instruction *i) {
  return i->executed ? (double)i->active / (double)i->executed : 0;
}

/* The text of a source file, to show beside its lines: of the program's own file as it was read, of others if they are
 * there. NULL: it is not. */
struct profile_source {
  const char *name, *text;
  size_t size;
};
/* As qsort wants it: what has no file comes last. */
int compare_files(const char *file, const char *other);
int compare_places(const char *file, uint32_t line, const char *other, uint32_t number);
const char *source_of(const struct profile_source *own, const char *file, size_t *size);

/* profile.c, profile_json.c, profile_html.c, profile_files.c: into t */
void profile_text(struct text *t, const struct profiled *p, const struct profile_source *own, bool all, bool color);
void profile_json(struct text *t, const struct profiled *p);
void profile_html(struct text *t, const struct profiled *p, const struct profile_source *own);
void profile_coverage(struct text *t, const struct profiled *p);
void profile_events(struct text *t, const struct profiled *p);

/* The wishes of a command line. */
struct profile_wish {
  bool json, all, no_memory, quiet; /* quiet: nothing on stdout */
  const char *coverage, *events, *html;
};
mx_profile *profile_new(const struct profile_wish *w);
/* Shows and writes what is wished; an exit status. */
int profile_show(const struct profile_wish *w, mx_profile *profile, const struct profile_source *own);

#endif
