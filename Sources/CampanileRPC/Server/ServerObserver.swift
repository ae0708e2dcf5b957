public import CampanileBase

/// Observes a server's connections and calls, for metrics. Every method is called on an event loop and must not block.
public protocol ServerObserver: Sendable {
  func connectionOpened()
  func connectionClosed()
  /// Returns the recorder for one method's calls; requested once per method. `nil` stands for all unknown methods.
  func recorder(for method: MethodDescriptor?) -> any MethodRecorder
}

/// Records the calls of one method.
public protocol MethodRecorder: AnyObject, Sendable {
  /// - Parameter shard: The shard of the calling event loop.
  func callStarted(on shard: CounterShard)
  /// - Parameter code: `nil` for success.
  func callFinished(code: RPCError.Code?, durationNs: Int64, on shard: CounterShard)
}

/// An observer that records nothing.
public struct SilentServerObserver: ServerObserver {
  private final class Recorder: MethodRecorder {
    func callStarted(on shard: CounterShard) {}
    func callFinished(code: RPCError.Code?, durationNs: Int64, on shard: CounterShard) {}
  }

  private let silent = Recorder()

  public init() {}
  public func connectionOpened() {}
  public func connectionClosed() {}
  public func recorder(for method: MethodDescriptor?) -> any MethodRecorder { silent }
}
