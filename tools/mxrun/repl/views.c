/* What there is, as text and pictures of text: info, masks, the divergence stack, registers, heat strips, sparklines.
 */
#include "repl.h"

#include "core/mbarrier.h"
#include "core/module.h"
#include "vm/exec/trap.h" /* lanes are written in one way everywhere */

#include <math.h>
#include <stdlib.h>
#include <string.h>

char *lanes_text(uint64_t m) {
  char *text = mx__lanes_text(m);
  return text ? text : cli_strdup("lanes");
}

/* A cell for each lane: the number of its split, '-' waiting at a join, '.' ended. */
char *mask_row(struct repl *r, uint64_t block, uint32_t warp) {
  unsigned lanes = warp_lanes(r);
  char *row = cli_alloc(REPL_LANES + 1);
  mx_debug_warp w = {.struct_size = sizeof w};
  mx_debug_split s = {.struct_size = sizeof s};
  memset(row, '.', lanes);
  row[lanes] = 0;
  if (mx_debug_get_warp(r->g, block, warp, &w) != MX_OK) return row;
  for (unsigned l = 0; l < lanes; l++)
    if (w.live >> l & 1) row[l] = '-';
  for (uint32_t k = 0; mx_debug_get_split(r->g, block, warp, k, &s) == MX_OK; k++)
    for (unsigned l = 0; l < lanes; l++)
      if (s.lanes >> l & 1) row[l] = k < 10 ? (char)('0' + k) : k < 36 ? (char)('a' + k - 10) : '+';
  return row;
}

static void put_row(struct repl *r, const char *row) {
  for (; *row; row++) {
    if (!r->color) putchar(*row);
    else if (*row == '.' || *row == '-') printf("\033[2m%c\033[0m", *row);
    else printf("\033[%dm%c\033[0m", 41 + (*row - '0') % 6, *row);
  }
}

static const char *state_text(const mx_debug_split *s, char *buffer, size_t n) {
  if (s->state == MX_DEBUG_RUNNABLE) return "runs";
  if (s->state == MX_DEBUG_WAITS_AT_BARRIER) snprintf(buffer, n, "waits at barrier %u", s->barrier);
  else if (s->state == MX_DEBUG_WAITS_AT_MBARRIER)
    snprintf(buffer, n, "waits at mbarrier 0x%llx", (unsigned long long)s->mbarrier);
  else {
    char *missing = lanes_text(s->sync_mask & ~s->lanes);
    snprintf(buffer, n, "waits for %s", missing);
    free(missing);
  }
  return buffer;
}

static bool info_blocks(struct repl *r, const char *rest) {
  (void)rest;
  mx_debug_block b = {.struct_size = sizeof b};
  if (!running(r)) return false;
  for (size_t n = 0; mx_debug_block_at(r->g, n, &b) == MX_OK; n++)
    printf("%c block %llu (%u,%u,%u): %u warps, %u threads live\n", b.number == r->block ? '*' : ' ',
           (unsigned long long)b.number, b.ctaid[0], b.ctaid[1], b.ctaid[2], b.warps, b.live_threads);
  return true;
}

static bool info_warps(struct repl *r, const char *rest) {
  (void)rest;
  char buffer[128];
  if (!running(r)) return false;
  mx_debug_warp w = {.struct_size = sizeof w};
  for (uint32_t n = 0; mx_debug_get_warp(r->g, r->block, n, &w) == MX_OK; n++) {
    char *row = mask_row(r, r->block, n);
    printf("%c warp %2u ", n == r->warp ? '*' : ' ', n);
    put_row(r, row);
    mx_debug_split s = {.struct_size = sizeof s};
    if (mx_debug_get_split(r->g, r->block, n, 0, &s) == MX_OK)
      printf(" %s:%u, %u split%s, %s\n", s.file ? s.file : s.function, s.file ? s.line : s.pc, w.splits,
             w.splits == 1 ? "" : "s", state_text(&s, buffer, sizeof buffer));
    else printf(" ended\n");
    free(row);
  }
  return true;
}

