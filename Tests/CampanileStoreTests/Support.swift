import CampanilePostgreSQL
import CampanileStore
import Foundation
import ServiceTesting
import Synchronization
import Testing

/// A temporary directory, removed at the end of the test.
final class Scratch: Sendable {
  let path: String

  init() {
    path = NSTemporaryDirectory() + "campanile-store-\(UUID().uuidString)"
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String = "test.sqlite") -> String { "\(path)/\(name)" }

  func makeDirectory() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }
}

let rowsSchema = [Migration("0001-rows", "CREATE TABLE rows (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL)")]

/// Returns the configuration of a store on the engine of `TestStore`, as durable as by default.
func testConfiguration(
  _ path: String, configure: (inout StoreConfiguration) -> Void = { _ in }
) throws -> StoreConfiguration {
  var configuration = try TestStore.configuration(path)
  configuration.durability = .full
  configure(&configuration)
  guard TestStore.usesPostgreSQL else { return configuration }
  // The engine has its own limits of reads.
  var limits = PostgreSQLLimits()
  limits.readersMax = configuration.readersMax
  limits.readerWaitMs = configuration.readerWaitMs
  configuration.engine = try PostgreSQLEngine(TestStore.address(path), limits: limits)
  return configuration
}

/// Opens a store on the engine of `TestStore`.
func openStore(
  _ path: String, migrations: [Migration] = rowsSchema, configure: (inout StoreConfiguration) -> Void = { _ in }
) throws -> Store {
  try Store(testConfiguration(path, configure: configure), migrations: migrations)
}

/// Runs `body` with a store in a new directory, or in a new schema of a server, then closes the store.
func withStore(
  migrations: [Migration] = rowsSchema, configure: (inout StoreConfiguration) -> Void = { _ in },
  _ body: (Store, Scratch) async throws -> Void
) async throws {
  let scratch = Scratch()
  let store = try openStore(scratch.file(), migrations: migrations, configure: configure)
  do {
    try await body(store, scratch)
  } catch {
    await store.close()
    throw error
  }
  await store.close()
}

extension Store {
  func insert(_ id: String, body: String = "b") async throws {
    try await write { try $0.execute("INSERT INTO rows (id, body) VALUES ($1, $2)", [.text(id), .text(body)]) }
  }

  func ids() async throws -> [String] {
    try await read { try $0.query("SELECT id FROM rows ORDER BY id", rowsMax: 1_000_000) { try $0.text(0) } }
  }
}

/// Returns the code of the store error that `body` throws; nil if it throws none.
func storeCode(_ body: () async throws -> Void) async -> StoreError.Code? {
  do {
    try await body()
    return nil
  } catch let error as StoreError {
    return error.code
  } catch {
    return nil
  }
}

/// Expects `body` to throw a store error with this code.
func expect(
  _ code: StoreError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async {
  let thrown = await storeCode(body)
  #expect(thrown == code, sourceLocation: sourceLocation)
}

/// A gate that blocks the writer's thread inside a body until it is opened.
final class Gate: Sendable {
  private let entered = DispatchSemaphore(value: 0)
  private let opened = DispatchSemaphore(value: 0)

  /// A write may run twice, so an open gate stays open.
  func hold() {
    entered.signal()
    opened.wait()
    opened.signal()
  }

  func open() { opened.signal() }

  /// Waits until a body is blocked in the gate, without blocking a cooperative thread.
  func waitUntilEntered() async {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        self.entered.wait()
        continuation.resume()
      }
    }
  }
}

/// Polls until a condition of the store holds. Returns false after 20,000 attempts.
func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
  for _ in 0..<20_000 {
    if try await condition() { return true }
    try await Task.sleep(for: .microseconds(500))
  }
  return false
}

/// A thread-safe counter.
final class LockedCount: Sendable {
  private let count = Mutex(0)
  var value: Int { count.withLock { $0 } }
  func add() { count.withLock { $0 += 1 } }
}
