import CampanileAPI
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore

/// One commit as it is written: all of its changes in one transaction, as one revision of their zone.
struct CommitLedger {
  let transaction: WriteTransaction
  let draft: CommitDraft
  let user: String
  let limits: SyncLimits
  let nowMs: Int64
  private(set) var zone: StoredZone
  private(set) var counters: StoredUser
  private(set) var results: [PutAssetResponse] = []

  init(
    _ draft: CommitDraft, zone: StoredZone, counters: StoredUser, user: String, limits: SyncLimits, nowMs: Int64,
    _ transaction: WriteTransaction
  ) {
    self.draft = draft
    self.zone = zone
    self.counters = counters
    self.user = user
    self.limits = limits
    self.nowMs = nowMs
    self.transaction = transaction
  }

  /// One change as it will be written.
  private struct Step {
    var change: ChangeDraft
    var current: StoredVersion?
    /// Nil for a deletion.
    var put: PutDraft?
    var facts: ContentFacts?
    /// The upload that the content came by, used up.
    var uploadID: String?
  }

  /// Checks everything before anything is written, then writes all of it.
  mutating func run() throws {
    var steps: [Step] = []
    for change in draft.changes { steps.append(try step(change)) }
    let added = steps.reduce(Int64(0)) { $0 + ($1.facts?.sizeBytes ?? 0) }
    let created = steps.count { $0.put != nil && $0.current == nil }
    guard zone.assetCount + Int64(created) <= Int64(limits.assetsPerZoneMax) else {
      throw RPCError.exhausted(
        "a zone may have \(limits.assetsPerZoneMax) assets", .assetsExhausted, limit: limits.assetsPerZoneMax)
    }
    zone.usedBytes += added
    counters.usedBytes += added
    try makeRoom(added)
    zone.revision += 1
    zone.updatedAtMs = nowMs
    for step in steps { try write(step) }
    zone.compactedThrough = max(zone.compactedThrough, zone.revision - limits.revisionsMax)
    for step in steps { try trim(step.change.name) }
  }

  /// Puts the zone's counters down. The user's are the caller's to keep.
  func finish() throws {
    try transaction.execute(
      ZoneRow.updateSQL,
      [
        .integer(zone.number), .integer(zone.revision), .integer(zone.assetCount), .integer(zone.usedBytes),
        .integer(zone.compactedThrough), .integer(zone.updatedAtMs),
      ])
  }

  private func step(_ change: ChangeDraft) throws -> Step {
    let current = try transaction.queryOne(
      VersionRow.currentSQL, [.integer(zone.number), .text(change.name)], VersionRow.version)
    if !change.ifMatch.isEmpty, change.ifMatch != current?.etag {
      throw RPCError.etagMismatch(field: "\(change.path)ifMatch", current: current?.etag ?? "")
    }
    var step = Step(change: change, current: current)
    guard case .put(let put) = change.kind else {
      guard current != nil else { throw RPCError.assetNotFound(change.name, field: "\(change.path)name") }
      return step
    }
    if put.mustBeNew, let current {
      throw RPCError.etagMismatch(field: "\(change.path)ifNoneMatch", current: current.etag)
    }
    var filled = put
    if filled.recordType.isEmpty { filled.recordType = current?.recordType ?? "" }
    if filled.recordType.isEmpty {
      throw RPCError.invalidField(
        "\(change.path)recordType", "must be given for a new asset", reason: Reason.required.rawValue)
    }
    switch put.content {
    case .stored(let facts): step.facts = facts
    case .upload(let id):
      step.facts = try uploaded(id, recordType: filled.recordType, change.path)
      step.uploadID = id
    case .known(let digest):
      let versions = try transaction.query(
        VersionRow.ofContentSQL, [.integer(zone.number), .blob(digest.bytes)], VersionRow.version)
      guard let version = versions.first(where: { $0.recordType == filled.recordType }) else {
        throw RPCError.missing("content", digest.hexadecimal, field: "\(change.path)sha256", .contentNotFound)
      }
      let isKnownType = ContentCheck.isContainer(filled.recordType)
      step.facts = ContentFacts(
        digest: digest, sizeBytes: version.sizeBytes, recordCount: isKnownType ? version.recordCount : nil,
        syncTimestampMs: isKnownType ? version.syncTimestampMs : nil)
    }
    if let counted = step.facts?.recordCount, put.recordCount != 0, put.recordCount != counted {
      throw RPCError.invalidField(
        "\(change.path)recordCount", "is \(put.recordCount) where the content has \(counted) records",
        reason: Reason.recordCountWrong.rawValue)
    }
    step.put = filled
    return step
  }

  private func uploaded(_ id: String, recordType: String, _ path: String) throws -> ContentFacts {
    let found = try transaction.queryOne(UploadRow.oneSQL, [.text(user), .text(id)], UploadRow.upload)
    guard let upload = found else { throw RPCError.uploadNotFound(id, field: "\(path)uploadId") }
    guard let facts = upload.facts else {
      throw RPCError.refused("\(path)uploadId", "is not complete", .uploadIncomplete)
    }
    guard upload.zone == zone.name, upload.recordType == recordType else {
      throw RPCError.refused("\(path)uploadId", "was begun for another zone or record type", .uploadMismatch)
    }
    return facts
  }