static bool info_lanes(struct repl *r, const char *rest) {
  (void)rest;
  if (!running(r)) return false;
  mx_debug_register x = {.struct_size = sizeof x}, y = x, z = x;
  mx_debug_get_register(r->g, r->block, r->warp, r->split, r->frame, "%tid.x", &x);
  mx_debug_get_register(r->g, r->block, r->warp, r->split, r->frame, "%tid.y", &y);
  mx_debug_get_register(r->g, r->block, r->warp, r->split, r->frame, "%tid.z", &z);
  mx_debug_split s = {.struct_size = sizeof s};
  for (uint32_t k = 0; mx_debug_get_split(r->g, r->block, r->warp, k, &s) == MX_OK; k++)
    for (unsigned l = 0; l < x.lanes; l++)
      if (s.lanes >> l & 1)
        printf("%c lane %2u thread (%llu,%llu,%llu) split %u %s:%u\n", k == r->split && l == r->lane ? '*' : ' ', l,
               (unsigned long long)x.low[l], (unsigned long long)y.low[l], (unsigned long long)z.low[l], k,
               s.file ? s.file : s.function, s.file ? s.line : s.pc);
  return true;
}

static bool info_mask(struct repl *r, const char *rest) {
  (void)rest;
  if (!running(r)) return false;
  char *row = mask_row(r, r->block, r->warp);
  uint64_t m = focus_lanes(r);
  unsigned lanes = warp_lanes(r);
  printf("       0       8       16      24      %s\nlane   ", lanes == 64 ? "32      40      48      56" : "");
  put_row(r, row);
  char *text = lanes_text(m);
  printf("\n");
  say("split %u: %s, mask 0x%llx\n", r->split, text, (unsigned long long)m);
  free(text);
  free(row);
  return true;
}

/* Splits from the one that runs down; under each, the joins it goes towards and who waits there. */
static bool info_stack(struct repl *r, const char *rest) {
  (void)rest;
  char buffer[128];
  if (!running(r)) return false;
  mx_debug_split s = {.struct_size = sizeof s};
  mx_debug_join j = {.struct_size = sizeof j};
  for (uint32_t k = 0; mx_debug_get_split(r->g, r->block, r->warp, k, &s) == MX_OK; k++) {
    char *lanes = lanes_text(s.lanes);
    say("%c split %u: %s at %s:%u, %s\n", k == r->split ? '*' : ' ', k, lanes, s.file ? s.file : s.function,
        s.file ? s.line : s.pc, state_text(&s, buffer, sizeof buffer));
    free(lanes);
    for (uint32_t n = 0; mx_debug_get_join(r->g, r->block, r->warp, k, n, &j) == MX_OK; n++) {
      char *all = lanes_text(j.expected), *here = lanes_text(j.arrived);
      char *at = j.at_return ? format("the return from %s", j.function)
                             : format("%s:%u", j.file ? j.file : j.function, j.file ? j.line : j.pc);
      say("    %*s`- join at %s of %s%s%s%s\n", (int)(2 * n), "", at, all, j.arrived ? "; " : "", j.arrived ? here : "",
          !j.arrived                    ? ""
          : j.arrived & (j.arrived - 1) ? " wait there"
                                        : " waits there");
      free(at);
      free(all);
      free(here);
    }
  }
  return true;
}

static bool info_barriers(struct repl *r, const char *rest) {
  (void)rest;
  if (!running(r)) return false;
  uint64_t any = 0;
  for (uint32_t bar = 0; bar <= 16; bar++) { /* the last one is the cluster's */
    uint32_t waiting = 0;
    mx_debug_block b = {.struct_size = sizeof b};
    for (size_t n = 0; mx_debug_block_at(r->g, n, &b) == MX_OK && b.number != r->block; n++) {}
    mx_debug_split s = {.struct_size = sizeof s};
    for (uint32_t w = 0; w < b.warps; w++)
      for (uint32_t k = 0; mx_debug_get_split(r->g, r->block, w, k, &s) == MX_OK; k++)
        if (s.state == MX_DEBUG_WAITS_AT_BARRIER && s.barrier == bar)
          waiting += (uint32_t)__builtin_popcountll(s.lanes);
    if (!waiting) continue;
    any++;
    if (bar == 16) printf("the cluster's barrier: %u of %u live threads wait\n", waiting, b.live_threads);
    else printf("barrier %u: %u of %u live threads wait\n", bar, waiting, b.live_threads);
  }
  if (!any) printf("nobody waits at a barrier\n");
  return true;
}

