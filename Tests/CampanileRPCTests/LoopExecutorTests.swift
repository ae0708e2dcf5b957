import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import CampanileRPC

/// What several tasks write down.
private final class Notes: Sendable {
  private let numbers = Mutex<[Int]>([])
  var all: [Int] { numbers.withLock { $0 } }
  func add(_ number: Int) { numbers.withLock { $0.append(number) } }
}

@Suite struct LoopExecutorTests {
  private let loop = MultiThreadedEventLoopGroup.singleton.next()

  /// Tasks that one task of the loop makes ready run on the loop, in the order in which they became ready.
  @Test func readyTasksRunInOrderOnTheLoop() async {
    let executor = LoopExecutor(loop)
    let (notes, loop) = (Notes(), loop)
    let tasks = await Task(executorPreference: executor) {
      (0..<100).map { number in
        Task(executorPreference: executor) {
          notes.add(number)
          return loop.inEventLoop
        }
      }
    }.value
    for task in tasks { #expect(await task.value) }
    #expect(notes.all == Array(0..<100))
  }

  /// A task that makes itself ready again and again leaves the loop time for others.
  @Test func whoYieldsForEverStopsNobody() async throws {
    let executor = LoopExecutor(loop)
    let busy = Task(executorPreference: executor) {
      var turns = 0
      while !Task.isCancelled {
        turns += 1
        await Task.yield()
      }
      return turns
    }
    // Another task of the same executor, the loop's own work and a timer all have their turn.
    await Task(executorPreference: executor) {}.value
    try await loop.submit {}.get()
    try await loop.scheduleTask(in: .milliseconds(5)) {}.futureResult.get()
    busy.cancel()
    #expect(await busy.value > 0)
  }

  /// Tasks that other threads make ready run on the loop too, all of them.
  @Test func tasksOfOtherThreadsRunOnTheLoop() async {
    let executor = LoopExecutor(loop)
    let (notes, loop) = (Notes(), loop)
    await withTaskGroup(of: Void.self) { tasks in
      for thread in 0..<8 {
        tasks.addTask {
          for _ in 0..<500 {
            await Task(executorPreference: executor) {
              await Task.yield()
              if loop.inEventLoop { notes.add(thread) }
            }.value
          }
        }
      }
    }
    #expect(notes.all.count == 4_000)
  }
}
