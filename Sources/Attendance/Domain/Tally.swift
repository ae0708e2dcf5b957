import CampanileAPI

/// The effect of excused absences on statistics.
struct CountingRules: Sendable, Hashable {
  var excusedPausesStreak = true
  var excusedLeavesDenominator = true
}

/// Counts marks, oldest first. statistics_service.proto defines the counts.
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
  /// The denominator of the rate.
  var counted: Int { rules.excusedLeavesDenominator ? eligible - excused : eligible }

  /// Adds a mark. Ignores a byte that is not a mark.
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

  /// The share of counted meetings with the member present; 0 if nothing counts.
  var rate: Double { counted > 0 ? Double(present) / Double(counted) : 0 }

  /// The rate in percent, rounded half up; 0 if nothing counts.
  var percentage: Int { Self.percentage(present, of: counted) }

  static func percentage(_ part: Int, of whole: Int) -> Int {
    // Round half up in integers: floor(100 p / w + 1/2).
    whole > 0 ? (200 * part + whole) / (2 * whole) : 0
  }

  var statistics: AttendanceStatistics {
    AttendanceStatistics(
      eligibleCount: Int32(clamping: eligible), countedCount: Int32(clamping: counted),
      presentCount: Int32(clamping: present), absentCount: Int32(clamping: absent),
      excusedCount: Int32(clamping: excused), unconfirmedCount: Int32(clamping: unconfirmed), rate: rate,
      percentage: Int32(clamping: percentage), currentStreak: Int32(clamping: currentStreak),
      bestStreak: Int32(clamping: bestStreak))
  }
}

/// The number of upcoming meetings a member must attend to reach a percentage.
struct Forecast: Sendable, Hashable {
  /// The fewest meetings to attend; all upcoming ones if the target cannot be reached.
  let needed: Int
  let isReachable: Bool
  /// The percentage if the member attends all upcoming meetings.
  let bestPercentage: Int

  /// - Parameters:
  ///   - upcoming: The number of upcoming meetings; each of them will count.
  ///   - target: The target percentage, 1 to 100.
  init(present: Int, counted: Int, upcoming: Int, target: Int) {
    let whole = counted + upcoming
    // The smallest k with 100 (present + k) >= target * whole.
    let lacking = target * whole - 100 * present
    let least = lacking <= 0 ? 0 : (lacking + 99) / 100
    // Without any counted meeting there is no rate.
    isReachable = whole > 0 && least <= upcoming
    needed = min(least, upcoming)
    bestPercentage = Tally.percentage(present + upcoming, of: whole)
  }
}
