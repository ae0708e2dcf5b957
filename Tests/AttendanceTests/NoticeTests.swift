import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileStore
import ServiceTesting
import Synchronization
import TestSupport
import Testing

@testable import Attendance

/// A notifications service that stores what it receives. Like the real one, it ignores a repeated request.
final class NoticeInbox: NoticeSending {
  struct Received: Sendable, Hashable {
    var user: String
    var title: String
    var body: String
    var requestID: String
    var bucket: String
  }

  private struct State {
    var received: [Received] = []
    var requests: Set<[String]> = []
    var buckets: [[String]: String] = [:]
    var deleted: Set<String> = []
    var failure: RPCError?
    var losesResponses = false
  }

  private let state = Mutex(State())

  var received: [Received] { state.withLock { $0.received } }
  var users: [String] { received.map(\.user) }
  func fail(with error: RPCError?) { state.withLock { $0.failure = error } }
  /// Lets the next requests succeed, but fail for the caller.
  func loseResponses(_ isLost: Bool) { state.withLock { $0.losesResponses = isLost } }
  func deleteBuckets() { state.withLock { $0.deleted = Set($0.buckets.values) } }

  static let unavailable = RPCError(.unavailable, "down", reason: "DOWN")

  func create(_ request: CreateBucketRequest, user: String) async throws -> String {
    try state.withLock { state in
      if let failure = state.failure { throw failure }
      let key = [user, request.requestId]
      let id = state.buckets[key] ?? "b_\(state.buckets.count + 1)"
      state.buckets[key] = id
      return id
    }
  }

  func create(_ request: CreateNotificationRequest, user: String) async throws {
    try state.withLock { state in
      if let failure = state.failure { throw failure }
      let notification = request.notification ?? Notification()
      guard !state.deleted.contains(notification.bucketId) else {
        throw RPCError(.notFound, "no bucket", reason: "BUCKET_NOT_FOUND")
      }
      if state.requests.insert([user, request.requestId]).inserted {
        state.received.append(
          Received(
            user: user, title: notification.title, body: notification.body ?? "", requestID: request.requestId,
            bucket: notification.bucketId))
      }
      if state.losesResponses { throw Self.unavailable }
    }
  }
}

extension AttendanceComponent {
  /// Hands out what is due and delivers it.
  func sendNotices() async throws {
    let schedule = try #require(noticeSchedule)
    let relay = try #require(noticeRelay)
    while try await schedule.step() {}
    while try await relay.deliverDue().delivered > 0 {}
  }

  func setNotices(_ notices: NoticeSettings, _ language: LodgeLanguage = .english) async throws {
    let settings = LodgeSettings(language: language, notices: notices)
    _ = try await lodge.updateLodgeSettings(.init(settings: settings), context: admin)
  }

  func update(_ meeting: Meeting, _ mask: String, _ change: (inout Meeting) -> Void) async throws {
    var meeting = meeting
    change(&meeting)
    meeting.etag = ""
    let request = UpdateMeetingRequest(meeting: meeting, updateMask: .init(paths: [mask]))
    _ = try await meetings.updateMeeting(request, context: admin)
  }
}

@Suite struct NoticeTests {
  private let inbox = NoticeInbox()
  private let fixture: Fixture

  init() throws { fixture = try Fixture(notices: inbox) }

