#include "CClientFiles.h"

// #embed is part of C23; clang has it in all modes.
#pragma clang diagnostic ignored "-Wc23-extensions"
#include "generated/console.h"
#include "generated/files.h"

const struct campanile_client_file *campanile_client_file(size_t index) {
  return index < sizeof client_files / sizeof *client_files ? &client_files[index] : NULL;
}

const struct campanile_client_file *campanile_console_file(size_t index) {
  return index < sizeof console_files / sizeof *console_files ? &console_files[index] : NULL;
}
