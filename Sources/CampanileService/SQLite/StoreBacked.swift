import CampanileBase
public import CampanileCodec
import CampanileRPC
public import CampanileStore

/// A repository on a store.
///
/// On SQLite, reads run on the caller's thread, so that a handler never leaves its event loop for them. Writes join the
/// store's group commit. Errors of the store become `RPCError`s.
public protocol StoreBacked: Sendable {
  var store: Store { get }
  /// The wall clock in milliseconds since 1970.
  var clockMs: @Sendable () -> Int64 { get }
}

extension StoreBacked {
  /// Performs a write, which is durable when the function returns.
  ///
  /// - Parameter ahead: The body's first queries, evaluated only for a server.
  public func storeWrite<T: Sendable>(
    ahead: @autoclosure () -> ReadAhead? = nil, _ body: @escaping @Sendable (WriteTransaction) throws -> T
  ) async throws -> T {
    do { return try await store.write(ahead: ahead(), body) } catch let failure as StoreError {
      throw RPCError(failure)
    }
  }

  /// Performs several queries on one snapshot.
  public func read<T: Sendable>(_ body: @Sendable (ReadTransaction) throws -> T) async throws -> T {
    do { return try await store.read(body) } catch let failure as StoreError { throw RPCError(failure) }
  }

  /// Performs one query.
  public func readSingle<T: Sendable>(_ body: @Sendable (ReadTransaction) throws -> T) async throws -> T {
    do { return try await store.readSingle(body) } catch let failure as StoreError { throw RPCError(failure) }
  }

  /// Like `readSingle`, on the caller's own thread, which waits.
  public func readSingleBlocking<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
    try RPCError.convertingStoreErrors { try store.readSingleBlocking(body) }
  }

  /// Returns the stored reply of a repeated request, or nil for a new one. Throws `requestIDReused`.
  public func storedReply<M: ProtoMessage>(
    _ type: M.Type, _ idempotency: IdempotentRequest?, _ transaction: WriteTransaction
  ) throws -> M? {
    guard let idempotency,
      let reply = try transaction.storedReply(
        idempotency.key, requestHash: idempotency.requestHash, nowMs: clockMs())
    else { return nil }
    return try StoredJSON.message(M.self, reply, "a stored reply")
  }

  /// Stores the reply for repetitions of its request.
  public func storeReply(
    _ reply: some ProtoMessage, _ idempotency: IdempotentRequest?, _ transaction: WriteTransaction
  ) throws {
    guard let idempotency else { return }
    try transaction.storeReply(
      reply.jsonUTF8Bytes(), idempotency.key, requestHash: idempotency.requestHash,
      expiresAtMs: clockMs() + ReplyRetention.retentionMs)
  }
}

extension WriteTransaction {
  /// Returns the epoch, which identifies this database's change log in resume tokens. Stores `candidate` if there is
  /// none yet.
  ///
  /// - Parameter table: A table with the columns `name` and `value`.
  public func logEpoch(in table: StaticString, candidate: UInt64) throws -> UInt64 {
    try execute(
      "INSERT INTO \(table) (name, value) VALUES ('log.epoch', $1) ON CONFLICT (name) DO NOTHING",
      [.text(String(candidate, radix: 16))])
    let kept = try queryOne("SELECT value FROM \(table) WHERE name = 'log.epoch'") { try $0.text(0) }
    guard let epoch = kept.flatMap({ UInt64($0, radix: 16) }) else {
      throw StoreError(.corrupt, "the epoch of the change log is invalid")
    }
    return epoch
  }
}
