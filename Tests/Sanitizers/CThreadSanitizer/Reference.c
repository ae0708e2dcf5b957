// Annotates the last reference to a value that several threads have read. The holder of the only reference changes an
// array, a string or a dictionary in place. Other threads have read it, but released their references before, and the
// reference count orders that. The count is in libswiftCore.
#include "CThreadSanitizer.h"
#if defined(__has_feature) && __has_feature(thread_sanitizer)
#include <stdbool.h>

#define UNSEEN __attribute__((disable_sanitizer_instrumentation))
#define BRIDGED_OBJECT_MASK 0x0ffffffffffffff8

static void (*release)(void *object);
static void (*release_n)(void *object, uint32_t count);
static void (*bridged_release)(void *object);
static void (*bridged_release_n)(void *object, uint32_t count);
static bool (*is_unique)(const void *object);
static bool (*is_unique_not_null)(const void *object);

// A constructor that runs earlier may already release objects; at that time there is only one thread.
UNSEEN __attribute__((constructor(101))) static void find_references(void) {
  release_n = next_definition("swift_release_n");
  bridged_release = next_definition("swift_bridgeObjectRelease");
  bridged_release_n = next_definition("swift_bridgeObjectRelease_n");
  is_unique = next_definition("swift_isUniquelyReferenced_native");
  is_unique_not_null = next_definition("swift_isUniquelyReferenced_nonNull_native");
  release = next_definition("swift_release");
}
// Values that are not positive are not objects for the runtime: null, and other values that are stored in place of a
// pointer.
UNSEEN static void tell_release(void *object) {
  if (release == NULL) find_references();
  if ((intptr_t)object > 0) __tsan_release(object);
}
UNSEEN static void tell_bridged(void *object) {
  if (release == NULL) find_references();
  // Small strings and similar values are not objects, and their highest bit is set.
  if ((intptr_t)object > 0) __tsan_release((void *)((uintptr_t)object & BRIDGED_OBJECT_MASK));
}
UNSEEN static bool tell_unique(const void *object, bool is) {
  if (is) __tsan_acquire((void *)object);
  return is;
}

UNSEEN void swift_release(void *object) {
  tell_release(object);
  release(object);
}
UNSEEN void swift_release_n(void *object, uint32_t count) {
  tell_release(object);
  release_n(object, count);
}
UNSEEN void swift_bridgeObjectRelease(void *object) {
  tell_bridged(object);
  bridged_release(object);
}
UNSEEN void swift_bridgeObjectRelease_n(void *object, uint32_t count) {
  tell_bridged(object);
  bridged_release_n(object, count);
}
UNSEEN bool swift_isUniquelyReferenced_native(const void *object) {
  if (release == NULL) find_references();
  return tell_unique(object, is_unique(object));
}
UNSEEN bool swift_isUniquelyReferenced_nonNull_native(const void *object) {
  if (release == NULL) find_references();
  return tell_unique(object, is_unique_not_null(object));
}
#endif
