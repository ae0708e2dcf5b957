import CampanileBase
import Synchronization

/// A named condition for accepting calls, for example `store` or `backend notifications`.
public struct ReadinessCheck: Sendable {
  public var name: String
  /// Returns nil if the condition holds, otherwise a line that describes the problem.
  public var check: @Sendable () async -> String?

  public init(_ name: String, check: @escaping @Sendable () async -> String?) {
    self.name = name
    self.check = check
  }
}

/// The readiness checks behind `/readyz`. Safe to use from any thread.
public final class ReadinessRegistry: Sendable {
  /// The results of the checks.
  public struct Report: Sendable, Hashable {
    public var isReady: Bool
    /// Problems by name of the check; nil for a check that passed.
    public var problems: [String: String?]
  }

  /// Timeout of a report. A check that takes longer counts as failed.
  public let timeout: Duration
  private let checks = Mutex<[ReadinessCheck]>([])
  private let isServing: @Sendable () -> Bool

  /// Creates a registry without checks.
  ///
  /// - Parameters:
  ///   - timeout: The timeout of a report, rounded up to milliseconds.
  ///   - isServing: Returns whether the server has started and is not draining.
  public init(timeout: Duration = .seconds(2), isServing: @escaping @Sendable () -> Bool) {
    self.timeout = timeout
    self.isServing = isServing
  }

  /// Adds a check, or replaces the check of the same name.
  public func add(_ check: ReadinessCheck) {
    checks.withLock { checks in
      checks.removeAll { $0.name == check.name }
      checks.append(check)
    }
  }

  /// Runs all checks concurrently. Checks that time out count as failed and are cancelled.
  public func report() async -> Report {
    var problems: [String: String?] = ["server": isServing() ? nil : "not serving"]
    let checks = checks.withLock { $0 }
    let timeoutMs = timeout.wholeMilliseconds
    for check in checks { problems[check.name] = "no response within \(timeoutMs) ms" }
    let (answers, continuation) = AsyncStream.makeStream(
      of: (name: String, problem: String?)?.self, bufferingPolicy: .bufferingOldest(checks.count + 1))
    // Unstructured, because a task group would wait for a check that ignores its cancellation.
    let tasks = checks.map { check in
      Task { continuation.yield((check.name, await check.check())) }
    }
    let timer = Task {
      try await Task.sleep(for: .milliseconds(timeoutMs))
      continuation.yield(nil)
    }
    var pending = checks.count
    if pending > 0 {
      for await answer in answers {
        guard let answer else { break }
        problems[answer.name] = .some(answer.problem)
        pending -= 1
        if pending == 0 { break }
      }
    }
    timer.cancel()
    for task in tasks { task.cancel() }
    return Report(isReady: problems.values.allSatisfy { $0 == nil }, problems: problems)
  }
}
