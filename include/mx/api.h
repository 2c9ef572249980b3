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

/* Frees a text that the library allocated, with the library's own allocator. NULL: nothing. */
MX_API void mx_text_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
