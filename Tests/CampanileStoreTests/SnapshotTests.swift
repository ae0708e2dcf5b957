import CampanileStore
import Dispatch
import Foundation
import GRDB
import ServiceTesting
import Testing

/// Snapshots that readers keep between reads.
@Suite(.timeLimit(.minutes(1))) struct SnapshotTests {
  /// Enough for a snapshot that is kept.
  private let reads = 20

  @Test func readsIncludeEveryAcknowledgedWrite() async throws {
    // A server keeps no snapshot between reads, and each read is a round trip.
    let writes = TestStore.usesPostgreSQL ? 20 : 200
    try await withStore { store, _ in
      try await withThrowingTaskGroup(of: Int.self) { group in
        for writer in 0..<8 {
          group.addTask {
            var missing = 0
            for number in 0..<writes {
              let id = "\(writer)-\(number)"
              try await store.insert(id)
              // Some of these reads continue the snapshot of the one before.
              for _ in 0..<reads where try await !store.hasRow(id) { missing += 1 }
              if try await !store.ids().contains(id) { missing += 1 }
            }
            return missing
          }
        }
        for try await missing in group { #expect(missing == 0) }
      }
    }
  }

  /// A snapshot prevents SQLite from writing at the beginning of its log again.
  @Test(.onSQLite) func idleSnapshotsDoNotHoldTheLog() async throws {
    let pages = 50
    try await withStore(configure: { $0.checkpointPages = pages }) { store, _ in
      let logBytesMax = Int64(pages * 4_096 * 3)
      for number in 0..<1_000 {
        try await store.insert("\(number)", body: String(repeating: "x", count: 500))
        for _ in 0..<reads { _ = try await store.hasRow("\(number)") }
      }
      #expect(store.metrics().walBytes < logBytesMax)
      // The control: a read that lasts.
      let (begun, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let reader = Thread {
        try? store.readBlocking { transaction in
          _ = try transaction.queryOne("SELECT count(*) FROM rows") { try $0.integer(0) }
          begun.signal()
          gate.wait()
        }
      }
      reader.start()
      await wait(for: begun)
      for number in 1_000..<2_000 { try await store.insert("\(number)", body: String(repeating: "x", count: 500)) }
      #expect(store.metrics().walBytes > logBytesMax)
      gate.signal()
    }
  }

  @Test(.onSQLite) func aChangeByHandIsSeen() async throws {
    try await withStore { store, scratch in
      for _ in 0..<reads { #expect(try await !store.hasRow("by hand")) }
      let other = try DatabaseQueue(path: scratch.file())
      try await other.write { try $0.execute(sql: "INSERT INTO rows VALUES ('by hand', '')") }
      while try await !store.hasRow("by hand") { try await Task.sleep(for: .milliseconds(20)) }
    }
  }

  @Test func failedWritesLeaveReadersAsTheyWere() async throws {
    try await withStore { store, _ in
      try await store.insert("a")
      for _ in 0..<3 {
        await #expect(throws: StoreError.self) { try await store.insert("a") }
        for _ in 0..<reads { #expect(try await store.ids() == ["a"]) }
      }
    }
  }

  private func wait(for semaphore: DispatchSemaphore) async {
    await withCheckedContinuation { continuation in
      Thread {
        semaphore.wait()
        continuation.resume()
      }.start()
    }
  }
}

extension Store {
  fileprivate func hasRow(_ id: String) async throws -> Bool {
    try await readSingle { try $0.queryOne("SELECT 1 FROM rows WHERE id = $1", [.text(id)]) { _ in true } ?? false }
  }
}
