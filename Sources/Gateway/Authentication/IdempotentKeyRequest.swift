import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileStore

/// A request for a new key that its sender may repeat.
///
/// Its stored responses have a table of their own: those in `store_idempotency` count towards the limits of a principal
/// and are removed beyond them.
struct IdempotentKeyRequest: Sendable {
  let key: IdempotencyKey
  let requestHash: [UInt8]
  let nowMs: Int64
  /// Encodes the response without its secret, from the new key and the one that it replaces.
  private let reply: @Sendable (StoredApiKey, StoredApiKey?) -> [UInt8]

  /// The stored response to the first request.
  struct Repeated: Error {
    var reply: [UInt8]
  }

  /// Returns nil without a request id.
  ///
  /// - Parameters:
  ///   - id: The field with the request id.
  ///   - reply: Makes the response without its secret.
  init?<Q: ProtoMessage, R: ProtoMessage>(
    _ request: Q, id: WritableKeyPath<Q, String>, _ context: CallContext, nowMs: Int64,
    reply: @escaping @Sendable (StoredApiKey, StoredApiKey?) -> R
  ) throws(RPCError) {
    let requestID = request[keyPath: id]
    if requestID.isEmpty { return nil }
    var requestWithoutID = request
    requestWithoutID[keyPath: id] = ""
    key = IdempotencyKey(
      principal: context.principal?.name ?? "", method: context.method.path, requestID: requestID)
    self.nowMs = nowMs
    self.reply = { reply($0, $1).jsonUTF8Bytes() }
    do throws(CryptoError) {
      requestHash = try SHA256.digest(requestWithoutID.jsonUTF8Bytes()).bytes
    } catch {
      throw RPCError(.internalError, "the request cannot be hashed")
    }
  }

  /// Throws `Repeated` with the stored response of a repeated request, and FAILED_PRECONDITION, reason
  /// `REQUEST_ID_REUSED`, if the id was used for a different request.
  func checkIsNew(in transaction: WriteTransaction) throws {
    let found = try transaction.queryOne(
      """
      SELECT request_hash, reply FROM api_key_requests
      WHERE principal = $1 AND method = $2 AND request_id = $3 AND expires_at_ms > $4
      """, [.text(key.principal), .text(key.method), .text(key.requestID), .integer(nowMs)]
    ) { row in (hash: try row.bytes(0), reply: try row.bytes(1)) }
    guard let found else { return }
    guard found.hash == requestHash else {
      var error = StoreError(.requestIDReused, "the request id was used before for a different request").rpcError
      error.fieldViolations = [
        .init(field: "requestId", description: "was used for a different request", reason: error.reason)
      ]
      throw error
    }
    throw Repeated(reply: found.reply)
  }

  /// Stores the response for repetitions of the request.
  func store(_ made: StoredApiKey, replaced: StoredApiKey?, in transaction: WriteTransaction) throws {
    try transaction.execute(
      """
      INSERT INTO api_key_requests (principal, method, request_id, request_hash, reply, expires_at_ms)
      VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (principal, method, request_id) DO UPDATE
      SET request_hash = excluded.request_hash, reply = excluded.reply, expires_at_ms = excluded.expires_at_ms
      """,
      [
        .text(key.principal), .text(key.method), .text(key.requestID), .blob(requestHash),
        .blob(reply(made, replaced)), .integer(nowMs + ReplyRetention.retentionMs),
      ])
  }

  /// Deletes up to 1000 expired responses.
  ///
  /// - Returns: The number of deleted responses.
  static func deleteExpired(nowMs: Int64, in transaction: WriteTransaction) throws -> Int {
    try transaction.executeCounting(
      """
      DELETE FROM api_key_requests WHERE (principal, method, request_id) IN (
        SELECT principal, method, request_id FROM api_key_requests WHERE expires_at_ms <= $1
        ORDER BY expires_at_ms LIMIT 1000)
      """, [.integer(nowMs)])
  }
}
