import CampanileAPI

/// How excused absences count.
struct CountingRules: Sendable, Hashable {
  var excusedPausesStreak = true
  var excusedLeavesDenominator = true
}

/// Counts marks, the oldest first. What is counted is said in statistics_service.proto.
struct Tally: Sendable, Hashable {
  let rules: CountingRules
  private(set) var present = 0
  private(set) var absent = 0
  private(set) var excused = 0
  private(set) var unconfirmed = 0
  private(set) var currentStreak = 0
  private(set) var bestStreak = 0

  init(_ rules: CountingRules) { self.rules = rules }

  var eligible: Int { present + absent + excused + unconfirmed }
  /// The denominator.
  var counted: Int { rules.excusedLeavesDenominator ? eligible - excused : eligible }

  /// A byte that is no mark counts as nothing.
  mutating func add(_ byte: UInt8) {
    switch byte {
    case Mark.present.rawValue:
      present += 1
      currentStreak += 1
      if currentStreak > bestStreak { bestStreak = currentStreak }
    case Mark.excused.rawValue:
      excused += 1
      if !rules.excusedPausesStreak { currentStreak = 0 }
    case Mark.absent.rawValue:
      absent += 1
      currentStreak = 0
    case Mark.unconfirmed.rawValue:
      unconfirmed += 1
      currentStreak = 0
    default: break
    }
  }

  mutating func add(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { add(byte) }
  }

  /// 0 when nothing counts.
  var rate: Double { counted > 0 ? Double(present) / Double(counted) : 0 }

  /// Percent, rounded half up; 0 when nothing counts.
  var percentage: Int { Self.percentage(present, of: counted) }

  static func percentage(_ part: Int, of whole: Int) -> Int {
    // Half up in whole numbers: floor(100 p / w + 1/2).
    whole > 0 ? (200 * part + whole) / (2 * whole) : 0
  }

  var statistics: AttendanceStatistics {
    var statistics = AttendanceStatistics()
    statistics.eligibleCount = Int32(clamping: eligible)
    statistics.countedCount = Int32(clamping: counted)
    statistics.presentCount = Int32(clamping: present)
    statistics.absentCount = Int32(clamping: absent)
    statistics.excusedCount = Int32(clamping: excused)
    statistics.unconfirmedCount = Int32(clamping: unconfirmed)
    statistics.rate = rate
    statistics.percentage = Int32(clamping: percentage)
    statistics.currentStreak = Int32(clamping: currentStreak)
    statistics.bestStreak = Int32(clamping: bestStreak)
    return statistics
  }
}

/// How many of the meetings to come are needed for a percentage.
struct Forecast: Sendable, Hashable {
  /// Fewest to come to; all of them when the target cannot be reached.
  let needed: Int
  let isReachable: Bool
  /// When the member comes to all.
  let bestPercentage: Int

  /// - Parameters:
  ///   - upcoming: meetings to come, each of which will count.
  ///   - target: percent, 1 to 100.
  init(present: Int, counted: Int, upcoming: Int, target: Int) {
    let whole = counted + upcoming
    // The smallest k with 100 (present + k) >= target * whole.
    let lacking = target * whole - 100 * present
    let least = lacking <= 0 ? 0 : (lacking + 99) / 100
    // With nothing that counts there is no rate.
    isReachable = whole > 0 && least <= upcoming
    needed = min(least, upcoming)
    bestPercentage = Tally.percentage(present + upcoming, of: whole)
  }
}
