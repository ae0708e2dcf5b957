public import NIOCore

/// Runs Swift tasks on one event loop.
///
/// A handler task that prefers this executor runs on its connection's loop, so that neither its start nor its reply
/// hops threads. NIO has no public task executor for an event loop; of the measured alternatives, this adapter costs
/// least.
///
/// Jobs enqueued on the loop itself, such as the replies of one read, run together in one task of the loop. They cost
/// neither a lock nor an allocation each.
///
/// `@unchecked Sendable`: its variables are accessed on the loop only.
public final class LoopExecutor: TaskExecutor, @unchecked Sendable {
  private let loop: any EventLoop
  private var ready: [UnownedJob] = []
  /// A spare buffer for the next batch of jobs.
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

  /// Runs the ready jobs. Jobs that become ready during the run get their own task, behind the loop's earlier tasks.
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
