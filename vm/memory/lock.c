/* What each thread holds, in builds that check the order of locks; see lock.h. */
#include "lock.h"

#ifdef MX_CHECK_LOCKS
#include <stdio.h>
#include <stdlib.h>

static _Thread_local uint32_t own, lent;

static const char *const names[] = {
#define X(name_) #name_,
    MX_LOCK_LIST(X)
#undef X
};

static void wrong(const char *what, enum mx_lock_rank rank) {
  fprintf(stderr, "lock %s %s; held:", names[rank], what);
  for (unsigned k = 0; k < MX_LOCK_COUNT; k++)
    if ((own | lent) >> k & 1)
      fprintf(stderr, " %s%s", names[k], own >> k & 1 ? "" : " (by the thread this one works for)");
  fputc('\n', stderr);
  abort();
}

void mx__lock_asked(enum mx_lock_rank rank) {
  if ((own | lent) >> rank) wrong("is asked for out of order", rank);
}
void mx__lock_taken(enum mx_lock_rank rank) { own |= 1u << rank; }
void mx__lock_given(enum mx_lock_rank rank) {
  if (!(own >> rank & 1)) wrong("is given back by a thread that does not hold it", rank);
  own &= ~(1u << rank);
}
void mx__lock_waits(enum mx_lock_rank rank) {
  if (own >> rank != 1) wrong("is waited with, and is not the last one taken", rank);
  own &= ~(1u << rank);
}
uint32_t mx__locks_held(void) { return own | lent; }
void mx__locks_lent(uint32_t held) { lent = held; }
#endif
