/* The full-screen view: source, lanes and registers side by side above the lines in which commands are typed.
 *
 * The terminal's scrolling region is made the lower part of the screen, so that commands, their answers and the editing
 * of lines know nothing of the view; the upper part is drawn anew before each prompt. */
#include "repl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LEAST_COLUMNS = 60, LEAST_ROWS = 16, MOST_REGISTERS = 200 };

struct screen {
  unsigned rows, columns, height; /* of the terminal, and of the view with its two bars */
  unsigned drawn_height;          /* the scrolling region begins below; 0: there is none */
  struct {
    char *name, *text;
  } was[MOST_REGISTERS]; /* registers as they were last drawn */
  unsigned nwas;
  uint64_t was_block;
  uint32_t was_warp;
};

/* A part of the screen that is filled from the top. Lines are cut, and padded up to its width. */
struct panel {
  unsigned row, column, rows, columns, next;
};

static void move_to(unsigned row, unsigned column) { printf("\033[%u;%uH", row, column); }

/* Text without its escape sequences counts. */
static void put_line(struct panel *p, const char *text) {
  if (p->next == p->rows) return;
  move_to(p->row + p->next++, p->column);
  unsigned used = 0;
  for (const char *s = text; *s; s++) {
    if (*s == 27) {
      const char *end = s + strcspn(s, "m");
      fwrite(s, 1, (size_t)(end - s) + (*end != 0), stdout);
      if (!*end) break;
      s = end;
    } else if (*s == '\t') {
      do {
        if (used < p->columns) putchar(' '), used++;
      } while (used % 8 && used < p->columns);
    } else if (((unsigned char)*s & 0xC0) == 0x80) {
      if (used <= p->columns) putchar(*s);
    } else if (used++ < p->columns) {
      putchar((unsigned char)*s < 32 ? ' ' : *s);
    } else {
      used++; /* the rest of a character that is cut is cut, too */
    }
  }
  printf("\033[0m%*s", used < p->columns ? (int)(p->columns - used) : 0, "");
}

static void fill(struct panel *p) {
  while (p->next < p->rows) put_line(p, "");
}

static void bar(struct panel *p, bool color, const char *text) {
  char *line = format("%s%-*s", color ? "\033[7m" : "", (int)p->columns, text);
  put_line(p, line);
  free(line);
}

static void heading(struct panel *p, bool color, const char *text) {
  char *line = format("%s%s", color ? "\033[1m" : "", text);
  put_line(p, line);
  free(line);
}

/* ---- what is in them ----------------------------------------------------------------------------------------*/
static bool has_stop(struct repl *r, const char *file, uint32_t line) {
  mx_debug_breakpoint b = {.struct_size = sizeof b};
  for (size_t k = 0; r->g && !r->over && mx_debug_break_at(r->g, k, &b) == MX_OK; k++)
    if (b.enabled && b.line == line && b.file && !strcmp(b.file, file)) return true;
  for (size_t k = 0; !r->g && k < r->npoints;
       k++) { /* no launch knows where they are, but for those that name the line */
    uint64_t n;
    if (r->points[k]->kind == POINT_PLACE && r->points[k]->enabled && number_word(r->points[k]->place, &n) && n == line)
      return true;
  }
  return false;
}

/* Splits of the focus warp that stand at a line: "0", "1" ... */
static char split_at(struct repl *r, const char *file, uint32_t line) {
  mx_debug_split s = {.struct_size = sizeof s};
  char mark = ' ';
  for (uint32_t k = 0; r->g && !r->over && mx_debug_get_split(r->g, r->block, r->warp, k, &s) == MX_OK; k++)
    if (s.line == line && s.file && !strcmp(s.file, file)) mark = mark == ' ' ? k < 10 ? (char)('0' + k) : '+' : mark;
  return mark;
}

static void source_panel(struct repl *r, struct panel *p) {
  mx_debug_frame f = {.struct_size = sizeof f};
  const bool runs = r->g && !r->over && mx_debug_get_frame(r->g, r->block, r->warp, r->split, r->frame, &f) == MX_OK;
  const char *file = runs && f.file ? f.file : r->file;
  const uint32_t here = runs ? f.line : 0;
  heading(p, r->color, file ? file : "no program");
  uint32_t last = 0, first, room = p->rows - 1;
  while (file && source_line(r, file, last + 1)) last++;
  first = here > room / 2 ? here - room / 2 : 1;
  if (first + room > last + 1) first = last + 1 > room ? last + 1 - room : 1;
  for (uint32_t line = first; line <= last && p->next < p->rows; line++) {
    const char *on = !r->color ? "" : line == here ? "\033[1;44m" : "";
    char *text = format("%s%c%c%c%4u %s", on, has_stop(r, file, line) ? 'b' : ' ', split_at(r, file, line),
                        line == here ? '>' : ' ', line, source_line(r, file, line));
    put_line(p, text);
    free(text);
  }
  fill(p);
}

