#ifndef CPARENTBOUND_H
#define CPARENTBOUND_H

#include <sys/types.h>

/// Becomes the program `argv[0]`, bound to the life of `parent`: the kernel kills it when `parent` ends, however that ends.
/// Returns only on failure: -1 with errno set (ESRCH when `parent` is gone already).
int campanile_exec_bound(pid_t parent, char *const argv[]);

/// Whether something keeps the clock in step: 1 or 0, or -1 where the kernel does not say.
int campanile_clock_is_in_step(void);

#endif
