#ifndef CCAMPANILE_PROCESS_H
#define CCAMPANILE_PROCESS_H

#include <sys/types.h>

/// Replaces the process with the program `argv[0]`, tied to the lifetime of `parent`: the kernel kills it when `parent`
/// ends, for whatever reason. Returns only on failure: -1 with errno set (ESRCH if `parent` has already exited).
int campanile_exec_bound(pid_t parent, char *const argv[]);

#endif