  @Test("no notice is sent by default, and none without a notifications service")
  func nothingByDefault() async throws {
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", user: "anna")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs + Fixture.dayMs)
      _ = try await component.meetings.cancelMeeting(.init(meetingId: meeting.id), context: admin)
      try await component.sendNotices()
      #expect(inbox.received.isEmpty)
      #expect(try await component.store.outboxCounts().pending == 0)
    }
    let alone = try Fixture()
    try await alone.run { component in
      let change = LodgeSettings(notices: .init(meetingChanges: true))
      #expect(
        await refusal { try await component.lodge.updateLodgeSettings(.init(settings: change), context: admin) }
          == "FAILED_PRECONDITION NOTICES_UNAVAILABLE")
      // Other settings can be changed.
      try await component.setNotices(NoticeSettings())
    }
  }

  @Test("a cancellation reaches each member who wants it, once")
  func cancellationReachesMembersOnce() async throws {
    try await fixture.run { component in
      try await component.setNotices(.init(meetingChanges: true), .italian)
      _ = try await component.makeMember("Anna", user: "anna")
      _ = try await component.makeMember("Bruno")
      let carla = try await component.makeMember("Carla", user: "carla")
      let dino = try await component.makeMember("Dino", user: "dino")
      _ = try await component.makeMember("Elio", initiation: "2027-01-01", user: "elio")
      let refusal = UpdateMemberRequest(
        member: Member(id: carla.id, refusedNotices: [.reminder, .meetingCancelled, .reminder]))
      let refused = try await component.members.updateMember(refusal, context: user("carla")).member
      #expect(refused?.refusedNotices == [.meetingCancelled, .reminder])
      _ = try await component.members.deactivateMember(.init(memberId: dino.id), context: admin)
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs + 3 * Fixture.dayMs)
      _ = try await component.meetings.cancelMeeting(.init(meetingId: meeting.id), context: admin)
      _ = try await component.meetings.cancelMeeting(.init(meetingId: meeting.id), context: admin)
      for _ in 0..<3 { try await component.sendNotices() }
      #expect(
        inbox.received == [
          .init(
            user: "anna", title: "Tornata annullata: The pillars",
            body: "La tornata di giovedì 5 febbraio 2026 alle 03:40 non si tiene.",
            requestID: "attendance.t_1.2.2", bucket: "b_1")
        ])
      // It takes place after all, and is cancelled again.
      try await component.setStatus(meeting, .scheduled)
      try await component.sendNotices()
      _ = try await component.meetings.cancelMeeting(.init(meetingId: meeting.id), context: admin)
      try await component.sendNotices()
      // The order is defined for each user.
      #expect(
        inbox.received.dropFirst().map { "\($0.user) \($0.requestID)" }.sorted() == [
          "anna attendance.t_1.1.3", "anna attendance.t_1.2.4", "carla attendance.t_1.1.3",
        ])
      // Refusals are hidden from other members.
      let seen = try await component.members.getMember(.init(memberId: carla.id), context: user("anna")).member
      #expect(seen?.refusedNotices == [])
    }
  }

  @Test("changes of the start and the location are told, others are not")
  func changesAreTold() async throws {
    try await fixture.run { component in
      try await component.setNotices(.init(meetingChanges: true))
      _ = try await component.makeMember("Anna", user: "anna")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs + 3 * Fixture.dayMs)
      try await component.update(meeting, "discussion") { $0.discussion = "The columns" }
      try await component.update(meeting, "notes") { $0.notes = "x" }
      try await component.sendNotices()
      #expect(inbox.received.isEmpty)
      let laterMs = fixture.clock.nowMs + 4 * Fixture.dayMs
      try await component.update(meeting, "start_time") {
        $0.startTime = ProtoTimestamp(millisecondsSince1970: laterMs)
      }
      try await component.sendNotices()
      try await component.update(meeting, "location") { $0.location = "Rome" }
      try await component.sendNotices()
      #expect(inbox.received.map(\.title) == Array(repeating: "Meeting changed: The columns", count: 2))
      #expect(
        inbox.received.map(\.body) == [
          "The meeting takes place on Friday, 6 February 2026 at 03:40."
            + " It was planned for Thursday, 5 February 2026 at 03:40.",
          "The meeting takes place on Friday, 6 February 2026 at 03:40, Rome.",
        ])
      // A deletion is a cancellation. Past meetings cause no notice.
      _ = try await component.meetings.deleteMeeting(.init(meetingId: meeting.id), context: admin)
      let past = try await component.makeMeeting(atMs: fixture.clock.nowMs - Fixture.hourMs)
      _ = try await component.meetings.cancelMeeting(.init(meetingId: past.id), context: admin)
      try await component.sendNotices()
      #expect(inbox.received.map(\.requestID).last == "attendance.t_1.2.6" && inbox.received.count == 3)
    }
  }

  @Test("members are reminded once for each start, also after a restart")
  func remindersAreSentOnce() async throws {
    let startMs = fixture.clock.nowMs + 3 * Fixture.dayMs
    var meeting = Meeting()
    try await fixture.run { component in
      try await component.setNotices(.init(reminderBefore: .init(seconds: 86_400)))
      _ = try await component.makeMember("Anna", user: "anna")
      let bruno = try await component.makeMember("Bruno", user: "bruno")
      meeting = try await component.makeMeeting(atMs: startMs)
      _ = try await component.makeMeeting(atMs: startMs + 5 * Fixture.dayMs)
      try await component.record(bruno, meeting, .excused)
      fixture.clock.advance(by: .milliseconds(2 * Fixture.dayMs - 1))
      try await component.sendNotices()
      #expect(inbox.received.isEmpty)
      fixture.clock.advance(by: .milliseconds(1))
      // Handed out, but not delivered, before the process ends.
      #expect(try await #require(component.noticeSchedule).step())
    }
    try await fixture.run { component in
      for _ in 0..<3 { try await component.sendNotices() }
      #expect(inbox.users == ["anna"])
      #expect(inbox.received[0].title == "Reminder: The pillars")
      // Another time before the meeting is no new reminder; another start is one.
      try await component.setNotices(.init(reminderBefore: .init(seconds: 2 * 86_400)))
      try await component.sendNotices()
      #expect(inbox.users == ["anna"])
      try await component.update(meeting, "start_time") {
        $0.startTime = ProtoTimestamp(millisecondsSince1970: startMs + Fixture.hourMs)
      }
      try await component.sendNotices()
      #expect(inbox.users == ["anna", "anna"])
      // A meeting that has begun while the process was stopped causes no reminder.
      fixture.clock.advance(by: .milliseconds(20 * Fixture.dayMs))
      try await component.sendNotices()
      #expect(inbox.users == ["anna", "anna"])
    }
  }

  @Test("a member who misses several meetings in a row is told once, a day after the last")
  func absencesAreTold() async throws {
    try await fixture.run { component in
      try await component.setNotices(.init(absenceThreshold: 2))
      let anna = try await component.makeMember("Anna", user: "anna")
      let bruno = try await component.makeMember("Bruno", user: "bruno")
      let carla = try await component.makeMember("Carla", user: "carla")
      _ = try await component.makeMember("Nuovo", initiation: "2026-02-02", user: "nuovo")
      var meetings: [Meeting] = []
      for days: Int64 in [45, 38, 31, 3, 2, 1] {
        meetings.append(try await component.makeMeeting(atMs: fixture.clock.nowMs - days * Fixture.dayMs))
      }
      // Anna is absent from the fourth on; Bruno is excused from the fifth; Carla is always present.
      let statuses: [(Member, [AttendanceStatus])] = [
        (anna, [.absent, .absent, .present, .absent, .notConfirmed, .absent]),
        (bruno, [.present, .absent, .present, .absent, .excused, .absent]),
        (carla, Array(repeating: .present, count: 6)),
      ]
      for (index, meeting) in meetings.enumerated() {
        for (member, statuses) in statuses { try await component.record(member, meeting, statuses[index]) }
        try await component.setStatus(meeting, .completed)
      }
      try await component.sendNotices()
      #expect(inbox.received.isEmpty)
      fixture.clock.advance(by: .milliseconds(NoticeRules.absenceDelayMs))
      try await component.sendNotices()
      // Anna's second absence was at the fifth meeting, Bruno's at the sixth. The first three are too old.
      #expect(
        inbox.received.map { "\($0.user) \($0.title) \($0.requestID)" }.sorted() == [
          "anna Consecutive absences: 2 attendance.t_5.4.0", "bruno Consecutive absences: 2 attendance.t_6.4.0",
        ])
      // Completing a meeting again does not count it again.
      try await component.setStatus(meetings[4], .scheduled)
      try await component.setStatus(meetings[4], .completed)
      fixture.clock.advance(by: .milliseconds(2 * NoticeRules.absenceDelayMs))
      try await component.sendNotices()
      #expect(inbox.received.count == 2)
    }
  }

  @Test("a notice waits while the notifications service is away, and is dropped once it is useless")
  func noticesWaitForTheService() async throws {
    inbox.fail(with: NoticeInbox.unavailable)
    try await fixture.run { component in
      try await component.setNotices(.init(meetingChanges: true))
      _ = try await component.makeMember("Anna", user: "anna")
      for days: Int64 in [3, 20] {
        let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs + days * Fixture.dayMs)
        _ = try await component.meetings.cancelMeeting(.init(meetingId: meeting.id), context: admin)
      }
      for _ in 0..<20 {
        try await component.sendNotices()
        fixture.clock.advance(by: .milliseconds(Fixture.hourMs))
      }
    }
    // The first meeting begins in the meantime.
    fixture.clock.advance(by: .milliseconds(4 * Fixture.dayMs))
    inbox.fail(with: nil)
    inbox.loseResponses(true)
    try await fixture.run { component in
      try await component.sendNotices()
      inbox.loseResponses(false)
      for _ in 0..<3 {
        fixture.clock.advance(by: .milliseconds(Fixture.hourMs))
        try await component.sendNotices()
      }
      #expect(inbox.received.map(\.requestID) == ["attendance.t_2.2.2"])
      let counts = try await component.store.outboxCounts()
      #expect(counts.pending == 0 && counts.deadLetters == 0)
    }
  }

  @Test("notices go to another bucket once the user has deleted theirs, and a refusal is retained for the operator")
  func deletedBucketIsReplaced() async throws {
    try await fixture.run { component in
      try await component.setNotices(.init(meetingChanges: true))
      let anna = try await component.makeMember("Anna", user: "anna")
      func cancelOne() async throws {
        let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs + Fixture.dayMs)
        _ = try await component.meetings.cancelMeeting(.init(meetingId: meeting.id), context: admin)
        try await component.sendNotices()
      }
      try await cancelOne()
      try await cancelOne()
      inbox.deleteBuckets()
      try await cancelOne()
      #expect(inbox.received.map(\.bucket) == ["b_1", "b_1", "b_2"])
      inbox.fail(with: RPCError(.invalidArgument, "no", reason: "TEXT_INVALID"))
      try await cancelOne()
      #expect(try await component.store.outboxCounts().deadLetters == 1)
      try await component.maintain(nowMs: fixture.clock.nowMs + AttendanceRetention.rejectedNoticeMs)
      #expect(try await component.store.outboxCounts().deadLetters == 1)
      try await component.maintain(nowMs: fixture.clock.nowMs + AttendanceRetention.rejectedNoticeMs + 1)
      #expect(try await component.store.outboxCounts().deadLetters == 0)
      // Erasing the member forgets the bucket.
      let erasure = EraseMemberRequest(memberId: anna.id, confirmName: "Anna")
      _ = try await component.members.eraseMember(erasure, context: admin)
      let buckets = try component.store.readSingleBlocking { transaction in
        try transaction.query("SELECT user_id FROM notice_buckets") { try $0.text(0) }
      }
      #expect(buckets == [])
    }
  }

  @Test("a large lodge is told page by page, each member once, across restarts")
  func largeLodgeIsToldOnce() async throws {
    let count = 2 * NoticeSchedule.pageRows + 50
    try await fixture.run { component in
      try await component.setNotices(.init(meetingChanges: true))
      let rows = (0..<count).map { "Member \($0),user\($0)\n" }.joined()
      #expect(try await component.importCsv(.members, "name,user_id\n" + rows).committed)
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs + Fixture.dayMs)
      _ = try await component.meetings.cancelMeeting(.init(meetingId: meeting.id), context: admin)
      #expect(try await #require(component.noticeSchedule).step())
    }
    try await fixture.run { component in
      try await component.sendNotices()
      #expect(inbox.users.count == count && Set(inbox.users).count == count)
    }
  }

  @Test("the loops send notices as soon as a change is committed")
  func loopsRun() async throws {
    try await fixture.run { component in
      try await component.setNotices(.init(meetingChanges: true))
      _ = try await component.makeMember("Anna", user: "anna")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs + Fixture.dayMs)
      let task = Task { await component.runNotices() }
      _ = try await component.meetings.cancelMeeting(.init(meetingId: meeting.id), context: admin)
      while inbox.received.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
      task.cancel()
      await task.value
      #expect(inbox.users == ["anna"])
    }
  }
}

