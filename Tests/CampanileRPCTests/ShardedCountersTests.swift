import NIOCore
import NIOEmbedded
import NIOPosix
import Synchronization
import Testing

@testable import CampanileRPC

@Suite(.timeLimit(.minutes(1))) struct ShardedCountersTests {
  @Test func totalsIncludeLoopsAndThreads() async throws {
    let counts = ShardedCounters(slotCount: 9)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 4)
    let (perLoop, perThread) = (20_000, 5_000)
    await withTaskGroup { tasks in
      for loop in Array(group.makeIterator()) {
        tasks.addTask {
          try? await loop.submit {
            let shard = CounterShard.own(of: loop)
            for number in 0..<perLoop { counts.add(1, at: number % 9, on: shard) }
          }.get()
        }
      }
      for _ in 0..<4 {
        tasks.addTask { for number in 0..<perThread { counts.add(2, at: number % 9, on: .shared) } }
      }
    }
    #expect((0..<9).reduce(0) { $0 + counts.total($1) } == 4 * perLoop + 4 * 2 * perThread)
    try await group.shutdownGracefully()
  }

  @Test func concurrentReadsNeverDecrease() async throws {
    let counts = ShardedCounters(slotCount: 1)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let loop = group.next()
    let adding = loop.submit {
      let shard = CounterShard.own(of: loop)
      for _ in 0..<200_000 { counts.add(1, at: 0, on: shard) }
    }
    var last = 0
    while last < 200_000 {
      let now = counts.total(0)
      #expect(now >= last)
      last = now
      await Task.yield()
    }
    try await adding.get()
    try await group.shutdownGracefully()
  }

  @Test func eachLoopHasOwnShardAndOthersShareOne() {
    let loops = (0..<CounterShard.ownMax + 4).map { _ in EmbeddedEventLoop() }
    let shards = loops.map { CounterShard.own(of: $0) }
    let own = shards.filter { $0 != .shared }
    #expect(Set(own).count == own.count)
    #expect(shards.count - own.count >= 4)
    #expect(loops.map { CounterShard.own(of: $0) } == shards)
  }

  @Test func emptyCountersAreZero() {
    let counts = ShardedCounters(slotCount: 0)
    #expect(counts.slotCount == 1 && counts.total(0) == 0)
  }
}
