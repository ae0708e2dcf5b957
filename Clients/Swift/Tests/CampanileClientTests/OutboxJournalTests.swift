import Testing

@testable import CampanileClient
import CampanileNotifications

func entry(_ id: UInt64, object: String = "o", request: String = #"{"requestId":"r"}"#) -> OutboxEntry {
  OutboxEntry(
    id: id, object: object, method: "p.S/M", request: Array(request.utf8), requestID: "r\(id)", createdMs: -5)
}

/// The records of an outbox, and the state that they leave.
struct OutboxJournalTests {
  private let error = RPCError(
    .invalidArgument, "à", reason: "R", errorMetadata: ["a": "1", "b": "2"],
    fieldViolations: [.init(field: "f", description: "d", reason: "x")])

  @Test func checksumIsThatOfZip() {
    #expect(CRC32.checksum(Array("123456789".utf8)[...]) == 0xCBF4_3926)
  }

  @Test func recordsSurviveEncoding() {
    for record: OutboxRecord in [
      .added(entry(7, object: "à 🔔")), .sent(1), .refused(2, error), .removed(3), .nextID(.max),
    ] {
      let read = OutboxRecord.read(record.bytes[...])
      #expect(read?.record == record && read?.sizeBytes == record.bytes.count)
    }
  }

  @Test func damagedOrCutRecordIsNotRead() {
    let bytes = OutboxRecord.refused(2, error).bytes
    for count in 0..<bytes.count { #expect(OutboxRecord.read(bytes[..<count]) == nil) }
    for index in bytes.indices {
      var damaged = bytes
      damaged[index] ^= 0x10
      #expect(OutboxRecord.read(damaged[...]) == nil)
    }
    #expect(OutboxRecord.read([UInt8](repeating: 0xFF, count: 64)[...]) == nil)
    #expect(OutboxRecord.read([UInt8](repeating: 0, count: 64)[...]) == nil)
  }

  @Test func recordOfANewerVersionIsSkipped() {
    var payload = ByteWriter()
    payload.integer(UInt8(99))
    payload.integer(UInt64(1))
    payload.text("new")
    var head = ByteWriter()
    head.integer(UInt32(payload.bytes.count))
    head.integer(CRC32.checksum(payload.bytes[...]))
    let read = OutboxRecord.read((head.bytes + payload.bytes)[...])
    #expect(read?.record == .unknown && read?.sizeBytes == head.bytes.count + payload.bytes.count)
  }

  @Test func journalHasWhatWasNotSent() {
    var journal = OutboxJournal()
    for id: UInt64 in 1...4 { journal.apply(.added(entry(id, object: id % 2 == 0 ? "even" : "odd"))) }
    journal.apply(.sent(1))
    journal.apply(.refused(2, error))
    journal.apply(.sent(99))
    #expect(journal.entries.map(\.id) == [3, 4] && journal.heads.map(\.id) == [3, 4])
    #expect(journal.refusals == [OutboxRefusal(entry: entry(2, object: "even"), error: error)])
    #expect(journal.nextID == 5)
    journal.apply(.removed(2))
    journal.apply(.removed(3))
    journal.apply(.sent(4))
    #expect(journal.count == 0 && journal.sizeBytes == 0 && journal.heads.isEmpty)
  }

  @Test func compactRecordsLeaveTheSameState() {
    var journal = OutboxJournal()
    for id: UInt64 in 1...9 { journal.apply(.added(entry(id))) }
    journal.apply(.sent(9))
    journal.apply(.refused(1, error))
    var copy = OutboxJournal()
    for record in journal.records { copy.apply(record) }
    #expect(copy.entries == journal.entries && copy.refusals == journal.refusals)
    #expect(copy.nextID == 10 && copy.sizeBytes == journal.sizeBytes)
  }

  @Test func tenThousandCallsAreBelowFiveMegabytes() {
    let notification = Notification(
      bucketId: "b_0123456789abcdef", title: "A title of the usual length", body: "A body")
    let request = CreateNotificationRequest(notification: notification, requestId: String(repeating: "r", count: 36))
    let entry = OutboxEntry(
      id: 1, object: "b_0123456789abcdef", method: NotificationsServiceMethods.createNotification.path,
      request: request.jsonUTF8Bytes(), requestID: request.requestId, createdMs: 0)
    #expect(10_000 * OutboxRecord.added(entry).bytes.count <= 5_000_000)
    #expect(10_000 * entry.sizeBytes <= OutboxLimits().sizeBytesMax)
  }

  @Test func limitsCountEntriesAndRefusals() {
    var limits = OutboxLimits()
    limits.entriesMax = 2
    var journal = OutboxJournal()
    journal.apply(.added(entry(1)))
    #expect(journal.refusal(of: entry(2), limits) == nil)
    journal.apply(.refused(1, error))
    journal.apply(.added(entry(2)))
    #expect(journal.refusal(of: entry(3), limits)?.reason == "OUTBOX_FULL")
    limits.entriesMax = 10
    limits.sizeBytesMax = journal.sizeBytes + 10
    #expect(journal.refusal(of: entry(3), limits)?.reason == "OUTBOX_FULL")
  }
}

/// The order in which entries are sent.
struct OutboxScheduleTests {
  private let lost = RPCError(.unavailable, "lost")

