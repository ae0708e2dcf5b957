import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import Testing

@testable import Attendance

@Suite struct RulesTests {
  private func reasons(_ change: (inout Member) -> Void) -> [String] {
    var member = Member(name: "Anna Rossi")
    change(&member)
    var violations = Violations()
    member.validate("member.", into: &violations)
    MemberRules.check(member, "member", &violations)
    return violations.items.map { "\($0.field) \($0.reason)" }
  }

  @Test func memberFieldsAreValidated() {
    #expect(reasons { _ in } == [])
    #expect(reasons { $0.name = "" } == ["member.name REQUIRED"])
    #expect(reasons { $0.name = "  " } == ["member.name REQUIRED"])
    #expect(reasons { $0.name = String(repeating: "è", count: 129) } == ["member.name TOO_LONG"])
    #expect(reasons { $0.name = "a\u{0}b" } == ["member.name TEXT_INVALID"])
    #expect(reasons { $0.degree = .init(rawValue: 9) } == ["member.degree ENUM_UNKNOWN"])
    #expect(reasons { $0.office = .init(rawValue: 99) } == ["member.office ENUM_UNKNOWN"])
    #expect(reasons { $0.role = .init(rawValue: 4) } == ["member.role ENUM_UNKNOWN"])
    for email in [
      "a", "@", "a@", "@b", "a@b@c", "a b@c", "a;b@c", "\"a\"@b", "o'a@b", "a=b@c", "a|b@c", "a\tb@c", "a\u{85}@b",
      "a\u{7F}@b",
    ] {
      #expect(reasons { $0.email = email } == ["member.email EMAIL_INVALID"])
    }
    #expect(reasons { $0.email = String(repeating: "a", count: 253) + "@b" } == ["member.email TOO_LONG"])
    #expect(reasons { $0.email = "a\u{0}b" } == ["member.email TEXT_INVALID"])
    #expect(reasons { $0.givenName = String(repeating: "x", count: 65) } == ["member.givenName TOO_LONG"])
    #expect(reasons { $0.familyName = String(repeating: "x", count: 65) } == ["member.familyName TOO_LONG"])
    #expect(reasons { $0.userId = "a b" } == ["member.userId ID_INVALID"])
    for date in [
      "2025-02-29", "2025-21-01", "2025-1-01", "25-01-01", "0000-01-01", "2025-01-01T00:00:00Z", "２025-01-01",
    ] {
      #expect(reasons { $0.initiationDate = date } == ["member.initiationDate DATE_INVALID"])
    }
  }

