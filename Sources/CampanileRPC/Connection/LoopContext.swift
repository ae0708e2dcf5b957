import NIOCore

/// What all connections of one event loop share: the deadline wheel and the task executor. Used on that loop only.
final class LoopContext {
  let loop: any EventLoop
  let executor: LoopExecutor
  private var wheel: DeadlineWheel
  private var isTicking = false

  init(_ loop: any EventLoop) {
    self.loop = loop
    executor = LoopExecutor(loop)
    wheel = DeadlineWheel(now: .now())
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
    for entry in wheel.advance(to: .now()) { entry.deadlinePassed() }
    scheduleTick()
  }
}
