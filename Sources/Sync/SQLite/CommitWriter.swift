import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore

/// Writes one commit: all of its changes in one transaction, as one revision of their zone.
struct CommitWriter {
  let transaction: WriteTransaction
  let draft: CommitDraft
  let user: String
  let limits: SyncLimits
  let nowMs: Int64
  private(set) var zone: StoredZone
  private(set) var counters: StoredUser
  private(set) var results: [AssetChangeResult] = []
  /// The name and record type of each changed asset.
  private(set) var changed: [(name: String, recordType: String)] = []
  /// Whether the commit ended the export to the zone.
  private(set) var endsExport = false

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

  /// One validated change of the commit.
  private struct Step {
    /// The change, with the record type of the current version if it has none.
    var change: ChangeDraft
    var current: StoredVersion?
    var summary: ContentSummary?
    /// The upload that provided the content; the commit consumes it.
    var uploadID: String?
  }

  /// Checks all changes before writing any of them.
  mutating func run() throws {
    var steps: [Step] = []
    for change in draft.changes { steps.append(try step(change)) }
    let added = steps.reduce(Int64(0)) { $0 + ($1.summary?.sizeBytes ?? 0) }
    let created = steps.count { $0.change.put != nil && $0.current == nil }
    guard zone.assetCount + Int64(created) <= Int64(limits.assetsPerZoneMax) else {
      throw RPCError.exhausted(
        "a zone may have at most \(limits.assetsPerZoneMax) assets", .assetsExhausted, limit: limits.assetsPerZoneMax)
    }
    zone.usedBytes += added
    counters.usedBytes += added
    try makeRoom(added)
    zone.revision += 1
    zone.updatedAtMs = nowMs
    for step in steps { try write(step) }
    endExport()
    zone.compactedThrough = max(zone.compactedThrough, zone.revision - limits.revisionsMax)
    for step in steps { try trim(step.change.name) }
  }

  /// Stores the zone's counters. The caller stores the user's counters.
  func finish() throws {
    try transaction.execute(ZoneRow.updateSQL, ZoneRow.updating(zone))
  }

  /// Ends the export if a device writes one of its files, so that its version is not replaced.
  private mutating func endExport() {
    guard !draft.device.isEmpty, zone.exportsNotifications,
      changed.contains(where: { ExportedFiles.contains($0.name, in: zone.name) })
    else { return }
    zone.isExportEnded = true
    endsExport = true
  }

  private func step(_ change: ChangeDraft) throws -> Step {
    var change = change
    change.name = try transaction.assetName(change.name, in: zone)
    let current = try transaction.queryOne(
      VersionRow.currentSQL, [.integer(zone.number), .text(change.name)], VersionRow.version)
    if !change.etag.isEmpty, change.etag != current?.etag {
      throw RPCError.etagMismatch(field: "\(change.path)etag", current: current?.etag ?? "")
    }
    var step = Step(change: change, current: current)
    guard var put = change.put else {
      guard current != nil else { throw RPCError.assetNotFound(change.name, field: "\(change.path)name") }
      return step
    }
    if put.mustNotExist, let current {
      throw RPCError.etagMismatch(field: "\(change.path)mustNotExist", current: current.etag)
    }
    if put.recordType.isEmpty { put.recordType = current?.recordType ?? "" }
    if put.recordType.isEmpty {
      throw RPCError.invalidField(
        "\(change.path)recordType", "must be given for a new asset", reason: Reason.required.rawValue)
    }
    switch put.content {
    case .inline: throw RPCError(.internalError, "an inline content is not stored")
    case .stored(let summary): step.summary = summary
    case .upload(let id):
      step.summary = try uploaded(id, recordType: put.recordType, change.path)
      step.uploadID = id
    case .known(let digest):
      let versions = try transaction.query(
        VersionRow.ofContentSQL, [.integer(zone.number), .blob(digest.bytes)], VersionRow.version)
      guard let version = versions.first(where: { $0.recordType == put.recordType }) else {
        throw RPCError.missing("content", digest.hexadecimal, field: "\(change.path)sha256", .contentNotFound)
      }
      let isKnownType = ContentCheck.isContainer(put.recordType)
      step.summary = ContentSummary(
        digest: digest, sizeBytes: version.sizeBytes, recordCount: isKnownType ? version.recordCount : nil,
        syncTimestampMs: isKnownType ? version.syncTimeMs : nil)
    }
    if let counted = step.summary?.recordCount, put.recordCount != 0, put.recordCount != counted {
      throw RPCError.invalidField(
        "\(change.path)recordCount", "is \(put.recordCount), but the content has \(counted) records",
        reason: Reason.recordCountWrong.rawValue)
    }
    step.change.put = put
    return step
  }