@Suite struct NoticeRulesTests {
  private static let nowMs: Int64 = 1_000_000

  private static func meeting(_ status: MeetingStatus, _ startMs: Int64, _ location: String = "") -> Meeting {
    Meeting(startTime: ProtoTimestamp(millisecondsSince1970: startMs), status: status, location: location)
  }

  private static let changes: [(Meeting, Meeting?, NoticeKind?)] = [
    (meeting(.scheduled, 2_000_000), meeting(.cancelled, 2_000_000), .meetingCancelled),
    (meeting(.scheduled, 2_000_000), nil, .meetingCancelled),
    (meeting(.scheduled, 2_000_000), meeting(.scheduled, 3_000_000), .meetingChanged),
    (meeting(.scheduled, 2_000_000), meeting(.scheduled, 2_000_000, "x"), .meetingChanged),
    (meeting(.cancelled, 2_000_000), meeting(.scheduled, 2_000_000), .meetingChanged),
    (meeting(.scheduled, 500_000), meeting(.scheduled, 2_000_000), .meetingChanged),
    (meeting(.scheduled, 2_000_000), meeting(.scheduled, 2_000_000), nil),
    (meeting(.scheduled, 2_000_000), meeting(.scheduled, 500_000), nil),
    (meeting(.scheduled, 2_000_000), meeting(.completed, 500_000), nil),
    (meeting(.scheduled, 500_000), meeting(.cancelled, 500_000), nil), (meeting(.cancelled, 2_000_000), nil, nil),
    (meeting(.scheduled, 1_000_000), nil, nil),
  ]

