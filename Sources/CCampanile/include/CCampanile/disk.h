#ifndef CCAMPANILE_DISK_H
#define CCAMPANILE_DISK_H

#include <stdint.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

// Starts writing out a range of a file without waiting. Only a hint: if the call is missing or fails, nothing is lost,
// because the final sync decides.
static inline void campanile_begin_writing_out(int descriptor, int64_t offset, int64_t count) {
#if defined(__linux__) && defined(SYS_sync_file_range) && defined(__LP64__)
  const unsigned int write_out = 2;  // SYNC_FILE_RANGE_WRITE
  (void)syscall(SYS_sync_file_range, descriptor, offset, count, write_out);
#else
  (void)descriptor, (void)offset, (void)count;
#endif
}

#endif
