internal import UnixSignals

/// Ends a command cleanly on Ctrl-C.
enum Interruption {
  /// Runs `body` and cancels it on SIGINT or SIGTERM. An interrupted command counts as successful.
  static func run(_ body: @escaping @Sendable () async throws -> Void) async throws {
    let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await body()
        return false
      }
      group.addTask {
        for await _ in signals { return true }
        return false
      }
      var wasInterrupted = false
      do {
        wasInterrupted = try await group.next() ?? false
        group.cancelAll()
        while try await group.next() != nil {}
      } catch {
        group.cancelAll()
        // After an interruption, the error of the cancelled call is expected.
        if !wasInterrupted { throw error }
      }
    }
  }
}
