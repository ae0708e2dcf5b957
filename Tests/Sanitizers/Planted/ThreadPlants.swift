import CampanileStore
import Foundation
import NIOCore
import NIOPosix
import Testing

/// Intentional races, one for each kind of thread in the suite. `scripts/sanitize` runs each one separately, and fails
/// if it is not reported.
@Suite struct ThreadPlants {
  @Test func racingTasks() async {
    let meeting = Meeting()
    await withTaskGroup { group in
      for _ in 0..<2 { group.addTask { meeting.race() } }
    }
  }

  @Test func racingEventLoops() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
    let meeting = Meeting()
    let both = (0..<2).map { _ in group.next().submit { meeting.race() } }
    for future in both { try await future.get() }
    try await group.shutdownGracefully()
  }

  @Test func racingWithTheWriter() async throws {
    let folder = NSTemporaryDirectory() + "planted-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let store = try Store(StoreConfiguration(path: "\(folder)/race.sqlite"), migrations: [])
    let meeting = Meeting()
    async let other: Void = meeting.race()
    try await store.write { _ in meeting.race() }
    await other
    await store.close()
  }

  /// Only one of the two takes the lock.
  @Test func racingPastTheLock() async {
    let meeting = Meeting()
    await withTaskGroup { group in
      group.addTask { meeting.race() }
      group.addTask { meeting.raceUnderLock() }
    }
  }
}
