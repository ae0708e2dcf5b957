import CampanileRPC
import CampanileService

/// Runs due timers in order, and sleeps until the next one is due. Run one loop per store.
///
/// Time comes from the repository's clock, so that a test can set it and call `runDue`. A failing timer is postponed by
/// a minute and does not block the others. Attempts of actions wait for other servers, so they run concurrently with
/// the loop.
struct NotificationTimerLoop: Sendable {
  static let batchMax = 50
  static let roundMax = 500
  static let putOffMs: Int64 = 60_000

  let repository: SQLiteNotificationsRepository
  let hub: WatchHub
  let actions: ActionRunner

  /// Runs until the task is cancelled.
  func run() async {
    let (attempts, due) = AsyncStream.makeStream(of: NotificationTimer.self)
    await withDiscardingTaskGroup { group in
      group.addTask {
        await AlarmLoop(
          schedule: repository.notifier.alarms, nowMs: repository.clockMs, nextMs: { try repository.nextTimerMs() },
          runDue: { try await runDue { due.yield($0) } }
        ).run()
        due.finish()
      }
      for await timer in attempts { group.addTask { await runAlone(timer) } }
    }
  }

  /// Runs one round of due timers, at most `roundMax`.
  ///
  /// - Parameter attempt: Receives the due attempts of actions. Their timers are postponed until the attempts would
  ///   count as lost.
  /// - Returns: The number of due timers.
  func runDue(_ attempt: (NotificationTimer) -> Void) async throws -> Int {
    let due = try repository.dueTimers(NotificationTimerKind.self, nowMs: repository.clockMs(), rowsMax: Self.roundMax)
    let attempts = due.filter { $0.kind == .actionRetry }
    if !attempts.isEmpty { try await actions.claim(attempts).forEach(attempt) }
    var batch: [NotificationTimer] = []
    for timer in due where timer.kind != .actionRetry {
      switch timer.kind {
      case .emptyBucket, .refillBucket:
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

  private func flush(_ batch: inout [NotificationTimer]) async throws {
    guard !batch.isEmpty else { return }
    let timers = batch
    batch = []
    do {
      try await repository.write { transaction in for timer in timers { try repository.run(timer, transaction) } }
    } catch  where timers.count > 1 && !(error is CancellationError) {
      // One of them failed the transaction: run each in its own.
      for timer in timers {
        var one = [timer]
        try await flush(&one)
      }
    } catch let error as CancellationError {
      throw error
    } catch {
      try await repository.putOff(timers[0], toMs: repository.clockMs() + Self.putOffMs)
    }
    for user in Set(timers.map(\.user)) { hub.notify(user: user) }
  }

  func runAlone(_ timer: NotificationTimer) async {
    do {
      switch timer.kind {
      case .emptyBucket:
        try await repository.finishShare(timer.subject, of: timer.user)
        _ = try await repository.emptyBucket(timer.subject, user: timer.user)
      case .refillBucket: try await repository.refillBucket(timer.subject, user: timer.user)
      default: try await actions.retry(timer.subject, user: timer.user)
      }
    } catch {
      try? await repository.putOff(timer, toMs: repository.clockMs() + Self.putOffMs)
    }
    hub.notify(user: timer.user)
  }
}
