import Foundation
import Synchronization

extension Store {
  /// Copies the database into the new file `target` while reads and writes continue.
  ///
  /// The copy is one snapshot, has passed SQLite's integrity check and is on disk when this returns.
  ///
  /// - Throws: `alreadyExists` if the target exists, `interrupted` after a cancellation, or an error of the disk.
  public func backup(to target: String) async throws -> BackupReport {
    try await Self.backup(path: configuration.path, to: target)
  }

  /// Copies a database that another process may have open. Otherwise like `backup(to:)`.
  public static func backup(path: String, to target: String) async throws -> BackupReport {
    guard DatabaseFile.exists(path) else {
      throw StoreError(.unavailable, "the database file does not exist", path: path)
    }
    let cancellation = BackupCancellation()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        // A separate thread, because copying a large file blocks for long.
        let thread = Thread {
          let backup = Backup(
            factory: ConnectionFactory(configuration: StoreConfiguration(path: path)), target: target,
            isCancelled: { cancellation.isRequested })
          continuation.resume(with: Result { try backup.run() })
        }
        thread.name = "store-backup"
        thread.start()
      }
    } onCancel: {
      cancellation.request()
    }
  }
}

private final class BackupCancellation: Sendable {
  private let flag = Atomic(false)
  var isRequested: Bool { flag.load(ordering: .relaxed) }
  func request() { flag.store(true, ordering: .relaxed) }
}
