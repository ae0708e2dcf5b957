/// Is told what a server does, to count it. Every method is called on an event loop and must not block.
public protocol ServerObserver: Sendable {
  func connectionOpened()
  func connectionClosed()
  /// What records the calls of one method; asked for once a method. `nil` stands for all unknown ones.
  func recorder(for method: MethodDescriptor?) -> any MethodRecorder
}

/// Counts the calls of one method.
public protocol MethodRecorder: AnyObject, Sendable {
  /// - Parameter lane: that of the event loop that this is called on.
  func callStarted(on lane: LoopLane)
  /// `code` is `nil` for success.
  func callFinished(code: RPCError.Code?, durationNs: Int64, on lane: LoopLane)
}

/// Counts nothing.
public struct SilentServerObserver: ServerObserver {
  private final class Recorder: MethodRecorder {
    func callStarted(on lane: LoopLane) {}
    func callFinished(code: RPCError.Code?, durationNs: Int64, on lane: LoopLane) {}
  }

  private let silent = Recorder()

  public init() {}
  public func connectionOpened() {}
  public func connectionClosed() {}
  public func recorder(for method: MethodDescriptor?) -> any MethodRecorder { silent }
}