/* Lanes of a warp, 64 or 32 a line; the focus lane is underlined. */
static void warp_lines(struct repl *r, struct panel *p, uint32_t warp, unsigned a_row) {
  char *row = mask_row(r, r->block, warp);
  const size_t n = strlen(row);
  for (size_t from = 0; from < n; from += a_row) {
    struct text t = {0};
    if (!from) text_printf(&t, "%c%2u ", warp == r->warp ? '*' : ' ', warp);
    else text_printf(&t, "    ");
    for (size_t l = from; l < n && l < from + a_row; l++) {
      const bool focus = warp == r->warp && l == r->lane;
      if (l && l % 8 == 0 && l > from) text_printf(&t, " ");
      if (!r->color) text_printf(&t, "%c", row[l]);
      else if (row[l] == '.' || row[l] == '-') text_printf(&t, "\033[2%sm%c\033[0m", focus ? ";7" : "", row[l]);
      else text_printf(&t, "\033[%d%sm%c\033[0m", 41 + (row[l] - '0') % 6, focus ? ";1;4;7" : "", row[l]);
    }
    put_line(p, t.s);
    text_free(&t);
  }
  free(row);
}

static void lanes_panel(struct repl *r, struct panel *p) {
  mx_debug_warp w = {.struct_size = sizeof w};
  mx_debug_split s = {.struct_size = sizeof s};
  const unsigned a_row = p->columns >= 4 + 64 + 7 ? 64 : 32, lines = warp_lanes(r) > a_row ? 2 : 1;
  char *head = format("lanes of block %llu: a digit is a split, - waits, . ended", (unsigned long long)r->block);
  heading(p, r->color, head);
  free(head);
  /* the focus warp first, then those around it, as far as there is room */
  uint32_t warps = 0;
  while (mx_debug_get_warp(r->g, r->block, warps, &w) == MX_OK) warps++;
  uint32_t splits = 0;
  while (mx_debug_get_split(r->g, r->block, r->warp, splits, &s) == MX_OK) splits++;
  const uint32_t keep = splits < 4 ? splits : 4, room = (p->rows - p->next - keep) / lines;
  uint32_t first = r->warp > room / 2 ? r->warp - room / 2 : 0;
  if (first + room > warps) first = warps > room ? warps - room : 0;
  for (uint32_t k = first; k < warps && k < first + room; k++) warp_lines(r, p, k, a_row);
  for (uint32_t k = 0; k < splits && p->next < p->rows && mx_debug_get_split(r->g, r->block, r->warp, k, &s) == MX_OK;
       k++) {
    char *lanes = lanes_text(s.lanes);
    char *text = format("%csplit %u: %s:%u, %s%s", k == r->split ? '*' : ' ', k, s.file ? s.file : s.function,
                        s.file ? s.line : s.pc,
                        s.state == MX_DEBUG_RUNNABLE            ? ""
                        : s.state == MX_DEBUG_WAITS_AT_BARRIER  ? "at a barrier, "
                        : s.state == MX_DEBUG_WAITS_AT_MBARRIER ? "at an mbarrier, "
                                                                : "waits for lanes, ",
                        lanes);
    put_line(p, text);
    free(text);
    free(lanes);
  }
}

static void forget_registers(struct screen *s) {
  while (s->nwas) {
    free(s->was[--s->nwas].name);
    free(s->was[s->nwas].text);
  }
}

/* Registers that hold something; those that have changed since the view was drawn last stand out. */
static void registers_panel(struct repl *r, struct screen *sc, struct panel *p) {
  const size_t n = mx_debug_register_count(r->g, r->block, r->warp, r->split, r->frame);
  const uint64_t m = focus_lanes(r);
  struct screen now = {0};
  char *head = format("registers, and in lane %u", r->lane);
  heading(p, r->color, head);
  free(head);
  for (size_t k = 0; k < n && now.nwas < MOST_REGISTERS; k++) {
    mx_debug_register g = {.struct_size = sizeof g};
    struct value v;
    if (mx_debug_register_at(r->g, r->block, r->warp, r->split, r->frame, k, &g) != MX_OK) break;
    value_of_register(&g, &v);
    if (v.unset) continue;
    const char fmt = format_for(r, &v, m, strcmp(g.type, "f16x2") ? 0 : 'h');
    char *all = summary(&v, m, g.lanes, fmt), *one = value_text(&v, r->lane, fmt),
         *text = strcmp(all, one) ? format("%-11s %s", one, all) : cli_strdup(all);
    bool changed = sc->was_block == r->block && sc->was_warp == r->warp && sc->nwas;
    for (unsigned w = 0; w < sc->nwas && changed; w++)
      changed = strcmp(sc->was[w].name, g.name) || strcmp(sc->was[w].text, text);
    char *line = format("%s%-8s %-4s %s", !changed ? "" : r->color ? "\033[1;33m" : "", g.name, g.type, text);
    put_line(p, line);
    now.was[now.nwas].name = cli_strdup(g.name);
    now.was[now.nwas++].text = text;
    free(line);
    free(all);
    free(one);
  }
  forget_registers(sc);
  memcpy(sc->was, now.was, sizeof now.was);
  sc->nwas = now.nwas;
  sc->was_block = r->block, sc->was_warp = r->warp;
}

