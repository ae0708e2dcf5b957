import NIOCore

/// What all connections of one event loop share: the deadline wheel and the task executor. Used on that loop only.
final class LoopContext {
  let loop: any EventLoop
  let executor: LoopExecutor
  let lane: LoopLane
  /// Decides by chance what needs no secret.
  var random = SplitMix64(seed: .random(in: .min ... .max))
  private var wheel: DeadlineWheel
  private var isTicking = false
  /// When the clock was read last: while calls arrive and are answered, moments ago.
  private(set) var latestTime: NIODeadline
  private var turns = ReadTurns()

  init(_ loop: any EventLoop) {
    self.loop = loop
    executor = LoopExecutor(loop)
    lane = .own(of: loop)
    latestTime = loop.now
    wheel = DeadlineWheel(now: latestTime)
  }

  @inline(__always)
  func readTime() -> NIODeadline {
    latestTime = loop.now
    return latestTime
  }

  /// How many frames of a connection are served before others have their turn.
  @inline(__always)
  func framesMax(for connection: AnyObject) -> Int {
    turns.framesMax(for: ObjectIdentifier(connection), nowNs: latestTime.uptimeNanoseconds)
  }

  @inline(__always)
  func served(frames: Int, of connection: AnyObject) {
    turns.served(frames: frames, of: ObjectIdentifier(connection), nowNs: latestTime.uptimeNanoseconds)
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