  @Test func datesMustBeInOrder() {
    let late = ["member.passingDate DATES_OUT_OF_ORDER"]
    #expect(
      reasons {
        $0.initiationDate = "2020-05-01"
        $0.passingDate = "2020-04-30"
      } == late)
    #expect(
      reasons {
        $0.initiationDate = "2020-05-01"
        $0.passingDate = "2020-05-01"
        $0.raisingDate = "2021-01-01"
      } == [])
    #expect(
      reasons {
        $0.initiationDate = "2020-05-01"
        $0.raisingDate = "2019-01-01"
      } == ["member.raisingDate DATES_OUT_OF_ORDER"])
  }

  @Test func nameKeysIgnoreCaseAndSpacing() {
    #expect(MemberRules.key(of: " Paolo  Giulio GAZZANO ") == MemberRules.key(of: "paolo giulio gazzano"))
    #expect(MemberRules.key(of: "Nicolo\u{300}") == MemberRules.key(of: "nicolò"))
    #expect(MemberRules.key(of: "Anna") != MemberRules.key(of: "Anne"))
  }

  @Test func meetingFieldsAreValidated() {
    func reasons(_ change: (inout Meeting) -> Void) -> [String] {
      var meeting = Meeting(startTime: ProtoTimestamp(seconds: 1_700_000_000), discussion: "The pillars")
      change(&meeting)
      var violations = Violations()
      meeting.validate("meeting.", into: &violations)
      MeetingRules.check(meeting, "meeting", &violations)
      return violations.items.map { "\($0.field) \($0.reason)" }
    }
    #expect(reasons { _ in } == [])
    #expect(reasons { $0.startTime = nil } == ["meeting.startTime REQUIRED"])
    // The year 0, which a JSON timestamp cannot represent either.
    #expect(reasons { $0.startTime = ProtoTimestamp(seconds: -62_150_000_000) } == ["meeting.startTime OUT_OF_RANGE"])
    #expect(reasons { $0.startTime = ProtoTimestamp(seconds: -8_520_336_001) } == ["meeting.startTime OUT_OF_RANGE"])
    #expect(reasons { $0.startTime = ProtoTimestamp(seconds: 32_503_680_000) } == ["meeting.startTime OUT_OF_RANGE"])
    #expect(reasons { $0.discussion = "" } == ["meeting.discussion REQUIRED"])
    #expect(reasons { $0.timeZone = "Mars/Olympus" } == ["meeting.timeZone TIME_ZONE_UNKNOWN"])
    #expect(reasons { $0.type = .init(rawValue: 8) } == ["meeting.type ENUM_UNKNOWN"])
    #expect(reasons { $0.status = .init(rawValue: 8) } == ["meeting.status ENUM_UNKNOWN"])
    #expect(reasons { $0.coverImageUrl = "javascript:1" } == ["meeting.coverImageUrl URL_INVALID"])
    #expect(reasons { $0.notes = String(repeating: "x", count: 4_097) } == ["meeting.notes TOO_LONG"])
    #expect(reasons { $0.location = String(repeating: "x", count: 257) } == ["meeting.location TOO_LONG"])
    #expect(reasons { $0.introducedBy = String(repeating: "x", count: 129) } == ["meeting.introducedBy TOO_LONG"])
    #expect(reasons { $0.discussion = String(repeating: "x", count: 513) } == ["meeting.discussion TOO_LONG"])
    let long = "https://example.com/" + String(repeating: "x", count: 2_048)
    #expect(reasons { $0.coverImageUrl = long } == ["meeting.coverImageUrl TOO_LONG"])
    // More than 2048 bytes, but not more than 2048 characters.
    let wide = "javascript:" + String(repeating: "è", count: 2_000)
    #expect(reasons { $0.coverImageUrl = wide } == ["meeting.coverImageUrl URL_INVALID"])
  }

  @Test func daysFollowTheLodgeTimeZone() throws {
    let rome = try #require(LodgeCalendar("Europe/Rome"))
    let utc = try #require(LodgeCalendar("UTC"))
    // 2024-12-31T23:30Z is in the next year in Rome.
    let instant: Int64 = 1_735_687_800_000
    #expect(Days.text(utc.day(ofMs: instant)) == "2024-12-31")
    #expect(Days.text(rome.day(ofMs: instant)) == "2025-01-01")
    #expect(LodgeCalendar("") == nil)
    #expect(LodgeCalendar("Europe/Atlantis") == nil)
    for text in ["1700-01-01", "1999-12-31", "2000-02-29", "9999-12-31"] {
      #expect(Days.parse(text).map(Days.text) == text)
    }
    #expect(Days.parse("1970-01-01") == 0)
    #expect(Days.year(-1) == 1969)
  }

  @Test func idsHaveOneCanonicalForm() {
    #expect(AttendanceIDs.member("m_17") == 17)
    for text in ["", "m_", "m_0", "m_-1", "m_017", "m_+1", "t_17", "m_１７", "m_99999999999999999999", "M_1", "m_1 "] {
      #expect(AttendanceIDs.member(text) == nil, "\(text)")
    }
    #expect(AttendanceIDs.meeting("t_3") == 3)
    #expect(AttendanceIDs.meeting("m_3") == nil)
  }
}
