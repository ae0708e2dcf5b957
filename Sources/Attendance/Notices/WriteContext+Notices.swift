import CampanileAPI
import CampanileService
import CampanileStore

extension WriteContext {
  /// Plans the notices that a change of a meeting causes, in the transaction of the change.
  ///
  /// - Parameters:
  ///   - old: The meeting before; nil if it is new.
  ///   - new: The meeting after; nil if it is deleted.
  func planNotices(from old: Meeting?, to new: Meeting?) throws {
    guard let noticeSignal else { return }
    // Also without a notice, the next reminder may be another one.
    noticeSignal.changed()
    let kind = old.flatMap { NoticeRules.kind(from: $0, to: new, nowMs: nowMs) }
    let countsAbsences = NoticeRules.countsAbsences(from: old, to: new, nowMs: nowMs)
    guard kind != nil || countsAbsences else { return }
    let settings = try transaction.lodgeSettings().notices ?? NoticeSettings()
    if let kind, let meeting = new ?? old {
      let number = meeting.number
      try transaction.execute(NoticeTable.dropOthersSQL, [.integer(number), .integer(Int64(kind.rawValue))])
      if settings.includes(kind) {
        // A deleted meeting has no later version.
        let version = (Etag.version(meeting.etag) ?? 0) + (new == nil ? 1 : 0)
        try put(NoticeJob(meeting, kind, revision: version, dueMs: nowMs, oldStartMs: old?.startMs))
      }
    }
    if countsAbsences, let new, settings.includes(.absence) {
      try put(NoticeJob(new, .absence, revision: 0, dueMs: nowMs + NoticeRules.absenceDelayMs))
    }
  }

  private func put(_ job: NoticeJob) throws { try transaction.execute(NoticeTable.putSQL, job.values) }
}
