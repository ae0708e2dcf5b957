import CampanileCrypto
import CampanileRPC
import CampanileStore
import Logging
import NIOCore
import Synchronization

/// What a call with an idempotency key is answered.
typealias ReplyOutcome = Result<[UInt8], RPCError>

/// Answers repeats of a request with the answer to the first: from the database, or once the first is answered.
///
/// Only good answers are kept: a call that failed may be sent again. Safe from any thread.
final class ReplyKeeper: Sendable {
  private let store: Store
  private let policy: ReplyPolicy
  private let nowMs: @Sendable () -> Int64
  private let logger: Logger
  private let pending: Mutex<PendingReplies<RepeatedCall>>
  private let keptCount = Atomic<Int>(0)

  init(store: Store, policy: ReplyPolicy, logger: Logger, nowMs: @escaping @Sendable () -> Int64) {
    self.store = store
    self.policy = policy
    self.logger = logger
    self.nowMs = nowMs
    pending = Mutex(PendingReplies(policy))
  }

  /// Counts what is kept. Called once, before anything is served.
  func load() throws {
    let count = try store.readSingle { transaction in
      try transaction.queryOne("SELECT count(*) FROM store_idempotency") { try $0.integer(0) }
    }
    keptCount.store(Int(count ?? 0), ordering: .relaxed)
  }

  /// Forgets answers that are older than the retention.
  func purge() async throws {
    let count = try await store.purgeIdempotency(nowMs: nowMs())
    keptCount.wrappingSubtract(count, ordering: .relaxed)
  }

  var pendingCount: Int { pending.withLock { $0.count } }

  /// Takes a call over. Called on its event loop.
  func start(_ call: ServerCall, _ request: RepeatedRequest, key: String, principal: String) {
    guard let digest = try? SHA256.digest(request.params) else {
      call.fail(ReplyFault.storeFailed)
      return call.handlerEnded()
    }
    let repeated = RepeatedCall(
      call, request, key: key, requestHash: digest.bytes, principal: principal, keeper: self)
    switch pending.withLock({ $0.arrive(repeated.name, requestHash: repeated.requestHash, waiter: repeated) }) {
    case .leads: lookUp(repeated)
    case .waits: break
    case .differs: repeated.answer(.failure(ReplyFault.reused))
    case .tooMany: repeated.answer(.failure(ReplyFault.tooManyReplies))
    case .tooManyWaiters: repeated.answer(.failure(ReplyFault.tooManyRepeats))
    }
  }

  /// Answers from the database, or lets the request be carried out.
  private func lookUp(_ repeated: RepeatedCall) {
    let (key, hash, nowMs) = (storeKey(repeated), repeated.requestHash, nowMs())
    Task { [self] in
      let found: Result<[UInt8]?, RPCError>
      do {
        found = .success(try await store.write { try $0.storedReply(key, requestHash: hash, nowMs: nowMs) })
      } catch let error as StoreError where error.code == .requestIDReused {
        found = .failure(ReplyFault.reused)
      } catch {
        logger.error("reading a kept answer failed", metadata: ["error": "\(error)"])
        found = .failure(ReplyFault.storeFailed)
      }
      repeated.loop.execute { self.lookedUp(repeated, found) }
    }
  }

  private func lookedUp(_ repeated: RepeatedCall, _ found: Result<[UInt8]?, RPCError>) {
    switch found {
    case .success(nil) where keptCount.load(ordering: .relaxed) < policy.repliesMax: repeated.forward()
    case .success(nil): answerAll(repeated, .failure(ReplyFault.tooManyReplies))
    case .success(let kept?): answerAll(repeated, KeptReply.decode(kept))
    case .failure(let error): answerAll(repeated, .failure(error))
    }
  }

  private func answerAll(_ repeated: RepeatedCall, _ outcome: ReplyOutcome) {
    repeated.answer(outcome)
    ended(repeated, outcome)
  }

  /// Keeps a good answer and calls `done` when it is kept, or could not be.
  func keep(_ result: [UInt8], of repeated: RepeatedCall, done: @escaping @Sendable () -> Void) {
    let (key, hash) = (storeKey(repeated), repeated.requestHash)
    let kept = KeptReply.encode(result, sizeBytesMax: policy.replyBytesMax)
    let expiresAtMs = nowMs() + policy.retentionMs
    Task { [self] in
      do {
        try await store.write { try $0.storeReply(kept, key, requestHash: hash, expiresAtMs: expiresAtMs) }
        keptCount.wrappingAdd(1, ordering: .relaxed)
      } catch {
        logger.error("keeping an answer failed", metadata: ["method": "\(repeated.method)", "error": "\(error)"])
      }
      done()
      ended(repeated, .success(result))
    }
  }

  /// The first call is over: so are the repeats that wait for it.
  func ended(_ repeated: RepeatedCall, _ outcome: ReplyOutcome) {
    for waiter in pending.withLock({ $0.finish(repeated.name) }) {
      waiter.loop.execute { waiter.answer(Self.forOthers(outcome)) }
    }
  }

  /// Nobody waits for the first call, which was not carried out: another takes its place.
  func givenUp(_ repeated: RepeatedCall) {
    guard let next = pending.withLock({ $0.promote(repeated.name) }) else { return }
    next.loop.execute { next.forward() }
  }

  /// The first caller's patience is not that of the others.
  private static func forOthers(_ outcome: ReplyOutcome) -> ReplyOutcome {
    guard case .failure(let error) = outcome, error.code == .deadlineExceeded || error.code == .cancelled else {
      return outcome
    }
    return .failure(
      RPCError(
        .aborted, "the first call with this idempotency key was not answered in time", reason: "FIRST_CALL_UNANSWERED",
        processed: error.processed))
  }

  private func storeKey(_ repeated: RepeatedCall) -> IdempotencyKey {
    IdempotencyKey(principal: repeated.principal, method: repeated.method, requestID: repeated.key)
  }
}

/// An answer as it is stored: a byte that says what it is, and the bytes of the result.
enum KeptReply {
  private static let whole: UInt8 = 1
  private static let tooLong: UInt8 = 2

  static func encode(_ result: [UInt8], sizeBytesMax: Int) -> [UInt8] {
    result.count > sizeBytesMax ? [tooLong] : [whole] + result
  }

  static func decode(_ kept: [UInt8]) -> ReplyOutcome {
    switch kept.first {
    case whole: .success(Array(kept.dropFirst()))
    default: .failure(ReplyFault.notKept)
    }
  }
}