  private func uploaded(_ id: String, recordType: String, _ path: String) throws -> ContentSummary {
    let found = try transaction.queryOne(UploadRow.oneSQL, [.text(user), .text(id)], UploadRow.upload)
    guard let upload = found else { throw RPCError.uploadNotFound(id, field: "\(path)uploadId") }
    guard let summary = upload.summary else {
      throw RPCError.refused("\(path)uploadId", "is not complete", .uploadIncomplete)
    }
    guard upload.zone == zone.name, upload.recordType == recordType else {
      throw RPCError.refused("\(path)uploadId", "belongs to another zone or record type", .uploadMismatch)
    }
    return summary
  }

  private mutating func write(_ step: Step) throws {
    let isConflict = Self.isConflict(step, device: draft.device)
    if let current = step.current {
      try transaction.execute(
        VersionRow.replaceSQL,
        [
          .integer(zone.number), .text(current.name), .integer(current.version), .integer(nowMs), .bool(isConflict),
        ])
    }
    let version = try newVersion(step)
    try transaction.execute(VersionRow.insertSQL, VersionRow.inserting(version, zone: zone.number))
    var result = AssetChangeResult()
    if let put = step.change.put, let summary = step.summary {
      try transaction.execute(
        VersionRow.setCurrentSQL, [.integer(zone.number), .text(version.name), .integer(version.version)])
      try keepContent(put.content, summary, uploadID: step.uploadID)
      if step.current == nil { zone.assetCount += 1 }
      result.merged = put.isMerged
      result.duplicateNames = summary.duplicateNames
    } else {
      try transaction.execute(VersionRow.dropCurrentSQL, [.integer(zone.number), .text(version.name)])
      zone.assetCount -= 1
    }
    changed.append((version.name, version.recordType))
    result.outcome = version.outcome(in: zone.name)
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
    let put = step.change.put
    let time = put?.syncTimeMs ?? step.summary?.syncTimestampMs ?? nowMs
    return StoredVersion(
      name: step.change.name, version: zone.revision, number: number,
      recordType: put?.recordType ?? step.current?.recordType ?? "",
      syncTimeMs: time, recordCount: step.summary?.recordCount ?? put?.recordCount ?? 0,
      sizeBytes: step.summary?.sizeBytes ?? 0, digest: step.summary?.digest, deviceID: draft.device, atMs: nowMs,
      isDeleted: put == nil, isConflict: false, replacedAtMs: put == nil ? nowMs : nil)
  }

  private mutating func keepContent(_ source: ContentSource, _ summary: ContentSummary, uploadID: String?) throws {
    switch source {
    case .inline, .stored: try transaction.addContent(summary)
    case .known: try transaction.retainContent(summary.digest)
    case .upload:
      // The version takes over the upload's reference to the content.
      guard let uploadID else { return }
      if try transaction.executeCounting(UploadRow.deleteSQL, [.text(user), .text(uploadID)]) > 0 {
        counters.uploadCount -= 1
        try transaction.add(-1, to: "uploads")
      }
    }
  }

  /// Whether the previously current version lost to an author who had not seen it. Versions exported by the service are
  /// never conflicts.
  private static func isConflict(_ step: Step, device: String) -> Bool {
    guard let current = step.current, let put = step.change.put, step.change.etag.isEmpty, !put.followsCurrent,
      !current.deviceID.isEmpty
    else { return false }
    return put.baseEtag.isEmpty ? current.deviceID != device : current.etag != put.baseEtag
  }

  /// Resolves the oldest conflict if there is one too many. It remains in the history as an ordinary version.
  private func limitConflicts(of name: String) throws {
    let conflicts = try transaction.query(
      VersionRow.conflictsSQL,
      [.integer(zone.number), .text(name), .integer(.max), .integer(limits.conflictsPerAssetMax + 1)]
    ) { try $0.integer(1) }
    guard conflicts.count > Int(limits.conflictsPerAssetMax), let oldest = conflicts.last else { return }
    try transaction.execute(VersionRow.resolveSQL, [.integer(zone.number), .text(name), .integer(oldest)])
  }

  /// Deletes versions with `revisionsMax` or more successors. Their revisions are no longer listed.
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

  /// Deletes old versions until both quotas are met. Throws `QUOTA_EXCEEDED` if that is not enough.
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
