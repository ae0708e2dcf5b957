/// The exponential backoff for restarting a process.
///
/// The delay doubles with each exit and is reset once a process has run for a while. A single crash therefore costs
/// little, and a process that cannot start does not keep the machine busy. The number of restarts is unlimited.
public struct RestartPolicy: Sendable, Hashable {
  public var initialMs: Int64 = 200
  public var maxMs: Int64 = 10_000
  /// Run time after which a process counts as healthy.
  public var healthyMs: Int64 = 30_000
  /// Number of exits before a process was ever ready, after which the start of the suite has failed.
  public var startAttemptsMax = 3

  private var deaths = 0

  public init() {}

  /// Returns the delay before the next start.
  ///
  /// - Parameter livedMs: The run time of the process that exited.
  public mutating func delayMs(livedMs: Int64) -> Int64 {
    if livedMs >= healthyMs { deaths = 0 }
    let delayMs = min(maxMs, initialMs << Int64(min(deaths, 20)))
    deaths += 1
    return delayMs
  }
}
