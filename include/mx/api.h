/* What all public headers share: how functions are exported, and who frees texts. */
#ifndef MX_API_H
#define MX_API_H

#if defined(__GNUC__)
#define MX_API __attribute__((visibility("default")))
#else
#define MX_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Frees a text that a call of the library has returned to the caller (a char *, not a const char *). A program cannot
 * use its own free: the library may have another allocator. NULL: nothing happens. */
MX_API void mx_text_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
