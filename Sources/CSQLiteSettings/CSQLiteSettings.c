#include "CSQLiteSettings.h"

#include <sqlite3.h>

// Swift imports no function with variable arguments.
int campanile_sqlite_leave_memory_uncounted(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
