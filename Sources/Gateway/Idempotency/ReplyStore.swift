import CampanileBase
import CampanileCrypto
import CampanileRPC
import CampanileStore
import Logging
import NIOCore
import Synchronization

/// The result of a call with an idempotency key.
typealias ReplyOutcome = Result<[UInt8], RPCError>

/// Responds to repeats of a request with the response to the first call: from the database, or as soon as it arrives.
///
/// Stores successful responses only: a failed call may be repeated. If several gateways use the database, a gateway
/// claims a request before it forwards it. Thread-safe.
final class ReplyStore: Sendable {
  private let store: Store
  private let policy: ReplyLimits
  private let nowMs: @Sendable () -> Int64
  private let logger: Logger
  /// The claims of this gateway; nil if no other gateway can use the database.
  private let claims: ReplyClaims?
  private let pending: Mutex<PendingReplies<IdempotentCall>>
  /// The usage of the stored responses.
  private let usage = Mutex(ReplyUsage())

  init(
    store: Store, policy: ReplyLimits, logger: Logger, nowMs: @escaping @Sendable () -> Int64,
    claims: ReplyClaims? = nil
  ) {
    self.store = store
    self.policy = policy
    self.logger = logger
    self.nowMs = nowMs
    self.claims = claims
    pending = Mutex(PendingReplies(policy))
  }

  /// Counts the stored responses. Call it before the server starts, and regularly if other gateways store responses.
  func load() async throws {
    let found = try await store.readSingle { try ReplyTable.usage(in: $0) }
    usage.withLock { $0 = found }
  }

  /// Deletes responses that are older than the retention.
  func purge() async throws {
    let nowMs = nowMs()
    try await change { try ReplyTable.purge(nowMs: nowMs, in: $0) }
  }

  /// Applies the current limits to a database of an earlier version or with higher limits. Removes secrets from its
  /// responses, and each principal's oldest responses beyond its limits.
  func tidy(_ methods: [MethodDescriptor]) async throws {
    let policy = policy
    let surplus = usage.withLock { usage in
      usage.principals(beyond: policy.principalRepliesMax, sizeBytes: policy.principalBytesMax)
    }
    for principal in surplus {
      try await change { transaction in
        try ReplyTable.trim(principal, usage: self.stored(of: principal), policy, in: transaction)
          .map { (principal, $0) }
      }
    }
    for method in methods where method.hasSecretResponse {
      try await change { try ReplyTable.redact(method: method.path, as: StoredReply.secret, in: $0) }
    }
  }

  /// Repeats a write until it changes less than a batch.
  private func change(
    _ write: @escaping @Sendable (WriteTransaction) throws -> [(String, ReplyUsage.Amount)]
  ) async throws {
    for _ in 0..<1_000 {
      let changes = try await store.write { try write($0) }
      usage.withLock { usage in for (principal, amount) in changes { usage.add(amount, of: principal) } }
      if changes.count < ReplyTable.batchRows { break }
    }
  }

  var pendingCount: Int { pending.withLock { $0.count } }
  /// The number and bytes of a principal's stored replies.
  func stored(of principal: String) -> ReplyUsage.Amount { usage.withLock { $0[principal] } }

  /// Starts a call with an idempotency key. Called on its event loop.
  func start(_ call: ServerCall, _ request: BufferedRequest, key: String, principal: String) {
    var (request, key) = (request, key)
    let requestHash: [UInt8]
    do throws(CryptoError) {
      requestHash = try SHA256.digest(request.params).bytes
      let caller = try CallerMetadata.digest(request.head.metadata)
      // A key contains no spaces.
      if !caller.isEmpty { key += " \(caller)" }
      if request.admitted.route.hasRequestID {
        request.params = DerivedRequestID.adding(try DerivedRequestID.text(for: key), to: request.params)
      }
    } catch {
      call.fail(ReplyFault.storeFailed)
      return call.handlerEnded()
    }
    let idempotentCall = IdempotentCall(
      call, request, key: key, requestHash: requestHash, principal: principal, replies: self)
    let arriving = PendingReplies<IdempotentCall>.Arriving(
      name: idempotentCall.name, principal: principal, requestHash: idempotentCall.requestHash,
      sizeBytes: request.params.count,
      waiter: idempotentCall)
    switch pending.withLock({ $0.arrive(arriving) }) {
    case .leads:
      claims?.watch(idempotentCall)
      lookUp(idempotentCall)
    case .waits: break
    case .differs: idempotentCall.answer(.failure(ReplyFault.reused))
    case .tooMany: idempotentCall.answer(.failure(ReplyFault.tooManyReplies))
    case .tooManyWaiters: idempotentCall.answer(.failure(ReplyFault.tooManyRepeats))
    }
  }

