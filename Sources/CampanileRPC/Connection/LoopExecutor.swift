public import NIOCore

/// Runs Swift tasks on one event loop.
///
/// A handler task that prefers this executor runs where its connection lives, so that neither its start nor its reply hops
/// threads. NIO has no public task executor for an event loop; measured against the alternatives, this adapter costs least.
///
/// Jobs that the loop itself makes ready, as the replies of one read do, run together in one task of the loop: they cost it neither
/// a lock nor an allocation each.
///
/// `@unchecked Sendable`: its variables are touched on the loop only.
public final class LoopExecutor: TaskExecutor, @unchecked Sendable {
  private let loop: any EventLoop
  private var ready: [UnownedJob] = []
  /// Room for those that run next.
  private var spare: [UnownedJob] = []
  private var isScheduled = false

  public init(_ loop: any EventLoop) { self.loop = loop }

  public func enqueue(_ job: consuming ExecutorJob) {
    let unowned = UnownedJob(job)
    guard loop.inEventLoop else {
      let executor = asUnownedTaskExecutor()
      return loop.execute { unowned.runSynchronously(on: executor) }
    }
    ready.append(unowned)
    guard !isScheduled else { return }
    isScheduled = true
    loop.assumeIsolatedUnsafeUnchecked().execute { self.run() }
  }

  /// Runs what is ready. What becomes ready meanwhile has a turn of its own, behind what the loop was given before it.
  private func run() {
    isScheduled = false
    var jobs = spare
    spare = []
    swap(&jobs, &ready)
    let executor = asUnownedTaskExecutor()
    for job in jobs { job.runSynchronously(on: executor) }
    jobs.removeAll(keepingCapacity: true)
    spare = jobs
  }
}
