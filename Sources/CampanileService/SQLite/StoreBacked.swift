public import CampanileCodec
import CampanileRPC
public import CampanileStore

/// A repository over the embedded store. Reads run on the caller's thread, so that a handler never leaves its event loop for
/// one; writes join the store's group commit. Failures of the store become `RPCError`s.
public protocol StoreBacked: Sendable {
  var store: Store { get }
  /// The wall clock in milliseconds since 1970.
  var clockMs: @Sendable () -> Int64 { get }
}

extension StoreBacked {
  /// A write, durable when the function returns.
  public func storeWrite<T: Sendable>(
    _ body: @escaping @Sendable (WriteTransaction) throws -> T
  ) async throws -> T {
    do {
      return try await store.write(body)
    } catch let failure as StoreError {
      throw RPCError(failure)
    }
  }

  /// Several queries on one snapshot.
  public func read<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
    do {
      return try store.read(body)
    } catch let failure as StoreError {
      throw RPCError(failure)
    }
  }

  /// One query.
  public func readSingle<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
    do {
      return try store.readSingle(body)
    } catch let failure as StoreError {
      throw RPCError(failure)
    }
  }

  /// The reply that was given to a request before; nil when it is new. Throws `requestIDReused`.
  public func replayed<M: ProtoMessage>(
    _ type: M.Type, _ repeatable: RepeatableRequest?, _ transaction: WriteTransaction
  ) throws -> M? {
    guard let repeatable,
      let reply = try transaction.storedReply(
        repeatable.key, requestHash: repeatable.requestHash, nowMs: clockMs())
    else { return nil }
    return try StoredJSON.message(M.self, reply, "a stored reply")
  }

  /// Keeps the reply for repeats of its request.
  public func keep(
    _ reply: some ProtoMessage, _ repeatable: RepeatableRequest?, _ transaction: WriteTransaction
  ) throws {
    guard let repeatable else { return }
    try transaction.storeReply(
      reply.jsonUTF8Bytes(), repeatable.key, requestHash: repeatable.requestHash,
      expiresAtMs: clockMs() + Idempotency.retentionMs)
  }
}

extension WriteTransaction {
  /// Names this database's change log in resume tokens: `candidate` at first, then what was kept. `table` has the columns
  /// `name` and `value`.
  public func logEpoch(in table: StaticString, candidate: UInt64) throws -> UInt64 {
    try execute(
      "INSERT INTO \(table) (name, value) VALUES ('log.epoch', $1) ON CONFLICT (name) DO NOTHING",
      [.text(String(candidate, radix: 16))])
    let kept = try queryOne("SELECT value FROM \(table) WHERE name = 'log.epoch'") { try $0.text(0) }
    guard let epoch = kept.flatMap({ UInt64($0, radix: 16) }) else {
      throw StoreError(.corrupt, "the epoch of the change log cannot be read")
    }
    return epoch
  }
}
