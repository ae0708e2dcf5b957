import CampanileCrypto
import CampanileStore
import NIOCore
import Synchronization

/// The result of looking up a call with an idempotency key.
enum ReplyLookUp: Sendable, Hashable {
  /// The stored response to the first call.
  case stored([UInt8])
  /// No gateway carries out the request, so this one may.
  ///
  /// - `claim`: The number of the claim; nil if there are no other gateways.
  case free(claim: Int64?)
  /// Another gateway carries out the request.
  case elsewhere
}

/// A claim in the database: a gateway carries out the request.
struct StoredClaim: Sendable, Hashable {
  var requestHash: [UInt8]
  /// The gateway's name in `gateway_members`.
  var owner: String
  var isOwnerAlive: Bool

  /// Whether a gateway has to wait for the end of this claim.
  ///
  /// - Throws: `requestIDReused` for a claim of a different request.
  func blocks(_ gateway: String, requestHash: [UInt8]) throws(StoreError) -> Bool {
    // A gateway runs one call of a key at a time, so an own claim is left over.
    guard isOwnerAlive, owner != gateway else { return false }
    guard self.requestHash == requestHash else {
      throw StoreError(.requestIDReused, "the request id was used before for a different request")
    }
    return true
  }
}

/// A claim that this gateway holds.
struct HeldClaim: Sendable, Hashable {
  var key: IdempotencyKey
  /// Unique, so that a late release does not end a later claim of the same key.
  var number: Int64
  /// The name under which the end of the claim is announced.
  var announcement: String
}

/// The requests with an idempotency key that the gateways on one database carry out, each by one of them.
///
/// A claim is a row that a gateway inserts before it forwards the request, and deletes in the transaction that stores
/// the response. It is free as soon as its gateway's row in `gateway_members` has ended. Thread-safe.
final class ReplyClaims: Sendable {
  /// Maximum age of a claim when its request is forwarded, below the time after which others may take it over.
  static let ageMax = TimeAmount.milliseconds(GatewayMembership.lengthMs - 2_000)

  private static let findSQL = """
    SELECT c.request_hash, c.owner, CASE WHEN m.name IS NULL THEN 0 ELSE 1 END FROM reply_claims AS c
    LEFT JOIN gateway_members AS m ON m.name = c.owner AND m.until_ms >= \(GatewayMembership.nowMs)
    WHERE c.principal = $1 AND c.method = $2 AND c.request_id = $3
    """
  /// Changes no row if this gateway's own membership has ended.
  private static let claimSQL = """
    INSERT INTO reply_claims (principal, method, request_id, request_hash, owner, claim)
    SELECT $1::TEXT, $2::TEXT, $3::TEXT, $4::BYTEA, name, $6::BIGINT FROM gateway_members
    WHERE name = $5 AND until_ms >= \(GatewayMembership.nowMs)
    ON CONFLICT (principal, method, request_id) DO UPDATE
    SET request_hash = excluded.request_hash, owner = excluded.owner, claim = excluded.claim
    """
  private static let endSQL = """
    DELETE FROM reply_claims WHERE principal = $1 AND method = $2 AND request_id = $3 AND claim = $4
    """

  /// A call that is looked up, or that waits for another gateway.
  private struct Watched {
    var call: IdempotentCall
    var announcement: String
    var isLookingUp = true
    /// Whether the claim may have ended during the look-up.
    var mayHaveEnded = false
  }

  private struct State {
    /// The numbers of the claims of pending calls, by the names of the calls.
    var held: [String: Int64] = [:]
    var watched: [String: Watched] = [:]
    var unreleased: [HeldClaim] = []
  }

  private let store: Store
  private let owner: String
  private let peers: GatewayPeers
  private let state = Mutex(State())

  init(store: Store, owner: String, peers: GatewayPeers) {
    self.store = store
    self.owner = owner
    self.peers = peers
  }

