/// How a store opens its file and where its limits are.
public struct StoreConfiguration: Sendable {
  /// What an acknowledged write survives.
  public enum Durability: Sendable, Hashable {
    /// The end of the process and the loss of power: every commit waits for the disk (`synchronous=FULL`).
    case full
    /// The end of the process; a loss of power may undo the last commits, never damage the file (`synchronous=NORMAL`).
    case normal
  }

  /// How much of the file is checked before it is used.
  public enum StartupCheck: Sendable, Hashable {
    case none
    /// `PRAGMA quick_check`, given up (and the file accepted) after so many milliseconds; see `Store.startupCheck`.
    case quick(timeLimitMs: Int)
    /// `PRAGMA integrity_check` to its end, indexes included.
    case complete
  }

  /// The database file. Its directory is created with mode 0700, the file with 0600.
  public var path: String
  public var durability: Durability = .full
  public var startupCheck: StartupCheck = .quick(timeLimitMs: 2_000)
  /// Writes waiting for a transaction; one more is refused with `overloaded`.
  public var pendingWritesMax = 10_000
  /// Writes that share one commit at most.
  public var batchWritesMax = 1_000
  /// Read connections, opened when first needed: the number of reads that run at the same time.
  public var readersMax = 8
  /// How long a read waits for a connection before it is refused with `overloaded`.
  public var readerWaitMs = 1_000
  /// How long a lock held by a tool outside this process is waited for before `busy`.
  public var busyTimeoutMs = 5_000
  /// Pages (4 KiB) of write-ahead log after which a commit moves them into the file.
  public var checkpointPages = 4_000
  /// Size to which the write-ahead log is cut back after it was moved.
  public var walBytesMax: Int64 = 64 << 20
  /// Page cache of each connection that reads.
  public var cacheKiB = 4_096
  /// Page cache of the connection that writes, which fills as far as writes touch pages: what does not fit is read again for
  /// the next write that needs it. More is for services whose writes touch many pages and who have the memory.
  public var writerCacheKiB = 4_096
  /// Largest size of the file; a change beyond it fails with `diskFull`. Nil: the disk decides.
  public var sizeBytesMax: Int64?
  /// Called on the writer's thread when a transaction begins, also when it begins anew after a failed write: what writes
  /// have left behind for the commit belongs to a transaction that is gone.
  public var onBegin: (@Sendable () -> Void)?
  /// Run on the writer's thread before each commit, in its transaction, after all writes that it carries: for what follows
  /// from their changes and need be done once for all of them. When it throws, all of them fail.
  public var beforeCommit: (@Sendable (WriteTransaction) throws -> Void)?
  /// Told of every commit, on the writer's thread: return quickly.
  public var observer: (@Sendable (CommitObservation) -> Void)?

  /// Stands in for the writer's thread, and sees each commit; `nil` for the real thread.
  package var stage: (any WriterStage)?

  public init(path: String) { self.path = path }
}
