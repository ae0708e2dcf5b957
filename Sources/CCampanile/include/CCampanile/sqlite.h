#ifndef CCAMPANILE_SQLITE_H
#define CCAMPANILE_SQLITE_H

/// Disables SQLite's memory statistics, which cost a lock for every allocation of every connection. Call it before the
/// process first uses SQLite; later it has no effect and returns SQLITE_MISUSE. Otherwise returns SQLITE_OK.
int campanile_sqlite_leave_memory_uncounted(void);

#endif
