// malloc_trim(3), where available, which Swift's C library module lacks.
#if defined(__linux__)
#include <malloc.h>
#endif
