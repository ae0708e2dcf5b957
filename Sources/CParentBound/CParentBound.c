#include "CParentBound.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

int campanile_exec_bound(pid_t parent, char *const argv[]) {
#ifdef __linux__
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return -1;
#endif
  // The parent may have ended before the signal was asked for.
  if (getppid() != parent) {
    errno = ESRCH;
    return -1;
  }
  return execv(argv[0], argv);
}
