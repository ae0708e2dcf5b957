#ifndef CAMPANILE_CZLIB_SHIM_H
#define CAMPANILE_CZLIB_SHIM_H

#include <zlib.h>

#endif
