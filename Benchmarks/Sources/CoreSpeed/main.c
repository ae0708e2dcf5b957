// Measures the speed of its core 50 times a second.
// usage: CoreSpeed SECONDS; prints lines of UNIX-SECONDS BILLION-STEPS-A-SECOND
//
// A virtual core may be one of two threads of a physical core. While another guest uses the second thread, code that
// needs many units of the core at once is slower, and no counter of its own system shows it. The steps here are
// independent of each other, so the core executes as many at once as it can: they show the effect most. A sample is the
// best of two attempts, because the first may have been interrupted. It takes about 10 microseconds.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CHAINS = 8, ROUNDS = 5000, ATTEMPTS = 2, SECONDS_MAX = 3600 };
static const struct timespec PAUSE = {.tv_nsec = 20 * 1000 * 1000};

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// Hides the value from the compiler between two steps, so that it can neither fold the steps nor vectorise them.
#define STEP(index, operation) \
  chain##index operation;      \
  __asm__ volatile("" : "+r"(chain##index))
#define STEPS(operation_text)                                                                                    \
  STEP(0, operation_text); STEP(1, operation_text); STEP(2, operation_text); STEP(3, operation_text);            \
  STEP(4, operation_text); STEP(5, operation_text); STEP(6, operation_text); STEP(7, operation_text)

static double speed(void) {
  uint64_t chain0 = 0, chain1 = 1, chain2 = 2, chain3 = 3, chain4 = 4, chain5 = 5, chain6 = 6, chain7 = 7;
  double start = seconds(CLOCK_MONOTONIC);
  for (int round = 0; round < ROUNDS; round++) {
    STEPS(+= 1);
    STEPS(^= 3);
  }
  return 2.0 * CHAINS * ROUNDS / (seconds(CLOCK_MONOTONIC) - start) / 1e9;
}

int main(int count, char **arguments) {
  char *rest = "";
  double length = count == 2 ? strtod(arguments[1], &rest) : 0;
  if (*rest || !(length > 0 && length <= SECONDS_MAX)) {
    fprintf(stderr, "usage: CoreSpeed SECONDS, above 0 and at most %d\n", SECONDS_MAX);
    return 64;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (double end = seconds(CLOCK_MONOTONIC) + length; seconds(CLOCK_MONOTONIC) < end;) {
    clock_nanosleep(CLOCK_MONOTONIC, 0, &PAUSE, NULL);
    double best = 0;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      double one = speed();
      if (one > best) best = one;
    }
    printf("%.3f %.2f\n", seconds(CLOCK_REALTIME), best);
  }
}
