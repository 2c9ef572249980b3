/* What the files of the interactive session share. All that it shows of a launch comes from mx/debug.h.
 *
 * A session has a target (a program, its arguments, a launch), a focus (block, warp, lane, split, frame) that every
 * stop moves, and stops (breakpoints, watchpoints, catchpoints). Commands return whether they could be done; if not,
 * they have printed why. */
#ifndef MX_TOOLS_REPL_H
#define MX_TOOLS_REPL_H
#include "tools/mxrun/mxrun.h"

#include "mx/debug.h"

enum { REPL_LANES = 64 };

/* ---- expressions: expression.c compiles and evaluates ----------------------------------------------------------*/
enum value_kind { VALUE_SIGNED, VALUE_UNSIGNED, VALUE_REAL };
/* A value in every lane. Integers are 64 bits wide, reals doubles; type: how to show it, NULL: by kind. */
struct value {
  enum value_kind kind;
  const struct elem *type;
  bool pred;      /* a truth */
  bool uniform;   /* one value: any(), a constant, x @ lane */
  bool unset;     /* of a register that nothing has written yet */
  bool address;   /* of memory: in hexadecimal */
  uint64_t fault; /* lanes that could not be read */
  uint64_t lanes; /* those that were asked for by number; 0: the active ones */
  union {
    int64_t i;
    uint64_t u;
    double f;
  } lane[REPL_LANES];
};
struct expression;
struct repl;
struct point;
/* NULL: said why. The text ends where the expression does: *rest, or must end there (rest NULL). In an ask, registers
 * are those of the instruction at hand (point); else of the focus. */
struct expression *expression_compile(struct repl *r, const char *text, const char **rest, const mx_debug_point *point,
                                      char **why);
bool expression_value(struct repl *r, const struct expression *e, const mx_debug_point *point, struct value *out,
                      char **why);
void expression_free(struct expression *e);
/* Both at once, for the focus. False: complained. */
bool evaluate(struct repl *r, const char *text, const char **rest, struct value *out);
bool is_sample(struct repl *r, const char *arguments, bool *good); /* images.c: print tex(t, 0.5, 0.25) */
bool info_textures(struct repl *r, const char *rest);
bool draw_picture(struct repl *r, const struct data *d);
/* An address with the type of what is there: "[p + 4]", "f32[p]". False: it is no such thing (nothing is said), or
 * *why. */
bool place_of(struct repl *r, const char *text, const char **rest, uint64_t *address, const struct elem **type,
              char **why);
bool read_memory(struct repl *r, uint64_t block, uint32_t warp, uint32_t lane, uint64_t address, void *to,
                 size_t bytes);
/* Lanes for which a condition holds: of any(x), those where x does. */
uint64_t expression_lanes(struct repl *r, const struct expression *e, const mx_debug_point *point);
/* A variable that the focus can name; a buffer argument or a variable, with what it is taken to hold. */
bool find_variable(struct repl *r, const char *name, size_t n, mx_debug_variable *out);
/* The word that the text begins with, at a point, or (NULL) in the focus; "%..." always does. */
bool names_register(struct repl *r, const mx_debug_point *point, const char *text);
bool find_elements(struct repl *r, const char *name, size_t n, uint64_t *address, uint64_t *bytes,
                   const struct elem **type);
uint64_t value_truth(const struct value *v); /* lanes where it is not 0 */
/* test.c: gives compiled code the part of a breakpoint's question that it can ask by itself, if there is one. */
void point_tell_test(struct repl *r, const struct point *p);

/* ---- stops: stops.c --------------------------------------------------------------------------------------------*/
enum point_kind { POINT_PLACE, POINT_WATCH, POINT_WRITE, POINT_KIND };
struct point {
  struct repl *repl;
  int number, inner; /* inner: of the session that runs; 0: not there */
  enum point_kind kind;
  bool enabled, temporary;
  char *place;             /* as written: the location, the expression, the kind */
  uint64_t address, bytes; /* POINT_WRITE */
  char *condition;
  int64_t block, warp, lane; /* -1: any */
  uint64_t hits, ignore;
  char **command;
  size_t ncommands;
  struct expression *compiled; /* of the condition or the watched expression, at this place: */
  const char *function;
  uint32_t pc;
  bool known;                    /* `latest` is set: the value of a watched expression */
  struct value *last, *now;      /* when it fired: before, and then */
  struct value *latest, *newest; /* at the last question; at this one */
  char *failure;                 /* the condition could not be evaluated: it stops */
  bool fired;
  uint64_t matched; /* lanes for which the condition held when it last stopped; 0: it is not about lanes */
};
struct display {
  int number;
  char format;
  char *text;
};

/* ---- the session -----------------------------------------------------------------------------------------------*/
struct repl {
  /* the target: target.c */
  struct machine machine;
  mx_launch_config config;
  char *file, *bytes;
  size_t size; /* bytes: text or module */
  char *kernel_name;
  char **words;
  size_t nwords;            /* arguments, as written */
  struct launch_file *from; /* manifest.c: the manifest that all this came from, or NULL */
  mx_device *d;
  mx_module *module;
  mx_kernel *kernel;
  struct args args;
  bool unused;             /* bound, and no launch has touched it */
  struct listing *listing; /* source.c: made when needed */