static bool info_cluster(struct repl *r, const char *rest) {
  (void)rest;
  if (!running(r)) return false;
  mx_debug_block own = {.struct_size = sizeof own}, b = own;
  for (size_t n = 0; mx_debug_block_at(r->g, n, &own) == MX_OK && own.number != r->block; n++) {}
  printf("cluster %llu, %u block%s\n", (unsigned long long)own.cluster, own.cluster_size,
         own.cluster_size == 1 ? "" : "s");
  for (size_t n = 0; mx_debug_block_at(r->g, n, &b) == MX_OK; n++) {
    if (b.cluster != own.cluster) continue;
    if (!b.live_threads)
      printf("  rank %u, block (%u,%u,%u): ended\n", b.cluster_rank, b.ctaid[0], b.ctaid[1], b.ctaid[2]);
    else
      printf("%s rank %u, block (%u,%u,%u): %u of %u live threads have arrived at the cluster's barrier\n",
             b.number == r->block ? "*" : " ", b.cluster_rank, b.ctaid[0], b.ctaid[1], b.ctaid[2], b.cluster_arrived,
             b.live_threads);
  }
  return true;
}

static bool info_async(struct repl *r, const char *rest) {
  (void)rest;
  if (!running(r)) return false;
  mx_debug_copy c = {.struct_size = sizeof c};
  size_t n = 0;
  for (; mx_debug_get_copy(r->g, r->block, n, &c) == MX_OK; n++) {
    char *lanes = lanes_text(c.lanes);
    char *what = c.target ? format("%u bytes%s to 0x%llx", c.bytes, c.lanes & (c.lanes - 1) ? " each" : "",
                                   (unsigned long long)c.target)
                          : cli_strdup("arrives when those before it have landed");
    char *tells = c.mbarrier     ? format(", tells mbarrier 0x%llx", (unsigned long long)c.mbarrier)
                  : !c.groups    ? cli_strdup(", not committed")
                  : c.groups > 1 ? format(", lands at wait_group %u or less", c.groups - 1)
                                 : cli_strdup(", lands at wait_group 0");
    say("  warp %u %s: %s%s, issued at %s:%u\n", c.warp, lanes, what, tells, c.file ? c.file : c.function,
        c.file ? c.line : c.pc);
    free(lanes);
    free(what);
    free(tells);
  }
  if (!n) printf("no copies are under way in this block\n");
  return true;
}

/* Lanes of a warp that have neither ended nor wait at an mbarrier of their block. */
static uint64_t elsewhere(struct repl *r, uint64_t block, uint32_t warp, mx_addr mbarrier, uint64_t *live) {
  mx_debug_warp w = {.struct_size = sizeof w};
  mx_debug_split s = {.struct_size = sizeof s};
  if (mx_debug_get_warp(r->g, block, warp, &w) != MX_OK) return *live = 0;
  *live = w.live;
  for (uint32_t k = 0; mx_debug_get_split(r->g, block, warp, k, &s) == MX_OK; k++)
    if (s.state == MX_DEBUG_WAITS_AT_MBARRIER && s.mbarrier == mbarrier) w.live &= ~s.lanes;
  return w.live;
}
/* What an mbarrier of a block lacks, and which warps of the cluster could still bring it. */
char *mbarrier_text(struct repl *r, uint64_t block, mx_addr at) {
  struct text t = {0};
  uint64_t word = 0, cluster = 0, live;
  mx_debug_read(r->g, block, 0, 0, at, &word, sizeof word);
  const struct mx_mbarrier m = mx_mbarrier_unpack(word);
  text_printf(&t, "mbarrier 0x%llx: phase of parity %u, %u of %u arrivals and %d bytes missing, which ",
              (unsigned long long)at, m.parity, m.pending, m.expected, m.bytes);
  mx_debug_block b = {.struct_size = sizeof b};
  for (size_t k = 0; mx_debug_block_at(r->g, k, &b) == MX_OK; k++)
    if (b.number == block) cluster = b.cluster;
  const char *comma = "";
  for (size_t k = 0; mx_debug_block_at(r->g, k, &b) == MX_OK; k++)
    for (uint32_t w = 0; w < b.warps && b.cluster == cluster; w++) {
      const uint64_t lanes = elsewhere(r, b.number, w, b.number == block ? at : 0, &live);
      if (!lanes) continue;
      text_printf(&t, "%s", comma);
      if (b.number != block) text_printf(&t, "block %llu ", (unsigned long long)b.number);
      char *who = lanes == live ? NULL : lanes_text(lanes);
      text_printf(&t, "warp %u%s%s", w, who ? " " : "", who ? who : "");
      free(who);
      comma = ", ";
    }
  text_printf(&t, "%scould still bring", *comma ? " " : "no other warp ");
  return t.s;
}

