#ifndef CCAMPANILE_CLOCK_H
#define CCAMPANILE_CLOCK_H

/// Returns 1 if the system clock is synchronized, 0 if it is not, and -1 if the kernel does not report it.
int campanile_clock_is_in_step(void);

#endif
