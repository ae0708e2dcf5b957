package import Dispatch
import Foundation
package import NIOCore

/// An event loop whose time is made up: it passes when there is nothing left to do at the present moment.
///
/// `@unchecked Sendable`: all of a simulation runs on the one thread that made it, which `execute` makes sure of.
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
  /// What is to be done at the present moment, in order.
  private var ready: [() -> Void] = []
  private var readyIndex = 0
  /// A binary heap of what is to be done later.
  private var later: [Entry] = []
  private var lastOrder: UInt64 = 0
  package private(set) var stepCount = 0
  private var lost: [() -> Void] = []
  /// Asked for each timer whether it is lost.
  var losesTimer: () -> Bool = { false }
  private let thread = pthread_self()

  package var inEventLoop: Bool { pthread_equal(thread, pthread_self()) != 0 }

  package func execute(_ task: @escaping @Sendable () -> Void) {
    precondition(inEventLoop, "something has left the simulation's thread")
    ready.append(task)
  }

  @discardableResult
  package func scheduleTask<T>(deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
    precondition(inEventLoop, "something has left the simulation's thread")
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

  /// Does the next thing, at `end` at the latest. False when there is none.
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

  /// Does what is left, lost timers included, so that nothing waits for ever. The run is over: nobody looks any more.
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
