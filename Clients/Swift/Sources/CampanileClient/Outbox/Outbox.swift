public import CampanileBase
public import CampanileCall
public import CampanileCodec

/// Calls that are stored on the device first, and sent once there is a network. Safe from any thread and process.
///
/// - `add` returns once the call is durable. Its request id was made by then: a call that is sent twice runs once.
/// - Calls of one object are sent in the order of `add`, one at a time. Calls of different objects overtake each other.
/// - A call is repeated until the server accepts or refuses it. After a refusal, the next call of its object follows.
/// - A call that the server refuses for good remains as an `OutboxRefusal`, with the server's reason, until the app
///   removes it.
/// - One process sends at a time. If it ends, another one that runs `run` takes over.
/// - Bounded by `OutboxLimits`: 10,000 entries or 8 MiB, then RESOURCE_EXHAUSTED `OUTBOX_FULL`.
///
/// Errors of the disk are UNAVAILABLE `FILE_UNAVAILABLE`; a call that could not be added was not stored.
public final class Outbox: Sendable {
  let path: String
  let limits: OutboxLimits
  let environment: ClientEnvironment
  let file: Locked<OutboxFile>
  /// Ends the pauses of `run`, for example once the network is back.
  public let reconnect: ReconnectSignal
  /// Wakes `run` after `add`.
  let added = ReconnectSignal()
  /// Wakes `changes` after each change.
  let changed = ReconnectSignal()

  /// Creates an outbox. The file is created at the first access.
  ///
  /// - Parameter path: The file, in a folder that exists. Files with the endings `.lock` and `.sender` are next to it.
  public init(
    path: String, limits: OutboxLimits = .init(), environment: ClientEnvironment = .system,
    reconnect: ReconnectSignal = .init()
  ) {
    self.path = path
    self.limits = limits
    self.environment = environment
    self.reconnect = reconnect
    file = Locked(OutboxFile(path: path))
  }

  deinit { file.withLock { $0.close() } }

  /// Stores a call.
  ///
  /// - Parameter object: The object that the call changes, such as the id of a meeting.
  /// - Throws: INVALID_ARGUMENT `NOT_REPEATABLE` for a method that may not be repeated and whose request has no request
  ///   id; RESOURCE_EXHAUSTED `OUTBOX_FULL`; UNAVAILABLE `FILE_UNAVAILABLE`.
  @discardableResult
  public func add<Q: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, object: String
  ) throws(RPCError) -> OutboxEntry {
    var json = request.jsonUTF8Bytes()
    var requestID = RequestIdentity.id(in: json)
    if requestID.isEmpty, RequestIdentity.isSupported(by: Q.self) {
      requestID = environment.newRequestID()
      json = RequestIdentity.adding(requestID, to: json)
    }
    guard method.kind == .unary, method.idempotency.allowsRetry || !requestID.isEmpty else {
      throw RPCError(
        .invalidArgument, "\(method.name) cannot be repeated: its request has no request id", reason: "NOT_REPEATABLE",
        processed: false)
    }
    var stored: OutboxEntry?
    try file.withLock { file throws(RPCError) in
      try file.append { journal throws(RPCError) in
        let entry = OutboxEntry(
          id: journal.nextID, object: object, method: method.path, request: json, requestID: requestID,
          createdMs: environment.wallMs())
        if let refusal = journal.refusal(of: entry, limits) { throw refusal }
        stored = entry
        return [.added(entry)]
      }
    }
    added.notify()
    changed.notify()
    guard let stored else { throw FileFailure.system("cannot write \(path)") }
    return stored
  }

  /// Returns the calls that were not sent, in the order of `add`.
  public func entries() throws(RPCError) -> [OutboxEntry] { try journal().entries }

  /// Returns the calls that were refused.
  public func refusals() throws(RPCError) -> [OutboxRefusal] { try journal().refusals }

  /// Removes a refusal that the app has handled, or withdraws an entry. A call that is being sent may still run.
  public func remove(_ id: UInt64) throws(RPCError) {
    try file.withLock { file throws(RPCError) in try file.append { (_) throws(RPCError) in [.removed(id)] } }
    changed.notify()
  }

  /// Yields at once, and after each change that this process makes, for screens that show what waits.
  public func changes() -> AsyncStream<Void> {
    let changed = changed
    let seen = Locked(-1)
    return AsyncStream {
      let count = seen.withLock { $0 }
      if count >= 0 { await changed.next(after: count) }
      if Task.isCancelled { return nil }
      seen.withLock { $0 = changed.count }
      return ()
    }
  }

  private func journal() throws(RPCError) -> OutboxJournal {
    try file.withLock { file throws(RPCError) in try file.read { $0 } }
  }
}
