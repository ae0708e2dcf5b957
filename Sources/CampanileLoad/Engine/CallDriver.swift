/// Sends the calls of one event loop. Everything happens on that loop.
protocol CallDriver: AnyObject {
  /// Whether calls are streams, which may go on for ever.
  var isStreaming: Bool { get }
  /// Sends the lane's request. Exactly one `finished` follows, in a later turn of the loop, unless `cancel` comes first.
  func start(_ lane: LoadLane, timeoutMs: Int64)
  /// Ends the lane's call, which then hears nothing more.
  func cancel(_ lane: LoadLane)
  /// Closes what was opened.
  func close()
}

/// How a call ended.
struct CallEnd {
  /// The number of its gRPC status.
  var status: Int
  /// What the server said about a failure.
  var message: String?
  /// Whether it failed here, without an answer, so that the next must not follow at once.
  var isLocal = false

  static let ok = CallEnd(status: 0)
}