  /* the launch: run.c */
  mx_debug *g;
  mx_debug_stop stop;
  bool over, back; /* recorded, at its end; the stop was come to backwards */
  uint64_t steps_limit;
  bool recording;
  uint64_t record_limit, seed, hang_turns;

  /* focus */
  uint64_t block;
  uint32_t warp, lane, split, frame;

  struct undone *undone;
  size_t nundone;        /* what `undo` takes back; the last is the last */
  struct screen *screen; /* NULL: no full-screen view */

  struct point **points;
  size_t npoints;
  int next_point;
  struct display *displays;
  size_t ndisplays;
  int next_display;
  struct kept {
    char *text;
    struct value *value;
    char format;
  } * values;
  size_t nvalues;  /* what was printed */
  uint32_t listed; /* line that `list` goes on with */

  struct calculator *calc; /* calc.c; NULL: a program is loaded */

  /* findings of tools: check.c. machine.check: which tools the next launch has */
  const struct suppressions *suppressed;
  size_t seen; /* findings that have been told, or are suppressed */
  bool found;  /* some have been told */

  /* where commands come from: session.c */
  struct reader *reader;
  struct point *collecting; /* `commands`: lines go there */
  char **pending;
  size_t npending;   /* lines that come before any others */
  unsigned restarts; /* of the launch, by them */
  bool color, terminal, quit, keep_going;
  int depth; /* of `source` */
};

