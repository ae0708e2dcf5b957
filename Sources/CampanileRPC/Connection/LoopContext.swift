import NIOCore

/// What all connections of one event loop share: the deadline wheel and the task executor. Used on that loop only.
final class LoopContext {
  let loop: any EventLoop
  let executor: LoopExecutor
  private var wheel: DeadlineWheel
  private var isTicking = false
  /// When the clock was read last: while calls arrive and are answered, moments ago.
  private(set) var latestTime: NIODeadline

  init(_ loop: any EventLoop) {
    self.loop = loop
    executor = LoopExecutor(loop)
    latestTime = loop.now
    wheel = DeadlineWheel(now: latestTime)
  }

  @inline(__always)
  func readTime() -> NIODeadline {
    latestTime = loop.now
    return latestTime
  }

  func add(_ entry: DeadlineEntry, at deadline: Deadline) {
    wheel.add(entry, at: deadline)
    scheduleTick()
  }

  func remove(_ entry: DeadlineEntry) { wheel.remove(entry) }

  /// The loop wakes for ticks only while there is a deadline to wait for, so an idle process sleeps.
  private func scheduleTick() {
    guard !isTicking, wheel.count > 0 else { return }
    isTicking = true
    let bound = NIOLoopBound(self, eventLoop: loop)
    loop.scheduleTask(in: .milliseconds(DeadlineWheel.tickMs)) { bound.value.tick() }
  }

  private func tick() {
    isTicking = false
    for entry in wheel.advance(to: readTime()) { entry.deadlinePassed() }
    scheduleTick()
  }
}
