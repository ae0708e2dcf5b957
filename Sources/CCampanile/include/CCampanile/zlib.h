#ifndef CCAMPANILE_ZLIB_H
#define CCAMPANILE_ZLIB_H

#include <zlib.h>

// Wraps macros that Swift does not import.
static inline int campanile_deflate_init(z_streamp stream, int level, int window_bits) {
  return deflateInit2(stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
}
static inline int campanile_inflate_init(z_streamp stream, int window_bits) {
  return inflateInit2(stream, window_bits);
}

#endif
