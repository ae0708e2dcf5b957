import CampanileStore
import Foundation
import ServiceTesting
import Synchronization
import Testing

@Suite struct WriterTests {
  private struct Refused: Error {}
  private typealias Body = @Sendable (WriteTransaction) throws -> Void

  /// Runs writes in one transaction, after a write that waits until all are queued. Returns the codes of their errors.
  private func codes(of bodies: [Body], _ store: Store) async throws -> [StoreError.Code?] {
    let gate = Gate()
    let first = Task { try await store.write { _ in gate.hold() } }
    await gate.waitUntilEntered()
    var tasks: [Task<StoreError.Code?, Never>] = []
    for (index, body) in bodies.enumerated() {
      tasks.append(Task { await storeCode { try await store.write(body) } })
      #expect(try await eventually { store.metrics().pendingWrites == index + 1 })
    }
    gate.open()
    _ = await first.result
    var codes: [StoreError.Code?] = []
    for task in tasks { codes.append(await task.value) }
    return codes
  }

  @Test func failedWriteRollsBackOnlyItself() async throws {
    try await withStore { store, _ in
      let gate = Gate()
      async let first: Void = store.write { _ in gate.hold() }
      await gate.waitUntilEntered()
      // All these writes wait behind the gate, and so share a transaction.
      await withTaskGroup(of: Void.self) { group in
        for index in 0..<60 {
          group.addTask {
            let result: Result<Void, any Error> = await Result {
              try await store.write { transaction in
                try transaction.execute("INSERT INTO rows (id, body) VALUES ($1, 'x')", [.text("row-\(index)")])
                if index % 3 == 0 { throw Refused() }
                if index % 3 == 1 { try transaction.execute("INSERT INTO rows (id, body) VALUES ('row-2', NULL)") }
              }
            }
            switch index % 3 {
            case 0: #expect(throws: Refused.self) { try result.get() }
            case 1: #expect(throws: StoreError.self) { try result.get() }
            default: #expect(throws: Never.self) { try result.get() }
            }
          }
        }
        #expect((try? await eventually { store.metrics().pendingWrites == 60 }) == true)
        gate.open()
      }
      try await first
      #expect(try await store.ids() == (0..<60).filter { $0 % 3 == 2 }.map { "row-\($0)" }.sorted())
      let metrics = store.metrics()
      #expect(metrics.failedWrites == 40)
      #expect(metrics.writes == 21)
      #expect(metrics.commits <= 2)
    }
  }

