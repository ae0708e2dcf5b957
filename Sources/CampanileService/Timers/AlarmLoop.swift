/// Does what is due, and sleeps until the next is, or until a commit sets something that is due earlier.
public struct AlarmLoop: Sendable {
  /// Longest sleep: a clock that was set forward is noticed within it.
  public static let sleepMaxMs: Int64 = 10_000

  private let board: WakeBoard
  private let nowMs: @Sendable () -> Int64
  private let nextMs: @Sendable () throws -> Int64?
  private let runDue: @Sendable () async throws -> Int

  /// `nextMs` answers when the next is due, nil when nothing is; `runDue` does a round of what is due and answers how much
  /// that was.
  public init(
    board: WakeBoard, nowMs: @escaping @Sendable () -> Int64, nextMs: @escaping @Sendable () throws -> Int64?,
    runDue: @escaping @Sendable () async throws -> Int
  ) {
    self.board = board
    self.nowMs = nowMs
    self.nextMs = nextMs
    self.runDue = runDue
  }

  /// Runs until the task is cancelled.
  public func run() async {
    while !Task.isCancelled {
      do {
        board.plan(.max)
        if try await runDue() > 0 { continue }
        let now = nowMs()
        let next = try nextMs() ?? .max
        board.plan(next)
        try await sleep(min(max(1, next == .max ? .max : next - now), Self.sleepMaxMs))
      } catch is CancellationError {
        return
      } catch {
        // The store refuses: it is closed, full or overloaded.
        do { try await Task.sleep(for: .milliseconds(1_000)) } catch { return }
      }
    }
  }

  private func sleep(_ pauseMs: Int64) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await Task.sleep(for: .milliseconds(pauseMs)) }
      group.addTask { try await board.bell.wait() }
      defer { group.cancelAll() }
      try await group.next()
    }
    try Task.checkCancellation()
  }
}
