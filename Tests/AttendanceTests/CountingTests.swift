import CampanileAPI
import Testing

@testable import Attendance

/// Counting of marks by the rules of statistics_service.proto.
@Suite struct CountingTests {
  private func tally(_ marks: String, _ rules: CountingRules = CountingRules()) -> Tally {
    var tally = Tally(rules)
    for mark in marks {
      switch mark {
      case "P": tally.add(Mark.present.rawValue)
      case "A": tally.add(Mark.absent.rawValue)
      case "E": tally.add(Mark.excused.rawValue)
      case "?": tally.add(Mark.unconfirmed.rawValue)
      default: tally.add(Mark.ineligible.rawValue)
      }
    }
    return tally
  }

  @Test func statisticsWithoutMeetingsAreZero() {
    for marks in ["", "---"] {
      let figures = tally(marks).statistics
      #expect(figures == AttendanceStatistics())
      #expect(figures.rate == 0)
    }
    // Only excused: the denominator is 0.
    #expect(tally("EE").percentage == 0)
    #expect(tally("EE").rate == 0)
    #expect(tally("EE").eligible == 2)
  }

  @Test(arguments: [
    ("PPP", 3, 3), ("PPA", 0, 2), ("APP", 2, 2), ("PAPP", 2, 2), ("PPPAPP", 2, 3), ("PPEP", 3, 3), ("PPE", 2, 2),
    ("EPP", 2, 2), ("PP?", 0, 2), ("--PP", 2, 2), ("PEEP", 2, 2), ("PEAEP", 1, 1), ("A", 0, 0),
  ])
  func streaks(_ marks: String, _ current: Int, _ best: Int) {
    #expect(tally(marks).currentStreak == current)
    #expect(tally(marks).bestStreak == best)
  }

  @Test func excusedEndsStreakIfConfigured() {
    let rules = CountingRules(excusedPausesStreak: false, excusedLeavesDenominator: true)
    #expect(tally("PPEP", rules).currentStreak == 1)
    #expect(tally("PPEP", rules).bestStreak == 2)
  }

  @Test func excusedLeavesDenominatorIfConfigured() {
    #expect(tally("PPEA").counted == 3)
    #expect(tally("PPEA").percentage == 67)
    let rules = CountingRules(excusedPausesStreak: true, excusedLeavesDenominator: false)
    #expect(tally("PPEA", rules).counted == 4)
    #expect(tally("PPEA", rules).percentage == 50)
  }

  @Test(arguments: [
    (1, 8, 13), (1, 200, 1), (1, 201, 0), (2, 3, 67), (1, 3, 33), (199, 200, 100), (0, 5, 0), (5, 5, 100), (3, 0, 0),
  ])
  func percentagesAreRoundedHalfUp(_ part: Int, _ whole: Int, _ percentage: Int) {
    #expect(Tally.percentage(part, of: whole) == percentage)
  }

  /// Compared with the definition for every small case.
  @Test func forecastIsSmallestSufficientNumber() {
    for counted in 0...12 {
      for present in 0...counted {
        for upcoming in 0...8 {
          for target in [1, 33, 50, 67, 99, 100] {
            let forecast = Forecast(present: present, counted: counted, upcoming: upcoming, target: target)
            let whole = counted + upcoming
            let enough = (0...upcoming).first { whole > 0 && 100 * (present + $0) >= target * whole }
            #expect(forecast.isReachable == (enough != nil))
            #expect(forecast.needed == enough ?? upcoming || (whole == 0 && forecast.needed == 0))
          }
        }
      }
    }
  }

  @Test func marksCanBeInsertedRemovedAndReplaced() {
    var marks = Marks([.present, .absent])
    let inserted = marks.insert(.excused, at: 1)
    #expect(inserted)
    #expect(marks == Marks([.present, .excused, .absent]))
    let removed = marks.remove(at: 0)
    #expect(removed)
    let set = marks.set(.unconfirmed, at: 1)
    #expect(set)
    #expect(marks == Marks([.excused, .unconfirmed]))
    let before = marks
    let refused = [
      marks.set(.present, at: 2), marks.set(.present, at: -1), marks.insert(.present, at: 3), marks.remove(at: 2),
    ]
    #expect(refused == [false, false, false, false])
    #expect(marks == before)
  }

  @Test func eligibilityStartsOnDayOfInitiation() {
    #expect(Mark(.present, day: 9, initiationDay: 10) == .ineligible)
    #expect(Mark(.present, day: 10, initiationDay: 10) == .present)
    #expect(Mark(nil, day: 11, initiationDay: 10) == .unconfirmed)
    #expect(Mark(.notConfirmed, day: 11, initiationDay: nil) == .unconfirmed)
    #expect(Mark(.absent, day: .min, initiationDay: nil) == .absent)
  }

  @Test func absenceCountsFromTheGivenDay() {
    let years: [(year: Int64, marks: [UInt8])] = [(2024, [2, 3]), (2025, [2, 1, 4])]
    let since = Absence(years, firstYear: 2025, before: 1)
    #expect(!since.hasCome)
    #expect(since.missed == 2)
    #expect(since.lastPresent?.year == 2025)
    #expect(since.lastPresent?.ordinal == 0)
    #expect(Absence(years, firstYear: 2025, before: 0).hasCome)
    #expect(Absence([(2025, [0, 0])], firstYear: 2025, before: 0).missed == 0)
    #expect(Absence([(2025, [1])], firstYear: 2025, before: 0).lastPresent == nil)
  }
}
