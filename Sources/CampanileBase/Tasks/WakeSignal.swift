import Synchronization

/// A signal that is stored until its single waiter receives it. Several signals before a wait count as one.
public final class WakeSignal: Sendable {
  private struct State {
    var isRaised = false
    var closure: RPCError?
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  public init() {}

  public func notify() {
    let waiter = state.withLock { state in
      defer { state.waiter = nil }
      if state.waiter == nil { state.isRaised = true }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Ends the current wait and all further ones with an error.
  public func close(_ error: RPCError) {
    state.withLock { $0.closure = error }
    notify()
  }

  /// Returns after the next signal.
  ///
  /// - Throws: `CancellationError` if the task is cancelled; the error of `close`.
  public func wait() async throws {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mustResume = state.withLock { state in
          if state.isRaised || state.closure != nil || state.waiter != nil || Task.isCancelled {
            state.isRaised = false
            return true
          }
          state.waiter = continuation
          return false
        }
        if mustResume { continuation.resume() }
      }
    } onCancel: {
      notify()
    }
    try Task.checkCancellation()
    if let closure = state.withLock({ $0.closure }) { throw closure }
  }
}

extension WakeSignal {
  /// Sleeps for a number of milliseconds; tests replace it.
  package typealias Sleep = @Sendable (Int64) async throws -> Void

  /// Returns after the next signal, or after `timeoutMs`. Throws the errors of `wait()`.
  package func wait(
    timeoutMs: Int64, sleepMs: @escaping Sleep = { try await Task.sleep(for: .milliseconds($0)) }
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await sleepMs(timeoutMs) }
      group.addTask { try await self.wait() }
      defer { group.cancelAll() }
      try await group.next()
    }
    try Task.checkCancellation()
  }

  /// Repeats rounds of work until the task is cancelled.
  ///
  /// - Parameters:
  ///   - retryMs: The pause after a round that threw an error.
  ///   - failed: Receives that error.
  ///   - round: Runs a round. Returns the time after which the next one starts without a signal, or nil to start it at
  ///     once.
  package func runRounds(
    retryMs: Int64, sleepMs: @escaping Sleep = { try await Task.sleep(for: .milliseconds($0)) },
    failed: (any Error) -> Void = { _ in }, _ round: () async throws -> Int64?
  ) async {
    while !Task.isCancelled {
      do {
        if let pauseMs = try await round() { try await wait(timeoutMs: pauseMs, sleepMs: sleepMs) }
      } catch is CancellationError {
        return
      } catch {
        failed(error)
        do { try await sleepMs(retryMs) } catch { return }
      }
    }
  }
}
