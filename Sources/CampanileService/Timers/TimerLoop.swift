import CampanileBase
public import CampanileStore

/// A repository with the table `timers`.
public protocol TimerRepository: StoreBacked {
  associatedtype TimerKind: RawRepresentable<Int64> & Hashable & Sendable

  /// Wakes the loop when an earlier timer is set.
  var alarms: AlarmSchedule { get }
  /// Runs a write, after settling what other writes of the same commit have left pending.
  func write<T: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> T) async throws -> T
  /// Runs a timer, unless it was changed after it had been read.
  func run(_ timer: DueTimer<TimerKind>, _ transaction: WriteTransaction) throws
}

/// Runs due timers in order, and sleeps until the next one is due or a commit sets an earlier one. Run one per store.
///
/// Time comes from the repository's clock, so that a test can set it and call `runDue`. A failing timer is postponed by
/// a minute and does not block the others.
public struct TimerLoop<Repository: TimerRepository>: Sendable {
  public typealias Timer = DueTimer<Repository.TimerKind>

  static var batchMax: Int { 50 }
  static var roundMax: Int { 500 }
  static var postponementMs: Int64 { 60_000 }

  private let repository: Repository

  public init(repository: Repository) { self.repository = repository }

  /// Runs until the task is cancelled.
  public func run() async { await run { try await runDue() } }

  /// Runs until the task is cancelled.
  ///
  /// - Parameter runDue: Runs a round of due timers and returns their number.
  public func run(_ runDue: () async throws -> Int) async {
    let alarms = repository.alarms
    // A round fails if the store is closed, full or overloaded.
    await alarms.signal.runRounds(retryMs: 1_000) {
      alarms.plan(.max)
      if try await runDue() > 0 { return nil }
      let nextMs = try await repository.nextTimerMs()
      alarms.plan(nextMs ?? .max)
      return AlarmSchedule.sleepMs(untilMs: nextMs, nowMs: repository.clockMs())
    }
  }

  /// Runs a round of due timers and returns their number.
  public func runDue() async throws -> Int {
    let due = try await self.due()
    try await run(due)
    return due.count
  }

  /// Returns the timers of the next round, earliest first.
  public func due() async throws -> [Timer] {
    try await repository.dueTimers(Repository.TimerKind.self, nowMs: repository.clockMs(), rowsMax: Self.roundMax)
  }

  /// Runs timers in batches of one transaction each. A timer of a batch that fails runs in its own transaction.
  public func run(_ timers: [Timer]) async throws {
    for start in stride(from: 0, to: timers.count, by: Self.batchMax) {
      try await run(batch: Array(timers[start..<min(timers.count, start + Self.batchMax)]))
    }
  }

  private func run(batch: [Timer]) async throws {
    do {
      try await repository.write { transaction in
        for timer in batch { try repository.run(timer, transaction) }
      }
    } catch let error as CancellationError {
      throw error
    } catch {
      if batch.count == 1 { return try await postpone(batch[0]) }
      for timer in batch { try await run(batch: [timer]) }
    }
  }

  /// Postpones a timer that failed.
  public func postpone(_ timer: Timer) async throws {
    let dueMs = repository.clockMs() + Self.postponementMs
    try await repository.write { transaction in
      try transaction.setTimer(timer.kind, timer.subject, user: timer.user, dueMs: dueMs)
      repository.alarms.scheduled(dueMs)
    }
  }
}
