/// One commit, as passed to `StoreConfiguration.observer`.
public struct CommitObservation: Sendable, Hashable {
  /// Committed writes, without failed ones.
  public var writes: Int
  /// The time from BEGIN to the end of COMMIT.
  public var transactionNs: Int64
  /// The time of COMMIT alone: the wait for the disk.
  public var commitNs: Int64
  /// Writes that were waiting when the commit ended.
  public var pendingWrites: Int
  /// The error of a failed commit, of which nothing was kept.
  public var failure: StoreError?
}

/// A store's counters since it was opened, and its current sizes.
public struct StoreMetrics: Sendable, Hashable {
  public var commits: Int64 = 0
  public var failedCommits: Int64 = 0
  /// Acknowledged writes.
  public var writes: Int64 = 0
  /// Writes whose own body or statement failed.
  public var failedWrites: Int64 = 0
  /// Writes rejected because the queue was full.
  public var overloadedWrites: Int64 = 0
  /// Writes cancelled before they started.
  public var cancelledWrites: Int64 = 0
  /// Number of times that a transaction was rolled back and begun again: after the failure of one of its writes, or
  /// because another process had committed in the meantime.
  public var restartedTransactions: Int64 = 0
  public var commitNsTotal: Int64 = 0
  public var commitNsMax: Int64 = 0
  public var batchWritesLargest: Int = 0
  /// Number of times that the writer reopened its connection after a disk failure.
  public var reopens: Int64 = 0
  public var pendingWrites: Int = 0
  /// Reads that had to wait for a connection.
  public var readerWaits: Int64 = 0
  public var readersOpen: Int = 0
  public var databaseBytes: Int64 = 0
  public var walBytes: Int64 = 0
}

extension StoreMetrics {
  mutating func record(_ commit: CommitObservation, failedWrites: Int, restarts: Int) {
    self.failedWrites += Int64(failedWrites)
    restartedTransactions += Int64(restarts)
    if commit.failure != nil {
      failedCommits += 1
      return
    }
    commits += 1
    writes += Int64(commit.writes)
    commitNsTotal += commit.commitNs
    commitNsMax = max(commitNsMax, commit.commitNs)
    batchWritesLargest = max(batchWritesLargest, commit.writes)
  }
}