/* One that is named by its address, or by its offset in shared memory, whether or not somebody waits there. */
static bool info_mbarrier(struct repl *r, const char *what) {
  struct value v;
  uint64_t word = 0;
  if (!evaluate(r, what, NULL, &v)) return false;
  if (v.unset || v.kind == VALUE_REAL || v.fault >> r->lane & 1) return complain(r, "'%s' is not an address", what);
  mx_addr at = v.lane[r->lane].u;
  if (at < MX_WINDOW(1)) at += MX_WINDOW(MX_WINDOW_SHARED);
  const mx_status s = mx_debug_read(r->g, r->block, r->warp, r->lane, at, &word, sizeof word);
  if (s != MX_OK) return complain_status(r, s);
  if (!mx_mbarrier_is(word)) return complain(r, "there is no mbarrier at 0x%llx", (unsigned long long)at);
  char *text = mbarrier_text(r, r->block, at);
  say("%s\n", text);
  free(text);
  return true;
}
/* The objects at which lanes wait, or one. */
static bool info_mbarriers(struct repl *r, const char *rest) {
  if (!running(r)) return false;
  if (*rest) return info_mbarrier(r, rest);
  enum { MOST = 64 };
  mx_addr seen[MOST];
  uint32_t n = 0;
  mx_debug_block b = {.struct_size = sizeof b};
  for (size_t k = 0; mx_debug_block_at(r->g, k, &b) == MX_OK && b.number != r->block; k++) {}
  mx_debug_split s = {.struct_size = sizeof s};
  for (uint32_t w = 0; w < b.warps; w++)
    for (uint32_t k = 0; mx_debug_get_split(r->g, r->block, w, k, &s) == MX_OK; k++) {
      bool known = s.state != MX_DEBUG_WAITS_AT_MBARRIER || n == MOST;
      for (uint32_t j = 0; j < n; j++) known |= seen[j] == s.mbarrier;
      if (!known) seen[n++] = s.mbarrier;
    }
  for (uint32_t j = 0; j < n; j++) {
    char *text = mbarrier_text(r, r->block, seen[j]);
    say("%s\n", text);
    free(text);
  }
  if (!n) printf("nobody waits at an mbarrier\n");
  return true;
}

/* "5", "0, 1, 2 ... 63 (+1)", or the first few. */
char *summary(const struct value *v, uint64_t m, unsigned lanes, char fmt) {
  struct text t = {0};
  unsigned first = m ? (unsigned)__builtin_ctzll(m) : 0, last = m ? 63u - (unsigned)__builtin_clzll(m) : 0;
  if (v->unset) return cli_strdup("not set yet");
  if (m && !(m & ~v->fault)) return cli_strdup("?");
  bool same = true, affine = v->kind != VALUE_REAL && !v->pred && last > first + 1;
  uint64_t step = last > first ? (v->lane[last].u - v->lane[first].u) / (last - first) : 0;
  for (unsigned l = first; l <= last && l < lanes; l++) {
    if (!(m >> l & 1)) continue;
    same &= v->lane[l].u == v->lane[first].u && !(v->fault & m);
    affine &= !(v->fault & m) && v->lane[l].u - v->lane[first].u == step * (l - first);
  }
  char *a = value_text(v, first, fmt), *b = value_text(v, last, fmt);
  if (same) text_printf(&t, "%s", a);
  else if (affine) text_printf(&t, "%s ... %s (%+lld a lane)", a, b, (long long)step);
  free(a);
  free(b);
  if (t.n) return t.s;
  if (v->pred) {
    for (unsigned l = 0; l < lanes; l++)
      text_printf(&t, "%c", !(m >> l & 1) ? '.' : v->fault >> l & 1 ? '?' : v->lane[l].u ? '1' : '0');
    return t.s;
  }
  unsigned shown = 0;
  for (unsigned l = first; l <= last && l < lanes && shown < 6; l++) {
    if (!(m >> l & 1)) continue;
    char *one = value_text(v, l, fmt);
    text_printf(&t, "%s%s", shown++ ? ", " : "", one);
    free(one);
  }
  text_printf(&t, " ...");
  return t.s;
}

