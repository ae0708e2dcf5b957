import Synchronization

/// The ambient context of a call: its trace for outgoing calls and stored data, and its names for log lines.
///
/// Bound to the task of a handler whose call is traced, or may change state while slow calls are logged. Also bound to
/// a transaction's body on the writer's thread. All other code has none. Safe from any thread.
open class CallScope: @unchecked Sendable {
  // `@unchecked` because the compiler cannot check an open class. It is safe, because the only variable is atomic, and
  // subclasses have constants only.

  /// The scope of the running task.
  @TaskLocal public static var current: CallScope?

  /// The call's span; `nil` if the call is not traced.
  public final let span: Span?
  private let waitedNs = Atomic<Int64>(0)

  public init(span: Span?) { self.span = span }

  /// The trace context of the running task; `nil` if it is not recorded.
  public static var trace: TraceContext? { current?.span?.context }

  /// The id that a gateway assigned to the call; `nil` if the call came from elsewhere.
  open var requestID: String? { nil }
  /// The name of the calling principal; `nil` if it is unknown.
  open var principalName: String? { nil }

  /// Adds to the time that the call waited for its writes to be committed.
  public final func addCommit(ns: Int64) { waitedNs.wrappingAdd(ns, ordering: .relaxed) }
  public final var commitNs: Int64 { waitedNs.load(ordering: .relaxed) }
}
