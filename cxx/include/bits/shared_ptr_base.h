/* The library's header has the attribute __noinline__, which is a word of kernels' C++: a macro, where the compiler
 * does not know the word. */
#pragma push_macro("__noinline__")
#undef __noinline__
#include_next <bits/shared_ptr_base.h>
#pragma pop_macro("__noinline__")
