import NIOCore

/// The clock of everything that is limited by time, in nanoseconds since an unknown start.
enum MonotonicClock {
  static func nowNs() -> Int64 { NIODeadline.now().nowNs }
}

extension NIODeadline {
  /// The same moment in the form that limits are counted in.
  @inline(__always)
  var nowNs: Int64 { Int64(truncatingIfNeeded: uptimeNanoseconds) }
}
