import CampanileNotifications
import Foundation
import Testing

@testable import CampanileClient
@testable import CampanileLodge

/// The lodge's statistics, roster and file, without a network.
struct LodgeRulesTests {
  private func meeting(_ number: Int64, _ start: String, _ status: MeetingStatus = .completed) throws -> Meeting {
    let time = try ProtoTimestamp(jsonString: "\"\(start)\"")
    return Meeting(
      id: "t_\(number)", number: number, startTime: time, status: status, year: Int32(start.prefix(4)) ?? 0)
  }

  private func statistics(
    _ statuses: [AttendanceStatus?], initiation: String = "", year: Int32 = 0, settings: LodgeSettings? = nil
  ) throws -> AttendanceStatistics {
    let meetings = try statuses.indices.map { try meeting(Int64($0), "2025-0\($0 + 1)-10T18:30:00Z") }
    var recorded: [String: AttendanceStatus] = [:]
    for (index, status) in statuses.enumerated() { recorded["t_\(index)"] = status }
    let member = Member(id: "m_1", initiationDate: initiation)
    guard let settings else {
      return StatisticsRules.statistics(of: member, meetings: meetings, statuses: recorded, year: year)
    }
    return StatisticsRules.statistics(
      of: member, meetings: meetings, statuses: recorded, year: year, settings: settings)
  }

  @Test func percentageAndStreaks() throws {
    let result = try statistics([.present, .absent, .present, .excused, .present, nil, .notConfirmed])
    #expect(result.eligibleCount == 7 && result.countedCount == 6 && result.presentCount == 3)
    #expect(result.absentCount == 1 && result.excusedCount == 1 && result.unconfirmedCount == 2)
    #expect(result.percentage == 50 && result.rate == 0.5 && result.currentStreak == 0 && result.bestStreak == 2)
    #expect(result.level == .low && result.fraction == "3/6")
    // 2 of 3 are 66.67 %, 5 of 8 are 62.5 %: rounded half up.
    #expect(try statistics([.present, .present, .absent]).percentage == 67)
    #expect(
      try statistics([.present, .present, .present, .present, .present, .absent, .absent, .absent]).percentage == 63)
    #expect(try statistics([]).percentage == 0)
  }

  @Test func settingsChangeExcuses() throws {
    let strict = LodgeSettings(timeZone: "Europe/Rome")
    let result = try statistics([.present, .excused, .present], settings: strict)
    #expect(result.countedCount == 3 && result.percentage == 67 && result.bestStreak == 1)
  }

  @Test func meetingsBeforeTheInitiationDoNotCount() throws {
    // The day counts, in the lodge's time zone: 22:30 UTC is the next day in Rome.
    #expect(try statistics([.present, .present], initiation: "2025-02-10").eligibleCount == 1)
    let late = try meeting(1, "2025-06-09T22:30:00Z")
    let member = Member(id: "m_1", initiationDate: "2025-06-10")
    #expect(StatisticsRules.statistics(of: member, meetings: [late], statuses: [:]).eligibleCount == 1)
    let scheduled = try [
      meeting(2, "2025-07-01T18:00:00Z", .scheduled), meeting(3, "2025-07-02T18:00:00Z", .cancelled),
    ]
    #expect(StatisticsRules.statistics(of: member, meetings: scheduled, statuses: [:]).eligibleCount == 0)
    #expect(try statistics([.present], year: 2024).eligibleCount == 0)
  }

  @Test func coloursAndIconsAreThoseOfTheSeed() {
    let levels = [100, 90, 89, 70, 69, 0].map { PercentageLevel(percentage: $0) }
    #expect(levels == [.high, .high, .medium, .medium, .low, .low])
    #expect(Set(PercentageLevel.allCases.map(\.colorHex)).count == 3)
    #expect(
      Degree.master.icon == "\u{1F536}" && Degree.fellow.icon == "\u{1F537}" && Degree.apprentice.icon == "\u{1F539}")
    #expect(Degree.master.title == "Maestro" && Degree.unspecified.icon.isEmpty)
  }

  @Test func rosterFollowsChangesAndIsStored() throws {
    let folder = try TestFolder()
    let file = RosterFile(folder.url)
    #expect(try file.read() == .init())
    var roster = Roster()
    roster.apply(.init(change: .member(.init(id: "m_1", name: "Anna", degree: .apprentice, active: true))))
    roster.apply(.init(change: .member(.init(id: "m_2", name: "Bruno", degree: .master, active: true))))
    roster.apply(.init(change: .member(.init(id: "m_3", name: "Carlo", degree: .master))))
    roster.apply(.init(change: .meeting(try meeting(1, "2025-01-10T18:30:00Z"))))
    roster.apply(.init(change: .meeting(try meeting(2, "2030-01-10T18:30:00Z", .scheduled))))
    roster.apply(.init(change: .attendance(.init(memberId: "m_1", meetingId: "t_1", status: .present))))
    roster.record(.absent, meetingID: "t_2", memberID: "m_1")
    roster.resumeToken = "token"
    #expect(roster.membersByDegree.map(\.name) == ["Bruno", "Anna"])
    #expect(roster.upcoming(after: Date(timeIntervalSince1970: 1_800_000_000)).map(\.id) == ["t_2"])
    #expect(roster.statuses(of: "m_1") == ["t_1": .present, "t_2": .absent])
    let contents = RosterFile.Contents(
      roster: roster, memberID: "m_1", summaries: [.init(memberId: "m_1", name: "Anna")],
      settings: .init(timeZone: "Europe/Rome"))
    try file.write(contents)
    #expect(try file.read() == contents)
    roster.apply(.init(change: .attendanceDeleted(.init(meetingId: "t_1", memberId: "m_1"))))
    roster.apply(.init(change: .meetingDeleted(.init(meetingId: "t_2"))))
    #expect(roster.statuses(of: "m_1").isEmpty && roster.meetings.count == 1)
    // A damaged file is read from the server again.
    try PrivateFolder(folder.url).write(Array("{}\n{\n".utf8), to: "lodge.jsonl")
    #expect(try file.read() == .init())
  }
}
