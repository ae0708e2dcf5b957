import NIOCore

/// The clock of all time-based limits, in nanoseconds since an unspecified start.
package enum MonotonicClock {
  package static func nowNs() -> Int64 { NIODeadline.now().nowNs }
}

extension NIODeadline {
  /// The same time in nanoseconds, the unit of the limits.
  @inline(__always)
  var nowNs: Int64 { Int64(truncatingIfNeeded: uptimeNanoseconds) }
}
