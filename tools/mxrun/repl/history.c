/* A register or a word of memory over time, from the recording: who wrote what, from the oldest to the newest. */
#include "repl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL = 20, MOST = 10000 };

struct change {
  mx_debug_culprit by;
  char *value, *line;
};

/* What is looked at: a register of a frame, seen from the kernel since splits come and go, in one lane; or memory. */
struct watched {
  char *name; /* NULL: memory */
  uint64_t block;
  uint32_t warp, lane, depth;
  uint64_t address;
  const struct elem *type;
};

static uint32_t frames_of(struct repl *r, uint64_t block, uint32_t warp, uint32_t split) {
  mx_debug_split s = {.struct_size = sizeof s};
  return mx_debug_get_split(r->g, block, warp, split, &s) == MX_OK ? s.depth : 0;
}

/* The lane's split, and the frame so deep; false: the lane is not there. */
static bool place(struct repl *r, const struct watched *w, uint32_t *split, uint32_t *frame) {
  mx_debug_split s = {.struct_size = sizeof s};
  for (*split = 0; mx_debug_get_split(r->g, w->block, w->warp, *split, &s) == MX_OK; ++*split) {
    if (!(s.lanes >> w->lane & 1) || s.depth < w->depth) continue;
    *frame = s.depth - w->depth;
    return true;
  }
  return false;
}

static char *value_here(struct repl *r, const struct watched *w, const mx_debug_culprit *by) {
  struct value v = {.uniform = true};
  uint32_t split, frame;
  uint64_t bits = 0;
  if (w->name) {
    mx_debug_register g = {.struct_size = sizeof g};
    if (!place(r, w, &split, &frame) ||
        mx_debug_get_register(r->g, w->block, w->warp, split, frame, w->name, &g) != MX_OK)
      return cli_strdup("?");
    value_of_register(&g, &v);
    return value_text(&v, w->lane, format_for(r, &v, 1ull << w->lane, 0));
  }
  if (!read_memory(r, by->block, by->warp, w->address >> 40 == 2 ? w->lane : 0, w->address, &bits, w->type->size))
    return cli_strdup("?");
  v.type = w->type;
  struct text t = {0};
  elem_print(&t, w->type, &bits);
  return t.s;
}

/* Goes back to before the last write; *c says what that was. */
static mx_status step_back(struct repl *r, const struct watched *w, struct change *c) {
  uint32_t split, frame;
  mx_status s;
  if (!w->name) s = mx_debug_last_write(r->g, w->address, w->type->size, w->block, &c->by);
  else if (!place(r, w, &split, &frame)) return MX_NOT_FOUND;
  else s = mx_debug_last_register(r->g, w->block, w->warp, split, frame, w->name, 1ull << w->lane, &c->by);
  if (s == MX_OK) s = mx_debug_goto(r->g, c->by.position + 1, NULL);
  if (s != MX_OK) return s;
  c->value = value_here(r, w, &c->by);
  return mx_debug_goto(r->g, c->by.position, NULL);
}

static void show(struct repl *r, const struct watched *w, struct change *c, size_t n, size_t asked) {
  size_t wide = 5;
  for (size_t k = 0; k < n; k++)
    if (strlen(c[k].value) > wide) wide = strlen(c[k].value);
  if (w->name)
    printf("%s in lane %u of warp %u of block %llu", w->name, w->lane, w->warp, (unsigned long long)w->block);
  else printf("%u bytes at 0x%llx", w->type->size, (unsigned long long)w->address);
  printf(n == asked ? ", the last %zu writes; say how many for more\n" : "\n", n);
  printf("position  %*s\n", (int)wide, "value");
  for (size_t k = n; k--;) {
    const mx_debug_culprit *by = &c[k].by;
    const char *line = by->file ? source_line(r, by->file, by->line) : NULL;
    printf("%8llu  %*s  ", (unsigned long long)by->position, (int)wide, c[k].value);
    if (!w->name) printf("block %llu warp %u, ", (unsigned long long)by->block, by->warp);
    if (by->file) printf("%s:%u", by->file, by->line);
    else printf("%s+%u", by->function, by->pc);
    printf("%s%s\n", line ? "  " : "", line ? line + strspn(line, " \t") : "");
  }
}

/* "%n", "%n @ 17", "[ADDRESS]", with a number of changes behind. */
static bool parse(struct repl *r, char *arguments, struct watched *w, uint64_t *most) {
  char *why = NULL;
  const char *rest = NULL;
  *w = (struct watched){.block = r->block, .warp = r->warp, .lane = r->lane};
  *most = USUAL;
  if (names_register(r, NULL, arguments)) {
    struct value lane;
    size_t n = strcspn(arguments, " \t@");
    w->name = format("%.*s", (int)n, arguments);
    arguments += n;
    skip_blanks(&arguments);
    if (*arguments == '@') {
      if (!evaluate(r, arguments + 1, &rest, &lane)) return false;
      if (lane.kind == VALUE_REAL || lane.lane[0].u >= warp_lanes(r))
        return complain(r, "lanes are numbered 0 to %u", warp_lanes(r) - 1);
      w->lane = (uint32_t)lane.lane[0].u;
      arguments += rest - arguments;
    }
  } else {
    const bool found = place_of(r, arguments, &rest, &w->address, &w->type, &why);
    if (!found) complain(r, "%s", why ? why : "expected %REGISTER [@ LANE], or [ADDRESS]");
    free(why);
    if (!found) return false;
    arguments += rest - arguments;
  }
  skip_blanks(&arguments);
  return !*arguments || (number_word(arguments, most) && *most && *most <= MOST) ||
         complain(r, "'%s' is not a number of changes", arguments);
}

bool do_history(struct repl *r, char *arguments) {
  struct watched w = {0};
  uint64_t most;
  mx_debug_recording now = {.struct_size = sizeof now};
  if (!*arguments) return complain(r, "of what register or memory?");
  if (!r->g) return running(r);
  if (mx_debug_get_recording(r->g, &now) != MX_OK || !now.on)
    return complain(r, "nothing is recorded: 'record', then 'run'");
  const bool over = r->over;
  if (over) { /* registers are those of the warp's last instruction */
    mx_status s = mx_debug_back(r->g, MX_DEBUG_STEP, r->block, r->warp, 1, NULL);
    if (s != MX_OK) return complain_status(r, s);
    r->over = false;
  }
  bool good = parse(r, arguments, &w, &most);
  uint32_t split = r->split;
  w.depth = frames_of(r, w.block, w.warp, split) - r->frame;
  mx_status s = MX_OK;
  if (over && good && !w.name) s = mx_debug_goto(r->g, now.now, NULL); /* all writes count */
  struct change *list = NULL;
  size_t n = 0;
  while (good && s == MX_OK && n < most) {
    list = cli_realloc(list, (n + 1) * sizeof *list);
    list[n] = (struct change){.by = {.struct_size = sizeof list[n].by}};
    s = step_back(r, &w, &list[n]);
    if (list[n].value) n++;
  }
  mx_debug_stop back = {.struct_size = sizeof back};
  mx_debug_goto(r->g, now.now, &back);
  r->over = over;
  if (good && n) show(r, &w, list, n, most);
  else if (good)
    printf("not written since position %llu, the oldest that is recorded\n", (unsigned long long)now.oldest);
  while (n) free(list[--n].value);
  free(list);
  free(w.name);
  return good;
}
