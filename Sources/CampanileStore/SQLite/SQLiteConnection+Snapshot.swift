/// The state of a reader's connection between reads.
struct Snapshot {
  /// The number of reads without a write after which a snapshot is kept. Below it, the cost of the transaction would
  /// exceed the gain.
  static let readsMin = 16
  /// The time for which a read may continue the snapshot of an earlier one. A change by hand is seen after it.
  static let ageMax = Duration.seconds(1)

  /// The mark of the last read; nil if a write was in progress.
  var mark: Int?
  /// The number of earlier reads with this mark.
  var readCount = 0
  var endsAt = ContinuousClock.now

  var isKept: Bool { readCount >= Self.readsMin }
}

/// A snapshot that lasts as long as nothing is written.
///
/// To begin and to end a snapshot costs two locks of the file, more than to find a row. A read that follows several
/// others without a write in between therefore begins a transaction, which later reads continue. It ends before the
/// next write, so that the write-ahead log can begin anew.
extension SQLiteConnection {
  func beginRead(isSingle: Bool, mark: Int?) throws(StoreError) {
    let isUnchanged = mark != nil && mark == snapshot.mark
    if isInTransaction {
      if isUnchanged, .now < snapshot.endsAt { return }
      try commit()
    }
    snapshot.mark = mark
    snapshot.readCount = isUnchanged ? snapshot.readCount + 1 : 0
    guard snapshot.isKept || !isSingle else { return }
    snapshot.endsAt = .now + Snapshot.ageMax
    try beginReading()
  }

  func endRead(isSingle: Bool, mark: Int?) {
    if !snapshot.isKept || mark == nil || mark != snapshot.mark { endSnapshot() }
  }

  func endSnapshot() {
    if isInTransaction { try? commit() }
  }
}
