import CampanileBase
public import Logging
public import ServiceLifecycle

/// Runs work periodically until graceful shutdown.
public struct PeriodicService: Service {
  private let name: String
  private let intervalMs: Int64
  private let logger: Logger
  private let work: @Sendable () async throws -> Void

  /// Creates a periodic service.
  ///
  /// - Parameters:
  ///   - interval: The pause before the first run and after each run.
  ///   - work: The work. Its errors are logged.
  public init(_ name: String, interval: Duration, logger: Logger, work: @escaping @Sendable () async throws -> Void) {
    self.name = name
    intervalMs = interval.wholeMilliseconds
    self.logger = logger
    self.work = work
  }

  public func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        do {
          try await Task.sleep(for: .milliseconds(intervalMs))
          try await work()
        } catch is CancellationError {
          return
        } catch {
          logger.error("\(name) failed", metadata: ["error": "\(error)"])
        }
      }
    }
  }
}
