/// Which calls with an idempotency key are under way, and which repeats wait for them. Without I/O.
struct PendingReplies<Waiter> {
  enum Arrival: Hashable {
    /// The first: it is to be carried out.
    case leads
    /// A repeat: it is answered with the first.
    case waits
    /// The same key for another request.
    case differs
    case tooMany
    case tooManyWaiters
  }

  private struct Pending {
    var requestHash: [UInt8]
    var waiters: [Waiter] = []
  }

  private let policy: ReplyPolicy
  private var pending: [String: Pending] = [:]

  init(_ policy: ReplyPolicy) { self.policy = policy }

  var count: Int { pending.count }

  mutating func arrive(_ key: String, requestHash: [UInt8], waiter: Waiter) -> Arrival {
    guard let known = pending[key] else {
      guard pending.count < policy.pendingMax else { return .tooMany }
      pending[key] = Pending(requestHash: requestHash)
      return .leads
    }
    guard known.requestHash == requestHash else { return .differs }
    guard known.waiters.count < policy.waitersMax else { return .tooManyWaiters }
    pending[key]?.waiters.append(waiter)
    return .waits
  }

  /// The first call is answered: who waited for it.
  mutating func finish(_ key: String) -> [Waiter] { pending.removeValue(forKey: key)?.waiters ?? [] }

  /// The first call was given up before it was answered: who takes its place. Without anyone the key is free again.
  mutating func promote(_ key: String) -> Waiter? {
    guard pending[key]?.waiters.isEmpty == false else {
      pending[key] = nil
      return nil
    }
    return pending[key]?.waiters.removeFirst()
  }
}