  /// Responds from the database, or forwards the request.
  private func lookUp(_ idempotentCall: IdempotentCall) {
    let (key, hash, nowMs) = (storeKey(idempotentCall), idempotentCall.requestHash, nowMs())
    let begun = NIODeadline.now()
    Task { [self] in
      let found: Result<ReplyLookUp, RPCError>
      do {
        if let claims {
          found = .success(try await claims.lookUp(key, requestHash: hash, nowMs: nowMs))
        } else {
          let reply = try await store.write { try $0.storedReply(key, requestHash: hash, nowMs: nowMs) }
          found = .success(reply.map { .stored($0) } ?? .free(claim: nil))
        }
      } catch let error as StoreError where error.code == .requestIDReused {
        found = .failure(ReplyFault.reused)
      } catch {
        // The caller and the metrics hear of a database that is away; a line for each call would fill the log.
        let isAway = (error as? StoreError)?.code == .unavailable
        logger.log(
          level: isAway ? .debug : .error, "reading a stored response failed", metadata: ["error": "\(error)"])
        found = .failure(ReplyFault.storeFailed)
      }
      idempotentCall.loop.execute { self.lookedUp(idempotentCall, found, begun) }
    }
  }

  private func lookedUp(
    _ idempotentCall: IdempotentCall, _ found: Result<ReplyLookUp, RPCError>, _ begun: NIODeadline
  ) {
    if case .success(.elsewhere) = found {
      if claims?.mustLookUpAgain(idempotentCall) == true { lookUp(idempotentCall) }
      return
    }
    claims?.unwatch(idempotentCall)
    switch found {
    case .success(.free(let claim)):
      if let claim { claims?.hold(claim, idempotentCall) }
      if claim != nil, NIODeadline.now() - begun > ReplyClaims.ageMax {
        // The process was suspended, so another gateway may have taken over the claim.
        answerAll(idempotentCall, .failure(ReplyFault.storeFailed))
      } else if usage.withLock({ $0.total.count }) >= policy.repliesMax {
        answerAll(idempotentCall, .failure(ReplyFault.tooManyReplies))
      } else {
        idempotentCall.forward()
      }
    case .success(.stored(let kept)): answerAll(idempotentCall, StoredReply.decode(kept))
    case .success(.elsewhere): break
    case .failure(let error): answerAll(idempotentCall, .failure(error))
    }
  }

  // MARK: Other gateways on the database

  /// Looks again at requests that other gateways carry out.
  ///
  /// - Parameter changes: What the commits of other gateways have changed.
  func changedElsewhere(_ changes: ChangedNames) {
    guard let claims else { return }
    for call in claims.takeWaiting(changes) {
      if NIODeadline.now() - call.startedAt < .milliseconds(policy.claimWaitMs) {
        lookUp(call)
      } else {
        claims.unwatch(call)
        call.loop.execute { self.answerAll(call, .failure(ReplyFault.firstUnanswered(processed: true))) }
      }
    }
  }

  /// Releases the claims that could not be released when their calls ended.
  func releaseRest() async { await claims?.releaseRest() }

  private func answerAll(_ idempotentCall: IdempotentCall, _ outcome: ReplyOutcome) {
    idempotentCall.answer(outcome)
    ended(idempotentCall, outcome)
  }

