/* Texts of any length, for messages. */
#ifndef MX_CORE_FORMAT_H
#define MX_CORE_FORMAT_H

/* printf into a malloc'ed string; NULL: out of memory. */
char *mx__format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
