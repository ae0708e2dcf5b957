// Annotates the slow path of Swift's Mutex. The fast paths of locking and unlocking are atomics inlined into the
// caller, which are instrumented; the slow paths are in libswiftSynchronization.
#include "CThreadSanitizer.h"
#if defined(__has_feature) && __has_feature(thread_sanitizer)

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex

SWIFT void campanile_lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
SWIFT void campanile_unlock_slow(SELF) __asm__(UNLOCK_SLOW);

static SWIFT void (*lock_slow)(uint32_t thread, SELF);
static SWIFT void (*unlock_slow)(SELF);

// Runs before there is a second thread.
__attribute__((constructor)) static void find_mutex(void) {
  lock_slow = next_definition(LOCK_SLOW);
  unlock_slow = next_definition(UNLOCK_SLOW);
}

SWIFT void campanile_lock_slow(uint32_t thread, SELF) {
  lock_slow(thread, mutex);
  __tsan_acquire(mutex);
}

SWIFT void campanile_unlock_slow(SELF) {
  __tsan_release(mutex);
  unlock_slow(mutex);
}
#endif