/* The value of the first lane, and whether others have another one. */
static char *wide_summary(struct repl *r, const mx_debug_register *g, uint64_t m, char fmt) {
  const unsigned first = (unsigned)__builtin_ctzll(m & g->known);
  bool same = true;
  for (unsigned l = first; l < g->lanes; l++)
    same &= !(m >> l & 1) || (g->known >> l & 1 && g->low[l] == g->low[first] && g->high[l] == g->high[first]);
  char *one = wide_text(r, g, first, fmt), *text = same ? cli_strdup(one) : format("%s ...", one);
  free(one);
  return text;
}
static bool info_registers(struct repl *r, const char *rest) {
  if (!running(r)) return false;
  char *word = (char *)(uintptr_t)rest, fmt = take_format(&word);
  size_t n = mx_debug_register_count(r->g, r->block, r->warp, r->split, r->frame);
  uint64_t m = focus_lanes(r);
  for (size_t k = 0; k < n; k++) {
    mx_debug_register g = {.struct_size = sizeof g};
    if (mx_debug_register_at(r->g, r->block, r->warp, r->split, r->frame, k, &g) != MX_OK) break;
    if (*word && strcmp(word, g.name)) continue;
    struct value v;
    value_of_register(&g, &v);
    const struct arg *a = v.unset && g.name[0] == '%' ? find_arg(&r->args, g.name + 1, strlen(g.name + 1)) : NULL;
    if (a && evaluate(r, g.name, NULL, &v))
      v.unset = false; /* a parameter's value, which the code has not fetched yet */
    char *text = g.bits == 128 && !v.unset && (m & g.known) ? wide_summary(r, &g, m, fmt)
                                                            : summary(&v, m, g.lanes,
                                                                      format_for(r, &v, m,
                                                                                 fmt                       ? fmt
                                                                                 : strcmp(g.type, "f16x2") ? 0
                                                                                                           : 'h'));
    say("%-12s %-5s %s\n", g.name, g.type, text);
    free(text);
  }
  if (!n) printf("no register holds anything here\n");
  return true;
}

static bool info_locals(struct repl *r, const char *rest) {
  (void)rest;
  if (!running(r)) return false;
  mx_kernel_info i = {.struct_size = sizeof i};
  mx_debug_variable v = {.struct_size = sizeof v};
  mx_kernel_get_info(r->kernel, &i);
  printf("local memory of a lane of %s: %u bytes\n", i.name, i.local_bytes);
  for (uint32_t at = 0; at < i.local_bytes && at < 256; at += 16) {
    uint32_t w[4];
    if (mx_debug_read(r->g, r->block, r->warp, r->lane, mx_debug_generic(MX_DEBUG_LOCAL, at), w, sizeof w) == MX_OK)
      printf("  lane %u +%u: 0x%08x 0x%08x 0x%08x 0x%08x\n", r->lane, at, w[0], w[1], w[2], w[3]);
  }
  for (size_t k = 0; mx_debug_variable_at(r->g, r->block, r->warp, r->split, r->frame, k, &v) == MX_OK; k++)
    if (v.space == MX_DEBUG_LOCAL)
      printf("  %s: %llu bytes at +%llu\n", v.name, (unsigned long long)v.bytes,
             (unsigned long long)(v.address - mx_debug_generic(MX_DEBUG_LOCAL, 0)));
  return true;
}

