// C functions that Swift does not import: system calls, macros, functions with variable arguments.
#include "allocator.h"
#include "clock.h"
#include "disk.h"
#include "process.h"
#include "sqlite.h"
#include "zlib.h"
