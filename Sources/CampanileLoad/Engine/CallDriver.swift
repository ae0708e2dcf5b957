/// Sends the calls of one event loop. Use it only on that loop.
protocol CallDriver: AnyObject {
  /// Whether calls are streams, which may never end by themselves.
  var isStreaming: Bool { get }
  /// Sends the worker's request.
  ///
  /// Exactly one `finished` follows, in a later iteration of the event loop, unless `cancel` is called first.
  func start(_ worker: LoadWorker, timeoutMs: Int64)
  /// Cancels the worker's call, without any further notification.
  func cancel(_ worker: LoadWorker)
  /// Closes the connections.
  func close()
}

/// The outcome of a call.
struct CallEnd {
  /// The gRPC status number.
  var status: Int
  /// The error message.
  var message: String?
  /// Whether the call failed locally, without a response. A pause must precede the next call.
  var isLocal = false

  static let ok = CallEnd(status: 0)
}
