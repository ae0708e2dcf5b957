// Annotations of thread order that ThreadSanitizer does not detect, because it is established in shared libraries
// without instrumentation. Without them, ThreadSanitizer reports false races. Linking this library is enough: a
// program's definitions take precedence over those of a shared library. Each definition calls the original one and
// informs ThreadSanitizer.
#if defined(__has_feature) && __has_feature(thread_sanitizer)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

// Functions of compiler-rt: everything before a release of an address happens before everything after an acquire of it.
void __tsan_acquire(void *address);
void __tsan_release(void *address);

// Returns the library's definition. Aborts if there is none, as may be the case in another version of Swift: the
// annotations then need a review.
static inline void *next_definition(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}
#endif