/* Says what went wrong; false. */
bool complain(struct repl *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool complain_status(struct repl *r, mx_status s);
/* On stdout; on a terminal, what is longer than a line goes on, indented, in the next. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void print_out(struct repl *r, const char *text, size_t size); /* stdout, in order with complaints */

/* session.c */
bool session_line(struct repl *r, char *line); /* one command; false: it failed */
bool session_file(struct repl *r, const char *path);

/* reader.c: lines from a terminal or a file */
struct reader *reader_new(struct repl *r, FILE *f, bool terminal);
char *reader_line(struct reader *e, const char *prompt);
void reader_free(struct reader *e);

/* table.c */
enum completion {
  COMPLETE_NONE,
  COMPLETE_PLACE,
  COMPLETE_VALUE,
  COMPLETE_KIND,
  COMPLETE_INFO,
  COMPLETE_FILE,
  COMPLETE_COMMAND
};
#define GROUPS(X) \
  X(RUNNING, "running", "Running") \
  X(STOPS, "stops", "Stops") \
  X(LOOKING, "looking", "Looking") \
  X(FOCUS, "focus", "Focus") \
  X(DATA, "data", "Data") \
  X(BACK, "back", "Backwards") \
  X(SCHEDULES, "schedules", "Schedules") X(PROGRAM, "program", "Programs") X(SESSION, "session", "Session")
struct command {
  const char *name, *brief, *arguments;
  enum completion completes;
  int group;
  const char *help, *example;
  bool (*run)(struct repl *r, char *arguments);
};
extern const struct command commands[];
extern const size_t ncommands;
/* By name, short form or unambiguous beginning. NULL: *why names the candidates, malloc'ed. */
const struct command *find_command(const char *name, size_t n, char **why);
/* Words that may stand where `line` ends; malloc'ed list of malloc'ed words, NULL-terminated. *start: where the word
 * begins. */
char **complete(struct repl *r, const char *line, size_t *start);
#define C(id_, ...) bool do_##id_(struct repl *r, char *arguments);
#include "commands.def"
extern const struct info {
  const char *name, *help;
  bool (*run)(struct repl *r, const char *rest);
} infos[];
extern const char *const kinds[];

/* target.c */
bool target_load(struct repl *r, const char *path);
bool target_text(struct repl *r, const char *name, const char *text, size_t size); /* becomes the program */
bool target_bind(struct repl *r);  /* a fresh device with the program and its arguments on it */
bool target_fresh(struct repl *r); /* the same, if what is bound is not fresh */
void target_free(struct repl *r);
/* The same program and arguments on a device of its own, for launches beside the session's; d NULL: there is none. */
struct repl *repl_copy(const struct repl *r);
void repl_copy_free(struct repl *o);

/* manifest.c: the program, the arguments and the launch of a manifest; and its memory, around the loading of the
 * program. False: complained. */
bool manifest_load(struct repl *r, const char *path);
bool manifest_memory(struct repl *r, mx_module *module); /* module NULL: what comes before it */
void manifest_forget(struct repl *r);

/* run.c */
bool running(struct repl *r);      /* a launch can be looked at; else complains */
bool launch_begin(struct repl *r); /* stands before the first instruction */
void launch_end(struct repl *r);
bool probe_begin(struct repl *r); /* if nothing has run: a launch that never begins, for places and names to be looked
                                     up in; false: none was made */
void probe_end(struct repl *r, bool begun);
bool launch_go(struct repl *r, mx_debug_order order, uint64_t count); /* and says where it stopped */
void show_stop(struct repl *r);
void take_focus(struct repl *r);                                       /* from the stop */
unsigned warp_lanes(struct repl *r);                                   /* of the program's kernel; focus.c */
extern mx_debug *volatile interrupted;                                 /* what Ctrl-C pauses */
mx_status go_on(struct repl *r, mx_debug_order order, uint64_t count); /* where Ctrl-C pauses it; into r->stop */
const char *culprit_text(const mx_debug_culprit *c, char *buffer, size_t n);

/* check.c: tells findings that have not been told; whether there are some that are not suppressed */
bool findings_tell(struct repl *r);
bool findings_are_new(struct repl *r);
bool info_findings(struct repl *r, const char *rest);

/* hang.c: groups of lanes of a launch that hangs: where they are, what they wait for, who holds it */
void show_hang(struct repl *r);

/* stops.c */
bool info_breakpoints(struct repl *r, const char *rest);
bool points_establish(struct repl *r); /* in a new launch */
void points_forget(struct repl *r);    /* the launch has gone */
struct point *point_of_inner(struct repl *r, int inner);
struct point *point_fired(struct repl *r);
struct point *point_at_begin(struct repl *r);
bool points_hit(struct repl *r, struct point *p); /* counts it; false: ignored */
void point_delete(struct repl *r, struct point *p);
struct point *add_place(struct repl *r, char *arguments, bool temporary);

/* undo.c */
void undo_register(struct repl *r, const char *name, uint64_t lanes,
                   const mx_debug_register *was); /* `set` is about to change it */
void undo_memory(struct repl *r, uint64_t address, size_t bytes);
void undo_move(struct repl *r);   /* the launch is about to go elsewhere */
void undo_forget(struct repl *r); /* it is over */
bool calc_undo(struct repl *r);   /* calc.c: the last line */

/* screen.c: the full-screen view */
void screen_draw(struct repl *r);  /* if it is on */
void screen_clear(struct repl *r); /* empty but for the view */
void screen_free(struct repl *r);

/* source.c */
bool find_place(struct repl *r, const char *text, char **function, uint32_t *pc, uint32_t *line, char **file);
const char *source_line(struct repl *r, const char *file, uint32_t line);  /* NULL: unknown */
char *instruction_text(struct repl *r, const char *function, uint32_t pc); /* malloc'ed */
void show_line(struct repl *r, const char *file, uint32_t line);
void listing_free(struct repl *r);

/* print.c */
/* group.c: a register of 128 bits; false: the text is the name of none. A lane's value; malloc'ed. */
bool print_wide(struct repl *r, const char *text, char fmt, bool *good);
char *wide_text(struct repl *r, const mx_debug_register *g, unsigned lane, char fmt);
/* fragment.c: "wmma(REGISTERS, PART, SHAPE[, TYPE])" or "mma(...)"; false: the text is no such thing. */
bool print_fragment(struct repl *r, const char *text, char fmt, bool *good);
void print_value(struct repl *r, const char *name, const struct value *v, char format);
char *value_text(const struct value *v, unsigned lane, char format); /* malloc'ed */
bool info_values(struct repl *r, const char *rest);
void values_free(struct repl *r);
char format_for(const struct repl *r, const struct value *v, uint64_t lanes,
                char format); /* addresses are hexadecimal by themselves */
void value_of_register(const mx_debug_register *reg, struct value *v);
char take_format(char **arguments);   /* "/x": the letter, 0: none */
uint64_t focus_lanes(struct repl *r); /* active ones of the focus split */

/* views.c */
/* "mbarrier 0x10000000000: phase of parity 0, 1 of 2 arrivals and 0 bytes missing, which warp 3 could still bring";
 * malloc'ed. */
char *mbarrier_text(struct repl *r, uint64_t block, mx_addr at);
char *lanes_text(uint64_t m); /* "lanes 0-31, 40", "lane 5"; malloc'ed */
char *mask_row(struct repl *r, uint64_t block, uint32_t warp);
char *summary(const struct value *v, uint64_t lanes, unsigned warp_lanes, char format);

/* calc.c */
bool calc_begin(struct repl *r, unsigned lanes);
bool calc_line(struct repl *r, const char *line); /* an instruction, or part of one */
bool calc_waits(struct repl *r);                  /* for the rest of a block */
void calc_free(struct repl *r);
bool is_instruction(struct repl *r, const char *line);
void calc_changed(struct repl *r, const char *arguments); /* `set` was carried out */

/* print.c: `set` of a register or of memory */
bool set_value(struct repl *r, const char *arguments);

/* words */
char *next_word(char **s); /* cuts; NULL: none */
void skip_blanks(char **s);
bool number_word(const char *s, uint64_t *v);
bool coordinates(struct repl *r, char **s, const uint32_t size[3], uint64_t *number); /* "5" or "(1,2,3)" */

#endif
