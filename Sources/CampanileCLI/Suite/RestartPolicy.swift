/// When a process that died is started again.
///
/// The wait doubles from death to death and is forgotten once a process has lived for a while, so that one crash costs little
/// and a process that cannot start does not keep the machine busy. There is no last attempt.
public struct RestartPolicy: Sendable, Hashable {
  public var initialMs: Int64 = 200
  public var maxMs: Int64 = 10_000
  /// A process that lived this long counts as healthy.
  public var healthyMs: Int64 = 30_000
  /// How many deaths before it was ever ready a process may have while the suite is starting; then the start has failed.
  public var startAttemptsMax = 3

  private var deaths = 0

  public init() {}

  /// How long to wait before the next start, after a life of `livedMs`.
  public mutating func delayMs(livedMs: Int64) -> Int64 {
    if livedMs >= healthyMs { deaths = 0 }
    let delayMs = min(maxMs, initialMs << Int64(min(deaths, 20)))
    deaths += 1
    return delayMs
  }
}