  /// Stores a successful response and ends the call. Calls `done` afterwards, even if it could not be stored.
  func keep(_ result: [UInt8], of idempotentCall: IdempotentCall, done: @escaping @Sendable () -> Void) {
    let (key, hash, policy) = (storeKey(idempotentCall), idempotentCall.requestHash, policy)
    let room = policy.totalBytesMax - usage.withLock { $0.total.sizeBytes }
    let kept = StoredReply.encode(
      result, sizeBytesMax: min(policy.replyBytesMax, policy.principalBytesMax, room),
      isSecret: idempotentCall.hasSecretResponse)
    let expiresAtMs = nowMs() + policy.retentionMs
    let held = claims?.take(idempotentCall, key)
    Task { [self] in
      do {
        let change = try await store.write { [claims] transaction in
          if let held, try claims?.end(held, in: transaction) == false {
            // Another gateway has taken over the request, because this one seemed to have ended.
            return ReplyUsage.Amount()
          }
          return try ReplyTable.store(
            kept, key, requestHash: hash, expiresAtMs: expiresAtMs, usage: self.stored(of: key.principal), policy,
            in: transaction)
        }
        usage.withLock { $0.add(change, of: key.principal) }
      } catch {
        if let held { claims?.releaseLater(held) }
        logger.error(
          "storing a response failed", metadata: ["method": "\(idempotentCall.method)", "error": "\(error)"])
      }
      // First, so that a repeat that follows the response finds the stored form, not this one with its secret.
      ended(idempotentCall, .success(result))
      done()
    }
  }

  /// Removes a call that has ended, and passes its outcome to the repeats that wait for it.
  func ended(_ idempotentCall: IdempotentCall, _ outcome: ReplyOutcome) {
    release(idempotentCall)
    for waiter in pending.withLock({ $0.finish(idempotentCall.name) }) {
      waiter.loop.execute { waiter.answer(Self.forOthers(outcome)) }
    }
  }

  /// Releases the claim of a call that has no response to store.
  private func release(_ idempotentCall: IdempotentCall) {
    guard let claims, let held = claims.take(idempotentCall, storeKey(idempotentCall)) else { return }
    Task { await claims.release(held) }
  }

  /// Promotes a waiting repeat, because the first caller left before its call ran.
  func givenUp(_ idempotentCall: IdempotentCall) {
    guard let next = pending.withLock({ $0.promote(idempotentCall.name) }) else { return release(idempotentCall) }
    next.loop.execute { next.forward() }
  }

  /// Replaces the first caller's deadline or cancellation, which does not apply to the other callers.
  private static func forOthers(_ outcome: ReplyOutcome) -> ReplyOutcome {
    guard case .failure(let error) = outcome, error.code == .deadlineExceeded || error.code == .cancelled else {
      return outcome
    }
    return .failure(ReplyFault.firstUnanswered(processed: error.processed))
  }

  private func storeKey(_ idempotentCall: IdempotentCall) -> IdempotencyKey {
    IdempotencyKey(principal: idempotentCall.principal, method: idempotentCall.method, requestID: idempotentCall.key)
  }
}

/// The stored form of a response: a byte with its kind, followed by the bytes of the result.
enum StoredReply {
  private static let whole: UInt8 = 1
  private static let tooLong: UInt8 = 2
  private static let isSecret: UInt8 = 3

  /// The stored form of a response with a secret.
  static let secret = [isSecret]

  static func encode(_ result: [UInt8], sizeBytesMax: Int, isSecret: Bool = false) -> [UInt8] {
    if isSecret { return secret }
    return result.count > sizeBytesMax ? [tooLong] : [whole] + result
  }

  static func decode(_ kept: [UInt8]) -> ReplyOutcome {
    switch kept.first {
    case whole: .success(Array(kept.dropFirst()))
    case isSecret: .failure(ReplyFault.secretNotStored)
    default: .failure(ReplyFault.notStored)
    }
  }
}
