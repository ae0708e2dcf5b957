#include "CCampanile/clock.h"

#ifdef __linux__
#include <sys/timex.h>

int campanile_clock_is_in_step(void) {
  struct timex timing = {0};
  if (adjtimex(&timing) < 0) return -1;
  return (timing.status & STA_UNSYNC) == 0;
}
#else
int campanile_clock_is_in_step(void) { return -1; }
#endif