  @Test func savepointsStayOnAfterASecondFailure() async throws {
    try await withStore { store, _ in
      let gate = Gate()
      let (firstRuns, secondRuns) = (LockedCount(), LockedCount())
      let first = Task {
        try await store.write { transaction in
          firstRuns.add()
          gate.hold()
          try transaction.execute("INSERT INTO rows (id, body) VALUES ('first', 'x')")
          if firstRuns.value > 1 { throw Refused() }
        }
      }
      await gate.waitUntilEntered()
      let second = Task {
        try await store.write { transaction in
          secondRuns.add()
          try transaction.execute("INSERT INTO rows (id, body) VALUES ('second', 'x')")
        }
      }
      #expect(try await eventually { store.metrics().pendingWrites == 1 })
      var faulty: [Task<Void, any Error>] = []
      for number in 0..<3 {
        faulty.append(
          Task {
            try await store.write { transaction in
              try transaction.execute("INSERT INTO rows (id, body) VALUES ($1, 'x')", [.text("faulty-\(number)")])
              throw Refused()
            }
          })
        #expect(try await eventually { store.metrics().pendingWrites == 2 + number })
      }
      gate.open()
      for task in faulty + [first] { await #expect(throws: Refused.self) { try await task.value } }
      try await second.value
      #expect(try await store.ids() == ["second"])
      // Once, and once more after the first fault; the other faults are undone by their savepoints.
      #expect(secondRuns.value == 2)
    }
  }

  @Test func batchedWritesReturnTheirResults() async throws {
    let commits = Mutex<[CommitObservation]>([])
    try await withStore(configure: { $0.observer = { commit in commits.withLock { $0.append(commit) } } }) { store, _ in
      let sum = try await withThrowingTaskGroup(of: Int.self) { group in
        for client in 0..<32 {
          group.addTask {
            var sum = 0
            for index in 0..<25 {
              sum += try await store.write {
                try $0.executeCounting("INSERT INTO rows (id, body) VALUES ($1, 'b')", [.text("\(client)-\(index)")])
              }
            }
            return sum
          }
        }
        return try await group.reduce(0, +)
      }
      #expect(sum == 800)
      #expect(try await store.ids().count == 800)
      #expect(commits.withLock { $0.reduce(0) { $0 + $1.writes } } == 800)
      #expect(store.metrics().batchWritesLargest > 1)
    }
  }

  @Test func writeCancelledBeforeStartNeverRuns() async throws {
    try await withStore { store, _ in
      let gate = Gate()
      async let first: Void = store.write { _ in gate.hold() }
      await gate.waitUntilEntered()
      let tasks = (0..<200).map { index in Task { try await store.insert("cancelled-\(index)") } }
      #expect(try await eventually { store.metrics().pendingWrites == 200 })
      for task in tasks { task.cancel() }
      for task in tasks {
        await #expect(throws: CancellationError.self) { try await task.value }
      }
      #expect(store.metrics().pendingWrites == 0)
      #expect(store.metrics().cancelledWrites == 200)
      gate.open()
      try await first
      try await store.insert("after")
      #expect(try await store.ids() == ["after"])
    }
  }

  @Test func writeOfCancelledTaskIsNotQueued() async throws {
    try await withStore { (store: Store, _: Scratch) async throws in
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        try await store.insert("never")
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(try await store.ids().isEmpty)
    }
  }

  @Test func queueIsBounded() async throws {
    try await withStore(configure: { $0.pendingWritesMax = 5 }) { store, _ in
      let gate = Gate()
      async let first: Void = store.write { _ in gate.hold() }
      await gate.waitUntilEntered()
      let waiting = (0..<5).map { index in Task { try await store.insert("w\(index)") } }
      #expect(try await eventually { store.metrics().pendingWrites == 5 })
      await expect(.overloaded) { try await store.insert("too many") }
      gate.open()
      try await first
      for task in waiting { try await task.value }
      #expect(try await store.ids().count == 5)
      #expect(store.metrics().overloadedWrites == 1)
    }
  }

  @Test func batchOfCancelledWritesIsSkipped() async throws {
    try await withStore(configure: { $0.batchWritesMax = 1 }) { store, _ in
      let gate = Gate()
      async let first: Void = store.write { _ in gate.hold() }
      await gate.waitUntilEntered()
      let head = (0..<3).map { index in Task { try await store.insert("head-\(index)") } }
      #expect(try await eventually { store.metrics().pendingWrites == 3 })
      let tail = Task { try await store.insert("tail") }
      #expect(try await eventually { store.metrics().pendingWrites == 4 })
      for task in head { task.cancel() }
      gate.open()
      try await first
      try await tail.value
      #expect(try await store.ids() == ["tail"])
    }
  }

  @Test func closeFinishesQueuedWritesAndRefusesNewOnes() async throws {
    try await withStore { store, scratch in
      let gate = Gate()
      async let first: Void = store.write { _ in gate.hold() }
      await gate.waitUntilEntered()
      let waiting = (0..<10).map { index in Task { try await store.insert("w\(index)") } }
      #expect(try await eventually { store.metrics().pendingWrites == 10 })
      async let closed: Void = store.close()
      #expect(try await eventually { store.isClosing })
      gate.open()
      try await first
      for task in waiting { try await task.value }
      await closed
      await expect(.closed) { try await store.insert("late") }
      await expect(.closed) { _ = try await store.ids() }
      let again = try openStore(scratch.file())
      #expect(try await again.ids().count == 10)
      await again.close()
    }
  }

  @Test(arguments: [
    "COMMIT", " rollback", "BEGIN", "SAVEPOINT x", "PRAGMA user_version = 3", "ATTACH 'x' AS y", "VACUUM",
    "CREATE TABLE t (a)", "-- c\nCOMMIT", "", "VALUESX (1)", "DROP TABLE rows", "ROLLBACK TO w",
  ])
  func otherStatementsAreRefused(_ sql: String) async throws {
    try await withStore { (store: Store, _: Scratch) async throws in
      await expect(.invalidArgument) { try await store.write { try $0.execute(sql) } }
      await expect(.invalidArgument) { try store.readBlocking { try $0.forEach(sql) { _ in true } } }
    }
  }

  @Test(.onSQLite) func ignoredRollbackFailsTheWrite() async throws {
    try await withStore { store, _ in
      try await store.insert("taken")
      let code = await storeCode {
        _ = try await store.write { transaction in
          try transaction.execute("INSERT INTO rows (id, body) VALUES ('lost', 'x')")
          // The body ignores the error although SQLite has rolled everything back.
          _ = try? transaction.execute("INSERT OR ROLLBACK INTO rows (id, body) VALUES ('taken', 'x')")
        }
      }
      #expect(code == .unavailable)
      try await store.insert("next")
      #expect(try await store.ids() == ["next", "taken"])
    }
  }

  @Test func deferredForeignKeyViolationFailsOnlyItsWrite() async throws {
    let schema = Migration(
      "0002-tree",
      """
      CREATE TABLE tree (id BIGINT NOT NULL PRIMARY KEY,
        parent BIGINT REFERENCES tree (id) DEFERRABLE INITIALLY DEFERRED)
      """)
    try await withStore(migrations: rowsSchema + [schema]) { store, _ in
      let gate = Gate()
      async let first: Void = store.write { _ in gate.hold() }
      await gate.waitUntilEntered()
      let bad = Task { try await store.write { try $0.execute("INSERT INTO tree VALUES (1, 99)") } }
      let good = Task { try await store.insert("good") }
      #expect(try await eventually { store.metrics().pendingWrites == 2 })
      gate.open()
      try await first
      await expect(.constraint) { _ = try await bad.value }
      try await good.value
      #expect(try await store.ids() == ["good"])
    }
  }

  @Test func changeWithoutRowFailsOnlyItsWrite() async throws {
    try await withStore { store, _ in
      for id in ["a", "c"] { try await store.insert(id) }
      let changes: [Body] = ["a", "b", "c"].map { id in
        { transaction in
          try transaction.execute(
            "UPDATE rows SET body = 'new' WHERE id = $1", [.text(id)], orThrow: StoreError(.overloaded, "no row"))
        }
      }
      let failures = try await codes(of: changes, store)
      #expect(failures == [nil, .overloaded, nil])
      let changed = try await store.read {
        try $0.query("SELECT id FROM rows WHERE body = 'new' ORDER BY id") { try $0.text(0) }
      }
      #expect(changed == ["a", "c"])
    }
  }

  @Test func beforeCommitRunsOnceForABatchAndItsFailureFailsAllOfIt() async throws {
    let runs = LockedCount()
    let isRefusing = Mutex(false)
    let insert: @Sendable (WriteTransaction, String) throws -> Void = { transaction, id in
      try transaction.execute("INSERT INTO rows (id, body) VALUES ($1, 'b')", [.text(id)])
    }
    try await withStore(configure: {
      $0.beforeCommit = { transaction in
        runs.add()
        try insert(transaction, "commit-\(runs.value)")
        if isRefusing.withLock({ $0 }) { throw StoreError(.constraint, "refused") }
      }
    }) { store, _ in
      let accepted = try await codes(of: (0..<5).map { index in { try insert($0, "a-\(index)") } }, store)
      #expect(accepted == [nil, nil, nil, nil, nil])
      #expect(runs.value == 1)
      let kept = (0..<5).map { "a-\($0)" } + ["commit-1"]
      #expect(try await store.ids() == kept)
      isRefusing.withLock { $0 = true }
      let refused = try await codes(of: (0..<5).map { index in { try insert($0, "b-\(index)") } }, store)
      #expect(refused.allSatisfy { $0 == .constraint })
      #expect(runs.value == 2)
      #expect(try await store.ids() == kept)
    }
  }

  @Test func escapedTransactionIsRefused() async throws {
    try await withStore { store, _ in
      var kept: ReadTransaction?
      try store.readBlocking { kept = $0 }
      let code = await storeCode { _ = try kept?.query("SELECT 1") { try $0.integer(0) } }
      #expect(code == .invalidArgument)
    }
  }

  @Test func updateReturningRunsToItsEnd() async throws {
    try await withStore { store, _ in
      for id in ["a", "b", "c"] { try await store.insert(id) }
      let first = try await store.write { transaction in
        try transaction.queryOne("UPDATE rows SET body = 'new' RETURNING id") { try $0.text(0) }
      }
      #expect(first != nil)
      let changed = try store.readBlocking {
        try $0.queryOne("SELECT count(*) FROM rows WHERE body = 'new'") { try $0.integer(0) }
      }
      #expect(changed == 3)
    }
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
