internal import Foundation

/// The processor time that this process has used.
enum ClientCPU {
  /// User and system seconds of all threads so far.
  static func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
