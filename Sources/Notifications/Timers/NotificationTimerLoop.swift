import CampanileRPC
import CampanileService

/// The loop of the timers of Notifications.
///
/// Attempts of actions wait for other servers, so they run concurrently with the loop. Work on whole buckets takes many
/// commits, so it runs outside the batches.
struct NotificationTimerLoop: Sendable {
  let repository: SQLiteNotificationsRepository
  let hub: WatchHub
  let actions: ActionRunner

  private var loop: TimerLoop<SQLiteNotificationsRepository> { TimerLoop(repository: repository) }

  /// Runs until the task is cancelled.
  func run() async {
    let (attempts, due) = AsyncStream.makeStream(of: NotificationTimer.self)
    await withDiscardingTaskGroup { group in
      group.addTask {
        await loop.run { try await runDue { due.yield($0) } }
        due.finish()
      }
      for await timer in attempts { group.addTask { await runAlone(timer) } }
    }
  }

  /// Runs one round of due timers.
  ///
  /// - Parameter attempt: Receives the due attempts of actions. Their timers are postponed until the attempts would
  ///   count as lost.
  /// - Returns: The number of due timers.
  func runDue(_ attempt: (NotificationTimer) -> Void) async throws -> Int {
    let due = try await loop.due()
    let attempts = due.filter { $0.kind == .actionRetry }
    if !attempts.isEmpty { try await actions.claim(attempts).forEach(attempt) }
    var batch: [NotificationTimer] = []
    for timer in due where timer.kind != .actionRetry {
      switch timer.kind {
      case .emptyBucket, .refillBucket:
        try await flush(&batch)
        await runAlone(timer)
      default: batch.append(timer)
      }
    }
    try await flush(&batch)
    return due.count
  }

  private func flush(_ batch: inout [NotificationTimer]) async throws {
    try await loop.run(batch)
    for user in Set(batch.map(\.user)) { hub.notify(user: user) }
    batch = []
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
      try? await loop.postpone(timer)
    }
    hub.notify(user: timer.user)
  }
}