static bool info_allocations(struct repl *r, const char *rest) {
  (void)rest;
  static const char *const spaces[] = {"global", "shared", "local", "const", "param"};
  mx_debug_variable v = {.struct_size = sizeof v};
  size_t shown = 0;
  for (size_t k = 0; k < r->args.n; k++) {
    const struct arg *a = &r->args.arg[k];
    if (a->buffer)
      printf("%-12s 0x%llx, %llu bytes%s%s\n", a->name, (unsigned long long)a->address,
             (unsigned long long)a->data.size, a->data.type ? " of " : "", a->data.type ? a->data.type->name : ""),
          shown++;
  }
  for (size_t k = 0;
       r->g && !r->over && mx_debug_variable_at(r->g, r->block, r->warp, r->split, r->frame, k, &v) == MX_OK;
       k++, shown++)
    printf("%-12s 0x%llx, %llu bytes of .%s\n", v.name, (unsigned long long)v.address, (unsigned long long)v.bytes,
           spaces[v.space]);
  if (!shown) printf("no buffers and no variables\n");
  return true;
}

/* The kernel's parameters, and what they are given. */
static bool info_args(struct repl *r, const char *rest) {
  (void)rest;
  if (!r->kernel && !target_bind(r)) return false;
  for (size_t k = 0; k < r->args.n; k++) {
    const struct arg *a = &r->args.arg[k];
    const struct elem *t = a->param.size <= 8 ? elem_find(a->param.type, strlen(a->param.type)) : NULL;
    struct text value = {0};
    if (a->buffer)
      text_printf(&value, "0x%llx, %llu bytes%s%s", (unsigned long long)a->address, (unsigned long long)a->data.size,
                  a->data.type ? " of " : "", a->data.type ? a->data.type->name : "");
    else if (t && t->size == a->param.size) elem_print(&value, t, r->args.params + a->param.offset);
    else text_printf(&value, "%u bytes", a->param.size);
    say("%-12s %-5s %s\n", a->name ? a->name : "?", a->param.type, value.s);
    text_free(&value);
  }
  if (!r->args.n) printf("no parameters\n");
  return true;
}

/* Threads of the block, by warps and splits. */
static bool info_threads(struct repl *r, const char *rest) {
  (void)rest;
  if (!running(r)) return false;
  const uint32_t *b = r->config.block;
  const unsigned lanes = warp_lanes(r);
  mx_debug_warp w = {.struct_size = sizeof w};
  mx_debug_split s = {.struct_size = sizeof s};
  for (uint32_t n = 0; mx_debug_get_warp(r->g, r->block, n, &w) == MX_OK; n++) {
    for (uint32_t k = 0; mx_debug_get_split(r->g, r->block, n, k, &s) == MX_OK; k++) {
      const unsigned first = (unsigned)__builtin_ctzll(s.lanes), last = 63u - (unsigned)__builtin_clzll(s.lanes);
      const uint32_t from = n * lanes + first, to = n * lanes + last;
      char *text = lanes_text(s.lanes), buffer[128];
      say("%c threads (%u,%u,%u) to (%u,%u,%u): warp %u %s, %s:%u, %s\n", n == r->warp && k == r->split ? '*' : ' ',
          from % b[0], from / b[0] % b[1], from / b[0] / b[1], to % b[0], to / b[0] % b[1], to / b[0] / b[1], n, text,
          s.file ? s.file : s.function, s.file ? s.line : s.pc, state_text(&s, buffer, sizeof buffer));
      free(text);
    }
    const uint32_t threads = b[0] * b[1] * b[2], here = threads - n * lanes < lanes ? threads - n * lanes : lanes;
    const unsigned gone = here - (unsigned)__builtin_popcountll(w.live);
    if (gone) printf("  warp %u: %u of %u threads have ended\n", n, gone, here);
  }
  return true;
}

static bool info_source(struct repl *r, const char *rest) {
  (void)rest;
  mx_debug_function f = {.struct_size = sizeof f};
  mx_debug_instruction i = {.struct_size = sizeof i};
  if (!r->file) return complain(r, "there is no program");
  printf("program %s\n", r->file);
  const bool probe = probe_begin(r);
  for (size_t k = 0; r->g && mx_debug_function_at(r->g, k, &f) == MX_OK; k++) {
    const char *file = NULL;
    uint32_t first = UINT32_MAX, last = 0, n = 0;
    for (uint32_t pc = 0; mx_debug_code(r->g, f.name, pc, &i) == MX_OK; pc += i.words, n++)
      if (i.file) file = i.file, first = i.line < first ? i.line : first, last = i.line > last ? i.line : last;
    printf("  %s %s: %u instructions", f.kernel ? "kernel" : "function", f.name, n);
    if (file)
      printf(", %s:%u to %u%s", file, first, last, source_line(r, file, first) ? "" : " (its text is not there)");
    printf("\n");
  }
  probe_end(r, probe);
  return true;
}

