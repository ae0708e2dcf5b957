import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileService
import CampanileStore

/// Hands due notices out to the members: puts a message for each of them into the outbox, a page of members at a time.
///
/// The progress is stored in the transaction of the messages, so that no member is left out or notified twice, whenever
/// the process ends.
struct NoticeSchedule: Sendable {
  static let topic = "notice"
  /// Members considered in one transaction.
  static let pageRows = 200
  /// Pending messages of the outbox. The schedule waits while there are more.
  static let pendingMax: Int64 = 100_000
  /// The time after the start of a meeting at which its notices are deleted.
  static let readableMs: Int64 = 24 * 3_600 * 1_000

  let repository: SQLiteAttendanceRepository
  let noticeSignal: CommitSignal
  /// Called after messages were committed.
  let wakeRelay: @Sendable () -> Void

  /// Runs until the task is cancelled.
  func run(log: @escaping @Sendable (String) -> Void) async {
    await noticeSignal.signal.runRounds(retryMs: 1_000, failed: { log("scheduling notices failed: \($0)") }) {
      if try await step() { return nil }
      return AlarmSchedule.sleepMs(untilMs: try await nextMs(), nowMs: repository.clockMs())
    }
  }

  /// Hands the earliest due notice out to a page of members.
  ///
  /// - Returns: Whether a notice was due.
  func step() async throws -> Bool {
    guard let nextMs = try await nextMs(), nextMs <= repository.clockMs() else { return false }
    try await repository.storeWrite { [repository] transaction in
      let nowMs = repository.clockMs()
      if let job = try transaction.queryOne(NoticeTable.dueSQL, [.integer(nowMs)], { try NoticeJob($0) }) {
        try NoticePage(transaction: transaction, job: job, nowMs: nowMs).hand()
      } else {
        try Self.remind(transaction, nowMs: nowMs)
      }
    }
    wakeRelay()
    return true
  }

  /// Returns the time of the next notice; nil if there is none.
  private func nextMs() async throws -> Int64? {
    let nowMs = repository.clockMs()
    return try await repository.read { transaction in
      let jobMs = try transaction.queryOne(NoticeTable.nextSQL) { try $0.integer(0) }
      let reminderMs = try Self.nextReminder(transaction, nowMs: nowMs)?.dueMs
      return [jobMs, reminderMs].compactMap { $0 }.min()
    }
  }

  private static func nextReminder(
    _ transaction: ReadTransaction, nowMs: Int64
  ) throws -> (meeting: Meeting, dueMs: Int64)? {
    guard let before = try transaction.lodgeSettings().notices?.reminderBefore else { return nil }
    let meeting = try transaction.queryOne(NoticeTable.reminderSQL, [.integer(nowMs)], MeetingRow.meeting)
    return meeting.map { ($0, $0.startMs - before.milliseconds) }
  }

  /// Plans the reminders of the next meeting if they are due, once for each start time.
  private static func remind(_ transaction: WriteTransaction, nowMs: Int64) throws {
    guard let (meeting, dueMs) = try nextReminder(transaction, nowMs: nowMs), dueMs <= nowMs else { return }
    let job = NoticeJob(meeting, .reminder, revision: meeting.startMs, dueMs: dueMs)
    try transaction.execute(NoticeTable.putSQL, job.values)
    try transaction.execute(NoticeTable.remindedSQL, [.integer(meeting.number)])
  }
}

/// One transaction that hands a notice out to the next page of members.
private struct NoticePage {
  let transaction: WriteTransaction
  let job: NoticeJob
  let nowMs: Int64

  private var key: [SQLValue] { [.integer(job.meeting), .integer(Int64(job.kind.rawValue))] }

  func hand() throws {
    let settings = try transaction.lodgeSettings()
    let state = try transaction.queryOne(MeetingRow.stateSQL, [.integer(job.meeting)], { try MeetingState($0) })
    guard try isCurrent(state, settings) else { return try drop() }
    let day = try settings.calendar().day(ofMs: job.startMs)
    let members = try transaction.query(
      NoticeTable.membersSQL, [.integer(job.afterMember), .int(NoticeSchedule.pageRows)],
      rowsMax: NoticeSchedule.pageRows, { try NoticeMember($0) })
    for member in members where !member.refused.contains(job.kind) && day >= member.initiationDay ?? .min {
      try enqueue(member, state, settings)
    }
    guard members.count == NoticeSchedule.pageRows, let last = members.last else { return try drop() }
    try transaction.execute(NoticeTable.continueSQL, key + [.integer(last.number)])
  }

  private func drop() throws { try transaction.execute(NoticeTable.dropSQL, key) }

  /// Returns whether the notice still applies.
  private func isCurrent(_ state: MeetingState?, _ settings: LodgeSettings) throws -> Bool {
    guard settings.notices?.includes(job.kind) == true else { return false }
    switch job.kind {
    case .reminder: return state?.status == .scheduled && state?.startMs == job.revision && job.startMs > nowMs
    case .absence:
      guard state?.status == .completed else { return false }
      // Completing a meeting again does not count it again.
      return try job.afterMember > 0
        || transaction.executeCounting(NoticeTable.countedSQL, [.integer(job.meeting)]) > 0
    default: return job.startMs > nowMs
    }
  }

  private func enqueue(_ member: NoticeMember, _ state: MeetingState?, _ settings: LodgeSettings) throws {
    var missedCount = 0
    switch job.kind {
    case .reminder:
      let record = try transaction.queryOne(
        AttendanceRow.oneSQL, [.integer(job.meeting), .integer(member.number)], AttendanceRow.attendance)
      guard record?.status != .absent, record?.status != .excused else { return }
    case .absence:
      guard let state, let ordinal = state.ordinal else { return }
      let threshold = Int(settings.notices?.absenceThreshold ?? 0)
      missedCount = try missed(member.number, year: state.year, ordinal: ordinal, max: threshold + 1)
      // Later meetings of the same run cause no further notice.
      guard missedCount == threshold else { return }
    default: break
    }
    let text = NoticeText(
      job, settings.language, zone: try settings.calendar().timeZone, missedCount: missedCount)
    var notification = Notification(title: text.title, body: text.body, priority: .normal, collapseKey: job.id)
    if job.kind != .absence {
      notification.expireTime = ProtoTimestamp(millisecondsSince1970: job.startMs + NoticeSchedule.readableMs)
    }
    let request = CreateNotificationRequest(notification: notification, requestId: "attendance.\(job.id)")
    try transaction.enqueue(
      topic: NoticeSchedule.topic, key: member.user, payload: request.jsonUTF8Bytes(), nowMs: nowMs,
      pendingMax: NoticeSchedule.pendingMax)
  }

  /// Returns the number of meetings missed in a row, up to the meeting at `ordinal` of a year.
  private func missed(_ member: Int64, year: Int64, ordinal: Int, max: Int) throws -> Int {
    var marks: [UInt8] = []
    try transaction.forEach(NoticeTable.marksSQL, [.integer(member), .integer(year)]) { row in
      let bytes = try row.bytes(1)
      let isLast = try row.integer(0) == year
      marks += isLast ? bytes.prefix(ordinal + 1).reversed() : bytes.reversed()
      // The rows of earlier years matter only if the member was present in none of these.
      return NoticeRules.missedCount(marks, max: max) < max && !marks.contains(Mark.present.rawValue)
    }
    return NoticeRules.missedCount(marks, max: max)
  }
}
