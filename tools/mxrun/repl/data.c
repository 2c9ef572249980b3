/* Buffers and values into files: arrays, pictures. */
#include "mx/texture.h"
#include "repl.h"

#include <stdlib.h>
#include <string.h>

static bool save(struct repl *r, const struct data *d, const char *path) {
  char *why = NULL;
  bool host;
  if (data_save(d, path, &why, &host)) return true;
  complain(r, "%s", why);
  free(why);
  return false;
}

/* An argument's buffer as it is now. */
static bool buffer(struct repl *r, const struct arg *a, struct data *d) {
  *d = a->data;
  d->bytes = cli_alloc(d->size + 1);
  mx_status s = !d->size   ? MX_OK
                : a->array ? mx_array_copy_out(a->array, NULL, d->bytes, 0, 0)
                           : mx_copy_from_device(r->d, d->bytes, a->address, d->size);
  if (s == MX_OK) return true;
  data_free(d);
  return complain_status(r, s);
}

static void put_lanes(const struct value *v, unsigned lanes, const struct elem *e, unsigned char *to) {
  for (unsigned l = 0; l < lanes; l++) {
    if (e->kind == ELEM_FLOAT)
      elem_set_real(e, to + l * e->size, v->kind == VALUE_REAL ? v->lane[l].f : (double)v->lane[l].i);
    else memcpy(to + l * e->size, &v->lane[l], e->size);
  }
}

static const struct elem *elem_of(const struct value *v) {
  if (v->type) return v->type;
  return v->pred ? elem_find("u8", 2) : v->kind == VALUE_REAL ? elem_find("f64", 3) : elem_find("s64", 3);
}

/* A value over lanes, in `rows` positions one instruction apart. */
static bool over_time(struct repl *r, const char *text, uint64_t rows, struct data *d) {
  unsigned lanes = warp_lanes(r);
  struct value v;
  if (!running(r) || !evaluate(r, text, NULL, &v)) return false;
  const struct elem *e = elem_of(&v);
  *d = (struct data){
      .type = e, .ndims = rows > 1 ? 2 : 1, .dims = {rows > 1 ? rows : lanes, lanes}, .size = rows * lanes * e->size};
  d->bytes = cli_alloc(d->size);
  memset(d->bytes, 0, d->size);
  uint64_t block = r->block, k = 0;
  uint32_t warp = r->warp;
  for (; k < rows; k++) {
    if (k &&
        (mx_debug_go(r->g, MX_DEBUG_STEP, block, warp, 1, &r->stop) != MX_OK || r->stop.reason != MX_DEBUG_AT_STEP))
      break;
    if (k) take_focus(r);
    char *why = NULL;
    struct expression *x = expression_compile(r, text, NULL, NULL, &why);
    if (x && expression_value(r, x, NULL, &v, &why)) put_lanes(&v, lanes, e, d->bytes + k * lanes * e->size);
    expression_free(x);
    free(why);
  }
  if (k == rows) return true;
  if (r->stop.reason != MX_DEBUG_AT_END) return take_focus(r), show_stop(r), true;
  printf("The launch has ended.\n");
  launch_end(r);
  return true;
}

static bool write_file(struct repl *r, char *arguments, bool picture) {
  char *path = next_word(&arguments);
  skip_blanks(&arguments);
  struct data d = {0};
  uint64_t rows = 1;
  const struct arg *shown = path && picture && !*arguments ? find_arg(&r->args, path, strlen(path)) : NULL;
  if (shown && (shown->buffer || shown->array)) { /* no file: into the terminal */
    const bool drawn = buffer(r, shown, &d) && draw_picture(r, &d);
    data_free(&d);
    return drawn;
  }
  if (!path || !*arguments)
    return complain(r, picture ? "plot into what file, and what?" : "dump into what file, and what?");
  char *last = strrchr(arguments, ' ');
  if (picture && last && number_word(last + 1, &rows)) {
    if (!rows || rows > 65535) return complain(r, "1 to 65535 steps");
    *last = 0;
  } else {
    rows = 1;
  }
  const struct arg *a = find_arg(&r->args, arguments, strlen(arguments));
  if (!(a && a->buffer ? buffer(r, a, &d) : over_time(r, arguments, rows, &d))) return false;
  if (picture && d.ndims == 1 && strstr(path, ".png")) d.ndims = 2, d.dims[1] = d.dims[0], d.dims[0] = 1;
  bool good = save(r, &d, path);
  data_free(&d);
  return good;
}

bool do_dump(struct repl *r, char *arguments) { return write_file(r, arguments, false); }
bool do_plot(struct repl *r, char *arguments) { return write_file(r, arguments, true); }
