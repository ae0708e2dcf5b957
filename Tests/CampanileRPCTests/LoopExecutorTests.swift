import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import CampanileRPC

/// Numbers recorded by several tasks.
private final class Notes: Sendable {
  private let numbers = Mutex<[Int]>([])
  var all: [Int] { numbers.withLock { $0 } }
  func add(_ number: Int) { numbers.withLock { $0.append(number) } }
}

@Suite struct LoopExecutorTests {
  private let loop = MultiThreadedEventLoopGroup.singleton.next()

  /// Tasks enqueued by one task of the loop run on the loop, in the order in which they were enqueued.
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

  /// A task that yields repeatedly leaves the loop time for other work.
  @Test func yieldingTaskDoesNotBlockLoop() async throws {
    let executor = LoopExecutor(loop)
    let busy = Task(executorPreference: executor) {
      var turns = 0
      while !Task.isCancelled {
        turns += 1
        await Task.yield()
      }
      return turns
    }
    // Another task of the executor, a task of the loop and a timer all run.
    await Task(executorPreference: executor) {}.value
    try await loop.submit {}.get()
    try await loop.scheduleTask(in: .milliseconds(5)) {}.futureResult.get()
    busy.cancel()
    #expect(await busy.value > 0)
  }

  /// All tasks enqueued by other threads run on the loop, too.
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
