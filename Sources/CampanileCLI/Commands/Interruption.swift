internal import UnixSignals

/// Ends work cleanly at Ctrl-C.
enum Interruption {
  /// Runs `body`, and cancels it at SIGINT or SIGTERM; ending it that way is a success.
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
        // What the cancelled call throws is the end that was asked for.
        if !wasInterrupted { throw error }
      }
    }
  }
}