static bool info_kernel(struct repl *r, const char *rest) {
  (void)rest;
  mx_kernel_info i = {.struct_size = sizeof i};
  if (!r->kernel && !target_bind(r)) return false;
  mx_kernel_get_info(r->kernel, &i);
  const uint32_t *g = r->config.grid, *b = r->config.block;
  printf("kernel %s in %s: grid %u,%u,%u, block %u,%u,%u, warps of %u lanes\n", i.name, r->file, g[0], g[1], g[2], b[0],
         b[1], b[2], i.lanes);
  printf("  %u words, %u 32-bit and %u 64-bit slots, %u predicates, %u shared bytes, %u local bytes\n", i.code_words,
         i.slots32, i.slots64, i.predicates, i.static_shared_bytes, i.local_bytes);
  for (uint32_t k = 0; k < i.params; k++) {
    mx_param_info p = {.struct_size = sizeof p};
    mx_kernel_get_param(r->kernel, k, &p);
    printf("  .param .%s %s\n", p.type, p.name);
  }
  return true;
}

static bool info_line(struct repl *r, const char *rest) {
  (void)rest;
  mx_debug_split s = {.struct_size = sizeof s};
  if (!running(r)) return false;
  mx_status st = mx_debug_get_split(r->g, r->block, r->warp, r->split, &s);
  if (st != MX_OK) return complain_status(r, st);
  printf("%s+%u", s.function, s.pc);
  if (s.file) printf(", %s:%u", s.file, s.line);
  printf(", position %llu\n", (unsigned long long)r->stop.steps);
  if (s.file) show_line(r, s.file, s.line);
  return true;
}

static bool info_record(struct repl *r, const char *rest) {
  (void)rest;
  mx_debug_recording i = {.struct_size = sizeof i};
  if (!r->g || mx_debug_get_recording(r->g, &i) != MX_OK || !i.on) {
    printf(r->recording ? "the next run is recorded\n" : "nothing is recorded\n");
    return true;
  }
  printf("position %llu; back to %llu, forward to %llu\n", (unsigned long long)i.now, (unsigned long long)i.oldest,
         (unsigned long long)i.newest);
  return true;
}

static bool info_focus(struct repl *r, const char *rest) {
  (void)rest;
  if (!running(r)) return false;
  printf("block %llu, warp %u, lane %u, split %u, frame %u\n", (unsigned long long)r->block, r->warp, r->lane, r->split,
         r->frame);
  return true;
}

static bool info_display(struct repl *r, const char *rest) {
  (void)rest;
  for (size_t k = 0; k < r->ndisplays; k++) printf("%d: %s\n", r->displays[k].number, r->displays[k].text);
  return true;
}

const struct info infos[] = {
    {"allocations", "buffers and variables, and where they are", info_allocations},
    {"args", "parameters and what they are given", info_args},
    {"async", "copies that have not landed", info_async},
    {"barriers", "who waits at barriers of the block", info_barriers},
    {"blocks", "blocks that are under way", info_blocks},
    {"breakpoints", "all stops, and how often they were hit", info_breakpoints},
    {"cluster", "blocks of the cluster, and who has come to its barrier", info_cluster},
    {"display", "what is printed at each stop", info_display},
    {"findings", "what the tools of 'check' have found", info_findings},
    {"focus", "what is looked at", info_focus},
    {"kernel", "the kernel, its parameters and launch", info_kernel},
    {"lanes", "lanes of the warp, and their threads", info_lanes},
    {"line", "where the split stands", info_line},
    {"locals", "local memory of the lane", info_locals},
    {"mask", "a cell for each lane: its split's number, - waits to join, . ended", info_mask},
    {"mbarriers", "those at which lanes of the block wait, and what they lack; [ADDRESS] of one", info_mbarriers},
    {"record", "how far back it goes", info_record},
    {"registers", "registers that hold something, [/FORMAT] [NAME]", info_registers},
    {"source", "files and functions of the program", info_source},
    {"splits", "as info stack", info_stack},
    {"stack", "splits, joins, who waits for whom", info_stack},
    {"textures", "textures and surfaces: what they are, and how they are read", info_textures},
    {"threads", "threads of the block and where they are", info_threads},
    {"values", "what was printed: $1, $2 ...", info_values},
    {"variables", "as info allocations", info_allocations},
    {"warps", "warps of the block, their masks and places", info_warps},
    {NULL, NULL, NULL}};

