#ifndef CSQLITESETTINGS_H
#define CSQLITESETTINGS_H

/// Has SQLite no longer count the memory that it uses, which costs a lock for every allocation of every connection. To be
/// called before the process first uses SQLite; later it changes nothing and answers SQLITE_MISUSE. Otherwise SQLITE_OK.
int campanile_sqlite_leave_memory_uncounted(void);

#endif
