import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Records reports by devices.
extension SQLiteNotificationsRepository {
  /// The copy that a report is about, and its bucket.
  private struct Copy {
    var bucketID: String
    var ownerID: String
    /// The publication, or the last hand-over.
    var publishedMs: Int64
    var isShared: Bool
  }

  /// Records checked reports in one commit. Returns each result, and the users whose watches to wake.
  func recordEngagement(
    _ drafts: [Result<EngagementDraft, RPCError>]
  ) async throws -> (results: [Result<Bool, RPCError>], publishers: Set<String>) {
    try await write { transaction in
      var publishers: Set<String> = []
      let results = try drafts.map { draft -> Result<Bool, RPCError> in
        do {
          return .success(try add(try draft.get(), &publishers, transaction))
        } catch let refusal as RPCError {
          return .failure(refusal)
        }
      }
      return (results, publishers)
    }
  }

  /// Returns whether the report is new. Throws NOT_FOUND, FAILED_PRECONDITION, reason `REPORT_TOO_LATE`, and
  /// RESOURCE_EXHAUSTED, reason `ENGAGEMENT_EXHAUSTED`, before changing anything.
  private func add(
    _ draft: EngagementDraft, _ publishers: inout Set<String>, _ transaction: WriteTransaction
  ) throws -> Bool {
    let nowMs = clockMs()
    guard let copy = try copy(draft, transaction) else {
      throw RPCError.notificationNotFound(draft.notificationID, field: "notificationId")
    }
    guard copy.publishedMs >= nowMs - EngagementRules.retentionMs else {
      throw RPCError.refused("notificationId", "was published more than 30 days ago", .reportTooLate)
    }
    let key: [SQLValue] = [.text(draft.user), .text(draft.notificationID)]
    let kind = SQLValue.integer(Int64(draft.kind.rawValue))
    let report = key + [kind, .text(draft.actionID), .text(draft.deviceID)]
    if try transaction.queryOne(EngagementTable.reportSQL, report, { _ in true }) != nil { return false }
    let known = try transaction.queryOne(EngagementTable.countSQL, key) { try $0.integer(0) } ?? 0
    guard known < Int64(EngagementRules.reportsPerCopyMax) else {
      throw RPCError.exhausted(
        "a copy may have \(EngagementRules.reportsPerCopyMax) reports", .engagementExhausted,
        limit: EngagementRules.reportsPerCopyMax)
    }
    let isFirst = try transaction.queryOne(EngagementTable.ofKindSQL, key + [kind], { _ in true }) == nil
    let eventMs = EngagementRules.timeMs(draft.eventTimeMs, publishedMs: copy.publishedMs, nowMs: nowMs)
    let sequence = try transaction.queryOne(EngagementTable.nextSQL) { try $0.integer(0) }
    try transaction.execute(
      EngagementTable.insertSQL,
      [
        .integer(sequence), .text(copy.ownerID), .text(copy.bucketID), .text(draft.notificationID), .text(draft.user),
        .text(draft.deviceID), kind, .text(draft.actionID), .integer(eventMs), .integer(nowMs),
      ])
    if isFirst { try count(draft, copy, nowMs: nowMs, transaction) }
    let outcome = Int64(EngagementRules.outcome(draft.kind).rawValue)
    // The log has one record for a device, push, outcome and millisecond, so simultaneous actions get the next ones.
    for recordMs in eventMs..<(eventMs + Int64(EngagementRules.reportsPerCopyMax)) {
      let added = try transaction.executeCounting(
        Self.recordSQL,
        key + [
          .integer(recordMs), .text(draft.deviceID), .integer(outcome), .text(draft.actionID), .null,
          .text(draft.pushID),
        ])
      if added > 0 { break }
    }
    publishers.insert(copy.ownerID)
    if copy.isShared {
      let arguments: [SQLValue] = [.text(copy.bucketID), .text(copy.ownerID)]
      publishers.formUnion(try transaction.query(BucketState.membersSQL, arguments) { try $0.text(0) })
    }
    return true
  }

  private func copy(_ draft: EngagementDraft, _ transaction: ReadTransaction) throws -> Copy? {
    let arguments: [SQLValue] = [.text(draft.user), .text(draft.notificationID)]
    return try transaction.queryOne(EngagementTable.copySQL, arguments) { row in
      let owner = try row.text(3)
      return Copy(
        bucketID: try row.text(0), ownerID: owner.isEmpty ? draft.user : owner,
        publishedMs: max(try row.integer(1), try row.integerIfPresent(2) ?? 0),
        isShared: try !owner.isEmpty || row.integer(4) > 0)
    }
  }

  /// Counts a recipient in the notification's row and in its bucket's.
  private func count(
    _ draft: EngagementDraft, _ copy: Copy, nowMs: Int64, _ transaction: WriteTransaction
  ) throws {
    let one = EngagementCounts(one: draft.kind)
    for id in [draft.notificationID, ""] {
      try transaction.execute(
        EngagementTable.addSQL,
        [
          .text(copy.ownerID), .text(copy.bucketID), .text(id), .integer(Int64(one.receivedCount)),
          .integer(Int64(one.openedCount)), .integer(Int64(one.dismissedCount)), .integer(Int64(one.actedCount)),
          .integer(nowMs),
        ])
    }
  }

  /// The key from which the keys of receipts are derived. The first start of a database creates it.
  ///
  /// - Parameter random: A cryptographically secure source of 64 random bits.
  static func receiptSecret(_ store: Store, random: @Sendable () -> UInt64) async throws -> [UInt8] {
    let candidate = (0..<4).flatMap { _ in withUnsafeBytes(of: random().bigEndian) { Array($0) } }
    let kept = try await store.write { transaction in
      try transaction.execute(
        "INSERT INTO notifications_meta (name, value) VALUES ('receipt.key', $1) ON CONFLICT (name) DO NOTHING",
        [.text(Hexadecimal.text(candidate))])
      return try transaction.queryOne("SELECT value FROM notifications_meta WHERE name = 'receipt.key'") {
        try $0.text(0)
      }
    }
    guard let secret = kept.flatMap(Hexadecimal.bytes), secret.count == PushReceipt.keySizeBytes else {
      throw StoreError(.corrupt, "the key of receipts is invalid")
    }
    return secret
  }
}
