import CampanileService

/// Runs what is due, in order, and sleeps until the next. One loop a store.
///
/// Time comes from the repository's clock, so that a test moves it and calls `runDue`. What fails is put off by a minute
/// and does not hold up the rest.
struct TimerLoop: Sendable {
  static let batchMax = 50
  static let roundMax = 500
  static let putOffMs: Int64 = 60_000

  let repository: SQLiteActivitiesRepository

  /// Runs until the task is cancelled.
  func run() async {
    await AlarmLoop(
      board: repository.board, nowMs: repository.clockMs, nextMs: { try repository.nextTimerMs() },
      runDue: { try await runDue() }
    ).run()
  }

  /// One round: what is due now, at most `roundMax`. Answers how many timers that were.
  func runDue() async throws -> Int {
    let due = try repository.dueTimers(TimerKind.self, nowMs: repository.clockMs(), rowsMax: Self.roundMax)
    for start in stride(from: 0, to: due.count, by: Self.batchMax) {
      try await run(Array(due[start..<min(due.count, start + Self.batchMax)]))
    }
    return due.count
  }

  private func run(_ timers: [DueTimer]) async throws {
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
      // One of them spoils it: each for itself.
      for timer in timers { try await run([timer]) }
    }
  }
}
