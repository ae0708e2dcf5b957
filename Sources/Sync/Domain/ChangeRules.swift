import CampanileAPI
import CampanileCodec
import CampanileService

/// Validates the changes of commits by the rules that their constraints cannot express.
enum ChangeRules {
  static func changes(
    _ changes: [AssetChange], zone: String, _ limits: SyncLimits, _ violations: inout Violations
  ) -> [ChangeDraft] {
    var names: Set<String> = []
    var result: [ChangeDraft] = []
    for (index, change) in changes.enumerated() {
      let path = "changes[\(index)]."
      let draft: ChangeDraft
      switch change.change {
      case .put(let put): draft = self.change(put, "\(path)put.", limits, &violations)
      case .delete(let delete):
        NameRules.asset(delete.name, "\(path)delete.name", &violations)
        draft = ChangeDraft(name: delete.name, etag: delete.etag, path: "\(path)delete.")
      // The constraint of the oneof already rejects it.
      case nil: continue
      }
      // A file name and its record name are one name. Compare bytes, because names that differ only in Unicode
      // normalization are different names.
      let name = ExportedFiles.fileName(draft.name, in: zone) ?? draft.name
      if !names.insert(Array(name.utf8).description).inserted {
        violations.add("\(draft.path)name", "must not be repeated in one commit", .nameRepeated)
      }
      result.append(draft)
    }
    return result
  }

  static func change(
    _ put: AssetPut, _ path: String, _ limits: SyncLimits, _ violations: inout Violations
  ) -> ChangeDraft {
    NameRules.asset(put.name, "\(path)name", &violations)
    NameRules.path(put.recordType, "\(path)recordType", &violations)
    if put.mustNotExist, !put.etag.isEmpty {
      violations.add("\(path)mustNotExist", "must be false if etag is set", .fieldNotAllowed)
    }
    let isMerge = put.onConflict == .merge
    let hasCondition = put.mustNotExist || !put.etag.isEmpty
    // A put under a condition cannot displace a version that its author has not seen.
    if put.onConflict == .unspecified, !hasCondition {
      violations.add("\(path)onConflict", "must be set unless etag or mustNotExist is set", .required)
    }
    if isMerge {
      if hasCondition {
        violations.add("\(path)onConflict", "a merge must not have conditions", .fieldNotAllowed)
      }
      if !put.recordType.isEmpty, !ContentCheck.isContainer(put.recordType) {
        violations.add("\(path)onConflict", "only BucketsData and NotificationsData can be merged", .fieldNotAllowed)
      }
    }
    var draft = PutDraft(
      recordType: put.recordType,
      syncTimeMs: TimeRules.milliseconds(put.syncTime, "\(path)syncTime", &violations),
      recordCount: put.recordCount, content: .upload(""))
    draft.mustNotExist = put.mustNotExist
    draft.baseEtag = put.baseEtag
    draft.isStrict = put.strict
    draft.isMerge = isMerge
    switch put.content {
    case .inlineContent(let content):
      draft.content = .inline(content)
      if content.count > limits.inlineBytesMax {
        violations.add(
          "\(path)inlineContent", "has more than \(limits.inlineBytesMax) bytes; upload it", .contentTooLarge)
      }
    case .uploadId(let id): draft.content = .upload(id)
    case .sha256(let hash): if let digest = NameRules.digest(hash) { draft.content = .known(digest) }
    // The constraint of the oneof already rejects it.
    case nil: break
    }
    return ChangeDraft(name: put.name, etag: put.etag, put: draft, path: path)
  }
}
