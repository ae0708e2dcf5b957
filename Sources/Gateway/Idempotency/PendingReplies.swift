/// The pending calls with an idempotency key, and the repeats that wait for them. Performs no I/O.
struct PendingReplies<Waiter: Sendable> {
  /// An arriving call with an idempotency key.
  struct Arriving: Sendable {
    /// Unique for each combination of principal, method and idempotency key.
    var name: String
    var principal: String
    var requestHash: [UInt8]
    var sizeBytes = 0
    var waiter: Waiter
  }

  enum Arrival: Hashable {
    /// The first call, which runs.
    case leads
    /// A repeat, which waits for the response to the first call.
    case waits
    /// The same key with a different request.
    case differs
    case tooMany
    case tooManyWaiters
  }

  private struct Pending {
    var principal: String
    var requestHash: [UInt8]
    /// The same for all repeats, because their hashes are the same.
    var sizeBytes: Int
    var waiters: [Waiter] = []

    func amount(calls: Int) -> ReplyUsage.Amount { .init(count: calls, sizeBytes: calls * sizeBytes) }
  }

  private let policy: ReplyLimits
  private var pending: [String: Pending] = [:]
  private(set) var usage = ReplyUsage()

  init(_ policy: ReplyLimits) { self.policy = policy }

  var count: Int { pending.count }

  mutating func arrive(_ call: Arriving) -> Arrival {
    let known = pending[call.name]
    if let known, known.requestHash != call.requestHash { return .differs }
    let one = ReplyUsage.Amount(count: 1, sizeBytes: call.sizeBytes)
    guard (usage.total + one).fits(count: policy.pendingMax, sizeBytes: policy.pendingBytesMax),
      (usage[call.principal] + one).fits(
        count: policy.principalPendingMax, sizeBytes: policy.principalPendingBytesMax)
    else { return .tooMany }
    if let known {
      guard known.waiters.count < policy.waitersMax else { return .tooManyWaiters }
      pending[call.name]?.waiters.append(call.waiter)
    } else {
      pending[call.name] = Pending(
        principal: call.principal, requestHash: call.requestHash, sizeBytes: call.sizeBytes)
    }
    usage.add(one, of: call.principal)
    return known == nil ? .leads : .waits
  }

  /// Removes a call that has its response, and returns the repeats that waited for it.
  mutating func finish(_ name: String) -> [Waiter] {
    guard let call = pending.removeValue(forKey: name) else { return [] }
    usage.add(-call.amount(calls: call.waiters.count + 1), of: call.principal)
    return call.waiters
  }

  /// Removes a call that was abandoned before it ran, and returns the repeat that replaces it. If there is none, the
  /// key becomes free.
  mutating func promote(_ name: String) -> Waiter? {
    guard let call = pending[name] else { return nil }
    usage.add(-call.amount(calls: 1), of: call.principal)
    guard !call.waiters.isEmpty else {
      pending[name] = nil
      return nil
    }
    return pending[name]?.waiters.removeFirst()
  }
}
