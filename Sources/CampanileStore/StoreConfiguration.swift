/// Configuration of a store's file, durability and limits.
public struct StoreConfiguration: Sendable {
  /// The failures that an acknowledged write survives.
  public enum Durability: Sendable, Hashable {
    /// The end of the process and a power loss: every commit waits for the disk (`synchronous=FULL`).
    case full
    /// The end of the process. A power loss may undo the last commits, but never damages the file
    /// (`synchronous=NORMAL`).
    case normal
  }

  /// The extent of the check before the file is used.
  public enum StartupCheck: Sendable, Hashable {
    case none
    /// `PRAGMA quick_check`, stopped after this many milliseconds; the file is then accepted. See `Store.startupCheck`.
    case quick(timeLimitMs: Int)
    /// A complete `PRAGMA integrity_check`, including indexes.
    case complete
  }

  /// The database file. Its directory is created with mode 0700, the file with 0600.
  public var path: String
  public var durability: Durability = .full
  public var startupCheck: StartupCheck = .quick(timeLimitMs: 2_000)
  /// Maximum number of writes waiting for a transaction. Beyond it, writes fail with `overloaded`.
  public var pendingWritesMax = 10_000
  /// Maximum number of writes that share one commit.
  public var batchWritesMax = 1_000
  /// Maximum number of read connections, and so of concurrent reads. Opened on demand.
  public var readersMax = 8
  /// Maximum time that a read waits for a connection before it fails with `overloaded`.
  public var readerWaitMs = 1_000
  /// Maximum wait for a lock held by a tool outside this process, before `busy`.
  public var busyTimeoutMs = 5_000
  /// Number of write-ahead log pages (4 KiB) after which a commit checkpoints them into the file.
  public var checkpointPages = 4_000
  /// The size to which the write-ahead log is truncated after a checkpoint.
  public var walBytesMax: Int64 = 64 << 20
  /// Page cache of each reading connection.
  public var cacheKiB = 4_096
  /// Page cache of the writing connection. Pages that do not fit are read again by the next write that needs them.
  /// Increase it for services whose writes touch many pages.
  public var writerCacheKiB = 4_096
  /// Maximum size of the file; a change beyond it fails with `diskFull`. Nil: limited by the disk only.
  public var sizeBytesMax: Int64?
  /// Called on the writer's thread when a transaction begins, including a restart after a failed write. Discard
  /// anything that writes have left behind, because their transaction was rolled back.
  ///
  /// With `true`, the transaction begins with what this store's last commit has left: what is remembered of a commit
  /// that was successful is still true.
  public var onBegin: (@Sendable (_ continues: Bool) -> Void)?
  /// Runs on the writer's thread before each commit, in its transaction and after all its writes, for work done once
  /// for all of them. If it throws, all these writes fail.
  public var beforeCommit: (@Sendable (WriteTransaction) throws -> Void)?
  /// Returns what the last commit has changed, for other processes that use the database. Called on the writer's thread
  /// after every successful commit, before `observer`.
  public var changedNames: (@Sendable () -> ChangedNames)?
  /// Called on a thread of its own after commits of other processes that use the database. Nil: they do not matter.
  public var foreignObserver: (@Sendable (ChangedNames) -> Void)?
  /// Called on the writer's thread after every commit; must return quickly.
  public var observer: (@Sendable (CommitObservation) -> Void)?

  /// The engine; `nil` for SQLite on the file `path`.
  package var engine: (any StoreEngine)?
  /// Replaces the writer's thread and observes each commit; `nil` for a real thread.
  package var stage: (any WriterStage)?

  public init(path: String) { self.path = path }

  var storeEngine: any StoreEngine { engine ?? SQLiteEngine(self) }
}
