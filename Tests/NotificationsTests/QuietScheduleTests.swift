import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import Foundation
import TestSupport
import Testing

@testable import Notifications

@Suite struct QuietScheduleTests {
  private struct Window: Decodable {
    var days: [Int32]
    var start: String
    var end: String
  }

  /// A line of the oracle: an array of four values.
  private struct Example: Decodable {
    var zone: String
    var windows: [Window]
    var nowMs: Int64
    var endMs: Int64?

    init(from decoder: any Decoder) throws {
      var values = try decoder.unkeyedContainer()
      zone = try values.decode(String.self)
      windows = try values.decode([Window].self)
      nowMs = try values.decode(Int64.self)
      endMs = try values.decode(Int64?.self)
    }
  }

  private func hours(_ windows: [(days: [DayOfWeek], start: String, end: String)]) -> QuietHours {
    QuietHours(
      windows: windows.map { given in
        var window = QuietWindow()
        window.days = given.days
        window.start = given.start
        window.end = given.end
        return window
      })
  }

  private func ms(_ text: String) throws -> Int64 {
    Int64(try Date(text, strategy: .iso8601).timeIntervalSince1970) * 1_000
  }

  /// Random windows and instants in sixteen zones, most of them near a clock change.
  @Test func agreesWithZoneinfo() throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Support/quiet_hours_oracle.py").path
    let seed = Int.random(in: 0..<1_000_000)
    let text = try ExternalProgram.run(["python3", script, "4000", String(seed)])
    let lines = text.split(separator: "\n")
    try #require(lines.count == 4_000)
    var quiet = 0
    for line in lines {
      let example = try JSONDecoder().decode(Example.self, from: Data(line.utf8))
      let zone = try #require(TimeZoneRules.zone(example.zone))
      let windows = example.windows.map { window in
        (days: window.days.map { DayOfWeek(rawValue: $0) }, start: window.start, end: window.end)
      }
      let found = QuietSchedule(hours(windows), timeZone: zone).releaseMs(at: example.nowMs)
      if found != nil { quiet += 1 }
      #expect(found == example.endMs, "seed \(seed): \(line)")
    }
    #expect(quiet > 1_000 && quiet < 3_900)
  }

  @Test(arguments: [
    // Over midnight, start included and end excluded.
    ("Europe/Rome", "22:00", "07:00", "2026-01-15T21:00:00Z", "2026-01-16T06:00:00Z"),
    ("Europe/Rome", "22:00", "07:00", "2026-01-15T20:59:59Z", nil),
    ("Europe/Rome", "22:00", "07:00", "2026-01-16T05:59:59Z", "2026-01-16T06:00:00Z"),
    ("Europe/Rome", "22:00", "07:00", "2026-01-16T06:00:00Z", nil),
    // Clocks go forward at 2026-03-29T01:00:00Z, from 02:00 to 03:00: the night is an hour shorter.
    ("Europe/Rome", "22:00", "07:00", "2026-03-28T23:00:00Z", "2026-03-29T05:00:00Z"),
    ("Europe/Rome", "22:00", "02:30", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z"),
    ("Europe/Rome", "02:30", "04:00", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"),
    ("Europe/Rome", "02:15", "02:45", "2026-03-29T01:00:00Z", nil),
    // Clocks go back at 2026-10-25T01:00:00Z, from 03:00 to 02:00: the hour after 00:00Z is repeated.
    ("Europe/Rome", "22:00", "07:00", "2026-10-24T21:00:00Z", "2026-10-25T06:00:00Z"),
    ("Europe/Rome", "22:00", "02:30", "2026-10-25T00:45:00Z", "2026-10-25T01:30:00Z"),
    ("Europe/Rome", "02:30", "04:00", "2026-10-25T00:30:00Z", "2026-10-25T03:00:00Z"),
    ("Europe/Rome", "02:30", "04:00", "2026-10-25T00:29:59Z", nil),
    // A clock change of half an hour, and zones with offsets of partial hours.
    ("Australia/Lord_Howe", "01:00", "02:15", "2026-10-03T14:45:00Z", "2026-10-03T15:30:00Z"),
    ("Asia/Kathmandu", "00:00", "06:00", "2026-01-01T18:15:00Z", "2026-01-02T00:15:00Z"),
    // Samoa skipped 30 December 2011: the night continued with the next day.
    ("Pacific/Apia", "22:00", "07:00", "2011-12-30T09:00:00Z", "2011-12-30T17:00:00Z"),
    ("Pacific/Apia", "22:00", "23:30", "2011-12-30T09:00:00Z", "2011-12-30T09:30:00Z"),
    ("UTC", "13:00", "24:00", "2026-05-05T12:59:00Z", nil),
    ("", "13:00", "24:00", "2026-05-05T13:00:00Z", "2026-05-06T00:00:00Z"),
  ])
  func knownNights(_ zone: String, _ start: String, _ end: String, _ now: String, _ expected: String?) throws {
    let schedule = QuietSchedule(hours([([], start, end)]), timeZone: try #require(TimeZoneRules.zone(zone)))
    #expect(try schedule.releaseMs(at: ms(now)) == expected.map { try ms($0) })
  }

  @Test func touchingWindowsMergeAndEndlessOnesAreBounded() throws {
    let utc = try #require(TimeZoneRules.zone("UTC"))
    let weekend = hours([([.friday], "18:00", "24:00"), ([.saturday], "00:00", "24:00"), ([.sunday], "00:00", "20:00")])
    let now = try ms("2026-01-02T19:00:00Z")
    #expect(try QuietSchedule(weekend, timeZone: utc).releaseMs(at: now) == ms("2026-01-04T20:00:00Z"))
    let always = hours([([], "00:00", "24:00")])
    #expect(QuietSchedule(always, timeZone: utc).releaseMs(at: now) == now + QuietSchedule.lengthMaxMs)
    // One minute a week, which clocks skip on the last Sunday of March.
    let rome = try #require(TimeZoneRules.zone("Europe/Rome"))
    let almost = hours([
      ([.monday, .tuesday, .wednesday, .thursday, .friday, .saturday], "00:00", "24:00"), ([.sunday], "00:00", "02:30"),
      ([.sunday], "02:31", "24:00"),
    ])
    #expect(
      try QuietSchedule(almost, timeZone: rome).releaseMs(at: ms("2026-03-22T01:31:00Z")) == ms("2026-04-05T00:30:00Z"))
  }

  @Test func noWindowsAndOddTimesAreNeverQuiet() throws {
    let utc = try #require(TimeZoneRules.zone(""))
    #expect(QuietSchedule(QuietHours(), timeZone: utc).releaseMs(at: 0) == nil)
    let always = QuietSchedule(hours([([], "00:00", "24:00")]), timeZone: utc)
    for time in [Int64.min, -1, SortableID.timeMsMax + 1, .max] { #expect(always.releaseMs(at: time) == nil) }
    #expect(always.releaseMs(at: 0) != nil)
    // Windows rejected by the rules are skipped.
    #expect(
      QuietSchedule(hours([([], "24:00", "25:00"), ([.unspecified], "1:00", "x")]), timeZone: utc).releaseMs(at: 0)
        == nil)
  }

  @Test(arguments: [
    ("00:00", "24:00", ["windows QUIET_HOURS_ENDLESS"]), ("22:00", "07:00", []), ("23:59", "23:58", []),
    ("07:00", "07:00", ["windows QUIET_HOURS_ENDLESS"]), ("24:00", "07:00", ["windows[0].start TIME_OF_DAY_INVALID"]),
    ("7:00", "22:00", ["windows[0].start TIME_OF_DAY_INVALID"]),
    (
      "", "",
      [
        "windows[0].start TIME_OF_DAY_INVALID", "windows[0].end TIME_OF_DAY_INVALID",
      ]
    ), ("07:60", "24:01", ["windows[0].start TIME_OF_DAY_INVALID", "windows[0].end TIME_OF_DAY_INVALID"]),
    ("07:0٠", "08:00", ["windows[0].start TIME_OF_DAY_INVALID"]),
    (
      "+7:00", "08:00 ",
      [
        "windows[0].start TIME_OF_DAY_INVALID", "windows[0].end TIME_OF_DAY_INVALID",
      ]
    ),
  ])
  func windowsAreChecked(_ start: String, _ end: String, _ expected: [String]) {
    var violations = Violations()
    let quiet = hours([([], start, end)])
    quiet.validate("settings.quietHours.", into: &violations)
    QuietHoursRules.check(quiet, "settings.quietHours", &violations)
    #expect(violations.items.map { "\($0.field) \($0.reason)" } == expected.map { "settings.quietHours.\($0)" })
  }

  @Test func daysAndCountsAreChecked() {
    func reasons(_ quiet: QuietHours) -> [String] {
      var violations = Violations()
      quiet.validate("q.", into: &violations)
      QuietHoursRules.check(quiet, "q", &violations)
      return violations.items.map { "\($0.field) \($0.reason)" }
    }
    #expect(
      reasons(hours([([.unspecified, .monday, .unrecognized(9)], "01:00", "02:00")])) == [
        "q.windows[0].days[0] ENUM_UNSPECIFIED", "q.windows[0].days[2] ENUM_UNKNOWN",
      ])
    #expect(
      reasons(hours([(Array(repeating: .monday, count: 8), "01:00", "02:00")])) == ["q.windows[0].days TOO_MANY"])
    #expect(reasons(hours(Array(repeating: ([], "01:00", "02:00"), count: 33))) == ["q.windows TOO_MANY"])
    #expect(reasons(hours(Array(repeating: ([], "01:00", "02:00"), count: 32))) == [])
    let covered = [([DayOfWeek](), "00:00", "12:00"), ([], "12:00", "24:00")]
    #expect(reasons(hours(covered)) == ["q.windows QUIET_HOURS_ENDLESS"])
    #expect(reasons(QuietHours()) == [])
  }

  @Test(arguments: [
    ("", true), ("UTC", true), ("GMT", true), ("Europe/Rome", true), ("America/Argentina/Buenos_Aires", true),
    ("Asia/Kolkata", true), ("Etc/GMT+5", true), ("America/Port-au-Prince", true), ("CET", false), ("PST", false),
    ("EST5EDT", false), ("GMT+5", false), ("GMT+05:30", false), ("UTC+3", false), ("+02:00", false),
    ("europe/rome", false), ("Europe/Nowhere", false), ("Europe/Rome ", false), ("Europe/../Europe/Rome", false),
    ("SystemV/EST5", false), ("Etc/Unknown", false), ("Europe/Röm", false), ("Europe/Rome\u{0}", false),
    (String(repeating: "a/", count: 1_000), false),
  ])
  func zonesAreNamesOfTheIANADatabase(_ name: String, _ expected: Bool) {
    #expect((TimeZoneRules.zone(name) != nil) == expected)
    var violations = Violations()
    TimeZoneRules.check(name, "settings.timeZone", &violations)
    #expect(violations.items.map(\.reason) == (expected ? [] : ["TIME_ZONE_UNKNOWN"]))
  }
}
