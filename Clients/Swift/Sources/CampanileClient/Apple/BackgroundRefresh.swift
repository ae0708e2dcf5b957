#if canImport(BackgroundTasks) && !os(macOS)
  import BackgroundTasks
  public import Foundation

  /// Refreshes an app while it is in the background, when the system allows it.
  ///
  /// The identifier is one of `BGTaskSchedulerPermittedIdentifiers` in the app's Info.plist.
  public enum BackgroundRefresh {
    /// Registers the work. Call it before the app has finished launching, once for each identifier.
    ///
    /// - Parameter work: Runs in the background, and is cancelled when the system's time is over.
    public static func register(
      _ identifier: String, every interval: TimeInterval, work: @escaping @Sendable () async throws -> Void
    ) {
      BGTaskScheduler.shared.register(forTaskWithIdentifier: identifier, using: nil) { task in
        schedule(identifier, after: interval)
        let running = RunningTask(task)
        let job = Task {
          do {
            try await work()
            running.finish(success: true)
          } catch {
            running.finish(success: false)
          }
        }
        task.expirationHandler = { job.cancel() }
      }
      schedule(identifier, after: interval)
    }

    /// Asks for the next run. The system decides on its time.
    private static func schedule(_ identifier: String, after interval: TimeInterval) {
      let request = BGAppRefreshTaskRequest(identifier: identifier)
      request.earliestBeginDate = Date(timeIntervalSinceNow: interval)
      // A failure means that the user has disabled background refresh; the app refreshes when it is opened.
      try? BGTaskScheduler.shared.submit(request)
    }
  }

  /// A system task. `@unchecked` because the system's type is safe to complete from any thread, but not declared so.
  private final class RunningTask: @unchecked Sendable {
    private let task: BGTask

    init(_ task: BGTask) { self.task = task }

    func finish(success: Bool) { task.setTaskCompleted(success: success) }
  }
#endif
