import CampanileService

/// Runs due timers in order and sleeps until the next. One loop per store.
///
/// Time comes from the repository's clock: a test advances it and calls `runDue`. A failed timer is postponed by a
/// minute and does not block the rest.
struct ActivityTimerLoop: Sendable {
  static let batchMax = 50
  static let roundMax = 500
  static let putOffMs: Int64 = 60_000

  let repository: SQLiteActivitiesRepository

  /// Runs until the task is cancelled.
  func run() async {
    await AlarmLoop(
      schedule: repository.notifier, nowMs: repository.clockMs, nextMs: { try repository.nextTimerMs() },
      runDue: { try await runDue() }
    ).run()
  }

  /// Runs the timers that are due now, at most `roundMax`, and returns their number.
  func runDue() async throws -> Int {
    let due = try repository.dueTimers(ActivityTimerKind.self, nowMs: repository.clockMs(), rowsMax: Self.roundMax)
    for start in stride(from: 0, to: due.count, by: Self.batchMax) {
      try await run(Array(due[start..<min(due.count, start + Self.batchMax)]))
    }
    return due.count
  }

  private func run(_ timers: [ActivityTimer]) async throws {
    do {
      try await repository.write { transaction in
        for timer in timers { try repository.run(timer, transaction) }
      }
    } catch let error as CancellationError {
      throw error
    } catch {
      if let only = timers.first, timers.count == 1 {
        return try await repository.putOff(only, toMs: repository.clockMs() + Self.putOffMs)
      }
      // One timer fails the batch: run each in its own transaction.
      for timer in timers { try await run([timer]) }
    }
  }
}
