public import CampanileAttendance

/// The colour of a percentage.
public enum PercentageLevel: Hashable, Sendable, CaseIterable {
  /// From 90 on: green.
  case high
  /// From 70 to 89: orange.
  case medium
  /// Below 70: red.
  case low

  public init(percentage: Int) {
    self = percentage >= 90 ? .high : percentage >= 70 ? .medium : .low
  }

  /// `#RRGGBB`, the system's colour of that name.
  public var colorHex: String {
    switch self {
    case .high: "#34C759"
    case .medium: "#FF9500"
    case .low: "#FF3B30"
    }
  }
}

extension Degree {
  /// The icon of the degree: a large orange, a large blue or a small blue diamond; empty if it is unknown.
  public var icon: String {
    switch self {
    case .master: "\u{1F536}"
    case .fellow: "\u{1F537}"
    case .apprentice: "\u{1F539}"
    case .unspecified, .unrecognized: ""
    }
  }

  /// The name that the lodge uses.
  public var title: String {
    switch self {
    case .master: "Maestro"
    case .fellow: "Compagno"
    case .apprentice: "Apprendista"
    case .unspecified, .unrecognized: ""
    }
  }
}

extension AttendanceStatistics {
  public var level: PercentageLevel { PercentageLevel(percentage: Int(percentage)) }
  /// The part of the meetings, `present/counted`.
  public var fraction: String { "\(presentCount)/\(countedCount)" }
}
