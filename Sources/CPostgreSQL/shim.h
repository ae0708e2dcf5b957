#ifndef CAMPANILE_CPOSTGRESQL_SHIM_H
#define CAMPANILE_CPOSTGRESQL_SHIM_H

#include <libpq-fe.h>

#endif