  private mutating func write(_ step: Step) throws {
    let isConflict = Self.isConflict(step, device: draft.device)
    if var current = step.current {
      current.isConflict = isConflict
      current.replacedAtMs = nowMs
      try transaction.execute(
        VersionRow.replaceSQL,
        [
          .integer(zone.number), .text(current.name), .integer(current.version), .integer(nowMs), .bool(isConflict),
        ])
    }
    let version = try newVersion(step)
    try transaction.execute(VersionRow.insertSQL, VersionRow.inserting(version, zone: zone.number))
    var result = PutAssetResponse()
    if let put = step.put, let facts = step.facts {
      try transaction.execute(
        VersionRow.setCurrentSQL, [.integer(zone.number), .text(version.name), .integer(version.version)])
      try keepContent(put.content, facts, uploadID: step.uploadID)
      if step.current == nil { zone.assetCount += 1 }
      result.merged = put.isMerged
      result.duplicateNames = facts.duplicateNames
    } else {
      try transaction.execute(VersionRow.dropCurrentSQL, [.integer(zone.number), .text(version.name)])
      zone.assetCount -= 1
    }
    result.asset = version.asset(in: zone.name)
    if isConflict, var lost = step.current {
      lost.isConflict = true
      lost.replacedAtMs = nowMs
      result.conflict = lost.entry(in: zone.name)
      try limitConflicts(of: lost.name)
    }
    results.append(result)
  }

  private func newVersion(_ step: Step) throws -> StoredVersion {
    let number: Int64
    if let current = step.current {
      number = current.number + 1
    } else {
      let last = try transaction.queryOne(
        VersionRow.lastNumberSQL, [.integer(zone.number), .text(step.change.name)]
      ) { try $0.integer(0) }
      number = (last ?? 0) + 1
    }
    let time = step.put?.syncTimestampMs ?? step.facts?.syncTimestampMs ?? nowMs
    return StoredVersion(
      name: step.change.name, version: zone.revision, number: number, recordType: step.put?.recordType ?? "",
      syncTimestampMs: time, recordCount: step.facts?.recordCount ?? step.put?.recordCount ?? 0,
      sizeBytes: step.facts?.sizeBytes ?? 0, digest: step.facts?.digest, deviceID: draft.device, atMs: nowMs,
      isDeleted: step.put == nil, isConflict: false, replacedAtMs: step.put == nil ? nowMs : nil)
  }

  private mutating func keepContent(_ source: ContentSource, _ facts: ContentFacts, uploadID: String?) throws {
    switch source {
    case .stored: try transaction.addContent(facts)
    case .known: try transaction.retainContent(facts.digest)
    case .upload:
      // The version takes the upload's place as what names the content.
      guard let uploadID else { return }
      if try transaction.execute(UploadRow.deleteSQL, [.text(user), .text(uploadID)]) > 0 {
        counters.uploadCount -= 1
        _ = try transaction.bump(counter: "uploads", by: -1)
      }
    }
  }

  /// Whether the version that was current lost to an author who had not seen it. What the service itself has exported is
  /// nobody's work.
  private static func isConflict(_ step: Step, device: String) -> Bool {
    guard let current = step.current, let put = step.put, step.change.ifMatch.isEmpty, !put.followsCurrent,
      !current.deviceID.isEmpty
    else { return false }
    return put.baseEtag.isEmpty ? current.deviceID != device : current.etag != put.baseEtag
  }

  /// With one conflict too many the oldest is like any other version of the history.
  private func limitConflicts(of name: String) throws {
    let conflicts = try transaction.query(
      VersionRow.conflictsSQL,
      [.integer(zone.number), .text(name), .integer(.max), .integer(limits.conflictsPerAssetMax + 1)]
    ) { try $0.integer(1) }
    guard conflicts.count > Int(limits.conflictsPerAssetMax), let oldest = conflicts.last else { return }
    try transaction.execute(VersionRow.resolveSQL, [.integer(zone.number), .text(name), .integer(oldest)])
  }

  /// Drops versions that have more successors than are kept. Their revisions are no longer told.
  private mutating func trim(_ name: String) throws {
    let last = try transaction.queryOne(VersionRow.lastNumberSQL, [.integer(zone.number), .text(name)]) {
      try $0.integer(0)
    }
    let through = (last ?? 0) - limits.revisionsMax
    guard through > 0 else { return }
    let surplus = try transaction.query(
      VersionRow.surplusSQL, [.integer(zone.number), .text(name), .integer(through)], VersionRow.version)
    for version in surplus { try drop(version) }
  }

  /// Lets old versions give way until both quotas are kept. Throws `QUOTA_EXCEEDED` when that is not enough.
  private mutating func makeRoom(_ added: Int64) throws {
    let excess = max(zone.usedBytes - limits.zoneBytesMax, counters.usedBytes - limits.userBytesMax)
    guard added > 0, excess > 0 else { return }
    let history = try transaction.query(
      VersionRow.evictableSQL, [.integer(zone.number), .int(1_000)], VersionRow.version)
    guard history.reduce(0, { $0 + $1.sizeBytes }) >= excess else {
      let isZone = zone.usedBytes - limits.zoneBytesMax >= counters.usedBytes - limits.userBytesMax
      throw RPCError.quotaExceeded(
        isZone ? "zone" : "user", used: (isZone ? zone.usedBytes : counters.usedBytes) - added, wanted: added,
        limit: isZone ? limits.zoneBytesMax : limits.userBytesMax)
    }
    var freed: Int64 = 0
    for version in history where freed < excess {
      freed += version.sizeBytes
      try drop(version)
    }
  }

  private mutating func drop(_ version: StoredVersion) throws {
    try transaction.execute(
      VersionRow.deleteSQL, [.integer(zone.number), .text(version.name), .integer(version.version)])
    try transaction.releaseContent(version.digest, nowMs: nowMs)
    zone.usedBytes -= version.sizeBytes
    counters.usedBytes -= version.sizeBytes
    zone.compactedThrough = max(zone.compactedThrough, version.version)
  }
}
