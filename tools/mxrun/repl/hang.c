/* Launches that hang: which lanes spin or wait where, on what word of memory, and who made it so, the holder of a lock.
 *
 * Who wrote a word only a recording knows. A launch that was not recorded, and is not long, is run once more for it,
 * recorded, on a device of its own: the order of everything is fixed, so it comes to the same place. */
#include "repl.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST_AGAIN = 30000000 }; /* warp instructions: a few seconds */

struct word {
  uint64_t address;
  unsigned bytes;
  bool shared;
};

/* Bytes of the type that ends an instruction's name: "ld.global.b32". */
static unsigned width_of(const char *name, size_t n) {
  unsigned bits = 0, place = 1;
  for (; n && name[n - 1] >= '0' && name[n - 1] <= '9' && place < 1000; n--, place *= 10)
    bits += (unsigned)(name[n - 1] - '0') * place;
  return bits == 8 || bits == 16 || bits == 64 ? bits / 8 : 4;
}

/* What an instruction reads of memory that others write. */
static bool reads_word(struct repl *r, const char *text, struct word *w) {
  if (strncmp(text, "ld", 2) && strncmp(text, "atom", 4)) return false;
  const size_t name = strcspn(text, " ");
  static const char *const own[] = {".param", ".local", ".const"};
  const char *from = strchr(text, '['), *to = from ? strchr(from, ']') : NULL, *part;
  for (size_t k = 0; k < 3; k++)
    if ((part = strstr(text, own[k])) && part < text + name) return false;
  if (!to) return false;
  char *place = format("%.*s", (int)(to + 1 - from), from), *why = NULL;
  const struct elem *type;
  const bool found = place_of(r, place, NULL, &w->address, &type, &why);
  free(place);
  free(why);
  if (!found) return false;
  w->bytes = width_of(text, name);
  part = strstr(text, ".shared");
  if (part && part < text + name && w->address < mx_debug_generic(MX_DEBUG_SHARED, 0))
    w->address = mx_debug_generic(MX_DEBUG_SHARED, w->address);
  w->shared = w->address - mx_debug_generic(MX_DEBUG_SHARED, 0) <
              mx_debug_generic(MX_DEBUG_LOCAL, 0) - mx_debug_generic(MX_DEBUG_SHARED, 0);
  return true;
}

/* The word that lanes which spin read: by one of the next instructions, since they stand where their loop begins. */
static bool spins_on(struct repl *r, const mx_debug_split *s, struct word *w) {
  uint32_t pc = s->pc;
  for (int n = 0; n < 8; n++) {
    mx_debug_instruction i = {.struct_size = sizeof i};
    if (mx_debug_code(r->g, s->function, pc, &i) != MX_OK) return false;
    char *text = instruction_text(r, s->function, pc);
    const bool reads = reads_word(r, text, w);
    free(text);
    if (reads) return true;
    pc += i.words;
  }
  return false;
}

/* The same launch up to where it hangs, recorded; stop.reason says whether it came there. */
static struct repl *run_again(const struct repl *r) {
  struct repl *again = repl_copy(r);
  again->recording = true;
  if (again->d && target_bind(again)) {
    mx_device_set_output(again->d, NULL, NULL); /* it has been printed */
    if (launch_begin(again) && go_on(again, MX_DEBUG_CONTINUE, 1) == MX_OK && again->stop.reason == MX_DEBUG_AT_HANG)
      return again;
  }
  again->stop.reason = MX_DEBUG_AT_END;
  return again;
}

static uint64_t value_at(struct repl *r, uint64_t block, uint32_t warp, uint32_t lane, const struct word *w,
                         bool *known) {
  uint64_t v = 0;
  *known = read_memory(r, block, warp, lane, w->address, &v, w->bytes);
  return v;
}

/* Of lanes that wrote together, those that do not spin. */
static void only_others(struct repl *r, mx_debug_culprit *c) {
  mx_debug_split o = {.struct_size = sizeof o};
  for (uint32_t k = 0; mx_debug_get_split(r->g, c->block, c->warp, k, &o) == MX_OK; k++)
    if (o.state == MX_DEBUG_RUNNABLE && c->lanes & ~o.lanes) c->lanes &= ~o.lanes;
}

/* A report. Looking back takes its time: what was found out last is kept, since many lanes wait for one word. */
struct hang {
  struct repl *r, *again; /* again: made when it is needed */
  struct word word;
  uint64_t block;
  char *answer;
};

