/* Printed text and messages of failed assertions; see output.h. */
#include "output.h"

#include "core/format.h"
#include "vm/exec/exec.h"
#include "vm/exec/fifo.h"
#include "vm/exec/launch.h"
#include "device.h"

#include <stdlib.h>
#include <string.h>

#define MOST_MESSAGES ((size_t)64 << 20) /* bytes of a launch; of what is beyond, only the number of lanes is kept */

static void say(const struct mx_device *d, const char *text, size_t size) {
  if (d->messages_to) d->messages_to(d->messages_user, text, size);
  else if (d->output) d->output(d->output_user, text, size);
}

void mx__output_flush(struct mx_device *d) {
  mx__lock(&d->print);
  if (d->fifo) mx__fifo_drain(d->fifo, d->output, d->output_user);
  if (d->messages.size) say(d, d->messages.s, d->messages.size);
  free(d->messages.s);
  d->messages = (struct mx_text){0};
  mx__unlock(&d->print);
}

void mx__output_discard(struct mx_device *d) {
  mx__lock(&d->print);
  if (d->fifo) mx__fifo_drain(d->fifo, NULL, NULL);
  mx__unlock(&d->print);
}

/* ---- assertions -------------------------------------------------------------------------------------------*/
struct message {
  uint64_t block, lanes;
  size_t begin, end;
}; /* lanes: how many; in text */
struct mx_asserts {
  struct mx_trap trap; /* of the lowest block */
  uint64_t block;
  struct message *list;
  size_t n, room;
  struct mx_text text;
  uint64_t untold;
};

static bool keep(struct mx_asserts *a, uint64_t block, uint64_t lanes, const char *message, size_t size) {
  if (size > MOST_MESSAGES - a->text.size) return false;
  if (a->n == a->room) {
    const size_t room = a->room ? 2 * a->room : 16;
    struct message *more = realloc(a->list, room * sizeof *more);
    if (!more) return false;
    a->list = more;
    a->room = room;
  }
  const size_t begin = a->text.size;
  if (!mx__text_append(&a->text, message, size)) return false;
  a->list[a->n++] = (struct message){block, lanes, begin, begin + size};
  return true;
}

void mx__assert_failed(struct mx_launch *l, uint64_t block, const struct mx_trap *t, const char *message, size_t size) {
  mx__lock(&l->lock);
  if (!l->asserts) l->asserts = calloc(1, sizeof *l->asserts);
  struct mx_asserts *a = l->asserts;
  const bool first = a && a->trap.kind == MX_TRAP_NONE, lowest = first || (a && block < a->block);
  if (lowest) {
    free(a->trap.detail);
    a->trap = *t;
    a->block = block;
  }
  const uint64_t lanes = (uint64_t)__builtin_popcountll(t->lanes);
  if (a && !l->live && !keep(a, block, lanes, message, size)) a->untold += lanes;
  atomic_store(&l->asserted, true);
  mx__unlock(&l->lock);
  if (!a) mx__launch_stop(l, MX_STOP_HOST_MEMORY);
  if (!lowest) free(t->detail);
  if (!l->live) return;
  mx__lock(&l->device->print);
  say(l->device, message, size);
  mx__unlock(&l->device->print);
}

static int by_block(const void *x, const void *y) {
  const struct message *a = x, *b = y;
  return a->block != b->block ? (a->block < b->block ? -1 : 1) : a->begin < b->begin ? -1 : 1;
}

void mx__asserts_end(struct mx_launch *l) {
  struct mx_asserts *a = l->asserts;
  if (!a) return;
  struct mx_device *d = l->device;
  if (l->trapped) free(l->trap.detail);
  l->trap = a->trap;
  l->trapped = true;
  if (a->n) qsort(a->list, a->n, sizeof *a->list, by_block);
  mx__lock(&d->print);
  for (size_t k = 0; k < a->n; k++) {
    const struct message *m = &a->list[k];
    if (!mx__text_append(&d->messages, a->text.s + m->begin, m->end - m->begin)) a->untold += m->lanes;
  }
  char *rest =
      a->untold ? mx__format("%llu more assertion%s failed\n", (unsigned long long)a->untold, a->untold == 1 ? "" : "s")
                : NULL;
  if (rest) mx__text_append(&d->messages, rest, strlen(rest));
  free(rest);
  mx__unlock(&d->print);
  free(a->list);
  free(a->text.s);
  free(a);
  l->asserts = NULL;
}

const struct mx_services mx__services = {mx__output_flush, mx__assert_failed};
