// What Swift's module of the C library leaves out: malloc_trim(3), where there is one.
#if defined(__linux__)
#include <malloc.h>
#endif
