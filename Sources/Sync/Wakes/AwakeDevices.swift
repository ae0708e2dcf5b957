import CampanileStore
import Synchronization

/// The devices with an open watch, which need no push.
///
/// They are counted in memory. On a database that several processes use, each process also has a row for each of its
/// devices, because one of them sends the pushes of all.
final class AwakeDevices: Sendable {
  private struct Key: Hashable {
    var user: String
    var device: String

    var values: [SQLValue] { [.text(user), .text(device)] }
  }

  static let addSQL = """
    INSERT INTO awake_devices (user_id, device_id, process) VALUES ($1, $2, $3)
    ON CONFLICT (user_id, device_id, process) DO NOTHING
    """
  static let removeSQL = "DELETE FROM awake_devices WHERE user_id = $1 AND device_id = $2 AND process = $3"
  // Of PostgreSQL.
  static let elsewhereSQL = """
    SELECT 1 FROM awake_devices WHERE user_id = $1 AND device_id = $2 AND \(StorePresence.isAlive("process")) LIMIT 1
    """
  static let purgeSQL = "DELETE FROM awake_devices WHERE NOT \(StorePresence.isAlive("process"))"

  private let store: Store
  private let process: String
  /// Whether there are pushes at all.
  private let isUsed: Bool
  private let counts = Mutex<[Key: Int]>([:])

  init(_ store: Store, process: String, isUsed: Bool) {
    self.store = store
    self.process = process
    self.isUsed = isUsed
  }

  func contains(_ device: String, user: String) async throws -> Bool {
    let key = Key(user: user, device: device)
    if isAwake(key) { return true }
    guard store.isShared else { return false }
    return try await store.readSingle { try $0.queryOne(Self.elsewhereSQL, key.values) { _ in true } } ?? false
  }

  private func isAwake(_ key: Key) -> Bool { counts.withLock { $0[key] != nil } }

  /// Counts the device as awake while `body` runs. An empty id is no device.
  func during<T>(_ device: String, user: String, _ body: () async throws -> T) async throws -> T {
    guard !device.isEmpty else { return try await body() }
    let key = Key(user: user, device: device)
    counts.withLock { $0[key, default: 0] += 1 }
    await announce(key)
    let result: Result<T, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    counts.withLock { counts in
      let count = (counts[key] ?? 1) - 1
      counts[key] = count > 0 ? count : nil
    }
    await announce(key)
    return try result.get()
  }

  /// Adds or deletes the row of a device. A failure costs a needless push at most.
  private func announce(_ key: Key) async {
    guard store.isShared, isUsed else { return }
    let arguments = key.values + [.text(process)]
    // Not cancelled with the watch. The transaction decides, because another watch may begin or end meanwhile.
    _ = await Task.detached { [self] in
      try? await store.write { transaction in
        try transaction.execute(self.isAwake(key) ? Self.addSQL : Self.removeSQL, arguments)
      }
    }.value
  }

  /// Deletes the rows of processes that have ended.
  func purge() async throws {
    guard store.isShared else { return }
    try await store.write { try $0.execute(Self.purgeSQL) }
  }
}
