import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import CampanileRPC

struct LoopExecutorTests {
  private let loop = MultiThreadedEventLoopGroup.singleton.next()

  @Test("Tasks that one task of the loop makes ready run on the loop, in the order in which they became ready")
  func readyTasksRunInOrderOnTheLoop() async {
    let executor = LoopExecutor(loop)
    let order = Mutex<[Int]>([])
    await withTaskGroup(of: Bool.self) { tasks in
      await withTaskExecutorPreference(executor) {
        for number in 0..<100 {
          tasks.addTask(executorPreference: executor) {
            order.withLock { $0.append(number) }
            return self.loop.inEventLoop
          }
        }
      }
      for await isOnLoop in tasks { #expect(isOnLoop) }
    }
    #expect(order.withLock { $0 } == Array(0..<100))
  }

  @Test("A task that makes itself ready again and again leaves the loop time for others")
  func whoYieldsForEverStopsNobody() async throws {
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

  @Test("Tasks that other threads make ready run on the loop too, all of them")
  func tasksOfOtherThreadsRunOnTheLoop() async {
    let executor = LoopExecutor(loop)
    let count = Mutex(0)
    await withTaskGroup(of: Void.self) { tasks in
      for _ in 0..<8 {
        tasks.addTask {
          for _ in 0..<500 {
            await Task(executorPreference: executor) { [loop] in
              loop.assertInEventLoop()
              await Task.yield()
              count.withLock { $0 += 1 }
            }.value
          }
        }
      }
    }
    #expect(count.withLock { $0 } == 4_000)
  }
}
