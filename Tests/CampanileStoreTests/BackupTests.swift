import CampanileStore
import Foundation
import ServiceTesting
import Testing

@Suite(.onSQLite) struct BackupTests {
  @Test func copiesOneSnapshotUnderLoad() async throws {
    try await withStore { store, scratch in
      let body = String(repeating: "b", count: 2_000)
      for batch in 0..<20 {
        _ = try await store.write { transaction in
          for index in 0..<100 {
            try transaction.execute(
              "INSERT INTO rows (id, body) VALUES ($1, $2)", [.text("seed-\(batch)-\(index)"), .text(body)])
          }
        }
      }
      let load = Task {
        var index = 0
        while !Task.isCancelled {
          let (left, right) = ("left-\(index)", "right-\(index)")
          _ = try await store.write { transaction in
            try transaction.execute("INSERT INTO rows (id, body) VALUES ($1, 'b')", [.text(left)])
            try transaction.execute("INSERT INTO rows (id, body) VALUES ($1, 'b')", [.text(right)])
          }
          index += 1
        }
        return index
      }
      let target = scratch.file("backups.copy")
      let report = try await store.backup(to: target)
      load.cancel()
      let written = try? await load.value
      #expect(written != 0)
      #expect(report.path == target)
      let data = try Data(contentsOf: URL(fileURLWithPath: target))
      #expect(report.sizeBytes == Int64(data.count))
      #expect(report.sha256.count == 64)
      let mode = try FileManager.default.attributesOfItem(atPath: target)[.posixPermissions] as? NSNumber
      #expect(mode?.intValue == 0o600)

      let copy = try Store(StoreConfiguration(path: target), migrations: rowsSchema)
      let ids = try await copy.ids()
      #expect(ids.filter { $0.hasPrefix("seed") }.count == 2_000)
      #expect(ids.filter { $0.hasPrefix("left") }.count == ids.filter { $0.hasPrefix("right") }.count)
      await copy.close()
      let left = try FileManager.default.contentsOfDirectory(atPath: scratch.path).filter { $0.contains("partial") }
      #expect(left.isEmpty)
    }
  }

  @Test func existingTargetIsNotOverwritten() async throws {
    try await withStore { store, scratch in
      let target = scratch.file("taken")
      try Data("mine".utf8).write(to: URL(fileURLWithPath: target))
      await expect(.alreadyExists) { _ = try await store.backup(to: target) }
      #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data("mine".utf8))
    }
  }

  @Test func unreachableTargetAndMissingSourceAreUnavailable() async throws {
    try await withStore { (store: Store, scratch: Scratch) async throws in
      await expect(.unavailable) { _ = try await store.backup(to: scratch.file("no/such/dir")) }
      let missing = scratch.file("missing.sqlite")
      let code = await storeCode { _ = try await Store.backup(path: missing, to: scratch.file("b")) }
      #expect(code == .unavailable)
      #expect(!FileManager.default.fileExists(atPath: missing))
    }
  }

  @Test func backsUpOpenAndClosedFiles() async throws {
    let scratch = Scratch()
    let store = try Store(StoreConfiguration(path: scratch.file()), migrations: rowsSchema)
    try await store.insert("a")
    let first = try await Store.backup(path: scratch.file(), to: scratch.file("one"))
    await store.close()
    let second = try await Store.backup(path: scratch.file(), to: scratch.file("two"))
    #expect(first.sizeBytes == second.sizeBytes)
    for name in ["one", "two"] {
      let copy = try Store(StoreConfiguration(path: scratch.file(name)), migrations: rowsSchema)
      #expect(try await copy.ids() == ["a"])
      await copy.close()
    }
  }

  @Test func cancelledBackupLeavesNoPartialFile() async throws {
    try await withStore { store, scratch in
      let target = scratch.file("cancelled")
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await store.backup(to: target)
      }
      // The copy may have finished before the cancellation. Otherwise no target exists.
      let code = await storeCode { _ = try await task.value }
      #expect(code == .interrupted || FileManager.default.fileExists(atPath: target))
      let names = try FileManager.default.contentsOfDirectory(atPath: scratch.path)
      #expect(names.filter { $0.contains("partial") }.isEmpty)
    }
  }
}
