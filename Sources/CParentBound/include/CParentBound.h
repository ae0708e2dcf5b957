#ifndef CPARENTBOUND_H
#define CPARENTBOUND_H

#include <sys/types.h>

/// Replaces the process with the program `argv[0]`, tied to the lifetime of `parent`: the kernel kills it when `parent`
/// ends, for whatever reason. Returns only on failure: -1 with errno set (ESRCH if `parent` has already exited).
int campanile_exec_bound(pid_t parent, char *const argv[]);

/// Returns 1 if the system clock is synchronized, 0 if it is not, and -1 if the kernel does not report it.
int campanile_clock_is_in_step(void);

#endif
