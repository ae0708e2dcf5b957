internal import Foundation

/// The CPU time of this process.
enum ClientCPU {
  /// Returns the user and system time of all threads in seconds.
  static func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
