#include "CCampanile/sqlite.h"

#include <sqlite3.h>

// In C, because Swift cannot import functions with variable arguments.
int campanile_sqlite_leave_memory_uncounted(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
