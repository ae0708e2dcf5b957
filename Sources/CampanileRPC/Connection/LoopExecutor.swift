public import NIOCore

/// Runs Swift tasks on one event loop.
///
/// A handler task that prefers this executor runs where its connection lives, so that neither its start nor its reply hops
/// threads. NIO has no public task executor for an event loop; measured against the alternatives, this adapter costs least.
public final class LoopExecutor: TaskExecutor {
  private let loop: any EventLoop

  public init(_ loop: any EventLoop) { self.loop = loop }

  public func enqueue(_ job: consuming ExecutorJob) {
    let unowned = UnownedJob(job)
    let executor = asUnownedTaskExecutor()
    loop.execute { unowned.runSynchronously(on: executor) }
  }
}
