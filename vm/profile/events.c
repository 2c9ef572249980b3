/* The timeline of a profile: events, in the order in which they ended. */
#include "profile.h"

#include <stdlib.h>

#define MOST_EVENTS (1u << 20)

void mx__profile_event(mx_profile *p, const mx_profile_event *e) {
  mx__lock(&p->lock);
  if (p->nevents == p->room && p->room < MOST_EVENTS) {
    const size_t room = p->room ? 2 * p->room : 256;
    mx_profile_event *more = realloc(p->events, room * sizeof *more);
    if (more) p->events = more, p->room = room;
  }
  if (p->nevents < p->room) p->events[p->nevents++] = *e;
  mx__unlock(&p->lock);
}
