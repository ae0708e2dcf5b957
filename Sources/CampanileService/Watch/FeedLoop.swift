public import CampanileBase

/// Delivers the pending data of a store to another service in steps, until nothing is left, and again after each
/// commit.
public enum FeedLoop {
  /// The maximum pause between attempts while the other service is unavailable.
  public static let retryMsMax: Int64 = 30_000

  /// Runs until the task is cancelled.
  ///
  /// - Parameters:
  ///   - signal: Signalled after every commit.
  ///   - log: Receives the first of successive failures, and the recovery.
  ///   - step: Processes a bounded part and returns its size. If it throws, nothing counts as delivered, and it is
  ///     retried after a pause that doubles from 250 ms.
  public static func run(
    signal: WakeSignal, log: @Sendable (String) -> Void = { _ in },
    sleepMs: @Sendable (Int64) async throws -> Void = { try await Task.sleep(for: .milliseconds($0)) },
    _ step: @Sendable () async throws -> Int
  ) async {
    var failures: Int64 = 0
    while !Task.isCancelled {
      do {
        let count = try await step()
        if failures > 0 { log("resumed") }
        failures = 0
        if count == 0 { try await signal.wait() }
      } catch is CancellationError {
        return
      } catch {
        if failures == 0 { log("failed; retrying until it succeeds: \(error)") }
        failures = min(failures + 1, 8)
        do { try await sleepMs(min(125 << failures, retryMsMax)) } catch { return }
      }
    }
  }
}