/* ---- the screen ---------------------------------------------------------------------------------------------*/
static bool measure(struct screen *s) {
  struct winsize size = {0};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_col < LEAST_COLUMNS || size.ws_row < LEAST_ROWS) return false;
  s->rows = size.ws_row, s->columns = size.ws_col;
  s->height = s->rows - (s->rows > 30 ? s->rows / 3 : 8);
  return true;
}

static void leave(struct screen *s) {
  if (!s->drawn_height) return;
  printf("\0337\033[r\0338");
  s->drawn_height = 0;
}

static char *status_text(struct repl *r) {
  mx_debug_frame f = {.struct_size = sizeof f};
  if (r->over) return cli_strdup(" the launch has ended; it is recorded");
  if (!r->g || mx_debug_get_frame(r->g, r->block, r->warp, r->split, r->frame, &f) != MX_OK)
    return cli_strdup(r->g ? " the focus warp has ended" : " nothing runs: 'start' or 'run'");
  return format(" %s at %s:%u   block %llu warp %u lane %u split %u frame %u   position %llu%s", f.function,
                f.file ? f.file : "?", f.line, (unsigned long long)r->block, r->warp, r->lane, r->split, r->frame,
                (unsigned long long)r->stop.steps, r->recording ? ", recorded" : "");
}

void screen_draw(struct repl *r) {
  struct screen *s = r->screen;
  if (!s) return;
  if (!measure(s)) return leave(s);
  const unsigned right = s->columns >= 4 + 75 + 60 ? 79 : s->columns / 2, left = s->columns - right - 1,
                 body = s->height - 1;
  struct panel source = {1, 1, body, left, 0}, lanes = {1, left + 2, 0, right, 0},
               status = {s->height, 1, 1, s->columns, 0};
  if (s->drawn_height !=
      s->height) { /* the region moves the cursor: to its last line, where there is room for the prompt */
    printf("\033[2J\033[%u;%ur", s->height + 1, s->rows);
    move_to(s->rows, 1);
    s->drawn_height = s->height;
  }
  printf("\0337");
  source_panel(r, &source);
  for (unsigned k = 1; k <= body; k++)
    move_to(k, left + 1), printf("%s|%s", r->color ? "\033[2m" : "", r->color ? "\033[0m" : "");
  const bool runs = r->g && !r->over;
  mx_debug_warp w = {.struct_size = sizeof w};
  unsigned warps = 0, splits = 0;
  mx_debug_split sp = {.struct_size = sizeof sp};
  while (runs && mx_debug_get_warp(r->g, r->block, warps, &w) == MX_OK) warps++;
  while (runs && mx_debug_get_split(r->g, r->block, r->warp, splits, &sp) == MX_OK) splits++;
  const unsigned lines = warp_lanes(r) > (right >= 75 ? 64 : 32) ? 2 : 1,
                 wanted = 1 + warps * lines + (splits < 4 ? splits : 4);
  lanes.rows = wanted < body / 2 ? wanted : body / 2;
  if (!runs) lanes.rows = 0;
  struct panel registers = {1 + lanes.rows, left + 2, body - lanes.rows, right, 0};
  if (runs) lanes_panel(r, &lanes), fill(&lanes), registers_panel(r, s, &registers);
  fill(&registers);
  char *text = status_text(r);
  bar(&status, r->color, text);
  free(text);
  printf("\0338");
  fflush(stdout);
}

void screen_clear(struct repl *r) {
  if (r->screen) r->screen->drawn_height = 0;
  else printf("\033[H\033[2J");
  screen_draw(r);
  fflush(stdout);
}

void screen_free(struct repl *r) {
  if (!r->screen) return;
  leave(r->screen);
  move_to(r->screen->rows, 1);
  forget_registers(r->screen);
  free(r->screen);
  r->screen = NULL;
}

bool do_layout(struct repl *r, char *arguments) {
  char *word = next_word(&arguments);
  const bool on = word ? !strcmp(word, "on") : !r->screen;
  if (word && !on && strcmp(word, "off")) return complain(r, "layout on, or off");
  if (on && !r->terminal) return complain(r, "the full-screen view needs a terminal");
  if (!on) return screen_free(r), true;
  if (r->screen) return true;
  r->screen = cli_alloc(sizeof *r->screen);
  *r->screen = (struct screen){0};
  if (measure(r->screen)) return true;
  screen_free(r);
  return complain(r, "the full-screen view needs a terminal of %d columns and %d lines", LEAST_COLUMNS, LEAST_ROWS);
}
