// Annotates a continuation that is resumed before it is awaited. Swift's runtime informs ThreadSanitizer when a
// continuation is resumed, and when a task that had to wait for it continues. A task that finds the continuation
// already resumed continues at once, without this information. So every await is redirected to `gone_on`, which
// acquires what the resumption has released and then continues the task at its original function.
#include "CThreadSanitizer.h"
#if defined(__has_feature) && __has_feature(thread_sanitizer)
#include <stdatomic.h>

#define ASYNC __attribute__((swiftasynccall))
// Excluded from instrumentation: the table below must not establish an order that the program does not have.
#define UNSEEN __attribute__((disable_sanitizer_instrumentation))

// The start of every asynchronous context, which is part of Swift's ABI.
struct context;
typedef ASYNC void go_on(__attribute__((swift_async_context)) struct context *context);
struct context {
  struct context *parent;
  go_on *go_on;
};

// The resume functions of tasks that await a continuation: a list per hash of the context. A context belongs to its
// task alone while the task waits.
struct awaiting {
  struct awaiting *next;
  struct context *context;
  go_on *go_on;
};
static struct {
  atomic_flag lock;
  struct awaiting *first;
} buckets[1024];

UNSEEN static unsigned bucket_of(const struct context *context) {
  return (uint32_t)((uintptr_t)context >> 4) * 2654435761u >> 22;
}
UNSEEN static void lock(unsigned bucket) {
  while (atomic_flag_test_and_set_explicit(&buckets[bucket].lock, memory_order_acquire)) {}
}
UNSEEN static void unlock(unsigned bucket) { atomic_flag_clear_explicit(&buckets[bucket].lock, memory_order_release); }

UNSEEN static void keep(struct context *context) {
  struct awaiting *one = malloc(sizeof *one);
  if (one == NULL) abort();
  one->context = context;
  one->go_on = context->go_on;
  unsigned bucket = bucket_of(context);
  lock(bucket);
  one->next = buckets[bucket].first;
  buckets[bucket].first = one;
  unlock(bucket);
}

UNSEEN static go_on *take(struct context *context) {
  unsigned bucket = bucket_of(context);
  lock(bucket);
  struct awaiting **place = &buckets[bucket].first;
  while ((*place)->context != context) place = &(*place)->next;
  struct awaiting *one = *place;
  *place = one->next;
  unlock(bucket);
  go_on *kept = one->go_on;
  free(one);
  return kept;
}

__attribute__((swiftcall)) void *swift_task_getCurrent(void);
ASYNC void swift_continuation_await(struct context *context);
static ASYNC void (*await)(struct context *context);

__attribute__((constructor)) static void find_continuation(void) { await = next_definition("swift_continuation_await"); }

UNSEEN static ASYNC void gone_on(__attribute__((swift_async_context)) struct context *context) {
  context->go_on = take(context);
  __tsan_acquire(swift_task_getCurrent());
  __attribute__((musttail)) return context->go_on(context);
}

UNSEEN ASYNC void swift_continuation_await(struct context *context) {
  keep(context);
  context->go_on = gone_on;
  __attribute__((musttail)) return await(context);
}
#endif
