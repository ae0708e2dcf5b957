import Foundation
import Synchronization

extension Store {
  /// Copies the database into the new file `target` while reads and writes go on.
  ///
  /// The copy is one snapshot, passes SQLite's integrity check and is on the disk when this returns. Throws
  /// `alreadyExists` when the target exists, `interrupted` after a cancellation, and the errors of the disk.
  public func backup(to target: String) async throws -> BackupReport {
    try await Self.backup(path: configuration.path, to: target)
  }

  /// Like `backup(to:)` for a database that another process may have open at the same time.
  public static func backup(path: String, to target: String) async throws -> BackupReport {
    guard DatabaseFile.exists(path) else {
      throw StoreError(.unavailable, "there is no database", path: path)
    }
    let cancellation = BackupCancellation()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        // A thread of its own: the copy blocks for as long as the file is large.
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
