// What of the order between threads ThreadSanitizer does not see, since it happens in shared libraries that are not instrumented, and what
// would be reported as races that are none. Nothing to call: a program's own definitions come before those of a shared library, so that
// linking this is enough. Each does what the library does, with a word to ThreadSanitizer.
#if defined(__has_feature) && __has_feature(thread_sanitizer)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

// Those of compiler-rt: what happened before a release of an address has happened before what comes after an acquire of it.
void __tsan_acquire(void *address);
void __tsan_release(void *address);

// The library's own definition. Another version of Swift may have none: what this was written for has to be looked at again then.
static inline void *next_definition(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}
#endif