/* Who made a word what it is, as the end of a sentence. */
static char *history(struct hang *h, uint64_t block, uint32_t warp, uint32_t lane, const struct word *w, uint64_t v) {
  struct repl *knows = h->r;
  if (!knows->recording) {
    if (!h->again && h->r->stop.steps <= LONGEST_AGAIN) h->again = run_again(h->r);
    knows = h->again && h->again->stop.reason == MX_DEBUG_AT_HANG ? h->again : NULL;
    bool known;
    if (knows && (value_at(knows, block, warp, lane, w, &known) != v || !known))
      knows = NULL; /* somebody has changed something by hand */
    if (!knows) return cli_strdup(" ('record' before 'run' tells who changed it)");
  }
  mx_debug_culprit c = {.struct_size = sizeof c};
  char buffer[512];
  if (mx_debug_last_change(knows->g, w->address, w->bytes, block, &c) == MX_OK) {
    only_others(knows, &c);
    return format(", last changed by %s", culprit_text(&c, buffer, sizeof buffer));
  }
  mx_debug_recording all = {.struct_size = sizeof all};
  if (mx_debug_get_recording(knows->g, &all) != MX_OK || !all.oldest) return cli_strdup(", as it always was");
  return format(", as it was at position %llu, the oldest that is recorded", (unsigned long long)all.oldest);
}

/* What the lanes read again and again, and who made it so. */
static void show_holder(struct hang *h, uint64_t block, uint32_t warp, uint32_t split, const mx_debug_split *s) {
  struct repl *r = h->r;
  const uint64_t was_block = r->block;
  const uint32_t was_warp = r->warp, was_split = r->split, was_lane = r->lane,
                 lane = (uint32_t)__builtin_ctzll(s->lanes);
  struct word w;
  r->block = block, r->warp = warp, r->split = split, r->lane = lane;
  bool known = spins_on(r, s, &w);
  r->block = was_block, r->warp = was_warp, r->split = was_split, r->lane = was_lane;
  const uint64_t v = known ? value_at(r, block, warp, lane, &w, &known) : 0;
  if (!known) return;
  if (!h->answer || w.address != h->word.address || w.bytes != h->word.bytes || (w.shared && block != h->block)) {
    free(h->answer);
    h->answer = history(h, block, warp, lane, &w, v);
    h->word = w, h->block = block;
  }
  say("    the word at 0x%llx%s is %llu%s\n", (unsigned long long)w.address, w.shared ? " in shared memory" : "",
      (unsigned long long)v, h->answer);
}

static void show_split(struct repl *r, uint64_t block, uint32_t warp, uint32_t k, const mx_debug_split *s) {
  char *lanes = lanes_text(s->lanes), *text = instruction_text(r, s->function, s->pc), *at = NULL;
  if (s->state == MX_DEBUG_WAITS_AT_BARRIER) at = format("wait at barrier %u", s->barrier);
  if (s->state == MX_DEBUG_WAITS_AT_MBARRIER) {
    char *lacks = mbarrier_text(r, block, s->mbarrier);
    at = format("wait at %s,", lacks);
    free(lacks);
  }
  say("  block %llu warp %u %s %s at %s:%u: %s\n", (unsigned long long)block, warp, lanes,
      s->state == MX_DEBUG_RUNNABLE ? "spin"
      : at                          ? at
                                    : "wait for lanes",
      s->file ? s->file : s->function, s->file ? s->line : s->pc, text);
  free(lanes);
  free(text);
  free(at);
  mx_debug_join j = {.struct_size = sizeof j};
  if (mx_debug_get_join(r->g, block, warp, k, 0, &j) != MX_OK || !j.arrived) return;
  char *who = lanes_text(j.arrived), *for_whom = lanes_text(j.expected & ~j.arrived);
  say("    %s wait for %s at %s:%u\n", who, for_whom, j.file ? j.file : j.function, j.file ? j.line : j.pc);
  free(who);
  free(for_whom);
}

void show_hang(struct repl *r) {
  mx_debug_block b = {.struct_size = sizeof b};
  struct hang h = {.r = r};
  unsigned shown = 0;
  for (size_t n = 0; n < 8 && mx_debug_block_at(r->g, n, &b) == MX_OK; n++)
    for (uint32_t w = 0; w < b.warps; w++) {
      mx_debug_split s = {.struct_size = sizeof s};
      for (uint32_t k = 0; mx_debug_get_split(r->g, b.number, w, k, &s) == MX_OK; k++) {
        show_split(r, b.number, w, k, &s);
        if (s.state == MX_DEBUG_RUNNABLE && s.lanes && shown++ < 4) show_holder(&h, b.number, w, k, &s);
      }
    }
  if (h.again) repl_copy_free(h.again);
  free(h.answer);
}
