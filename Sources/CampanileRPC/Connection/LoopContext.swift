import NIOCore

/// What all connections of one event loop share: the deadline wheel and the task executor. Used on that loop only.
final class LoopContext {
  let loop: any EventLoop
  let executor: LoopExecutor
  let lane: LoopLane
  /// Decides by chance what needs no secret.
  var random = SplitMix64(seed: .random(in: .min ... .max))
  private var wheel: DeadlineWheel
  /// The timer of the wheel, and the tick that it is for.
  private var timer: Scheduled<Void>?
  private var timerTick = UInt64.max
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
    setTimer()
  }

  func remove(_ entry: DeadlineEntry) { wheel.remove(entry) }

  /// One timer, for the first deadline: a timer costs an interrupt, in the middle of other calls, and most calls end long before theirs. It
  /// stays when its call has ended, so that a process without calls wakes once more.
  @inline(__always)
  private func setTimer() {
    if wheel.earliestTick < timerTick { setTimer(wheel.earliestTick) }
  }

  private func setTimer(_ tick: UInt64) {
    timer?.cancel()
    timerTick = tick
    let bound = NIOLoopBound(self, eventLoop: loop)
    timer = loop.assumeIsolated().scheduleTask(deadline: wheel.time(of: tick)) { bound.value.fire() }
  }

  private func fire() {
    timerTick = .max
    for entry in wheel.advance(to: readTime()) { entry.deadlinePassed() }
    setTimer()
  }
}
