import CampanileBase
import NIOCore

/// The state shared by all connections of one event loop: the deadline wheel and the task executor. Used on that loop
/// only.
final class LoopContext {
  let loop: any EventLoop
  let executor: LoopExecutor
  let shard: CounterShard
  /// Randomness for decisions that need no secrecy.
  var random = SplitMix64(seed: .random(in: .min ... .max))
  private var wheel: DeadlineWheel
  /// The wheel's timer, and the tick for which it is set.
  private var timer: Scheduled<Void>?
  private var timerTick = UInt64.max
  /// The time of the latest clock read; recent while calls arrive and complete.
  private(set) var latestTime: NIODeadline
  private var turns = ReadTurns()

  init(_ loop: any EventLoop) {
    self.loop = loop
    executor = LoopExecutor(loop)
    shard = .own(of: loop)
    latestTime = loop.now
    wheel = DeadlineWheel(now: latestTime)
  }

  @inline(__always)
  func readTime() -> NIODeadline {
    latestTime = loop.now
    return latestTime
  }

  /// Returns the number of frames of a connection to serve before others have their turn.
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

  /// Sets one timer, for the first deadline. A timer costs an interrupt in the middle of other calls, and most calls
  /// end long before their deadlines. The timer stays set after its call has ended, at the cost of one wake-up in a
  /// process without calls.
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
