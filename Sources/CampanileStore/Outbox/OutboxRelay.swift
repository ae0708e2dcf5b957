public import CampanileBase

/// The result of one delivery.
public enum OutboxDelivery: Sendable, Hashable {
  case delivered
  /// The delivery failed; retry later.
  case retry(reason: String)
  /// The receiver rejects the message permanently, so it becomes a dead letter at once.
  case reject(reason: String)
}

/// The relay's clock and randomness, which tests replace.
public struct RelayEnvironment: Sendable {
  public var nowMs: @Sendable () -> Int64
  /// In 0..<1.
  public var random: @Sendable () -> Double
  /// Sleeps, or throws `CancellationError`.
  public var sleepMs: @Sendable (Int64) async throws -> Void
  /// Continues the traces of messages; `nil` disables that.
  public var tracer: Tracer?

  public init(
    nowMs: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    sleepMs: @escaping @Sendable (Int64) async throws -> Void = { try await Task.sleep(for: .milliseconds($0)) },
    tracer: Tracer? = nil
  ) {
    self.nowMs = nowMs
    self.random = random
    self.sleepMs = sleepMs
    self.tracer = tracer
  }
}

/// Delivers the messages of a store's outbox at least once, in order within a key, and with bounded concurrency.
///
/// Run one relay per store: two would break the order. `deliver` receives one message at a time per key. It must finish
/// by itself, for example at the deadline of its call. Its errors count as `retry`; a cancellation is not counted.
public struct OutboxRelay: Sendable {
  public struct Limits: Sendable {
    /// Messages read in one round.
    public var batchMessagesMax = 64
    /// Keys delivered to concurrently.
    public var parallelKeysMax = 8
    /// Number of failures after which a message becomes a dead letter.
    public var attemptsMax = 12
    /// Maximum time between two polls of the outbox if `wake` is not called.
    public var pollMs: Int64 = 1_000
    public var backoff = Backoff()

    public init() {}
  }

  /// The results of one round.
  public struct Round: Sendable, Hashable {
    public var delivered = 0
    public var retried = 0
    public var deadLetters = 0
    /// Messages that were not tried because an earlier one of their key failed.
    public var heldBack = 0
    public var taken: Int { delivered + retried + deadLetters + heldBack }

    public init() {}
  }

  private let store: Store
  private let limits: Limits
  private let environment: RelayEnvironment
  private let deliver: @Sendable (OutboxMessage) async throws -> OutboxDelivery
  private let signal = WakeSignal()

  public init(
    store: Store, limits: Limits = Limits(), environment: RelayEnvironment,
    deliver: @escaping @Sendable (OutboxMessage) async throws -> OutboxDelivery
  ) {
    self.store = store
    self.limits = limits
    self.environment = environment
    self.deliver = deliver
  }

  /// Wakes the relay after messages were committed, so that they do not wait for the next poll. Cheap and thread-safe.
  public func wake() { signal.notify() }

  /// Delivers messages until the task is cancelled. If the store fails, the round is repeated after `pollMs`.
  public func run() async {
    await signal.runRounds(retryMs: limits.pollMs, sleepMs: environment.sleepMs) {
      let round = try await deliverDue()
      return round.delivered + round.deadLetters > 0 ? nil : try await pauseMs()
    }
  }

  /// Runs one round: reads due messages, delivers them and records each result.
  ///
  /// - Throws: Errors of the store; `CancellationError` if cancelled between two messages.
  public func deliverDue() async throws -> Round {
    let nowMs = environment.nowMs()
    let messages = try await store.readSingle {
      try $0.dueMessages(nowMs: nowMs, rowsMax: max(1, limits.batchMessagesMax))
    }
    let groups = Dictionary(grouping: messages) { OrderingKey(topic: $0.topic, key: $0.key) }
    let queues = groups.values.sorted { ($0.first?.sequence ?? 0) < ($1.first?.sequence ?? 0) }
    var total = Round()
    try await withThrowingTaskGroup(of: Round.self) { group in
      var next = queues.makeIterator()
      for _ in 0..<max(1, limits.parallelKeysMax) {
        guard let queue = next.next() else { break }
        group.addTask { try await self.deliver(inOrder: queue) }
      }
      while let round = try await group.next() {
        total.add(round)
        if let queue = next.next() { group.addTask { try await self.deliver(inOrder: queue) } }
      }
    }
    return total
  }

  private struct OrderingKey: Hashable {
    let topic: String
    let key: String
  }

  /// Delivers the messages of one key. Stops at the first that must be retried; a dead letter does not stop it.
  private func deliver(inOrder queue: [OutboxMessage]) async throws -> Round {
    var round = Round()
    for (index, message) in queue.enumerated() {
      try Task.checkCancellation()
      let sequence = message.sequence
      switch try await attempt(message) {
      case .delivered:
        try await store.write { try $0.settleDelivered(sequence) }
        round.delivered += 1
      case .reject(let reason):
        try await settle(message, isFinal: true, reason)
        round.deadLetters += 1
      case .retry(let reason):
        let isFinal = message.attempts + 1 >= limits.attemptsMax
        try await settle(message, isFinal: isFinal, reason)
        if isFinal {
          round.deadLetters += 1
          continue
        }
        round.retried += 1
        round.heldBack += queue.count - index - 1
        return round
      }
    }
    return round
  }

  private func attempt(_ message: OutboxMessage) async throws -> OutboxDelivery {
    do {
      guard let span = environment.tracer?.span("outbox \(message.topic)", .consumer, after: message.trace) else {
        return try await deliver(message)
      }
      return try await deliver(message, as: span)
    } catch let error as CancellationError {
      throw error
    } catch {
      return .retry(reason: String(describing: error))
    }
  }

  private func deliver(_ message: OutboxMessage, as span: Span) async throws -> OutboxDelivery {
    span.set("messaging.message.id", message.id)
    span.set("campanile.attempt", String(message.attempts + 1))
    do {
      let outcome = try await CallScope.$current.withValue(CallScope(span: span)) { try await deliver(message) }
      if case .delivered = outcome { span.end() } else { span.end(failure: "\(outcome)") }
      return outcome
    } catch {
      span.end(failure: String(describing: error))
      throw error
    }
  }

  private func settle(_ message: OutboxMessage, isFinal: Bool, _ reason: String) async throws {
    let attempts = message.attempts + 1
    let delayMs = limits.backoff.delayMs(failures: attempts, random: environment.random())
    let next = isFinal ? nil : environment.nowMs().addingClamped(delayMs)
    let sequence = message.sequence
    try await store.write {
      try $0.settleFailed(sequence, attempts: attempts, nextAttemptAtMs: next, reason: reason)
    }
  }

  /// Returns the time until the next message is due, at most `pollMs`.
  private func pauseMs() async throws -> Int64 {
    guard let next = try await store.readSingle({ try $0.nextAttemptMs() }) else { return limits.pollMs }
    // A due message that is blocked by an earlier one of its key has a time in the past: poll again after a pause.
    let wait = next &- environment.nowMs()
    return wait > 0 ? min(wait, limits.pollMs) : limits.pollMs
  }
}

extension OutboxRelay.Round {
  mutating func add(_ other: Self) {
    delivered += other.delivered
    retried += other.retried
    deadLetters += other.deadLetters
    heldBack += other.heldBack
  }
}

extension Int64 {
  /// Returns the sum, clamped to the range because times come from outside.
  fileprivate func addingClamped(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    guard overflow else { return sum }
    return other > 0 ? .max : .min
  }
}
