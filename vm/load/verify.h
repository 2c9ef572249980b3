/* Says whether an image may run: "verified" means that nothing in it can make the machine misbehave. */
#ifndef MX_VM_VERIFY_H
#define MX_VM_VERIFY_H
#include "core/module.h"
#include "module.h"

/* REFUSED: *why is a malloc'ed text, one problem a line (the first few), each with function, pc and mnemonic where it
 * has them; NULL if memory ran out for it. `why` may be NULL. */
enum mx__load mx__verify(const struct mx_image *image, char **why);
#endif
