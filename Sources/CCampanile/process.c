#include "CCampanile/process.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

static int bind_to_parent(int signal) {
#ifdef __linux__
  return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0);
#else
  (void)signal;
  return 0;
#endif
}

int campanile_exec_bound(pid_t parent, char *const argv[]) {
  if (bind_to_parent(SIGKILL) != 0) return -1;
  // The parent may have exited before the signal was requested.
  if (getppid() == parent) {
    execv(argv[0], argv);
  } else {
    errno = ESRCH;
  }
  int reason = errno;
  bind_to_parent(0);
  errno = reason;
  return -1;
}
