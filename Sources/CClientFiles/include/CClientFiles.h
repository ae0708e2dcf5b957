// The files of the TypeScript client and of the web console, embedded in the program.
#ifndef CCLIENTFILES_H
#define CCLIENTFILES_H

#include <stddef.h>

struct campanile_client_file {
  // The path within the client's folder, such as `generated/campanile.sync.v1.js`.
  const char *path;
  const char *content_type;
  const unsigned char *bytes;
  size_t size_bytes;
};

// Returns the file with this index, in the order of their paths; NULL beyond the last.
const struct campanile_client_file *campanile_client_file(size_t index);
// The same for the console's files, whose paths are within Sources/Console/Web.
const struct campanile_client_file *campanile_console_file(size_t index);

#endif
