/* The host library's header uses __noinline__ as the name of an attribute. In kernels' C++ it is a keyword, which
 * mx/keywords.h defines as a macro for a clang that lacks it; the macro is taken away while the header is read. */
#pragma push_macro("__noinline__")
#undef __noinline__
#include_next <bits/shared_ptr_base.h>
#pragma pop_macro("__noinline__")
