import CampanileAPI
import CampanileCodec
import CampanileService

/// Validates the changes of commits by the rules that their constraints cannot express.
enum ChangeRules {
  static func changes(
    _ changes: [AssetChange], _ limits: SyncLimits, _ violations: inout Violations
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
        draft = ChangeDraft(name: delete.name, ifMatch: delete.ifMatch, path: "\(path)delete.")
      case nil:
        violations.add("changes[\(index)]", "must be a put or a delete", .required)
        continue
      }
      // Compare bytes, because names that differ only in Unicode normalization are different names.
      if !names.insert(Array(draft.name.utf8).description).inserted {
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
    if !put.ifNoneMatch.isEmpty, !put.ifMatch.isEmpty {
      violations.add("\(path)ifNoneMatch", "must be empty if ifMatch is set", .fieldNotAllowed)
    }
    let isMerge = put.onConflict == .merge
    if isMerge {
      if !put.ifMatch.isEmpty || !put.ifNoneMatch.isEmpty {
        violations.add("\(path)onConflict", "a merge must not have conditions", .fieldNotAllowed)
      }
      if !put.recordType.isEmpty, !ContentCheck.isContainer(put.recordType) {
        violations.add("\(path)onConflict", "only BucketsData and NotificationsData can be merged", .fieldNotAllowed)
      }
    }
    var draft = PutDraft(
      recordType: put.recordType,
      syncTimestampMs: TimeRules.milliseconds(put.syncTimestamp, "\(path)syncTimestamp", &violations),
      recordCount: put.recordCount, content: .upload(""))
    draft.mustBeNew = put.ifNoneMatch == "*"
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
    case nil: violations.add("\(path)inlineContent", "inlineContent, uploadId or sha256 must be given", .required)
    }
    return ChangeDraft(name: put.name, ifMatch: put.ifMatch, put: draft, path: path)
  }
}
