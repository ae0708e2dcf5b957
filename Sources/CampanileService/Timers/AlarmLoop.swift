/// Runs what is due, and sleeps until the next alarm or until a commit schedules an earlier one.
public struct AlarmLoop: Sendable {
  /// The maximum sleep, within which a clock that was set forward is noticed.
  public static let sleepMaxMs: Int64 = 10_000

  private let schedule: AlarmSchedule
  private let nowMs: @Sendable () -> Int64
  private let nextMs: @Sendable () throws -> Int64?
  private let runDue: @Sendable () async throws -> Int

  /// - Parameters:
  ///   - nextMs: Returns the time of the next alarm, or nil if there is none.
  ///   - runDue: Runs a round of what is due and returns the number of items.
  public init(
    schedule: AlarmSchedule, nowMs: @escaping @Sendable () -> Int64, nextMs: @escaping @Sendable () throws -> Int64?,
    runDue: @escaping @Sendable () async throws -> Int
  ) {
    self.schedule = schedule
    self.nowMs = nowMs
    self.nextMs = nextMs
    self.runDue = runDue
  }

  /// Runs until the task is cancelled.
  public func run() async {
    while !Task.isCancelled {
      do {
        schedule.plan(.max)
        if try await runDue() > 0 { continue }
        let now = nowMs()
        let next = try nextMs() ?? .max
        schedule.plan(next)
        try await sleep(min(max(1, next == .max ? .max : next - now), Self.sleepMaxMs))
      } catch is CancellationError {
        return
      } catch {
        // The store is closed, full or overloaded.
        do { try await Task.sleep(for: .milliseconds(1_000)) } catch { return }
      }
    }
  }

  private func sleep(_ pauseMs: Int64) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await Task.sleep(for: .milliseconds(pauseMs)) }
      group.addTask { try await schedule.signal.wait() }
      defer { group.cancelAll() }
      try await group.next()
    }
    try Task.checkCancellation()
  }
}