  @Test func failureStopsOnlyItsObject() {
    var schedule = OutboxSchedule(OutboxLimits())
    let heads = [entry(1, object: "a"), entry(2, object: "b")]
    #expect(schedule.ready(heads, nowMs: 0).map(\.id) == [1, 2])
    #expect(schedule.finished(heads[0], lost, nowMs: 0, random: 0.5) == .waiting)
    #expect(schedule.ready(heads, nowMs: 499).map(\.id) == [2])
    #expect(schedule.pauseMs(nowMs: 100) == 400)
    #expect(schedule.ready(heads, nowMs: 500).map(\.id) == [1, 2])
    #expect(schedule.finished(heads[0], lost, nowMs: 500, random: 0.5) == .waiting)
    #expect(schedule.pauseMs(nowMs: 500) == 1_000)
    schedule.resume()
    #expect(schedule.ready(heads, nowMs: 500).count == 2)
    #expect(schedule.finished(heads[0], nil, nowMs: 600, random: 0.5) == .sent)
    #expect(schedule.pauseMs(nowMs: 600) == nil)
  }

  @Test func requestedDelayIsAMinimum() {
    var schedule = OutboxSchedule(OutboxLimits())
    let busy = RPCError(.resourceExhausted, "busy", retryAfterMs: 90_000)
    #expect(schedule.finished(entry(1), busy, nowMs: 0, random: 0) == .waiting)
    #expect(schedule.pauseMs(nowMs: 0) == 90_000)
  }

  @Test(arguments: [
    RPCError.Code.invalidArgument, .notFound, .alreadyExists, .permissionDenied, .failedPrecondition, .aborted,
    .outOfRange, .unimplemented, .resourceExhausted,
  ])
  func lastingErrorIsARefusal(code: RPCError.Code) {
    var schedule = OutboxSchedule(OutboxLimits())
    let error = RPCError(code, "no")
    #expect(schedule.finished(entry(1), error, nowMs: 0, random: 0) == .refused(error))
  }

  @Test(arguments: [RPCError.Code.unavailable, .deadlineExceeded, .unauthenticated, .cancelled])
  func passingErrorIsNeverARefusal(code: RPCError.Code) {
    var schedule = OutboxSchedule(OutboxLimits())
    for _ in 0..<50 {
      #expect(schedule.finished(entry(1), RPCError(code, "later"), nowMs: 0, random: 0) == .waiting)
    }
  }

  @Test func faultOfTheServerIsARefusalAfterSeveralAttempts() {
    var schedule = OutboxSchedule(OutboxLimits())
    let fault = RPCError(.internalError, "fault")
    for _ in 0..<9 { #expect(schedule.finished(entry(1), fault, nowMs: 0, random: 0) == .waiting) }
    #expect(schedule.finished(entry(1), fault, nowMs: 0, random: 0) == .refused(fault))
  }
}
