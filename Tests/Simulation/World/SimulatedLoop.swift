package import Dispatch
import Foundation
package import NIOCore

/// An event loop with simulated time, which advances when there is no work left at the current moment.
///
/// `@unchecked Sendable`: a simulation runs entirely on the thread that created it, which `execute` checks.
package final class SimulatedLoop: EventLoop, @unchecked Sendable {
  private final class Entry: @unchecked Sendable {
    let at: NIODeadline
    let order: UInt64
    var work: (() -> Void)?

    init(_ at: NIODeadline, _ order: UInt64, _ work: @escaping () -> Void) {
      (self.at, self.order, self.work) = (at, order, work)
    }

    func isBefore(_ other: Entry) -> Bool { at == other.at ? order < other.order : at < other.at }
  }

  package private(set) var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
  /// Work for the current moment, in order.
  private var ready: [() -> Void] = []
  private var readyIndex = 0
  /// A binary heap of later work.
  private var later: [Entry] = []
  private var lastOrder: UInt64 = 0
  package private(set) var stepCount = 0
  private var lost: [() -> Void] = []
  /// Called for each timer; returns whether the timer is lost.
  var losesTimer: () -> Bool = { false }
  private let thread = pthread_self()

  package var inEventLoop: Bool { pthread_equal(thread, pthread_self()) != 0 }

  package func execute(_ task: @escaping @Sendable () -> Void) {
    precondition(inEventLoop, "called outside the simulation's thread")
    ready.append(task)
  }

  @discardableResult
  package func scheduleTask<T>(deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
    precondition(inEventLoop, "called outside the simulation's thread")
    let promise = makePromise(of: T.self)
    lastOrder += 1
    let entry = Entry(deadline, lastOrder) {
      do { promise.assumeIsolated().succeed(try task()) } catch { promise.fail(error) }
    }
    if losesTimer() {
      lost.append { entry.work?() }
    } else {
      push(entry)
    }
    return Scheduled(promise: promise) { entry.work = nil }
  }

  @discardableResult
  package func scheduleTask<T>(in delay: TimeAmount, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
    scheduleTask(deadline: now + delay, task)
  }

  package func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
    callback(nil)
  }

  /// Does the next piece of work that is due by `end`. Returns false if there is none.
  func step(until end: NIODeadline) -> Bool {
    if readyIndex < ready.count {
      let work = ready[readyIndex]
      readyIndex += 1
      if readyIndex == ready.count {
        ready.removeAll(keepingCapacity: true)
        readyIndex = 0
      }
      stepCount += 1
      work()
      return true
    }
    while let next = later.first, next.at <= end {
      pop()
      guard let work = next.work else { continue }
      now = max(now, next.at)
      stepCount += 1
      work()
      return true
    }
    now = max(now, end)
    return false
  }

  /// Does all remaining work, including lost timers, so that nothing waits forever. Called after the run, when checks
  /// no longer count.
  func finish() {
    losesTimer = { false }
    let end = now + .seconds(120)
    for _ in 0..<1_000 {
      while step(until: end) {}
      guard !lost.isEmpty else { return }
      let late = lost
      lost = []
      for work in late { work() }
    }
  }

  private func push(_ entry: Entry) {
    later.append(entry)
    var child = later.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard later[child].isBefore(later[parent]) else { return }
      later.swapAt(child, parent)
      child = parent
    }
  }

  private func pop() {
    later[0] = later[later.count - 1]
    later.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < later.count && later[child].isBefore(later[least]) {
        least = child
      }
      if least == parent { return }
      later.swapAt(parent, least)
      parent = least
    }
  }
}