  @Test(arguments: changes.indices)
  func changesCauseNotices(_ index: Int) {
    let (old, new, expected) = Self.changes[index]
    #expect(NoticeRules.kind(from: old, to: new, nowMs: Self.nowMs) == expected)
  }

  /// Newest first: present, absent, excused, unconfirmed, ineligible.
  @Test(arguments: [
    ("", 0), ("a", 1), ("au", 2), ("aeu", 2), ("aiip", 1), ("ap", 1), ("pa", 0), ("ea", 0), ("ia", 0), ("aaaa", 3),
    ("aeep", 1),
  ])
  func missedMeetingsAreCounted(_ text: String, _ expected: Int) {
    let marks: [Character: Mark] = ["p": .present, "a": .absent, "e": .excused, "u": .unconfirmed, "i": .ineligible]
    #expect(NoticeRules.missedCount(text.compactMap { marks[$0]?.rawValue }, max: 3) == expected)
  }

  @Test func longTopicsAreCut() throws {
    let meeting = Meeting(
      startTime: ProtoTimestamp(millisecondsSince1970: 0), discussion: String(repeating: "é", count: 512))
    let job = NoticeJob(meeting, .reminder, revision: 1, dueMs: 0)
    let text = NoticeText(job, .italian, zone: try #require(LodgeCalendar("UTC")).timeZone, missedCount: 0)
    #expect(text.title.unicodeScalars.count <= 256 && text.title.hasSuffix("é…"))
    #expect(text.body == "Tornata giovedì 1 gennaio 1970 alle 00:00.")
  }
}
