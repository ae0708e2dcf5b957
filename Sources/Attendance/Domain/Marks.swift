import CampanileAPI

/// A member's status at one completed meeting. The raw values are stored: never reuse one.
enum Mark: UInt8, Sendable, CaseIterable {
  /// The meeting was before the member's initiation.
  case ineligible = 0
  /// Nothing is recorded.
  case unconfirmed = 1
  case present = 2
  case absent = 3
  case excused = 4

  /// - Parameters:
  ///   - status: The recorded status; nil if there is none.
  ///   - day: The day of the meeting.
  ///   - initiationDay: The day of initiation; nil if unknown, so that every meeting counts.
  init(_ status: AttendanceStatus?, day: Int64, initiationDay: Int64?) {
    if let initiationDay, day < initiationDay {
      self = .ineligible
      return
    }
    switch status {
    case .present: self = .present
    case .absent: self = .absent
    case .excused: self = .excused
    default: self = .unconfirmed
    }
  }
}

/// A member's marks for the completed meetings of one year, ordered by start time, one byte each.
///
/// Every transaction that changes attendance, meetings or initiations updates them. Statistics read them instead of the
/// records.
struct Marks: Sendable, Hashable {
  private(set) var bytes: [UInt8]

  init(bytes: [UInt8] = []) { self.bytes = bytes }

  init(_ marks: some Sequence<Mark>) { bytes = marks.map(\.rawValue) }

  var count: Int { bytes.count }

  /// Returns false if there is no meeting at `ordinal`: the row is then corrupt.
  mutating func set(_ mark: Mark, at ordinal: Int) -> Bool {
    guard bytes.indices.contains(ordinal) else { return false }
    bytes[ordinal] = mark.rawValue
    return true
  }

  mutating func insert(_ mark: Mark, at ordinal: Int) -> Bool {
    guard (0...bytes.count).contains(ordinal) else { return false }
    bytes.insert(mark.rawValue, at: ordinal)
    return true
  }

  mutating func remove(at ordinal: Int) -> Bool {
    guard bytes.indices.contains(ordinal) else { return false }
    bytes.remove(at: ordinal)
    return true
  }
}
