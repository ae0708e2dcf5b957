#include "CClientFiles.h"

// #embed is part of C23; clang has it in all modes.
#pragma clang diagnostic ignored "-Wc23-extensions"
#include "generated/files.h"

const struct campanile_client_file *campanile_client_file(size_t index) {
  return index < sizeof files / sizeof *files ? &files[index] : NULL;
}