bool do_info(struct repl *r, char *arguments) {
  char *word = next_word(&arguments);
  const struct info *found = NULL;
  size_t n = word ? strlen(word) : 0, fits = 0;
  for (const struct info *i = infos; n && i->name; i++)
    if (!strcmp(i->name, word)) return skip_blanks(&arguments), i->run(r, arguments);
    else if (!strncmp(i->name, word, n)) found = i, fits++;
  if (fits == 1) return skip_blanks(&arguments), found->run(r, arguments);
  static const char *const meant[] = {"breakpoints", "registers", "stack",
                                      NULL}; /* of `info b`, as debuggers have it */
  for (size_t k = 0; n && fits && meant[k]; k++)
    for (const struct info *i = infos; !strncmp(meant[k], word, n) && i->name; i++)
      if (!strcmp(i->name, meant[k])) return skip_blanks(&arguments), i->run(r, arguments);
  return complain(r, "info what? 'help info' lists");
}

/* ---- strips -----------------------------------------------------------------------------------------------*/
static bool strip(struct repl *r, const char *arguments, const char *const *levels, int n) {
  struct value v;
  if (!*arguments) return complain(r, "of what value?");
  if (!running(r) || !evaluate(r, arguments, NULL, &v)) return false;
  if (v.unset) return printf("%s is not set yet\n", arguments), true;
  uint64_t m = focus_lanes(r) & ~v.fault;
  double lo = INFINITY, hi = -INFINITY, x[REPL_LANES];
  unsigned lanes = warp_lanes(r);
  for (unsigned l = 0; l < lanes; l++) {
    x[l] = v.kind == VALUE_REAL ? v.lane[l].f : v.kind == VALUE_SIGNED ? (double)v.lane[l].i : (double)v.lane[l].u;
    if (!(m >> l & 1) || !isfinite(x[l])) continue;
    if (x[l] < lo) lo = x[l];
    if (x[l] > hi) hi = x[l];
  }
  printf("|");
  for (unsigned l = 0; l < lanes; l++) {
    if (!(m >> l & 1)) printf(".");
    else if (!isfinite(x[l])) printf("!");
    else printf("%s", levels[hi > lo ? (int)((x[l] - lo) / (hi - lo) * (n - 1) + 0.5) : 0]);
  }
  printf("|");
  if (lo <= hi) printf(" %g to %g", lo, hi);
  printf("\n");
  return true;
}

bool do_heat(struct repl *r, char *arguments) {
  static const char *const levels[] = {" ", "`", ":", "-", "=", "+", "*", "#", "%", "@"};
  return strip(r, arguments, levels, 10);
}
bool do_spark(struct repl *r, char *arguments) {
  static const char *const levels[] = {"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
  return strip(r, arguments, levels, 8);
}

/* ---- calls ------------------------------------------------------------------------------------------------*/
bool do_backtrace(struct repl *r, char *arguments) {
  (void)arguments;
  mx_debug_frame f = {.struct_size = sizeof f};
  mx_debug_split s = {.struct_size = sizeof s};
  if (!running(r) || mx_debug_get_split(r->g, r->block, r->warp, r->split, &s)) return false;
  for (uint32_t k = 0; mx_debug_get_frame(r->g, r->block, r->warp, r->split, k, &f) == MX_OK; k++) {
    char *lanes = lanes_text(k ? f.lanes : s.lanes); /* the innermost frame has other splits' lanes, at other places */
    char *at = f.file ? format(" at %s:%u", f.file, f.line) : cli_strdup("");
    say("%c #%u %s+%u%s, %s\n", k == r->frame ? '*' : ' ', k, f.function, f.pc, at, lanes);
    free(at);
    free(lanes);
  }
  return true;
}
bool do_where(struct repl *r, char *arguments) { return do_backtrace(r, arguments); }