  /// Returns the stored response, or claims the request.
  ///
  /// - Throws: `requestIDReused` for a different request; `unavailable` if this gateway has lost its membership.
  func lookUp(_ key: IdempotencyKey, requestHash: [UInt8], nowMs: Int64) async throws -> ReplyLookUp {
    let (owner, number) = (owner, Int64.random(in: 1 ... .max))
    let names: [SQLValue] = [.text(key.principal), .text(key.method), .text(key.requestID)]
    let ahead = ReadAhead(
      subject: "\(key.principal) \(key.method) \(key.requestID)", [key.query, SQLQuery(Self.findSQL, names)])
    return try await store.write(ahead: ahead) { transaction in
      if let reply = try transaction.storedReply(key, requestHash: requestHash, nowMs: nowMs) { return .stored(reply) }
      let found = try transaction.queryOne(Self.findSQL, names) { row in
        StoredClaim(requestHash: try row.bytes(0), owner: try row.text(1), isOwnerAlive: try row.bool(2))
      }
      if try found?.blocks(owner, requestHash: requestHash) == true { return .elsewhere }
      guard
        try transaction.executeCounting(
          Self.claimSQL, names + [.blob(requestHash), .text(owner), .integer(number)]) == 1
      else { throw StoreError(.unavailable, "this gateway is not among those of the database") }
      return .free(claim: number)
    }
  }

  /// Ends a claim in the transaction that stores the response.
  ///
  /// - Returns: False if another gateway has taken it over.
  func end(_ claim: HeldClaim, in transaction: WriteTransaction) throws -> Bool {
    let key = claim.key
    peers.changed(claim.announcement)
    return try transaction.executeCounting(
      Self.endSQL, [.text(key.principal), .text(key.method), .text(key.requestID), .integer(claim.number)]) == 1
  }

  func release(_ claim: HeldClaim) async {
    do { try await store.write { _ = try self.end(claim, in: $0) } } catch { releaseLater(claim) }
  }

  /// Retains a claim that could not be released for `releaseRest`.
  func releaseLater(_ claim: HeldClaim) { state.withLock { $0.unreleased.append(claim) } }

  func releaseRest() async {
    let rest = state.withLock { state in
      defer { state.unreleased = [] }
      return state.unreleased
    }
    for claim in rest { await release(claim) }
  }

  // MARK: Claims of pending calls

  func hold(_ number: Int64, _ call: IdempotentCall) { state.withLock { $0.held[call.name] = number } }

  /// Removes and returns the claim of a pending call; nil if it has none.
  func take(_ call: IdempotentCall, _ key: IdempotencyKey) -> HeldClaim? {
    state.withLock { $0.held.removeValue(forKey: call.name) }
      .map { HeldClaim(key: key, number: $0, announcement: Self.announcement(of: call)) }
  }

  // MARK: Waiting for other gateways

  /// Begins to watch for the end of a claim, before the look-up, so that none is missed.
  func watch(_ call: IdempotentCall) {
    let watched = Watched(call: call, announcement: Self.announcement(of: call))
    state.withLock { $0.watched[call.name] = watched }
  }

  func unwatch(_ call: IdempotentCall) { state.withLock { $0.watched[call.name] = nil } }

  /// Returns whether the claim that a look-up has found may have ended since. If not, the call waits for its end.
  func mustLookUpAgain(_ call: IdempotentCall) -> Bool {
    state.withLock { state in
      guard let watched = state.watched[call.name] else { return false }
      state.watched[call.name]?.isLookingUp = watched.mayHaveEnded
      state.watched[call.name]?.mayHaveEnded = false
      return watched.mayHaveEnded
    }
  }

  /// Returns the waiting calls whose claims may have ended. Each must be looked up again.
  func takeWaiting(_ changes: ChangedNames) -> [IdempotentCall] {
    state.withLock { state in
      guard !state.watched.isEmpty else { return [] }
      var found: [IdempotentCall] = []
      for (name, watched) in state.watched where changes.contains(watched.announcement) {
        if watched.isLookingUp {
          state.watched[name]?.mayHaveEnded = true
        } else {
          state.watched[name]?.isLookingUp = true
          found.append(watched.call)
        }
      }
      return found
    }
  }

  private static func announcement(of call: IdempotentCall) -> String {
    ((try? SHA256.digest(call.name))?.hexadecimal.prefix(16)).map(String.init) ?? GatewayPeers.access
  }
}
