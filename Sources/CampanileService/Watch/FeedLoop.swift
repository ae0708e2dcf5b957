/// Hands on, step by step, what a store holds for another service: until nothing is left, then again after the next commit.
public enum FeedLoop {
  /// The longest pause between attempts while the other side is away.
  public static let retryMsMax: Int64 = 30_000

  /// Runs until the task is cancelled. `step` takes a bounded piece and answers how much that was; what it throws means that
  /// nothing was handed on, and it is tried again after a pause that doubles from 250 ms. `bell` is rung by every commit.
  /// `log` is told of the first failure in a row, and when it is over.
  public static func run(
    bell: WatchBell, log: @Sendable (String) -> Void = { _ in },
    sleepMs: @Sendable (Int64) async throws -> Void = { try await Task.sleep(for: .milliseconds($0)) },
    _ step: @Sendable () async throws -> Int
  ) async {
    var failures: Int64 = 0
    while !Task.isCancelled {
      do {
        let count = try await step()
        if failures > 0 { log("works again") }
        failures = 0
        if count == 0 { try await bell.wait() }
      } catch is CancellationError {
        return
      } catch {
        if failures == 0 { log("failed, and is tried until it works: \(error)") }
        failures = min(failures + 1, 8)
        do { try await sleepMs(min(125 << failures, retryMsMax)) } catch { return }
      }
    }
  }
}
