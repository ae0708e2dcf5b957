import CampanileRPC
import CampanileService

/// Runs what is due, in order, and sleeps until the next. One loop a store.
///
/// Time comes from the repository's clock, so that a test moves it and calls `runDue`. What fails is put off by a minute
/// and does not hold up the rest.
struct TimerLoop: Sendable {
  static let batchMax = 50
  static let roundMax = 500
  static let putOffMs: Int64 = 60_000

  let repository: SQLiteNotificationsRepository
  let hub: WatchHub
  /// Tries an action again; it sets or clears its own timer.
  let retryAction: @Sendable (_ runID: String, _ user: String) async throws -> Void

  /// Runs until the task is cancelled.
  func run() async {
    await AlarmLoop(
      board: repository.board.wake, nowMs: repository.clockMs, nextMs: { try repository.nextTimerMs() },
      runDue: { try await runDue() }
    ).run()
  }

  /// One round: what is due now, at most `roundMax`. Answers how many timers that were.
  func runDue() async throws -> Int {
    let due = try repository.dueTimers(TimerKind.self, nowMs: repository.clockMs(), rowsMax: Self.roundMax)
    var batch: [DueTimer] = []
    for timer in due {
      switch timer.kind {
      case .emptyBucket, .refillBucket, .actionRetry:
        try await flush(&batch)
        await runAlone(timer)
      default:
        batch.append(timer)
        if batch.count == Self.batchMax { try await flush(&batch) }
      }
    }
    try await flush(&batch)
    return due.count
  }

  private func flush(_ batch: inout [DueTimer]) async throws {
    guard !batch.isEmpty else { return }
    let timers = batch
    batch = []
    do {
      try await repository.write { transaction in for timer in timers { try repository.run(timer, transaction) } }
    } catch  where timers.count > 1 && !(error is CancellationError) {
      // One of them spoils it: each for itself.
      for timer in timers {
        var one = [timer]
        try await flush(&one)
      }
    } catch let error as CancellationError {
      throw error
    } catch {
      try await repository.putOff(timers[0], toMs: repository.clockMs() + Self.putOffMs)
    }
    for user in Set(timers.map(\.user)) { hub.ring(user: user) }
  }

  private func runAlone(_ timer: DueTimer) async {
    do {
      switch timer.kind {
      case .emptyBucket:
        try await repository.finishShare(timer.subject, of: timer.user)
        _ = try await repository.emptyBucket(timer.subject, user: timer.user)
      case .refillBucket: try await repository.refillBucket(timer.subject, user: timer.user)
      default: try await retryAction(timer.subject, timer.user)
      }
    } catch {
      try? await repository.putOff(timer, toMs: repository.clockMs() + Self.putOffMs)
    }
    hub.ring(user: timer.user)
  }
}
