public import Logging
import Synchronization

/// What the code that works for a call may know of it without being handed it: its trace, for what it sends and keeps, and its
/// names, for log lines.
///
/// Bound to the task of the handler of a call that is traced, and of one that may change something while slow calls are logged;
/// also to a transaction's body on the writer's thread. Others have none. Safe from any thread.
public final class CallScope: Sendable {
  /// That of the running task.
  @TaskLocal public static var current: CallScope?

  /// `nil` for a call that is not traced.
  public let span: Span?
  private let metadata: Metadata
  private let principal: Principal?
  private let waitedNs = Atomic<Int64>(0)

  public init(span: Span?, metadata: Metadata = Metadata(), principal: Principal? = nil) {
    self.span = span
    self.metadata = metadata
    self.principal = principal
  }

  /// The running task's place in its trace; `nil` when that is not recorded.
  public static var trace: TraceContext? { current?.span?.context }

  /// What a call made by the running task carries.
  static func outgoing(_ metadata: Metadata) -> Metadata {
    guard let trace, metadata[TraceContext.parentKey] == nil else { return metadata }
    var metadata = metadata
    trace.put(into: &metadata)
    return metadata
  }

  public var requestID: String? { metadata[Metadata.requestIDKey] }
  public var principalName: String? { principal?.name }

  /// The call waited so long for its writes to be kept.
  public func addCommit(ns: Int64) { waitedNs.wrappingAdd(ns, ordering: .relaxed) }
  public var commitNs: Int64 { waitedNs.load(ordering: .relaxed) }

  /// For the log lines of its task.
  public var logMetadata: Logger.Metadata {
    CallFacts(requestID: requestID, principal: principalName, traceID: span?.context.traceID).logMetadata
  }
}

/// What log lines tell of a call: names, never its contents.
public struct CallFacts: Sendable, Hashable {
  public var requestID: String?
  public var principal: String?
  public var traceID: String?

  public init(requestID: String? = nil, principal: String? = nil, traceID: String? = nil) {
    self.requestID = requestID
    self.principal = principal
    self.traceID = traceID
  }

  public var logMetadata: Logger.Metadata {
    var metadata: Logger.Metadata = [:]
    if let requestID { metadata["requestId"] = .string(requestID) }
    if let principal { metadata["principal"] = .string(principal) }
    if let traceID { metadata["traceId"] = .string(traceID) }
    return metadata
  }
}
